//! The mode of an agent: it asks for permission only as far as its mode does, so its person may
//! choose one.

use crate::hosted::Step;
use serde_json::{Value, json};

/// How many of our requests are waited for.
const MOST: usize = 64;

/// The mode that is wanted, and our requests for it.
#[derive(Debug)]
pub(super) struct Modes {
    wanted: Option<String>,
    run: String,
    asked: Vec<String>,
    count: u64,
}

impl Modes {
    pub(super) fn new(wanted: Option<String>, run: &str) -> Self {
        Self { wanted, run: run.to_owned(), asked: Vec::new(), count: 0 }
    }

    /// A session was opened with this result: asks for the wanted mode, or says why that cannot be.
    pub(super) fn opened(&mut self, session: &str, result: &Value, agent: &str) -> Option<Step> {
        let wanted = self.wanted.as_deref()?;
        let modes = result.get("modes").unwrap_or(&Value::Null);
        if modes.get("currentModeId").and_then(Value::as_str) == Some(wanted) {
            return None;
        }
        let offered = modes.get("availableModes").and_then(Value::as_array);
        let ids = offered.into_iter().flatten().filter_map(|mode| mode.get("id")?.as_str());
        let ids: Vec<&str> = ids.collect();
        if !ids.contains(&wanted) {
            let offers = match ids.as_slice() {
                [] => "it offers none".to_owned(),
                ids => format!("use {}", ids.join(", ")),
            };
            let log = format!("{agent} has no mode `{wanted}`, and stays in its own: {offers}");
            return Some(Step::Log(log));
        }
        self.count += 1;
        let id = format!("countersign-{}-mode-{}", self.run, self.count);
        let params = json!({"sessionId": session, "modeId": wanted});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "session/set_mode",
            "params": params});
        self.asked.push(id);
        let many = self.asked.len().saturating_sub(MOST);
        self.asked.drain(..many);
        Some(Step::Send(line.to_string()))
    }

    /// A reply to a request of ours, which the editor does not get; what there is to say about it.
    pub(super) fn answered(
        &mut self,
        id: &Value,
        error: &Value,
        agent: &str,
    ) -> Option<Option<String>> {
        let at = self.asked.iter().position(|asked| id == asked)?;
        self.asked.remove(at);
        let why = error.get("message").and_then(Value::as_str).unwrap_or("it says no more");
        let wanted = self.wanted.as_deref().unwrap_or_default();
        let refused = || format!("{agent} does not take the mode `{wanted}`: {why}");
        Some((!error.is_null()).then(refused))
    }
}
