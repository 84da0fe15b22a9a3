//! Budgets: exactly the calls that a person saw, once each, and nothing that comes near them.

use crate::{
    agent_tokens::{delete, submit, token},
    daemon::{AGENT, APPROVER, Daemon, shell},
    process::run,
    telegram_server::{ANA, GROUP},
    world::World,
};
use serde_json::{Value, json};

fn calls(commands: &[&str]) -> Vec<Value> {
    let call = |command: &&str| json!({"tool": "shell_exec", "args": {"command": command}});
    commands.iter().map(call).collect()
}

/// A budget for these commands, in the session of [`shell`]'s calls.
fn budget(commands: &[&str], for_s: u64) -> Value {
    let mut call = shell("");
    call["tool"] = json!("budget");
    call["args"] = Value::Null;
    call["budget"] = json!({"for_s": for_s, "calls": calls(commands)});
    call
}

async fn verdict(daemon: &Daemon, token: &str, call: &Value) -> String {
    submit(daemon, token, call).await.1["verdict"].as_str().unwrap().to_owned()
}

/// Has a budget approved over the API; returns its ask.
async fn approved(daemon: &Daemon, token: &str, commands: &[&str], for_s: u64) -> String {
    let (status, reply) = submit(daemon, token, &budget(commands, for_s)).await;
    assert_eq!((status, &reply["verdict"]), (202, &json!("ask")), "{reply}");
    let id = reply["ask"].as_str().unwrap().to_owned();
    let (_, answered) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(answered["applied"], true, "{answered}");
    id
}

#[tokio::test]
async fn an_approved_budget_lets_exactly_its_calls_run_once_each() {
    let world = World::start("").await;
    let daemon = &world.daemon;
    let commands = ["git push origin one", "make deploy", "make deploy"];
    let asked = budget(&commands, 1800);
    let (id, shown) = world.asked(&asked).await;
    shown.all_say("3 calls ahead, once each, for 30 minutes");
    for (at, command) in commands.iter().enumerate() {
        shown.all_say(&format!("{}: {command}", at + 1));
    }
    assert_eq!(shown.buttons[..2], ["Approve these 3", "Deny"]);
    // Before it is approved it covers nothing.
    let early = daemon.ask(&shell("git push origin one")).await;
    daemon.answer(&early, &json!({"decision": "approve"})).await;
    let told = world.press(shown.message, "Approve these 3").await;
    assert_eq!(told, "Approved: each of these 3 may run once, for 30 minutes.");
    let over = || Some(world.telegram.message(GROUP, shown.message)).filter(|it| it.is_over());
    let over = world.telegram.until("the card says so", over).await;
    assert!(over.text.contains("each of the 3 once, for 30 minutes"), "{}", over.text);

    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    let scopes: Vec<_> = page["grants"].as_array().unwrap().iter().map(|it| &it["scope"]).collect();
    assert_eq!(scopes, ["budget"; 3]);
    let listed = run(daemon, &["grants"]).await;
    assert!(listed.stdout.contains("shell: git push origin one  once in one"), "{listed:?}");

    // What only comes near asks: other words, another folder, another session, another handle.
    let mut near = vec![shell("git push origin one "), shell("git push origin one; ls")];
    for (field, value) in [
        ("cwd", "/somewhere"),
        ("session", "two"),
        ("agent", "other"),
        ("worker", "w"),
        ("host", "x"),
        ("agent_mode", "auto"),
    ] {
        let mut call = shell("git push origin one");
        call[field] = json!(value);
        near.push(call);
    }
    let mut args = shell("git push origin one");
    args["args"]["timeout"] = json!(5);
    near.push(args);
    let mut secret = shell("git push origin one");
    secret["session_secret"] = json!("a-secret-of-another-session");
    near.push(secret);
    for call in &near {
        assert_eq!(verdict(daemon, AGENT, call).await, "ask", "{call}");
    }
    let bot = token(daemon, "bot", json!({})).await;
    assert_eq!(verdict(daemon, &bot, &shell("git push origin one")).await, "ask");

    let (_, first) = submit(daemon, AGENT, &shell("git push origin one")).await;
    let reason = first["reason"].as_str().unwrap();
    assert_eq!(first["verdict"], "allow");
    assert!(reason.starts_with("approved ahead by Ana"), "{reason}");
    assert_eq!(verdict(daemon, AGENT, &shell("git push origin one")).await, "ask", "it is spent");
    for wanted in ["allow", "allow", "ask"] {
        assert_eq!(verdict(daemon, AGENT, &shell("make deploy")).await, wanted);
    }
    let events = daemon.http.get(format!("{}/v1/events?last=100&follow=false", daemon.url));
    let events = events.bearer_auth(APPROVER).send().await.unwrap().text().await.unwrap();
    assert_eq!(events.matches("event: budget_used").count(), 3, "{events}");
    assert_eq!(daemon.read(&id).await["state"], "answered");
    world.is_clean();
}

#[tokio::test]
async fn a_budget_ends_with_undo_a_revocation_its_time_the_session_and_the_token() {
    let world = World::start("").await;
    let daemon = &world.daemon;
    let push = shell("git push origin one");
    // Undo.
    let (_, shown) = world.asked(&budget(&["git push origin one"], 600)).await;
    world.press(shown.message, "Approve these 1").await;
    let undo = || world.telegram.standing_button(GROUP, shown.message, "Undo");
    world.telegram.until("the button", undo).await;
    let told = world.telegram.press(GROUP, shown.message, "Undo", ANA).await.text;
    assert_eq!(told, "Undone: what is left of the budget asks again.");
    assert_eq!(verdict(daemon, AGENT, &push).await, "ask");
    // A revocation of one call leaves the others.
    approved(daemon, AGENT, &["make one", "make two"], 600).await;
    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    let of = |pattern: &str| {
        let grants = page["grants"].as_array().unwrap();
        let grant = grants.iter().find(|grant| grant["pattern"] == pattern).unwrap();
        grant["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(delete(daemon, &format!("/v1/grants/{}", of("make one")), APPROVER).await.0, 200);
    assert_eq!(verdict(daemon, AGENT, &shell("make one")).await, "ask");
    assert_eq!(verdict(daemon, AGENT, &shell("make two")).await, "allow");
    // Its time.
    approved(daemon, AGENT, &["make three"], 1).await;
    let gone = |page: &Value| page["grants"].as_array().unwrap().is_empty();
    daemon.until("/v1/grants", gone).await;
    assert_eq!(verdict(daemon, AGENT, &shell("make three")).await, "ask");
    // Its session.
    approved(daemon, AGENT, &["make four"], 600).await;
    daemon.post("/v1/sessions/one/end", AGENT, &json!({"agent": "tester"})).await;
    assert_eq!(verdict(daemon, AGENT, &shell("make four")).await, "ask");
    // Its agent's token: nobody who gets the name later has what is left.
    let bot = token(daemon, "bot", json!({})).await;
    approved(daemon, &bot, &["make five"], 600).await;
    assert_eq!(delete(daemon, "/v1/tokens/bot", APPROVER).await.0, 200);
    let heir = token(daemon, "bot", json!({})).await;
    assert_eq!(verdict(daemon, &heir, &shell("make five")).await, "ask");
    // While everything is paused nothing of it is spent.
    approved(daemon, AGENT, &["make six"], 600).await;
    daemon.post("/v1/pause", APPROVER, &json!({"mode": "hold"})).await;
    assert_eq!(verdict(daemon, AGENT, &shell("make six")).await, "ask");
    daemon.post("/v1/resume", APPROVER, &json!({})).await;
    let mut again = shell("make six");
    again["key"] = json!("another");
    assert_eq!(verdict(daemon, AGENT, &again).await, "allow");
}

#[tokio::test]
async fn nothing_critical_denied_or_hidden_is_approved_ahead() {
    let daemon = Daemon::start("").await;
    let (status, reply) = submit(&daemon, AGENT, &budget(&["make x", "sudo rm -rf /"], 60)).await;
    let reason = reply["reason"].as_str().unwrap();
    assert_eq!((status, &reply["verdict"]), (200, &json!("deny")));
    assert!(
        reason.starts_with("call 2 of the budget cannot be approved ahead: it is critical"),
        "{reason}"
    );
    let (_, reply) = submit(&daemon, AGENT, &budget(&["countersign approve x"], 60)).await;
    let reason = reply["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("call 1 of the budget cannot be approved ahead: the rules deny"),
        "{reason}"
    );
    for (refused, why) in [
        (budget(&["make x\nsudo rm -rf /"], 60), "has several lines"),
        (budget(&[&"x".repeat(1_001)], 60), "a card shows 1000 of them whole"),
        (budget(&["make x"; 21], 60), "and has 21"),
        (budget(&["make x"], 90_000), "at most 86400"),
    ] {
        let (status, reply) = submit(&daemon, AGENT, &refused).await;
        assert_eq!(status, 400, "{reply}");
        assert!(reply["error"].as_str().unwrap().contains(why), "{reply}");
    }
    // A tool that an agent calls `budget` is a tool like any other.
    let mut forged = shell("");
    forged["tool"] = json!("budget");
    forged["args"] = json!({"for_s": 60, "calls": calls(&["make x"])});
    let id = submit(&daemon, AGENT, &forged).await.1["ask"].as_str().unwrap().to_owned();
    daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(verdict(&daemon, AGENT, &shell("make x")).await, "ask");
    // Nor is one approved for always, or by the agent itself.
    let id = submit(&daemon, AGENT, &budget(&["make y"], 60)).await.1["ask"].clone();
    let path = format!("/v1/asks/{}/answer", id.as_str().unwrap());
    assert_eq!(daemon.post(&path, AGENT, &json!({"decision": "approve"})).await.0, 403);
    let always = json!({"decision": "approve", "scope": "always"});
    let (_, refused) = daemon.answer(id.as_str().unwrap(), &always).await;
    assert_ne!(refused["applied"], true, "{refused}");
    assert_eq!(verdict(&daemon, AGENT, &shell("make y")).await, "ask");
}

#[tokio::test]
async fn a_card_shows_the_largest_budget_whole_on_every_surface() {
    let world = World::start("").await;
    let command = |at: usize| format!("make {at:02}-{}", "x".repeat(42));
    let commands: Vec<String> = (1..=20).map(command).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let mut asked = budget(&commands, 86_400);
    asked["reason"] = json!("r".repeat(2_000));
    let (_, shown) = world.asked(&asked).await;
    for command in commands {
        shown.all_say(command);
    }
    world.is_clean();
}

#[tokio::test]
async fn a_budget_needs_the_answers_of_all_its_calls_and_a_later_rule_outranks_it() {
    let ana = "\n[[people]]\nname = \"Ana\"\ntoken = \"ana-token-000000000000\"\n\
               [[people]]\nname = \"Ben\"\ntoken = \"ben-token-000000000000\"\n";
    let rule = "[[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\napprovals = 2\n";
    let mut daemon = Daemon::start(&format!("{ana}{rule}")).await;
    let yes = json!({"decision": "approve"});
    let asked = submit(&daemon, AGENT, &budget(&["make x", "git push origin one"], 600)).await.1;
    let path = format!("/v1/asks/{}/answer", asked["ask"].as_str().unwrap());
    daemon.post(&path, "ana-token-000000000000", &yes).await;
    daemon.post(&path, "ana-token-000000000000", &yes).await;
    assert_eq!(verdict(&daemon, AGENT, &shell("make x")).await, "ask", "one of two");
    daemon.post(&path, "ben-token-000000000000", &yes).await;
    for (command, wanted) in [("git push origin one", "allow"), ("git push origin one", "ask")] {
        assert_eq!(verdict(&daemon, AGENT, &shell(command)).await, wanted, "{command}");
    }
    // One person approved this; two are wanted by the time it is due.
    let asked = submit(&daemon, AGENT, &budget(&["make deploy"], 600)).await.1;
    let path = format!("/v1/asks/{}/answer", asked["ask"].as_str().unwrap());
    daemon.post(&path, "ana-token-000000000000", &yes).await;
    let now = format!("{ana}{rule}[[answer_rules]]\ncommand = \"make *\"\napprovals = 2\n");
    daemon.write_config(&now);
    daemon.stop().await;
    daemon.run().await;
    assert_eq!(verdict(&daemon, AGENT, &shell("make deploy")).await, "ask");
}
