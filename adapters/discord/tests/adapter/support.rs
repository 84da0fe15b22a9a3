//! An adapter that runs against the fake, and the core behind it.

use crate::discord::{CHANNEL, FakeDiscord, Person};
use countersign_discord::{Discord, DiscordConfig};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Outcome, Posting, Receipt, Receiving, RetryScope,
    SendError, Target,
};
use countersign_port_testkit::{Received, ScriptedCore};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

pub fn adapter(fake: &FakeDiscord) -> Arc<Discord> {
    let token = fake.token().to_owned();
    let api_url = fake.url().to_owned();
    Arc::new(Discord::new(DiscordConfig { token, api_url, mention: None }))
}

pub fn target() -> Target {
    Target(CHANNEL.to_owned())
}

pub fn ana() -> Person {
    Person::new("4211", "Ana")
}

pub fn receipt(outcome: Outcome, sentence: &str, card: Option<Card>) -> Receipt {
    Receipt { outcome, sentence: sentence.to_owned(), card }
}

/// A running adapter.
pub struct Running {
    pub adapter: Arc<Discord>,
    pub presses: UnboundedReceiver<Received>,
    pub stop: CancellationToken,
    pub task: JoinHandle<()>,
}

impl Running {
    pub fn start(fake: &FakeDiscord, receipts: Vec<Receipt>) -> Self {
        let (core, presses) = ScriptedCore::new(receipts);
        let adapter = adapter(fake);
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let adapter = adapter.clone();
            let stop = stop.clone();
            async move { adapter.run(core, stop).await }
        });
        Self { adapter, presses, stop, task }
    }

    pub async fn post(&self, card: &Card) -> MessageRef {
        self.adapter.post(&target(), card, Posting::First).await.unwrap()
    }

    pub async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(Duration::from_secs(20), self.presses.recv());
        next.await.expect("a press reaches the core").unwrap()
    }

    /// Ends it, promptly.
    pub async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(2), self.task).await;
        ended.expect("it stops within 2 s").unwrap();
    }

    /// Waits until it says this of whether presses arrive.
    pub async fn receiving(&self, wanted: impl Fn(&Receiving) -> bool) -> Receiving {
        let mut follow = self.adapter.signals().follow_receiving();
        let found = follow.wait_for(|now| wanted(now));
        let found = tokio::time::timeout(Duration::from_secs(30), found).await;
        found.expect("it says so").unwrap().clone()
    }

    /// Waits until presses arrive.
    pub async fn listens(&self) {
        self.receiving(|now| *now == Receiving::Listening).await;
    }

    /// Waits until presses do not arrive, and why.
    pub async fn deaf(&self) -> String {
        match self.receiving(|now| matches!(now, Receiving::Deaf { .. })).await {
            Receiving::Deaf { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }
}

/// Waits until presses arrive.
pub async fn until_listening(adapter: &Discord) {
    let mut follow = adapter.signals().follow_receiving();
    let found = follow.wait_for(|now| *now == Receiving::Listening);
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("it listens").unwrap();
}

/// A wait that concerns the one target.
pub fn wait(after: Duration) -> SendError {
    SendError::Retry { after, scope: RetryScope::Target }
}
