//! `[log]`: the rows of the log reach a file, a syslog receiver and a web address.

use crate::daemon::{AGENT, Daemon, LONG, shell};
use axum::{Router, body::Bytes, extract::State, http::HeaderMap, http::StatusCode, routing::post};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    net::{TcpListener, UdpSocket},
    time::{sleep, timeout},
};

const SECRET: &str = "a-secret-of-the-webhook";

/// What a web address was posted, and how often it is down before it takes anything.
#[derive(Clone, Default)]
struct Receiver {
    rows: Arc<Mutex<Vec<Value>>>,
    down: Arc<Mutex<usize>>,
}

async fn receive(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut down = receiver.down.lock().unwrap();
    if *down > 0 {
        *down -= 1;
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{}.", header("x-countersign-timestamp")).as_bytes());
    mac.update(&body);
    let signature = hex::encode(mac.finalize().into_bytes());
    assert_eq!(header("x-countersign-signature"), format!("sha256={signature}"));
    let text = String::from_utf8(body.to_vec()).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("{\"seq\":"));
    receiver
        .rows
        .lock()
        .unwrap()
        .extend(rows.map(|row| serde_json::from_str::<Value>(row).unwrap()));
    StatusCode::OK
}

/// Waits until this is true.
async fn until(mut is: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is() {
        assert!(since.elapsed() < LONG, "it does not become true");
        sleep(Duration::from_millis(50)).await;
    }
}

fn kinds(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_web_address_that_was_down_gets_every_row_in_order_with_a_signature_and_delays_no_call() {
    let receiver = Receiver::default();
    *receiver.down.lock().unwrap() = 1;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rows?token=in-the-address", listener.local_addr().unwrap());
    let app = Router::new().route("/rows", post(receive)).with_state(receiver.clone());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let config = format!("[log]\nwebhook = \"{url}\"\nwebhook_secret = \"{SECRET}\"\n");
    let daemon = Daemon::start(&config).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let no = serde_json::json!({"decision": "deny"});
    assert_eq!(daemon.answer(&id, &no).await.0, 200);
    until(|| kinds(&receiver.rows.lock().unwrap()).contains(&"answered")).await;
    let rows = receiver.rows.lock().unwrap().clone();
    let numbers: Vec<i64> = rows.iter().map(|row| row["seq"].as_i64().unwrap()).collect();
    assert!(numbers.iter().copied().eq(1..=i64::try_from(rows.len()).unwrap()), "{numbers:?}");
    assert_eq!(*receiver.down.lock().unwrap(), 0);
    let said = daemon.said();
    assert!(said.contains("503"), "{said}");
    for secret in [SECRET, "in-the-address", AGENT] {
        assert!(!said.contains(secret), "the daemon's own log has {secret}");
    }
}

#[tokio::test]
async fn a_file_and_a_syslog_receiver_get_every_row_once_also_over_a_restart() {
    let syslog = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    let config = format!(
        "[log]\nfile = \"{}\"\nsyslog = \"udp://{}\"\n",
        file.display(),
        syslog.local_addr().unwrap()
    );
    let mut daemon = Daemon::start(&config).await;
    let rows = || -> Vec<Value> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let rows = text.lines().filter(|line| line.starts_with("{\"seq\":"));
        rows.map(|row| serde_json::from_str(row).unwrap()).collect()
    };
    daemon.ask(&shell("git push origin main")).await;
    until(|| kinds(&rows()).contains(&"asked")).await;
    assert!(daemon.stop().await);
    daemon.run().await;
    daemon.ask(&shell("git push origin next")).await;
    until(|| kinds(&rows()).iter().filter(|kind| **kind == "asked").count() == 2).await;
    let numbers: Vec<i64> = rows().iter().map(|row| row["seq"].as_i64().unwrap()).collect();
    assert!(numbers.iter().copied().eq(1..=i64::try_from(numbers.len()).unwrap()), "{numbers:?}");
    let mut asked = 0;
    let mut message = vec![0; 9_000];
    while asked < 2 {
        let length = timeout(LONG, syslog.recv(&mut message)).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&message[..length]).into_owned();
        assert!(text.starts_with("<110>1 ") || text.starts_with("<108>1 "), "{text}");
        asked += usize::from(text.contains(" asked [countersign@32473 seq=\""));
    }
}
