//! Row 8: numbers that have more digits than are kept, and names that come twice.

use crate::{
    daemon::{AGENT, Daemon},
    process::{Ended, run, start},
};
use serde_json::{Value, json};

/// 2^256-1, as a token contract takes it.
const MOST: &str = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
const WHY: &str = "has more digits than are kept; send it as a text";

/// Arguments as text: `serde_json` here would round them too.
fn args(amount: &str) -> String {
    format!("{{\"to\": \"0xAb\", \"amount\": {amount}}}")
}

fn call(key: &str, amount: &str) -> String {
    format!(
        "{{\"agent\": \"tester\", \"session\": \"one\", \"key\": \"{key}\", \"tool\": \
         \"mcp__bank__pay\", \"args\": {}}}",
        args(amount)
    )
}

async fn submit(daemon: &Daemon, body: String) -> (u16, Value) {
    let request = daemon.http.post(format!("{}/v1/calls", daemon.url)).bearer_auth(AGENT);
    let reply = request.header("content-type", "application/json").body(body).send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap())
}

async fn text(daemon: &Daemon, path: &str) -> String {
    let request = daemon.http.get(format!("{}{path}", daemon.url)).bearer_auth(AGENT);
    request.send().await.unwrap().text().await.unwrap()
}

async fn given(daemon: &Daemon, words: &[&str], stdin: &str) -> Ended {
    start(daemon, words).input(stdin).await.ends().await
}

#[tokio::test]
async fn row_8_a_number_that_cannot_be_kept_is_refused_by_name_and_no_budget_pays_for_it() {
    let daemon = Daemon::start("").await;
    let (first, second) = (MOST, MOST.replace("9935", "9934"));
    for amount in [first, &second, "18446744073709551616", "0.1000000000000000055511151231257827"] {
        let (status, body) = submit(&daemon, call("k", amount)).await;
        assert_eq!(status, 400, "{amount}: {body}");
        let says = body["error"].as_str().unwrap();
        assert!(says.contains(&format!("the number {amount} {WHY}")), "{says}");
    }
    let (status, body) = submit(&daemon, call("k", "1, \"amount\": 2")).await;
    assert_eq!(status, 400, "{body}");
    assert!(body["error"].as_str().unwrap().contains("\"amount\" comes twice"), "{body}");
    let budget = format!(
        "{{\"agent\": \"a\", \"session\": \"s\", \"tool\": \"budget\", \"budget\": {{\"for_s\": 60, \
         \"calls\": [{{\"tool\": \"mcp__bank__pay\", \"args\": {}}}]}}}}",
        args(MOST)
    );
    assert_eq!(submit(&daemon, budget).await.0, 400);
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn row_8_everyday_numbers_are_on_the_card_and_in_the_reply_to_their_last_digit() {
    let daemon = Daemon::start("").await;
    // As they are sent, and as they are written from then on: the same value.
    let rows = [
        ("0.1", "0.1"),
        ("1e-3", "0.001"),
        ("1E5", "100000.0"),
        ("1.0", "1.0"),
        ("-0", "-0.0"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993", "9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.157920892373162e+77", "1.157920892373162e+77"),
    ];
    for (at, (sent, kept)) in rows.iter().enumerate() {
        let (status, body) = submit(&daemon, call(&format!("k{at}"), sent)).await;
        assert_eq!(status, 202, "{sent}: {body}");
        let id = body["ask"].as_str().unwrap();
        let read = text(&daemon, &format!("/v1/asks/{id}?card=true")).await;
        assert!(read.contains(&format!("\"amount\":{kept}}}")), "{sent}: {read}");
        assert!(read.contains(&format!("amount: {kept}")), "the card of {sent}: {read}");
        let pending = run(&daemon, &["pending", "--full"]).await;
        assert!(pending.stdout.contains(&format!("amount: {kept}")), "{pending:?}");
        assert_eq!(daemon.answer(id, &json!({"decision": "approve"})).await.0, 200);
        // The same key again is the same call, and with another amount it is none.
        assert_eq!(submit(&daemon, call(&format!("k{at}"), sent)).await.1["verdict"], "allow");
        assert_eq!(submit(&daemon, call(&format!("k{at}"), "77")).await.0, 409, "{sent}");
    }
    let (_, near) = submit(&daemon, call("k6", "9007199254740992")).await;
    assert!(near["error"].is_string(), "{near}");
}

#[tokio::test]
async fn row_8_no_line_of_an_agent_brings_a_rounded_number_to_a_card() {
    let daemon = Daemon::start("").await;
    let (args, cwd) = (args(MOST), "\"cwd\": \"/home/ana/shop\"");
    let hooks = [
        (
            "claude-code",
            "--gate",
            format!(
                "{{\"hook_event_name\": \"PreToolUse\", \"session_id\": \"s\", {cwd}, \"tool_name\": \
                 \"mcp__bank__pay\", \"tool_input\": {args}, \"tool_use_id\": \"t\"}}"
            ),
        ),
        (
            "codex",
            "--gate",
            format!(
                "{{\"hook_event_name\": \"PreToolUse\", \"session_id\": \"s\", {cwd}, \"tool_name\": \
                 \"mcp__bank__pay\", \"tool_input\": {args}, \"tool_use_id\": \"t\"}}"
            ),
        ),
        (
            "gemini",
            "",
            format!(
                "{{\"hook_event_name\": \"BeforeTool\", \"session_id\": \"s\", {cwd}, \"tool_name\": \
                 \"mcp_bank_pay\", \"tool_input\": {args}}}"
            ),
        ),
        (
            "cursor",
            "",
            format!(
                "{{\"hook_event_name\": \"beforeMCPExecution\", \"conversation_id\": \"s\", \
                 \"tool_name\": \"pay\", \"url\": \"https://bank\", \"tool_input\": {}}}",
                json!(args)
            ),
        ),
        (
            "cline",
            "",
            format!(
                "{{\"hookName\": \"PreToolUse\", \"taskId\": \"s\", \"preToolUse\": {{\"toolName\": \
                 \"pay\", \"parameters\": {args}}}}}"
            ),
        ),
        ("pi", "", format!("{{\"session\": \"s\", {cwd}, \"tool\": \"pay\", \"input\": {args}}}")),
    ];
    for (agent, gate, stdin) in hooks {
        let words: Vec<&str> =
            ["hook", agent, gate].into_iter().filter(|word| !word.is_empty()).collect();
        let ended = given(&daemon, &words, &stdin).await;
        let said = format!("{}{}", ended.stdout, ended.stderr);
        // Each agent has its own way to be told no.
        let blocks = ended.code == Some(2)
            || ["\"deny\"", "\"block\"", "\"cancel\":true"].iter().any(|no| said.contains(no));
        assert!(blocks, "{agent}: {ended:?}");
        assert_eq!(daemon.open().await, Vec::<Value>::new(), "{agent}");
    }
    let asked = run(&daemon, &["ask", "--tool", "pay", "--args", &args]).await;
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains(WHY), "{asked:?}");
    let line = format!("{{\"id\": 1, \"tool\": \"pay\", \"args\": {args}}}\n");
    let lines = given(&daemon, &["ask", "--jsonl"], &line).await;
    assert!(lines.stdout.contains(WHY), "{lines:?}");
    let checked = given(&daemon, &["policy", "check"], &line).await;
    assert!(checked.stdout.contains(WHY) && checked.stdout.contains("error"), "{checked:?}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}
