//! Submits a call and waits for its answer or a signal.

use crate::{
    client::{AnswerView, Client, Decided, Ending, Submitted},
    gate::{
        ask::{By, Decision, Scope},
        call::Call,
    },
    protocol::CancelReason,
};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, say, terminal};

/// Submits the call and waits; `opened` receives the id of the ask. A signal cancels the ask and
/// returns no decision.
pub(super) async fn wait(
    client: &Client,
    call: &Call,
    opened: impl FnOnce(&str),
) -> Result<Option<Decided>> {
    let mut signals = InterruptSignals::new()?;
    let id = tokio::select! {
        submitted = client.submit(call) => match submitted? {
            Submitted::Decided(decided) => return Ok(Some(*decided)),
            Submitted::Ask(id) => id,
        },
        // The connection is dropped, and the daemon cancels an ask that it may have opened.
        () = signals.any() => return Ok(None),
    };
    opened(&id);
    let shown_and_decided = async {
        show(client, &id).await;
        client.decided(call, &id).await
    };
    tokio::select! {
        decided = shown_and_decided => Ok(Some(decided?)),
        () = signals.any() => {
            // If this fails, the daemon still notices that its caller is gone.
            let _ = client.cancel(&id, CancelReason::Aborted).await;
            Ok(None)
        }
    }
}

/// Shows the card that people see. While the daemon is unreachable, nothing is shown.
async fn show(client: &Client, id: &str) {
    if let Some(card) = client.card(id).await.ok().and_then(terminal::of) {
        say::aside(&terminal::draw(&card));
    }
}

/// The signals that end a wait.
pub(super) struct InterruptSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl InterruptSignals {
    pub(super) fn new() -> Result<Self> {
        let of = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hang_up: of(SignalKind::hangup())?,
        })
    }

    /// Returns at the first signal.
    pub(super) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// The exit code of a decision.
pub(super) fn exit(decided: &Decided) -> Exit {
    match (decided.decision, &decided.ending) {
        (Decision::Approve | Decision::Answer | Decision::Edit, _) => Exit::Good,
        (Decision::Deny, Ending::Expired) => Exit::Expired,
        (Decision::Deny, _) => Exit::Denied,
    }
}

/// Who decided and why, on one line, with hidden characters in the words of people and rules made
/// visible.
pub(super) fn sentence(decided: &Decided) -> String {
    say::literal(&spoken(decided))
}

fn spoken(decided: &Decided) -> String {
    match &decided.ending {
        Ending::Ruled(rule) => {
            let what = match decided.decision {
                Decision::Approve => "allowed by policy",
                Decision::Answer | Decision::Edit | Decision::Deny => "denied by policy",
            };
            let rule = rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default();
            format!("{what}: {}{rule}", decided.reason)
        }
        Ending::Answered(AnswerView { scope: Some(scope), .. }) if *scope != Scope::Once => {
            format!("{} ({scope})", decided.reason)
        }
        Ending::Expired => format!("expired: {}", decided.reason),
        Ending::Answered(_) | Ending::Cancelled => decided.reason.clone(),
    }
}

/// The decision as JSON.
pub(super) fn as_json(decided: &Decided) -> Value {
    let verdict = match decided.decision {
        Decision::Approve => "allow",
        Decision::Answer => "answered",
        Decision::Edit => "edited",
        Decision::Deny => "deny",
    };
    let (state, rule, answer) = match &decided.ending {
        Ending::Ruled(rule) => ("ruled", rule.as_ref(), None),
        Ending::Answered(answer) => ("answered", None, Some(answer)),
        Ending::Expired => ("expired", None, None),
        Ending::Cancelled => ("cancelled", None, None),
    };
    let by: Option<&By> = answer.map(|answer| &answer.by);
    json!({
        "verdict": verdict,
        "reason": decided.reason,
        "state": state,
        "rule": rule,
        "scope": answer.and_then(|answer| answer.scope.as_ref()),
        "answers": answer.and_then(|answer| answer.answers.as_ref()),
        "updated_input": answer.and_then(|answer| answer.updated_input.as_ref()),
        "by": by,
    })
}
