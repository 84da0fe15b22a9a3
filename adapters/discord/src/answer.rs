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

/// Hands a press to the core and shows the presser what came of it.
///
/// INVARIANT: nothing is sent before [`Presses::press`] has returned.
pub(crate) async fn answer(rest: &Rest, turns: &Turns, core: &dyn Presses, incoming: &Incoming) {
    let began = Instant::now();
    let Receipt { outcome, sentence, card } = core.press(incoming.press.clone()).await;
    let answering = Answering { rest, incoming, began };
    let asked_by_button = incoming.press.text.is_none();
    if outcome == Outcome::TextWanted && asked_by_button {
        let modal = Reply::Ask(Modal::new(&incoming.press.token, &sentence));
        return answering.first(&modal).await.unwrap_or_else(|problem| answering.missed(&problem));
    }
    let redrawn = match &card {
        Some(card) => answering.redraw(turns, card).await,
        None => false,
    };
    let told = match (redrawn, sentence.trim().is_empty()) {
        (true, true) => Ok(()),
        (true, false) => answering.more(&sentence).await,
        (false, true) => answering.first(&Reply::Nothing).await,
        (false, false) => answering.first(&Reply::Whisper(Body::whisper(&sentence))).await,
    };
    told.unwrap_or_else(|problem| answering.missed(&problem));
}

struct Answering<'a> {
    rest: &'a Rest,
    incoming: &'a Incoming,
    began: Instant,
}

impl Answering<'_> {
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
                Problem::Refused { .. } | Problem::Unauthorized => return Err(problem),
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
        if matches!(problem.code(), Some(ANSWERED | TOO_LATE)) {
            debug!(?after, %problem, "a press was answered by another bridge, or too late");
        } else {
            warn!(?after, %problem, "a press was taken but its presser could not be told");
        }
    }
}
