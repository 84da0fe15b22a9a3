//! From a press to its answer, within Discord's 3 s.

use crate::errors::Problem;
use crate::message::{InteractionResponse, MessageBody, Modal};
use crate::receive::{Done, Incoming};
use crate::render::draw;
use crate::rest::ANSWER_WITHIN;
use crate::shared::DiscordBot;
use countersign_port::{Acknowledged, Card, Outcome, Presses, Receipt, TEXT_NOT_NOW, within};
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// Discord's codes for an interaction that has its first answer, and for one that is over.
const ANSWERED: i64 = 40060;
const TOO_LATE: i64 = 10062;
/// Between two tries of an answer.
const PAUSE: Duration = Duration::from_millis(200);

/// How long the core may take before Discord is asked for patience.
const PROMPT: Duration = Duration::from_secs(2);
/// How long a press that the core does not know is left to others: Discord hands every press to all
/// programs of a bot, and the one whose card it is has acknowledged by then, at the latest with a
/// plea for patience.
const LEFT_TO_OTHERS: Duration = Duration::from_millis(2200);

/// Hands to the core what somebody did, and shows them what came of it.
pub(crate) async fn answer(shared: &DiscordBot, core: &dyn Presses, incoming: &Incoming) {
    let answering = Answering { shared, incoming, began: Instant::now() };
    // An answer with nothing to see keeps the press from being called failed.
    let patience = match incoming.done {
        Done::Command(_) => InteractionResponse::Wait,
        Done::Button(_) | Done::Window(_) => InteractionResponse::Nothing,
    };
    let empty = answering.first(&patience);
    let told = match within(PROMPT, incoming.done.hand_to(core), empty).await {
        Acknowledged::InTime(receipt) => {
            if receipt.outcome == Outcome::Unknown {
                tokio::time::sleep(LEFT_TO_OTHERS.saturating_sub(answering.began.elapsed())).await;
            }
            answering.tell(receipt).await
        }
        Acknowledged::Late { receipt, acknowledged: Ok(()) } => answering.tell_late(receipt).await,
        Acknowledged::Late { acknowledged: Err(problem), .. } => Err(problem),
    };
    told.unwrap_or_else(|problem| answering.missed(&problem));
}

struct Answering<'a> {
    shared: &'a DiscordBot,
    incoming: &'a Incoming,
    began: Instant,
}

impl Answering<'_> {
    /// Tells what came of a press, as the first answer to it.
    async fn tell(&self, receipt: Receipt) -> Result<(), Problem> {
        let Receipt { outcome, sentence, card } = receipt;
        if let Some(button) = self.wants_window(outcome) {
            return self.first(&InteractionResponse::Ask(Modal::new(button, &sentence))).await;
        }
        let redrawn = match &card {
            Some(card) => self.redraw(card).await,
            None => false,
        };
        match (redrawn, sentence.trim().is_empty()) {
            (true, true) => Ok(()),
            (true, false) => self.more(&sentence).await,
            (false, true) => self.first(&InteractionResponse::Nothing).await,
            (false, false) => {
                self.first(&InteractionResponse::Whisper(MessageBody::whisper(&sentence))).await
            }
        }
    }

    /// The same after the first answer was given.
    async fn tell_late(&self, receipt: Receipt) -> Result<(), Problem> {
        let Receipt { outcome, sentence, card } = receipt;
        let sentence = match self.wants_window(outcome) {
            // A window can only be the first answer.
            Some(_) => TEXT_NOT_NOW,
            None => sentence.as_str(),
        };
        let told = if sentence.trim().is_empty() { Ok(()) } else { self.more(sentence).await };
        if let (Some(card), Some(message)) = (&card, self.incoming.done.message())
            && let Err(error) = self.shared.update(message, card).await
        {
            debug!(ask = card.ask, %error, "a pressed card is left to the core to redraw");
        }
        told
    }

    /// The token of the button whose text is wanted next.
    fn wants_window(&self, outcome: Outcome) -> Option<&str> {
        match &self.incoming.done {
            Done::Button(press) if outcome == Outcome::TextWanted => Some(&press.token),
            Done::Button(_) | Done::Window(_) | Done::Command(_) => None,
        }
    }

    /// Redraws the pressed message as the first answer; says whether that happened. Where somebody
    /// else draws it just now the core's own edit will show the card.
    async fn redraw(&self, card: &Card) -> bool {
        let Some(message) = self.incoming.done.message() else { return false };
        let Some(mut newest) = self.shared.turns.now(message) else { return false };
        if card.revision < *newest {
            return false;
        }
        let update =
            InteractionResponse::Update(MessageBody::edit(draw(card), &self.incoming.files));
        match self.first(&update).await {
            Ok(()) => {
                *newest = card.revision;
                true
            }
            Err(problem) => {
                debug!(ask = card.ask, %problem, "a pressed card was not redrawn in the answer");
                false
            }
        }
    }

    /// Gives the first answer, trying again while there is time.
    async fn first(&self, reply: &InteractionResponse) -> Result<(), Problem> {
        let mut lost = false;
        loop {
            let reply =
                self.shared.rest.reply(&self.incoming.id, &self.incoming.token, reply).await;
            let Err(problem) = reply else { return Ok(()) };
            let pause = match &problem {
                Problem::Unreachable(_) => {
                    lost = true;
                    PAUSE
                }
                Problem::Wait { after, .. } => *after,
                // The try whose answer was lost arrived.
                Problem::Refused { code: ANSWERED, .. } if lost => return Ok(()),
                Problem::Refused { .. } | Problem::Unauthorized | Problem::Deposed => {
                    return Err(problem);
                }
            };
            if self.began.elapsed() + pause >= ANSWER_WITHIN {
                return Err(problem);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Tells the presser something after the first answer.
    async fn more(&self, sentence: &str) -> Result<(), Problem> {
        let (application, token) = (&self.incoming.application, &self.incoming.token);
        self.shared.rest.follow_up(application, token, &MessageBody::whisper(sentence)).await
    }

    /// The press still counts: the core has it, and redraws every copy of the card.
    fn missed(&self, problem: &Problem) {
        let after = self.began.elapsed();
        if *problem == Problem::Deposed || matches!(problem.code(), Some(ANSWERED | TOO_LATE)) {
            debug!(?after, %problem, "a press was answered by another bridge, or too late");
        } else {
            warn!(?after, %problem, "a press was taken but its presser could not be told");
        }
    }
}
