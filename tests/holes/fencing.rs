//! Row 22: a daemon that was frozen past its lease sends nothing when it thaws, acknowledgements
//! included.

use crate::{
    chats,
    daemon::{AGENT, Daemon, LONG, shell},
    discord_server::{FakeDiscord, Person, Posted, Told},
    postgres::Postgres,
    telegram_server::{ANA, GROUP, Telegram},
};
use std::time::{Duration, Instant};

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
        for chat in ["telegram", "discord"] {
            leads(&first, chat).await;
        }
        let second = Daemon::start(&config).await;
        Some(Self { telegram, discord, postgres, first, second })
    }

    /// The first daemon thaws, finds that it does not lead, and ends well: all that it would say is
    /// said.
    async fn thaw_and_end_the_first(&mut self) {
        self.first.signal("CONT");
        self.first.says("not leading any more lease=\"telegram/").await;
        self.first.says("not leading any more lease=\"discord/").await;
        assert!(self.first.stop().await);
    }

    async fn end(self) {
        assert_eq!(self.telegram.violations(), Vec::<String>::new());
        assert_eq!(self.discord.violations(), Vec::<String>::new());
        drop((self.first, self.second));
        self.postgres.drop().await;
    }
}

async fn leads(daemon: &Daemon, chat: &str) {
    let since = Instant::now();
    while daemon.get("/readyz", AGENT).await.1["adapters"][chat]["state"] != "up" {
        assert!(since.elapsed() < LONG + Duration::from_secs(5), "{}", daemon.said());
        tokio::time::sleep(Duration::from_millis(50)).await; // there is no event across processes
    }
}

fn callbacks(discord: &FakeDiscord) -> usize {
    let calls = discord.calls();
    calls.iter().filter(|call| call.contains("/interactions/")).count()
}

#[tokio::test]
async fn row_22_a_press_in_telegram_that_two_daemons_have_is_acknowledged_once() {
    let Some(mut pair) = Pair::new().await else { return };
    let ask = pair.second.ask(&shell("git push origin main")).await;
    let card = pair.telegram.card(GROUP).await;
    pair.first.says("a card stands adapter=\"telegram\"").await;
    pair.first.signal("STOP");
    // The frozen leader's poll is answered with it: it lies in its socket, and is not confirmed.
    let query = pair.telegram.press_only(GROUP, card.id, "Approve", ANA);
    leads(&pair.second, "telegram").await;
    let told = pair.telegram.told(&query).await;
    assert_eq!(told.text, "Approved once.", "the new leader has it too");
    assert_eq!(pair.second.closed(&ask).await["verdict"], "allow");
    pair.thaw_and_end_the_first().await;
    assert_eq!(pair.telegram.calls("answerCallbackQuery").len(), 1);
    assert_eq!(pair.telegram.calls("sendMessage").len(), 1);
    pair.end().await;
}

#[tokio::test]
async fn row_22_a_press_in_discord_that_two_daemons_have_is_acknowledged_once() {
    let Some(mut pair) = Pair::new().await else { return };
    let ask = pair.second.ask(&shell("git push origin main")).await;
    let open = |message: &Posted| !message.is_over();
    let card = pair.discord.until(open).await;
    pair.first.says("a card stands adapter=\"discord\"").await;
    pair.first.signal("STOP");
    leads(&pair.second, "discord").await;
    let ana = Person::new(&ANA.id.to_string(), "Ana");
    // Both are connected: the frozen one hears of it when it thaws.
    let told = pair.discord.press(&card.reference, "Approve", &ana).await;
    assert_eq!(told, Told::Privately("Approved once.".to_owned()));
    assert_eq!(pair.second.closed(&ask).await["verdict"], "allow");
    let answered = callbacks(&pair.discord);
    pair.thaw_and_end_the_first().await;
    assert_eq!(callbacks(&pair.discord), answered, "{:?}", pair.discord.calls());
    pair.end().await;
}

#[tokio::test]
async fn row_22_a_press_in_discord_that_only_the_frozen_daemon_has_is_not_acknowledged_late() {
    let Some(mut pair) = Pair::new().await else { return };
    let ask = pair.second.ask(&shell("git push origin main")).await;
    let open = |message: &Posted| !message.is_over();
    let card = pair.discord.until(open).await;
    pair.first.says("a card stands adapter=\"discord\"").await;
    let ana = Person::new(&ANA.id.to_string(), "Ana");
    pair.first.signal("STOP");
    let unheard = pair.discord.press(&card.reference, "Approve", &ana);
    let unheard = tokio::time::timeout(Duration::from_millis(500), unheard).await;
    assert!(unheard.is_err(), "nobody is there to acknowledge it");
    leads(&pair.second, "discord").await;
    let answered = callbacks(&pair.discord);
    pair.thaw_and_end_the_first().await;
    assert_eq!(callbacks(&pair.discord), answered, "{:?}", pair.discord.calls());
    // It was handled after all, or it is pressed again; the presser is told the truth either
    // way.
    let card = pair.discord.message(&card.reference).unwrap();
    if !card.is_over() {
        let told = pair.discord.press(&card.reference, "Approve", &ana).await;
        assert!(matches!(told, Told::Privately(_)), "{told:?}");
    }
    assert_eq!(pair.second.closed(&ask).await["verdict"], "allow");
    pair.end().await;
}
