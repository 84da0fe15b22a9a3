//! `countersign duty`: whose turn it is by the rotas of the config.

use super::{Context, Exit, say, when::when_in_full};
use anyhow::Result;
use countersign_tokens::clock;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It reads the config and asks no daemon, so it does not know who wrote /away. /duty in a chat
does.")]
pub(super) struct DutyArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &DutyArgs) -> Result<Exit> {
    let (config, now, nobody) = (context.config()?, clock::now_ms(), BTreeSet::new());
    let turns: Vec<Value> = config
        .routes
        .rotas
        .iter()
        .map(|rota| {
            let until = rota.next_change(now).map(clock::rfc3339);
            json!({"rota": rota.name, "person": rota.on_duty(now, &nobody), "until": until})
        })
        .collect();
    if args.json {
        say::json(&json!({ "duty": turns }))?;
        return Ok(Exit::Good);
    }
    let text = |turn: &Value, key: &str| {
        turn.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let line = |turn: &Value| {
        let [rota, person, until] = ["rota", "person", "until"].map(|key| text(turn, key));
        say::literal(&format!("{rota}: {person} until {}", when_in_full(&until)))
    };
    let lines: Vec<String> = turns.iter().map(line).collect();
    match lines.is_empty() {
        true => say::out("There is no rota ([[rotas]] in the config).")?,
        false => say::out(&lines.join("\n"))?,
    }
    Ok(Exit::Good)
}
