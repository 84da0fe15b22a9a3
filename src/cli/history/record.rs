//! One ask in whole.

use crate::cli::{Exit, say, when::when_in_full};
use anyhow::{Context as _, Result};
use countersign_bridge::card::terminal;
use countersign_client::Client;
use countersign_domain::{
    deciders,
    wire::{AskRecord, AskState, DeliveryView},
};

pub(super) async fn run(client: &Client, id: &str, json: bool) -> Result<Exit> {
    let record = client.record(id).await?;
    if json {
        say::json(&serde_json::to_value(&record)?)?;
        return Ok(Exit::Good);
    }
    let card = terminal::of(record.ask.clone());
    let card = card.context("the daemon is of another version: it sends no cards")?;
    say::out(&format!("{}\n\n{}", terminal::draw(&card), lines(&record).join("\n")))?;
    Ok(Exit::Good)
}

/// What is known of the ask beside its card.
fn lines(record: &AskRecord) -> Vec<String> {
    let ask = &record.ask;
    let mut lines = vec![
        line("ask", &ask.id),
        line("session", &format!("{} of {}", ask.call.session, ask.call.agent)),
        line("asked", &when_in_full(&ask.created)),
        line("why", &ask.why),
    ];
    if let Some(closed) = &record.closed {
        let by = ask.answer.as_ref().map(|it| format!(" by {}", deciders(&it.by, &it.with)));
        let text = format!("{}{}", when_in_full(closed), by.unwrap_or_default());
        lines.push(line(ended(ask.state), &text));
    }
    lines.extend(record.through.as_ref().map(|through| line("through", through)));
    lines.extend(ask.reason.as_ref().map(|reason| line("result", reason)));
    lines.extend(record.stored.iter().map(|rule| line("stored", rule)));
    lines.extend(record.undone_by.as_ref().map(|by| line("undone", &format!("by {by}"))));
    lines.extend(record.deliveries.iter().map(delivery));
    lines
}

fn ended(state: AskState) -> &'static str {
    match state {
        AskState::Open => "open",
        AskState::Answered => "answered",
        AskState::Expired => "expired",
        AskState::Cancelled => "cancelled",
    }
}

fn delivery(delivery: &DeliveryView) -> String {
    let DeliveryView { adapter, target, shown, held, gone } = delivery;
    let place = if adapter == target { adapter.clone() } else { format!("{adapter} {target}") };
    let name = if *shown { "shown" } else { "not shown" };
    match gone.as_ref().or(held.as_ref()) {
        Some(why) => line(name, &format!("{place}: {why}")),
        None => line(name, &place),
    }
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<11}{}", say::literal(text))
}
