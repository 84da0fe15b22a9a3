//! What `doctor` and `connect` learn.

use crate::discord::{BOT, CHANNEL, FakeDiscord};
use crate::support::target;
use countersign_discord::{DiscordConfig, check, check_target, invite_url};
use countersign_port::{CheckError, Target};

fn config(fake: &FakeDiscord) -> DiscordConfig {
    DiscordConfig { token: fake.token().to_owned(), api_url: fake.url().to_owned(), mention: None }
}

#[tokio::test]
async fn a_good_token_names_the_bot_and_its_invitation() {
    let fake = FakeDiscord::start().await;
    assert_eq!(check(&config(&fake)).await, Ok("countersign".to_owned()));
    let invite = invite_url(&config(&fake)).await.unwrap();
    let expected = format!(
        "{}/oauth2/authorize?client_id={BOT}&scope=bot%20applications.commands\
         &permissions=274878008320",
        fake.url()
    );
    assert_eq!(invite, expected);
}

#[tokio::test]
async fn a_bad_token_is_said_with_its_mend() {
    let fake = FakeDiscord::start().await;
    let wrong = DiscordConfig { token: "wrong".to_owned(), ..config(&fake) };
    let told = check(&wrong).await.unwrap_err();
    let refused = "Discord refuses the token; put a fresh one under `[discord] token`".to_owned();
    assert_eq!(told, CheckError::WrongToken(refused));
}

#[tokio::test]
async fn a_channel_is_named_or_its_trouble_is() {
    let fake = FakeDiscord::start().await;
    assert_eq!(check_target(&config(&fake), &target()).await, Ok("#approvals".to_owned()));
    fake.take_channel(CHANNEL, 50001);
    let told = check_target(&config(&fake), &target()).await.unwrap_err().to_string();
    assert!(told.starts_with(&format!("Discord channel {CHANNEL}: the bot cannot see it")));
    let wrong = Target("general".to_owned());
    let told = check_target(&config(&fake), &wrong).await.unwrap_err().to_string();
    assert!(told.contains("Copy Channel ID"), "{told}");
}

#[tokio::test]
async fn permissions_that_the_bot_lacks_are_named() {
    let fake = FakeDiscord::start().await;
    fake.give_everyone(1 << 10 | 1 << 16);
    let told = check_target(&config(&fake), &target()).await.unwrap_err().to_string();
    assert!(told.contains("Send Messages") && told.contains("Attach Files"), "{told}");
}
