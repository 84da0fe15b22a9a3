//! The exact texts for molf's model.

use countersign_policy::{call::Call, rules::Rule};
use serde_json::{Value, json};

use crate::CallEnd;
use crate::molf::commands::Piece;
use crate::molf::ruleset::{Ruleset, or_every_call};

/// Returns the text for a call that rules deny: the first piece, whichever piece is denied, and the
/// rules that match any piece. `decided` is the rule behind a denial that molf itself would not
/// have made.
pub fn denied(call: &Call, pieces: &[Piece], layers: &[Ruleset], decided: Option<&Rule>) -> String {
    let mut relevant: Vec<&Rule> = Vec::new();
    for piece in or_every_call(pieces).iter() {
        for rule in layers.iter().flat_map(|layer| layer.matching(&call.tool, &piece.text)) {
            if !relevant.contains(&rule) {
                relevant.push(rule);
            }
        }
    }
    relevant.extend(decided.filter(|decided| !relevant.contains(decided)));
    let mut text = format!("Tool {:?} denied by policy", call.tool);
    if let Some(first) = pieces.first().filter(|first| !first.text.is_empty()) {
        text = format!("{text} for pattern: {}", first.text);
    }
    if !relevant.is_empty() {
        let rules: Value = relevant.into_iter().map(written).collect();
        text = format!("{text}\nRelevant rules: {rules}");
    }
    text
}

/// Returns a rule as molf writes it.
fn written(rule: &Rule) -> Value {
    json!({ "permission": rule.tool, "pattern": rule.pattern, "action": rule.verdict })
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
