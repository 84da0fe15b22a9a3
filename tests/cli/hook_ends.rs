//! Hooks that end without an answer: at the agent's own limit, by a signal, and because the turn was
//! interrupted at the agent.

use crate::{
    daemon::{APPROVER, Daemon, LONG},
    process::{Ended, Process, hearing, run},
};
use serde_json::{Value, json};
use std::{fs, io::Write as _, path::Path, time::Duration};
use tokio::time::{sleep, timeout};

/// A gate: its command, and a call as its agent writes it.
struct Gate {
    words: &'static [&'static str],
    call: fn() -> Value,
}

const GATES: [Gate; 7] = [
    Gate {
        words: &["hook", "claude-code", "--gate"],
        call: || {
            json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                "permission_mode": "bypassPermissions", "tool_input": {"command": "make x"}})
        },
    },
    Gate {
        words: &["hook", "codex", "--gate"],
        call: || {
            json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                "tool_input": {"command": "make x"}})
        },
    },
    Gate {
        words: &["hook", "gemini"],
        call: || {
            json!({"session_id": "s", "hook_event_name": "BeforeTool",
                "tool_name": "run_shell_command", "tool_input": {"command": "make x"}})
        },
    },
    Gate {
        words: &["hook", "cursor"],
        call: || {
            json!({"conversation_id": "s", "hook_event_name": "beforeShellExecution",
                "command": "make x"})
        },
    },
    Gate {
        words: &["hook", "cline"],
        call: || {
            json!({"taskId": "s", "preToolUse": {"toolName": "execute_command",
                "parameters": {"command": "make x"}}})
        },
    },
    Gate {
        words: &["hook", "pi"],
        call: || {
            json!({"type": "tool_call", "session": "s", "tool": "bash",
                "input": {"command": "make x"}})
        },
    },
    Gate {
        words: &["hook", "qwen", "--gate"],
        call: || {
            json!({"session_id": "s", "hook_event_name": "PreToolUse",
                "tool_name": "run_shell_command", "tool_input": {"command": "make x"}})
        },
    },
];

impl Gate {
    fn start(&self, daemon: &Daemon, options: &[&str]) -> Process {
        let words: Vec<&str> = self.words.iter().chain(options).copied().collect();
        Process::start(hearing(&daemon.command(&words)))
    }

    fn name(&self) -> &'static str {
        self.words[1]
    }
}

/// Why the call is blocked, by stderr with exit code 2 or by a denial on stdout.
fn blocked(ended: &Ended, name: &str) -> String {
    // A signal may come while a denial is printed already.
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    // Cline, pi, Qwen: a denial is one of their own.
    let qwen = &printed["hookSpecificOutput"]["permissionDecision"];
    let denies = printed["cancel"] == true || printed["block"] == true || qwen == "deny";
    match ended.code {
        Some(2) => {
            let no_more = ended.stdout.is_empty() || denies;
            assert!(no_more && !ended.stderr.trim().is_empty(), "{name}: {ended:?}");
            ended.stderr.clone()
        }
        code => {
            assert!(code == Some(0) && denies, "{name}: {ended:?}");
            printed.to_string()
        }
    }
}

async fn open(daemon: &Daemon) -> Value {
    let page = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    page["asks"][0].clone()
}

#[tokio::test]
async fn row_17_a_gate_denies_before_its_agent_stops_waiting_and_its_card_closes() {
    let daemon = Daemon::start("[policy]\non_timeout = \"wait\"\n").await;
    // pi waits for ever.
    for gate in GATES.iter().filter(|gate| gate.name() != "pi") {
        for paused in [false, true] {
            let call = (gate.call)().to_string();
            let hook = gate.start(&daemon, &["--limit", "3"]).input(&call).await;
            let id = open(&daemon).await["id"].as_str().unwrap().to_owned();
            if paused {
                // No deadline runs here then, and the agent's does.
                assert_eq!(run(&daemon, &["pause"]).await.code, Some(0));
            }
            let ended = timeout(Duration::from_secs(30), hook.ends()).await.unwrap();
            let why = blocked(&ended, gate.name());
            assert!(why.contains("nobody answered in time: "), "{}: {why}", gate.name());
            assert!(why.contains(" waits 3 s at most"), "{}: {why}", gate.name());
            let state = daemon.closed(&id).await["state"].clone();
            assert!(state == "expired" || state == "cancelled", "{state}");
            if paused {
                assert_eq!(run(&daemon, &["resume"]).await.code, Some(0));
            }
        }
    }
}

/// How long people have, in seconds, for a call of this gate.
async fn time_for(gate: &Gate, config: &str) -> i64 {
    let daemon = Daemon::start(config).await;
    let hook = gate.start(&daemon, &[]).input(&(gate.call)().to_string()).await;
    let ask = open(&daemon).await;
    let at = |key: &str| ask[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let time = at("deadline").as_second() - at("created").as_second();
    hook.signal("TERM");
    blocked(&hook.ends().await, gate.name());
    time
}

#[tokio::test]
async fn row_17_a_card_says_no_more_time_than_its_agent_waits_and_no_more_than_the_operator_gives()
{
    let cline = &GATES[4];
    let time = time_for(cline, "").await;
    assert!((100..=110).contains(&time), "Cline runs the call after 120 s: {time}");
    let time = time_for(cline, "[policy]\non_timeout = \"wait\"\n").await;
    assert!((100..=110).contains(&time), "{time}");
    assert_eq!(time_for(cline, "[policy]\ntimeout = \"20s\"\n").await, 20);
    assert_eq!(time_for(&GATES[2], "").await, 300);
}

/// Waits until the hook takes signals itself.
async fn is_ready(pid: u32) {
    let takes = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        // SIGHUP, SIGINT, SIGTERM: bits 0, 1 and 14.
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        let wanted = 1 | 1 << 1 | 1 << 14;
        mask & wanted == wanted
    };
    timeout(LONG, async {
        while !takes() {
            sleep(Duration::from_micros(200)).await;
        }
    })
    .await
    .expect("it takes no signals");
}

#[tokio::test]
async fn row_18_a_gate_that_is_ended_by_a_signal_at_any_time_blocks_with_words() {
    let daemon = Daemon::start("").await;
    let mut late = 0_u64;
    for gate in &GATES {
        for signal in ["TERM", "INT", "HUP"] {
            for call in [None, Some((gate.call)().to_string())] {
                for _ in 0..2 {
                    let mut hook = gate.start(&daemon, &[]);
                    is_ready(hook.id()).await;
                    if let Some(call) = &call {
                        hook = hook.input(call).await;
                    }
                    late = (late * 7 + 13) % 200;
                    sleep(Duration::from_millis(late)).await;
                    hook.signal(signal);
                    let ended = hook.ends().await;
                    blocked(&ended, &format!("{} {signal} after {late} ms", gate.name()));
                }
            }
        }
    }
    let none = |page: &Value| page["asks"] == json!([]);
    daemon.until("/v1/asks?state=open", none).await;
}

#[tokio::test]
async fn row_18_gemini_reads_a_denial_whatever_ends_its_hook() {
    let daemon = Daemon::start("").await;
    let gemini = &GATES[2];
    let hook = gemini.start(&daemon, &[]);
    is_ready(hook.id()).await;
    hook.signal("KILL");
    let ended = hook.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (None, ""), "{ended:?}");
    let denial: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(denial["decision"], "deny");
    // What it prints in the end is read instead.
    let hook = gemini.start(&daemon, &[]).input(&(gemini.call)().to_string()).await;
    let id = open(&daemon).await["id"].as_str().unwrap().to_owned();
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    assert_eq!(hook.ends().await.stdout, "{\"decision\":\"allow\"}\n");
}

#[tokio::test]
async fn row_18_qwen_reads_a_denial_whatever_ends_its_gate() {
    let daemon = Daemon::start("").await;
    let hook = GATES[6].start(&daemon, &[]);
    is_ready(hook.id()).await;
    hook.signal("KILL");
    let ended = hook.ends().await;
    let denial: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(denial["hookSpecificOutput"]["permissionDecision"], "deny", "{ended:?}");
}

#[tokio::test]
async fn row_18_no_variable_makes_a_gate_print_something_else() {
    let daemon = Daemon::start("").await;
    for gate in &GATES {
        let mut command = daemon.command(gate.words);
        command.env("COUNTERSIGN_COMPLETE", "bash");
        let ended = Process::start(command).input("{}").await.ends().await;
        let why = blocked(&ended, gate.name());
        assert!(why.contains("blocked"), "{}: {why}", gate.name());
    }
}

/// Notes this in an agent's journal.
fn note(journal: &Path, line: &Value) {
    let mut journal = fs::OpenOptions::new().create(true).append(true).open(journal).unwrap();
    journal.write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[tokio::test]
async fn row_19_a_turn_that_is_interrupted_at_gemini_or_copilot_closes_its_card() {
    let daemon = Daemon::start("").await;
    let chats = daemon.dir.path().join("chats.jsonl");
    let events = daemon.dir.path().join(".copilot/session-state/1b-2/events.jsonl");
    fs::create_dir_all(events.parent().unwrap()).unwrap();
    let gemini = json!({"session_id": "s", "hook_event_name": "BeforeTool",
        "transcript_path": chats, "tool_name": "run_shell_command",
        "tool_input": {"command": "make x"}});
    let copilot = json!({"hookName": "permissionRequest", "sessionId": "1b-2",
        "toolName": "bash", "toolInput": {"command": "make x"}});
    let cancelled = json!({"type": "info", "content": "Request cancelled."});
    let abort = json!({"type": "abort", "data": {"reason": "user_abort"}});
    for (agent, call, journal, interrupted) in
        [("gemini", gemini, chats, cancelled), ("copilot", copilot, events, abort)]
    {
        // One of an earlier turn says nothing about this one.
        note(&journal, &interrupted);
        let hook = Process::start(daemon.command(&["hook", agent]));
        let hook = hook.input(&call.to_string()).await;
        let id = open(&daemon).await["id"].as_str().unwrap().to_owned();
        note(&journal, &json!({"type": "user", "content": "Request cancelled."}));
        sleep(Duration::from_secs(2)).await;
        assert_eq!(daemon.read(&id).await["state"], "open", "{agent}");
        note(&journal, &interrupted);
        let ended = hook.ends().await;
        assert!(!ended.stdout.contains("allow"), "{agent}: {ended:?}");
        let closed = daemon.read(&id).await;
        assert_eq!(closed["reason"], "cancelled: it was answered elsewhere", "{agent}");
        let (_, late) = daemon.answer(&id, &json!({"decision": "approve"})).await;
        assert_eq!(late["applied"], false, "{late}");
    }
    let (_, asks) = daemon.get("/v1/asks?state=open", APPROVER).await;
    assert_eq!(asks["asks"], json!([]));
}
