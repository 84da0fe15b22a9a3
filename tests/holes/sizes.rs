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
    shown.all_say("names more than rules look at");
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
        call("shell_exec", &json!({ "command": many(|n| format!("f{n}() {{ ls; }}")).join(";") })),
        call("shell_exec", &json!({ "command": "rm x; ".repeat(10_000) })),
    ];
    for call in calls {
        let (status, said) = daemon.call(&call).await;
        assert_eq!(status, 202, "{said}");
        assert_eq!(daemon.get("/healthz", AGENT).await.0, 200);
    }
}
