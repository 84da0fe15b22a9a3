//! When nobody answers: a reminder in reply to the card, then a further group, then the deadline.

use crate::{
    daemon::{Daemon, shell},
    discord_server::FakeDiscord,
    telegram_server::{ANA, BEN, EVE, GROUP, Message, Telegram},
};
use serde_json::json;

/// Pushes need two of ops, who are Ana and Ben; after a while Eve of leads is asked too.
const RULES: &str = r#"
[[people]]
name = "Ana"
telegram = 4211
discord = "77"
groups = ["ops"]
[[people]]
name = "Ben"
telegram = 4212
groups = ["ops"]
[[people]]
name = "Eve"
telegram = 6666
groups = ["leads"]
[[answer_rules]]
name = "push"
command = "git push *"
group = "ops"
approvals = 2
[[routes]]
name = "push"
command = "git push *"
remind = "1s"
escalate = [{ after = "10s", to = "group:leads" }]
"#;

struct WaitingTeam {
    telegram: Telegram,
    discord: FakeDiscord,
    daemon: Daemon,
}

async fn start() -> WaitingTeam {
    start_with(RULES).await
}

async fn start_with(rules: &str) -> WaitingTeam {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    telegram.say(EVE.id, "hello", EVE);
    let chats = crate::chats::both(&telegram, &discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    let daemon = Daemon::start(&format!("{chats}{rules}")).await;
    discord.until_online().await;
    WaitingTeam { telegram, discord, daemon }
}

impl WaitingTeam {
    /// The reminders in the group.
    fn reminders(&self) -> Vec<Message> {
        let all = self.telegram.messages(GROUP).into_iter();
        all.filter(|it| it.text.starts_with('⏰')).collect()
    }

    async fn reminder(&self) -> Message {
        self.telegram.until("a reminder", || self.reminders().pop()).await
    }
}

#[tokio::test]
async fn those_who_may_answer_are_reminded_once_on_the_card_and_then_others_are_asked_too() {
    let team = start().await;
    let WaitingTeam { telegram, discord, daemon } = &team;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(GROUP).await;
    let reminder = team.reminder().await;
    assert_eq!(reminder.reply_to, Some(card.id));
    assert!(reminder.text.starts_with("⏰ This has waited for an answer for "), "{reminder:?}");
    assert!(reminder.text.ends_with(" left. Ana Ben"), "Eve may not answer yet: {reminder:?}");
    assert_eq!(reminder.buttons, Vec::<Vec<String>>::new(), "there is one card");
    let replied = discord.until(|it| it.text.starts_with('⏰')).await;
    assert!(replied.content.ends_with(" <@77>") && replied.reply_to.is_some(), "{replied:?}");
    let early = telegram.press(GROUP, card.id, "Approve", EVE).await.text;
    assert!(early.starts_with("Only members of ops may answer this."), "{early}");
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, VOTE);

    let asked = telegram.card(EVE.id).await;
    assert!(asked.text.contains("1 of 2 approved (ops or leads): Ana."), "{}", asked.text);
    assert_eq!(telegram.press(EVE.id, asked.id, "Approve", EVE).await.text, "Approved once.");
    let answer = daemon.closed(&id).await["answer"].clone();
    assert_eq!(
        (&answer["decision"], &answer["with"][0]["name"]),
        (&json!("approve"), &json!("Ana"))
    );
    assert_eq!(team.reminders().len(), 1);
    assert_eq!(telegram.violations(), Vec::<String>::new());
    assert_eq!(discord.violations(), Vec::<String>::new());
}

const VOTE: &str = "Your vote counts: 1 of 2 approvals of ops.";

#[tokio::test]
async fn a_daemon_that_was_killed_reminds_once_and_escalates_once() {
    let mut team = start().await;
    team.daemon.ask(&shell("git push origin main")).await;
    team.telegram.card(GROUP).await;
    team.daemon.kill().await;
    team.daemon.run().await;
    team.reminder().await;
    team.daemon.kill().await;
    team.daemon.run().await;
    let asked = team.telegram.card(EVE.id).await;
    assert!(asked.text.contains("0 of 2 approved (ops or leads)."), "{}", asked.text);
    assert_eq!((team.reminders().len(), team.telegram.open_cards(EVE.id).len()), (1, 1));
}

#[tokio::test]
async fn what_was_answered_in_time_reminds_nobody() {
    let team = start_with(&RULES.replace("remind = \"1s\"", "remind = \"5s\"")).await;
    let first = team.daemon.ask(&shell("git push origin one")).await;
    let card = team.telegram.card(GROUP).await;
    assert_eq!(team.telegram.press(GROUP, card.id, "Deny", BEN).await.text, "Denied.");
    assert_eq!(team.daemon.closed(&first).await["answer"]["decision"], "deny");
    // A later request is reminded of: by then the first would have been.
    team.daemon.ask(&shell("git push origin two")).await;
    let second = team.telegram.card(GROUP).await;
    assert_eq!(team.reminder().await.reply_to, Some(second.id));
    assert_eq!(team.reminders().len(), 1);
}
