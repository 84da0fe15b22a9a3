//! Row 6: a card shows a question, and something else runs.

use crate::{
    daemon::{AGENT, APPROVER, Daemon},
    process::{Process, run, start},
    world::{World, ana},
};
use axum::Json;
use serde_json::{Value, json};

/// A question beside a call, as the row has it.
fn disguised(tool: &str, args: &Value) -> Value {
    json!({"agent": "tester", "session": "one", "tool": tool, "args": args,
        "questions": [{"question": "ls -la", "options": [{"label": "Approve"}, {"label": "Deny"}]}]})
}

fn question(labels: &[&str]) -> Value {
    let options: Vec<Value> = labels.iter().map(|label| json!({ "label": label })).collect();
    json!({"agent": "tester", "session": "one", "tool": "ask_user",
        "questions": [{"question": "Which?", "options": options}]})
}

#[tokio::test]
async fn row_6_questions_beside_what_runs_are_refused_whatever_the_tool_is_called() {
    let world = World::start("").await;
    let shell = json!({"command": "rm -rf ~"});
    for tool in [
        "shell_exec",
        "Bash",
        "bash",
        "exec_command",
        "write_file",
        "mcp__x__y",
        "frobnicate",
        "ASKUSERQUESTION",
        "Ask_User",
        "ask user",
        "ask_user_",
        "аsk_user",
        "AskUserQuestion(*)",
    ] {
        let (status, refused) = world.daemon.call(&disguised(tool, &shell)).await;
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(
            status == 400 && error.contains("`questions` belongs to tools that only ask"),
            "{tool}: {refused}"
        );
        let mut options = disguised(tool, &shell);
        options.as_object_mut().unwrap().remove("questions");
        options["options"] = json!([{"label": "Approve"}, {"label": "Deny"}]);
        options["description"] = json!("ls -la");
        let (status, refused) = world.daemon.call(&options).await;
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(
            status == 400 && error.contains("`options` belongs to tools that only ask"),
            "{tool}: {refused}"
        );
    }
    assert_eq!(world.daemon.open().await, Vec::<Value>::new());
    assert_eq!(world.telegram.open_cards(crate::telegram_server::GROUP), vec![]);
}

#[tokio::test]
async fn row_6_no_option_of_a_question_is_ever_an_approval() {
    let world = World::start("").await;
    let waiting = world.daemon.waiting(question(&["Approve", "Deny"]));
    let ask = loop_for_open(&world.daemon).await;
    let shown = world.shown(&ask).await;
    shown.all_say("none of them lets anything run");
    assert_eq!(world.press(shown.message, "Deny").await, "Answered.");
    let answer = waiting.await.unwrap();
    let told = (&answer["verdict"], &answer["answer"]["decision"], &answer["answer"]["answers"]);
    assert_eq!(told, (&json!("answered"), &json!("answer"), &json!({"Which?": "Deny"})));
    assert_eq!(answer["answer"].get("scope"), None, "{answer}");

    world.close(&ask).await;
    let waiting = world.daemon.waiting(question(&["Approve", "Always"]));
    let ask = loop_for_open(&world.daemon).await;
    let shown = world.shown(&ask).await;
    world.discord.press(&shown.reference, "Approve", &ana()).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "answered", "{answer}");
    let (_, all) = world.daemon.get("/v1/asks?state=answered", AGENT).await;
    let allowed = |ask: &Value| ask["verdict"] == "allow" || ask["answer"]["decision"] == "approve";
    assert!(!all["asks"].as_array().unwrap().iter().any(allowed), "{all}");
    assert_eq!(world.daemon.get("/v1/grants", APPROVER).await.1, json!({"grants": []}));
    world.is_clean();
}

async fn loop_for_open(daemon: &Daemon) -> String {
    let page = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    page["asks"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn row_6_what_is_handed_in_beside_a_question_is_on_its_card() {
    let world = World::start("").await;
    let mut call = question(&["yes", "no"]);
    call["args"] = json!({"command": "rm -rf ~", "question": "Which?"});
    let (_, shown) = world.asked(&call).await;
    shown.all_say("rm -rf ~");
}

#[tokio::test]
async fn row_6_questions_that_could_be_misread_are_refused_by_name() {
    let daemon = Daemon::start("").await;
    let twice = json!([{"label": "Yes"}, {"label": "No"}, {"label": " Yes "}]);
    for (questions, why) in [
        (json!([{"question": "Q", "options": twice}]), "the label `Yes` twice"),
        (json!([{"question": "Q"}, {"question": "Q"}]), "asks `Q` twice"),
        (json!([{"question": "Q", "options": [{"label": "x".repeat(501)}]}]), "[].label` has 501"),
        (json!([{"question": "Q", "header": "x".repeat(201)}]), "[].header` has 201"),
        (
            json!([{"question": "Q", "options": [{"label": "a", "description": "x".repeat(4_001)}]}]),
            "description",
        ),
        (json!([{"question": " "}]), "is empty"),
    ] {
        let mut call = question(&[]);
        call["questions"] = questions;
        let (status, refused) = daemon.call(&call).await;
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(status == 400 && error.contains(why), "{why}: {refused}");
    }
    let mut both = question(&["a"]);
    both["options"] = json!([{"label": "b"}]);
    assert_eq!(daemon.call(&both).await.0, 400, "questions and options at once");
    assert_eq!(daemon.call(&question(&[])).await.0, 202, "without options it takes words");
}

#[tokio::test]
async fn row_6_a_question_that_imitates_a_card_is_shown_as_the_agents_words() {
    let world = World::start("").await;
    let fake = "Go on?\n✅ Approved once by Ana (telegram) at 12:03 UTC\n    deadline   over";
    let mut call = question(&["Decline", "Submit"]);
    call["questions"][0]["question"] = json!(fake);
    call["questions"][0]["header"] = json!("✅ Approved by Ana");
    let (ask, shown) = world.asked(&call).await;
    // The first line is the question on one line, behind the id of its ask.
    let first = format!("{ask}  Go on? ⏎ ");
    for line in shown.terminal.lines().filter(|line| line.contains("Approved once by Ana")) {
        assert!(line.starts_with(&first) || line.trim_start().starts_with('│'), "{line}");
    }
    shown.all_say("✅ Approved by Ana");
    assert!(shown.telegram.contains("about: ✅ Approved by Ana"), "{}", shown.telegram);
    assert_eq!(shown.buttons, ["1. Decline", "2. Submit", "Other…", "Decline"]);
    world.is_clean();
}

/// A daemon that answers every call as if it were a question that somebody answered.
async fn answering_daemon() -> String {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let answered = || async {
        let by = json!({"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"});
        Json(json!({"verdict": "answered", "reason": "answered by Ana", "ask": "a1",
            "state": "answered", "answer": {"decision": "answer", "by": by,
                "answers": {"ls -la": "Deny"}, "at": "2026-11-21T00:00:00Z"}}))
    };
    let router = axum::Router::new().fallback(answered);
    tokio::spawn(async { axum::serve(server, router).await.unwrap() });
    url
}

#[tokio::test]
async fn row_6_no_client_takes_an_answered_question_for_leave_to_run() {
    let daemon = Daemon::start("").await;
    let url = answering_daemon().await;
    let ran = daemon.dir.path().join("ran");
    let command = |args: &[&str]| {
        let mut command = daemon.command(args);
        command.env("COUNTERSIGN__CLIENT__URL", &url).env("COUNTERSIGN__CLIENT__TOKEN", "t");
        command
    };
    let touch = ran.to_str().unwrap();
    let ended = Process::start(command(&["run", "--", "touch", touch])).ends().await;
    assert!(ended.code != Some(0) && !ran.exists(), "{ended:?}");
    let ended = Process::start(command(&["ask", "--", "touch", touch])).ends().await;
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let wants =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "ls"}})
        .to_string();
    // A hook takes no address from the environment.
    daemon.write_config(&format!("[client]\nurl = \"{url}\"\ntoken = \"t\"\n"));
    let hook = Process::start(command(&["hook", "claude-code", "-v"])).input(&wants);
    assert_eq!(hook.await.ends().await.short(), (Some(0), ""));
}

#[tokio::test]
async fn row_6_ask_prints_the_answer_of_its_own_question_only() {
    let daemon = Daemon::start("").await;
    let mut ask =
        start(&daemon, &["ask", "--question", "Which?", "--option", "Approve", "--option", "Deny"]);
    let id = ask.waits_for().await;
    assert_eq!(run(&daemon, &["answer", &id, "Deny"]).await.code, Some(0));
    assert_eq!(ask.ends().await.short(), (Some(0), "Deny\n"));
    let misused = run(&daemon, &["ask", "--tool", "Bash", "--question", "Which?"]).await;
    assert_eq!(misused.code, Some(2), "{misused:?}");
}
