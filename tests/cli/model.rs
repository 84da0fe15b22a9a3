//! A scripted model for the real Claude Code: it calls a tool once, or several times at once, and
//! tells what it was told. In auto mode its replies carry the verdict of the vendor's classifier.
//!
//! It keeps no state: where the conversation stands is told by the request itself.

use axum::{
    Json, Router,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
    routing::post,
};
use futures::stream;
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc};
use tokio::{net::TcpListener, sync::watch};

/// A model server on this machine.
pub struct Model {
    pub url: String,
    results: watch::Receiver<Vec<Value>>,
}

struct Script {
    tool: &'static str,
    inputs: Vec<Value>,
    /// What the classifier says of every call, in auto mode.
    verdict: Option<Value>,
    /// How often it makes the call by itself, whatever it is told.
    tries: usize,
    /// Whether a subagent of it makes the call.
    by_subagent: bool,
    results: watch::Sender<Vec<Value>>,
}

/// What tells the model that its call may be made again: Claude's words after a hook's, and ours.
const RETRY: [&str; 2] = ["may retry this tool call", "may run once"];

/// The tool that starts a subagent, and what that is told.
const SUBAGENT: &str = "Agent";
const SUBTASK: &str = "Do the subtask.";

impl Model {
    /// A model whose first turn calls this tool.
    pub async fn calling(tool: &'static str, input: Value) -> Self {
        Self::calling_at_once(tool, vec![input]).await
    }

    /// A model whose first turn calls this tool with each of these inputs.
    pub async fn calling_at_once(tool: &'static str, inputs: Vec<Value>) -> Self {
        Self::scripted(tool, inputs, None, 1, false).await
    }

    /// A model that makes this call so many times, and again when it is told that it may; of each
    /// its classifier says this.
    pub async fn judged(tool: &'static str, input: Value, verdict: Value, tries: usize) -> Self {
        Self::scripted(tool, vec![input], Some(verdict), tries, false).await
    }

    /// The same once, by a subagent, whose start the classifier lets pass.
    pub async fn judged_subagent(tool: &'static str, input: Value, verdict: Value) -> Self {
        Self::scripted(tool, vec![input], Some(verdict), 1, true).await
    }

    async fn scripted(
        tool: &'static str,
        inputs: Vec<Value>,
        verdict: Option<Value>,
        tries: usize,
        by_subagent: bool,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (told, results) = watch::channel(Vec::new());
        let script = Arc::new(Script { tool, inputs, verdict, tries, by_subagent, results: told });
        let count = || async { Json(json!({"input_tokens": 100})) };
        let router = Router::new()
            .route("/v1/messages/count_tokens", post(count))
            .route("/v1/messages", post(message))
            .with_state(script);
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { url, results }
    }

    /// What the model was told about its calls so far.
    pub fn results(&self) -> Vec<Value> {
        self.results.borrow().clone()
    }
}

async fn message(State(script): State<Arc<Script>>, Json(request): Json<Value>) -> Response {
    let blocks = script.next(&request);
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop = if calls { "tool_use" } else { "end_turn" };
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    // Claude Code takes messages of one id for one message.
    let id = format!("msg_{}", request["messages"].as_array().map_or(0, Vec::len));
    let mut whole = json!({"id": id, "type": "message", "role": "assistant", "content": blocks,
        "model": request["model"], "stop_reason": stop, "stop_sequence": null, "usage": usage});
    let verdicts = script.verdicts(&blocks);
    if let Some(verdicts) = &verdicts {
        whole["safeguard_results"] = verdicts.clone();
    }
    if request["stream"] != true {
        return Json(whole).into_response();
    }
    let mut start = whole.clone();
    (start["content"], start["stop_reason"]) = (json!([]), Value::Null);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in blocks.iter().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        };
        events.extend([
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]);
    }
    let mut delta = json!({"stop_reason": stop, "stop_sequence": null});
    if let Some(verdicts) = verdicts {
        delta["safeguard_results"] = verdicts;
    }
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    let events = events.into_iter().map(|event| {
        let name = event["type"].as_str().unwrap().to_owned();
        Ok::<_, Infallible>(Event::default().event(name).json_data(event).unwrap())
    });
    Sse::new(stream::iter(events)).into_response()
}

impl Script {
    fn next(&self, request: &Value) -> Vec<Value> {
        let text = |text: &str| vec![json!({"type": "text", "text": text})];
        let tools = request["tools"].as_array().cloned().unwrap_or_default();
        // Titles and the like are asked for without tools.
        if !tools.iter().any(|tool| tool["name"] == self.tool) {
            return text("ok");
        }
        let messages = request["messages"].as_array().unwrap();
        let is_subagent = messages.first().is_some_and(|it| it.to_string().contains(SUBTASK));
        if self.by_subagent && !is_subagent {
            let input = json!({"description": "Do it", "prompt": SUBTASK,
                "subagent_type": "general-purpose"});
            let start = json!({"type": "tool_use", "id": "toolu_sub", "name": SUBAGENT,
                "input": input});
            return if messages.len() == 1 { vec![start] } else { text("All done.") };
        }
        let results: Vec<Value> = messages
            .iter()
            .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default())
            .filter(|block| block["type"] == "tool_result")
            .map(|block| block["content"].clone())
            .collect();
        let told_again = messages.last().is_some_and(|last| {
            let last = last["content"].to_string();
            RETRY.iter().any(|words| last.contains(words))
        });
        if results.len() < self.tries || told_again {
            let made = results.len();
            self.results.send_replace(results);
            let call = |(index, input): (usize, &Value)| {
                let mut input = input.clone();
                if made > 0 && input["description"].is_string() {
                    // A model finds other words for the same call.
                    input["description"] = json!(format!("Try number {}", made + 1));
                }
                json!({"type": "tool_use", "id": format!("toolu_{}", made + index),
                    "name": self.tool, "input": input})
            };
            return self.inputs.iter().enumerate().map(call).collect();
        }
        self.results.send_replace(results);
        text("All done.")
    }

    /// The classifier's verdicts on these calls.
    fn verdicts(&self, blocks: &[Value]) -> Option<Value> {
        let verdict = self.verdict.as_ref()?;
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        let verdicts: serde_json::Map<_, _> = calls
            .filter_map(|call| {
                let passes = json!({"type": "evaluated", "outcome": "not_flagged"});
                let verdict = if call["name"] == SUBAGENT { passes } else { verdict.clone() };
                Some((call["id"].as_str()?.to_owned(), verdict))
            })
            .collect();
        let status = json!({"type": "available", "tool_uses": verdicts});
        Some(json!([{"type": "dangerous_tool_use", "status": status}]))
    }
}
