//! Row 20: two daemons with a store each on one bot, and who presses their cards.

use crate::{
    daemon::{Daemon, LONG, shell},
    discord_server::{CHANNEL, FakeDiscord, Told},
    telegram_server::{ANA, GROUP, Message, TOKEN, Telegram},
    world::ana,
};
use serde_json::{Value, json};
use tokio::time::timeout;

const FOREIGN: &str = "This card belongs to another countersign that uses the same bot, so nothing \
                       changed. Press again; if this comes back, tell the person who runs the bot.";
const UNKNOWN: &str = "This button no longer belongs to anything pending.";
const LOGGED: &str = "a press on a card of another store";
/// How many stores the log names within an hour.
const MOST: usize = 16;

/// A daemon with a store of its own on Telegram's bot.
async fn on_telegram(telegram: &Telegram) -> Daemon {
    let config = format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [approvers]\ntelegram = [{}]\n",
        telegram.url(),
        ANA.id
    );
    Daemon::start(&config).await
}

/// The same on Discord's.
async fn on_discord(discord: &FakeDiscord) -> Daemon {
    let config = format!(
        "[discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \"{CHANNEL}\" }}]\n\
         [approvers]\ndiscord = [\"{}\"]\n",
        discord.token(),
        discord.url(),
        ANA.id
    );
    Daemon::start(&config).await
}

/// Two daemons that are both connected to Discord.
async fn two_on_discord(discord: &FakeDiscord) -> (Daemon, Daemon) {
    let daemons = (on_discord(discord).await, on_discord(discord).await);
    let mut changes = discord.changes();
    while discord.identified() < 2 {
        changes.changed().await.unwrap();
    }
    daemons
}

/// A new ask, and its card in Telegram.
async fn asked(daemon: &Daemon, telegram: &Telegram) -> (String, Message) {
    let ask = daemon.ask(&shell("git push")).await;
    let tail = format!("ask {ask}");
    let look = || telegram.open_cards(GROUP).into_iter().find(|card| card.text.contains(&tail));
    let card = telegram.until("the card", look).await;
    (ask, card)
}

/// A token without the store's id, and that id.
fn parts(token: &str) -> (String, String) {
    let (card, store) = token.rsplit_once('.').unwrap();
    assert_eq!((card.split('.').count(), store.len()), (3, 8), "{token}");
    (card.to_owned(), store.to_owned())
}

async fn press(telegram: &Telegram, card: &Message, data: &str) -> String {
    let query = telegram.press_data(GROUP, card.id, data, ANA);
    telegram.told(&query).await.text
}

fn privately(words: &str) -> Told {
    Told::Privately(words.to_owned())
}

#[tokio::test]
async fn row_20_a_press_that_reaches_the_wrong_daemon_in_telegram_is_told_so() {
    let telegram = Telegram::start().await;
    let mut owner = on_telegram(&telegram).await;
    let (ask, card) = asked(&owner, &telegram).await;
    let approve = telegram.button(GROUP, card.id, "Approve");
    let (old, store) = parts(&approve);

    // Telegram serves one poller; here that is the other daemon.
    owner.stop().await;
    let mut other = on_telegram(&telegram).await;
    for _ in 0..3 {
        assert_eq!(press(&telegram, &card, &approve).await, FOREIGN);
    }
    assert_eq!(press(&telegram, &card, &old).await, UNKNOWN, "a token without a store");
    other.says("docs/team.md").await;
    let said = other.said();
    assert_eq!(said.matches(LOGGED).count(), 1, "{said}");
    assert!(said.contains(&store), "{store}: {said}");

    other.stop().await;
    owner.run().await;
    assert_eq!(press(&telegram, &card, &approve).await, "Approved once.");
    owner.ask_reaches(&ask, "answered").await;
    assert!(!owner.said().contains(LOGGED));
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn row_20_whoever_presses_again_reaches_the_right_one_of_two_pollers() {
    let telegram = Telegram::start().await;
    let mut owner = on_telegram(&telegram).await;
    let (ask, card) = asked(&owner, &telegram).await;
    let approve = telegram.button(GROUP, card.id, "Approve");
    let mut other = on_telegram(&telegram).await;
    // From the start on both say that the bot has another user.
    for daemon in [&mut owner, &mut other] {
        daemon.says("give each countersign a bot of its own").await;
    }
    let reached = timeout(LONG, async {
        loop {
            let told = press(&telegram, &card, &approve).await;
            if told == "Approved once." {
                return;
            }
            assert_eq!(told, FOREIGN);
            // The pollers take turns.
            telegram.next_call("getUpdates").await;
        }
    });
    assert!(reached.await.is_ok(), "{} {}", owner.said(), other.said());
    owner.ask_reaches(&ask, "answered").await;
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn row_20_a_forged_store_grants_nothing_and_fills_no_log() {
    let telegram = Telegram::start().await;
    let daemon = on_telegram(&telegram).await;
    let (ask, card) = asked(&daemon, &telegram).await;
    let (old, store) = parts(&telegram.button(GROUP, card.id, "Approve"));
    let stranger = format!("{}.0.a.{store}", "x".repeat(22));
    assert_eq!(press(&telegram, &card, &stranger).await, UNKNOWN, "our own store, no card of it");
    for bad in ["", "K8XD8S4N", "k8xd8s4", "k8xd8s4nn", "k8xd\ns4n", "k8xd8s4n.x"] {
        assert_eq!(press(&telegram, &card, &format!("{old}.{bad}")).await, UNKNOWN, "{bad:?}");
    }
    for forged in 0..3 * MOST {
        assert_eq!(press(&telegram, &card, &format!("{old}.{forged:08}")).await, FOREIGN);
    }
    assert_eq!(daemon.read(&ask).await["state"], "open");
    let said = daemon.said();
    assert_eq!(said.matches(LOGGED).count(), MOST, "{said}");
    assert_eq!(press(&telegram, &card, &old).await, UNKNOWN, "a token without a store");
    assert_eq!(daemon.read(&ask).await["state"], "open");
}

#[tokio::test]
async fn row_20_in_discord_the_daemon_that_holds_the_card_answers_and_the_other_only_after_it() {
    let discord = FakeDiscord::start().await;
    let (mut owner, mut other) = two_on_discord(&discord).await;
    for words in ["git push one", "git push two", "git push three"] {
        let ask = owner.ask(&shell(words)).await;
        let card = discord.until(|card| !card.is_over()).await;
        assert_eq!(
            discord.press(&card.reference, "Approve", &ana()).await,
            privately("Approved once.")
        );
        owner.ask_reaches(&ask, "answered").await;
        discord.until_all(|card| card.is_over()).await;
    }
    other.says(LOGGED).await;

    // Nobody else answers: the other one does, in time.
    let ask = owner.ask(&shell("git push four")).await;
    let card = discord.until(|card| !card.is_over()).await;
    owner.stop().await;
    assert_eq!(discord.press(&card.reference, "Approve", &ana()).await, privately(FOREIGN));
    owner.run().await;
    assert_eq!(owner.read(&ask).await["state"], "open");
    let said = other.said();
    assert_eq!(said.matches(LOGGED).count(), 1, "{said}");
    assert!(!said.contains("the reply to its presser failed"), "{said}");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn row_20_free_text_in_discord_reaches_the_daemon_that_asked_for_it() {
    let discord = FakeDiscord::start().await;
    let (owner, other) = two_on_discord(&discord).await;
    let question = json!({"agent": "tester", "session": "one", "tool": "ask_user", "args": {},
        "questions": [{"question": "Which branch?", "options": [{"label": "main"}]}]});
    let ask = owner.ask(&question).await;
    let card = discord.until(|card| !card.is_over()).await;
    let window = discord.press(&card.reference, "Other…", &ana()).await;
    assert!(matches!(window, Told::Asked(_)), "{window:?}");
    discord.give_text(&card.reference, "the next one", &ana()).await;
    let closed: Value = owner.ask_reaches(&ask, "answered").await;
    assert!(closed.to_string().contains("the next one"), "{closed}");
    assert!(!other.said().contains("the reply to its presser failed"), "{}", other.said());
    assert_eq!(discord.violations(), Vec::<String>::new());
}
