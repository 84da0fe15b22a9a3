//! Who leads for Discord: as for Telegram, and apart from it.

use super::{leads_in, state_in, woken};
use crate::{
    chats,
    daemon::{AGENT, Daemon, shell},
    discord_server::{FakeDiscord, Person, Posted, Told},
    postgres::Postgres,
    telegram_server::{ANA, GROUP, Telegram},
};
use std::time::Duration;

/// Both chats, and two daemons that share a store. The first one leads in both.
struct Pair {
    telegram: Telegram,
    discord: FakeDiscord,
    postgres: Postgres,
    first: Daemon,
    second: Daemon,
}

impl Pair {
    async fn new() -> Option<Self> {
        let (postgres, telegram) = (Postgres::fresh().await?, Telegram::start().await);
        let discord = FakeDiscord::start().await;
        let config =
            format!("{}inbox = true\n{}", chats::both(&telegram, &discord), postgres.config());
        let first = Daemon::start(&config).await;
        leads_in(&first, "telegram").await;
        leads_in(&first, "discord").await;
        let second = Daemon::start(&config).await;
        assert_eq!(state_in(&second, "discord").await["state"], "standby");
        Some(Self { telegram, discord, postgres, first, second })
    }

    async fn card(&self) -> Posted {
        self.discord.until(|message| !message.is_over()).await
    }

    async fn card_closes(&self, reference: &str) {
        let closed = |it: &Posted| it.reference == reference && it.is_over();
        self.discord.until(closed).await;
    }

    async fn press(&self, card: &Posted, label: &str) -> Told {
        self.discord.press(&card.reference, label, &Person::new(&ANA.id.to_string(), "Ana")).await
    }

    async fn end(self) {
        assert_eq!(self.discord.violations(), Vec::<String>::new());
        drop((self.first, self.second));
        self.postgres.drop().await;
    }
}

fn privately(words: &str) -> Told {
    Told::Privately(words.to_owned())
}

#[tokio::test]
async fn another_daemon_takes_discord_over_within_20_s_when_the_leader_is_killed() {
    let Some(mut pair) = Pair::new().await else { return };
    let waiting = pair.second.waiting(shell("git push origin main"));
    let card = pair.card().await;
    pair.first.says("a card stands adapter=\"discord\"").await;
    pair.first.kill().await;
    let took = leads_in(&pair.second, "discord").await;
    assert!(took <= Duration::from_secs(20), "{took:?}");
    assert_eq!(state_in(&pair.second, "discord").await["leader"]["epoch"], 2);
    assert_eq!(pair.press(&card, "Approve").await, privately("Approved once."));
    assert_eq!(woken(waiting).await["reason"], "approved by Ana (discord)");
    pair.card_closes(&card.reference).await;
    assert_eq!(pair.discord.messages().len(), 1, "the card was not posted again");
    pair.end().await;
}

#[tokio::test]
async fn a_leader_of_discord_that_is_stopped_hands_over_at_once() {
    let Some(mut pair) = Pair::new().await else { return };
    let id = pair.second.ask(&shell("git push origin main")).await;
    let card = pair.card().await;
    pair.first.says("a card stands adapter=\"discord\"").await;
    assert!(pair.first.stop().await);
    let took = leads_in(&pair.second, "discord").await;
    assert!(took <= Duration::from_secs(5), "{took:?}");
    assert_eq!(pair.press(&card, "Deny").await, privately("Denied."));
    pair.second.ask_reaches(&id, "answered").await;
    pair.card_closes(&card.reference).await;
    assert_eq!(pair.discord.messages().len(), 1, "the card was not posted again");
    pair.end().await;
}

#[tokio::test]
async fn a_leader_of_discord_that_was_frozen_past_its_lease_does_nothing_when_it_thaws() {
    let Some(mut pair) = Pair::new().await else { return };
    pair.first.signal("STOP");
    leads_in(&pair.second, "discord").await;
    let waiting = pair.second.waiting(shell("git push origin main"));
    let card = pair.card().await;
    // Both are connected: the frozen one hears of this press when it thaws.
    assert_eq!(pair.press(&card, "Approve").await, privately("Approved once."));
    assert_eq!(woken(waiting).await["verdict"], "allow");
    pair.card_closes(&card.reference).await;
    pair.first.signal("CONT");
    pair.first.says("not leading any more lease=\"discord/").await;
    assert_eq!(state_in(&pair.first, "discord").await["state"], "standby");
    let waiting = pair.first.waiting(shell("git push origin two"));
    let next = pair.card().await;
    assert_eq!(pair.press(&next, "Deny").await, privately("Denied."));
    assert_eq!(woken(waiting).await["reason"], "denied by Ana (discord)");
    pair.card_closes(&next.reference).await;
    assert_eq!(pair.discord.messages().len(), 2, "nothing was posted twice");
    pair.end().await;
}

#[tokio::test]
async fn a_press_wakes_a_waiter_anywhere_while_each_chat_has_a_leader_of_its_own() {
    let Some(mut pair) = Pair::new().await else { return };
    // The first daemon loses one of its leases; the second, which stands by, has it soon.
    let schema = pair.postgres.schema();
    let lost = "SET until_at = 0, epoch = epoch + 1 WHERE name LIKE 'discord/%'";
    pair.postgres.execute(&format!("UPDATE {schema}.lease {lost}")).await;
    leads_in(&pair.second, "discord").await;
    pair.first.says("not leading any more lease=\"discord/").await;
    let leader = async |chat| state_in(&pair.first, chat).await["leader"]["holder"].clone();
    let name = async |daemon: &Daemon| daemon.get("/readyz", AGENT).await.1["daemon"].clone();
    assert_eq!(leader("telegram").await, name(&pair.first).await);
    assert_eq!(leader("discord").await, name(&pair.second).await);

    let waiting = pair.first.waiting(shell("git push origin main"));
    let card = pair.card().await;
    let shown = || pair.telegram.open_cards(GROUP).pop();
    let there = pair.telegram.until("the card in Telegram", shown).await;
    assert_eq!(pair.press(&card, "Approve").await, privately("Approved once."));
    assert_eq!(woken(waiting).await["reason"], "approved by Ana (discord)");
    let closed = || Some(pair.telegram.message(GROUP, there.id)).filter(|it| it.is_over());
    pair.telegram.until("the closed card in Telegram", closed).await;
    pair.card_closes(&card.reference).await;

    let waiting = pair.second.waiting(shell("git push origin two"));
    let there = pair.telegram.until("the card in Telegram", shown).await;
    let card = pair.card().await;
    assert_eq!(pair.telegram.press(GROUP, there.id, "Deny", ANA).await.text, "Denied.");
    assert_eq!(woken(waiting).await["reason"], "denied by Ana (telegram)");
    pair.card_closes(&card.reference).await;
    let posted = (pair.discord.messages().len(), pair.telegram.calls("sendMessage").len());
    assert_eq!(posted, (2, 2), "nobody posted twice");
    pair.end().await;
}
