//! wayland-core's handshake as a library: its own recorded sequences, run against the types that
//! programs embed. Rows that one call decides are in tests/policy/profile_wcore.rs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod bridge;
mod rest;
mod sequences;
mod wire;

use serde_json::Value;
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

fn rows(file: &str) -> Vec<Value> {
    let path =
        format!("{}/../../../tests/vectors/000-wcore/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A clock that stands still until it is moved.
#[derive(Clone)]
struct Hands(Arc<Mutex<Instant>>);

impl Hands {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn pass(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }

    fn clock(&self) -> countersign_wcore::Clock {
        let at = self.0.clone();
        Arc::new(move || *at.lock().unwrap())
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key:?} in {value}"))
}
