//! A gate in front of an MCP server: its `tools/call` requests are decided here, everything else
//! passes unchanged in both directions. Pure; `cli::host` moves the lines.
//!
//! INVARIANT: a `tools/call` reaches the server only after an approval, and nothing of it that was
//! not decided on.
//! FAIL-CLOSED: what the server might read otherwise than we do does not reach it.

mod claims;
mod strict;

use super::message::{INVALID_REQUEST, error_reply, result_reply};
use crate::{
    denial_message,
    hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step},
};
use claims::ServerClaims;
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call, is_name},
    wire::CancelReason,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use strict::ClientLine;

/// The context of every call through the gate.
#[derive(Debug, Clone)]
pub struct ProxyAround {
    /// The server's name in the names of tools, `mcp__SERVER__TOOL`.
    pub server: String,
    /// The agent's name; that of the client where absent.
    pub agent: Option<String>,
    /// The session's name.
    pub session: String,
    /// The session's end.
    pub ends: SessionEnd,
    /// The machine.
    pub host: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The name of this run: keys derived from it occur in no other run.
    pub run: String,
}

/// One server behind the gate.
#[derive(Debug)]
pub struct ProxySession {
    around: ProxyAround,
    agent: String,
    claims: ServerClaims,
    open: HashMap<String, HeldCall>,
    count: u64,
    client_gone: bool,
}

/// A `tools/call` that waits for a decision.
#[derive(Debug)]
struct HeldCall {
    message: Map<String, Value>,
    progress: u32,
}

impl ProxySession {
    /// A gate that has seen nothing yet.
    #[must_use]
    pub fn new(around: ProxyAround) -> Self {
        let agent = around.agent.clone().unwrap_or_else(|| "mcp".to_owned());
        let (claims, open) = (ServerClaims::default(), HashMap::new());
        Self { around, agent, claims, open, count: 0, client_gone: false }
    }

    fn called(&mut self, message: Map<String, Value>) -> Vec<Step> {
        let id = message.get("id").cloned().unwrap_or_default();
        self.count += 1;
        let key = format!("{}-{}", self.around.run, self.count);
        match self.call(&message, key.clone()) {
            Ok(call) => {
                self.open.insert(key.clone(), HeldCall { message, progress: 0 });
                vec![Step::Submit { key, call: Box::new(call) }]
            }
            Err(why) => vec![denial(&id, &format!("countersign cannot show this call: {why}"))],
        }
    }

    fn call(&self, message: &Map<String, Value>, key: String) -> Result<Call, String> {
        let params = message.get("params").and_then(Value::as_object);
        let name = params.and_then(|params| params.get("name")?.as_str());
        let name = name.ok_or("`params.name` is missing, or is not a text")?;
        let args = params.and_then(|params| params.get("arguments")).cloned();
        let tool = format!("mcp__{}__{name}", self.around.server);
        let args = args.unwrap_or_else(|| json!({}));
        let call = Call {
            key: Some(key),
            host: self.around.host.clone(),
            cwd: self.around.cwd.clone(),
            description: self.claims.of(name),
            accepts: vec![Accepts::UpdatedInput],
            ..Call::new(&self.agent, &self.around.session, tool, args)
        };
        call.check().map_err(|error| error.to_string())?;
        Ok(call)
    }

    /// A message that is no call, on its way to the server.
    fn passing(&mut self, message: &Map<String, Value>) {
        let method = message.get("method").and_then(Value::as_str);
        if let (Some("tools/list"), Some(id)) = (method, message.get("id")) {
            self.claims.asked(id);
        }
        if let (Some("initialize"), None) = (method, &self.around.agent) {
            let name = message.get("params").and_then(|params| {
                params.get("clientInfo")?.get("name")?.as_str().map(str::to_owned)
            });
            let name = name.filter(|name| is_name("name", name, 100).is_ok());
            self.agent = name.unwrap_or_else(|| self.agent.clone());
        }
    }

    /// Takes back the calls of the request that a client cancels.
    fn cancelled(&mut self, request: &Value) -> Vec<Step> {
        let taken = self.open.extract_if(|_, held| held.message.get("id") == Some(request));
        taken.map(|(key, _)| Step::Cancel { key, why: CancelReason::Aborted }).collect()
    }
}

impl HostedSession for ProxySession {
    fn agent(&self) -> &str {
        &self.agent
    }

    fn name(&self) -> &str {
        &self.around.session
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        self.claims.line(line);
        (Forward::On, Vec::new())
    }

    fn host_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        match strict::read(line) {
            ClientLine::Blank => (Forward::On, Vec::new()),
            ClientLine::Other(messages) => {
                messages.iter().for_each(|message| self.passing(message));
                (Forward::On, Vec::new())
            }
            ClientLine::Cancel(request) => match self.cancelled(&request) {
                // The server has never heard of a call that waited here.
                steps if !steps.is_empty() => (Forward::Stays, steps),
                _ => (Forward::On, Vec::new()),
            },
            ClientLine::Calls { calls, others } => {
                others.iter().for_each(|message| self.passing(message));
                let others = others.into_iter().map(|other| Step::Send(text(other)));
                let mut steps: Vec<Step> = others.collect();
                steps.extend(calls.into_iter().flat_map(|call| self.called(call)));
                (Forward::Stays, steps)
            }
            ClientLine::Refused { id, why } => {
                let why = format!("countersign did not pass this on: {why}");
                let reply = error_reply(&id, INVALID_REQUEST, &why);
                (Forward::Stays, vec![Step::Tell(reply.to_string())])
            }
        }
    }

    fn opened(&mut self, key: &str, ask: &str) -> Vec<Step> {
        let held = self.open.get_mut(key);
        held.and_then(|held| held.waits(&format!("A person is asked; the ask is {ask}.")))
            .into_iter()
            .collect()
    }

    fn tick(&mut self) -> Vec<Step> {
        let waits = |held: &mut HeldCall| held.waits("Still waiting for a decision.");
        self.open.values_mut().filter_map(waits).collect()
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        let Some(HeldCall { mut message, .. }) = self.open.remove(key) else { return Vec::new() };
        let id = message.get("id").cloned().unwrap_or_default();
        let denied = |why: &str| vec![denial(&id, why)];
        match decided {
            // SECURITY: nobody decided on a call that was cancelled.
            Ok(decided @ Decided { ending: Ending::Cancelled, .. }) => {
                denied(&denial_message(decided))
            }
            Ok(Decided { decision: Decision::Approve, .. }) => vec![Step::Send(text(message))],
            Ok(Decided { decision: Decision::Edit, ending: Ending::Answered(answer), .. }) => {
                let params = message.get_mut("params").and_then(Value::as_object_mut);
                let (Some(params), Some(input)) = (params, &answer.updated_input) else {
                    return denied("countersign has no decision that fits this call.");
                };
                params.insert("arguments".to_owned(), input.clone());
                vec![Step::Send(text(message))]
            }
            Ok(decided) => denied(&denial_message(decided)),
            Err(why) => denied(&format!("countersign could not decide: {why}")),
        }
    }

    fn host_ended(&mut self) -> Vec<Step> {
        self.client_gone = true;
        self.engine_ended(CancelReason::SessionEnded)
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.open.drain().map(|(key, _)| Step::Cancel { key, why }).collect()
    }

    fn ends(&self) -> SessionEnd {
        self.around.ends
    }

    fn input(&self) -> EngineInput {
        if self.client_gone { EngineInput::Over } else { EngineInput::Open }
    }
}

impl HeldCall {
    /// A notification that the call waits, if the client wants any.
    fn waits(&mut self, message: &str) -> Option<Step> {
        let token = self.message.get("params")?.get("_meta")?.get("progressToken")?.clone();
        self.progress += 1;
        // Progress must rise, and the server's own, which comes later, begins at 0 or 1.
        let progress = f64::from(self.progress) / 1e9 - 1.0;
        let params = json!({"progressToken": token, "progress": progress, "message": message});
        let method = "notifications/progress";
        Some(Step::Tell(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()))
    }
}

/// A denial as the tool's own result, so that the model reads the reason.
fn denial(id: &Value, why: &str) -> Step {
    let result = json!({"content": [{"type": "text", "text": why}], "isError": true});
    Step::Tell(result_reply(id, &result).to_string())
}

fn text(message: Map<String, Value>) -> String {
    Value::Object(message).to_string()
}

#[cfg(test)]
mod tests;
