//! oh-my-pi, from a tool's declaration to the press and back.

use crate::{
    chats,
    daemon::Daemon,
    discord_server::{FakeDiscord, Person, Posted},
    telegram_server::{ANA, GROUP, Message, Telegram},
};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::Command;

const SETTINGS: &str = "
tools:
  approvalMode: write
  approval:
    browser: deny
bash:
  patterns:
    - { match: 'git *', approval: allow }
    - { match: 'npm publish*', approval: deny }
";

fn config(telegram: &Telegram, discord: &FakeDiscord) -> String {
    format!(
        "[policy]\nprofile = \"ohmypi\"\nrules = \"oh-my-pi.yml\"\n{}",
        chats::both(telegram, discord)
    )
}

async fn start_with(settings: &str) -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let files = [("oh-my-pi.yml", settings)];
    let daemon = Daemon::start_with(&config(&telegram, &discord), &files).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    start_with(SETTINGS).await
}

fn bash(command: &str) -> Value {
    json!({"agent": "oh-my-pi", "session": "one", "cwd": "/home/ana/shop", "tool": "bash",
        "tier": "exec", "args": {"command": command}})
}

async fn telegram_card(telegram: &Telegram) -> Message {
    telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await
}

async fn discord_card(discord: &FakeDiscord) -> Posted {
    discord.until(|message| !message.is_over()).await
}

#[tokio::test]
async fn a_prompt_is_answered_in_telegram() {
    let (telegram, _discord, daemon) = start().await;
    let waiting = daemon.waiting(bash("make deploy"));
    let card = telegram_card(&telegram).await;
    for part in ["Allow tool: bash", "Command: make deploy", "Session stores: bash"] {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    assert_eq!(card.buttons, [vec!["Approve", "Deny"], vec!["More…"]]);
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    let answer = waiting.await.unwrap();
    assert_eq!((&answer["verdict"], answer.get("message")), (&json!("allow"), None));
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_prompt_is_answered_in_discord() {
    let (_telegram, discord, daemon) = start().await;
    let waiting = daemon.waiting(bash("rm -rf / && make deploy"));
    let card = discord_card(&discord).await;
    let lines =
        ["Allow tool: bash", "Reason: Critical pattern detected", "rm -rf / && make deploy"];
    for part in lines {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    let buttons = ["Deny", "Deny with reason…", "Review and approve…"];
    assert_eq!(card.buttons, buttons, "a critical prompt is not remembered");
    discord.press(&card.reference, "Deny", &Person::new("4211", "Ana")).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    assert_eq!(answer["message"], "Tool \"bash\" was denied by Ana (discord).");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn this_session_approves_the_tool_until_the_session_ends() {
    let (telegram, _discord, daemon) = start().await;
    let waiting = daemon.waiting(bash("make deploy"));
    let card = telegram_card(&telegram).await;
    telegram.press(GROUP, card.id, "Session", ANA).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(daemon.call(&bash("make test")).await.1["verdict"], "allow");
    assert_eq!(
        daemon.call(&bash("rm -rf /")).await.1["verdict"],
        "ask",
        "critical is never lifted"
    );
    let mut other = bash("make test");
    other["session"] = json!("two");
    assert_eq!(daemon.call(&other).await.1["verdict"], "ask", "only that session");
    let body = json!({"agent": "oh-my-pi"});
    let (status, _) = daemon.post("/v1/sessions/one/end", crate::daemon::AGENT, &body).await;
    assert_eq!(status, 200);
    assert_eq!(daemon.call(&bash("make lint")).await.1["verdict"], "ask");
}

#[tokio::test]
async fn a_file_that_was_approved_may_be_changed_again_but_not_removed() {
    let asking = "{\"tools\": {\"approvalMode\": \"always-ask\"}}";
    let (telegram, _discord, daemon) = start_with(asking).await;
    let change = |tool: &str, args: Value| {
        json!({"agent": "oh-my-pi", "session": "one", "cwd": "/home/ana/shop", "tool": tool,
            "tier": "write", "args": args})
    };
    let waiting =
        daemon.waiting(change("write", json!({"path": "src/a.ts", "content": "let a = 1"})));
    let card = telegram_card(&telegram).await;
    for part in ["Path: src/a.ts", "write_file: src/a.ts"] {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    telegram.press(GROUP, card.id, "Always: any edit of src/a.ts", ANA).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    for (args, verdict) in [
        (json!({"path": "src/a.ts"}), "allow"),
        (json!({"path": "src/b.ts"}), "ask"),
        (json!({"path": "src/a.ts", "rename": "src/c.ts"}), "ask"),
    ] {
        assert_eq!(
            daemon.call(&change("edit", args.clone())).await.1["verdict"],
            verdict,
            "{args}"
        );
    }
}

#[tokio::test]
async fn a_users_deny_comes_back_in_oh_my_pis_own_words() {
    let (telegram, _discord, daemon) = start().await;
    let mut browser = bash("");
    browser["tool"] = json!("browser");
    browser["args"] = json!({"action": "open"});
    let (status, told) = daemon.call(&browser).await;
    assert_eq!((status, &told["verdict"]), (200, &json!("deny")));
    assert_eq!(
        told["message"],
        "Tool \"browser\" is blocked by user policy.\n\
         To allow: remove \"tools.approval.browser: deny\" from config."
    );
    let (_, told) = daemon.call(&bash("cd web && npm publish --tag next")).await;
    assert_eq!(
        told["message"],
        "Tool \"bash\" is blocked by tool policy.\n\
         Reason: Blocked by bash pattern: npm publish*"
    );
    assert_eq!(daemon.call(&bash("git status")).await.1["verdict"], "allow");
    assert_eq!(telegram.open_cards(GROUP), vec![], "nobody was asked");
}

#[tokio::test]
async fn a_subagents_prompt_reaches_the_phone() {
    let yolo = "{\"tools\": {\"approvalMode\": \"yolo\", \"approval\": {\"bash\": \"prompt\"}}}";
    let (telegram, _discord, daemon) = start_with(yolo).await;
    let mut call = bash("make deploy");
    call["worker"] = json!("explore");
    let waiting = daemon.waiting(call);
    let card = telegram_card(&telegram).await;
    assert!(card.text.contains("explore"), "the card names the subagent: {}", card.text);
    telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    let mut read = bash("");
    read["tool"] = json!("read");
    assert_eq!(daemon.call(&read).await.1["verdict"], "allow", "yolo lets the rest run");
}

/// Runs the extension as `connect` makes it and as oh-my-pi would, for one event; what the handler
/// returned.
async fn extension(daemon: &Daemon, event: &Value) -> Value {
    let module = daemon.dir.path().join("countersign.mjs");
    let mut connect = daemon.command(&["connect", "oh-my-pi", "--yes", "--settings"]);
    let connected = connect.arg(&module).output().await.unwrap();
    assert!(connected.status.success(), "{connected:?}");
    let driver = format!(
        "import extension from {module:?};
         let handler;
         extension({{ on: (name, on) => {{ if (name === 'tool_call') handler = on; }} }});
         const ctx = {{ cwd: '/home/ana/shop', agent: {{ kind: 'sub', name: 'explore' }},
             sessionManager: {{ getSessionId: () => 'one' }} }};
         const answer = await handler({event}, ctx);
         console.log(JSON.stringify(answer ?? null));"
    );
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", &driver]).env("HOME", daemon.dir.path());
    let output = node.kill_on_drop(true).stdin(Stdio::null()).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[tokio::test]
async fn the_extension_blocks_and_lets_through_as_people_answer() {
    if Command::new("node").arg("--version").output().await.is_err() {
        eprintln!("there is no node here to run the extension with");
        return;
    }
    let (telegram, _discord, mut daemon) = start().await;
    let event =
        |tool: &str, input: Value| json!({"toolName": tool, "toolCallId": "1", "input": input});

    let deploy = event("bash", json!({"command": "make deploy"}));
    let (answer, ()) = tokio::join!(extension(&daemon, &deploy), async {
        let card = telegram_card(&telegram).await;
        assert!(card.text.contains("explore"), "{}", card.text);
        telegram.press(GROUP, card.id, "Approve", ANA).await;
    });
    assert_eq!(answer, Value::Null, "the call runs");

    let browser = event("browser", json!({"action": "open"}));
    let browser = extension(
        &daemon,
        &json!({"toolCallId": "2", "toolName": "browser",
        "input": browser["input"]}),
    )
    .await;
    assert_eq!(browser["block"], true);
    assert!(browser["reason"].as_str().unwrap().contains("tools.approval.browser: deny"));

    let read = json!({"toolCallId": "3", "toolName": "read", "input": {"path": "README.md"}});
    assert_eq!(extension(&daemon, &read).await, Value::Null, "reads run");

    let asks = json!({"toolCallId": "4", "toolName": "ask", "input": {"questions": []}});
    assert_eq!(extension(&daemon, &asks).await, Value::Null, "it asks at the terminal");

    daemon.stop().await;
    let blocked = extension(&daemon, &read).await;
    assert_eq!(blocked["block"], true, "a daemon that is not there blocks");
    assert!(
        blocked["reason"].as_str().unwrap().contains("could not decide on this call"),
        "{blocked}"
    );
}
