//! The same scenarios on every chat platform: crash, votes, edit, menu and undo.

use crate::{
    daemon::{Daemon, shell},
    discord_server::{self, Person},
    floods::chat::GroupChat,
    slack_server,
    telegram_server::{ANA, BEN, GROUP},
};
use serde_json::{Value, json};

const RULE: &str = "[[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\ngroup = \"ops\"\n\
                    approvals = 2\n";

const REVIEWS: &str = "[[reviews]]\none_in = 1\n";
const ALLOWS: &str = r#"{"*": "ask", "shell_exec": {"make *": "allow"}}"#;

/// Somebody in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Ana,
    Ben,
}

/// A message with buttons.
#[derive(Debug, Clone)]
struct Shown {
    place: String,
    text: String,
    labels: Vec<String>,
}

/// A chat and a daemon in it.
struct Stage {
    chat: GroupChat,
    daemon: Daemon,
}

/// The config of a chat in which these people are `ops`.
fn team(chat: &GroupChat, names: &[&str]) -> String {
    let config = chat.config();
    let (section, _) = config.split_once("[approvers]").unwrap();
    let person = |name: &&str| {
        let id = if *name == "Ana" { ANA.id } else { BEN.id };
        let known = match chat {
            GroupChat::Telegram(_) => format!("telegram = {id}"),
            GroupChat::Discord(_) => format!("discord = \"{id}\""),
            GroupChat::Slack(_) => format!("slack = \"{}/U000000{id}\"", slack_server::TEAM),
        };
        format!("[[people]]\nname = \"{name}\"\n{known}\ngroups = [\"ops\"]\n")
    };
    format!("{section}{}", names.iter().map(person).collect::<String>())
}

impl Stage {
    async fn start(chat: GroupChat) -> Self {
        let daemon = Daemon::start(&chat.config()).await;
        Self::online(&chat).await;
        Self { chat, daemon }
    }

    /// One in which two people of `ops` have to agree to pushes.
    async fn with_two(chat: GroupChat) -> Self {
        let both = team(&chat, &["Ana", "Ben"]);
        let daemon = Daemon::start(&format!("{both}{RULE}")).await;
        Self::online(&chat).await;
        Self { chat, daemon }
    }

    async fn online(chat: &GroupChat) {
        match chat {
            GroupChat::Telegram(_) => {}
            GroupChat::Discord(chat) => chat.until_online().await,
            GroupChat::Slack(chat) => chat.until_online().await,
        }
    }

    /// Waits until the daemon knows where its last card is.
    async fn noted(&mut self) {
        let name = match &self.chat {
            GroupChat::Telegram(_) => "telegram",
            GroupChat::Discord(_) => "discord",
            GroupChat::Slack(_) => "slack",
        };
        self.daemon.says(&format!("a card stands adapter=\"{name}\"")).await;
    }

    async fn restart(&mut self) {
        // A press that is not confirmed yet is delivered again, and answered again.
        if let GroupChat::Telegram(chat) = &self.chat {
            chat.until("the press is confirmed", || (chat.unconfirmed() == 0).then_some(())).await;
        }
        self.daemon.kill().await;
        self.daemon.run().await;
        Self::online(&self.chat).await;
    }

    /// All messages of the bot, with or without buttons.
    fn all(&self) -> Vec<Shown> {
        match &self.chat {
            GroupChat::Telegram(chat) => {
                let shown = |it: crate::telegram_server::Message| Shown {
                    place: it.id.to_string(),
                    text: it.text,
                    labels: it.buttons.concat(),
                };
                chat.messages(GROUP).into_iter().map(shown).collect()
            }
            GroupChat::Discord(chat) => {
                let shown = |it: discord_server::Posted| Shown {
                    place: it.reference,
                    text: it.text,
                    labels: it.buttons,
                };
                chat.messages().into_iter().map(shown).collect()
            }
            GroupChat::Slack(chat) => {
                let shown = |it: slack_server::Posted| Shown {
                    place: it.reference,
                    text: it.text,
                    labels: it.buttons,
                };
                chat.messages().into_iter().map(shown).collect()
            }
        }
    }

    /// Waits for the message with this text and a button that begins like this.
    async fn with_button(&self, text: &str, label: &str) -> Shown {
        let fits = |it: &Shown| {
            it.text.contains(text) && it.labels.iter().any(|own| own.starts_with(label))
        };
        self.chat.until(label, || self.all().into_iter().find(fits)).await
    }

    /// Waits until this message says this.
    async fn says(&self, place: &str, text: &str) {
        let says = |it: &Shown| it.place == place && it.text.contains(text);
        self.chat.until(text, || self.all().into_iter().find(says)).await;
    }

    async fn press(&self, shown: &Shown, label: &str, who: Who) -> String {
        let (id, name) = match who {
            Who::Ana => (ANA.id, "Ana"),
            Who::Ben => (BEN.id, "Ben"),
        };
        match &self.chat {
            GroupChat::Telegram(chat) => {
                let person = if who == Who::Ana { ANA } else { BEN };
                chat.press(GROUP, shown.place.parse().unwrap(), label, person).await.text
            }
            GroupChat::Discord(chat) => {
                let person = Person::new(&id.to_string(), name);
                chat.press(&shown.place, label, &person).await.words().unwrap_or_default()
            }
            GroupChat::Slack(chat) => {
                let person = slack_server::Person::new(&format!("U000000{id}"), name);
                chat.press(&shown.place, label, &person).await.words().unwrap_or_default()
            }
        }
    }

    /// Ana replies to a card, and reads the answer.
    async fn reply(&self, shown: &Shown, text: &str) -> String {
        match &self.chat {
            GroupChat::Telegram(chat) => {
                let asked = chat.reply(GROUP, shown.place.parse().unwrap(), text, ANA);
                chat.answer_to(GROUP, asked).await
            }
            GroupChat::Discord(chat) => {
                let ana = Person::new(&ANA.id.to_string(), "Ana");
                let asked = chat.reply(&shown.place, text, &ana, true).await;
                chat.answer_to(&asked).await
            }
            GroupChat::Slack(chat) => {
                let told = chat.reply(&shown.place, text, &crate::slack::ana()).await;
                told.words().unwrap_or_default()
            }
        }
    }

    async fn decision(&self, id: &str) -> Value {
        self.daemon.closed(id).await["answer"]["decision"].clone()
    }
}

/// A card of a daemon that was killed is answered at the next one, once.
async fn killed(chat: GroupChat) {
    let mut stage = Stage::start(chat).await;
    let id = stage.daemon.ask(&shell("make one")).await;
    let card = stage.with_button("make one", "Approve").await;
    stage.noted().await;
    stage.restart().await;
    assert_eq!(stage.press(&card, "Approve", Who::Ana).await, "Approved once.");
    assert_eq!(stage.decision(&id).await, "approve");
    stage.says(&card.place, "Ana").await;
    assert_eq!(stage.all().len(), 1, "one card");
    // Killed again, the closed card stays closed.
    stage.restart().await;
    let second = stage.daemon.ask(&shell("make two")).await;
    let card = stage.with_button("make two", "Approve").await;
    stage.press(&card, "Deny", Who::Ana).await;
    assert_eq!(stage.decision(&second).await, "deny");
    assert_eq!(stage.all().len(), 2);
    stage.chat.is_clean();
}

/// Two people have to agree, and the daemon dies between their votes.
async fn votes(chat: GroupChat) {
    let mut stage = Stage::with_two(chat).await;
    let id = stage.daemon.ask(&shell("git push origin main")).await;
    let card = stage.with_button("git push", "Approve").await;
    let first = stage.press(&card, "Approve", Who::Ana).await;
    assert_eq!(first, "Your vote counts: 1 of 2 approvals of ops.");
    stage.says(&card.place, "1 of 2 approved (ops): Ana.").await;
    stage.restart().await;
    stage.press(&card, "Approve", Who::Ana).await;
    assert_eq!(stage.daemon.read(&id).await["state"], "open", "Ana is one person");
    stage.press(&card, "Approve", Who::Ben).await;
    assert_eq!(stage.decision(&id).await, "approve");
    stage.says(&card.place, "Ben").await;
    stage.chat.is_clean();
}

/// A reply to the card changes the call, and a button approves that.
async fn edited(chat: GroupChat) {
    let mut stage = Stage::start(chat).await;
    let mut call = shell("git push");
    call["accepts"] = json!(["updated_input"]);
    let waiting = stage.daemon.waiting(call);
    let card = stage.with_button("git push", "Approve").await;
    stage.noted().await;
    let said = stage.reply(&card, "/edit git push --dry-run").await;
    assert_eq!(said, "Proposed. The card shows the change: approve it there.");
    let changed = stage.with_button("--dry-run", "Approve as changed").await;
    assert_eq!(changed.place, card.place);
    let told = stage.press(&changed, "Approve as changed", Who::Ana).await;
    assert_eq!(told, "Approved with the change.");
    let answer = waiting.await.unwrap();
    assert_eq!(answer["answer"]["updated_input"], json!({"command": "git push --dry-run"}));
    stage.chat.is_clean();
}

/// What is behind *More…* grants for a while; the card takes it back.
async fn granted(chat: GroupChat) {
    let stage = Stage::start(chat).await;
    let waiting = stage.daemon.waiting(shell("cargo build --release"));
    let card = stage.with_button("cargo build", "Approve").await;
    let told = stage.press(&card, "10 min", Who::Ana).await;
    assert!(told.contains("10 min"), "{told}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    let verdict =
        async || stage.daemon.call(&shell("cargo build --release")).await.1["verdict"].clone();
    assert_eq!(verdict().await, "allow");
    let settled = stage.with_button("cargo build", "Undo").await;
    assert_eq!(settled.place, card.place);
    let told = stage.press(&settled, "Undo", Who::Ana).await;
    assert!(told.starts_with("Undone: "), "{told}");
    assert_eq!(verdict().await, "ask");
    stage.chat.is_clean();
}

/// What a rule let run is shown afterwards; one press of somebody who may makes such calls ask.
async fn reviewed(chat: GroupChat) {
    let config = format!("{}{REVIEWS}", chat.config());
    let daemon = Daemon::start_with(&config, &[("permissions.jsonc", ALLOWS)]).await;
    Stage::online(&chat).await;
    let mut stage = Stage { chat, daemon };
    let verdict = async |stage: &Stage, command: &str| {
        stage.daemon.call(&shell(command)).await.1["verdict"].clone()
    };
    assert_eq!(verdict(&stage, "make all").await, "allow");
    let card = stage.with_button("Ran: make all", "Fine").await;
    assert_eq!(card.labels, ["Fine", "Should have asked"]);
    assert!(card.text.contains("without asking, by the rule"), "{}", card.text);
    assert!(card.text.contains("ask from now on: shell: make *"), "{}", card.text);
    stage.noted().await;
    stage.restart().await;
    let told = stage.press(&card, "Fine", Who::Ana).await;
    assert_eq!(told, "Noted as fine. Nothing changes.");
    stage.says(&card.place, "fine, says Ana").await;
    assert_eq!(stage.all().len(), 1, "one card");

    assert_eq!(verdict(&stage, "make all").await, "allow");
    let card = stage.with_button("Ran: make all", "Should have asked").await;
    stage.press(&card, "Should have asked", Who::Ben).await;
    assert_eq!(stage.daemon.open().await.len(), 1, "Ben is no approver");
    let told = stage.press(&card, "Should have asked", Who::Ana).await;
    assert_eq!(
        told,
        "Noted. Such calls ask from now on: shell: make *. `countersign grants` lists that."
    );
    stage.says(&card.place, "should have asked, says Ana").await;
    for command in ["make all", "make other"] {
        assert_eq!(verdict(&stage, command).await, "ask");
        // A daemon that starts does not know how long the chat wants to be left alone.
        stage.with_button(command, "Approve").await;
    }
    stage.restart().await;
    assert_eq!(verdict(&stage, "make third").await, "ask");
    let asks = stage.with_button("make all", "Approve").await;
    assert!(!asks.labels.iter().any(|label| label.starts_with("Always")), "{asks:?}");
    stage.chat.is_clean();
}

/// Two people have to say that it should have asked, and one who is removed does not count.
async fn reviewed_by_two(chat: GroupChat) {
    let rule = "[[answer_rules]]\nname = \"make\"\ncommand = \"make *\"\ngroup = \"ops\"\n\
                deny = 2\n";
    let config = |names: &[&str]| format!("{}{rule}{REVIEWS}", team(&chat, names));
    let [both, ben] = [config(&["Ana", "Ben"]), config(&["Ben"])];
    let daemon = Daemon::start_with(&both, &[("permissions.jsonc", ALLOWS)]).await;
    Stage::online(&chat).await;
    let stage = Stage { chat, daemon };
    let reload = async |config: &str| {
        stage.daemon.write_config(config);
        assert!(stage.daemon.command(&["reload"]).output().await.unwrap().status.success());
    };
    let verdict = async || stage.daemon.call(&shell("make all")).await.1["verdict"].clone();
    assert_eq!(verdict().await, "allow", "a rule of the file asks nobody");
    let card = stage.with_button("Ran: make all", "Should have asked").await;
    let one = "Your vote counts: 1 of 2 denials of ops.";
    assert_eq!(stage.press(&card, "Should have asked", Who::Ana).await, one);
    reload(&ben).await;
    assert_eq!(stage.press(&card, "Should have asked", Who::Ben).await, one);
    let open = stage.daemon.open().await;
    assert_eq!((open.len(), &open[0]["state"]), (1, &json!("open")));
    reload(&both).await;
    let told = stage.press(&card, "Should have asked", Who::Ana).await;
    assert!(told.starts_with("Noted. Such calls ask from now on: shell: make *."), "{told}");
    assert_eq!(verdict().await, "ask");
    stage.chat.is_clean();
}

macro_rules! on_every_platform {
    ($($name:ident: $test:ident,)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn telegram() {
                $test(GroupChat::telegram().await).await;
            }

            #[tokio::test]
            async fn discord() {
                $test(GroupChat::discord().await).await;
            }

            #[tokio::test]
            async fn slack() {
                $test(GroupChat::slack().await).await;
            }
        }
    )*};
}

on_every_platform! {
    a_card_of_a_killed_daemon_is_answered_once_at_the_next: killed,
    votes_survive_a_killed_daemon_and_a_person_votes_once: votes,
    a_reply_changes_the_call_and_a_button_approves_the_change: edited,
    a_grant_of_the_menu_holds_until_it_is_undone: granted,
    a_call_that_a_rule_let_run_is_reviewed_and_such_calls_ask: reviewed,
    a_review_counts_those_who_may_answer_when_its_last_vote_comes: reviewed_by_two,
}
