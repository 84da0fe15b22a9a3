//! Shell texts of every kind, of any size.

use super::{Kind, shell, text};
use countersign_policy::Call;

/// A shell text: `$piece` again and again, with a head and a tail.
macro_rules! shells {
    ($($name:literal: $head:literal, |$n:ident| $piece:expr, $tail:literal;)*) => {
        vec![$((
            $name,
            Box::new(|size: usize| {
                shell(format!("{}{}{}", $head, text(size, |$n| { let _ = $n; $piece }), $tail))
            }) as Box<dyn Fn(usize) -> Call>,
        )),*]
    };
}

pub fn all() -> Vec<Kind> {
    shells! {
        "shell: one long word": "echo ", |n| "a".into(), "";
        "shell: one long quoted word": "echo '", |n| "a b".into(), "'";
        "shell: one long path": "cat ", |n| "a/".into(), "x";
        "shell: one path with ..": "rm -rf ", |n| "a/../".into(), "x";
        "shell: many words": "echo", |n| format!(" w{n}"), "";
        "shell: many paths": "rm", |n| format!(" d/f{n}"), "";
        "shell: many paths outside": "cp", |n| format!(" /data/d/f{n}"), " /data/x";
        "shell: many secrets": "cat", |n| format!(" ~/.ssh/id_{n}"), "";
        "shell: many options": "sed", |n| format!(" -e s/{n}/x/"), " f";
        "shell: curl options": "curl", |n| format!(" -H a:{n} -d @f{n}"), " https://x.example";
        "shell: many hosts": "curl", |n| format!(" https://h{n}.example/x"), "";
        "shell: many remotes": "scp", |n| format!(" h{n}:/x"), " y";
        "shell: commands": "", |n| format!("tool{n} run x\n"), "";
        "shell: equal commands": "", |n| "ls -l;".into(), "";
        "shell: deleting commands": "", |n| format!("rm f{n};"), "";
        "shell: short commands": "", |n| "a;".into(), "";
        "shell: and-or": "true", |n| format!(" && git push o b{n}"), "";
        "shell: pipeline": "cat x", |n| format!(" | grep {n}"), "";
        "shell: pipeline into shells": "curl x", |n| format!(" | tee f{n} | sh"), "";
        "shell: psql pipeline": "echo x", |n| " | psql".into(), "";
        "shell: downloads and runs": "", |n| format!("curl -o f{n} https://x.example/{n};sh g{n};"), "";
        "shell: cds": "", |n| format!("cd d{n};"), "";
        "shell: cds and writes": "", |n| format!("cd /tmp/d{n};rm f;"), "";
        "shell: one cd, then commands": "cd /home/me/work/app/x;", |n| format!("rm f{n};"), "";
        "shell: deep cds": "cd a", |n| "; cd b".into(), "; rm x";
        "shell: assignments": "", |n| format!("a{n}=x;"), "";
        "shell: assignments in front": "", |n| format!("A{n}=x "), "make";
        "shell: counted variables": "", |n| format!("i{n}=1;((i{n}++));"), "";
        "shell: exports": "export", |n| format!(" A{n}=x"), "";
        "shell: arrays": "a=(", |n| format!("w{n} "), ")";
        "shell: variables": "echo", |n| format!(" $v{n} \"${{w{n}}}\""), "";
        "shell: number variables": "x=1; wait", |n| " $x".into(), "";
        "shell: substitutions": "echo", |n| format!(" $(w{n})"), "";
        "shell: substitutions in quotes": "echo \"", |n| format!("$(w{n})"), "\"";
        "shell: backticks": "echo", |n| format!(" `w{n}`"), "";
        "shell: nested substitutions": "echo ", |n| "$(a ".into(), "";
        "shell: nested quotes": "echo ", |n| "\"$(a ".into(), "";
        "shell: default values": "echo ", |n| "${x:-".into(), "";
        "shell: subshells": "", |n| "(".into(), "";
        "shell: arithmetic": "echo $((1", |n| "+1".into(), "))";
        "shell: nested arithmetic": "echo ", |n| "$((".into(), "";
        "shell: conditions": "[[ a", |n| format!(" && $x{n} -eq 1"), " ]]";
        "shell: test": "[ x", |n| format!(" -a x = y{n}"), " ]";
        "shell: braces": "echo ", |n| "{a,b}".into(), "";
        "shell: globs": "ls", |n| format!(" *.{n} ?[ab]*"), "";
        "shell: globs of ours": "ls", |n| " ~/.config/c*/p*".into(), "";
        "shell: one long glob": "ls ", |n| "*a".into(), "";
        "shell: one glob of stars": "ls /", |n| "*".into(), "";
        "shell: one glob of classes": "ls /", |n| "[ab]".into(), "";
        "shell: open brackets": "ls ", |n| "[a{b".into(), "";
        "shell: escapes": "echo ", |n| "\\a\\ ".into(), "";
        "shell: ansi quotes": "echo $'", |n| "\\n\\x41".into(), "'";
        "shell: redirects": "ls", |n| format!(" >f{n}"), "";
        "shell: redirects of others": "ls", |n| format!(" >/etc/f{n} 2>&1"), "";
        "shell: here-document": "cat <<'E'\n", |n| format!("line {n}\n"), "E\n";
        "shell: open here-document": "cat <<E\n", |n| format!("line $x {n}\n"), "E\n";
        "shell: here-document of Es": "cat <<E\n", |n| "Ex\\\n".into(), "E\n";
        "shell: many here-documents": "", |n| format!("cat <<E{n}\nx\nE{n}\n"), "";
        "shell: here-documents at once": "cat", |n| " <<E".into(), "\n";
        "shell: here-documents unended": "", |n| format!("cat <<E{n}\nx\n"), "";
        "shell: here-document for a shell": "bash <<'E'\n", |n| format!("rm f{n}\n"), "E\n";
        "shell: bash -c": "bash -c '", |n| format!("rm f{n};"), "'";
        "shell: many bash -c": "", |n| "bash -c 'rm f';".into(), "";
        "shell: bash -c chain": "", |n| "bash -c ".into(), "x";
        "shell: eval": "eval", |n| format!(" rm f{n};"), "";
        "shell: env words": "env", |n| format!(" A{n}=x"), " make";
        "shell: wrappers": "", |n| "nice ".into(), "ls";
        "shell: options of a wrapper": "nice", |n| " -1".into(), " ls";
        "shell: options behind names": "", |n| "dropdb -n ".into(), "x";
        "shell: sudo wrappers": "", |n| "sudo -u a ".into(), "ls";
        "shell: timeout wrappers": "", |n| "timeout 5 ".into(), "ls";
        "shell: parallel chain": "", |n| "parallel ".into(), "ls";
        "shell: docker chain": "", |n| "docker exec ".into(), "ls";
        "shell: su chain": "", |n| "su x ".into(), "ls";
        "shell: xargs chain": "", |n| "xargs -Z ".into(), "ls";
        "shell: fd chain": "", |n| "fd -xa ".into(), "ls";
        "shell: find chain": "find", |n| " -exec find".into(), " ;";
        "shell: ssh options": "ssh", |n| " -oA=rm".into(), " h ls";
        "shell: fish scripts": "fish -c", |n| " 'rm x'".into(), "";
        "shell: git rebase": "git rebase", |n| " -x 'rm x'".into(), "";
        "shell: git filter-branch": "git filter-branch", |n| " 'rm x'".into(), "";
        "shell: su scripts": "su", |n| " -c 'rm x'".into(), "";
        "shell: parallel": "parallel", |n| format!(" w{n}"), "";
        "shell: find -exec": "find .", |n| " -exec rm {} ;".into(), "";
        "shell: find -exec many": "find .", |n| " -exec".into(), "";
        "shell: git foreach": "git submodule foreach", |n| " 'rm x'".into(), "";
        "shell: git aliases": "git", |n| " -c alias.x=!rm".into(), " x";
        "shell: docker words": "docker run", |n| format!(" -v a{n}:b"), " x";
        "shell: sql": "psql -c \"", |n| format!("SELECT 'a{n}'; "), "\"";
        "shell: python": "python3 -c '", |n| format!("x{n} = 1\n"), "'";
        "shell: functions": "", |n| format!("f{n}() {{ ls; }};"), "";
        "shell: functions and a bomb": "", |n| format!("f{n}() {{ ls; }};f{n} &"), "";
        "shell: loops": "", |n| "for i in a b; do ls; done;".into(), "";
        "shell: cases": "case x in", |n| format!(" a{n}) ls;;"), " esac";
        "shell: ifs": "", |n| "if true; then ls; fi;".into(), "";
        "shell: comments": "", |n| format!("# note {n}\n"), "ls";
        "shell: blank lines": "ls", |n| "\n".into(), "ls";
        "shell: continuations": "ls", |n| " \\\n".into(), " x";
        "shell: accents": "echo '", |n| "é".into(), "'";
        "shell: long names": "", |n| format!("{}x;", "a".repeat(1000)), "";
        "shell: our program": "", |n| "countersign ask x;".into(), "";
        "shell: our address": "curl", |n| " x:7117".into(), "";
        "shell: separators": "", |n| ";".into(), "";
        "shell: quotes never closed": "", |n| "'\"".into(), "";
        "shell: home variables": "rm", |n| format!(" $HOME/f{n}"), "";
    }
}
