//! What the label of a button says is what its grant covers: for every kind of call and every
//! button that remembers something, on every platform, by pressing it.

mod generated;
mod questions;

use crate::{
    daemon::{AGENT, APPROVER, Daemon},
    floods::chat::{GroupChat, OpenMessage},
    inbox_visitor::{Feed, Visitor},
    telegram_server::Telegram,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{sync::Mutex, time::timeout};

/// Calls that ask, each with one that differs a little and with one that differs more.
fn kinds() -> Vec<[Value; 3]> {
    let shell = |command: &str| call("Bash", json!({ "command": command }));
    let write = |path: &str, text: &str| call("Write", json!({"file_path": path, "content": text}));
    let edit = |path: &str, new: &str| {
        call("Edit", json!({"file_path": path, "old_string": "a", "new_string": new}))
    };
    let fetch = |url: &str| call("WebFetch", json!({"url": url, "prompt": "read"}));
    let issue = |title: &str| call("mcp__github__create_issue", json!({ "title": title }));
    vec![
        ["cargo build --release", "cargo build --release --all", "cargo run"].map(shell),
        ["cargo test && git add -A", "cargo test && git add -A .", "git add x && ls"].map(shell),
        ["rm build.log", "rm build.log src", "rm other.log"].map(shell),
        ["git push origin main", "git push origin main --tags", "git push up main"].map(shell),
        [
            "psql shop -c 'DELETE FROM a WHERE b = 1'",
            "psql shop -c 'DELETE FROM a WHERE b = 2'",
            "psql shop -c 'DELETE FROM c WHERE b = 1'",
        ]
        .map(shell),
        [write("src/app.ts", "one"), write("src/app.ts", "evil"), write("src/b.ts", "one")],
        [edit("src/app.ts", "one"), edit("src/app.ts", "evil"), edit("src/b.ts", "one")],
        ["https://docs.rs/a", "https://docs.rs/a?b", "https://evil.example/a"].map(fetch),
        ["It fails", "It fails!", "Another"].map(issue),
    ]
}

fn call(tool: &str, args: Value) -> Value {
    json!({"agent": "tester", "session": "one", "cwd": "/home/ana/shop", "host": "mill",
        "session_secret": "a secret of the session", "tool": tool, "args": args})
}

/// How the labels begin that remember something.
const REMEMBER: [&str; 4] = ["Always", "10 min", "24 h", "Session"];

/// What a label says that an approval covers.
#[derive(Debug, PartialEq)]
enum Says<'l> {
    /// Nothing but this call.
    This,
    /// Calls of this pattern.
    Pattern(&'l str),
    /// What the card says above.
    Above,
    /// A choice follows.
    Choice,
}

impl<'l> Says<'l> {
    fn of(label: &'l str) -> Self {
        match label.split_once(": ").map(|(_, what)| what) {
            _ if label.ends_with('…') => Self::Choice,
            Some("this command") => Self::This,
            Some("as named above") => Self::Above,
            Some(many) if many.ends_with(" rules") => Self::Above,
            Some(pattern) => Self::Pattern(pattern),
            None => Self::This,
        }
    }
}

/// Where buttons are pressed.
enum Surface {
    Chat(GroupChat),
    Inbox(Box<(Visitor, Mutex<Feed>)>),
}

impl Surface {
    /// The open message of this ask that has such a button.
    async fn message(&self, ask: &str, button: &str) -> OpenMessage {
        let names = match self {
            // Only a card of Telegram and of the page names its ask, and only there several are open.
            Self::Chat(GroupChat::Discord(_) | GroupChat::Slack(_)) => "",
            _ => ask,
        };
        self.shown(|it| it.buttons.iter().any(is(button)) && it.text.contains(names)).await
    }

    /// The newest open message that is as wanted.
    async fn shown(&self, wanted: impl Fn(&OpenMessage) -> bool) -> OpenMessage {
        match self {
            Self::Chat(chat) => {
                chat.until("a card", || chat.open().into_iter().rfind(|it| wanted(it))).await
            }
            Self::Inbox(page) => {
                let wanted = |card: &Value| wanted(&on_page(card));
                on_page(&page.1.lock().await.card(wanted).await)
            }
        }
    }

    /// The same, where it comes soon: a redraw of a card takes its menu and its choice away again.
    async fn soon(&self, ask: &str, button: &str) -> Option<OpenMessage> {
        timeout(Duration::from_secs(3), self.message(ask, button)).await.ok()
    }

    async fn press(&self, message: &OpenMessage, label: &str) -> String {
        match self {
            Self::Chat(chat) => match message.buttons.iter().find(|(it, _)| it == label) {
                Some((_, data)) => chat.press(&message.place, data).await,
                None => chat.press_label(message, label).await,
            },
            Self::Inbox(page) => {
                let (_, token) = message.button(label);
                page.0.press(&message.place, token, None).await.1.to_string()
            }
        }
    }

    /// Waits until no card is open that the next test would take for its own.
    async fn is_quiet(&self) {
        if let Self::Chat(chat) = self {
            let none = || chat.open().is_empty().then_some(());
            chat.until("the card to be closed", none).await;
        }
    }
}

/// Every text of a card, one a line.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(map) => map.values().map(texts).collect(),
        _ => String::new(),
    }
}

/// A card of the inbox, as a message.
fn on_page(card: &Value) -> OpenMessage {
    let card = &card["card"];
    let rows = card["buttons"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    let text = |button: &Value, key: &str| button[key].as_str().unwrap().to_owned();
    let buttons = rows.chain(card["more"].as_array().into_iter().flatten());
    OpenMessage {
        place: text(card, "id"),
        text: texts(card),
        buttons: buttons.map(|it| (text(it, "label"), text(it, "token"))).collect(),
        options: Vec::new(),
    }
}

struct Trial {
    surface: Surface,
    daemon: Daemon,
}

impl Trial {
    /// In a chat, where the token of the tests revokes what was stored.
    async fn in_chat(chat: GroupChat, more: &str) -> Self {
        match &chat {
            GroupChat::Telegram(_) => {}
            GroupChat::Discord(chat) => chat.without_limits(),
            GroupChat::Slack(chat) => chat.without_limits(),
        }
        let config = chat.config().replace("[approvers]\n", "[approvers]\ninbox = true\n");
        let daemon = Daemon::start(&format!("{config}{more}")).await;
        match &chat {
            GroupChat::Telegram(_) => {}
            GroupChat::Discord(chat) => chat.until_online().await,
            GroupChat::Slack(chat) => chat.until_online().await,
        }
        Self { surface: Surface::Chat(chat), daemon }
    }

    /// At the real inbox.
    async fn at_inbox(more: &str) -> Self {
        let daemon = Daemon::start(&format!("[approvers]\ninbox = true\n{more}")).await;
        let visitor = Visitor::enter(&daemon.inbox).await;
        let feed = Mutex::new(visitor.follow().await);
        Self { surface: Surface::Inbox(Box::new((visitor, feed))), daemon }
    }

    /// Every label of this call's card that remembers something; `None` where nobody is asked.
    async fn labels(&self, call: &Value) -> Option<Vec<String>> {
        let (status, reply) = self.daemon.call(call).await;
        let ask = reply["ask"].as_str().filter(|_| status == 202)?;
        let message = self.surface.message(ask, "Deny").await;
        let mut labels: Vec<String> = message.options.clone();
        labels.extend(message.buttons.iter().map(|(label, _)| label.clone()));
        while let Some((more, _)) = message.buttons.iter().find(|it| is("More…")(it)) {
            self.surface.press(&message, more).await;
            if let Some(menu) = self.surface.soon(ask, "‹ Back").await {
                labels.extend(menu.buttons.into_iter().map(|(label, _)| label));
                break;
            }
        }
        labels.retain(|label| REMEMBER.iter().any(|begin| label.starts_with(begin)));
        labels.sort();
        labels.dedup();
        self.cancel(ask).await;
        Some(labels)
    }

    async fn cancel(&self, ask: &str) {
        let path = format!("/v1/asks/{ask}/cancel");
        self.daemon.post(&path, AGENT, &json!({"reason": "aborted"})).await;
        self.surface.is_quiet().await;
    }

    /// Whether a call runs without being asked for.
    async fn is_covered(&self, call: &Value) -> bool {
        let (status, reply) = self.daemon.call(call).await;
        let Some(ask) = reply["ask"].as_str().filter(|_| status == 202) else {
            assert_eq!(status, 200, "{call}: {reply}");
            return reply["verdict"] == "allow";
        };
        // Its card comes first, so that none is left behind.
        self.surface.message(ask, "Deny").await;
        self.cancel(ask).await;
        false
    }

    /// Presses a button of a call's card; the text of what it stood on, and what it stored.
    async fn press(&self, call: &Value, label: &str) -> (String, Vec<Value>) {
        let ask = self.daemon.ask(call).await;
        let mut message = self.surface.message(&ask, "Deny").await;
        let told = self.surface.press(&message, label).await;
        if Says::of(label) == Says::Choice {
            message = loop {
                match self.surface.soon(&ask, "Store th").await {
                    Some(choice) => break choice,
                    None => drop(self.surface.press(&message, label).await),
                }
            };
            let store = message.button("Store th").0.to_owned();
            self.surface.press(&message, &store).await;
        }
        let answered = self.daemon.closed(&ask).await;
        assert_eq!(answered["answer"]["decision"], "approve", "{label}: {told}: {answered}");
        let (_, page) = self.daemon.get("/v1/grants", APPROVER).await;
        let grants = page["grants"].as_array().unwrap().iter().filter(|it| it["ask"] == *ask);
        let grants: Vec<Value> = grants.cloned().collect();
        assert!(!grants.is_empty(), "{label} stored nothing");
        let labels = message.buttons.iter().map(|(label, _)| label.clone());
        (labels.fold(message.text.clone(), |text, label| text + "\n" + &label), grants)
    }

    fn is_clean(&self) {
        if let Surface::Chat(chat) = &self.surface {
            chat.is_clean();
        }
    }

    async fn revoke(&self, grants: &[Value]) {
        for grant in grants {
            let path = format!("{}/v1/grants/{}", self.daemon.url, grant["id"].as_str().unwrap());
            let revoked = self.daemon.http.delete(path).bearer_auth(APPROVER).send().await.unwrap();
            assert_eq!(revoked.status(), 200);
        }
        self.surface.is_quiet().await;
    }

    /// Presses one button, and compares what it stored and covers with its label.
    async fn holds(&self, [call, near, far]: &[Value; 3], label: &str) {
        let (text, grants) = self.press(call, label).await;
        assert!(self.is_covered(call).await, "{label} does not cover {call}");
        assert_eq!(unsaid(label, &text, &grants), Vec::<String>::new(), "{label}: {text}");
        match Says::of(label) {
            Says::This => assert!(!self.is_covered(near).await, "{label} covers {near}"),
            Says::Pattern(_) => {
                // No pattern of these calls reaches so far but a tool of its own.
                let any = grants.iter().any(|grant| grant["pattern"] == "*");
                assert_eq!(self.is_covered(far).await, any, "{label}: {far}");
            }
            Says::Above | Says::Choice => {}
        }
        self.revoke(&grants).await;
        assert!(!self.is_covered(call).await, "{label} was revoked");
    }
}

fn is(label: &str) -> impl Fn(&(String, String)) -> bool {
    move |(it, _)| it.starts_with(label)
}

/// What was stored and neither named on the label nor on the card that it stood on.
fn unsaid(label: &str, text: &str, grants: &[Value]) -> Vec<String> {
    let said = |it: &String| match Says::of(label) {
        Says::This => true,
        Says::Pattern(pattern) => it == pattern,
        Says::Above | Says::Choice => false,
    };
    let above = |grant: &Value| match Says::of(label) {
        Says::Above | Says::Choice => text.contains(grant["pattern"].as_str().unwrap()),
        Says::This | Says::Pattern(_) => false,
    };
    let unsaid = grants.iter().filter(|grant| !above(grant));
    unsaid.map(named).filter(|it| !said(it)).collect()
}

/// A stored rule as a label names it.
fn named(grant: &Value) -> String {
    let [tool, pattern] = ["tool", "pattern"].map(|key| grant[key].as_str().unwrap());
    match (tool, pattern) {
        (tool, "*") => tool.to_owned(),
        ("write_file", pattern) => format!("any write to {pattern}"),
        ("edit_file", pattern) => format!("any edit of {pattern}"),
        ("shell_exec", pattern) => pattern.to_owned(),
        (tool, pattern) => format!("{tool} {pattern}"),
    }
}

/// Tries every button of these kinds in a chat; how many there were.
async fn every_label_holds(chat: GroupChat, kinds: &[[Value; 3]]) -> usize {
    let trial = Trial::in_chat(chat, "").await;
    let mut tried = 0;
    for kind in kinds {
        for label in trial.labels(&kind[0]).await.unwrap() {
            trial.holds(kind, &label).await;
            tried += 1;
        }
    }
    trial.is_clean();
    tried
}

/// Checks that the buttons of all kinds were tried.
fn all_were_tried(tried: usize) {
    assert!(tried >= 25, "{tried} buttons");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_label_in_telegram_says_what_its_grant_covers() {
    // Without the limits of a group, which would refuse the edits of a person so quick.
    let chat = GroupChat::Telegram(Telegram::start().await);
    all_were_tried(every_label_holds(chat, &kinds()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_label_in_discord_says_what_its_grant_covers() {
    all_were_tried(every_label_holds(GroupChat::discord().await, &kinds()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_label_in_slack_says_what_its_grant_covers() {
    // A channel takes a message a second: each kind has a workspace of its own.
    let kinds = kinds();
    let each =
        kinds.chunks(1).map(async |kind| every_label_holds(GroupChat::slack().await, kind).await);
    all_were_tried(futures::future::join_all(each).await.into_iter().sum());
}
