//! The daemon dies and comes back; nothing that was acknowledged is lost.

use crate::{
    core::loop_for_open,
    daemon::{APPROVER, Daemon, shell},
};
use serde_json::json;

#[tokio::test]
async fn an_open_ask_outlives_a_killed_daemon_and_its_agent_gets_the_answer() {
    let mut daemon = Daemon::start("").await;
    let mut call = shell("git push");
    call["key"] = json!("k1");
    let id = daemon.ask(&call).await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(daemon.read(&id).await["state"], "open");
    let waiting = daemon.waiting(call);
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn an_acknowledged_answer_is_there_after_a_kill() {
    let mut daemon = Daemon::start("").await;
    for round in 0..5 {
        let id = daemon.ask(&shell(&format!("git push {round}"))).await;
        let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
        assert_eq!(reply["applied"], true);
        daemon.kill().await;
        daemon.run().await;
        let ask = daemon.read(&id).await;
        assert_eq!((&ask["state"], &ask["verdict"]), (&json!("answered"), &json!("allow")));
    }
}

#[tokio::test]
async fn a_stopping_daemon_keeps_the_asks_of_callers_that_wait() {
    let mut daemon = Daemon::start("").await;
    let waiting = daemon.waiting(shell("git push"));
    let id = loop_for_open(&daemon).await;
    assert!(daemon.stop().await, "SIGTERM is a clean end");
    assert_eq!(waiting.await.unwrap()["verdict"], "ask", "the caller is let go with what is true");
    daemon.run().await;
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn a_deadline_that_passed_while_the_daemon_was_down_holds() {
    let mut daemon = Daemon::start("").await;
    let mut call = shell("git push");
    call["expires_in_s"] = json!(1);
    let id = daemon.ask(&call).await;
    daemon.kill().await;
    let deadline = tokio::time::sleep(std::time::Duration::from_millis(1_100));
    deadline.await; // the deadline itself is the event
    daemon.run().await;
    let (_, late) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(late["applied"], false, "{late}");
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
}

#[tokio::test]
async fn a_second_daemon_on_the_same_socket_is_refused_and_harms_nothing() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let second = daemon.command(&["serve"]).output().await.unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("is in use: a countersign is running"), "{said}");
    assert_eq!(daemon.get(&format!("/v1/asks/{id}"), APPROVER).await.1["state"], "open");
}

#[tokio::test]
async fn a_port_in_use_is_said_plainly() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let text = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(daemon.config(), text.replace("127.0.0.1:0", &address.to_string())).unwrap();
    let refused = daemon.command(&["serve"]).output().await.unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains(&format!("{address} is in use")), "{said}");
    assert!(!refused.status.success());
}
