//! An adapter that runs against the fake, and the core behind it.

use crate::slack::{CHANNEL, FakeSlack, Person};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Outcome, Posting, Receipt, Receiving, Target,
};
use countersign_port_testkit::{Received, ScriptedCore};
use countersign_slack::{Slack, SlackConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

pub fn config(fake: &FakeSlack) -> SlackConfig {
    SlackConfig {
        token: fake.token().to_owned(),
        app_token: fake.app_token().to_owned(),
        api_url: fake.url().to_owned(),
    }
}

pub fn adapter(fake: &FakeSlack) -> Arc<Slack> {
    Arc::new(Slack::new(config(fake)))
}

pub fn target() -> Target {
    Target(CHANNEL.to_owned())
}

pub fn ana() -> Person {
    Person::new("U0000004211", "Ana")
}

pub fn receipt(outcome: Outcome, sentence: &str, card: Option<Card>) -> Receipt {
    Receipt { outcome, sentence: sentence.to_owned(), card }
}

/// A running adapter.
pub struct Running {
    pub adapter: Arc<Slack>,
    pub received: UnboundedReceiver<Received>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    pub async fn start(fake: &FakeSlack, receipts: Vec<Receipt>) -> Self {
        let running = Self::begin(fake, receipts);
        running.receiving(|now| *now == Receiving::Listening).await;
        running
    }

    /// The same, whether it listens or not.
    pub fn begin(fake: &FakeSlack, receipts: Vec<Receipt>) -> Self {
        let (core, received) = ScriptedCore::new(receipts);
        let adapter = adapter(fake);
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let adapter = adapter.clone();
            let stop = stop.clone();
            async move { adapter.run(core, stop).await }
        });
        Self { adapter, received, stop, task }
    }

    pub async fn post(&self, card: &Card) -> MessageRef {
        self.adapter.post(&target(), card, Posting::First).await.unwrap()
    }

    pub async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(Duration::from_secs(20), self.received.recv());
        next.await.expect("it reaches the core").unwrap()
    }

    /// Ends it, promptly.
    pub async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(3), self.task).await;
        ended.expect("it stops within 3 s").unwrap();
    }

    /// Waits until it says this of whether presses arrive.
    pub async fn receiving(&self, wanted: impl Fn(&Receiving) -> bool) -> Receiving {
        let mut follow = self.adapter.signals().follow_receiving();
        let found = follow.wait_for(|now| wanted(now));
        let found = tokio::time::timeout(Duration::from_secs(30), found).await;
        found.expect("it says so").unwrap().clone()
    }

    /// Waits until presses do not arrive, and why.
    pub async fn deaf(&self) -> String {
        match self.receiving(|now| matches!(now, Receiving::Deaf { .. })).await {
            Receiving::Deaf { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }
}
