//! Messages that do not hold their sender's own words, written now.

use crate::{
    daemon::shell,
    telegram_server::{ANA, BEN, GROUP, Person},
    world::{World, ana},
};
use serde_json::{Value, json};

fn origin(of: Person) -> Value {
    json!({"type": "user", "date": 1_795_000_000, "sender_user":
        {"id": of.id, "is_bot": false, "first_name": of.name}})
}

/// What Telegram adds to a message that is more than its sender's words, and what the bot says.
fn marks() -> Vec<(Value, &'static str)> {
    let bot = json!({"id": 99, "is_bot": true, "first_name": "inline", "username": "inline_bot"});
    let chat = json!({"id": -7, "type": "channel", "title": "News"});
    let forwarded = "This is a forwarded message, so nothing changed. Write it yourself.";
    let sent = "This was sent for you, so nothing changed. Write it yourself.";
    let quoted = "This quotes something, so nothing changed. Write it again without the quote.";
    vec![
        (json!({"forward_origin": origin(BEN)}), forwarded),
        (
            json!({"forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "Ana"}}),
            forwarded,
        ),
        (
            json!({"forward_from": {"id": BEN.id, "is_bot": false, "first_name": "Ben"},
                "forward_date": 1_795_000_000}),
            forwarded,
        ),
        (json!({"via_bot": bot}), sent),
        (json!({"external_reply": {"origin": origin(BEN), "chat": chat}}), quoted),
        (json!({"quote": {"text": "/approve", "position": 0}}), quoted),
        (
            json!({"edit_date": 1_795_000_100}),
            "This was edited, so nothing changed. Write it anew.",
        ),
        (
            json!({"sender_chat": {"id": GROUP, "type": "supergroup", "title": "Team"}}),
            "This cannot be attributed to a person: write under your own name, not as the group or \
             a channel.",
        ),
    ]
}

#[tokio::test]
async fn nothing_that_is_forwarded_quoted_or_sent_for_ana_answers_for_her() {
    let world = World::start("").await;
    let (ask, shown) = world.asked(&shell("sudo rm -rf --no-preserve-root /")).await;
    let telegram = &world.telegram;
    let own = telegram.say(GROUP, &format!("/approve {ask}"), ANA);
    assert!(telegram.answer_to(GROUP, own).await.starts_with("This is critical: "));
    // The bot says it once in 5 s to each chat; the first is answered.
    let (forwarded, says) = marks().swap_remove(0);
    let text = format!("/approve {ask} yes");
    let message = telegram.say_with(GROUP, None, &text, ANA, &forwarded);
    assert_eq!(telegram.answer_to(GROUP, message).await, says);
    let mut sent = Vec::new();
    for (more, _) in marks() {
        for text in [&*text, &format!("/deny {ask}"), "/pause", "no, do not"] {
            for (chat, to) in [(GROUP, None), (GROUP, Some(shown.message)), (ANA.id, None)] {
                sent.push((chat, telegram.say_with(chat, to, text, ANA, &more)));
            }
        }
    }
    let edited = telegram.say(GROUP, "hello", ANA);
    telegram.edit(GROUP, edited, &text);
    // Updates are handled in order, so all of these were.
    let own = telegram.say(ANA.id, "/pending", ANA);
    assert!(telegram.answer_to(ANA.id, own).await.contains(&ask));
    assert_eq!(world.daemon.read(&ask).await["state"], "open");
    let all: Vec<&str> = marks().into_iter().map(|(_, says)| says).collect();
    for (chat, message) in sent {
        let answers = telegram.messages(chat).into_iter().filter(|it| it.reply_to == Some(message));
        let answers: Vec<String> = answers.map(|it| it.text).collect();
        assert!(answers.iter().all(|says| all.contains(&&**says)), "{answers:?}");
    }
    let own = telegram.say(GROUP, &text, ANA);
    assert_eq!(telegram.answer_to(GROUP, own).await, "Approved once.");
    world.is_clean();
}

#[tokio::test]
async fn what_is_forwarded_as_the_reply_to_a_prompt_is_no_reason() {
    let world = World::start("").await;
    let (ask, shown) = world.asked(&shell("git push origin main")).await;
    let telegram = &world.telegram;
    telegram.press(GROUP, shown.message, "Deny with reason", ANA).await;
    let prompt = telegram.until("a prompt", || telegram.prompt(GROUP)).await;
    let (forwarded, says) = marks().swap_remove(0);
    let reply = telegram.say_with(GROUP, Some(prompt.id), "use main", ANA, &forwarded);
    assert_eq!(telegram.answer_to(GROUP, reply).await, says);
    assert_eq!(world.daemon.read(&ask).await["state"], "open");
    assert!(telegram.give_text(GROUP, "not today", ANA).await.starts_with("Denied"));
    assert_eq!(world.daemon.read(&ask).await["answer"]["reason"], "not today");
}

#[tokio::test]
async fn a_forwarded_message_in_discord_answers_nothing() {
    let world = World::start("").await;
    let (ask, shown) = world.asked(&shell("git push origin main")).await;
    let forward = json!({"message_reference": {"type": 1, "message_id": "1", "channel_id": "2"}});
    let app = json!({"application_id": "800000000000000001"});
    let edited = json!({"edited_timestamp": "2026-11-24T12:00:00.000000+00:00"});
    let text = format!("@countersign /approve {ask}");
    let first = world.discord.reply_with(&shown.reference, &text, &ana(), &forward).await;
    let says = "This is a forwarded message, so nothing changed. Write it yourself.";
    assert_eq!(world.discord.answer_to(&first).await, says);
    for more in [app, edited] {
        world.discord.reply_with(&shown.reference, &text, &ana(), &more).await;
    }
    let own = world.discord.reply(&shown.reference, "not today", &ana(), true).await;
    let said = world.discord.answer_to(&own).await;
    assert!(said.starts_with("Denied"), "{said}");
    assert_eq!(world.daemon.read(&ask).await["answer"]["reason"], "not today");
}
