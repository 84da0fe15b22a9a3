//! How long a ruling takes by the size of a call, for every kind of argument:
//! `cargo bench -p countersign-policy --bench sizes [-- NAME]`.
//!
//! Ruling is linear: four times the size takes about four times as long, and 1 MiB at most 50 ms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::panic,
    missing_docs,
    reason = "a bench may panic, and prints its table"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use countersign_policy::highlights;
use countersign_policy::place::Place;
use countersign_policy::{
    Call, DEFAULT_RULES, Guardrail, Layers, Mode, Rule, Rules, Verdict, rule,
};
use serde_json::{Map, Value, json};

const SIZES: [usize; 4] = [15 << 10, 60 << 10, 256 << 10, 1 << 20];
const AIM: Duration = Duration::from_millis(50);

/// A kind of argument: its name, and a call of about so many bytes.
type Kind = (&'static str, Box<dyn Fn(usize) -> Call>);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let heads = ["15 KiB", "60 KiB", "256 KiB", "1 MiB"].map(|head| format!("{head:>10}"));
    println!("{:<34}{}   growth of the last step", "milliseconds for", heads.concat());
    let mut missed = 0;
    for (name, make) in kinds() {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let times = all_sizes(&*make);
        let shown: Vec<String> =
            times.iter().map(|time| format!("{:>10.2}", time.as_secs_f64() * 1e3)).collect();
        let growth = times.last().unwrap().as_secs_f64() / times[times.len() - 2].as_secs_f64();
        let misses = times.get(3).is_none_or(|time| *time > AIM);
        missed += usize::from(misses);
        let mark = if misses { "  above the aim" } else { "" };
        println!("{name:<34}{}   {growth:.1}{mark}", shown.concat());
    }
    println!("{missed} above {AIM:?}");
}

/// The times of all sizes; of the first three where the last would take too long.
fn all_sizes(make: &dyn Fn(usize) -> Call) -> Vec<Duration> {
    let mut times: Vec<Duration> = SIZES.iter().take(3).map(|size| took(&make(*size))).collect();
    if times[2] < Duration::from_secs(2) {
        times.push(took(&make(SIZES[3])));
    }
    times
}

/// The quickest of a few rulings, with all that a card needs.
fn took(call: &Call) -> Duration {
    let rules = rules();
    let grants = Rules::from_rules(&grants());
    let guardrail = guardrail();
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    let once = || {
        let start = Instant::now();
        let ruling = black_box(rule(black_box(call), &layers, Mode::Default));
        let _ = black_box(call.paths());
        if let Some(text) = call.command() {
            let place = Place { cwd: call.cwd.as_deref(), home: None };
            let _ = black_box(highlights::of_shell(text, place));
        }
        let _ = ruling;
        start.elapsed()
    };
    let first = once();
    let more = if first > Duration::from_millis(500) { 0 } else { 4 };
    (0..more).map(|_| once()).fold(first, Duration::min)
}

/// The default rules with what an operator adds to them.
fn rules() -> Rules {
    let more = r#",
      "write_file": { "*": "allow", "*.env": "deny", "docs/**": "ask", "{a,b}*/[cd]?*": "deny" },
      "web_fetch": { "*": "ask", "domain:docs.rs": "allow", "domain:*.evil.example": "deny" },
      "my_*": { "*": "allow", "*secret*": "deny", "a*a*a*b": "deny" },
      "mcp__*": "allow",
      "shell_exec": { "*": "ask", "ls *": "allow", "echo *": "allow", "git push *": "deny", "*evil*": "deny" }
    }"#;
    let text = DEFAULT_RULES.trim_end().strip_suffix('}').unwrap().to_owned() + more;
    // The same tool twice is a problem of the file; the later rules are appended under other keys.
    Rules::parse(&text, "permissions.jsonc", Some("/home/me")).unwrap_or_else(|_| {
        Rules::parse(&format!("{{{}", &more[1..]), "permissions.jsonc", Some("/home/me")).unwrap()
    })
}

/// As many as a well-used store holds.
fn grants() -> Vec<Rule> {
    let commands = (0..200).map(|n| Rule::allow("shell_exec", format!("tool{n} run *")));
    let files = (0..200).map(|n| Rule::allow("write_file", format!("src/part{n}/*")));
    let denied = (0..20).map(|n| Rule {
        verdict: Verdict::Deny,
        ..Rule::allow("read_file", format!("**/private{n}/*"))
    });
    commands.chain(files).chain(denied).collect()
}

fn guardrail() -> Guardrail {
    let own = [
        "/home/me/.config/countersign",
        "/home/me/.local/state/countersign",
        "/run/user/1/countersign",
    ];
    let denies = Rules::parse(
        r#"{"read_file": {"*.env": "deny"}, "my_*": {"*secret*": "deny"}}"#,
        "r",
        None,
    );
    Guardrail::new(own.map(str::to_owned), ["countersign"], ["127.0.0.1:7117".to_owned()])
        .with_denies(denies.unwrap())
}

fn at_work(call: Call) -> Call {
    Call { cwd: Some("/home/me/work/app".into()), home: Some("/home/me".into()), ..call }
}

fn shell(text: String) -> Call {
    at_work(Call::shell(text))
}

/// Pieces, numbered, until the size is reached.
fn pieces(size: usize, piece: impl Fn(usize) -> String) -> Vec<String> {
    let (mut all, mut length) = (Vec::new(), 0);
    while length < size {
        let next = piece(all.len());
        length += next.len() + 3;
        all.push(next);
    }
    all
}

/// The same as one text.
fn text(size: usize, piece: impl Fn(usize) -> String) -> String {
    let mut all = String::with_capacity(size + 100);
    for at in 0.. {
        if all.len() >= size {
            break;
        }
        let _ = write!(all, "{}", piece(at));
    }
    all
}

fn kinds() -> Vec<Kind> {
    let mut all = shells();
    all.extend(tools());
    all
}

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

fn shells() -> Vec<Kind> {
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

fn kind(name: &'static str, make: impl Fn(usize) -> Call + 'static) -> Kind {
    (name, Box::new(make))
}

fn list(
    tool: &'static str,
    key: &'static str,
    piece: fn(usize) -> String,
) -> impl Fn(usize) -> Call {
    move |size| at_work(Call::new(tool, json!({ key: pieces(size, piece) })))
}

fn one(
    tool: &'static str,
    key: &'static str,
    piece: fn(usize) -> String,
) -> impl Fn(usize) -> Call {
    move |size| {
        let file = if key == "content" { "src/a.rs" } else { "" };
        let mut args = json!({ key: text(size, piece) });
        if !file.is_empty() {
            args["file_path"] = file.into();
        }
        at_work(Call::new(tool, args))
    }
}

fn tools() -> Vec<Kind> {
    vec![
        kind("read: many paths", list("read_many_files", "paths", |n| format!("d/f{n}"))),
        kind("read: equal paths", list("read_many_files", "paths", |_| "d/f".into())),
        kind("read: many paths outside", list("Read", "paths", |n| format!("/data/d{n}/f"))),
        kind("read: paths below home", list("Read", "files", |n| format!("~/d/../f{n}"))),
        kind("read: one-letter paths", list("Read", "paths", |_| "a".into())),
        kind("read: one long path", one("Read", "file_path", |_| "ab/".into())),
        kind("read: one path of ..", one("Read", "file_path", |_| "a/../".into())),
        kind("read: one path of dots", one("Read", "file_path", |_| "./".into())),
        kind("read: one path of accents", one("Read", "file_path", |_| "é".into())),
        kind("read: aliases of the kernel", list("Read", "paths", |n| format!("/proc/{n}/cwd/f"))),
        kind("write: many paths", list("Write", "paths", |n| format!("src/part{n}/a"))),
        kind("write: many paths outside", list("Write", "paths", |n| format!("/etc/d/f{n}"))),
        kind("write: content", one("Write", "content", |n| format!("line {n}\n"))),
        kind("write: one path of a", one("Write", "file_path", |_| "a".into())),
        kind("glob: many", list("Glob", "paths", |n| format!("**/*{n}"))),
        kind("glob: one long", one("Glob", "pattern", |_| "*a".into())),
        kind("glob: one of braces", one("Glob", "pattern", |_| "{a,b}".into())),
        kind("grep: many", list("Grep", "paths", |n| format!("d{n}/*.rs"))),
        kind("fetch: many", list("WebFetch", "url", |n| format!("https://h{n}.example/a"))),
        kind("fetch: one long", one("WebFetch", "url", |n| format!("https://h{n}.example/"))),
        kind("fetch: one host of dots", |size| {
            let url = format!("https://{}/", "a.".repeat(size / 2));
            at_work(Call::new("WebFetch", json!({ "url": url })))
        }),
        kind("skill: many", list("Skill", "name", |n| format!("s{n}"))),
        kind("other: many strings", list("my_tool", "items", |n| format!("s{n}"))),
        kind("other: equal strings", list("my_tool", "items", |_| "s".into())),
        kind("other: one long string", one("my_tool", "body", |_| "a".into())),
        kind("other: many keys", |size| {
            let keys: Map<String, Value> = pieces(size, |n| format!("k{n}"))
                .into_iter()
                .map(|k| (k.clone(), k.into()))
                .collect();
            at_work(Call::new("my_tool", keys.into()))
        }),
        kind("other: nested", |size| {
            let deep = (0..60).fold(json!("x"), |inner, n| json!({ format!("k{n}"): [inner] }));
            let many = vec![deep; size / 900 + 1];
            at_work(Call::new("my_tool", json!({ "all": many })))
        }),
        kind("other: numbers", |size| at_work(Call::new("my_tool", json!(vec![7; size / 2])))),
        kind("unknown: many strings", list("strange", "items", |n| format!("s{n}"))),
        kind("mcp: many strings", list("mcp__x__y", "items", |n| format!("s{n}"))),
        kind("question: many options", list("ask_user", "options", |n| format!("o{n}"))),
        kind("resolved: many", |size| Call {
            resolved: pieces(size, |n| format!("/data/f{n}")),
            ..at_work(Call::new("Read", json!({ "path": "x" })))
        }),
        kind("a long folder, many paths", |size| Call {
            cwd: Some(format!("/home/me/{}", "d/".repeat(2000))),
            ..at_work(list("Write", "paths", |n| format!("f{n}"))(size))
        }),
        kind("a folder with .., many words", |size| Call {
            cwd: Some("/home/me/work/../app".into()),
            ..shell(format!("rm {}", text(size, |n| format!(" f{n}"))))
        }),
        kind("shell: words in a list", list("shell_exec", "command", |n| format!("w{n}"))),
    ]
}
