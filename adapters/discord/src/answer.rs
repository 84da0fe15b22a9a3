//! From a press to its answer, within Discord's 3 s.

use crate::errors::Problem;
use crate::message::{Body, Modal, Reply};
use crate::receive::Incoming;
use crate::render::draw;
use crate::rest::{ANSWER_WITHIN, Rest};
use crate::turns::Turns;
use countersign_port::{Card, Outcome, Presses, Receipt};
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
/// A window can only be the first answer.
const NO_WINDOW: &str = "That took too long to open a window for your text. Press again.";

/// Hands a press to the core and shows the presser what came of it.
///
/// INVARIANT: nothing is shown before [`Presses::press`] has returned.
pub(crate) async fn answer(rest: &Rest, turns: &Turns, core: &dyn Presses, incoming: &Incoming) {
    let answering = Answering { rest, incoming, began: Instant::now() };
    let mut deciding = core.press(incoming.press.clone());
    let told = match tokio::time::timeout(PROMPT, &mut deciding).await {
        Ok(receipt) => {
            if receipt.outcome == Outcome::Unknown {
                tokio::time::sleep(LEFT_TO_OTHERS.saturating_sub(answering.began.elapsed())).await;
            }
            answering.tell(turns, receipt).await
        }
        Err(_) => {
            // An answer with nothing to see keeps the press from being called failed.
            let (kept, receipt) = tokio::join!(answering.first(&Reply::Nothing), deciding);
            match kept {
                Ok(()) => answering.tell_late(receipt).await,
                Err(problem) => Err(problem),
            }
        }
    };
    told.unwrap_or_else(|problem| answering.missed(&problem));
}

struct Answering<'a> {
    rest: &'a Rest,
    incoming: &'a Incoming,
    began: Instant,
}

impl Answering<'_> {
    /// Tells what came of a press, as the first answer to it.
    async fn tell(&self, turns: &Turns, receipt: Receipt) -> Result<(), Problem> {
        let Receipt { outcome, sentence, card } = receipt;
        if self.wants_window(outcome) {
            return self
                .first(&Reply::Ask(Modal::new(&self.incoming.press.token, &sentence)))
                .await;
        }
        let redrawn = match &card {
            Some(card) => self.redraw(turns, card).await,
            None => false,
        };
        match (redrawn, sentence.trim().is_empty()) {
            (true, true) => Ok(()),
            (true, false) => self.more(&sentence).await,
            (false, true) => self.first(&Reply::Nothing).await,
            (false, false) => self.first(&Reply::Whisper(Body::whisper(&sentence))).await,
        }
    }

    /// The same after the first answer was given; the core's own edit redraws the card.
    async fn tell_late(&self, receipt: Receipt) -> Result<(), Problem> {
        let Receipt { outcome, sentence, .. } = receipt;
        if self.wants_window(outcome) {
            return self.more(NO_WINDOW).await;
        }
        if sentence.trim().is_empty() { Ok(()) } else { self.more(&sentence).await }
    }

    fn wants_window(&self, outcome: Outcome) -> bool {
        outcome == Outcome::TextWanted && self.incoming.press.text.is_none()
    }

    /// Redraws the pressed message as the first answer; says whether that happened. Where somebody
    /// else draws it just now the core's own edit will show the card.
    async fn redraw(&self, turns: &Turns, card: &Card) -> bool {
        let Some(message) = &self.incoming.press.message else { return false };
        let Some(mut newest) = turns.now(message) else { return false };
        if card.revision < *newest {
            return false;
        }
        let update = Reply::Update(Body::edit(draw(card), &self.incoming.files));
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
    async fn first(&self, reply: &Reply) -> Result<(), Problem> {
        let mut lost = false;
        loop {
            let reply = self.rest.reply(&self.incoming.id, &self.incoming.token, reply).await;
            let Err(problem) = reply else { return Ok(()) };
            let pause = match &problem {
                Problem::Unreachable(_) => {
                    lost = true;
                    PAUSE
                }
                Problem::Wait(wait) => *wait,
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
        self.rest.follow_up(application, token, &Body::whisper(sentence)).await
    }

    /// The press counts all the same: the core has it, and redraws every copy of the card.
    fn missed(&self, problem: &Problem) {
        let after = self.began.elapsed();
        if *problem == Problem::Deposed || matches!(problem.code(), Some(ANSWERED | TOO_LATE)) {
            debug!(?after, %problem, "a press was answered by another bridge, or too late");
        } else {
            warn!(?after, %problem, "a press was taken but its presser could not be told");
        }
    }
}
