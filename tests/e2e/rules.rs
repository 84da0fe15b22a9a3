//! The rules: a call explained, and a rule tried on what was asked before.

use crate::{
    browser::Browser,
    daemon::{AGENT, APPROVER, Daemon, shell},
};
use serde_json::{Value, json};

const EXPLAIN: &str = "/v1/rules/explain";
const TRY: &str = "/v1/rules/try";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_explained_word_for_word_and_nobody_is_asked() {
    let daemon = Daemon::start("").await;
    let args = json!({"command": "ls -l && git push origin main"});
    let call = json!({"tool": "shell_exec", "args": args, "cwd": "/home/ana/shop"});
    let (status, explained) = daemon.post(EXPLAIN, APPROVER, &call).await;
    assert_eq!(status, 200, "{explained}");
    assert_eq!(explained["verdict"], "ask");
    let part = |at: usize| {
        let part = &explained["parts"][at];
        (part["command"].as_str().unwrap().to_owned(), part["verdict"].clone())
    };
    assert_eq!(part(0), ("ls -l".to_owned(), json!("allow")));
    assert_eq!(part(1), ("git push origin main".to_owned(), json!("ask")));
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    let (status, refused) = daemon.post(EXPLAIN, AGENT, &call).await;
    assert_eq!(
        (status, refused["error"].as_str().unwrap().contains("approver's token")),
        (403, true)
    );
    let unknown = json!({"tool": "shell_exec", "args": {}, "mode": "yolo"});
    let (status, refused) = daemon.post(EXPLAIN, APPROVER, &unknown).await;
    assert_eq!(status, 400, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_tried_says_what_it_would_have_changed_and_saves_nothing() {
    let daemon = Daemon::start("").await;
    let answer = json!({"decision": "deny"});
    let mut ids = Vec::new();
    for command in
        ["git push origin dev", "cargo publish", "git push --force origin main", "sudo rm -rf /"]
    {
        let id = daemon.ask(&shell(command)).await;
        assert_eq!(daemon.answer(&id, &answer).await.0, 200);
        ids.push(id);
    }
    let rule = json!({"tool": "shell_exec", "pattern": "git push *", "verdict": "allow"});
    let (status, tried) = daemon.post(TRY, APPROVER, &rule).await;
    assert_eq!(status, 200, "{tried}");
    assert_eq!(tried["line"], r#""shell_exec": { "git push *": "allow" }"#);
    assert_eq!((&tried["calls"], &tried["changes"]), (&json!(4), &json!(1)), "{tried}");
    let change = &tried["changed"][0];
    assert_eq!(change["ask"], json!(ids[0]));
    assert_eq!((&change["before"], &change["after"]), (&json!("ask"), &json!("allow")));
    let deny = json!({"tool": "shell_exec", "pattern": "*", "verdict": "deny"});
    let (_, tried) = daemon.post(TRY, APPROVER, &deny).await;
    assert_eq!(tried["changes"], 4, "{tried}");
    // Its like is asked as before.
    daemon.ask(&shell("git push origin next")).await;
    let (status, _) = daemon.post(TRY, AGENT, &rule).await;
    assert_eq!(status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_a_person_has_denied_cannot_even_be_tried() {
    let rules = r#"{"shell_exec": {"git push *": "deny"}}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let rule = json!({"tool": "shell_exec", "pattern": "git push *", "verdict": "allow"});
    let (status, refused) = daemon.post(TRY, APPROVER, &rule).await;
    assert_eq!(status, 422, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("deny"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_rules_explains_and_tries_and_quotes_what_agents_wrote() {
    let daemon = Daemon::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let id = daemon.ask(&shell("cargo test '<b>x</b>'")).await;
    assert_eq!(daemon.answer(&id, &json!({"decision": "approve"})).await.0, 200);
    let page = browser.open(&daemon.inbox).await;
    page.until("document.querySelector('#line').dataset.state === 'live'").await;
    page.eval("location.hash = '#/rules'").await;
    page.until("document.querySelector('#rules form')").await;
    page.click("#rules [name=command]").await;
    page.write("ls && git push").await;
    page.key("Enter").await;
    page.until("document.querySelectorAll('#rules .parts .tile').length === 2").await;
    assert!(page.text().await.contains("Asks a person"));
    page.click("#rules [name=pattern]").await;
    page.write("cargo test *").await;
    page.key("Enter").await;
    page.until("document.querySelector('#rules .records .item')").await;
    let text = page.text().await;
    for shown in [
        "It would change 1 request of the latest 1",
        "cargo test '<b>x</b>'",
        "Asks a person → Allowed",
        r#""shell_exec": { "cargo test *": "allow" }"#,
    ] {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}
