//! A fake ntfy server with one topic. It refuses what the real one refuses: a wrong token, a topic with
//! an invalid name, a text or a set of actions that is too long.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a stand-in fails by panicking")]

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing,
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{net::TcpListener, sync::mpsc};

pub const TOPIC: &str = "approve_7f3a";
pub const TOKEN: &str = "tk_secret";

pub struct FakeNtfy {
    pub url: String,
    world: Arc<World>,
    published: mpsc::UnboundedReceiver<Value>,
}

struct World {
    published: mpsc::UnboundedSender<Value>,
    /// How the next requests are refused, whatever they hold.
    away: Mutex<Vec<StatusCode>>,
}

impl FakeNtfy {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, published) = mpsc::unbounded_channel();
        let world = Arc::new(World { published: sender, away: Mutex::default() });
        let router = Router::new().route("/", routing::post(publish)).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, world, published }
    }

    /// The section of the config for it.
    pub fn config(&self) -> String {
        format!("[ntfy]\nurl = \"{}\"\ntopic = \"{TOPIC}\"\ntoken = \"{TOKEN}\"\n", self.url)
    }

    pub fn refuse_next(&self, with: &[StatusCode]) {
        self.world.away.lock().unwrap().extend(with);
    }

    /// The next message that was published.
    pub async fn next(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(30), self.published.recv()).await;
        next.expect("a message is published").unwrap()
    }
}

async fn publish(
    State(world): State<Arc<World>>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> StatusCode {
    let mut away = world.away.lock().unwrap();
    if !away.is_empty() {
        return away.remove(0);
    }
    if headers.get("authorization").is_none_or(|it| it != &format!("Bearer {TOKEN}")) {
        return StatusCode::UNAUTHORIZED;
    }
    let text = |key: &str| message[key].as_str().unwrap_or_default();
    let actions = message["actions"].as_array().cloned().unwrap_or_default();
    let whole = |action: &Value| {
        matches!(action["action"].as_str(), Some("view" | "http"))
            && ["label", "url"]
                .iter()
                .all(|key| !action[key].as_str().unwrap_or_default().is_empty())
    };
    if text("topic") != TOPIC || text("message").len() > 4_096 {
        return StatusCode::BAD_REQUEST;
    }
    if actions.len() > 3 || !actions.iter().all(whole) {
        return StatusCode::BAD_REQUEST;
    }
    world.published.send(message.clone()).unwrap();
    StatusCode::OK
}
