//! How an ask ended, in one line that every copy of its card shows.

use crate::{
    clock,
    gate::ask::{Answer, Ask, By, Decision, Scope, State},
    text::line,
};
use countersign_profiles::{GrantLifetime, OnDeny};

/// The end of the story.
pub(super) fn of(ask: &Ask, answer: &Answer) -> String {
    let at = clock::short(answer.at);
    let reason = answer.reason.as_deref().map(line).unwrap_or_default();
    match (&ask.state, answer.decision, &answer.by) {
        (State::Cancelled(_), ..) => format!("Cancelled at {at}: {reason}"),
        (State::Expired(_), Decision::Approve, _) => format!("Approved at {at}: {reason}"),
        (State::Expired(_), Decision::Deny, _) => format!("Expired at {at}: {reason}"),
        (_, Decision::Approve, By::Policy { grant }) => {
            format!("Approved at {at} by the grant {}", line(grant))
        }
        (_, Decision::Answer, by) => format!("Answered by {} at {at}", line(&by.to_string())),
        (_, Decision::Approve, by) => {
            let scope = match answer.scope {
                None | Some(Scope::Once) => "once".to_owned(),
                Some(Scope::Session) => "for this session".to_owned(),
                Some(Scope::Always) if ask.body.lasts == GrantLifetime::Session => {
                    "for this session".to_owned()
                }
                Some(Scope::Always) => "always".to_owned(),
                Some(Scope::Exact) => "always, exactly this,".to_owned(),
                Some(Scope::Prefix) => "always, commands that begin so,".to_owned(),
                Some(Scope::Timed(seconds)) => {
                    format!("for {}", clock::span(i64::from(seconds) * 1000))
                }
            };
            format!("Approved {scope} by {} at {at}", line(&by.to_string()))
        }
        (_, Decision::Deny, by) => {
            let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            let then = match answer.then {
                OnDeny::GoOn => "",
                OnDeny::Stop => ", and told to stop",
                OnDeny::Explain => ", and told to explain itself",
            };
            format!("Denied by {} at {at}{then}{because}", line(&by.to_string()))
        }
    }
}
