//! `countersign host codex` with a scripted app-server.

use crate::{
    daemon::Daemon,
    process::{Ended, Process, run, start},
    terminal::Terminal,
};
use serde_json::{Value, json};
use std::fs;

const THREAD: &str = "01a1fb7a-1111";

/// Functions of the scripts: `hear` keeps the next line of ours in the file `heard`.
const FUNCTIONS: &str = r#"
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >> heard; }
say() { printf '%s\n' "$1"; }
"#;

/// An app-server that runs a script between the start of its turn and the end of its input.
struct Hosted {
    process: Process,
    daemon: Daemon,
}

impl Hosted {
    fn start(daemon: Daemon, options: &[&str], script: &str) -> Self {
        let words = Self::words(&daemon, options, script);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Self { process: start(&daemon, &words), daemon }
    }

    /// The command's words.
    fn words(daemon: &Daemon, options: &[&str], script: &str) -> Vec<String> {
        let thread = json!({"id": THREAD, "cwd": "/shop", "status": {"type": "idle"}});
        let reply = json!({"id": "countersign:thread", "result": {"thread": thread}});
        let greeting = format!("cd {}\nhear\nhear\nhear\n", daemon.dir.path().display());
        let rest = "while hear; do :; done\n";
        let script = format!("{FUNCTIONS}{greeting}{}hear\n{script}{rest}", say(&reply));
        let words = ["host", "codex", "--prompt", "go"].iter().chain(options);
        words.chain(&["--", "sh", "-c", &script]).map(|word| (*word).to_owned()).collect()
    }

    /// The one open ask.
    async fn ask(&self) -> (String, Value) {
        let asks = self.daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
        let ask = asks["asks"][0].clone();
        (ask["id"].as_str().unwrap().to_owned(), ask["call"].clone())
    }

    /// Waits for its end; returns it with what the app-server read behind the start of the turn.
    async fn ends(self) -> (Ended, Vec<Value>) {
        let ended = self.process.ends().await;
        let heard = fs::read_to_string(self.daemon.dir.path().join("heard")).unwrap();
        let frames = heard.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let frames: Vec<Value> = frames.collect();
        let methods: Vec<_> = frames[..4].iter().map(|frame| frame["method"].clone()).collect();
        assert_eq!(methods, ["initialize", "initialized", "thread/start", "turn/start"]);
        (ended, frames[4..].to_vec())
    }
}

fn say(frame: &Value) -> String {
    format!("say '{frame}'\n")
}

fn asks(id: u64, method: &str, more: &Value) -> String {
    let mut params = json!({"threadId": THREAD, "turnId": "u", "itemId": "i", "startedAtMs": id});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    say(&json!({"method": method, "id": id, "params": params}))
}

fn command(id: u64, command: &str) -> String {
    asks(id, "item/commandExecution/requestApproval", &json!({"command": command, "cwd": "/shop"}))
}

fn ends(status: &str) -> String {
    let params = json!({"threadId": THREAD, "turn": {"id": "u", "status": status}});
    say(&json!({"method": "turn/completed", "params": params}))
}

#[tokio::test]
async fn commands_changes_and_questions_are_answered_and_what_codex_says_is_printed() {
    let item = json!({"type": "fileChange", "id": "i", "changes": [{"path": "/shop/hello.txt",
        "kind": {"type": "add"}, "diff": "hello\n"}]});
    let item = json!({"method": "item/started", "params": {"threadId": THREAD, "item": item}});
    let questions = json!({"questions": [{"id": "db", "header": "Store", "question": "Which?",
        "options": [{"label": "SQLite"}, {"label": "Postgres"}]}]});
    let said = json!({"method": "item/completed", "params": {"threadId": THREAD,
        "item": {"type": "agentMessage", "text": "All done."}}});
    let script = [
        command(0, "make a"),
        "hear\n".to_owned(),
        say(&item),
        asks(1, "item/fileChange/requestApproval", &json!({})),
        "hear\n".to_owned(),
        asks(2, "item/tool/requestUserInput", &questions),
        "hear\n".to_owned(),
        say(&said),
        ends("completed"),
    ];
    let host = Hosted::start(Daemon::start("").await, &[], &script.concat());
    let (id, call) = host.ask().await;
    assert_eq!(
        (&call["agent"], &call["session"], &call["args"]),
        (&json!("codex"), &json!(THREAD), &json!({"command": "make a"}))
    );
    run(&host.daemon, &["approve", &id]).await;
    let (id, call) = host.ask().await;
    assert_eq!((&call["tool"], &call["cwd"]), (&json!("apply_patch"), &json!("/shop")));
    run(&host.daemon, &["approve", &id]).await;
    let (id, _) = host.ask().await;
    run(&host.daemon, &["answer", &id, "Postgres"]).await;
    let (ended, replies) = host.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "All done.\n"), "{ended:?}");
    let accept = |id: u64| json!({"id": id, "result": {"decision": "accept"}});
    let answers = json!({"id": 2, "result": {"answers": {"db": {"answers": ["Postgres"]}}}});
    assert_eq!(replies, [accept(0), accept(1), answers]);
}

/// A model that has read a hostile page may be made to say what the page says.
#[tokio::test]
async fn a_models_words_reach_a_program_unchanged_and_do_not_command_a_terminal() {
    let words = "a\u{1b}[2Jb\u{9b}31mc";
    let said = json!({"method": "item/completed", "params": {"threadId": THREAD,
        "item": {"type": "agentMessage", "text": words}}});
    let script = [format!("cat <<'END'\n{said}\nEND\n"), ends("completed")].concat();
    let piped = Hosted::start(Daemon::start("").await, &[], &script);
    assert_eq!(piped.ends().await.0.stdout, format!("{words}\n"));
    let daemon = Daemon::start("").await;
    let words = Hosted::words(&daemon, &[], &script);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut terminal = Terminal::start(&daemon, &words, 80);
    terminal.until("a\\u{1b}[2Jb\\u{9b}31mc\r\n").await;
    assert_eq!(terminal.ends().await, Some(0));
}

#[tokio::test]
async fn a_denial_s_words_reach_the_model_and_deny_and_stop_ends_the_turn() {
    let script = [
        command(0, "make a"),
        "hear\nhear\n".to_owned(),
        command(1, "make b"),
        "hear\n".to_owned(),
        ends("interrupted"),
    ];
    let host = Hosted::start(Daemon::start("").await, &["--json"], &script.concat());
    run(&host.daemon, &["deny", &host.ask().await.0, "--reason", "not today"]).await;
    let second = |page: &Value| page["asks"][0]["call"]["args"]["command"] == "make b";
    host.daemon.until("/v1/asks?state=open", second).await;
    run(&host.daemon, &["deny", &host.ask().await.0, "--stop"]).await;
    let (ended, heard) = host.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("Codex's turn ended as interrupted"), "{ended:?}");
    assert!(ended.stdout.contains("\"method\":\"turn/completed\""), "frames pass: {ended:?}");
    assert_eq!(heard[0], json!({"id": 0, "result": {"decision": "decline"}}));
    let told = "countersign: Denied by the approver's token: not today.";
    assert_eq!(heard[1]["method"], "turn/steer");
    assert_eq!(heard[1]["params"]["input"], json!([{"type": "text", "text": told}]));
    assert_eq!(heard[2], json!({"id": 1, "result": {"decision": "cancel"}}));
}

#[tokio::test]
async fn a_daemon_that_is_away_denies_and_one_that_is_killed_meanwhile_loses_nothing() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let script = format!("{}hear\nhear\n{}", command(0, "make a"), ends("completed"));
    let (ended, heard) = Hosted::start(daemon, &[], &script).ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(heard[0], json!({"id": 0, "result": {"decision": "decline"}}));
    let told = heard[1]["params"]["input"][0]["text"].as_str().unwrap();
    assert!(told.starts_with("countersign: it could not decide: no"), "{told}");

    let script = format!("{}hear\n{}", command(0, "make a"), ends("completed"));
    let mut host = Hosted::start(Daemon::start("").await, &[], &script);
    let (id, _) = host.ask().await;
    host.daemon.kill().await;
    host.daemon.run().await;
    run(&host.daemon, &["approve", &id]).await;
    let (ended, heard) = host.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(heard, [json!({"id": 0, "result": {"decision": "accept"}})]);
}

#[tokio::test]
async fn the_asks_of_a_codex_that_dies_resolves_or_is_stopped_are_taken_back() {
    let script = "until [ -e go ]; do sleep 0.1; done\n";
    let died = format!("{}{script}kill -9 $$\n", command(0, "make a"));
    let resolved = json!({"method": "serverRequest/resolved",
        "params": {"threadId": THREAD, "requestId": 0}});
    let resolves = format!("{}{script}{}", command(0, "make a"), say(&resolved));
    for (script, code) in [(died, Some(1)), (resolves, Some(130))] {
        let host = Hosted::start(Daemon::start("").await, &[], &script);
        let (id, _) = host.ask().await;
        fs::write(host.daemon.dir.path().join("go"), "").unwrap();
        host.daemon.ask_reaches(&id, "cancelled").await;
        let Hosted { process, daemon } = host;
        if code == Some(130) {
            process.signal("TERM");
        }
        assert_eq!(process.ends().await.code, code);
        assert_eq!(daemon.read(&id).await["state"], "cancelled");
    }
}

#[tokio::test]
async fn a_run_needs_a_prompt() {
    let daemon = Daemon::start("").await;
    let process = start(&daemon, &["host", "codex", "--", "sh"]).input(" \n").await;
    let ended = process.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("there is no prompt: give it with --prompt"), "{ended:?}");
}

#[tokio::test]
async fn a_codex_that_cannot_reach_its_model_ends_with_a_sentence() {
    let error = json!({"message": "Reconnecting... waiting for network",
        "additionalDetails": "Connection failed: error sending request"});
    let params = json!({"threadId": THREAD, "turnId": "u", "willRetry": true, "error": error});
    let script = say(&json!({"method": "error", "params": params}));
    let host = Hosted::start(Daemon::start("").await, &["--retry-for", "1"], &script);
    let (ended, _) = host.ends().await;
    let why = "Reconnecting... waiting for network (Connection failed: error sending request)";
    let said = format!("Codex did not get over an error for 1 s: {why}");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains(&said), "{ended:?}");
}

#[tokio::test]
async fn requests_that_cannot_be_read_or_are_too_large_are_denied_and_the_turn_goes_on() {
    let params = format!(r#"{{"threadId":"{THREAD}","turnId":"u","itemId":"i","cwd":"/shop""#);
    let method = "item/commandExecution/requestApproval";
    let ask = format!(r#"{{"method":"{method}","id":ID,"params":{params},"command":"#);
    let line = |id: &str, rest: &str| format!("say '{}{rest}'\nhear\n", ask.replace("ID", id));
    let long = ask.replace("ID", "4");
    let script = [
        "yes '{\"method\":\"item/started\",\"params\":{}}' | head -20000\n".to_owned(),
        line("0", r#""\ud800"}}"#),
        line("1", r#""make","x":1e999}}"#),
        line("\"2\"", r#""ls","command":"rm -rf /"}}"#),
        line("3", r#"["make"]}}"#),
        "hear\n".to_owned(),
        format!("printf '%s' '{long}'\nprintf '\"'\nhead -c 30000000 /dev/zero | tr '\\0' x\n"),
        "say '\"}}'\nhear\nhear\n".to_owned(),
        ends("completed"),
    ];
    let host = Hosted::start(Daemon::start("").await, &[], &script.concat());
    let (ended, heard) = host.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    let denied = |id: Value| json!({"id": id, "result": {"decision": "decline"}});
    let replies: Vec<_> = heard.iter().filter(|frame| frame.get("result").is_some()).collect();
    let wanted = [json!(0), json!(1), json!("2"), json!(3), json!(4)].map(denied);
    assert_eq!(replies, wanted.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_codex_that_asks_for_what_is_unknown_and_stays_is_ended() {
    let script = format!("{}exec sleep 600\n", asks(0, "item/new/requestApproval", &json!({})));
    let host = Hosted::start(Daemon::start("").await, &[], &script);
    let (ended, heard) = host.ends().await;
    assert_eq!((ended.code, heard.len()), (Some(1), 0), "{ended:?}");
    let why = "Codex asks for item/new/requestApproval, which is unknown";
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[tokio::test]
async fn the_last_words_of_a_codex_that_ends_by_itself_count() {
    let said = json!({"method": "item/completed", "params": {"threadId": THREAD,
        "item": {"type": "agentMessage", "text": "All done."}}});
    let script = format!("{}{}exit 0\n", say(&said), ends("completed"));
    let daemon = Daemon::start("").await;
    let host = Hosted::start(daemon, &[], &script);
    let (ended, _) = host.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "All done.\n"), "{ended:?}");
}
