//! Issue 28, row 4: a text is allowed for the shells that may run it.

use crate::{daemon::Daemon, guardrail::verdict};
use serde_json::json;
use std::process::Command;

/// Texts that are harmless to bash and run or write something hidden in dash.
const HIDDEN_IN_SH: &[&str] = &[
    "echo $'\\'; touch HIDDEN #'",
    "if [[ a > HIDDEN ]]; then echo x; fi",
    "[[ -n x || y > HIDDEN ]]; echo x",
    "echo $'a\\' > HIDDEN; echo b #'",
];

/// Texts that shells read differently, one for each construct.
const DIFFERENT: &[&str] = &[
    "echo a &> /dev/null",
    "echo a >& /dev/null",
    "echo a |& cat",
    "cat <<< a",
    "cat <(ls)",
    "echo $'a'",
    "[[ -n a ]]",
    "((1))",
    "for ((i=0;i<1;i++)); do ls; done",
    "function f { ls; }; f",
    "a=(1 2); ls",
    "i=0; i+=1; ls",
    "case a in a) ls ;& b) ls ;; esac",
    "x=abc; echo ${x:0:1}",
    "x=abc; echo ${x/a/b}",
    "x=abc; echo ${x^^}",
    "x=abc; echo ${x@Q}",
    "time { ls; }",
    "select x in a\ndo ls; done < /dev/null",
];

/// What every shell reads alike.
const ALIKE: &[&str] = &[
    "ls && git status || echo \"no $?\"",
    "cat src/a.rs 2>&1 | head -5; echo 'done'",
    "for f in src/*.rs; do wc -l src/a.rs; done",
    "if [ -f a ]; then cat a; fi > /dev/null",
    "echo \"$(ls | wc -l)\" `pwd` $((1 + 2))",
    "cat <<'EOF'\n$(x)\nEOF",
    "x=1; echo \"${x:-2}\" ${#x} ${x%1}",
    "case a in a|b) ls;; *) pwd;; esac",
    "time ls",
    "printf '%s\\n' a b",
];

/// Texts that are harmless to bash and run or write something hidden in zsh.
const HIDDEN_IN_ZSH: &[&str] = &[
    "printf '%d' 'PATH[$(touch HIDDEN)]'",
    "printf '%*s' 'PATH[$(touch HIDDEN)]' x",
    "exit 'PATH[$(touch HIDDEN)]'",
    "for i in 1; do break 'PATH[$(touch HIDDEN)]'; done",
    "read -t 'PATH[$(touch HIDDEN)]' x",
    "y='PATH[$(touch HIDDEN)]'; x=abc; echo \"$x[y]\"",
    "if false; then { ls } else { touch HIDDEN; }; fi",
    "echo x >! HIDDEN",
    "{touch HIDDEN;echo }",
];

async fn said(daemon: &Daemon, tool: &str, text: &str) -> String {
    verdict(daemon, "shop", tool, json!({ "command": text })).await
}

async fn at_work() -> Daemon {
    let daemon = Daemon::start("").await;
    std::fs::create_dir_all(daemon.dir.path().join("shop/src")).unwrap();
    daemon
}

/// Returns whether the shell leaves a file that is called `HIDDEN`.
fn hides(shell: &str, text: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(shell);
    command.args(["-c", text]).current_dir(folder.path()).stdin(std::process::Stdio::null());
    command.output().unwrap();
    folder.path().join("HIDDEN").exists()
}

fn is_here(shell: &str) -> bool {
    let here = Command::new(shell).args(["-c", ":"]).output().is_ok();
    if !here {
        println!("NOTE: {shell} is not installed and runs nothing here");
    }
    here
}

#[tokio::test]
async fn row_4_what_shells_read_differently_asks_where_the_shell_is_not_known() {
    let daemon = at_work().await;
    for text in HIDDEN_IN_SH.iter().chain(DIFFERENT) {
        for tool in ["shell_exec", "shell", "sh", "exec", "run_command", "terminal", "local_shell"]
        {
            assert_eq!(said(&daemon, tool, text).await, "ask", "{tool}: {text}");
        }
    }
    // Under the built-in rules these ask in any shell: words known only when they run, no command.
    let others = ["<(", "[[", "((1", "function"];
    for text in DIFFERENT.iter().filter(|text| !others.iter().any(|other| text.contains(other))) {
        assert_eq!(said(&daemon, "Bash", text).await, "allow", "{text}");
    }
    for text in ALIKE {
        for tool in ["Bash", "bash", "shell_exec", "sh", "exec"] {
            assert_eq!(said(&daemon, tool, text).await, "allow", "{tool}: {text}");
        }
    }
}

#[tokio::test]
async fn row_4_the_agent_tells_the_shell_of_its_tool() {
    let daemon = at_work().await;
    let cwd = daemon.dir.path().join("shop");
    for (agent, verdict) in [("gemini", "allow"), ("cline", "ask")] {
        let call = json!({"agent": agent, "session": "s", "cwd": cwd, "tool": "run_shell_command",
            "args": {"command": "cat <<< a"}});
        assert_eq!(daemon.call(&call).await.1["verdict"], verdict, "{agent}");
    }
}

#[tokio::test]
async fn row_4_what_zsh_reads_differently_asks_everywhere() {
    let daemon = at_work().await;
    for text in HIDDEN_IN_ZSH {
        assert_eq!(said(&daemon, "Bash", text).await, "ask", "{text}");
    }
    for text in ["printf '%s: %d\\n' \"$PWD\" 3", "i=3; exit $i", "printf '%5.1f' 2.5", "exit $?"] {
        assert_eq!(said(&daemon, "Bash", text).await, "allow", "{text}");
    }
}

#[test]
fn row_4_the_hidden_parts_run_there_and_not_in_bash() {
    for (shell, texts) in [("dash", HIDDEN_IN_SH), ("zsh", HIDDEN_IN_ZSH)] {
        for text in texts.iter().filter(|_| is_here(shell)) {
            assert!(hides(shell, text), "{shell}: {text}");
            assert!(!hides("bash", text), "{text}");
        }
    }
    for shell in ["bash", "dash", "zsh"].into_iter().filter(|shell| is_here(shell)) {
        for text in ALIKE {
            assert!(!hides(shell, text), "{shell}: {text}");
        }
    }
}
