//! Rows 8 and 9 of the second round: `@reads` shows no secret, and what reaches out does not read.

use crate::daemon::Daemon;
use serde_json::{Value, json};

/// Words of the environment, files, patterns, and what prints more than it seems to.
const SHOWN: &[&str] = &[
    "cat <<< \"$SECRET\"",
    "cat <<EOF\n$SECRET\nEOF",
    "cat <<EOF\nfine\n$(echo $SECRET)\nEOF",
    "x=$SECRET; echo $x",
    "x=$SECRET; y=$x; echo \"a $y\"",
    "for x in $SECRET; do echo $x; done",
    "read x <<< $SECRET; echo $x",
    "x=$(cat .env); echo $x",
    "x=$(< .env); echo $x",
    "while read -r line; do echo \"$line\"; done < .env",
    "echo $api_key",
    "echo ${db_password}",
    "printf '%s' \"$api_key\"",
    "x=api_key; echo ${!x}",
    "echo ${nope:-$SECRET}",
    ": ${nope:?$SECRET}",
    "case $SECRET in a*) echo a ;; esac",
    "[[ $SECRET == a* ]] && echo a",
    "test \"$SECRET\" -gt 0",
    "exit $SECRET",
    "cd \"$SECRET\"",
    "true \"$SECRET\"",
    "set -x; : $SECRET",
    "false && x=1; echo $x",
    "false && x=1 || echo $x",
    "x=1 | cat; echo $x",
    "x=1 & echo $x",
    "(x=1); echo $x",
    "x+=1; echo $x",
    "read -r x < none; echo $x",
    "declare -p",
    "set",
    "export -p",
    "env",
    "printenv",
    "printenv SECRET",
    "cat /proc/$$/environ",
    "cat /proc/self/environ",
    "cat < /proc/$$/environ",
    "cat /proc/*/environ",
    "tr '\\0' '\\n' < /proc/self/environ",
    "cat /proc/1/cmdline",
    "strings @/etc/passwd",
    "strings @list",
    "cat < *.env",
    "x=/etc/passwd; cat < $x",
    "cat app.ke[y]",
    "cat .en?",
    "cat *.e*",
    "cat server.key.ba?",
    "git log -p -- '.en[v]'",
    "git log -p -- ':(icase).EN?'",
    "git show 'HEAD:.en*'",
    "git grep -e x -- ':(glob)**/.env'",
    "git grep -e x -- ':(glob)**/.en?'",
    "git diff -- .env",
    "git blame config/master.key",
    "git remote -v",
    "git remote get-url origin",
    "git config --list",
    "git config --get remote.origin.url",
    "git config --get http.proxy",
    "cat .git/config",
    "grep -rn . --include='.en\\v' config",
    "rg x -g '*.{env,x}'",
    "cat .env~",
    "cat .env.bak",
    "cat '#.env#'",
    "cat .env.swp",
    "cat .envrc",
    "cat auth.json",
    "cat terraform.tfstate",
    "cat terraform.tfstate.backup",
    "cat prod.tfvars",
    "cat kubeconfig",
    "cat .kube/config",
    "cat .docker/config.json",
    "cat .pypirc",
    "cat .cargo/credentials.toml",
    "cat .aws/config",
    "cat id_ecdsa",
    "cat a.p12",
    "cat service-account-1.json",
    "cat .NETRC",
];

/// Programs that contact a host by themselves, or run and obey what the clone brings.
const REACHING: &[&str] = &[
    "npm ls",
    "npm list --depth=0",
    "npm outdated",
    "npm view react",
    "npm config get registry",
    "yarn info react",
    "pip list",
    "pip list --outdated",
    "pip freeze",
    "pip show requests",
    "cargo search serde",
    "cargo metadata",
    "cargo tree",
    "go list -m -u all",
    "docker ps",
    "docker images",
    "podman ps",
    "kubectl get pods",
    "helm list",
    "terraform plan",
    "gh pr list",
    "aws s3 ls",
    "brew outdated",
    "bundle list",
    "composer show",
    "poetry show",
    "git fetch",
    "git ls-remote",
    "git remote show origin",
];

const EVERYDAY: &[&str] = &[
    "cat src/*.rs",
    "head -20 *.md",
    "ls * && ls -la .env",
    "wc -l src/**/*.ts",
    "grep -rn main . && rg main -g '*.{ts,json}'",
    "cat 'app/[id]/page.tsx' .env.example",
    "git log -p -1 -- 'src/*.rs'",
    "git show HEAD:src/main.rs",
    "git show 'stash@{0}'",
    "git remote",
    "git config --get user.name",
    "for f in src/*.rs; do echo \"$f\"; done",
    "x=$(git rev-parse HEAD); echo \"$x\"",
    "while read -r a b; do echo \"$a\"; done < README.md",
    "read -r x <<< 'a b' && echo $x",
    "cd src && f=lib.rs && echo $f",
    "[ -n \"$SECRET\" ] && echo \"${SECRET:+set}\"",
    "[[ -z $SECRET ]] || echo set",
    "cat <<'EOF'\n$SECRET\nEOF",
    "echo \"hello $USER\" '$SECRET' $?",
    "awk '{print $1}' README.md",
    "node --version; python3 --version",
];

/// Tools and their arguments: paths that a tool may take for others.
fn odd() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    for path in [
        " /etc/passwd",
        "/etc/passwd ",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "\"/etc/passwd\"",
        "@/etc/passwd",
        "%2fetc%2fpasswd",
        "..\\..\\x",
        "C:\\x",
        "$HOME/x",
        "~/x",
        "src/../../../x",
        "a\n/etc/passwd",
        "{/etc/*,x}",
        "auth.json",
        "auth.json ",
        "file:auth.json",
        "auth.json#L1",
        "kubeconfig/.",
    ] {
        calls.push(("Read", json!({"file_path": path})));
        calls.push(("Grep", json!({"pattern": "x", "path": path})));
    }
    for folder in
        [" /etc", "file:///etc", "{/etc,x}", "~/x", "x/{../../../*,y}", "+(/etc)/*", "[/]etc/*"]
    {
        calls.push(("Glob", json!({"pattern": folder})));
        calls.push(("Glob", json!({"pattern": "*", "path": folder})));
        calls.push(("LS", json!({"path": folder})));
    }
    for glob in [".env", ".en[v]", ".e*", "*.{env,x}", "{.env,x}", "**/.env", "*.ke?", "{/etc/*,x}"]
    {
        calls.push(("Grep", json!({"pattern": "x", "glob": glob})));
    }
    for paths in [".e*", "**/*", "{/etc/*,x}", "*.ke[y]"] {
        calls.push(("read_many_files", json!({"paths": [paths]})));
    }
    calls
}

fn usual() -> Vec<(&'static str, Value)> {
    vec![
        ("Read", json!({"file_path": "src/main.rs"})),
        ("Read", json!({"file_path": "./app/(auth)/[id]/page.tsx"})),
        ("Read", json!({"file_path": "app/routes/users.$id.tsx"})),
        ("Read", json!({"file_path": "docs/a b, c.md"})),
        ("Glob", json!({"pattern": "**/*.{ts,tsx}"})),
        ("Glob", json!({"pattern": "**/.env*"})),
        ("LS", json!({"path": "src/"})),
        ("Grep", json!({"pattern": "x", "glob": "*.json"})),
        ("Grep", json!({"pattern": "x", "path": "src", "glob": "**/*"})),
    ]
}

/// What the built-in rules say of a call, in a mode of its agent.
async fn verdict(daemon: &Daemon, tool: &str, args: &Value, mode: &str) -> String {
    let folder = std::env::temp_dir().join("a-project");
    let call = json!({"agent": "claude-code", "session": "s", "cwd": folder, "tool": tool, "args": args,
        "agent_mode": mode});
    let (_, said) = daemon.call(&call).await;
    format!("{}: {}", said["verdict"], said["reason"])
}

async fn all_ask(calls: Vec<(&str, Value)>) {
    let daemon = Daemon::start("").await;
    let mut wrong = Vec::new();
    for (tool, args) in calls {
        for mode in ["default", "plan"] {
            let said = verdict(&daemon, tool, &args, mode).await;
            if said.starts_with("\"allow\"") {
                wrong.push(format!("{mode}: {tool} {args}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn bash<'c>(commands: &[&'c str]) -> Vec<(&'c str, Value)> {
    commands.iter().map(|command| ("Bash", json!({"command": command}))).collect()
}

#[tokio::test]
async fn row_8_what_may_print_a_secret_asks_in_every_mode() {
    all_ask(bash(SHOWN)).await;
}

#[tokio::test]
async fn row_8_a_path_that_a_tool_may_take_for_another_asks_in_every_mode() {
    all_ask(odd()).await;
}

#[tokio::test]
async fn row_9_programs_that_reach_out_by_themselves_ask_in_every_mode() {
    all_ask(bash(REACHING)).await;
}

#[tokio::test]
async fn rows_8_and_9_everyday_reading_is_allowed_in_every_mode() {
    let daemon = Daemon::start("").await;
    let calls = [bash(EVERYDAY), usual()].concat();
    let mut wrong = Vec::new();
    for (tool, args) in calls {
        for mode in ["default", "plan"] {
            let said = verdict(&daemon, tool, &args, mode).await;
            if !said.starts_with("\"allow\"") {
                wrong.push(format!("{mode}: {tool} {args}: {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
