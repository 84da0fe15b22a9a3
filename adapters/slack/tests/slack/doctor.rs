//! What `doctor` and `connect` say of an account and a channel.

use crate::slack::{APP_TOKEN, CHANNEL, FakeSlack, TOKEN};
use crate::support::{config, target};
use countersign_port::{CheckError, PairingPlace, Platform, Setting, Settings};
use countersign_slack::{SlackConfig, SlackPlatform, check, check_target};

#[tokio::test]
async fn an_account_that_works_is_named_and_each_token_that_does_not_is_told_apart() {
    let fake = FakeSlack::start().await;
    assert_eq!(check(&config(&fake)).await, Ok("fakebot in Test Team".to_owned()));
    let swapped = SlackConfig { token: APP_TOKEN.into(), app_token: TOKEN.into(), ..config(&fake) };
    let says = "`[slack] token` is not that token: it begins with xoxb-".to_owned();
    assert_eq!(check(&swapped).await, Err(CheckError::WrongToken(says)));
    fake.refuse_app_token();
    let says = "Slack refuses the app token (invalid_auth); put a fresh one under `[slack] \
                app_token`";
    assert_eq!(check(&config(&fake)).await, Err(CheckError::WrongToken(says.to_owned())));
    fake.set_down(true);
    assert!(matches!(check(&config(&fake)).await, Err(CheckError::Unreachable(_))));
}

#[tokio::test]
async fn a_channel_is_named_or_its_fix_is_said() {
    let fake = FakeSlack::start().await;
    assert_eq!(check_target(&config(&fake), &target()).await, Ok("#approvals".to_owned()));
    fake.add_channel("D0000000009", "");
    let direct = countersign_port::Target("D0000000009".to_owned());
    assert_eq!(check_target(&config(&fake), &direct).await, Ok("a direct message".to_owned()));
    fake.invite(CHANNEL, false);
    let gone = check_target(&config(&fake), &target()).await;
    assert!(matches!(gone, Err(CheckError::Other(why)) if why.contains("/invite")));
}

#[tokio::test]
async fn an_invitation_says_where_to_write_the_code() {
    let fake = FakeSlack::start().await;
    let secret = |text: &str| Setting::Secret(text.to_owned());
    let account = Settings::from([
        ("token", secret(TOKEN)),
        ("app_token", secret(APP_TOKEN)),
        ("api_url", Setting::Text(fake.url().to_owned())),
    ]);
    let guide = SlackPlatform.guide().unwrap();
    let alone = guide.invitation(&account, "pair-7x", PairingPlace::Private).await.unwrap();
    assert_eq!(alone.link, "https://slack.com/app_redirect?app=A0000000001&team=T0000000001");
    assert_eq!(alone.steps.last().map(String::as_str), Some("pair-7x"));
    let group = guide.invitation(&account, "pair-7x", PairingPlace::Group).await.unwrap();
    assert_eq!(group.steps[1..], ["/invite @fakebot", "/countersign pair-7x"]);
}
