//! Row 9: a tool that is named as a pattern. Row 12: names that break lines.

use crate::{
    daemon::{APPROVER, Daemon, shell},
    world::World,
};
use serde_json::{Value, json};

const PATTERNS: &[&str] = &[
    "*",
    "**",
    "shell_*",
    "Bash(*)",
    "Bash(rm *)",
    "{shell_exec,x}",
    "[s]hell_exec",
    "s?ell_exec",
    "!x",
    "mcp__*",
    "mcp__github__*",
    "shell_exec|x",
    "shell_exec x",
    "category:exec",
    "$schema",
    "SHELL_EXEC",
    "shell-exec",
    "ShellExec",
    "ѕhell_exec",
    "ｓhell_exec",
    "-x",
    ".*",
    "\\*",
    "\"x\"",
];

fn call(tool: &str) -> Value {
    json!({"agent": "tester", "session": "one", "cwd": "/home/ana/shop", "host": "mill",
        "tool": tool, "args": {"x": "y"}})
}

#[tokio::test]
async fn row_9_a_name_that_is_no_plain_name_gets_no_button_that_remembers_on_any_surface() {
    let world = World::start("").await;
    for name in PATTERNS.iter().chain(&[&*"x".repeat(129)]) {
        let (ask, shown) = world.asked(&call(name)).await;
        assert_eq!(shown.buttons, ["Approve", "Deny", "More…"], "{name}");
        let more = "more       Deny with reason… · Approve with a note…\n";
        assert!(shown.terminal.contains(more), "{}", shown.terminal);
        assert!(shown.terminal.contains("offers     Approve · Deny\n"), "{}", shown.terminal);
        for scope in ["always", "session", "10m", "24h", "exact", "always_prefix"] {
            let answer = json!({"decision": "approve", "scope": scope});
            assert_eq!(world.daemon.answer(&ask, &answer).await.0, 422, "{name} {scope}");
        }
        world.close(&ask).await;
    }
    assert_eq!(world.daemon.get("/v1/grants", APPROVER).await.1, json!({"grants": []}));
    let (status, body) = world.daemon.call(&shell("rm -rf ~/Documents")).await;
    assert_eq!((status, &body["verdict"]), (202, &json!("ask")), "no shell command is allowed");
    world.is_clean();
}

#[tokio::test]
async fn row_9_what_is_granted_to_a_plain_name_is_that_name_in_the_store_and_in_the_file() {
    for scope in ["always", "session", "10m"] {
        let daemon = Daemon::start("").await;
        for name in
            ["mcp__github__create_issue", "server/tool.name", "mcp:files:write", "allow", "x"]
        {
            let ask = daemon.ask(&call(name)).await;
            let (status, said) =
                daemon.answer(&ask, &json!({"decision": "approve", "scope": scope})).await;
            assert_eq!(status, 200, "{name} {scope}: {said}");
            assert_eq!(daemon.call(&call(name)).await.1["verdict"], "allow", "{name} {scope}");
        }
        for other in
            ["mcp__github__delete_repo", "server/tool_name", "mcp:files:read", "deny", "X", "xx"]
        {
            let (status, body) = daemon.call(&call(other)).await;
            assert_eq!((status, &body["verdict"]), (202, &json!("ask")), "{other} {scope}");
        }
        let (status, body) = daemon.call(&shell("rm -rf ~/Documents")).await;
        assert_eq!((status, &body["verdict"]), (202, &json!("ask")));
    }
}

#[tokio::test]
async fn row_9_arguments_are_literal_in_what_is_remembered() {
    let daemon = Daemon::start("").await;
    let tool = |tool: &str, args: Value| {
        json!({"agent": "tester", "session": "one", "cwd": "/home/ana/shop", "host": "mill",
            "tool": tool, "args": args})
    };
    let url = |url: &str| tool("web_fetch", json!({ "url": url }));
    let skill = |name: &str| tool("skill", json!({ "name": name }));
    for (first, scope, others) in [
        (
            shell("mytool '*'"),
            "exact",
            vec![shell("mytool x"), shell("mytool x y"), shell("mytool '**'")],
        ),
        (
            shell("mytool '{a,b}' '[x]' '?'"),
            "exact",
            vec![shell("mytool a x y"), shell("mytool '{a,b}' x '?'")],
        ),
        (
            url("https://a.example/*"),
            "always",
            vec![url("https://b.example/x"), url("https://x@a.example/")],
        ),
        (url("https://d.example/?q=*"), "exact", vec![url("https://c.example/?q=x")]),
        (skill("*"), "always", vec![skill("deploy"), skill("x")]),
        (skill("{a,b}"), "always", vec![skill("a"), skill("b")]),
    ] {
        let ask = daemon.ask(&first).await;
        let granted = daemon.answer(&ask, &json!({"decision": "approve", "scope": scope})).await;
        assert_eq!(granted.0, 200, "{first}: {}", granted.1);
        assert_eq!(daemon.call(&first).await.1["verdict"], "allow", "{first}");
        for other in others {
            let (status, body) = daemon.call(&other).await;
            assert_eq!((status, &body["verdict"]), (202, &json!("ask")), "{first}: {other}");
        }
    }
}

#[tokio::test]
async fn row_12_names_with_hidden_characters_are_refused_and_the_field_is_named() {
    let daemon = Daemon::start("").await;
    let odd = [
        "a\nb",
        "a\rb",
        "a\u{1b}[2Kb",
        "a\u{202e}b",
        "a\u{2028}b",
        "a\u{ad}b",
        "a\tb",
        "a\u{3164}",
        "\u{e0041}",
    ];
    let fields = [
        "agent",
        "session",
        "tool",
        "key",
        "host",
        "worker",
        "category",
        "tier",
        "policyKey",
        "requester",
    ];
    for field in fields {
        for name in odd {
            let mut call = call("x");
            call[field] = json!(name);
            let (status, refused) = daemon.call(&call).await;
            let error = refused["error"].as_str().unwrap_or_default().to_owned();
            let begins = error.starts_with(&format!("`{field}` holds the character U+"));
            assert!(status == 400 && begins, "{field} {name:?}: {refused}");
            assert!(!error.contains(['\n', '\u{1b}', '\u{202e}']), "{error:?}");
        }
        let mut long = call("x");
        long[field] = json!("x".repeat(300));
        let (status, refused) = daemon.call(&long).await;
        assert_eq!(status, 400, "{field}: {refused}");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    let mut folder = call("x");
    folder["cwd"] = json!("/srv/a\nb\u{202e}");
    assert_eq!(daemon.call(&folder).await.0, 202, "a folder may be called anything");
}
