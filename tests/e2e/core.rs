//! The core over HTTP: rulings, asks, answers, handles, deadlines.

use crate::daemon::{AGENT, APPROVER, Daemon, shell};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

#[tokio::test]
async fn an_ask_is_answered_once_and_the_agent_is_told_by_whom() {
    let daemon = Daemon::start("").await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let id = loop_for_open(&daemon).await;
    let (status, answer) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    let by = json!({"kind": "person", "platform": "api", "id": "approver",
        "name": "the approver's token"});
    assert_eq!(
        (status, answer),
        (200, json!({"applied": true, "state": "answered", "by": by, "message": "Approved once."}))
    );
    let told = waiting.await.unwrap();
    assert_eq!(told["verdict"], "allow");
    assert_eq!(told["reason"], "approved by the approver's token");
    assert_eq!(told["state"], "answered");

    let (status, late) = daemon.answer(&id, &json!({"decision": "deny"})).await;
    assert_eq!((status, &late["applied"]), (200, &json!(false)));
    assert!(late["message"].as_str().unwrap().starts_with("Already approved by"), "{late}");
    assert_eq!(daemon.read(&id).await["answer"]["decision"], "approve", "the first answer stands");
}

#[tokio::test]
async fn a_denial_carries_its_reason_to_the_agent() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push --force")).await;
    let deny = json!({"decision": "deny", "reason": "use a pull request", "stop": true});
    daemon.answer(&id, &deny).await;
    let ask = daemon.read(&id).await;
    assert_eq!(ask["verdict"], "deny");
    assert_eq!(ask["reason"], "denied by the approver's token: use a pull request");
    assert_eq!(ask["answer"]["stop"], true);
}

#[tokio::test]
async fn an_agent_cannot_approve_itself_on_any_handle() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let path = format!("/v1/asks/{id}/answer");
    let yes = json!({"decision": "approve"});
    assert_eq!(daemon.post(&path, AGENT, &yes).await.0, 403, "the agent's token");
    assert_eq!(daemon.post(&path, "made-up", &yes).await.0, 401, "a token nobody gave out");
    let socket = reqwest::Client::builder().unix_socket(daemon.dir.path().join("countersign.sock"));
    let socket = socket.build().unwrap();
    let bare = socket.post(format!("http://localhost{path}")).json(&yes).send().await.unwrap();
    assert_eq!(bare.status(), 403, "the socket without a token");
    let bare = daemon.http.post(format!("{}{path}", daemon.url)).json(&yes).send().await.unwrap();
    assert_eq!(bare.status(), 401, "TCP without a token");
    assert_eq!(daemon.read(&id).await["state"], "open", "nothing was changed");
}

#[tokio::test]
async fn the_same_key_is_the_same_ask_and_another_call_under_it_is_refused() {
    let daemon = Daemon::start("").await;
    let mut call = shell("git push");
    call["key"] = json!("call-1");
    let first = daemon.ask(&call).await;
    assert_eq!(daemon.ask(&call).await, first);
    let mut other = shell("git push --force");
    other["key"] = json!("call-1");
    assert_eq!(daemon.call(&other).await.0, 409);
    daemon.answer(&first, &json!({"decision": "approve"})).await;
    let (status, told) = daemon.call(&call).await;
    assert_eq!((status, &told["verdict"]), (200, &json!("allow")), "re-attaching gets the answer");
}

#[tokio::test]
async fn nobody_answering_is_a_denial_that_says_so() {
    let daemon = Daemon::start("").await;
    let mut call = shell("git push");
    call["expires_in_s"] = json!(1);
    let id = daemon.ask(&call).await;
    let ask = daemon.ask_reaches(&id, "expired").await;
    assert_eq!(ask["verdict"], "deny");
    assert_eq!(ask["answer"]["by"], json!({"kind": "timeout"}));
    let reason = "Timed out after 1 s: not approved; a person may still approve the next try of \
                  exactly this call";
    assert_eq!(ask["reason"], reason);
    let (_, late) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(late["applied"], false);
    assert!(late["message"].as_str().unwrap().starts_with("Too late: nobody answered"), "{late}");
}

#[tokio::test]
async fn silence_approves_only_the_tools_that_the_operator_named() {
    let policy = "[policy]\ntimeout = \"1s\"\non_timeout = \"approve\"\n\
                  approve_on_timeout = [\"notify\", \"ask_user\"]\n";
    let daemon = Daemon::start(policy).await;
    let named = json!({"agent": "t", "session": "s", "tool": "notify", "args": {"text": "hi"}});
    let other = json!({"agent": "t", "session": "s", "tool": "publish", "args": {"text": "hi"}});
    let question = json!({"agent": "t", "session": "s", "tool": "ask_user", "args": {},
        "questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]});
    let [named, other, question] =
        [daemon.ask(&named).await, daemon.ask(&other).await, daemon.ask(&question).await];
    assert_eq!(daemon.ask_reaches(&named, "expired").await["verdict"], "allow");
    assert_eq!(daemon.ask_reaches(&other, "expired").await["verdict"], "deny");
    assert_eq!(daemon.ask_reaches(&question, "expired").await["verdict"], "deny");
}

#[tokio::test]
async fn silence_approves_nothing_whose_card_did_not_say_so() {
    let daemon = Daemon::start("[policy]\ntimeout = \"4s\"\n").await;
    let call = json!({"agent": "t", "session": "s", "tool": "notify", "args": {"text": "hi"}});
    let before = daemon.ask(&call).await;
    let approving = "[policy]\ntimeout = \"4s\"\non_timeout = \"approve\"\n\
                     approve_on_timeout = [\"notify\"]\n";
    daemon.write_config(approving);
    assert_eq!(daemon.post("/v1/reload", APPROVER, &json!({})).await.0, 200);
    let mut again = call;
    again["args"]["text"] = json!("again");
    let after = daemon.ask(&again).await;
    assert_eq!(daemon.ask_reaches(&before, "expired").await["verdict"], "deny");
    assert_eq!(daemon.ask_reaches(&after, "expired").await["verdict"], "allow");
}

#[tokio::test]
async fn a_caller_that_went_away_closes_its_ask() {
    let daemon = Daemon::start("").await;
    let waiting = daemon.waiting(shell("git push"));
    let id = loop_for_open(&daemon).await;
    waiting.abort();
    let ask = daemon.ask_reaches(&id, "cancelled").await;
    assert_eq!(ask["reason"], "cancelled: the agent that asked went away");
    let (_, late) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(late["applied"], false);
    assert!(late["message"].as_str().unwrap().starts_with("This is no longer pending"), "{late}");
}

#[tokio::test]
async fn a_caller_whose_wait_ran_out_may_come_back_when_it_likes() {
    let daemon = Daemon::start("").await;
    let (status, told) = daemon.post("/v1/calls?wait=1", AGENT, &shell("git push")).await;
    assert_eq!((status, &told["verdict"]), (202, &json!("ask")));
    let id = told["ask"].as_str().unwrap();
    let grace = std::time::Duration::from_millis(3_500);
    tokio::time::sleep(grace).await; // longer than a caller that lost its connection is given
    assert_eq!(daemon.read(id).await["state"], "open");
}

#[tokio::test]
async fn a_session_grant_covers_its_session_and_the_asks_that_wait_in_it() {
    let daemon = Daemon::start("").await;
    let first = daemon.ask(&shell("cargo build --release")).await;
    let second = daemon.ask(&shell("cargo build -p shop")).await;
    let mut elsewhere = shell("cargo build --release");
    elsewhere["session"] = json!("two");
    let third = daemon.ask(&elsewhere).await;
    let answer = json!({"decision": "approve", "scope": "session"});
    let (_, reply) = daemon.answer(&first, &answer).await;
    assert!(reply["message"].as_str().unwrap().contains("cargo build *"), "{reply}");

    let cascaded = daemon.ask_reaches(&second, "answered").await;
    assert_eq!(cascaded["answer"]["by"]["kind"], "policy", "{cascaded}");
    assert_eq!(daemon.read(&third).await["state"], "open", "another session is not covered");
    assert_eq!(daemon.call(&shell("cargo build --tests")).await.1["verdict"], "allow");

    let (_, grants) = daemon.get("/v1/grants", AGENT).await;
    let grant = grants["grants"][0]["id"].as_str().unwrap().to_owned();
    let revoke = |token: &'static str| {
        daemon.http.delete(format!("{}/v1/grants/{grant}", daemon.url)).bearer_auth(token).send()
    };
    assert_eq!(revoke(AGENT).await.unwrap().status(), 403, "an agent cannot revoke");
    assert_eq!(revoke(APPROVER).await.unwrap().status(), 200);
    assert_eq!(
        daemon.call(&shell("cargo build --tests")).await.1["verdict"],
        "ask",
        "revoked at once"
    );
}

#[tokio::test]
async fn always_stores_the_rule_that_the_card_names_and_keeps_the_file_as_it_was() {
    let daemon = Daemon::start("").await;
    let rules = daemon.dir.path().join("permissions.jsonc");
    std::fs::write(&rules, "{\n  // ours\n  \"*\": \"ask\"\n}\n").unwrap();
    let id = daemon.ask(&shell("cargo build --release")).await;
    let ask = daemon.read(&id).await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve", "scope": "always"})).await;
    let rule = ask["always"][0].as_str().unwrap();
    assert_eq!(reply["message"], format!("Approved, and always from now on: {rule}."));
    assert_eq!(std::fs::read_to_string(&rules).unwrap(), "{\n  // ours\n  \"*\": \"ask\"\n}\n");
    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    assert_eq!((&page["grants"][0]["rule"], &page["grants"][1]), (&json!(rule), &Value::Null));
    let mut elsewhere = shell("cargo build -p shop");
    elsewhere["session"] = json!("two");
    assert_eq!(daemon.call(&elsewhere).await.1["verdict"], "allow");
}

#[tokio::test]
async fn a_broken_rules_file_keeps_the_last_good_rules_and_says_so_on_the_ask() {
    let mut daemon = Daemon::start("").await;
    let rules = daemon.dir.path().join("permissions.jsonc");
    std::fs::write(&rules, r#"{"*": "ask", "shell_exec": {"git status": "allow"}}"#).unwrap();
    assert_eq!(daemon.call(&shell("git status")).await.1["verdict"], "allow");
    std::fs::write(&rules, r#"{"*": "alow"}"#).unwrap();
    assert_eq!(daemon.call(&shell("git status")).await.1["verdict"], "allow");
    daemon.says("the last good rules stay in force").await;
    let (_, ready) = daemon.get("/readyz", AGENT).await;
    let problem = ready["rules"]["problem"].as_str().unwrap();
    assert!(problem.contains("permissions.jsonc:1:") && problem.contains("alow"), "{problem}");
}

#[tokio::test]
async fn questions_are_answered_and_never_approved() {
    let daemon = Daemon::start("").await;
    let call = json!({"agent": "claude-code", "session": "s", "tool": "AskUserQuestion",
        "args": {"questions": [{"question": "Which store?", "header": "Store", "multiSelect": false,
            "options": [{"label": "SQLite", "description": ""}, {"label": "Postgres"}]}]}});
    let id = daemon.ask(&call).await;
    let (status, refused) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(status, 422, "{refused}");
    let ask = daemon.read(&id).await;
    assert_eq!((&ask["state"], &ask["effects"]), (&json!("open"), &json!(null)), "{ask}");
    let stray = json!({"decision": "approve", "answers": {"Which?": "SQLite"}});
    assert_eq!(daemon.answer(&id, &stray).await.0, 422);
    let answers = json!({"Which store?": "something else"});
    let (status, _) = daemon.answer(&id, &json!({"decision": "approve", "answers": answers})).await;
    assert_eq!(status, 200);
    let ask = daemon.read(&id).await;
    assert_eq!((&ask["verdict"], &ask["answer"]["answers"]), (&json!("answered"), &answers));
    assert_eq!(ask["answer"]["decision"], "answer", "nothing is approved: {ask}");
}

#[tokio::test]
async fn malformed_and_oversized_requests_get_a_sentence_and_change_nothing() {
    let daemon = Daemon::start("").await;
    let send = |body: String| {
        let request = daemon.http.post(format!("{}/v1/calls", daemon.url)).bearer_auth(AGENT);
        async move {
            let response = request.body(body).send().await.unwrap();
            let status = response.status().as_u16();
            let error = response.json::<serde_json::Value>().await.unwrap();
            (status, error["error"].as_str().unwrap().to_owned())
        }
    };
    let (status, error) = send("{\"tool\":".into()).await;
    assert_eq!(status, 400, "{error}");
    let (status, error) = send("{\"agent\":\"a\",\"session\":\"s\"}".into()).await;
    assert_eq!(
        (status, error.as_str()),
        (400, "invalid body: missing field `tool` at line 1 column 27")
    );
    let (status, error) = send("x".repeat(2 << 20)).await;
    assert_eq!((status, error.as_str()), (413, "the request is larger than 1 MiB"));
    let (status, _) = daemon.answer("nothere", &json!({"decision": "approve"})).await;
    assert_eq!(status, 404);
    let id = daemon.ask(&shell("git push")).await;
    for bad in [
        json!({"decision": "maybe"}),
        json!({"decision": true}),
        json!({"decision": "approve", "scope": "forever"}),
        json!({"decision": "approve", "scoop": "once"}),
        json!({"decision": "deny", "scope": "always"}),
        json!({}),
    ] {
        assert_eq!(daemon.answer(&id, &bad).await.0, 400, "{bad}");
    }
    let (status, refused) = daemon.get(&format!("/v1/asks/{id}/answer"), APPROVER).await;
    let why = "this route takes no GET; docs/api.md lists them all";
    assert_eq!((status, &refused["error"]), (405, &json!(why)));
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn a_field_or_parameter_that_no_request_has_is_refused_by_name() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let agent = || json!({"agent": "t"});
    for (path, body) in [
        (format!("/v1/asks/{id}/answer"), json!({"decision": "approve"})),
        (format!("/v1/asks/{id}/cancel"), json!({"reason": "aborted"})),
        (format!("/v1/parked/{id}/ended"), json!({"epoch": 0})),
        ("/v1/executions".into(), json!({"token": "x"})),
        ("/v1/sessions/s/mode".into(), json!({"agent": "t", "mode": "default"})),
        ("/v1/sessions/s/abort".into(), agent()),
        ("/v1/sessions/s/end".into(), agent()),
        ("/v1/rules/explain".into(), json!({"tool": "Bash"})),
        ("/v1/rules/try".into(), json!({})),
        ("/v1/approvers/explain".into(), json!({})),
        ("/v1/pause".into(), json!({"mode": "hold"})),
        ("/v1/log/key".into(), json!({})),
        ("/v1/tokens".into(), json!({"name": "ci"})),
        ("/v1/tokens/ci/rotate".into(), json!({})),
        ("/v1/pairings".into(), json!({})),
    ] {
        let mut more = body.clone();
        more["raeson"] = json!("aborted");
        let (status, reply) = daemon.post(&path, APPROVER, &more).await;
        assert!(matches!(status, 400 | 422) && is_named(&reply), "{path}: {status} {reply}");
    }
    for path in ["/v1/calls", "/v1/calls/ahead", &format!("/v1/parked/{id}/take"), "/v1/nono"] {
        let (status, reply) =
            daemon.post(&format!("{path}?raeson=x"), APPROVER, &shell("ls")).await;
        assert!(matches!(status, 400 | 422) && is_named(&reply), "{path}: {status} {reply}");
    }
    for path in [
        "/v1/asks",
        &format!("/v1/asks/{id}"),
        "/v1/events",
        "/v1/history",
        "/v1/digest",
        "/v1/log",
    ] {
        let (status, reply) = daemon.get(&format!("{path}?raeson=x"), APPROVER).await;
        assert!(matches!(status, 400 | 422) && is_named(&reply), "{path}: {status} {reply}");
    }
    assert_eq!(daemon.read(&id).await["state"], "open");
}

fn is_named(reply: &serde_json::Value) -> bool {
    reply["error"].as_str().is_some_and(|error| error.contains("unknown field `raeson`"))
}

#[tokio::test]
async fn two_approvers_at_once_make_one_answer() {
    let daemon = Daemon::start("").await;
    for round in 0..10 {
        let id = daemon.ask(&shell(&format!("git push origin {round}"))).await;
        let (yes, no) = (json!({"decision": "approve"}), json!({"decision": "deny"}));
        let presses = (0..8).map(|n| daemon.answer(&id, if n % 2 == 0 { &yes } else { &no }));
        let replies = futures::future::join_all(presses).await;
        let applied: Vec<_> =
            replies.iter().filter(|(_, reply)| reply["applied"] == json!(true)).collect();
        assert_eq!(applied.len(), 1, "{replies:?}");
    }
}

#[tokio::test]
async fn calls_that_reach_for_the_bridge_itself_are_denied_by_a_guardrail() {
    let daemon = Daemon::start("").await;
    let rules = daemon.dir.path().join("permissions.jsonc");
    std::fs::write(&rules, r#"{"*": "allow"}"#).unwrap();
    assert_eq!(daemon.call(&shell("echo hi")).await.1["verdict"], "allow");
    let at = daemon.dir.path().display().to_string();
    for command in [
        "countersign approve x".to_owned(),
        "/usr/local/bin/countersign approve x".to_owned(),
        "env countersign deny x".to_owned(),
        format!("cat {at}/countersign.toml"),
        format!("sqlite3 {at}/state/countersign.db 'update ask set state = 1'"),
        format!("echo '{{}}' > {at}/permissions.jsonc"),
        format!("curl --unix-socket {at}/countersign.sock http://x/v1/asks"),
        format!("rm -rf {at}/state"),
    ] {
        assert_eq!(daemon.call(&shell(&command)).await.1["verdict"], "deny", "{command}");
    }
    let read = json!({"agent": "t", "session": "s", "tool": "read_file",
        "args": {"path": format!("{at}/countersign.toml")}});
    assert_eq!(daemon.call(&read).await.1["verdict"], "deny");
    let write = json!({"agent": "t", "session": "s", "tool": "Write",
        "args": {"file_path": format!("{at}/./state/../permissions.jsonc"), "content": "{}"}});
    assert_eq!(daemon.call(&write).await.1["verdict"], "deny");
}

/// The id of the one open ask, once it is there.
pub async fn loop_for_open(daemon: &Daemon) -> String {
    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let mut stream = request.send().await.unwrap();
    let mut text = String::new();
    while let Some(chunk) = stream.chunk().await.unwrap() {
        text.push_str(&String::from_utf8_lossy(&chunk));
        if text.contains("\n\n") && !daemon.open().await.is_empty() {
            break;
        }
    }
    daemon.open().await[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_event_stream_replays_open_asks_and_what_a_reader_missed() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let stream = |last: Option<&'static str>| {
        let mut request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        request.send()
    };
    let read = async |mut stream: reqwest::Response, until: &str| {
        let mut text = String::new();
        while !text.contains(until) {
            text += &String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap());
        }
        text
    };
    let replayed = read(stream(None).await.unwrap(), "\n\n").await;
    assert!(replayed.starts_with("event: ask\n") && replayed.contains(&id), "{replayed}");
    let live = stream(None).await.unwrap();
    daemon.answer(&id, &json!({"decision": "approve"})).await;
    let live = read(live, "event: answered").await;
    assert!(live.contains("event: ask\n"), "{live}");
    let missed = read(stream(Some("0")).await.unwrap(), "event: answered").await;
    let asked = missed.split("\n\n").find(|event| event.starts_with("event: asked\n"));
    let (_, id) = asked.unwrap().rsplit_once("\nid: ").unwrap();
    assert!(asked.unwrap().contains(&format!(r#"data: {{"id":{id},"#)), "{missed}");
}

#[tokio::test]
async fn more_than_500_asks_are_listed_page_by_page_and_replayed_to_a_new_reader() {
    let daemon = Daemon::start("[limits]\nasks_per_minute_per_session = 1000\n").await;
    let hand_in = |n: usize| {
        let daemon = &daemon;
        async move { daemon.ask(&shell(&format!("git push {n}"))).await }
    };
    // Not all at once: the store takes one after the other, and each of them waits for only so long.
    let mut ids: Vec<_> = stream::iter(0..510).map(hand_in).buffered(20).collect().await;
    ids.sort_unstable();
    let mut listed: Vec<_> = daemon.open().await.iter().map(id_of).collect();
    listed.sort_unstable();
    assert_eq!(listed, ids);
    let (_, first) = daemon.get("/v1/asks", AGENT).await;
    let asks = first["asks"].as_array().unwrap();
    assert_eq!((asks.len(), &first["next"]), (500, &asks[499]["id"]));
    assert_eq!(daemon.get("/v1/asks?after=nobody", AGENT).await.0, 404);

    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let (mut stream, mut text) = (request.send().await.unwrap(), String::new());
    while text.matches("\n\n").count() < ids.len() {
        text += &String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap());
    }
    let replayed = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut replayed: Vec<_> =
        replayed.map(|ask| id_of(&serde_json::from_str(ask).unwrap())).collect();
    replayed.sort_unstable();
    assert_eq!(replayed, ids);

    let pending = daemon.command(&["pending", "--json"]).output().await.unwrap();
    let pending: Value = serde_json::from_slice(&pending.stdout).unwrap();
    assert_eq!(pending["asks"].as_array().unwrap().len(), ids.len());
}

fn id_of(ask: &Value) -> String {
    ask["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_ended_session_takes_its_asks_and_its_grants_with_it() {
    let daemon = Daemon::start("").await;
    let first = daemon.ask(&shell("git push origin main")).await;
    daemon.answer(&first, &json!({"decision": "approve", "scope": "10m"})).await;
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    let open = daemon.ask(&shell("cargo publish")).await;
    let end = json!({"agent": "tester"});
    let (status, ended) = daemon.post("/v1/sessions/one/end", AGENT, &end).await;
    assert_eq!((status, ended), (200, json!({"cancelled": 1})));
    assert_eq!(daemon.read(&open).await["reason"], "cancelled: its session ended");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "ask");
}

#[tokio::test]
async fn a_session_gets_a_mode_of_its_own_only_from_an_approver_and_loses_it_at_its_end() {
    let daemon = Daemon::start("").await;
    let mode = async |token, mode: &str| {
        let wish = json!({"agent": "claude-code", "mode": mode});
        daemon.post("/v1/sessions/s1/mode", token, &wish).await.0
    };
    let call = json!({"agent": "claude-code", "session": "s1", "tool": "shell_exec",
        "args": {"command": "git push"}});
    let verdict = async || daemon.post("/v1/calls", AGENT, &call).await.1["verdict"].clone();
    assert_eq!(mode(AGENT, "yolo").await, 403, "an agent never loosens its own session");
    assert_eq!(mode(APPROVER, "wild").await, 422, "an unknown mode is an error");
    assert_eq!(verdict().await, "ask");
    assert_eq!(mode(APPROVER, "yolo").await, 200);
    assert_eq!(verdict().await, "allow");
    assert_eq!(mode(AGENT, "default").await, 200, "an agent may tighten");
    assert_eq!(verdict().await, "ask");
    assert_eq!(mode(APPROVER, "yolo").await, 200);
    let end = json!({"agent": "claude-code"});
    assert_eq!(daemon.post("/v1/sessions/s1/end", AGENT, &end).await.0, 200);
    assert_eq!(verdict().await, "ask", "the mode ended with its session");
}

#[tokio::test]
async fn always_exactly_this_covers_this_command_and_no_other() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve", "scope": "exact"})).await;
    let said = reply["message"].as_str().unwrap();
    assert_eq!(said, "Approved, and always from now on: shell: git push origin main.");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin next")).await.1["verdict"], "ask");
}

#[tokio::test]
async fn a_link_does_not_walk_around_the_guardrail() {
    let daemon = Daemon::start("").await;
    let link = daemon.dir.path().join("innocent.txt");
    std::os::unix::fs::symlink(daemon.config(), &link).unwrap();
    let read = json!({"agent": "t", "session": "s", "tool": "Read",
        "args": {"file_path": link.display().to_string()}});
    assert_eq!(daemon.call(&read).await.1["verdict"], "deny");
}

#[tokio::test]
async fn no_grant_lifts_a_deny_that_a_person_wrote() {
    let daemon = Daemon::start("").await;
    let rules = daemon.dir.path().join("permissions.jsonc");
    let text = r#"{"*": "ask", "shell_exec": {"*": "ask", "git push origin main": "deny"}}"#;
    std::fs::write(&rules, text).unwrap();
    for scope in ["session", "always"] {
        let mut call = shell("git push origin next");
        call["session"] = json!(scope);
        let id = daemon.ask(&call).await;
        let (_, reply) = daemon.answer(&id, &json!({"decision": "approve", "scope": scope})).await;
        assert_eq!(reply["applied"], true);
        assert_eq!(daemon.call(&call).await.1["verdict"], "allow", "{scope}");
        call["args"]["command"] = json!("git push origin main");
        assert_eq!(daemon.call(&call).await.1["verdict"], "deny", "{scope}");
    }
}
