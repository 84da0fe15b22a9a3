//! Submits a call and waits for its answer or a signal, with a line about the wait on a terminal.

use super::{Exit, columns, say, signals::Signals};
use anyhow::Result;
use countersign_bridge::card::terminal;
use countersign_client::{AnswerView, Client, Decided, Ending, Submitted};
use countersign_domain::wire::{AskState, CancelReason, ReadyReply};
use countersign_gate::{
    ask::{By, Decision, Scope},
    call::Call,
};
use countersign_tokens::clock;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io::{self, IsTerminal, Write},
    time::Duration,
};

/// Where the card of an ask is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardShown {
    /// Everywhere.
    Always,
    /// Not to a person who has just typed what it shows.
    NotOnTerminals,
}

/// Submits the call and waits; `opened` receives the id of the ask. A signal cancels the ask and
/// returns no decision.
pub(super) async fn wait(
    client: &Client,
    call: &Call,
    card: CardShown,
    signals: &mut Signals,
    opened: impl FnOnce(&str),
) -> Result<Option<Decided>> {
    let id = tokio::select! {
        submitted = client.submit(call) => match submitted? {
            Submitted::Decided(decided) => return Ok(Some(*decided)),
            Submitted::Ask(id) => id,
        },
        () = signals.any() => {
            // The connection is dropped, which the daemon takes for a caller that has left.
            say::aside("Interrupted: the daemon cancels the ask if it had opened one.");
            return Ok(None);
        }
    };
    opened(&id);
    tokio::select! {
        decided = shown(client, call, card, &id) => Ok(Some(decided?)),
        () = signals.any() => {
            say::aside(&cancel(client, &id).await);
            Ok(None)
        }
    }
}

/// Shows the card and waits for the decision, with a line about the wait on a terminal.
pub(super) async fn shown(
    client: &Client,
    call: &Call,
    card: CardShown,
    id: &str,
) -> Result<Decided> {
    if card == CardShown::Always || !io::stderr().is_terminal() {
        show(client, id).await;
    }
    tokio::select! {
        decided = client.decided(call, id) => Ok(decided?),
        never = draw_wait(client, id) => match never {},
    }
}

/// Cancels the ask; returns a sentence that says what became of it.
async fn cancel(client: &Client, id: &str) -> String {
    let cancelled = async {
        client.cancel(id, CancelReason::Aborted).await?;
        client.ask(id).await
    };
    match cancelled.await {
        Ok(ask) if ask.state == AskState::Cancelled => {
            "Cancelled: nobody can approve it any more.".to_owned()
        }
        Ok(ask) if ask.state == AskState::Open => {
            format!("Still open: {id} can be answered until its deadline. Nothing is run here.")
        }
        Ok(ask) => {
            let how = ask.reason.unwrap_or_default();
            format!("Too late to cancel: {how}. Nothing is run here.")
        }
        Err(error) => format!(
            "Not cancelled: {error}\n{id} may still be open. Nothing is run here, \
             whatever the answer."
        ),
    }
}

/// Shows the card that people see. While the daemon is unreachable, nothing is shown.
async fn show(client: &Client, id: &str) {
    if let Some(card) = client.card(id).await.ok().and_then(terminal::of) {
        say::aside_lines(&terminal::draw(&card));
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
        Ending::Ruled(_) => {
            let what = match decided.decision {
                Decision::Approve => "allowed by policy",
                Decision::Answer | Decision::Edit | Decision::Deny => "denied by policy",
            };
            format!("{what}: {}", decided.reason_and_rule())
        }
        Ending::Answered(AnswerView { scope: Some(scope), .. }) if *scope != Scope::Once => {
            format!("{} ({scope})", decided.reason)
        }
        Ending::Answered(_) | Ending::Left | Ending::Expired | Ending::Cancelled => {
            decided.reason.clone()
        }
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
        Ending::Left => ("left", None, None),
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

/// How often the deadline is read again: it moves when the ask is first shown, and stops in a
/// pause.
const REREAD: usize = 10;

/// Keeps the line up to date until the future is dropped, which removes the line. Writes nothing
/// where stderr is no terminal.
async fn draw_wait(client: &Client, id: &str) -> Infallible {
    if !io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    let places = client.ready().await.map(|ready| places(&ready)).unwrap_or_default();
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let line = DrawnLine;
    let mut deadline = None;
    for at in 0_usize.. {
        ticks.tick().await;
        if at.is_multiple_of(REREAD)
            && let Ok(ask) = client.ask(id).await
        {
            deadline = ask.deadline.and_then(|at| at.parse::<Timestamp>().ok());
        }
        let left = deadline.map(|at| at.as_millisecond() - clock::now_ms());
        line.draw(&waiting_text(left, &places));
    }
    std::future::pending().await
}

/// Where people can answer: the inbox's address, and the chats that receive presses.
fn places(ready: &ReadyReply) -> String {
    let up = ready.adapters.iter().filter(|(_, adapter)| adapter.state != "down");
    let mut chats: Vec<String> = up.map(|(name, _)| say::literal(name)).collect();
    let inbox = chats.iter().position(|name| name == "inbox").map(|at| {
        chats.remove(at);
        say::literal(&ready.inbox)
    });
    let chats = (!chats.is_empty()).then(|| chats.join(", "));
    inbox.into_iter().chain(chats).collect::<Vec<_>>().join(" or ")
}

fn waiting_text(left: Option<i64>, places: &str) -> String {
    let left = left.map(|ms| match (ms + 999) / 1000 {
        ..=0 => "time is up".to_owned(),
        seconds @ ..3600 => format!("{}:{:02} left", seconds / 60, seconds % 60),
        _ => format!("{} left", clock::span(ms)),
    });
    let places = (!places.is_empty()).then(|| format!("answer at {places}"));
    let parts = [left, places, Some("Ctrl-C cancels it".to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A line that is drawn over itself. A dropped one is gone from the screen.
struct DrawnLine;

impl DrawnLine {
    fn draw(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        // A longer line would wrap, and could not be drawn over.
        let width = columns::of(&stderr).unwrap_or(80);
        let text: String = text.chars().take(width.saturating_sub(1)).collect();
        let _ = write!(stderr, "\r\u{1b}[K{text}").and_then(|()| stderr.flush());
    }
}

impl Drop for DrawnLine {
    fn drop(&mut self) {
        self.draw("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_long_and_where() {
        let line = waiting_text(Some(272_000), "http://127.0.0.1:7117 or telegram");
        assert_eq!(
            line,
            "4:32 left · answer at http://127.0.0.1:7117 or telegram · Ctrl-C cancels it"
        );
        assert_eq!(waiting_text(Some(-5), ""), "time is up · Ctrl-C cancels it");
        assert_eq!(waiting_text(Some(7_200_000), ""), "2 hours left · Ctrl-C cancels it");
        assert_eq!(waiting_text(None, ""), "Ctrl-C cancels it");
    }
}
