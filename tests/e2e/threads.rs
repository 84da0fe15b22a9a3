//! A thread or topic for each session, with the real binary on every platform.

mod chat;

use crate::{
    daemon::{self, Daemon},
    discord_server::FakeDiscord,
    telegram_server::{ANA, FORUM, GROUP, TOKEN, Telegram},
};
use chat::{ThreadCard, ThreadChat};
use serde_json::{Value, json};

const AGENT: &str = "ClaudeCode";
const HOSTILE: &str = "<b>@everyone</b> [x](http://x.example) <!channel> *&*";

async fn start(chat: &ThreadChat, per_session: &str) -> Daemon {
    Daemon::start(&chat.config(per_session)).await
}

fn call(session: &str, command: &str) -> Value {
    json!({"agent": AGENT, "session": session, "cwd": "/home/ana/shop", "tool": "shell_exec",
        "args": {"command": command}})
}

async fn end(daemon: &Daemon, session: &str) {
    let path = format!("/v1/sessions/{session}/end");
    let (status, body) = daemon.post(&path, daemon::AGENT, &json!({"agent": AGENT})).await;
    assert_eq!(status, 200, "{body}");
}

fn place(card: &ThreadCard) -> &str {
    card.thread.as_deref().unwrap_or_else(|| panic!("in no thread: {card:?}"))
}

/// Two sessions have a thread each; one ends, and goes on.
async fn by_session(chat: ThreadChat) {
    let daemon = start(&chat, "true").await;
    let first = daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    daemon.ask(&call("s-two", "make two")).await;
    let two = chat.card("make two").await;
    daemon.ask(&call("s-one", "make again")).await;
    let again = chat.card("make again").await;
    assert_eq!((place(&one), place(&one) == place(&two)), (place(&again), false));
    let names: Vec<_> = chat.threads().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["ClaudeCode · shop · s-one", "ClaudeCode · shop · s-two"]);

    chat.press(&one, "Approve").await;
    assert_eq!(daemon.closed(&first).await["answer"]["decision"], "approve");
    let gone = || chat.cards().iter().all(|it| it.message != one.message).then_some(());
    chat.until("the card is closed", gone).await;

    // The end of a session closes its thread, and what comes then opens it again.
    end(&daemon, "s-one").await;
    let state = || chat.threads().iter().map(|it| it.open).collect::<Vec<_>>();
    chat.until("the thread is closed", || (state() == [false, true]).then_some(())).await;
    daemon.ask(&call("s-one", "make later")).await;
    assert_eq!(place(&chat.card("make later").await), place(&one));
    assert_eq!(state(), [true, true]);
    chat.is_clean();
}

/// The daemon is killed; the thread stays the session's.
async fn after_a_kill(chat: ThreadChat) {
    let mut daemon = start(&chat, "true").await;
    let id = daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    daemon.kill().await;
    daemon.run().await;
    daemon.ask(&call("s-one", "make two")).await;
    let two = chat.card("make two").await;
    assert_eq!((place(&two), chat.threads().len()), (place(&one), 1));
    chat.press(&one, "Deny").await;
    assert_eq!(daemon.closed(&id).await["answer"]["decision"], "deny");
    chat.is_clean();
}

/// The platform makes a thread and its answer is lost: there is one, and the card is somewhere.
async fn one_thread_for_a_lost_answer(chat: ThreadChat) {
    let daemon = start(&chat, "true").await;
    chat.lose_the_answer();
    let id = daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    daemon.ask(&call("s-one", "make two")).await;
    let two = chat.card("make two").await;
    assert_eq!((chat.threads().len(), &one.thread), (1, &two.thread));
    match &chat {
        // It lists no topics, so whether there is one cannot be found out.
        ThreadChat::Telegram(_) => {
            assert_eq!(one.thread, None);
            let status = daemon.until("/readyz", |it| it["notes"].is_array()).await;
            let note = status["notes"][0].as_str().unwrap();
            assert!(note.contains("did not say whether it made the topic"), "{note}");
        }
        _ => assert_eq!(place(&one), chat.threads()[0].place),
    }
    chat.press(&one, "Approve").await;
    assert_eq!(daemon.closed(&id).await["answer"]["decision"], "approve");
    chat.is_clean();
}

/// A person deletes a thread: what waited in it is in a new one.
async fn a_deleted_thread(chat: ThreadChat) {
    let daemon = start(&chat, "true").await;
    let id = daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    let thread = chat.threads().remove(0);
    chat.delete(&thread);
    daemon.ask(&call("s-one", "make two")).await;
    let two = chat.card("make two").await;
    let again = chat.card("make one").await;
    assert_eq!((place(&again), place(&two) == place(&one)), (place(&two), false));
    // Slack takes a message a second, so both may have come in one.
    let (label, decision) =
        if again.text == two.text { ("Deny all 2", "deny") } else { ("Approve", "approve") };
    chat.press(&again, label).await;
    assert_eq!(daemon.closed(&id).await["answer"]["decision"], decision);
    assert_eq!(chat.threads().len(), 1);
    chat.is_clean();
}

/// Names that agents choose are shown literally, and cut.
async fn hostile_names(chat: ThreadChat) {
    let daemon = start(&chat, "true").await;
    let long = "x".repeat(100);
    for (session, cwd) in [("s-one", format!("/home/{HOSTILE}")), ("s-two", format!("/{long}"))] {
        let mut call = call(session, &format!("make {session}"));
        call["cwd"] = cwd.replace("http://", "http:").into();
        daemon.ask(&call).await;
        assert!(chat.card(&format!("make {session}")).await.thread.is_some());
    }
    assert_eq!(chat.threads().len(), 2);
    assert!(chat.threads().iter().all(|it| it.name.chars().count() <= 100), "cut");
    chat.is_clean();
}

/// Many requests of one session share messages in its thread.
async fn a_flood(chat: ThreadChat) {
    let daemon = start(&chat, "true").await;
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(daemon.ask(&call("s-one", &format!("make build-{n}"))).await);
    }
    let all = || {
        let cards = chat.cards();
        let inside = cards.iter().all(|it| it.thread.is_some());
        let shown = |n: usize| {
            let listed = cards.iter().any(|it| it.text.contains("build-N"));
            listed || cards.iter().any(|it| it.text.contains(&format!("build-{n}")))
        };
        (inside && !cards.is_empty() && (0..12).all(shown)).then_some(cards.len())
    };
    let messages = chat.until("every request in the thread", all).await;
    assert!(messages < 12, "{messages} messages");
    assert_eq!(chat.threads().len(), 1);
    chat.is_clean();
}

macro_rules! on_every_platform {
    ($($name:ident: $test:ident,)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn telegram() {
                $test(ThreadChat::telegram().await).await;
            }

            #[tokio::test]
            async fn discord() {
                $test(ThreadChat::discord().await).await;
            }

            #[tokio::test]
            async fn slack() {
                $test(ThreadChat::slack().await).await;
            }
        }
    )*};
}

on_every_platform! {
    each_session_has_a_thread_that_is_closed_with_it_and_opened_again: by_session,
    a_killed_daemon_knows_the_thread_of_a_session: after_a_kill,
    a_lost_answer_leaves_one_thread: one_thread_for_a_lost_answer,
    a_deleted_thread_is_made_anew_with_what_waited_in_it: a_deleted_thread,
    names_of_agents_are_literal_and_cut: hostile_names,
    a_flood_of_one_session_shares_messages_in_its_thread: a_flood,
}

#[tokio::test]
async fn whether_to_resume_an_agent_is_asked_at_the_target_itself() {
    let chat = ThreadChat::telegram().await;
    let config = chat.config("true").replace("[approvers]\n", "[approvers]\ninbox = true\n");
    let daemon = Daemon::start(&config).await;
    let new = json!({"name": "bot", "limits": {"per_minute": 1}});
    let (status, made) = daemon.post("/v1/tokens", daemon::APPROVER, &new).await;
    assert_eq!(status, 200, "{made}");
    let bot = made["token"].as_str().unwrap();
    for (verdict, command) in [("ask", "make one"), ("deny", "make two")] {
        let (_, reply) = daemon.post("/v1/calls", bot, &call("s-one", command)).await;
        assert_eq!(reply["verdict"], verdict, "{reply}");
    }
    let asked = chat.card("bot is paused: ").await;
    assert_eq!((asked.thread, chat.card("make one").await.thread.is_some()), (None, true));
    assert_eq!(chat.threads().len(), 1);
    chat.is_clean();
}

#[tokio::test]
async fn a_thread_that_rests_is_closed_and_one_in_which_something_waits_is_not() {
    let chat = ThreadChat::telegram().await;
    let daemon = start(&chat, "\"1s\"").await;
    daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    chat.press(&one, "Approve").await;
    daemon.ask(&call("s-two", "make two")).await;
    chat.card("make two").await;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    daemon.ask(&call("s-three", "make three")).await;
    let state = || chat.threads().iter().map(|it| it.open).collect::<Vec<_>>();
    chat.until("the one is closed", || (state() == [false, true, true]).then_some(())).await;
    chat.is_clean();
}

#[tokio::test]
async fn without_the_right_to_manage_topics_cards_go_to_the_group_and_doctor_and_status_say_so() {
    let telegram = Telegram::start().await;
    telegram.let_manage_topics(false);
    let chat = ThreadChat::Telegram(telegram);
    let ThreadChat::Telegram(telegram) = &chat else { panic!("another chat") };
    let daemon = start(&chat, "true").await;
    daemon.ask(&call("s-one", "make one")).await;
    assert_eq!(chat.card("make one").await.thread, None);
    let status = daemon.until("/readyz", |it| it["notes"].is_array()).await;
    let note = status["notes"][0].as_str().unwrap();
    assert!(note.contains("does not accept topics: switch Topics on"), "{note}");
    assert_eq!(status["problems"], json!([]), "{status}");
    let doctor = daemon.command(&["doctor", "--json"]).output().await.unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let says = |it: &Value| it["says"].as_str().unwrap().contains("may not make topics");
    assert!(doctor["checks"].as_array().unwrap().iter().any(says), "{doctor}");

    // Given the right, it makes topics at once.
    telegram.let_manage_topics(true);
    telegram.until("the update is read", || (telegram.unconfirmed() == 0).then_some(())).await;
    daemon.ask(&call("s-two", "make two")).await;
    assert!(chat.card("make two").await.thread.is_some());
    chat.is_clean();
}

#[tokio::test]
async fn a_group_without_topics_and_a_channel_without_the_right_keep_their_cards() {
    let telegram = Telegram::start().await;
    let config = format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\n\
         targets = [{{ chat = {GROUP}, per_session = true }}]\n[approvers]\ntelegram = [{}]\n",
        telegram.url(),
        ANA.id
    );
    let daemon = Daemon::start(&config).await;
    daemon.ask(&call("s-one", "make one")).await;
    assert_eq!(telegram.card(GROUP).await.topic, None);
    assert_eq!(telegram.violations(), Vec::<String>::new());

    let discord = FakeDiscord::start().await;
    discord.let_make_threads(false);
    let chat = ThreadChat::Discord(discord);
    let daemon = start(&chat, "true").await;
    daemon.ask(&call("s-one", "make one")).await;
    assert_eq!(chat.card("make one").await.thread, None);
    let ThreadChat::Discord(discord) = &chat else { panic!("another chat") };
    assert_eq!(discord.messages().len(), 1, "the message of the thread is deleted again");
    let doctor = daemon.command(&["doctor", "--json"]).output().await.unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let says = |it: &Value| it["says"].as_str().unwrap().contains("Create Public Threads");
    assert!(doctor["checks"].as_array().unwrap().iter().any(says), "{doctor}");
    chat.is_clean();
}

#[tokio::test]
async fn a_locked_thread_is_left_and_commands_in_a_thread_are_answered() {
    let chat = ThreadChat::discord().await;
    let daemon = start(&chat, "true").await;
    daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    let ThreadChat::Discord(discord) = &chat else { panic!("another chat") };
    discord.archive(place(&one), true);
    daemon.ask(&call("s-one", "make two")).await;
    let two = chat.card("make two").await;
    assert_ne!(place(&one), place(&two));

    let chat = ThreadChat::telegram().await;
    let daemon = start(&chat, "true").await;
    daemon.ask(&call("s-one", "make one")).await;
    let one = chat.card("make one").await;
    let ThreadChat::Telegram(telegram) = &chat else { panic!("another chat") };
    let asked = telegram.reply(FORUM, one.message.parse().unwrap(), "/pending", ANA);
    let said = telegram.answer_to(FORUM, asked).await;
    assert!(said.contains("make one"), "{said}");
    chat.is_clean();
}

#[tokio::test]
async fn a_place_that_cannot_have_threads_is_a_mistake_of_the_config() {
    let daemon = |toml: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countersign.toml");
        std::fs::write(&path, toml).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(["doctor", "--config", path.to_str().unwrap()])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let said = daemon(
        "[telegram]\ntoken = \"7:x\"\n\
         targets = [{ chat = -1001, topic = 7, per_session = true }]\n",
    );
    assert!(said.contains("a topic has no topics of its own; leave `topic` out"), "{said}");
}
