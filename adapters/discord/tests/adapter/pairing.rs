//! Pairing codes on their way to the core, and what people are told of a channel.

use crate::discord::{BOT, CHANNEL, FakeDiscord};
use crate::support::{Running, ana, receipt};
use countersign_discord::DiscordPlatform;
use countersign_port::{Outcome, PairingPlace, Platform as _, Presser, Setting, Settings, Target};
use countersign_port_testkit::Received;

fn account(fake: &FakeDiscord) -> Settings {
    Settings::from([
        ("token", Setting::Secret(fake.token().to_owned())),
        ("api_url", Setting::Text(fake.url().to_owned())),
    ])
}

#[tokio::test]
async fn a_code_reaches_the_core_with_who_sent_it_and_where() {
    let fake = FakeDiscord::start().await;
    let noted = |sentence| receipt(Outcome::Noted, sentence, None);
    let mut running = Running::start(&fake, vec![noted("Arrived."), noted("Here too.")]);
    let ana_as_presser = || Presser { id: "4211".into(), name: "Ana".into(), roles: vec![] };
    let sent =
        |token: String| Received { presser: ana_as_presser(), message: None, token, text: None };
    let (said, channel) = fake.write_directly("pair-7xY", &ana()).await;
    assert_eq!(fake.answer_to(&said).await, "Arrived.");
    let there = format!("pair-7xY at {channel} (a direct message)");
    assert_eq!(running.next().await, sent(there));
    let said = fake.mention_bot("pair-7xY", &ana()).await;
    assert_eq!(fake.answer_to(&said).await, "Here too.");
    let there = format!("pair-7xY at {CHANNEL} (the channel {CHANNEL})");
    assert_eq!(running.next().await, sent(there));
    running.stop.cancel();
}

#[tokio::test]
async fn the_guide_invites_the_bot_and_says_who_is_notified() {
    let fake = FakeDiscord::start().await;
    let guide = DiscordPlatform.guide().unwrap();
    let account = account(&fake);
    let invitation = guide.invitation(&account, "pair-7xY", PairingPlace::Group).await.unwrap();
    assert!(invitation.link.contains(&format!("/oauth2/authorize?client_id={BOT}&")));
    assert_eq!(invitation.steps.last().map(String::as_str), Some("pair-7xY"));
    let notes = guide.notes(&account, &Target(CHANNEL.to_owned())).await;
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("New cards mention nobody in a channel."), "{notes:?}");
    let (_, channel) = {
        let running = Running::start(&fake, Vec::new());
        let written = fake.write_directly("hello", &ana()).await;
        running.stop.cancel();
        written
    };
    assert_eq!(guide.notes(&account, &Target(channel)).await, [""; 0]);
}
