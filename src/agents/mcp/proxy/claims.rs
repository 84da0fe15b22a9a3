//! What a server says about its tools. Claims: nobody has checked them, and no rule reads them.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most tools that are remembered.
const MOST: usize = 2_000;

/// The claims of one server, by tool.
#[derive(Debug, Default)]
pub(super) struct ServerClaims {
    /// The requests for its list that have no reply yet.
    asked: BTreeSet<String>,
    tools: BTreeMap<String, String>,
}

impl ServerClaims {
    /// The client asks for the list in this request.
    pub(super) fn asked(&mut self, id: &Value) {
        if self.asked.len() < MOST {
            self.asked.insert(id.to_string());
        }
    }

    /// Reads a line of the server, in case it is the list.
    pub(super) fn line(&mut self, line: &[u8]) {
        if self.asked.is_empty() {
            return;
        }
        let Ok(reply) = serde_json::from_slice::<Value>(line) else { return };
        let listed = reply.get("id").is_some_and(|id| self.asked.remove(&id.to_string()));
        let tools = reply.get("result").and_then(|result| result.get("tools")?.as_array());
        for tool in tools.into_iter().flatten().filter(|_| listed) {
            let name = tool.get("name").and_then(Value::as_str);
            if let (Some(name), true) = (name, self.tools.len() < MOST) {
                let claims = claimed(tool);
                self.tools.insert(name.to_owned(), claims);
            }
        }
    }

    /// What the server claims of a tool; `None` for one that it has not listed.
    pub(super) fn of(&self, tool: &str) -> Option<String> {
        self.tools.get(tool).filter(|claims| !claims.is_empty()).cloned()
    }
}

fn claimed(tool: &Value) -> String {
    let annotations = tool.get("annotations");
    let hint = |name: &str| annotations.and_then(|all| all.get(name)?.as_bool());
    let claims = [
        (hint("readOnlyHint") == Some(true), "it only reads"),
        (hint("destructiveHint") == Some(true), "it may destroy"),
        (hint("destructiveHint") == Some(false), "it destroys nothing"),
        (hint("idempotentHint") == Some(true), "doing it twice changes no more than once"),
        (hint("openWorldHint") == Some(true), "it reaches the outside"),
        (hint("openWorldHint") == Some(false), "it reaches nothing outside"),
    ];
    let claims: Vec<&str> = claims.iter().filter(|(holds, _)| *holds).map(|(_, it)| *it).collect();
    match claims.is_empty() {
        true => String::new(),
        false => format!("The server claims, unchecked: {}.", claims.join(", ")),
    }
}
