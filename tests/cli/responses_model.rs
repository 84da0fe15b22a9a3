//! A scripted model behind OpenAI's Responses API, for the real Codex: each of its turns calls one
//! tool, and the last one says so.

use axum::{
    Json, Router,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures::stream;
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc};
use tokio::{net::TcpListener, sync::watch, time::timeout};

/// A model server on this machine.
pub struct ResponsesModel {
    pub url: String,
    told: watch::Receiver<String>,
}

struct Script {
    calls: Vec<(&'static str, Value)>,
    told: watch::Sender<String>,
}

impl ResponsesModel {
    /// A model that makes these calls, one after the other.
    pub async fn calling(calls: Vec<(&'static str, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, told) = watch::channel(String::new());
        let script = Arc::new(Script { calls, told: sender });
        let router = Router::new().fallback(reply).with_state(script);
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { url, told }
    }

    /// Waits until the model has read these words.
    pub async fn is_told(&mut self, words: &str) {
        let reads = self.told.wait_for(|told| told.contains(words));
        let told = timeout(crate::daemon::LONG * 3, reads).await.map(|_| ());
        assert!(told.is_ok(), "{words:?} is not in {}", *self.told.borrow());
    }
}

async fn reply(State(script): State<Arc<Script>>, request: Option<Json<Value>>) -> Response {
    let Some(Json(request)) = request else {
        return Json(json!({"object": "list", "data": [], "models": []})).into_response();
    };
    // Codex's own reviewer is a model too: it asks for its verdict in a form.
    if !request["text"]["format"].is_null() {
        let verdict = json!({"risk_level": "high", "user_authorization": "low", "outcome": "deny",
            "rationale": "scripted: sends data out"});
        return says(&verdict.to_string());
    }
    let input = request["input"].as_array().cloned().unwrap_or_default();
    let is_output = |item: &&Value| item["type"].as_str().is_some_and(|it| it.ends_with("_output"));
    let done = input.iter().filter(is_output).count();
    script.told.send_replace(request["input"].to_string());
    match script.calls.get(done) {
        Some((tool, arguments)) => {
            let (namespace, name) = tool.split_once('/').unzip();
            sent(json!({"type": "function_call", "id": format!("fc_{done}"),
                "call_id": format!("call_{done}"), "name": name.unwrap_or(tool),
                "namespace": namespace, "status": "completed",
                "arguments": arguments.to_string()}))
        }
        None => says("All done."),
    }
}

fn says(text: &str) -> Response {
    sent(json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]}))
}

fn sent(item: Value) -> Response {
    let usage = json!({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2});
    let response = |status: &str, output: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status,
            "model": "fake", "output": output, "usage": usage})
    };
    let events = [
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response("completed", json!([item]))}),
    ];
    let events = events.into_iter().map(|event| {
        let name = event["type"].as_str().unwrap().to_owned();
        Ok::<_, Infallible>(Event::default().event(name).json_data(event).unwrap())
    });
    Sse::new(stream::iter(events)).into_response()
}
