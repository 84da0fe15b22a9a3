//! `/digest`: what was asked lately, in figures.

use super::run::{CommandRun, words_of};
use super::shown::is_shown;
use crate::card;
use countersign_gate::{
    SubmitError,
    ask::Ask,
    digests::{self, DigestScope},
};
use countersign_port::{CommandCall, CommandReply, Outcome};
use countersign_store::StoreError;
use countersign_tokens::clock;
use jiff::SignedDuration;

const WEEK_MS: i64 = 7 * 86_400_000;
const LONGEST_MS: i64 = 366 * 86_400_000;
const WRONG: &str = "Say how far back, such as 24h or 7d.";

impl CommandRun<'_> {
    // SECURITY: a request that a route shows elsewhere is not told in this chat.
    pub(super) async fn digest(&self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let Some(length) = length(&call.rest) else {
            return Ok(CommandReply::words(Outcome::Noted, WRONG));
        };
        let until = clock::now_ms();
        let tells = |ask: &Ask| is_shown(ask, self.who.platform, call);
        let scope = DigestScope { since: until - length, until, tells: &tells, title: card::title };
        match self.gate.digest(scope).await {
            Ok(digest) => {
                Ok(CommandReply { outcome: Outcome::Noted, lines: digests::lines(&digest) })
            }
            Err(SubmitError::Store(error)) => Err(error),
            Err(error) => {
                let lines = vec![vec![words_of(format!("There is no digest: {error}"))]];
                Ok(CommandReply { outcome: Outcome::Noted, lines })
            }
        }
    }
}

/// How far back somebody wants to look; milliseconds.
fn length(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(WEEK_MS);
    }
    let ms = match text.strip_suffix('d') {
        Some(days) => days.trim().parse::<i64>().ok()?.checked_mul(86_400_000)?,
        None => i64::try_from(text.parse::<SignedDuration>().ok()?.as_millis()).ok()?,
    };
    (1..=LONGEST_MS).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_back_is_a_week_or_what_somebody_says() {
        assert_eq!(length("  "), Some(WEEK_MS));
        assert_eq!(length("24h"), Some(86_400_000));
        assert_eq!(length("1d"), Some(86_400_000));
        assert_eq!(length("30d"), Some(30 * 86_400_000));
        for wrong in ["d", "-1d", "0d", "367d", "soon", "9999999999999999999d", "0s"] {
            assert_eq!(length(wrong), None, "{wrong}");
        }
    }
}
