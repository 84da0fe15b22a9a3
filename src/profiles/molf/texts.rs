//! The exact texts for molf's model.

use countersign_policy::call::Call;
use serde_json::json;

use crate::CallEnd;
use crate::molf::commands::Piece;
use crate::molf::ruleset::{PermissionSetting, Ruleset, or_every_call};

/// Returns the text for a call that rules deny: the first piece, whichever piece is denied, and the
/// rules that match any piece. `decided` is the rule behind a denial that molf itself would not
/// have made.
///
/// # Errors
/// As [`super::ruleset::last`].
pub fn denied(
    call: &Call,
    pieces: &[Piece],
    layers: &[&Ruleset],
    decided: Option<PermissionSetting>,
) -> Result<String, String> {
    let mut relevant: Vec<PermissionSetting> = Vec::new();
    let pieces_or_all = or_every_call(pieces);
    for piece in pieces_or_all.iter() {
        for layer in layers {
            for setting in layer.matching(&call.tool, &piece.text)? {
                if !relevant.contains(setting) {
                    relevant.push(setting.clone());
                }
            }
        }
    }
    relevant.extend(decided.filter(|decided| !relevant.contains(decided)));
    let mut text = format!("Tool {:?} denied by policy", call.tool);
    if let Some(first) = pieces.first().filter(|first| !first.text.is_empty()) {
        text = format!("{text} for pattern: {}", first.text);
    }
    if !relevant.is_empty() {
        text = format!("{text}\nRelevant rules: {}", json!(relevant));
    }
    Ok(text)
}

/// Returns the result that the model gets for a call that did not run; `None` when it runs, or when
/// the turn is over.
pub fn told(call: &Call, end: &CallEnd<'_>) -> Option<String> {
    let rejected = |feedback: Option<&str>| {
        let feedback = feedback.filter(|words| !words.is_empty());
        let base = format!("Tool {:?} rejected by user", call.tool);
        feedback.map_or(base.clone(), |words| format!("{base}: {words}"))
    };
    let by_policy = |why: &str| format!("Tool {:?} denied by policy: {why}", call.tool);
    Some(match end {
        CallEnd::Approved { .. } | CallEnd::Cancelled { .. } => return None,
        CallEnd::Denied { reason, .. } => rejected(*reason),
        // A denial by a rule already has molf's words; a guardrail has only its reason.
        CallEnd::Forbidden { reason, rule: Some(_) } => (*reason).to_owned(),
        CallEnd::Forbidden { reason, rule: None } => by_policy(reason),
        CallEnd::TimedOut { after_s } => by_policy(&format!("nobody answered within {after_s} s")),
        CallEnd::Unreachable => by_policy("nobody could be asked"),
        CallEnd::BatchStopped { tool, .. } => by_policy(&format!("{tool} before it was denied")),
    })
}
