//! `countersign ask --jsonl`: one process for all calls of a program, as lines of JSON.

use super::{
    Exit,
    asking::{InterruptSignals, as_json},
    caller::Caller,
    lines::{of_stdin, writer},
    open_calls::{CallNews, OpenCalls, WithoutDaemon},
};
use anyhow::Result;
use countersign_client::Client;
use countersign_domain::{exact_json, wire::CancelReason};
use countersign_gate::call::Call;
use countersign_tokens::ids;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, os::unix::process::parent_id, time::Duration};
use tokio::{
    sync::mpsc::UnboundedSender,
    time::{interval, timeout},
};

/// The time for the program to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);
/// How often it is seen whether the program that started us is still there.
const LOOK: Duration = Duration::from_secs(2);

/// The calls of one program.
struct AskLines {
    /// What every call has that does not say otherwise.
    call: Call,
    calls: OpenCalls,
    /// The program's name of each open call, by its key.
    open: HashMap<String, Value>,
    out: UnboundedSender<Vec<u8>>,
}

pub(super) async fn run(client: Client, caller: Caller) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = InterruptSignals::new()?;
    let (out, writing) = writer(tokio::io::stdout());
    let mut lines = AskLines {
        call: caller.call("", Value::Null)?,
        calls: OpenCalls::new(client, WithoutDaemon::Fails),
        open: HashMap::new(),
        out,
    };
    let exit = tokio::select! {
        () = lines.serve() => Exit::Good,
        () = signals.any() => Exit::Interrupted,
    };
    lines.calls.close(CancelReason::Aborted).await;
    drop(lines.out);
    let _ = timeout(LAST_LINES, writing).await;
    Ok(exit)
}

impl AskLines {
    /// Serves until stdin has ended and everything is decided, or the program is gone.
    async fn serve(&mut self) {
        let (mut input, mut ended, parent) = (of_stdin(), false, parent_id());
        let mut ticks = interval(LOOK);
        while !ended || !self.open.is_empty() {
            tokio::select! {
                line = input.recv(), if !ended => match line {
                    Some(line) if line.trim_ascii().is_empty() => {}
                    Some(line) => self.line(&line),
                    None => ended = true,
                },
                news = self.calls.next() => self.news(news),
                () = self.out.closed() => return,
                // A program that was killed closes its pipes, and reads no answer.
                _ = ticks.tick() => if parent_id() != parent { return },
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        let mut fields = match exact_json::from_slice::<Map<String, Value>>(line) {
            Ok(fields) => fields,
            Err(error) => {
                let why = format!("this line is no JSON object: {error}");
                return self.say(&json!({ "id": null, "error": why }));
            }
        };
        if let Some(id) = fields.get("cancel") {
            let key = self.open.iter().find(|(_, open)| *open == id).map(|(key, _)| key.clone());
            match key {
                Some(key) => {
                    self.open.remove(&key);
                    self.calls.take_back(&key, CancelReason::Aborted);
                    self.say(&json!({ "id": id, "state": "cancelled" }));
                }
                None => self.say(&json!({ "id": id, "error": "no such call is open" })),
            }
            return;
        }
        let id = fields.remove("id").unwrap_or_default();
        // Under an id that stands for two calls, one's approval would be read as the other's.
        if !id.is_null() && self.open.values().any(|open| *open == id) {
            let why = "a call with this `id` is open; this one is not asked about";
            return self.say(&json!({ "id": null, "refused": id, "error": why }));
        }
        match self.read(fields) {
            Ok(call) => {
                let key = call.key.clone().unwrap_or_default();
                self.open.insert(key.clone(), id);
                self.calls.open(key, call);
            }
            Err(why) => self.say(&json!({ "id": id, "error": why })),
        }
    }

    /// A call as `POST /v1/calls` takes it; the options of the command fill in what is
    /// missing.
    fn read(&self, mut fields: Map<String, Value>) -> Result<Call, String> {
        if !fields.contains_key("tool") && !fields.contains_key("questions") {
            return Err("`tool` is missing; it names what the call would run".to_owned());
        }
        let Ok(Value::Object(defaults)) = serde_json::to_value(&self.call) else {
            return Err("the options of this command make no call".to_owned());
        };
        for (name, value) in defaults {
            if name != "key" && name != "args" {
                fields.entry(name).or_insert(value);
            }
        }
        fields.entry("key").or_insert_with(|| json!(ids::nonce()));
        if fields.get("tool").and_then(Value::as_str) == Some("") {
            fields.insert("tool".to_owned(), json!("ask_user"));
        }
        let call: Call = serde_json::from_value(Value::Object(fields))
            .map_err(|error| format!("this is not a call: {error}"))?;
        call.check().map_err(|wrong| wrong.to_string())?;
        match call.key.as_ref().is_some_and(|key| self.open.contains_key(key)) {
            true => Err("a call with this `key` is open already".to_owned()),
            false => Ok(call),
        }
    }

    fn news(&mut self, news: CallNews) {
        match news {
            CallNews::Opened(key, ask) => {
                if let Some(id) = self.open.get(&key) {
                    self.say(&json!({ "id": id, "verdict": "ask", "ask": ask, "state": "open" }));
                }
            }
            CallNews::Decided(key, decided) => {
                let Some(id) = self.open.remove(&key) else { return };
                let mut said = Map::from_iter([("id".to_owned(), id)]);
                // FAIL-CLOSED: an error has no verdict.
                match (*decided).as_ref().map(as_json) {
                    Ok(decided) => said.extend(decided.as_object().cloned().unwrap_or_default()),
                    Err(error) => said.extend([("error".to_owned(), json!(error.to_string()))]),
                }
                self.say(&Value::Object(said));
            }
        }
    }

    fn say(&self, line: &Value) {
        // A program that is gone is noticed in `serve`.
        let _ = self.out.send(format!("{line}\n").into_bytes());
    }
}
