//! A chat platform in the test's own process, and what becomes of what is sent to it.

use crate::testkit::{Place, VisibleCard};
use countersign_port::{
    Adapter, Block, CancellationToken, Card, MessageRef, NamedAdapter, Pace, Posting, Presses,
    ReplyPiece, SendError, Signals, Target, async_trait,
};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// The chat. It knows a card that is posted again by its id, as Discord does.
#[derive(Default)]
pub struct FakeChat {
    pub(crate) signals: Signals,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    forgets: bool,
    pace: Option<Pace>,
    network: Network,
    /// The messages, each with the id of the card that it was posted for.
    messages: Vec<(String, Card)>,
    tries: Vec<(Instant, String)>,
    /// How many messages without a card arrived.
    announced: usize,
    refused: Vec<String>,
    /// The platform refuses the cards with this on them for what they are.
    invalid: Option<String>,
}

/// What becomes of what is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Network {
    /// It arrives.
    #[default]
    Clear,
    /// The line breaks before it arrives.
    Away,
    /// It arrives, and the line breaks before its answer does.
    AnswersLost,
    /// Nothing comes back at all.
    Silent,
}

impl FakeChat {
    /// One whose messages do not outlive its process.
    pub(crate) fn forgetful() -> Self {
        let inside = Mutex::new(Inside { forgets: true, ..Inside::default() });
        Self { signals: Signals::default(), inside }
    }

    /// One in which requests that come fast share messages.
    pub(crate) fn paced(pace: Pace) -> Self {
        let inside = Mutex::new(Inside { pace: Some(pace), ..Inside::default() });
        Self { signals: Signals::default(), inside }
    }

    /// The cards as they stand, oldest first.
    pub(crate) fn drawn(&self) -> Vec<Card> {
        self.inside.lock().unwrap().messages.iter().map(|(_, card)| card.clone()).collect()
    }

    /// How many messages without a card arrived.
    pub(crate) fn announced(&self) -> usize {
        self.inside.lock().unwrap().announced
    }

    pub(crate) fn set(&self, network: Network) {
        self.inside.lock().unwrap().network = network;
    }

    /// The cards whose text has this in it never arrive.
    pub(crate) fn never_takes(&self, words: &str) {
        self.inside.lock().unwrap().refused.push(words.to_owned());
    }

    /// The platform refuses the cards with this on them, or none.
    pub(crate) fn refuses(&self, words: Option<&str>) {
        self.inside.lock().unwrap().invalid = words.map(str::to_owned);
    }

    /// When something was to be shown, and the command on its card.
    pub(crate) fn tries(&self) -> Vec<(Instant, String)> {
        self.inside.lock().unwrap().tries.clone()
    }

    async fn show(
        &self,
        card: &Card,
        put: impl FnOnce(&mut Vec<(String, Card)>),
    ) -> Result<(), SendError> {
        let network = {
            let inside = &mut *self.inside.lock().unwrap();
            inside.tries.push((Instant::now(), text(card)));
            if inside.refused.iter().any(|words| text(card).contains(words)) {
                return Err(SendError::Transient("this card never arrives".to_owned()));
            }
            if inside.invalid.as_ref().is_some_and(|words| text(card).contains(words)) {
                return Err(SendError::Refused("this card is invalid".to_owned()));
            }
            if matches!(inside.network, Network::Clear | Network::AnswersLost) {
                put(&mut inside.messages);
            }
            inside.network
        };
        self.answered(network).await
    }

    async fn answered(&self, network: Network) -> Result<(), SendError> {
        match network {
            Network::Clear => Ok(()),
            Network::Away | Network::AnswersLost => {
                Err(SendError::Transient("the connection was lost".to_owned()))
            }
            Network::Silent => std::future::pending().await,
        }
    }
}

#[async_trait]
impl Adapter for FakeChat {
    fn signals(&self) -> &Signals {
        &self.signals
    }

    fn pace(&self, _: &Target) -> Option<Pace> {
        self.inside.lock().unwrap().pace
    }

    fn keeps_messages(&self) -> bool {
        !self.inside.lock().unwrap().forgets
    }

    async fn post(&self, _: &Target, card: &Card, _: Posting) -> Result<MessageRef, SendError> {
        let put = |messages: &mut Vec<(String, Card)>| {
            if !messages.iter().any(|(id, _)| *id == card.id) {
                messages.push((card.id.clone(), card.clone()));
            }
        };
        self.show(card, put).await?;
        Ok(MessageRef(card.id.clone()))
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        let put = |messages: &mut Vec<(String, Card)>| {
            if let Some((_, old)) = messages.iter_mut().find(|(id, _)| *id == message.0) {
                *old = card.clone();
            }
        };
        self.show(card, put).await
    }

    async fn announce(&self, _: &Target, _: &[Vec<ReplyPiece>]) -> Result<(), SendError> {
        let network = {
            let inside = &mut *self.inside.lock().unwrap();
            let arrives = matches!(inside.network, Network::Clear | Network::AnswersLost);
            inside.announced += usize::from(arrives);
            inside.network
        };
        self.answered(network).await
    }

    async fn run(&self, _: Arc<dyn Presses>, stop: CancellationToken) {
        stop.cancelled().await;
    }
}

impl Place for Arc<FakeChat> {
    fn adapter(&self) -> NamedAdapter {
        NamedAdapter { name: "telegram", adapter: self.clone() }
    }

    fn target(&self) -> String {
        "here".to_owned()
    }

    fn set_down(&self, down: bool) {
        self.set(if down { Network::Away } else { Network::Clear });
    }

    fn cards(&self) -> Vec<VisibleCard> {
        let inside = self.inside.lock().unwrap();
        let button = |card: &Card| card.buttons.first().map(|row| row[0].token.clone());
        let seen = |card: &Card| VisibleCard { text: text(card), button: button(card) };
        inside.messages.iter().map(|(_, card)| seen(card)).collect()
    }

    fn requests(&self) -> usize {
        self.inside.lock().unwrap().tries.len()
    }

    fn violations(&self) -> Vec<String> {
        Vec::new()
    }
}

pub(crate) fn text(card: &Card) -> String {
    let texts = card.blocks.iter().filter_map(|block| match block {
        Block::Code { text, .. } | Block::Outcome { text } => Some(text.as_str()),
        _ => None,
    });
    [card.title.as_str()].into_iter().chain(texts).collect::<Vec<_>>().join("\n")
}
