//! An adapter that runs, and the core behind it.

use crate::{FakePlatform, Received, ScriptedCore};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Posting, Presses, Receipt, Receiving, SendError,
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

/// How long anything may take.
const LONG: Duration = Duration::from_secs(20);

/// A process with an adapter in it.
pub(super) struct AdapterProcess<'a> {
    fake: &'a dyn FakePlatform,
    adapter: Arc<dyn Adapter>,
    received: mpsc::UnboundedReceiver<Received>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

#[expect(clippy::expect_used, reason = "a test kit fails by panicking")]
impl<'a> AdapterProcess<'a> {
    /// One whose core gives these receipts, and whom presses reach.
    pub(super) async fn start(fake: &'a dyn FakePlatform, receipts: Vec<Receipt>) -> Self {
        let (core, received) = ScriptedCore::new(receipts);
        Self::with_core(fake, core, received).await
    }

    pub(super) async fn with_core(
        fake: &'a dyn FakePlatform,
        core: Arc<dyn Presses>,
        received: mpsc::UnboundedReceiver<Received>,
    ) -> Self {
        let adapter = fake.adapter();
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let adapter = adapter.clone();
            let stop = stop.clone();
            async move { adapter.run(core, stop).await }
        });
        let running = Self { fake, adapter, received, stop, task };
        running.listens().await;
        running
    }

    /// Waits until presses reach the core.
    pub(super) async fn listens(&self) {
        let mut follow = self.adapter.signals().follow_receiving();
        let listens = follow.wait_for(|receiving| *receiving == Receiving::Listening);
        timeout(LONG, listens).await.expect("the adapter says that it receives").expect("it lives");
    }

    /// Waits until the adapter has noticed that presses do not reach it, if it does before long:
    /// a platform may reconnect it in a moment.
    pub(super) async fn notices(&self) {
        let mut follow = self.adapter.signals().follow_receiving();
        let deaf = follow.wait_for(|receiving| matches!(receiving, Receiving::Deaf { .. }));
        let _ = timeout(Duration::from_secs(3), deaf).await;
    }

    pub(super) fn adapter(&self) -> &dyn Adapter {
        &*self.adapter
    }

    /// Posts a card as the core does: as soon as the platform lets it.
    pub(super) async fn post(&self, card: &Card, posting: Posting) -> MessageRef {
        let posted = async {
            loop {
                match self.try_post(card, posting).await {
                    Err(SendError::Retry { after, .. }) => tokio::time::sleep(after).await,
                    posted => return posted,
                }
            }
        };
        timeout(LONG, posted).await.expect("a wait ends").expect("a card is posted")
    }

    pub(super) async fn try_post(
        &self,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError> {
        self.adapter.post(&self.fake.target(), card, posting).await
    }

    pub(super) async fn update(&self, message: &MessageRef, card: &Card) {
        self.adapter.update(message, card).await.expect("a card is redrawn");
    }

    /// What reaches the core next.
    pub(super) async fn next(&mut self) -> Received {
        let next = timeout(LONG, self.received.recv()).await;
        next.expect("a press reaches the core").expect("the core is there")
    }

    /// Waits until a message has no buttons any more.
    pub(super) async fn closes(&self, message: &MessageRef) {
        let closed = async {
            while !self.fake.shown(message).await.buttons.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let why = "the pressed message shows the card of the receipt, buttons and all";
        timeout(LONG, closed).await.expect(why);
    }

    /// Waits until a message has this button.
    pub(super) async fn shows(&self, message: &MessageRef, label: &str) {
        let shown = async {
            while !self.fake.shown(message).await.buttons.iter().any(|button| button == label) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LONG, shown).await.expect("the pressed message shows the view of the receipt");
    }

    /// Ends it, as a daemon that is told to.
    pub(super) async fn end(self) {
        self.stop.cancel();
        let ended = timeout(Duration::from_secs(10), self.task).await;
        ended.expect("the adapter stops when told").expect("it does not panic");
    }
}
