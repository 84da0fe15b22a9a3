//! The promises that every adapter is held to, run against a fake of its platform.

use crate::{
    Adapter, Block, Button, ButtonStyle, Card, Field, MessageRef, Outcome, Posting, Press, Presser,
    Presses, Receipt, Target, TextReply, Tone,
};
use std::{sync::Arc, sync::Mutex, time::Duration};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A fake platform, from the side of the people in the chat.
#[crate::async_trait]
pub trait FakePlatform: Send + Sync {
    /// Somebody in that chat, under an id of the form that the platform gives.
    fn somebody(&self) -> Presser;
    /// A chat where the adapter may post.
    fn target(&self) -> Target;
    /// What stands at a message now.
    async fn shown(&self, message: &MessageRef) -> Shown;
    /// Presses the button with this label as this person, waits for the answer, and returns what
    /// the presser was told. `None` when the platform showed no words.
    async fn press(&self, message: &MessageRef, label: &str, person: &Presser) -> Option<String>;
    /// Gives the text that a text button asked for, as this person.
    async fn give_text(&self, message: &MessageRef, text: &str, person: &Presser)
    -> Option<String>;
}

/// What a person sees of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// All its text.
    pub text: String,
    /// The labels of the buttons that can be pressed.
    pub buttons: Vec<String>,
    /// The content of the files that stand with it.
    pub files: Vec<String>,
}

/// What reached the core: a press, or a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Who did it.
    pub presser: Presser,
    /// To which message.
    pub message: Option<MessageRef>,
    /// The button's token; empty for a text that comes without one.
    pub token: String,
    /// The text, where it is one.
    pub text: Option<String>,
}

impl From<Press> for Received {
    fn from(press: Press) -> Self {
        let Press { presser, message, token } = press;
        Self { presser, message, token, text: None }
    }
}

impl From<TextReply> for Received {
    fn from(reply: TextReply) -> Self {
        let TextReply { presser, message, token, text } = reply;
        Self { presser, message, token: token.unwrap_or_default(), text: Some(text) }
    }
}

/// A core of a test's own, for which presses and texts are one.
#[crate::async_trait]
pub trait TestCore: Send + Sync {
    /// Says what came of it.
    async fn take(&self, received: Received) -> Receipt;
}

#[crate::async_trait]
impl<T: TestCore> Presses for T {
    async fn press(&self, press: Press) -> Receipt {
        self.take(press.into()).await
    }

    async fn reply(&self, reply: TextReply) -> Receipt {
        self.take(reply.into()).await
    }
}

/// A core that answers every press with the next receipt it was given and remembers what came in.
pub struct ScriptedCore {
    receipts: Mutex<Vec<Receipt>>,
    seen: mpsc::UnboundedSender<Received>,
}

impl ScriptedCore {
    /// A core with these receipts, and the presses that reach it.
    #[must_use]
    pub fn new(receipts: Vec<Receipt>) -> (Arc<Self>, mpsc::UnboundedReceiver<Received>) {
        let (seen, presses) = mpsc::unbounded_channel();
        (Arc::new(Self { receipts: Mutex::new(receipts), seen }), presses)
    }
}

#[crate::async_trait]
impl TestCore for ScriptedCore {
    async fn take(&self, received: Received) -> Receipt {
        let _ = self.seen.send(received);
        let mut receipts = self.receipts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if receipts.is_empty() {
            let sentence = "This ask is no longer pending.".to_owned();
            return Receipt { outcome: Outcome::Unknown, sentence, card: None };
        }
        receipts.remove(0)
    }
}

/// A card as the core makes it for a shell command.
#[must_use]
pub fn sample_card(command: &str) -> Card {
    let button = |token: &str, label: &str, style| Button {
        token: token.to_owned(),
        label: label.to_owned(),
        style,
    };
    Card {
        id: "k3J9sQ0aZ_-b4LmX7yTn2w".to_owned(),
        ask: "a7f3".to_owned(),
        revision: 1,
        tone: Tone::Open,
        title: "claude-code wants to run a command".to_owned(),
        blocks: vec![
            Block::Code { label: "command".to_owned(), text: command.to_owned() },
            Block::Quote {
                label: "reason".to_owned(),
                text: "Clean the *build* <b>now</b>".to_owned(),
            },
            Block::Fields {
                fields: vec![
                    Field { name: "agent".to_owned(), value: "claude-code".to_owned() },
                    Field { name: "folder".to_owned(), value: "/home/ana/shop".to_owned() },
                ],
            },
            Block::Note { text: "Always stores: shell: rm build/*".to_owned() },
        ],
        buttons: vec![vec![
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.a", "Approve", ButtonStyle::Approve),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.w", "Always", ButtonStyle::Always),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.d", "Deny", ButtonStyle::Deny),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.t", "Other…", ButtonStyle::Text),
        ]],
        deadline: Some(1_795_221_291_475),
    }
}

/// The same card after an answer.
#[must_use]
pub fn closed(card: &Card) -> Card {
    let mut closed = card.clone();
    closed.revision += 1;
    closed.tone = Tone::Approved;
    closed.buttons.clear();
    closed.deadline = None;
    closed.blocks.push(Block::Outcome { text: "Approved once by Ana, 12:03".to_owned() });
    closed
}

/// Runs an adapter through the contract. Panics with the promise that was broken.
///
/// # Panics
/// When the adapter breaks the contract.
#[expect(clippy::expect_used, reason = "a test kit fails by panicking")]
pub async fn conformance(adapter: Arc<dyn Adapter>, platform: &dyn FakePlatform) {
    let ana = platform.somebody();
    let card = sample_card("rm -rf build/* && echo \"<done> & `dusted`\" </code></pre> @everyone");
    let said =
        |outcome, sentence: &str, card| Receipt { outcome, sentence: sentence.to_owned(), card };
    let (core, mut presses) = ScriptedCore::new(vec![
        said(Outcome::NotAllowed, "You may not answer this.", None),
        said(Outcome::TextWanted, "What should it be instead?", None),
        said(Outcome::Noted, "Noted.", None),
        said(Outcome::Applied, "Approved once.", Some(closed(&card))),
    ]);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (adapter, stop) = (adapter.clone(), stop.clone());
        async move { adapter.run(core, stop).await }
    });

    let message =
        adapter.post(&platform.target(), &card, Posting::First).await.expect("a card is posted");
    let shown = platform.shown(&message).await;
    for text in ["claude-code wants to run a command", "rm -rf build/* && echo", "</code></pre>"] {
        assert!(shown.text.contains(text), "the card shows `{text}` literally: {}", shown.text);
    }
    assert_eq!(shown.buttons, ["Approve", "Always", "Deny", "Other…"]);

    let told = platform.press(&message, "Approve", &ana).await;
    assert_eq!(told.as_deref(), Some("You may not answer this."), "a refusal is told");
    let press = next(&mut presses).await;
    assert_eq!(press.presser.id, ana.id);
    assert_eq!(press.message.as_ref(), Some(&message));
    assert_eq!(press.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.a");
    assert_eq!(press.text, None);
    assert_eq!(platform.shown(&message).await.buttons.len(), 4, "a refused press changes nothing");

    let _ = platform.press(&message, "Other…", &ana).await;
    assert_eq!(next(&mut presses).await.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.t");
    let _ = platform.give_text(&message, "use trash-put", &ana).await;
    let press = next(&mut presses).await;
    assert_eq!(press.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.t");
    assert_eq!(press.text.as_deref(), Some("use trash-put"), "free text comes back with its token");
    assert_eq!(press.presser.id, ana.id);

    let told = platform.press(&message, "Always", &ana).await;
    assert_eq!(told.as_deref(), Some("Approved once."), "the presser is told what happened");
    assert_eq!(next(&mut presses).await.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.w");

    adapter.update(&message, &closed(&card)).await.expect("a card is redrawn");
    adapter.update(&message, &closed(&card)).await.expect("redrawing the same card is harmless");
    let shown = platform.shown(&message).await;
    assert!(shown.buttons.is_empty(), "a closed card has no buttons");
    assert!(shown.text.contains("rm -rf build/*"), "the text is kept");
    assert!(shown.text.contains("Approved once by Ana, 12:03"), "the outcome is added");

    let long = format!("echo start; {} rm -rf tail-end", "printf '%s' x; ".repeat(2_000));
    let message = adapter
        .post(
            &platform.target(),
            &Card { id: "Zk3J9sQ0aZ_-b4LmX7yTn2".to_owned(), ..sample_card(&long) },
            Posting::First,
        )
        .await
        .expect("a long card is posted");
    let shown = platform.shown(&message).await;
    assert!(
        shown.text.contains(&long) || shown.files.contains(&long),
        "a long command is shown whole or attached whole"
    );
    assert!(shown.text.contains("rm -rf tail-end"), "the tail of a long command is shown");

    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(10), running).await;
    ended.expect("the adapter stops when told").expect("it does not panic");
}

#[expect(clippy::expect_used, reason = "a test kit fails by panicking")]
async fn next(presses: &mut mpsc::UnboundedReceiver<Received>) -> Received {
    let waited = tokio::time::timeout(Duration::from_secs(10), presses.recv()).await;
    waited.expect("a press reaches the core within 10 s").expect("the core is still there")
}
