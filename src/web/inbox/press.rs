//! A press on the page.

use crate::{
    error::ApiError,
    inbox::{InboxState, Shared},
    request::{JsonReply, Sent, sent},
};
use axum::{Extension, Json, extract::State};
use countersign_port::{
    CommandCall, MessageRef, Outcome, Press, Presser, Presses, Receipt, ReplyPiece, TextReply,
};
use serde::{Deserialize, Serialize};

/// The contract's longest button token, in bytes.
const TOKEN_LIMIT: usize = 40;
/// The contract's longest card id, in bytes.
const ID_LIMIT: usize = 22;

/// What the page sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PressBody {
    card: String,
    token: String,
    text: Option<String>,
}

/// What the page is told of a press.
#[derive(Serialize)]
pub(crate) struct Told {
    outcome: Outcome,
    sentence: String,
    /// What the field of a text begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<String>,
}

/// Hands a press to the core and tells what came of it.
pub(crate) async fn press(
    State(inbox): Shared,
    Extension(presser): Extension<Presser>,
    pressed: Sent<PressBody>,
) -> JsonReply<Told> {
    let Json(pressed) = pressed.map_err(|rejection| {
        let why = rejection.body_text();
        let sentence = format!("This is not a press, so nothing was pressed: {why}.");
        ApiError::new(rejection.status(), sentence)
    })?;
    hand_over(&inbox, presser, pressed.checked().map_err(ApiError::unprocessable)?).await
}

/// Hands a press that somebody has proved to the core, and tells what came of it.
pub(crate) async fn hand_over(
    inbox: &InboxState,
    presser: Presser,
    pressed: PressBody,
) -> JsonReply<Told> {
    let core = inbox.connected().ok_or_else(|| {
        ApiError::unavailable(
            "countersign is not taking presses just now; nothing was recorded. Press again in a \
             moment.",
        )
    })?;
    // INVARIANT: the page is told only after the core has committed or refused. The press is a task
    // of its own so that a page that goes away cannot stop it half way.
    let handed = tokio::spawn(async move { pressed.hand_to(presser, &*core).await }).await;
    let (receipt, draft) = handed.map_err(|error| {
        tracing::error!(%error, "the core did not finish a press in the inbox");
        let sentence = "countersign failed on this press and cannot say what came of it. Look at \
                        the card before you press again.";
        ApiError::failed(sentence)
    })?;
    if let Some(card) = &receipt.card {
        inbox.board.put(card);
    }
    let Receipt { outcome, sentence, .. } = receipt;
    Ok(Json(Told { outcome, sentence, draft }))
}

impl PressBody {
    /// A press on this button.
    pub(crate) fn of(card: &str, token: &str) -> Self {
        Self { card: card.to_owned(), token: token.to_owned(), text: None }
    }

    /// Itself, if it can be a press; else a sentence.
    fn checked(self) -> Result<Self, &'static str> {
        if !is_plain(&self.token, TOKEN_LIMIT) || !is_plain(&self.card, ID_LIMIT) {
            return Err("This is not a button of a card, so nothing was pressed. Reload the page.");
        }
        if self.text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err("The answer is empty, so nothing was sent. Write something first.");
        }
        Ok(self)
    }

    /// Hands it to the core. The page has the field for a text beside the button, so a text comes
    /// with its token and without an earlier press. The field holds what the text is in place of.
    async fn hand_to(self, presser: Presser, core: &dyn Presses) -> (Receipt, Option<String>) {
        let message = Some(MessageRef(self.card));
        let token = self.token;
        if let Some(text) = self.text {
            let reply = TextReply { presser, message, token: Some(token), text };
            return (core.reply(reply).await, None);
        }
        let press = Press { presser, message, token };
        let receipt = core.press(press.clone()).await;
        let draft = match receipt.outcome {
            Outcome::TextWanted => core.draft(&press).await,
            _ => None,
        };
        (receipt, draft)
    }
}

fn is_plain(text: &str, limit: usize) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=limit).contains(&text.len()) && text.bytes().all(plain)
}

// A command that the page gives, such as the button that pauses everything.

/// What the page sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandBody {
    name: String,
}

/// Hands a command to the core and tells what came of it.
pub(crate) async fn command(
    State(inbox): Shared,
    Extension(presser): Extension<Presser>,
    given: Sent<CommandBody>,
) -> JsonReply<Told> {
    let CommandBody { name } = sent(given, "This is not a command.")?;
    let core = inbox.connected().ok_or_else(|| {
        ApiError::unavailable("countersign is not taking commands just now; nothing was changed.")
    })?;
    if core.commands().iter().all(|known| known.name != name) {
        return Err(ApiError::unprocessable("There is no such command."));
    }
    let call =
        CommandCall { presser, targets: Vec::new(), message: None, name, rest: String::new() };
    // A task of its own, so that a page that goes away cannot stop it half way.
    let handed = tokio::spawn(async move { core.command(call).await }).await;
    let reply = handed.map_err(|error| {
        tracing::error!(%error, "the core did not finish a command of the inbox");
        let sentence = "countersign failed on this command.";
        ApiError::failed(sentence)
    })?;
    let text = |line: &Vec<_>| line.iter().map(ReplyPiece::plain).collect::<String>();
    let sentence = reply.lines.iter().map(text).collect::<Vec<_>>().join("\n");
    Ok(Json(Told { outcome: reply.outcome, sentence, draft: None }))
}
