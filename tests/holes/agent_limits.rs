//! Limits of agents by name: what the one beyond does, and what no agent can do about it.

use crate::{
    agent_tokens::{ask, delete, submit, token},
    daemon::{AGENT, APPROVER, Daemon, shell},
    process::run,
    telegram_server::{GROUP, Message},
    world::World,
};
use serde_json::{Value, json};

const WHY: &str = "the agent `bot` is paused: more than 2 asks in a minute. Nothing of it runs until \
                   a person resumes it, on its card or with `countersign token resume bot`";

/// The open cards in Telegram that say that an agent is paused.
fn pauses(world: &World) -> Vec<Message> {
    let cards = world.telegram.open_cards(GROUP);
    cards.into_iter().filter(|card| card.text.contains("is paused: ")).collect()
}

/// Asserts that a call is denied because its agent is paused.
async fn is_paused(daemon: &Daemon, token: &str, command: &str, why: &str) {
    let (status, reply) = submit(daemon, token, &shell(command)).await;
    assert_eq!((status, &reply["verdict"], &reply["reason"]), (200, &json!("deny"), &json!(why)));
}

async fn listed(daemon: &Daemon) -> Value {
    daemon.get("/v1/tokens", APPROVER).await.1["tokens"][0].clone()
}

#[tokio::test]
async fn an_agent_beyond_its_limit_is_paused_on_one_card_until_a_person_resumes_it() {
    let mut world = World::start("").await;
    let bot = token(&world.daemon, "bot", json!({"limits": {"per_minute": 2}})).await;
    let other = token(&world.daemon, "other", json!({})).await;
    let mut first = shell("git push origin one");
    first["key"] = json!("k1");
    let one = submit(&world.daemon, &bot, &first).await.1["ask"].clone();
    assert_eq!(submit(&world.daemon, &bot, &shell("ls")).await.1["verdict"], "allow");
    let two = ask(&world.daemon, &bot, "git push origin two").await;
    // It comes back to what it has: that is no further ask.
    assert_eq!(submit(&world.daemon, &bot, &first).await.1["ask"], one);

    is_paused(&world.daemon, &bot, "git push origin three", WHY).await;
    // Also what a rule allows, and once more: there is one card.
    for command in ["ls", "git push origin three", "git push origin four"] {
        is_paused(&world.daemon, &bot, command, WHY).await;
    }
    assert_eq!(submit(&world.daemon, &bot, &first).await.1["ask"], one, "its own ask");
    ask(&world.daemon, &other, "git push origin other").await;
    let card = world.telegram.until("the card", || pauses(&world).pop()).await;
    assert!(card.text.contains("⏸ bot is paused: more than 2 asks in a minute"), "{}", card.text);
    assert_eq!(card.buttons, [["Resume", "Keep it paused"]]);
    let posted = world.discord.until(|message| message.text.contains("bot is paused")).await;
    assert!(posted.text.contains("Its calls are denied until somebody resumes it."));
    assert_eq!(pauses(&world).len(), 1);
    let told = listed(&world.daemon).await;
    let why = "more than 2 asks in a minute";
    assert_eq!((&told["limits"], &told["paused"]["why"]), (&json!({"per_minute": 2}), &json!(why)));

    // The agent finds no ask to answer or cancel, and resumes nothing.
    let resumption = told["paused"]["ask"].as_str().unwrap();
    let path = format!("/v1/asks/{resumption}");
    for token in [&*bot, &*other, AGENT] {
        assert_eq!(world.daemon.get(&path, token).await.0, 404);
        assert_eq!(world.daemon.post(&format!("{path}/cancel"), token, &json!({})).await.0, 404);
        let approve = json!({"decision": "approve"});
        assert_eq!(world.daemon.post(&format!("{path}/answer"), token, &approve).await.0, 403);
        let resume = "/v1/tokens/bot/resume";
        assert_eq!(world.daemon.post(resume, token, &json!({})).await.0, 403);
    }
    for session in ["one", "limits"] {
        let end = format!("/v1/sessions/{session}/end");
        world.daemon.post(&end, &bot, &json!({"agent": "bot"})).await;
    }
    assert_eq!(world.daemon.read(resumption).await["state"], "open");

    // A restart forgets neither the pause nor its card.
    world.daemon.stop().await;
    world.daemon.run().await;
    world.discord.until_online().await;
    is_paused(&world.daemon, &bot, "ls", WHY).await;
    let status = run(&world.daemon, &["status"]).await;
    let named = "paused    bot since ";
    assert!(status.stdout.contains(named), "{status:?}");
    assert!(status.stdout.contains("; `countersign token resume bot`"), "{status:?}");

    assert_eq!(world.press(card.id, "Resume").await, "Resumed: its calls are accepted again.");
    let over = || Some(world.telegram.message(GROUP, card.id)).filter(|card| card.is_over());
    let over = world.telegram.until("the card says so", over).await;
    assert!(over.text.contains("resumed by Ana"), "{}", over.text);
    assert_eq!(listed(&world.daemon).await["paused"], Value::Null);
    assert_eq!(submit(&world.daemon, &bot, &shell("ls")).await.1["verdict"], "allow");
    ask(&world.daemon, &bot, "git push origin five").await;
    assert_eq!(world.daemon.read(&two).await["state"], "cancelled", "its session was ended");

    let events =
        world.daemon.http.get(format!("{}/v1/events?last=100&follow=false", world.daemon.url));
    let events = events.bearer_auth(APPROVER).send().await.unwrap().text().await.unwrap();
    assert_eq!(events.matches("event: agent_paused").count(), 1, "{events}");
    assert_eq!(events.matches("event: agent_resumed").count(), 1, "{events}");
    assert!(events.contains(why), "{events}");
    world.is_clean();
}

#[tokio::test]
async fn a_limit_counts_what_is_open_or_one_task_and_a_no_keeps_the_agent_paused() {
    let world = World::start("").await;
    let bot = token(&world.daemon, "bot", json!({"limits": {"max_open": 1, "per_task": 3}})).await;
    let in_session = |session: &str, command: &str| {
        let mut call = shell(command);
        call["session"] = json!(session);
        call
    };
    for n in 0..3 {
        let id = submit(&world.daemon, &bot, &in_session("one", &format!("git push o{n}"))).await;
        let id = id.1["ask"].as_str().unwrap().to_owned();
        world.daemon.answer(&id, &json!({"decision": "approve"})).await;
    }
    let other = submit(&world.daemon, &bot, &in_session("two", "git push two")).await;
    assert_eq!(other.0, 202, "another task: {other:?}");
    let (_, reply) = submit(&world.daemon, &bot, &in_session("two", "git push three")).await;
    let reason = reply["reason"].as_str().unwrap();
    assert!(reason.contains("more than 1 asks open at once"), "{reason}");
    let card = world.telegram.until("the card", || pauses(&world).pop()).await;
    let kept = world.press(card.id, "Keep it paused").await;
    assert_eq!(kept, "It stays paused. `countersign token resume bot` resumes it.");
    let (_, reply) = submit(&world.daemon, &bot, &in_session("two", "ls")).await;
    assert_eq!(reply["verdict"], "deny");
    let resume = |name: &'static str| {
        let mut command = world.daemon.command(&["token", "resume", name]);
        command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
        command
    };
    let resumed = resume("bot").output().await.unwrap();
    assert_eq!(String::from_utf8(resumed.stdout).unwrap(), "Resumed: bot.\n");
    let again = resume("bot").output().await.unwrap();
    let again = String::from_utf8(again.stderr).unwrap();
    assert!(again.contains("the agent `bot` is not paused"), "{again}");
    // One more is open than it may, and counts no more.
    let (status, _) = submit(&world.daemon, &bot, &in_session("one", "git push four")).await;
    assert_eq!(status, 202);

    // The limit of a task, and a revocation, which ends the pause's card too.
    let (_, reply) = submit(&world.daemon, &bot, &in_session("one", "git push five")).await;
    assert_eq!(reply["verdict"], "deny");
    let card = world.telegram.until("the second card", || pauses(&world).pop()).await;
    assert_eq!(delete(&world.daemon, "/v1/tokens/bot", APPROVER).await.0, 200);
    let over = || Some(world.telegram.message(GROUP, card.id)).filter(|card| card.is_over());
    let over = world.telegram.until("the card says so", over).await;
    assert!(over.text.contains("its token was revoked"), "{}", over.text);
    world.is_clean();
}

#[tokio::test]
async fn a_limit_of_nothing_is_refused_and_the_command_line_sets_all_three() {
    let daemon = Daemon::start("").await;
    for limits in [json!({"max_open": 0}), json!({"per_hour": 3}), json!({"per_task": -1})] {
        let new = json!({"name": "x", "limits": limits});
        let (status, why) = daemon.post("/v1/tokens", APPROVER, &new).await;
        assert_eq!(status, 400, "{why}");
    }
    let mut add = daemon.command(&["token", "add", "bot", "--max-open", "5", "--per-minute", "20"]);
    let add = add.args(["--per-task", "40"]).env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
    assert_eq!(add.output().await.unwrap().status.code(), Some(0));
    let limits = json!({"max_open": 5, "per_minute": 20, "per_task": 40});
    assert_eq!(listed(&daemon).await["limits"], limits);
    let mut list = daemon.command(&["token", "list"]);
    let list = list.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER).output().await.unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("5 open, 20 a minute, 40 a task"), "{list}");
}
