//! Row 18: a chat that throws the bot out and takes it back, and what was asked meanwhile.

use crate::{
    daemon::shell,
    discord_server::CHANNEL,
    process::run,
    telegram_server::{GROUP, Message},
    world::World,
};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// A target that refused rests for 30 s at most.
const LONG: Duration = Duration::from_secs(50);

const KICKED: &str = "Forbidden: bot was kicked from the supergroup chat";
const NO_RIGHTS: &str = "Bad Request: not enough rights to send text messages to the chat";

fn card_of(cards: Vec<Message>, ask: &str) -> Option<Message> {
    let tail = format!("ask {ask}");
    cards.into_iter().find(|card| card.text.contains(&tail))
}

#[tokio::test]
async fn row_18_what_was_asked_while_the_bot_was_out_gets_its_card_when_it_is_back() {
    let mut world = World::start("").await;
    for (code, said) in [(403, KICKED), (400, NO_RIGHTS)] {
        world.telegram.lose_chat(GROUP, code, said);
        let first = world.daemon.ask(&shell("git push origin first")).await;
        let second = world.daemon.ask(&shell("git push origin second")).await;
        world.daemon.says(&format!("why=\"Telegram chat {GROUP}: {said}\"")).await;
        world.telegram.regain_chat(GROUP);
        for ask in [&first, &second] {
            let look = || card_of(world.telegram.open_cards(GROUP), ask);
            let card = world.telegram.until("the card of what was asked meanwhile", look).await;
            assert_eq!(world.press(card.id, "Approve").await, "Approved once.");
            world.daemon.ask_reaches(ask, "answered").await;
        }
    }
    world.is_clean();
}

#[tokio::test]
async fn row_18_what_was_answered_while_the_bot_was_out_is_not_posted_and_what_stood_is_closed() {
    let world = World::start("").await;
    let stood = world.daemon.ask(&shell("git push origin stood")).await;
    let look = || card_of(world.telegram.open_cards(GROUP), &stood);
    world.telegram.until("a card", look).await;
    world.telegram.lose_chat(GROUP, 403, KICKED);
    let meanwhile = world.daemon.ask(&shell("git push origin meanwhile")).await;
    for ask in [&stood, &meanwhile] {
        world.daemon.answer(ask, &serde_json::json!({"decision": "deny"})).await;
    }
    // Tried at least once more.
    world.telegram.next_call("editMessageText").await;
    world.telegram.regain_chat(GROUP);
    let closed = || {
        let card = card_of(world.telegram.messages(GROUP), &stood)?;
        (card.is_over() && card.text.contains("denied by")).then_some(())
    };
    world.telegram.until("the card that stood is closed", closed).await;
    assert!(card_of(world.telegram.messages(GROUP), &meanwhile).is_none());
    world.is_clean();
}

#[tokio::test]
async fn row_18_a_channel_that_lost_and_regained_its_rights_gets_its_cards_and_the_doctor_tells() {
    let world = World::start("").await;
    let doctor = async || {
        let ended = run(&world.daemon, &["doctor", "--json"]).await;
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let says = |it: &Value| format!("{} {}", it["state"], it["says"]);
        let of_discord = checks.iter().filter(|it| it["check"] == "discord");
        of_discord.map(says).collect::<Vec<_>>().join("\n")
    };
    assert!(doctor().await.contains("cards reach #approvals"));
    world.discord.take_channel(CHANNEL, 50013);
    let says = doctor().await;
    assert!(!says.contains("cards reach") && says.contains("may not write there"), "{says}");
    world.daemon.ask(&shell("git push")).await;
    let tried = || world.discord.calls().iter().any(|call| call.contains("messages 403"));
    let mut changes = world.discord.changes();
    timeout(LONG, async {
        while !tried() {
            changes.changed().await.unwrap();
        }
    })
    .await
    .unwrap();
    world.discord.give_channel(CHANNEL);
    timeout(LONG, world.discord.until(|card| !card.is_over())).await.unwrap();
    assert!(doctor().await.contains("cards reach #approvals"));
}
