//! What people write beside pressing buttons, in both chats: replies to cards, and commands.

use crate::{
    chats::both,
    daemon::{Daemon, shell},
    discord_server::{FakeDiscord, Person, Posted, Told},
    telegram_server::{ANA, EVE, Fault, GROUP, Message, Person as Somebody, Telegram},
};
use serde_json::{Value, json};
use std::time::Duration;

const REASON: &str = "not on a Friday: <b>ask</b> *Ben* first 😀";
const STRANGER: &str = "You may not answer this: you are not on the list of approvers.";

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let daemon = Daemon::start(&both(&telegram, &discord)).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

fn ana() -> Person {
    Person::new(&ANA.id.to_string(), "Ana")
}

fn eve() -> Person {
    Person::new("6666", "Eve")
}

/// The card in Telegram, once the daemon knows where it stands.
async fn on_telegram(telegram: &Telegram, daemon: &mut Daemon) -> Message {
    daemon.says("a card stands adapter=\"telegram\"").await;
    telegram.card(GROUP).await
}

async fn on_discord(discord: &FakeDiscord, daemon: &mut Daemon) -> Posted {
    daemon.says("a card stands adapter=\"discord\"").await;
    discord.until(|message| !message.is_over()).await
}

/// Says it until it is answered: what anybody can make the bot say it says only now and then.
async fn insist(telegram: &Telegram, chat: i64, text: &str, person: Somebody) -> String {
    loop {
        let message = telegram.say(chat, text, person);
        let answer = telegram.answer_to(chat, message);
        if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), answer).await {
            return answer;
        }
    }
}

/// Whose reason it was, word for word.
fn denied(answer: &Value, platform: &str) {
    let reason = format!("denied by Ana ({platform}): {REASON}");
    assert_eq!((&answer["verdict"], &answer["reason"]), (&json!("deny"), &json!(reason)));
    assert_eq!(answer["answer"]["reason"], REASON);
}

#[tokio::test]
async fn a_reply_to_a_card_in_telegram_denies_it_with_those_words_and_the_card_says_so() {
    let (telegram, discord, mut daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = on_telegram(&telegram, &mut daemon).await;
    let stranger = telegram.reply(GROUP, card.id, "looks bad to me", EVE);
    assert_eq!(telegram.answer_to(GROUP, stranger).await, STRANGER);
    let open = daemon.open().await;
    assert_eq!(open.len(), 1, "a stranger's words change nothing");
    let reply = telegram.reply(GROUP, card.id, REASON, ANA);
    denied(&waiting.await.unwrap(), "telegram");
    assert_eq!(telegram.answer_to(GROUP, reply).await, "Denied; the agent reads your words.");
    telegram
        .until("the words on the card", || {
            let text = telegram.message(GROUP, card.id).text;
            text.contains(REASON).then_some(())
        })
        .await;
    discord.until(|message| message.is_over() && message.text.contains("Friday")).await;
    // The same reply once more, as after a crash before it was confirmed.
    telegram.redeliver(GROUP, reply);
    let again = || {
        let said = telegram.messages(GROUP).into_iter().filter(|m| m.reply_to == Some(reply));
        said.map(|m| m.text).find(|text| text.starts_with("Already denied by Ana"))
    };
    telegram.until("the truth about a double reply", again).await;
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_to_a_card_in_discord_denies_it_where_discord_shows_its_text() {
    let (_telegram, discord, mut daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = on_discord(&discord, &mut daemon).await;
    let blind = discord.reply(&card.reference, REASON, &ana(), false).await;
    let said = discord.answer_to(&blind).await;
    assert!(said.starts_with("Discord shows me the text of a reply only when"), "{said}");
    assert_eq!(daemon.open().await.len(), 1);
    let reply = discord.reply(&card.reference, REASON, &ana(), true).await;
    denied(&waiting.await.unwrap(), "discord");
    assert_eq!(discord.answer_to(&reply).await, "Denied; the agent reads your words.");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_strangers_reply_in_discord_changes_nothing_and_is_answered_now_and_then() {
    let (_telegram, discord, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = on_discord(&discord, &mut daemon).await;
    let first = discord.reply(&card.reference, "no", &eve(), true).await;
    assert_eq!(discord.answer_to(&first).await, STRANGER);
    let second = discord.reply(&card.reference, "no!", &eve(), true).await;
    // What comes later is answered, so the second one was passed over.
    let last = discord.reply(&card.reference, "enough", &ana(), true).await;
    discord.answer_to(&last).await;
    let answered =
        |id: &str| discord.messages().iter().any(|it| it.reply_to.as_deref() == Some(id));
    assert!(!answered(&second), "strangers do not make the bot talk as they like");
    assert_eq!(daemon.read(&id).await["answer"]["reason"], "enough");
}

#[tokio::test]
async fn a_reply_to_a_question_answers_it() {
    let (telegram, _discord, mut daemon) = start().await;
    let question = json!({"agent": "tester", "session": "one", "tool": "ask_user", "questions":
        [{"question": "Which database?", "options": [{"label": "SQLite"}]}]});
    let waiting = daemon.waiting(question);
    let card = on_telegram(&telegram, &mut daemon).await;
    telegram.reply(GROUP, card.id, "DuckDB", ANA);
    let answer = waiting.await.unwrap();
    assert_eq!(answer["answer"]["answers"], json!({"Which database?": "DuckDB"}));
}

#[tokio::test]
async fn a_reply_that_came_while_the_daemon_was_dead_counts_once_it_is_back() {
    let (telegram, _discord, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = on_telegram(&telegram, &mut daemon).await;
    daemon.kill().await;
    telegram.reply(GROUP, card.id, REASON, ANA);
    telegram.fail("sendMessage", Fault::RetryAfter(1), 1);
    daemon.run().await;
    denied(&daemon.ask_reaches(&id, "answered").await, "telegram");
}

#[tokio::test]
async fn commands_in_telegram_list_approve_and_deny() {
    let (telegram, _discord, daemon) = start().await;
    telegram
        .until("the list of commands", || {
            telegram.listed_commands().contains(&"pending".to_owned()).then_some(())
        })
        .await;
    let ask = async |text: &str| {
        let message = telegram.say(GROUP, text, ANA);
        telegram.answer_to(GROUP, message).await
    };
    assert_eq!(ask("/pending").await, "Nothing waits.");
    let (push, pull) =
        (daemon.ask(&shell("git push")).await, daemon.ask(&shell("curl https://x.dev")).await);
    let listed = ask("/pending").await;
    assert!(listed.contains(&push) && listed.contains(&pull), "{listed}");
    assert_eq!(ask(&format!("/approve@{} {push}", "countersign_test_bot")).await, "Approved once.");
    assert_eq!(daemon.read(&push).await["verdict"], "allow");
    let said = ask(&format!("/deny {pull} {REASON}")).await;
    assert_eq!(said, "Denied; the agent reads your words.");
    assert_eq!(daemon.read(&pull).await["answer"]["reason"], REASON);
    assert!(ask(&format!("/approve {pull}")).await.starts_with("Already denied by Ana"));
    assert!(ask("/approve zzzz").await.starts_with("There is no ask `zzzz`"));
    let one = daemon.ask(&shell("git tag a")).await;
    let said = ask(&format!("/approve {one} only after lunch")).await;
    assert!(said.starts_with("Nothing is approved: "), "{said}");
    let of_it = || telegram.open_cards(GROUP).into_iter().find(|it| it.text.contains("git tag a"));
    let card = telegram.until("its card", of_it).await.id;
    let reply = async |text: &str| {
        let message = telegram.reply(GROUP, card, text, ANA);
        telegram.answer_to(GROUP, message).await
    };
    // By itself it takes no other id; in a message of several the id is looked up.
    let said = reply(&format!("/approve {push}")).await;
    assert!(said.starts_with("Nothing is approved: ") || said.starts_with("Already"), "{said}");
    assert_eq!(daemon.read(&one).await["state"], "open");
    assert_eq!(reply(&format!("/approve {one}")).await, "Approved once.");
    assert!(ask("/status").await.starts_with("Nothing waits."), "it says how it is");
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_command_is_answered_waits_until_telegram_takes_messages_again() {
    let (telegram, _discord, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    telegram.card(GROUP).await;
    telegram.fail("sendMessage", Fault::RetryAfter(2), 2);
    let first = telegram.say(GROUP, "/pending", ANA);
    let second = telegram.say(GROUP, "/pending", ANA);
    for message in [first, second] {
        let listed = telegram.answer_to(GROUP, message).await;
        assert!(listed.contains(&id), "{listed}");
    }
}

#[tokio::test]
async fn a_critical_ask_takes_a_second_word_that_repeats_what_will_happen() {
    let (telegram, _discord, daemon) = start().await;
    let id = daemon.ask(&shell("sudo rm -rf --no-preserve-root /")).await;
    let first = telegram.say(GROUP, &format!("/approve {id}"), ANA);
    let said = telegram.answer_to(GROUP, first).await;
    assert!(said.starts_with("This is critical: "), "{said}");
    assert!(said.ends_with(&format!("send /approve {id} yes")), "{said}");
    assert_eq!(daemon.read(&id).await["state"], "open");
    let second = telegram.say(GROUP, &format!("/approve {id} yes"), ANA);
    assert_eq!(telegram.answer_to(GROUP, second).await, "Approved once.");
}

#[tokio::test]
async fn strangers_and_other_chats_learn_nothing_by_commands() {
    let (telegram, discord, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let message = telegram.say(GROUP, "/pending", EVE);
    assert_eq!(telegram.answer_to(GROUP, message).await, STRANGER);
    let elsewhere = crate::telegram_server::FORUM;
    let said = insist(&telegram, elsewhere, "/pending", ANA).await;
    assert!(said.starts_with("Commands work where cards are shown"), "{said}");
    let message = telegram.say(ANA.id, "/pending", ANA);
    assert!(telegram.answer_to(ANA.id, message).await.contains(&id), "but alone with the bot");
    let told = discord.command("approve", &[("id", &id)], &eve()).await;
    assert_eq!(told, Told::Privately(STRANGER.to_owned()));
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn commands_in_discord_are_listed_once_and_answered_to_their_writer_alone() {
    let (_telegram, discord, mut daemon) = start().await;
    let listed = || discord.listed_commands();
    while !listed().contains(&"help".to_owned()) {
        discord.changes().changed().await.unwrap();
    }
    let id = daemon.ask(&shell("git push")).await;
    let told = discord.command("pending", &[], &ana()).await.words().unwrap();
    assert!(told.contains(&id), "{told}");
    let told = discord.command("deny", &[("id", &id), ("reason", REASON)], &ana()).await;
    assert_eq!(told, Told::Privately("Denied; the agent reads your words.".to_owned()));
    assert_eq!(daemon.read(&id).await["answer"]["reason"], REASON);
    let made = || {
        let calls = discord.calls().into_iter();
        calls.filter(|call| call.starts_with("POST /applications/")).count()
    };
    let before = made();
    assert!(before > 0);
    daemon.stop().await;
    daemon.run().await;
    let looked = || {
        let calls = discord.calls().into_iter();
        calls
            .filter(|call| call.starts_with("GET /applications/") && call.contains("commands"))
            .count()
    };
    while looked() < 2 {
        discord.changes().changed().await.unwrap();
    }
    discord.command("pending", &[], &ana()).await;
    assert_eq!(made(), before, "what stands there is not made anew");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn words_for_the_bot_that_are_no_command_get_one_line_of_help() {
    let (telegram, _discord, _daemon) = start().await;
    let help = "I understand buttons, replies to cards, and commands: /pending lists open \
                requests, /help lists all.";
    let message = telegram.say(ANA.id, "hello?", ANA);
    assert_eq!(telegram.answer_to(ANA.id, message).await, help);
    assert_eq!(insist(&telegram, GROUP, "hello @countersign_test_bot", EVE).await, help);
}
