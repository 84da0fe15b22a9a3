//! Row 2 of the second round: options that are not written out, not known or behind another one.

use crate::daemon::Daemon;
use serde_json::json;

/// The verdict on a shell command in a project, under rules and in a mode of the agent.
async fn verdict(daemon: &Daemon, mode: &str, command: &str) -> String {
    let folder = daemon.dir.path().join("shop");
    std::fs::create_dir_all(&folder).unwrap();
    let call = json!({"agent": "claude-code", "session": "s", "cwd": folder, "tool": "Bash",
        "args": {"command": command}, "agent_mode": mode});
    daemon.call(&call).await.1["verdict"].as_str().unwrap().to_owned()
}

/// Notes a command that has another verdict.
async fn is(wrong: &mut Vec<String>, daemon: &Daemon, mode: &str, command: &str, wanted: &str) {
    let verdict = verdict(daemon, mode, command).await;
    if verdict != wanted {
        wrong.push(format!("{mode}: {command}: {verdict}"));
    }
}

#[tokio::test]
async fn row_2_no_option_of_a_wrapper_hides_a_command_from_the_built_in_rules() {
    let mut wrong = Vec::new();
    let daemon = Daemon::start("").await;
    for command in [
        "env --s='touch x' ls",
        "env --split='touch x' ls",
        "env -S'touch x' ls",
        "env -vS 'touch x' ls",
        "env -iS'touch x' ls",
        "env --uns echo sh -c 'touch x'",
        "env --unset echo touch x",
        "env -u echo touch x",
        "env -iu echo touch x",
        "env --c=.. ls",
        "env --ch .. ls",
        "env a-b=echo touch x",
        "env 1=ls touch x",
        "env --i echo touch x",
        "env --new echo touch x",
        "env -q echo touch x",
        "/usr/bin/time --form echo sh -c 'touch x'",
        "/usr/bin/time --f echo touch x",
        "/usr/bin/time -f echo touch x",
        "/usr/bin/time --o=x ls",
        "/usr/bin/time -vo x ls",
        "timeout --sig echo 5 touch x",
        "timeout --k echo 5 touch x",
        "timeout --x 5 ls",
        "nice --a echo touch x",
        "nice --5 ls",
        "stdbuf --o echo touch x",
        "stdbuf -z ls",
        "ionice --cl echo touch x",
        "ionice --pi 1 ls",
        "setsid --x ls",
        "nohup --x ls",
        // At a terminal it writes nohup.out.
        "nohup ls",
        "command -x ls",
        "ls | xargs --max-a echo touch",
        "ls | xargs --d echo touch",
        "ls | xargs --process-s LD_PRELOAD ls",
        "ls | xargs --m ls",
        "ls | xargs -I{} {} x",
        "ls | xargs --repl=@ sh -c 'cat @'",
        "find . -name x -exec {} ';'",
        "find . -exec sh -c 'cat {}' ';'",
        "bash -rcfile ls",
        "bash -oc pipefail 'touch x'",
        "bash -Z -c ls",
    ] {
        for mode in ["default", "plan"] {
            is(&mut wrong, &daemon, mode, command, "ask").await;
        }
    }
    for command in [
        "env --unset=A ls",
        "env --uns A ls",
        "env -iu A ls",
        "env -- ls",
        "timeout --kill 5 --sig=KILL 60 ls",
        "timeout -v 5 ls",
        "nice -n 5 ls",
        "nice --adj=5 ls",
        "nice -5 ls",
        "nohup ls | head",
        "stdbuf -oL -e0 cat x",
        "stdbuf --out=L cat x",
        "ls | xargs --no-run-if-empty -n 1 echo",
        "command -v ls",
    ] {
        is(&mut wrong, &daemon, "plan", command, "allow").await;
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// A rule with a wildcard covers no option that writes, runs or leaves the project.
#[tokio::test]
async fn row_2_no_wildcard_covers_an_option_by_its_beginning() {
    let mut wrong = Vec::new();
    let programs = [
        "sort", "split", "cp", "mv", "make", "sed", "gawk", "tar", "install", "ln", "rg", "git",
        "curl", "wget", "date", "shuf", "wc", "grep", "rm", "cargo", "env", "timeout", "echo",
    ];
    let rules = programs.map(|program| format!("\"{program} *\": \"allow\"")).join(", ");
    let rules = format!("{{\"bash\": {{{rules}}}}}");
    let daemon = Daemon::start_with("", &[("permissions.jsonc", &rules)]).await;
    for command in [
        "sort --o=/etc/x x",
        "sort --ou x x",
        "sort --comp=./evil x",
        "sort --files=x",
        "sort -ro x x",
        "sort -k -- -o x x",
        "split --f='touch x' x",
        "split --fil 'touch x' x",
        "cp --target=.git/hooks x",
        "cp --t .git/hooks x",
        "cp -t.git/hooks x",
        "cp -rt .git/hooks x",
        "cp -S -- -t .git/hooks x",
        "mv --t=/etc x",
        "mv --suf -- --targ=/etc x",
        "install --ta /etc x",
        "ln --targ=.. x",
        "make --f=/tmp/x",
        "make --file /tmp/x",
        "make --dir=/tmp x",
        "make --ev='x:;id'",
        "make -kf/tmp/x",
        "sed --i s/a/b/ /etc/x",
        "sed --in-pl s/a/b/ /etc/x",
        "sed --fi=x y",
        "gawk --so=x y",
        "gawk --f=x y",
        "gawk --l=x y",
        "gawk --i=x y",
        "gawk --e=x y",
        "tar --to=sh -xf x",
        "tar --checkpoint-a=exec=sh -cf x y",
        "tar --us=sh -xf x",
        "tar --rmt=sh -xf x",
        "tar --rsh=sh -xf x",
        "tar --abs -xf x",
        "tar xTf y x",
        "tar xfC x /etc",
        "tar --dir=/etc -xf x",
        "rg --pr ./evil x",
        "rg -e -- --pre=./evil x",
        "git grep --open x",
        "git grep -e -- -O./evil x",
        "git log --outp=x",
        "git log --o x",
        "git diff --ext",
        "git push --forc",
        "git push --de origin x",
        "git rebase --ex id HEAD",
        "git rebase -xid HEAD",
        "curl --outp x http://h/",
        "curl --upl x http://h/",
        "wget --post-f=x http://h/",
        "wget --exe x http://h/",
        "date --fi=x",
        "date --s=now",
        "shuf --out=x y",
        "wc --fi=x",
        "grep --fil=/etc/x y",
        "cargo --config x build",
        "env --s='touch x' ls",
        "timeout --s echo touch x",
    ] {
        is(&mut wrong, &daemon, "default", command, "ask").await;
    }
    for command in [
        "sort -t, -k2 -rn x",
        "sort --key=2 --reverse x",
        "sort --rev x",
        "split -l 100 x part",
        "cp -r a b",
        "cp --recursive a b",
        "cp -t sub a b",
        "mv --verb a b",
        "make -j8 test",
        "make -C sub test",
        "sed --quiet '1,5p' x",
        "sed -n '1,5p' x",
        "gawk -F: '{print $1}' x",
        "tar -xzf a.tar.gz",
        "tar --extract --file=a.tar",
        "tar czf a.tgz src",
        "tar xf a.tar -C sub",
        "rg --pretty x",
        "git log --oneline -20 -- src",
        "git push origin main",
        "git diff --stat",
        "curl -s http://localhost:8080/health",
        "grep --file-without x y",
        "cargo run --release -- --config x",
        "timeout --kill-after=5 60 echo x",
    ] {
        is(&mut wrong, &daemon, "default", command, "allow").await;
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn row_2_a_deny_looks_at_every_word_behind_an_option_that_is_not_known() {
    let mut wrong = Vec::new();
    let rules = r#"{"*": "allow", "bash": {"rm *": "deny"}}"#;
    let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    for command in [
        "env --s='rm -rf x'",
        "env --new rm -rf x",
        "env a-b=1 rm -rf x",
        "timeout --x 5 rm -rf x",
        "strace -e a b c d e f g h i j k l m rm -rf x",
        "watch -d rm -rf x",
        "script -qc 'rm -rf x' /dev/null",
        "script --comm='rm -rf x' /dev/null",
        "tmux new-session -d 'rm -rf x'",
        "flock x -c 'rm -rf x'",
        "bash -oc pipefail 'rm -rf x'",
        "bash -c - 'rm -rf x'",
    ] {
        is(&mut wrong, &daemon, "default", command, "deny").await;
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn row_2_what_is_critical_is_so_by_every_beginning() {
    let mut wrong = Vec::new();
    let daemon = Daemon::start_with("", &[("permissions.jsonc", r#"{"*": "allow"}"#)]).await;
    for command in [
        "rm --r -f /",
        "rm --rec ~",
        "git push --forc origin main",
        "git push --mir origin",
        "git reset --har",
        "git clean --forc",
        "git branch --del --forc x",
        "git gc --pru=now",
        "sudo --log",
        "sudo -nis",
        "mkfs.ext4 -L --help /dev/sda1",
        "mount --bin a b",
        "swapoff --al",
    ] {
        is(&mut wrong, &daemon, "default", command, "ask").await;
    }
    for command in ["git push origin main", "git clean -n", "git gc --prune=2.weeks.ago", "rm -r x"]
    {
        is(&mut wrong, &daemon, "default", command, "allow").await;
    }
    assert_eq!(wrong, Vec::<String>::new());
}
