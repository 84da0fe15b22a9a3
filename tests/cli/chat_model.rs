//! A scripted model behind OpenAI's chat completions and Gemini's API, for the real agents: it calls
//! a shell tool once, and says what it was told.

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
pub struct ChatModel {
    pub url: String,
    told: watch::Receiver<Option<String>>,
}

struct Turn {
    tool: &'static str,
    input: Value,
    /// How often it makes its call.
    tries: usize,
    /// What the agent's own classifier says of it, if that asks.
    verdict: Option<Value>,
    told: watch::Sender<Option<String>>,
}

/// The tool in which Qwen's classifier answers.
const VERDICT: &str = "respond_in_schema";

impl ChatModel {
    /// A model whose first turn calls this tool.
    pub async fn calling(tool: &'static str, input: Value) -> Self {
        Self::judged(tool, input, 1, None).await
    }

    /// The same, so many times, with a verdict of the agent's own classifier.
    pub async fn judged(
        tool: &'static str,
        input: Value,
        tries: usize,
        verdict: Option<Value>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, told) = watch::channel(None);
        let turn = Arc::new(Turn { tool, input, tries, verdict, told: sender });
        let router = Router::new().fallback(reply).with_state(turn);
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { url, told }
    }

    /// Waits until the model is told what became of its call.
    pub async fn is_told(&mut self) -> String {
        // A first start may install packages.
        let told = timeout(crate::daemon::LONG * 6, self.told.wait_for(Option::is_some)).await;
        told.expect("the model is told nothing").unwrap().clone().unwrap()
    }

    /// What the model has been told of its call, if it has.
    pub fn told(&self) -> Option<String> {
        self.told.borrow().clone()
    }

    /// Waits until the model is told something after this was asked before.
    pub async fn is_told_next(&mut self) {
        let told = timeout(crate::daemon::LONG * 3, self.told.changed()).await;
        told.expect("the model is told nothing").unwrap();
    }
}

async fn reply(State(turn): State<Arc<Turn>>, Json(request): Json<Value>) -> Response {
    let (is_chat, turns) = match request.get("messages") {
        Some(messages) => (true, messages.as_array().unwrap()),
        None => (false, request["contents"].as_array().unwrap()),
    };
    if request["tools"].to_string().contains(VERDICT) {
        return verdict(&turn, &request["tools"][0]["function"]["parameters"]["properties"]);
    }
    // Titles and the like are asked for without tools.
    let offers = request["tools"].to_string().contains(&format!("\"name\":\"{}\"", turn.tool));
    let results: Vec<String> =
        turns.iter().filter(|turn| is_result(turn)).map(Value::to_string).collect();
    let calls = offers && results.len() < turn.tries;
    if offers && !results.is_empty() {
        turn.told.send_replace(Some(results.concat()));
    }
    let events =
        if is_chat { chat(&turn, calls, results.len()) } else { vec![gemini(&turn, calls)] };
    if is_chat && request["stream"] != true {
        let message = json!({"role": "assistant", "content": "ok"});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        return Json(json!({"id": "c1", "object": "chat.completion", "choices": [choice]}))
            .into_response();
    }
    let events = events.into_iter().map(|event| match event {
        Value::String(text) => Ok::<_, Infallible>(Event::default().data(text)),
        event => Ok(Event::default().json_data(event).unwrap()),
    });
    Sse::new(stream::iter(events)).into_response()
}

/// What the classifier says, with the fields that it asks for.
fn verdict(turn: &Turn, fields: &Value) -> Response {
    let Some(Value::Object(mut verdict)) = turn.verdict.clone() else {
        return axum::http::StatusCode::BAD_REQUEST.into_response();
    };
    verdict.retain(|field, _| fields.get(field).is_some());
    let function = json!({"name": VERDICT, "arguments": Value::from(verdict).to_string()});
    let call = json!({"id": "call_v", "type": "function", "function": function});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    Json(json!({"id": "c1", "object": "chat.completion", "choices": [choice]})).into_response()
}

fn is_result(turn: &Value) -> bool {
    turn["role"] == "tool" || turn.to_string().contains("\"functionResponse\"")
}

fn chat(turn: &Turn, calls: bool, tries: usize) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model",
            "choices": [choice]})
    };
    let function = json!({"name": turn.tool, "arguments": turn.input.to_string()});
    let call = json!({"index": 0, "id": format!("call_{}", tries + 1), "type": "function", "function": function});
    let (delta, finish) = if calls {
        (json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
    } else {
        (json!({"role": "assistant", "content": "All done."}), "stop")
    };
    vec![chunk(delta, Value::Null), chunk(json!({}), json!(finish)), json!("[DONE]")]
}

fn gemini(turn: &Turn, calls: bool) -> Value {
    let part = if calls {
        json!({"functionCall": {"name": turn.tool, "args": turn.input}})
    } else {
        json!({"text": "All done."})
    };
    let content = json!({"role": "model", "parts": [part]});
    json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
}
