//! `countersign host claude-code` with a scripted Claude Code.

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};

/// Functions of the scripts: `hear` reads a line and tells it, as it came.
const FUNCTIONS: &str = r#"
hear() { IFS= read -r line || return 1; printf '{"type":"heard","line":%s}\n' "$line"; }
"#;

/// The host of a script.
struct Hosted {
    process: Process,
}

impl Hosted {
    fn start(daemon: &Daemon, options: &[&str], script: &str) -> Self {
        let script = format!("{FUNCTIONS}{script}");
        let words = ["host", "claude-code"].iter().chain(options);
        let words: Vec<&str> = words.chain(&["--", "sh", "-c", &script]).copied().collect();
        Self { process: start(daemon, &words) }
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.process.line().await).unwrap()
    }

    /// What Claude Code reads next: the response to a request, by its id.
    async fn response(&mut self) -> (Value, Value) {
        let heard = self.next().await;
        let response = heard["line"]["response"].clone();
        assert_eq!(
            (&heard["line"]["type"], &response["subtype"]),
            (&json!("control_response"), &json!("success")),
            "{heard}"
        );
        (response["request_id"].clone(), response["response"].clone())
    }
}

/// A line of the script that asks for permission.
fn asks(id: &str, tool: &str, input: &Value) -> String {
    let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input,
        "tool_use_id": "toolu_1", "permission_suggestions": []});
    say(&json!({"type": "control_request", "request_id": id, "request": request}))
}

fn say(line: &Value) -> String {
    format!("printf '%s\\n' '{line}'\n")
}

fn bash(id: &str, command: &str) -> String {
    asks(id, "Bash", &json!({ "command": command }))
}

async fn open(daemon: &Daemon) -> String {
    let asks = daemon.until("/v1/asks", |asks| asks["asks"][0]["id"].is_string()).await;
    asks["asks"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn requests_are_answered_by_people_and_never_shown_to_our_own_host() {
    let daemon = Daemon::start("").await;
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/shop"});
    let result = json!({"type": "result", "subtype": "success"});
    let (first, second) = (bash("r1", "make a"), bash("r2", "make b"));
    let script = format!("hear\n{}{first}hear\n{second}hear\n{}", say(&init), say(&result));
    let mut host = Hosted::start(&daemon, &["--prompt", "go"], &script);
    assert_eq!(host.next().await["line"]["message"]["content"], "go");
    assert_eq!(host.next().await, init);
    let ask = open(&daemon).await;
    let call = daemon.read(&ask).await["call"].clone();
    assert_eq!(
        (&call["agent"], &call["session"], &call["cwd"], &call["tool"]),
        (&json!("claude-code"), &json!("s1"), &json!("/shop"), &json!("Bash"))
    );
    run(&daemon, &["approve", &ask]).await;
    let allow = json!({"behavior": "allow", "updatedInput": {"command": "make a"}});
    assert_eq!(host.response().await, (json!("r1"), allow));
    run(&daemon, &["deny", &open(&daemon).await, "--reason", "not today", "--stop"]).await;
    let deny = json!({"behavior": "deny", "interrupt": true,
        "message": "Denied by the approver's token: not today"});
    assert_eq!(host.response().await, (json!("r2"), deny));
    assert_eq!(host.next().await, result);
    assert_eq!(host.process.ends().await.code, Some(0));
}

#[tokio::test]
async fn questions_and_edited_calls_come_back_with_their_arguments() {
    let daemon = Daemon::start("").await;
    let questions = json!({"questions": [{"question": "Which store?", "header": "Store",
        "multiSelect": false, "options": [{"label": "SQLite"}, {"label": "Postgres"}]}]});
    let question = asks("q", "AskUserQuestion", &questions);
    let script = format!("{question}hear\n{}hear\n", bash("e", "make deploy"));
    let mut host = Hosted::start(&daemon, &[], &script);
    run(&daemon, &["answer", &open(&daemon).await, "Postgres"]).await;
    let (_, answered) = host.response().await;
    assert_eq!(answered["updatedInput"]["answers"], json!({"Which store?": "Postgres"}));
    let ask = open(&daemon).await;
    let (_, edit) = daemon.answer(&ask, &json!({"decision": "edit", "edit": "make check"})).await;
    let approve = json!({"decision": "edit", "digest": edit["edit"]["digest"]});
    daemon.answer(&ask, &approve).await;
    let allow = json!({"behavior": "allow", "updatedInput": {"command": "make check"}});
    assert_eq!(host.response().await, (json!("e"), allow));
}

#[tokio::test]
async fn a_request_that_claude_code_cancels_is_taken_back() {
    let daemon = Daemon::start("").await;
    let cancel = say(&json!({"type": "control_cancel_request", "request_id": "r1"}));
    let script = format!("{}hear\n{cancel}hear\n", bash("r1", "make a"));
    let mut host = Hosted::start(&daemon, &[], &script);
    let ask = open(&daemon).await;
    host.process.tell("\"cancel it\"").await;
    assert_eq!(host.next().await["line"], "cancel it");
    let closed = daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(closed["reason"], "cancelled: it was answered elsewhere");
    host.process.tell("\"next\"").await;
    assert_eq!(host.next().await["line"], "next", "no response comes in between");
}

#[tokio::test]
async fn an_answer_at_the_moment_of_claude_code_s_own_was_too_late_and_the_card_says_so() {
    let daemon = Daemon::start("").await;
    let cancel = say(&json!({"type": "control_cancel_request", "request_id": "r1"}));
    // It cancels once it hears our answer, so it was answered by then.
    let script = format!("{}hear\n{cancel}hear\n", bash("r1", "make a"));
    let mut host = Hosted::start(&daemon, &[], &script);
    let ask = open(&daemon).await;
    run(&daemon, &["deny", &ask]).await;
    let (_, denied) = host.response().await;
    assert_eq!(denied["behavior"], "deny");
    let path = format!("/v1/asks/{ask}");
    let told = daemon.until(&path, |ask| ask["answer"]["overtaken"].is_string());
    assert_eq!(told.await["state"], "answered");
}

#[tokio::test]
async fn requests_that_cannot_be_read_are_denied_with_a_sentence_and_the_run_goes_on() {
    let daemon = Daemon::start("").await;
    let request = |input: &str| {
        format!(
            "printf '%s\\n' '{{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":\
             {{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"input\":{input}}}}}'\nhear\n"
        )
    };
    let half = request("{\"command\":\"\\ud800\"}");
    let deep = request(&format!("{}{}", "[".repeat(200), "]".repeat(200)));
    let cut = request("{\"command\":");
    let script = format!("{half}{deep}{cut}{}hear\n", bash("r2", "make a"));
    let mut host = Hosted::start(&daemon, &[], &script);
    for _ in 0..3 {
        let (id, denied) = host.response().await;
        assert_eq!((id, &denied["behavior"]), (json!("r1"), &json!("deny")));
        let why = denied["message"].as_str().unwrap();
        assert!(why.starts_with("countersign cannot read this request"), "{why}");
    }
    run(&daemon, &["approve", &open(&daemon).await]).await;
    assert_eq!(host.response().await.1["behavior"], "allow");
}

#[tokio::test]
async fn a_request_that_nobody_can_answer_ends_the_run_instead_of_waiting_for_ever() {
    let daemon = Daemon::start("").await;
    let nameless = json!({"type": "control_request",
        "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}});
    let host = Hosted::start(&daemon, &[], &format!("{}cat\n", say(&nameless)));
    let ended = host.process.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("it has no id to answer under"), "{ended:?}");
    // Without a host of ours, what is for it is refused.
    let other = json!({"type": "control_request", "request_id": "h",
        "request": {"subtype": "hook_callback"}});
    let script = format!("hear\n{}hear\n", say(&other));
    let mut host = Hosted::start(&daemon, &["--prompt", "go"], &script);
    host.next().await;
    let refused = host.next().await["line"]["response"].clone();
    assert_eq!((&refused["subtype"], &refused["request_id"]), (&json!("error"), &json!("h")));
}

#[tokio::test]
async fn every_other_line_passes_unchanged_in_both_directions() {
    let daemon = Daemon::start("").await;
    let hook =
        r#"{"type":"control_request",  "request_id":"h","request":{"subtype":"hook_callback"}}"#;
    let odd = ["{not json", "  ", hook, r#"{"type":"control_cancel_request","request_id":"x"}"#];
    let lines: String = odd.iter().map(|line| format!("printf '%s\\n' '{line}'\n")).collect();
    let mut host = Hosted::start(&daemon, &[], &format!("{lines}cat\n"));
    for line in odd {
        assert_eq!(host.process.line().await, format!("{line}\n"));
    }
    for line in ["{\"a\":  1, \"a\": 2}", "[", "", "{\"type\":\"user\"}"] {
        host.process.tell(line).await;
        assert_eq!(host.process.line().await, format!("{line}\n"));
    }
}

#[tokio::test]
async fn without_a_daemon_a_request_is_denied_with_a_sentence() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let mut host = Hosted::start(&daemon, &[], &format!("{}hear\n", bash("r1", "make a")));
    let (_, denied) = host.response().await;
    assert_eq!(denied["behavior"], "deny");
    let why = denied["message"].as_str().unwrap();
    assert!(why.starts_with("countersign could not decide: no countersign daemon"), "{why}");
}

#[tokio::test]
async fn a_request_outlives_a_daemon_that_is_killed_and_started_again() {
    let mut daemon = Daemon::start("").await;
    let mut host = Hosted::start(&daemon, &[], &format!("{}hear\n", bash("r1", "make a")));
    let ask = open(&daemon).await;
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(host.response().await.1["behavior"], "allow");
}

#[tokio::test]
async fn the_asks_of_a_claude_code_that_dies_and_of_a_host_that_is_stopped_are_taken_back() {
    let daemon = Daemon::start("").await;
    let script = format!("{}hear\nkill -9 $$\n", bash("r1", "make a"));
    let mut host = Hosted::start(&daemon, &[], &script);
    let ask = open(&daemon).await;
    host.process.tell("\"die\"").await;
    let ended = host.process.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(daemon.read(&ask).await["state"], "cancelled");
    let host = Hosted::start(&daemon, &[], &format!("{}hear\n", bash("r2", "make b")));
    let ask = open(&daemon).await;
    host.process.signal("TERM");
    daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(host.process.ends().await.code, Some(130));
}

#[tokio::test]
async fn a_turn_runs_to_its_end_after_the_end_of_our_input() {
    let daemon = Daemon::start("").await;
    let result = say(&json!({"type": "result", "subtype": "success"}));
    let rest = "while hear; do :; done\n";
    let script = format!("hear\n{}hear\n{result}{rest}", bash("r1", "make a"));
    let message = json!({"type": "user", "message": {"role": "user", "content": "go"}});
    let host = Hosted::start(&daemon, &[], &script);
    let host = host.process.input(&format!("{message}\n")).await;
    run(&daemon, &["approve", &open(&daemon).await]).await;
    let ended = host.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("\"allow\"") && ended.stdout.contains("result"), "{ended:?}");
}
