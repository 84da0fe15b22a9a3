//! Routes: which request goes to whom, and what becomes of it when a target is gone.

use crate::{
    daemon::{Daemon, shell},
    discord_server::{self, FakeDiscord, Person},
    telegram_server::{ANA, BEN, FORUM, GROUP, Telegram},
};
use serde_json::{Value, json};

/// Ana is on both chats, Ben on Telegram alone.
const PEOPLE: &str = r#"
[[people]]
name = "Ana"
telegram = 4211
discord = "77"
groups = ["ops"]
[[people]]
name = "Ben"
telegram = 4212
groups = ["ops"]
"#;

struct RoutedTeam {
    telegram: Telegram,
    discord: FakeDiscord,
    daemon: Daemon,
}

fn config(telegram: &Telegram, discord: &FakeDiscord, routes: &str) -> String {
    let chats = crate::chats::both(telegram, discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    let named = format!(
        "{{ chat = {GROUP}, name = \"room\" }}, {{ chat = {FORUM}, topic = 7, name = \"deploys\" }}"
    );
    let chats = chats.replace(&format!("{{ chat = {GROUP} }}"), &named);
    format!("{chats}{PEOPLE}{routes}")
}

/// Both chats, with Ana and Ben having written to the bot in Telegram.
async fn start(routes: &str) -> RoutedTeam {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    for person in [ANA, BEN] {
        telegram.say(person.id, "hello", person);
    }
    let daemon = Daemon::start(&config(&telegram, &discord, routes)).await;
    discord.until_online().await;
    RoutedTeam { telegram, discord, daemon }
}

impl RoutedTeam {
    /// Where the open ask has a card in Telegram.
    fn chats(&self) -> Vec<i64> {
        let all = [GROUP, FORUM, ANA.id, BEN.id];
        all.into_iter().filter(|chat| !self.telegram.open_cards(*chat).is_empty()).collect()
    }

    async fn answered(&self, id: &str) -> Value {
        self.daemon.closed(id).await["answer"]["decision"].clone()
    }
}

const TO_ANA: &str = r#"
[[routes]]
name = "push"
command = "git push *"
to = ["person:Ana"]
[[routes]]
name = "deploys"
command = "make deploy*"
to = ["deploys"]
"#;

#[tokio::test]
async fn a_request_goes_where_its_route_leads_and_any_other_goes_everywhere() {
    let team = start(TO_ANA).await;
    let RoutedTeam { telegram, discord, daemon } = &team;
    // Ana has it in her direct messages on both chats, and nobody else has.
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(ANA.id).await;
    let direct = discord.until(|it| !it.is_over() && it.reference.starts_with("777/")).await;
    assert_eq!((team.chats(), discord.open_messages().len()), (vec![ANA.id], 1));
    discord.press(&direct.reference, "Approve", &Person::new("77", "Ana")).await;
    assert_eq!(team.answered(&id).await, "approve");
    let over = || telegram.message(ANA.id, card.id).is_over().then_some(());
    telegram.until("the other copy is closed", over).await;

    let id = daemon.ask(&shell("make deploy")).await;
    let card = telegram.card(FORUM).await;
    assert_eq!((card.topic, team.chats()), (Some(7), vec![FORUM]));
    assert_eq!(telegram.press(FORUM, card.id, "Deny", BEN).await.text, "Denied.");
    assert_eq!(team.answered(&id).await, "deny");

    // No route fits.
    daemon.ask(&shell("git push origin two")).await;
    telegram.card(ANA.id).await;
    daemon.ask(&shell("make other")).await;
    telegram.card(GROUP).await;
    telegram.card(FORUM).await;
    discord.until(|it| !it.is_over() && it.text.contains("make other")).await;
    assert_eq!(team.chats(), [GROUP, FORUM, ANA.id]);
    // In the group nobody is told what only Ana sees; in private she is told all.
    let told = async |chat| {
        let asked = telegram.say(chat, "/pending", ANA);
        telegram.answer_to(chat, asked).await
    };
    let in_group = told(GROUP).await;
    assert!(in_group.contains("make other") && !in_group.contains("push"), "{in_group}");
    let alone = told(ANA.id).await;
    assert!(alone.contains("make other") && alone.contains("git push origin two"), "{alone}");
    assert_eq!(telegram.violations(), Vec::<String>::new());
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_restart_shows_a_routed_request_to_nobody_else() {
    let mut team = start(TO_ANA).await;
    let id = team.daemon.ask(&shell("git push origin main")).await;
    team.telegram.card(ANA.id).await;
    team.daemon.kill().await;
    team.daemon.run().await;
    team.daemon.ask(&shell("make other")).await;
    team.telegram.card(GROUP).await;
    assert_eq!(team.telegram.open_cards(GROUP).len(), 1, "the one without a route");
    let card = team.telegram.card(ANA.id).await;
    assert_eq!(team.telegram.press(ANA.id, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(team.answered(&id).await, "approve");
}

#[tokio::test]
async fn a_target_that_is_gone_hands_over_to_the_next_and_the_card_says_so() {
    let team = start(
        "[[routes]]\nname = \"push\"\ncommand = \"git push *\"\nto = [\"deploys\"]\n\
         fallback = [\"person:Ben\", \"person:Ana\"]\n",
    )
    .await;
    let RoutedTeam { telegram, discord, daemon } = &team;
    let kicked = "Forbidden: bot was kicked from the supergroup chat";
    telegram.lose_chat(FORUM, 403, kicked);
    telegram.lose_chat(BEN.id, 403, "Forbidden: bot was blocked by the user");
    let refusal = discord_server::Fault::Refused {
        status: 403,
        code: 50007,
        message: "Cannot send messages to this user".to_owned(),
    };
    discord.fail("POST /users/@me/channels", 99, refusal);
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(ANA.id).await;
    assert!(card.text.contains("Shown here because Ben cannot be reached: "), "{}", card.text);
    assert_eq!(team.chats(), [ANA.id]);
    let events = daemon.read(&id).await;
    assert_eq!(events["state"], "open");
    assert_eq!(telegram.press(ANA.id, card.id, "Approve", ANA).await.text, "Approved once.");
    let doctor = daemon.command(&["doctor", "--json"]).output().await.unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    let failed = checks.iter().any(|it| it["says"].as_str().unwrap().contains(kicked));
    assert!(failed, "{doctor}");
}

#[tokio::test]
async fn when_no_target_of_a_route_is_left_every_target_shows_the_request() {
    let team =
        start("[[routes]]\nname = \"push\"\ncommand = \"git push *\"\nto = [\"person:Ben\"]\n")
            .await;
    team.telegram.lose_chat(BEN.id, 403, "Forbidden: bot was blocked by the user");
    let id = team.daemon.ask(&shell("git push origin main")).await;
    let card = team.telegram.card(GROUP).await;
    assert!(card.text.contains("Shown here because Ben cannot be reached: "), "{}", card.text);
    assert_eq!(team.telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(team.daemon.closed(&id).await["state"], json!("answered"));
}
