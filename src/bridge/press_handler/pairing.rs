//! What is told to people who send a pairing code, or only greet the bot.

use countersign_gate::{Gate, KnockOutcome, Knocker};
use countersign_people::approvers::Who;
use countersign_port::{Knock, Outcome, Target, UNKNOWN_CODE, line};

/// What is told of a code that works.
const KNOCKED: &str = "Your code has arrived. Now confirm it in the terminal: nothing may be \
                       answered from here before that.";
/// What is told to an approver who greets the bot.
const CONNECTED: &str = "You are connected: requests come here, and you may answer them. /help \
                         lists what else I take.";
/// What is kept of a place's name, in characters.
const PLACE: usize = 100;

/// Takes a pairing code of somebody; what to tell them.
// SECURITY: what becomes of it is decided in the terminal; here nothing is granted.
pub(super) fn knock(gate: &Gate, who: Who, knock: Knock) -> (Outcome, &'static str) {
    let Knock { target, place, code, .. } = knock;
    let Who { platform, id, name, .. } = who;
    let place = line(&place).chars().take(PLACE).collect();
    let by = Knocker { id: id.clone(), name, target: target.0, place };
    match gate.pairings.knock(platform, &code, by) {
        KnockOutcome::Bound => {
            tracing::info!(platform, presser = id, "somebody sent a pairing code");
            (Outcome::Noted, KNOCKED)
        }
        KnockOutcome::Refused => {
            tracing::warn!(platform, presser = id, "somebody sent a pairing code that is refused");
            (Outcome::Unknown, UNKNOWN_CODE)
        }
    }
}

/// What is told to an approver who greets the bot where cards are shown.
pub(super) fn greeting(gate: &Gate, who: Who, target: &Target) -> Option<String> {
    let shows = gate.shows_at(who.platform, &target.0);
    (shows && gate.admit(who).is_ok()).then(|| CONNECTED.to_owned())
}
