//! Row 14: a call of any size is ruled on while the daemon goes on answering.

use crate::{
    daemon::{AGENT, Daemon},
    world::World,
};
use serde_json::{Value, json};

fn call(tool: &str, args: &Value) -> Value {
    json!({"agent": "tester", "session": "one", "cwd": "/home/ana/shop", "tool": tool, "args": args})
}

/// So many texts of about 900 KB in all.
fn many(piece: impl Fn(usize) -> String) -> Vec<String> {
    (0..900_000 / (piece(99_999).len() + 3)).map(piece).collect()
}

#[tokio::test]
async fn row_14_a_call_with_105_000_paths_is_asked_about_and_has_a_card() {
    let world = World::start("").await;
    let paths: Vec<String> = (0..105_000).map(|n| format!("f{n}")).collect();
    let (ask, shown) = world.asked(&call("read_many_files", &json!({ "paths": paths }))).await;
    shown.all_say("names more than rules check");
    world.close(&ask).await;
    world.is_clean();
}

#[tokio::test]
async fn row_14_no_kind_of_argument_stops_the_daemon() {
    let daemon = Daemon::start("").await;
    let calls = [
        call("Write", &json!({ "paths": many(|n| format!("d/f{n}")) })),
        call("Glob", &json!({ "paths": many(|n| format!("**/*{n}")) })),
        call("WebFetch", &json!({ "url": many(|n| format!("https://h{n}.example/x")) })),
        call("WebFetch", &json!({ "url": format!("https://{}/", "a.".repeat(450_000)) })),
        call("Skill", &json!({ "name": many(|n| format!("s{n}")) })),
        call("strange", &json!({ "items": many(|n| format!("s{n}")) })),
        call("mcp__x__y", &json!({ "items": many(|n| format!("s{n}")) })),
        call(
            "shell_exec",
            &json!({ "command": format!("ls {}", many(|n| format!(">f{n}")).join(" ")) }),
        ),
        call("shell_exec", &json!({ "command": "fd -xa ".repeat(8_000) })),
        call("shell_exec", &json!({ "command": "fd -xa ".repeat(120_000) })),
        call("shell_exec", &json!({ "command": format!("nice{}", " -1".repeat(280_000)) })),
        call("shell_exec", &json!({ "command": many(|n| format!("f{n}() {{ ls; }}")).join(";") })),
        call("shell_exec", &json!({ "command": "rm x; ".repeat(10_000) })),
    ];
    for call in calls {
        let (status, said) = daemon.call(&call).await;
        assert_eq!(status, 202, "{said}");
        assert_eq!(daemon.get("/healthz", AGENT).await.0, 200);
    }
}

#[tokio::test]
async fn row_14_a_single_worker_answers_small_calls_and_many_large_ones_at_once() {
    let mut daemon = Daemon::start("").await;
    daemon.kill().await;
    daemon.run_on_workers(1).await;
    let text = many(|n| format!("cat d{n}/f{n}")).join("; ");
    let url = format!("{}/v1/calls", daemon.url);
    let mut large = tokio::task::JoinSet::new();
    for n in 0..8 {
        let call = call("shell_exec", &json!({ "command": format!("{text}; rm f{n}") }));
        let request = daemon.http.post(&url).bearer_auth(AGENT).json(&call);
        large.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    let (status, said) = daemon.call(&call("shell_exec", &json!({ "command": "git push" }))).await;
    assert_eq!(status, 202, "{said}");
    assert_eq!(daemon.get("/healthz", AGENT).await.0, 200);
    assert_eq!(large.join_all().await, [202; 8]);
}

#[tokio::test]
async fn row_14_a_call_with_too_many_values_is_refused_with_the_limit() {
    let daemon = Daemon::start("").await;
    let args = json!({ "items": vec![1; 200_000] });
    let (status, said) = daemon.call(&call("strange", &args)).await;
    assert_eq!(status, 400, "{said}");
    let said = said.to_string();
    assert!(said.contains("`args` holds more than 200000 values"), "{said}");
}
