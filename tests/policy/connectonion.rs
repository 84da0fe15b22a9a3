//! Seed 001: ConnectOnion's recorded answers, strict and under `compat`: calls ruled on line by
//! line, and whole sessions.

mod answers;
mod session;
mod sessions;
mod verdicts;

use countersign_profiles::Profile;
use countersign_profiles::connectonion::{ConnectOnion, Requester};
use serde_json::{Value, json};

use crate::connectonion::session::{AgentSession, CheckOutcome};
use crate::support::{Check, Kind, Vectors};

fn vectors() -> Vectors {
    Vectors::new(Profile::Connectonion, "001-connectonion")
}

fn host(config: &Value, kind: Kind) -> ConnectOnion {
    let text = config.to_string();
    ConnectOnion::read(Some(&text), "config", kind == Kind::Compat).unwrap()
}

fn session(config: &Value, requester: Requester, io: bool, kind: Kind) -> AgentSession {
    AgentSession::new(host(config, kind), requester, io, kind == Kind::Compat)
}

/// The verdict on a line; `error:Name` where ConnectOnion itself stumbles.
fn ruled(check: &Check, line: &Value) -> Value {
    let answer = check.line(line);
    match answer["error"].as_str() {
        Some(error) => format!("error:{}", error.split(':').next().unwrap()).into(),
        None => answer["verdict"].clone(),
    }
}

fn word(step: &CheckOutcome) -> &'static str {
    match step {
        CheckOutcome::Run => "allow",
        CheckOutcome::Prompt => "ask",
        CheckOutcome::Refused(_) => "deny",
    }
}

/// The `permissions` of a row: entries, or names of tools.
fn permitted(row: &Value) -> Value {
    row.get("permissions").cloned().unwrap_or_else(|| json!({}))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}
