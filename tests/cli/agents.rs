//! The hooks of the other agents with what the real clients wrote on stdin: Copilot CLI, Gemini CLI,
//! Cursor (as its documentation shows it), Cline, opencode, Codex, Qwen Code.

use crate::{
    daemon::Daemon,
    process::{Ended, Process, run, start},
};
use serde_json::{Value, json};

/// An agent with its recording, and the fields of a decision as its hook prints it.
struct Recorded {
    agent: &'static str,
    transcript: &'static str,
    allow: fn() -> Value,
    deny: fn(&str) -> Value,
    /// Whether the call is blocked without a decision.
    blocks: bool,
}

const RECORDED: [Recorded; 6] = [
    Recorded {
        agent: "copilot",
        transcript: "copilot/02_deny",
        allow: || json!({"behavior": "allow"}),
        deny: |why| json!({"behavior": "deny", "message": why}),
        blocks: false,
    },
    Recorded {
        agent: "gemini",
        transcript: "gemini/01_before_tool_deny",
        allow: || json!({"decision": "allow"}),
        deny: |why| json!({"decision": "deny", "reason": why}),
        blocks: true,
    },
    Recorded {
        agent: "cursor",
        transcript: "cursor/01_before_shell_execution",
        allow: || json!({"permission": "allow"}),
        deny: |why| json!({"permission": "deny", "user_message": why, "agent_message": why}),
        blocks: true,
    },
    Recorded {
        agent: "opencode",
        transcript: "opencode/03_reject_feedback",
        allow: || json!({"path": "/permission/per_1fb809976001Example/reply", "body": {"reply": "once"}}),
        deny: |why| {
            json!({"path": "/permission/per_1fb809976001Example/reply",
                "body": {"reply": "reject", "message": why}})
        },
        blocks: false,
    },
    Recorded {
        agent: "codex",
        transcript: "codex/11_hook_deny",
        allow: prompt_allowed,
        deny: prompt_denied,
        blocks: false,
    },
    Recorded {
        agent: "qwen",
        transcript: "qwen/01_permission_request_deny",
        allow: prompt_allowed,
        deny: prompt_denied,
        blocks: false,
    },
];

fn prompt_allowed() -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow"}}})
}

fn prompt_denied(why: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "deny", "message": why}}})
}

fn golden(name: &str) -> Value {
    let file = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

impl Recorded {
    fn stdin(&self) -> String {
        golden(self.transcript)["frames"][0]["data"].to_string()
    }

    /// The hook, and the ask it waits for.
    async fn asking(&self, daemon: &Daemon) -> (Process, String) {
        let mut hook = start(daemon, &["hook", self.agent, "-v"]).input(&self.stdin()).await;
        let id = hook.waits_for().await;
        (hook, id)
    }

    fn undecided(&self, ended: &Ended) {
        if self.blocks {
            assert_eq!(ended.short(), (Some(2), ""), "{}: {ended:?}", self.agent);
            assert!(ended.stderr.contains("blocked: "), "{}: {ended:?}", self.agent);
        } else {
            assert_eq!(ended.short(), (Some(0), ""), "{}: {ended:?}", self.agent)
        }
    }
}

fn printed(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[tokio::test]
async fn each_agent_gets_an_approval_and_a_denial_in_its_own_words() {
    let daemon = Daemon::start("").await;
    for recorded in RECORDED {
        let (hook, id) = recorded.asking(&daemon).await;
        let call = daemon.read(&id).await["call"].clone();
        assert_eq!(call["agent"], recorded.agent);
        assert!(call["args"]["command"].as_str().unwrap().contains("git push"), "{call}");
        run(&daemon, &["approve", &id]).await;
        assert_eq!(printed(&hook.ends().await), (recorded.allow)(), "{}", recorded.agent);
        let (hook, id) = recorded.asking(&daemon).await;
        run(&daemon, &["deny", &id, "--reason", "open a pull request."]).await;
        let why = "Denied by the approver's token: open a pull request.";
        assert_eq!(printed(&hook.ends().await), (recorded.deny)(why), "{}", recorded.agent);
    }
}

#[tokio::test]
async fn a_recorded_denial_has_exactly_the_fields_that_the_agent_obeyed() {
    for recorded in RECORDED {
        let reply = &golden(recorded.transcript)["frames"][1];
        let obeyed = match recorded.agent {
            "opencode" => json!({"path": reply["path"], "body": reply["data"]}),
            _ => reply["data"].clone(),
        };
        let keys = |value: &Value| {
            let object = value.as_object().unwrap();
            object.keys().cloned().collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(keys(&(recorded.deny)("why")), keys(&obeyed), "{}", recorded.agent);
    }
}

#[tokio::test]
async fn a_denial_that_stops_ends_the_turn_where_the_agent_can() {
    let daemon = Daemon::start("").await;
    for (at, expected) in [
        (
            0,
            json!({"behavior": "deny", "message": "Denied by the approver's token",
            "interrupt": true}),
        ),
        (3, golden("opencode/04_reject_stop")["frames"][1].clone()),
    ] {
        let (hook, id) = RECORDED[at].asking(&daemon).await;
        run(&daemon, &["deny", &id, "--stop"]).await;
        let expected = match at {
            3 => json!({"path": expected["path"], "body": expected["data"]}),
            _ => expected,
        };
        assert_eq!(printed(&hook.ends().await), expected);
    }
}

#[tokio::test]
async fn without_a_daemon_or_an_answer_the_agents_own_prompt_decides_or_the_call_is_blocked() {
    let mut daemon = Daemon::start("").await;
    for recorded in RECORDED.iter().filter(|recorded| recorded.agent != "copilot") {
        let (hook, id) = recorded.asking(&daemon).await;
        daemon.deadline_passes(&id).await;
        daemon.ask_reaches(&id, "expired").await;
        recorded.undecided(&hook.ends().await);
    }
    daemon.stop().await;
    for recorded in RECORDED {
        let hook = start(&daemon, &["hook", recorded.agent]).input(&recorded.stdin()).await;
        recorded.undecided(&hook.ends().await);
    }
    let event = json!({"taskId": "t", "preToolUse": {"toolName": "execute_command",
        "parameters": {"command": "ls"}}});
    let cline = start(&daemon, &["hook", "cline"]).input(&event.to_string()).await.ends().await;
    assert_eq!(printed(&cline)["cancel"], true);
}

#[tokio::test]
async fn copilot_is_denied_what_nobody_answers_because_a_model_of_its_own_would_decide_then() {
    let daemon = Daemon::start("").await;
    let [copilot, ..] = RECORDED;
    let denied = |why: &str| {
        let message = format!("countersign asked a person, and {why}, so this call is denied.");
        (copilot.deny)(&message)
    };
    let (hook, id) = copilot.asking(&daemon).await;
    daemon.deadline_passes(&id).await;
    daemon.ask_reaches(&id, "expired").await;
    assert_eq!(printed(&hook.ends().await), denied("nobody answered in time"));
    // The same at a limit of its own, which ends before the deadline.
    let words = ["hook", "copilot", "--limit", "1"];
    let hook = start(&daemon, &words).input(&copilot.stdin()).await;
    let why = "nobody answered in time: Copilot CLI waits 1 s at most";
    assert_eq!(printed(&hook.ends().await), denied(why));
}

#[tokio::test]
async fn a_hook_waits_for_a_daemon_that_was_killed_and_gets_the_answer_of_the_next_one() {
    let mut daemon = Daemon::start("").await;
    for recorded in RECORDED {
        let (hook, id) = recorded.asking(&daemon).await;
        daemon.kill().await;
        daemon.run().await;
        run(&daemon, &["approve", &id]).await;
        assert_eq!(printed(&hook.ends().await), (recorded.allow)(), "{}", recorded.agent);
        assert_eq!(daemon.open().await, Vec::<Value>::new(), "it is the same ask");
    }
}

#[tokio::test]
async fn a_signal_from_the_agent_takes_the_ask_back() {
    let daemon = Daemon::start("").await;
    for recorded in RECORDED {
        let (hook, id) = recorded.asking(&daemon).await;
        hook.signal("TERM");
        recorded.undecided(&hook.ends().await);
        let closed = daemon.read(&id).await;
        assert_eq!(closed["reason"], "cancelled: it was answered elsewhere", "{}", recorded.agent);
    }
}

#[tokio::test]
async fn garbage_allows_nothing_at_any_agent() {
    let daemon = Daemon::start("").await;
    for agent in ["codex", "copilot", "gemini", "qwen", "cursor", "cline", "opencode", "pi"] {
        for garbage in ["", "[]", "{", "{\"hook_event_name\":\"BeforeTool\"}", "{\"type\":5}"] {
            let ended = start(&daemon, &["hook", agent]).input(garbage).await.ends().await;
            let cancels = ["\"cancel\":true", "\"block\":true"];
            let cancels = cancels.iter().any(|it| ended.stdout.contains(it));
            assert!(ended.stdout.is_empty() || cancels, "{agent}, {garbage}: {ended:?}");
            assert!(matches!(ended.code, Some(0 | 2)), "{agent}, {garbage}: {ended:?}");
        }
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn each_agent_is_connected_found_by_the_doctor_and_disconnected_without_a_trace() {
    let daemon = Daemon::start("").await;
    for (agent, folder, file) in [
        ("claude-code", ".claude", ".claude/settings.json"),
        ("codex", ".codex", ".codex/hooks.json"),
        ("opencode", ".config/opencode", ".config/opencode/plugin/countersign.js"),
        ("copilot", ".copilot", ".copilot/hooks/countersign.json"),
        ("gemini", ".gemini", ".gemini/settings.json"),
        ("qwen", ".qwen", ".qwen/settings.json"),
        ("cursor", ".cursor", ".cursor/hooks.json"),
        ("cline", "Documents/Cline", "Documents/Cline/Hooks/PreToolUse"),
        ("pi", ".pi/agent", ".pi/agent/extensions/countersign.js"),
    ] {
        let file = daemon.dir.path().join(file);
        std::fs::create_dir_all(daemon.dir.path().join(folder)).unwrap();
        let before = checked(&daemon, agent).await;
        assert_eq!(before["fix"], format!("countersign connect {agent}"), "{before}");
        let connected = run(&daemon, &["connect", agent, "--yes"]).await;
        assert_eq!(connected.code, Some(0), "{connected:?}");
        assert!(file.exists(), "{agent}");
        let after = checked(&daemon, agent).await;
        assert_eq!(after["state"], "ok", "{after}");
        let again = run(&daemon, &["connect", agent]).await;
        assert!(again.stdout.contains(" is connected already."), "{again:?}");

        let text = std::fs::read_to_string(&file).unwrap();
        let weaker = text.replace("86400", "30").replace("\"timeout\": 60", "\"timeout\": 30");
        let weaker = weaker.replace("EEPEST = 8", "EEPEST = 1");
        let weaker = weaker.replace("it decides on every", "it decides on no");
        assert_ne!(weaker, text, "{agent}");
        std::fs::write(&file, weaker).unwrap();
        let stale = checked(&daemon, agent).await;
        assert_eq!(stale["state"], "fail", "{stale}");
        run(&daemon, &["doctor", "--fix"]).await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{agent}");

        let gone = run(&daemon, &["disconnect", agent, "--yes"]).await;
        assert_eq!(gone.code, Some(0), "{gone:?}");
        assert!(!file.exists(), "{agent}");
    }
}

#[tokio::test]
async fn a_file_of_somebody_else_in_the_place_of_ours_stays() {
    let daemon = Daemon::start("").await;
    let file = daemon.dir.path().join(".copilot/hooks/countersign.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\"version\": 1, \"hooks\": {}}").unwrap();
    let refused = run(&daemon, &["connect", "copilot", "--yes"]).await;
    let why = "this is not what `countersign connect copilot` writes; move it away first";
    assert_eq!(refused.stderr, format!("error: {}:1:1: {why}\n", file.display()));
    let gone = run(&daemon, &["disconnect", "copilot", "--yes"]).await;
    assert_eq!(gone.stdout, "Copilot CLI is not connected.\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"version\": 1, \"hooks\": {}}");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(daemon.config(), &file).unwrap();
    let refused = run(&daemon, &["connect", "copilot", "--yes"]).await;
    assert!(refused.stderr.contains("is a link, and not the file that"), "{refused:?}");
    let no_gate = run(&daemon, &["connect", "copilot", "--gate"]).await;
    assert_eq!(no_gate.code, Some(2), "{no_gate:?}");
}

async fn checked(daemon: &Daemon, agent: &str) -> Value {
    let report = run(daemon, &["doctor", "--json"]).await.stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    checks.find(|check| check["check"] == agent).unwrap().clone()
}

#[tokio::test]
async fn clines_program_prints_the_decision_and_cancels_where_ours_does_not_run() {
    let mut daemon = Daemon::start("").await;
    let file = daemon.dir.path().join("PreToolUse");
    let settings = file.display().to_string();
    let connected = run(&daemon, &["connect", "cline", "--yes", "--settings", &settings]).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
    let recorded = golden("cline/01_pre_tool_use_cancel");
    let stdin = recorded["frames"][0]["data"].to_string();
    let home = daemon.dir.path().to_owned();
    let starts = || {
        let mut program = tokio::process::Command::new(&file);
        program.env("HOME", &home).kill_on_drop(true);
        Process::start(program)
    };
    let waits = starts().input(&stdin).await;
    let asks = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    let (id, call) = (asks["asks"][0]["id"].as_str().unwrap(), &asks["asks"][0]["call"]);
    assert_eq!(
        (&call["tool"], &call["args"], &call["cwd"]),
        (
            &json!("execute_command"),
            &json!({"command": "git push origin main"}),
            &json!("/home/ana/shop")
        )
    );
    run(&daemon, &["deny", id, "--reason", "open a pull request"]).await;
    let denied = printed(&waits.ends().await);
    let why = "Denied by the approver's token: open a pull request";
    assert_eq!(denied, json!({"cancel": true, "errorMessage": why}));
    for odd in ["", "{", "{}", "[]", "null"] {
        let ended = starts().input(odd).await.ends().await;
        assert_eq!(printed(&ended)["cancel"], true, "{odd:?}");
    }
    let ours = env!("CARGO_BIN_EXE_countersign");
    let text = std::fs::read_to_string(&file).unwrap();
    // What fails, is killed or says nothing: Cline would run the call.
    for failing in ["/nowhere/countersign", "sh -c 'kill -9 $$' countersign", "false", "true"] {
        std::fs::write(&file, text.replace(ours, failing)).unwrap();
        let ended = starts().input(&stdin).await.ends().await;
        let blocked = "countersign could not be run, so this call is blocked.";
        assert_eq!(printed(&ended), json!({"cancel": true, "errorMessage": blocked}), "{failing}");
    }
    std::fs::write(&file, &text).unwrap();
    daemon.stop().await;
    let ended = starts().input(&stdin).await.ends().await;
    assert_eq!(printed(&ended)["cancel"], true, "{ended:?}");
}
