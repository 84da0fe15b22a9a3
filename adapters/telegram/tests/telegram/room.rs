//! An adapter that runs against the fake, and a core that says what it is told to say.

use crate::fake::{TOKEN, Telegram as Server};
use countersign_port::{
    Adapter, CancellationToken, Outcome, Presses, Receipt, Receiving, RetryScope, SendError, Target,
};
use countersign_port_testkit::{Received, ScriptedCore};
use countersign_telegram::{Telegram, TelegramConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub struct Room {
    pub adapter: Arc<Telegram>,
    pub presses: UnboundedReceiver<Received>,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Room {
    pub fn open(server: &Server, receipts: Vec<Receipt>) -> Self {
        let (core, presses) = ScriptedCore::new(receipts);
        Self::with_core(adapter(server), core, presses)
    }

    /// One that leaves the line to another poller for a third of the usual time.
    pub fn hasty(server: &Server, receipts: Vec<Receipt>) -> Self {
        let telegram = Telegram::new(config(server));
        let adapter = Arc::new(telegram.pausing_after_a_conflict(Duration::from_secs(2)));
        let (core, presses) = ScriptedCore::new(receipts);
        Self::with_core(adapter, core, presses)
    }

    pub fn with_core(
        adapter: Arc<Telegram>,
        core: Arc<dyn Presses>,
        presses: UnboundedReceiver<Received>,
    ) -> Self {
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let adapter = Arc::clone(&adapter);
            let stop = stop.clone();
            async move { adapter.run(core, stop).await }
        });
        Self { adapter, presses, stop, running }
    }

    pub async fn next_press(&mut self) -> Received {
        let press = timeout(Duration::from_secs(15), self.presses.recv()).await;
        press.expect("a press reaches the core").expect("the core is there")
    }

    /// Ends the adapter as the daemon does; at once is within two seconds.
    pub async fn close(self) {
        self.stop.cancel();
        let ended = timeout(Duration::from_secs(2), self.running).await;
        ended.expect("it stops promptly").unwrap();
    }

    /// Ends the adapter as a crash does.
    pub fn kill(self) {
        self.running.abort();
    }

    /// Waits until it says this of whether presses arrive.
    pub async fn receiving(&self, wanted: impl Fn(&Receiving) -> bool) -> Receiving {
        let mut follow = self.adapter.signals().follow_receiving();
        let found = timeout(Duration::from_secs(40), follow.wait_for(|now| wanted(now))).await;
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

pub fn adapter(server: &Server) -> Arc<Telegram> {
    Arc::new(Telegram::new(config(server)))
}

pub fn config(server: &Server) -> TelegramConfig {
    TelegramConfig { token: TOKEN.to_owned(), api_url: server.url().to_owned() }
}

pub fn receipt(outcome: Outcome, sentence: &str) -> Receipt {
    Receipt { outcome, sentence: sentence.to_owned(), card: None }
}

pub fn target(chat: i64) -> Target {
    Target(chat.to_string())
}

/// The number of a message within its chat.
pub fn number(message: &countersign_port::MessageRef) -> i64 {
    message.0.split_once('/').unwrap().1.parse().unwrap()
}

/// A wait that concerns the one target.
pub fn wait(after: Duration) -> SendError {
    SendError::Retry { after, scope: RetryScope::Target }
}
