//! Those who ask: over HTTP with keys, and by the real `countersign ask`.

use super::fixture::Fixture;
use crate::daemon::shell;
use rand::{Rng, rngs::StdRng};
use serde_json::{Value, json};
use std::{process::Stdio, sync::Arc};

/// Asks for one call after the other and waits for each, whatever happens to the daemon; sometimes
/// asks again later, with the same key.
pub async fn over_http(fixture: Arc<Fixture>, name: String, mut rng: StdRng) {
    for n in 0.. {
        if fixture.no_new_asks.is_cancelled() {
            return;
        }
        let case = format!("case-{name}-{n}");
        let mut call = shell(&format!("git push origin {case}"));
        call["agent"] = json!(name);
        call["key"] = json!(case);
        if rng.random_bool(0.1) {
            call["expires_in_s"] = json!(rng.random_range(1..3));
        }
        fixture.ledger.asks(&case);
        let times = if rng.random_bool(0.2) { 2 } else { 1 };
        for _ in 0..times {
            let got = attend(&fixture, &call, &mut rng).await;
            fixture.ledger.got(&case, got);
        }
    }
}

/// Comes back with the same key until there is an answer.
async fn attend(fixture: &Fixture, call: &Value, rng: &mut StdRng) -> Value {
    loop {
        match fixture.entrance(rng).hand_in(call).await {
            Some((200, told)) => return told,
            // Still open; or the daemon went away, or is about to.
            Some((202 | 503, _)) | None => {}
            Some(other) => panic!("{call} was refused: {other:?}"),
        }
    }
}

/// The same with the program's own command, a process for each call.
pub async fn by_command(fixture: Arc<Fixture>, name: String, mut rng: StdRng) {
    for n in 0.. {
        if fixture.no_new_asks.is_cancelled() {
            return;
        }
        let case = format!("case-{name}-{n}");
        fixture.ledger.asks(&case);
        let told = loop {
            let entrance = fixture.entrance(&mut rng);
            entrance.open().await;
            let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
            command.arg("--config").arg(&entrance.config).args(["ask", "--json", "--"]);
            command.args(["git", "push", "origin", &case]).kill_on_drop(true);
            command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command.env("HOME", entrance.config.parent().unwrap()).stdin(Stdio::null());
            let ended = command.output().await.unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            match ended.status.code() {
                Some(0 | 3 | 5) => break serde_json::from_slice(&ended.stdout).unwrap(),
                // It may find nobody there at first. Once it waits it has to get its answer.
                _ if said.contains("no countersign daemon at") => {}
                code => panic!("`ask` for {case} ended with {code:?}: {said}"),
            }
        };
        fixture.ledger.got(&case, told);
    }
}
