//! What the label of a button says is what its grant covers: for every kind of call and every
//! button that remembers something, on every platform, by pressing it.

use crate::{
    daemon::{AGENT, APPROVER, Daemon},
    floods::chat::{GroupChat, OpenMessage},
    telegram_server::Telegram,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

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
const REMEMBER: [&str; 5] = ["Always", "10 min", "24 h", "Session", "This session"];

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

struct Trial {
    chat: GroupChat,
    daemon: Daemon,
}

impl Trial {
    /// The message of the only open ask.
    async fn message(&self) -> OpenMessage {
        let only = || self.chat.open().pop().filter(|it| it.buttons.iter().any(is("Deny")));
        self.chat.until("a card", only).await
    }

    /// Every label of this call's card that remembers something.
    async fn labels(&self, call: &Value) -> Vec<String> {
        let ask = self.daemon.ask(call).await;
        let message = self.message().await;
        let mut labels: Vec<String> = message.options.clone();
        labels.extend(message.buttons.iter().map(|(label, _)| label.clone()));
        while let Some((_, more)) = message.buttons.iter().find(|it| is("More…")(it)) {
            self.chat.press(&message.place, more).await;
            // A redraw of the card takes the menu away again.
            let menu = || self.chat.open().pop().filter(|it| it.buttons.iter().any(is("‹ Back")));
            let menu = timeout(Duration::from_secs(2), self.chat.until("the others", menu)).await;
            if let Ok(menu) = menu {
                labels.extend(menu.buttons.into_iter().map(|(label, _)| label));
                break;
            }
        }
        labels.retain(|label| REMEMBER.iter().any(|begin| label.starts_with(begin)));
        labels.sort();
        labels.dedup();
        self.cancel(&ask).await;
        labels
    }

    async fn cancel(&self, ask: &str) {
        let path = format!("/v1/asks/{ask}/cancel");
        self.daemon.post(&path, AGENT, &json!({"reason": "aborted"})).await;
        let none = || self.chat.open().is_empty().then_some(());
        self.chat.until("the card to be closed", none).await;
    }

    /// Whether a call runs without being asked for.
    async fn is_covered(&self, call: &Value) -> bool {
        let (status, reply) = self.daemon.call(call).await;
        if status == 200 {
            assert_eq!(reply["verdict"], "allow", "{reply}");
            return true;
        }
        // Its card comes first, so that none is left behind.
        self.message().await;
        self.cancel(reply["ask"].as_str().unwrap()).await;
        false
    }

    /// Presses a button of a call's card; the text of what it stood on, and what it stored.
    async fn press(&self, call: &Value, label: &str) -> (String, Vec<Value>) {
        let waiting = self.daemon.waiting(call.clone());
        let mut message = self.message().await;
        let told = self.chat.press_label(&message, label).await;
        if Says::of(label) == Says::Choice {
            let stores =
                || self.chat.open().pop().filter(|it| it.buttons.iter().any(is("Store th")));
            message = loop {
                let choice = self.chat.until("the choice", stores);
                match timeout(Duration::from_secs(4), choice).await {
                    Ok(choice) => break choice,
                    // A redraw of the card takes it away again.
                    Err(_) => drop(self.chat.press_label(&message, label).await),
                }
            };
            self.chat.press(&message.place, message.button("Store th").1).await;
        }
        assert_eq!(waiting.await.unwrap()["verdict"], "allow", "{label}: {told}");
        let (_, page) = self.daemon.get("/v1/grants", APPROVER).await;
        let grants = page["grants"].as_array().unwrap().clone();
        assert!(!grants.is_empty(), "{label} stored nothing");
        let labels = message.buttons.iter().map(|(label, _)| label.clone());
        (labels.fold(message.text.clone(), |text, label| text + "\n" + &label), grants)
    }

    async fn revoke(&self, grants: &[Value]) {
        for grant in grants {
            let path = format!("{}/v1/grants/{}", self.daemon.url, grant["id"].as_str().unwrap());
            let revoked = self.daemon.http.delete(path).bearer_auth(APPROVER).send().await.unwrap();
            assert_eq!(revoked.status(), 200);
        }
        let none = || self.chat.open().is_empty().then_some(());
        self.chat.until("the card to be closed", none).await;
    }

    /// Presses one button, and compares what it stored and covers with its label.
    async fn holds(&self, [call, near, far]: &[Value; 3], label: &str) {
        let (text, grants) = self.press(call, label).await;
        assert!(self.is_covered(call).await, "{label} does not cover {call}");
        match Says::of(label) {
            Says::This => assert!(!self.is_covered(near).await, "{label} covers {near}"),
            Says::Pattern(pattern) => {
                let named: Vec<String> = grants.iter().map(named).collect();
                assert!(named.iter().all(|it| it == pattern), "{label} stored {named:?}");
                // No pattern of these calls reaches so far but a tool of its own.
                let any = grants.iter().any(|grant| grant["pattern"] == "*");
                assert_eq!(self.is_covered(far).await, any, "{label}: {far}");
            }
            Says::Above | Says::Choice => {
                let unsaid = |grant: &&Value| !text.contains(grant["pattern"].as_str().unwrap());
                let unsaid: Vec<_> = grants.iter().filter(unsaid).collect();
                assert!(unsaid.is_empty(), "{label} stored {unsaid:?}; said was {text}");
            }
        }
        self.revoke(&grants).await;
        assert!(!self.is_covered(call).await, "{label} was revoked");
    }
}

fn is(label: &str) -> impl Fn(&(String, String)) -> bool {
    move |(it, _)| it.starts_with(label)
}

/// A stored rule as a label names it.
fn named(grant: &Value) -> String {
    let [tool, pattern] = ["tool", "pattern"].map(|key| grant[key].as_str().unwrap());
    match (tool, pattern) {
        ("write_file" | "edit_file", pattern) if pattern != "*" => {
            format!("any edit of {pattern}")
        }
        (tool, "*") => tool.to_owned(),
        ("shell_exec", pattern) => pattern.to_owned(),
        (tool, pattern) => format!("{tool} {pattern}"),
    }
}

async fn every_label_says_what_its_grant_covers(chat: GroupChat) {
    // The token of the tests revokes what was stored.
    let config = chat.config().replace("[approvers]\n", "[approvers]\ninbox = true\n");
    let daemon = Daemon::start(&config).await;
    match &chat {
        GroupChat::Telegram(_) => {}
        GroupChat::Discord(chat) => chat.until_online().await,
        GroupChat::Slack(chat) => chat.until_online().await,
    }
    let trial = Trial { chat, daemon };
    let mut tried = 0;
    for kind in kinds() {
        for label in trial.labels(&kind[0]).await {
            trial.holds(&kind, &label).await;
            tried += 1;
        }
    }
    assert!(tried >= 25, "{tried} buttons");
    trial.chat.is_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_label_in_telegram_says_what_its_grant_covers() {
    // Without the limits of a group, which would refuse the edits of a person so quick.
    let chat = GroupChat::Telegram(Telegram::start().await);
    every_label_says_what_its_grant_covers(chat).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_label_in_discord_says_what_its_grant_covers() {
    every_label_says_what_its_grant_covers(GroupChat::discord().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_label_in_slack_says_what_its_grant_covers() {
    every_label_says_what_its_grant_covers(GroupChat::slack().await).await;
}
