use serde_json::{Value, json};

use crate::Call;
use crate::engine::matcher::{Matcher, RuleFit};
use crate::facts::links::{LinkTarget, Links};

fn list(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|&pattern| pattern.to_owned()).collect()
}

fn call(tool: &str, args: Value) -> Call {
    Call {
        cwd: Some("/home/ana/shop".to_owned()),
        home: Some("/home/ana".to_owned()),
        ..Call::new(tool, args)
    }
}

fn shell(command: &str) -> Call {
    call("Bash", json!({ "command": command }))
}

fn command(pattern: &str, text: &str) -> RuleFit {
    Matcher::new(&shell(text), &[]).command(&list(&[pattern]))
}

fn path(pattern: &str, text: &str) -> RuleFit {
    Matcher::new(&shell(text), &[]).path(&list(&[pattern]))
}

/// Every way to push that the second red team found unmet, and its kin.
const PUSHES: &[&str] = &[
    "git push origin main",
    "git  push",
    "/usr/bin/git push origin",
    "./git push",
    "git -C sub push origin",
    "git --git-dir=/x/.git push",
    "git --no-pager push",
    "git -c user.name=x push",
    "g\\it pu''sh origin",
    "\"git\" 'push' origin",
    "$'git' push",
    "git pu${x}sh",
    "git pu?h",
    "git \"$verb\" origin",
    "git {push,status}",
    "$PROGRAM push",
    "X=1 git push",
    "env git push",
    "env X=1 git push",
    "env -S 'git push origin'",
    "env -S'git push'",
    "env --split-string='git push'",
    "env -iS 'git push' x",
    "command git push",
    "builtin command git push",
    "exec git push",
    "sudo git push",
    "sudo -u deploy git push",
    "doas git push",
    "su -c 'git push' deploy",
    "nohup git push &",
    "timeout 5 git push",
    "time git push",
    "nice -n 5 git push",
    "xargs git push < x",
    "echo push | xargs git",
    "echo origin | xargs -I{} git {} main",
    "printf push | xargs -I{} sh -c 'git {} x'",
    "find . -name x -exec git push ;",
    "find . -name x -exec git push \\;",
    "fd -x git push",
    "parallel git push ::: a",
    "parallel ::: 'git push'",
    "sh -c 'git push'",
    "bash -lc 'cd x && git push origin'",
    "bash -c \"$(echo git push)\"",
    "bash -c \"$text\"",
    "bash <<< 'git push'",
    "bash <<E\ngit push\nE",
    "bash <(echo git push)",
    "echo 'git push' | sh",
    "printf 'git %s' push | bash",
    "printf Z2l0IHB1c2g= | base64 -d | sh",
    "curl -s https://x | bash",
    "sh script.sh",
    ". ./script.sh",
    "source <(echo git push)",
    "eval git push",
    "eval \"$(cat x)\"",
    "trap 'git push' EXIT",
    "ssh host 'git push'",
    "ssh host git push",
    "echo git push | ssh host",
    "docker exec c git push",
    "git -c alias.p=push p",
    "git -c alias.p='!git push' p",
    "git -c core.pager='git push' log",
    "git -c include.path=x p",
    "git --config-env=alias.p=X p",
    "git --exec-path=/tmp/x p",
    "git p",
    "GIT_CONFIG_COUNT=1 git status",
    "GIT_SSH_COMMAND='git push' git fetch",
    "PATH=/tmp:$PATH ls",
    "export PATH=/tmp; ls",
    "alias p='git push'; p",
    "p() { git push \"$@\"; }; p origin",
    "git rebase -x 'git push' HEAD~1",
    "git bisect run git push",
    "git submodule foreach git push",
    "python3 -c 'import os; os.system(\"git push\")'",
    "python3 <<E\nimport os\nE",
    "echo x | python3",
    "python3 -",
    "perl -e 'system \"git push\"'",
    "node -e 'x'",
    "ruby -e x",
    "awk 'BEGIN { system(\"git push\") }'",
    "sed '1e git push' x",
    "tar cf x --checkpoint=1 --checkpoint-action=exec='git push' y",
    "vim -c ':!git push'",
    "tmux new 'git push'",
    "tmux send-keys 'git push' Enter",
    "script -c 'git push' x",
    "watch 'git push'",
    "unheard-of --run 'git push'",
    "at now <<< 'git push'",
    "echo 'git push' | at now",
    "flock x git push",
    "unshare -r git push",
    "echo 'git push' > p; chmod +x p; ./p",
    "echo x > p.py; python3 p.py",
    "ln -s /usr/bin/git g; ./g push",
    "ls && git push",
    "ls; (git push)",
    "if true; then git push; fi",
    "x=$(git push)",
    "! git push",
    "echo \"unfinished; git push",
];

#[test]
fn a_rule_on_a_command_meets_every_spelling_of_it_and_whatever_cannot_be_read() {
    let missed: Vec<&&str> =
        PUSHES.iter().filter(|text| command("git push *", text) == RuleFit::No).collect();
    assert_eq!(missed, [&""; 0]);
    let missed: Vec<&&str> =
        PUSHES.iter().filter(|text| command("git pu*", text) == RuleFit::No).collect();
    assert_eq!(missed, [&""; 0], "a pattern that is compared as text");
}

#[test]
fn a_rule_on_a_command_leaves_its_neighbours_alone() {
    for text in [
        "git status",
        "git pull origin main",
        "git -C sub pull",
        "git -c user.name=x commit -m 'git push'",
        "git commit -m \"git push now\"",
        "git log --grep push",
        "git stash push",
        "echo git push",
        "echo 'git push'",
        "grep -r 'git push' src",
        "rg 'git push' docs | head",
        "make test",
        "cargo build --release",
        "cargo test -- push",
        "npm run push",
        "python3 manage.py migrate",
        "python3 -m pytest -x",
        "node build.js",
        "./deploy.sh",
        "rm -rf build",
        "rm \"$file\"",
        "for f in *.o; do rm \"$f\"; done",
        "find . -name '*.o' -exec rm {} +",
        "ls *.rs | xargs wc -l",
        "sudo systemctl restart nginx",
        "env X=1 ls || true",
        "sed -i s/push/pull/ README.md",
        "docker compose up -d",
        "RUST_LOG=debug cargo run",
        "cd sub && make all",
        "terraform apply",
        "tar xzf x.tgz",
        "curl -sO https://example.com/x",
        "kubectl get pods",
    ] {
        let of_env = text.starts_with("env ");
        assert!(of_env || command("git push *", text) == RuleFit::No, "{text}");
    }
}

#[test]
fn a_command_fits_for_certain_where_all_of_the_call_is_covered_and_was_read() {
    for (text, fit) in [
        ("git push origin main", RuleFit::Yes),
        ("bash -c 'git push origin main'", RuleFit::Yes),
        ("timeout 5 git push origin", RuleFit::Yes),
        ("sudo git push origin", RuleFit::Maybe),
        ("ls && git push origin", RuleFit::Maybe),
        ("git push origin \"$(cat x)\"", RuleFit::Maybe),
        ("git push origin > /srv/prod/x", RuleFit::Maybe),
        ("ls", RuleFit::No),
    ] {
        assert_eq!(command("git push *", text), fit, "{text}");
    }
    let unknown = |args: Value| {
        Matcher::new(&call("mcp__box__run", args), &[]).command(&list(&["git push *"]))
    };
    assert_eq!(unknown(json!({"command": "cd x; git push"})), RuleFit::Maybe);
    assert_eq!(unknown(json!({"line": "git push origin"})), RuleFit::Maybe);
    assert_eq!(unknown(json!({"argv": ["git", "push"]})), RuleFit::Maybe);
    assert_eq!(unknown(json!({"code": "!git push\nx"})), RuleFit::Maybe);
    assert_eq!(unknown(json!({"title": "How to push"})), RuleFit::No);
    let known = call("TodoWrite", json!({"todos": [{"content": "git push"}]}));
    assert_eq!(Matcher::new(&known, &[]).command(&list(&["git push *"])), RuleFit::No);
    let write = call("Write", json!({"file_path": "x", "content": "git push"}));
    assert_eq!(Matcher::new(&write, &[]).command(&list(&["git push *"])), RuleFit::No);
}

#[test]
fn a_rule_on_a_path_meets_whatever_touches_it() {
    for text in [
        "cp x /srv/prod/a.conf",
        "cp x /srv/prod",
        "cp prod /srv",
        "cp -t /srv/prod x",
        "cp --target-directory=/srv/prod x",
        "mv x /srv/prod/a.conf",
        "mv /srv/prod /old",
        "mv /srv/prod/a.conf /old",
        "tee /srv/prod/a.conf < x",
        "echo x | sudo tee -a /srv/prod/a.conf",
        "sed -i s/a/b/ /srv/prod/a.conf",
        "rm /srv/prod/a.conf",
        "rm -rf /srv",
        "rm -rf /srv/*",
        "rm -rf /srv/p*/a",
        "rm -rf /",
        "rm -rf \"$dir\"",
        "rm -rf \"$dir/a.conf\"",
        "rm -rf /srv/{prod,test}/a",
        "dd if=/dev/zero of=/srv/prod/a.conf",
        "tar xf x.tar -C /srv/prod",
        "tar -xf x.tar -C/srv",
        "tar xf x.tar --directory=/srv/prod",
        "cd /srv && tar xf /x.tar",
        "unzip x.zip -d /srv/prod",
        "cd /srv/prod && unzip /x.zip",
        "install -m 644 x /srv/prod/a.conf",
        "ln -sf x /srv/prod/a.conf",
        "truncate -s 0 /srv/prod/a.conf",
        "rsync -a x/ /srv/prod/",
        "rsync -a x/ /srv",
        "cd /srv/prod && git checkout -- a.conf",
        "git -C /srv/prod checkout -- a.conf",
        "cd /srv/prod && git apply /x.patch",
        "cd /srv && patch -p1 < /x.patch",
        "patch -d /srv/prod < x",
        "echo x > /srv/prod/a.conf",
        "echo x >> /srv//prod/./a.conf",
        "echo x > /srv/test/../prod/a.conf",
        "echo x > ../../../srv/prod/a.conf",
        "cat /srv/prod/a.conf",
        "cat < /srv/prod/a.conf",
        "cd /srv; cat prod/a.conf",
        "grep -r x /srv",
        "find /srv -delete",
        "find /srv/prod -type f",
        "chmod -R 777 /srv",
        "chown ana /srv/prod/a.conf",
        "unheard-of /srv/prod/a.conf",
        "unheard-of --out=/srv/prod/a.conf",
        "curl -o /srv/prod/a.conf https://x",
        "docker run -v /srv/prod:/x y",
        "python3 -c 'open(\"/srv/prod/a\")'",
        "sh -c 'rm /srv/prod/a.conf'",
        "/srv/prod/run.sh",
        "xargs rm < list",
        "cd \"$x\" && rm a.conf",
        "cat /proc/self/root/srv/prod/a.conf",
        "curl file:///srv/prod/a.conf",
        "ln -s /srv s; rm s/prod/a.conf",
        "ls | xargs rm",
        "find /srv -name x -exec rm {} +",
    ] {
        assert_ne!(path("/srv/prod/**", text), RuleFit::No, "{text}");
    }
    for text in [
        "rm infra/main.tf",
        "rm -r infra",
        "rm -rf .",
        "rm -rf ../shop",
        "git rm -r infra",
        "git checkout .",
        "cp x infra/main.tf",
        "cd infra && rm main.tf",
        "rm /home/ana/shop/infra/main.tf",
        "rm ~/shop/infra/main.tf",
        "unzip x.zip",
    ] {
        assert_ne!(path("infra/**", text), RuleFit::No, "{text}");
    }
    assert_ne!(path("~/shop/infra/**", "rm infra/x"), RuleFit::No);
    assert_ne!(path("/srv//prod/", "rm -r /srv/prod"), RuleFit::No);
    assert_ne!(path("**/.env", "cp .env x"), RuleFit::No);
}

#[test]
fn a_rule_on_a_path_leaves_its_neighbours_alone() {
    for text in [
        "cp x /srv/product/a.conf",
        "rm -rf /srv/test",
        "rm -rf build",
        "rm -rf build/*.o",
        "tar xf x.tar -C /srv/test",
        "tar xzf x.tgz",
        "cd /srv/test && unzip x.zip",
        "git checkout -- a.conf",
        "cd sub && rm a.conf",
        "ls *.rs",
        "find . -name '*.rs' | head",
        "git push origin main",
        "git commit -m 'touch /srv/prod/a.conf'",
        "echo /srv/prod/a.conf",
        "ls /srv/test/prod",
        "make test",
        "cargo build --manifest-path sub/Cargo.toml",
        "docker build .",
        "cat /srv/prod.conf",
        "npm install",
        "curl -o x https://example.com/srv/prod/a.conf",
        "echo x > /dev/null",
    ] {
        assert_eq!(path("/srv/prod/**", text), RuleFit::No, "{text}");
    }
    for text in [
        "make test",
        "git push origin main",
        "cargo test",
        "eslint src/",
        "docker build .",
        "go test ./...",
        "echo \"$HOME\"",
        "for f in *.rs; do echo \"$f\"; done",
        "cp a b",
        "cp src/a.rs src/b.rs",
        "sed -i s/a/b/ src/a.rs",
        "cat src/a.rs",
        "mkdir -p src/b",
        "touch src/b.rs",
        "echo x > src/b.rs",
        "rm src/b.rs",
        "chmod +x run.sh",
        "python3 run.py src",
        "rm src/*.rs",
        "npm run build",
    ] {
        assert_eq!(path("**/.env", text), RuleFit::No, "{text}");
    }
}

#[test]
fn a_folder_is_the_one_that_something_runs_in_however_it_is_written() {
    let at = |cwd: &str, text: &str, links: &[(&str, &str)]| {
        let mut facts = Call { cwd: Some(cwd.to_owned()), ..shell(text) };
        let mut found = Links::default();
        for (path, to) in links {
            found.lead((*path).to_owned(), LinkTarget::To(vec![(*to).to_owned()]));
        }
        facts.links = found;
        Matcher::new(&facts, &[]).folder(&list(&["/srv/prod/**"]))
    };
    for cwd in [
        "/srv/prod",
        "/srv/prod/x",
        "/srv//prod/x",
        "/srv/./prod",
        "//srv/prod/",
        "/srv/test/../prod/x",
        "/../srv/prod",
    ] {
        assert_eq!(at(cwd, "ls", &[]), RuleFit::Yes, "{cwd}");
    }
    let link = [("/home/ana/link", "/srv/prod")];
    assert_eq!(at("/home/ana/link", "ls", &link), RuleFit::Maybe);
    for text in [
        "cd /srv/prod && ls",
        "cd /srv; cd prod; ls",
        "cd ../../srv/prod && ls",
        "pushd /srv/prod; ls",
        "git -C /srv/prod pull",
        "git --work-tree=/srv/prod pull",
        "make -C/srv/prod all",
        "env -C /srv/prod ls",
        "sh -c 'cd /srv/prod && ls'",
        "cd \"$x\" && ls",
        "cd - && ls",
        "cd /proc/self/root/srv/prod && ls",
        "terraform -chdir=/srv/prod apply",
        "$PROGRAM x",
    ] {
        assert_eq!(at("/home/ana", text, &[]), RuleFit::Maybe, "{text}");
    }
    let led = [("/home/ana/link", "/srv/prod")];
    assert_eq!(at("/home/ana", "cd link && ls", &led), RuleFit::Maybe);
    for cwd in ["/srv/product", "/srv", "/srv/prod/../test", "/home/ana/srv/prod"] {
        assert_eq!(at(cwd, "ls", &[]), RuleFit::No, "{cwd}");
    }
    assert_eq!(at("/srv/test", "cd x && ls", &[]), RuleFit::No);
    let workdir = call("exec_command", json!({"cmd": "ls", "workdir": "/srv/prod"}));
    assert_eq!(Matcher::new(&workdir, &[]).folder(&list(&["/srv/prod/**"])), RuleFit::Maybe);
    let nowhere = Call::shell("ls");
    assert_eq!(Matcher::new(&nowhere, &[]).folder(&list(&["/srv/prod/**"])), RuleFit::Maybe);
    let relative = Call { cwd: Some("prod".to_owned()), ..Call::shell("ls") };
    assert_eq!(Matcher::new(&relative, &[]).folder(&list(&["/srv/prod/**"])), RuleFit::Maybe);
}

#[test]
fn tools_fit_under_every_name_and_touch_what_they_name() {
    let of = |tool: &str, args: Value| {
        let call = call(tool, args);
        let matcher = Matcher::new(&call, &[]);
        (matcher.tool(&list(&["Bash"])), matcher.path(&list(&["/srv/prod/**"])))
    };
    assert_eq!(of("run_shell_command", json!({"command": "ls"})), (RuleFit::Yes, RuleFit::No));
    let path = |path: &str| json!({ "file_path": path });
    assert_eq!(of("Write", path("/srv/prod/a")), (RuleFit::No, RuleFit::Yes));
    assert_eq!(of("Write", path("/srv/./prod//a")), (RuleFit::No, RuleFit::Yes));
    assert_eq!(of("Write", path("/srv/test/a")), (RuleFit::No, RuleFit::No));
    let own = call("Write", path("infra/a"));
    assert_eq!(Matcher::new(&own, &[]).path(&list(&["infra/**"])), RuleFit::Yes);
    assert_eq!(of("Grep", json!({"pattern": "x", "path": "/srv"})), (RuleFit::No, RuleFit::Maybe));
    assert_eq!(of("Glob", json!({"pattern": "/srv/*/a"})), (RuleFit::No, RuleFit::Maybe));
    assert_eq!(of("mcp__fs__rm", json!({"target": "/srv"})), (RuleFit::No, RuleFit::Maybe));
    let text = json!({"do": "rm /srv/prod/a"});
    assert_eq!(of("mcp__fs__do", text), (RuleFit::No, RuleFit::Maybe));
    assert_eq!(of("mcp__fs__rm", json!({"target": "/srv/test"})), (RuleFit::No, RuleFit::No));
}

#[test]
fn what_cannot_be_read_may_have_any_effect() {
    let fit = |text: &str| Matcher::new(&shell(text), &[]).effect(&list(&["deletes"]));
    assert_eq!(fit("python3 -c 'x'"), RuleFit::Maybe);
    assert_eq!(fit("echo x | sh"), RuleFit::Maybe);
    assert_eq!(fit("make all"), RuleFit::No);
}

#[test]
fn what_people_do_every_day_meets_no_rule_on_something_else() {
    let corpus = include_str!("../../../../tests/corpus/benign.jsonl");
    let lines = corpus.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let calls: Vec<Call> =
        lines.filter_map(|line| Some(shell(line.get("command")?.as_str()?))).collect();
    let met = |fit: fn(&Matcher<'_>, &[String]) -> RuleFit, pattern: &str| {
        let fits = |call: &&Call| fit(&Matcher::new(call, &[]), &list(&[pattern])) != RuleFit::No;
        calls.iter().filter(fits).count()
    };
    // Variables that may change what runs, and words that are known only when it runs.
    let command = met(|matcher, patterns| matcher.command(patterns), "terraform apply *");
    let path = met(|matcher, patterns| matcher.path(patterns), "/srv/prod/**");
    let folder = met(|matcher, patterns| matcher.folder(patterns), "/srv/prod/**");
    assert!(
        calls.len() > 200 && command <= 2 && path <= 15 && folder <= 5,
        "{command} {path} {folder}"
    );
}
