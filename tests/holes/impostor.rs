//! Somebody who takes the daemon's place while it is away.

use axum::{Router, body::to_bytes, extract::Request, response::Response};
use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    net::{TcpListener, UnixListener},
    sync::watch,
    task::JoinHandle,
};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Heard {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Answers everything with the answer it was given, and keeps what it was sent.
pub struct Impostor {
    heard: Arc<Mutex<Vec<Heard>>>,
    count: watch::Receiver<usize>,
    serving: JoinHandle<()>,
}

impl Impostor {
    /// On a port that the daemon has left.
    pub async fn on_port(port: u16, answer: fn(&Heard) -> Response) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let (router, heard, count) = router(answer);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { heard, count, serving }
    }

    /// In the place of the daemon's socket.
    pub async fn on_socket(path: &Path, answer: fn(&Heard) -> Response) -> Self {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap();
        let (router, heard, count) = router(answer);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { heard, count, serving }
    }

    /// Waits until this many requests have come.
    pub async fn hears(&mut self, many: usize) {
        let heard = self.count.wait_for(|count| *count >= many);
        tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap().unwrap();
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// Leaves the place, with what it was sent.
    pub async fn leave(self) -> Vec<Heard> {
        self.serving.abort();
        let _ = self.serving.await;
        self.heard.lock().unwrap().clone()
    }
}

type Kept = (Router, Arc<Mutex<Vec<Heard>>>, watch::Receiver<usize>);

fn router(answer: fn(&Heard) -> Response) -> Kept {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (counted, count) = watch::channel(0);
    let kept = heard.clone();
    let take = async move |request: Request| {
        let (parts, body) = request.into_parts();
        let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let one = Heard {
            method: parts.method.to_string(),
            target: parts.uri.to_string(),
            headers: parts.headers.iter().map(header).collect(),
            body: to_bytes(body, 1 << 20).await.unwrap().to_vec(),
        };
        let response = answer(&one);
        kept.lock().unwrap().push(one);
        counted.send_modify(|count| *count += 1);
        response
    };
    (Router::new().fallback(take), heard, count)
}

impl Heard {
    /// Everything of it as one text.
    pub fn text(&self) -> String {
        format!("{} {} {:?} {}", self.method, self.target, self.headers, self.said())
    }

    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}
