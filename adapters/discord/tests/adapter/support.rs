//! An adapter that runs against the fake, and the core behind it.

use crate::discord::{CHANNEL, FakeDiscord, Person};
use countersign_discord::{Config, Discord};
use countersign_port::testkit::ScriptedCore;
use countersign_port::{
    Adapter, CancellationToken, Card, Fatal, Health, MessageRef, Outcome, Press, Receipt, Target,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

pub fn adapter(fake: &FakeDiscord) -> Arc<Discord> {
    let (token, api_url) = (fake.token().to_owned(), fake.url().to_owned());
    Arc::new(Discord::new(Config { token, api_url }))
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
    pub presses: UnboundedReceiver<Press>,
    pub stop: CancellationToken,
    pub task: JoinHandle<Result<(), Fatal>>,
}

impl Running {
    pub fn start(fake: &FakeDiscord, receipts: Vec<Receipt>) -> Self {
        let (core, presses) = ScriptedCore::new(receipts);
        let (adapter, stop) = (adapter(fake), CancellationToken::new());
        let task = tokio::spawn({
            let (adapter, stop) = (adapter.clone(), stop.clone());
            async move { adapter.run(core, stop).await }
        });
        Self { adapter, presses, stop, task }
    }

    pub async fn post(&self, card: &Card) -> MessageRef {
        self.adapter.post(&target(), card).await.unwrap()
    }

    pub async fn next(&mut self) -> Press {
        let next = tokio::time::timeout(Duration::from_secs(20), self.presses.recv());
        next.await.expect("a press reaches the core").unwrap()
    }

    /// Ends it, promptly.
    pub async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(2), self.task).await;
        assert_eq!(ended.expect("it stops within 2 s").unwrap(), Ok(()));
    }

    /// How it gave up.
    pub async fn fatal(self) -> (Fatal, Health) {
        let ended = tokio::time::timeout(Duration::from_secs(20), self.task).await;
        let fatal = ended.expect("it gives up").unwrap().unwrap_err();
        (fatal, self.adapter.health())
    }
}

/// Waits for a state of health.
pub async fn until_health(adapter: &Discord, wanted: impl Fn(&Health) -> bool) -> Health {
    let looked = async {
        loop {
            let health = adapter.health();
            if wanted(&health) {
                return health;
            }
            // Health is a picture without a bell.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), looked).await;
    found.unwrap_or_else(|_| panic!("health stays {:?}", adapter.health()))
}
