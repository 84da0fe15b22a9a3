//! Who could answer: asked by approvers alone, about a call and about an open ask.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    telegram_server::{GROUP, TOKEN, Telegram},
};
use serde_json::{Value, json};

const COULD: &str = "/v1/approvers/explain";

/// People with and without a group, one of whom works at mill; the approver's token is Ana's.
const TEAM: &str = r#"
[[people]]
name = "Ana"
telegram = 4211
token = "TOKEN"
groups = ["ops"]
hosts = ["mill"]
[[people]]
name = "Ben"
telegram = 4212
groups = ["ops"]
[[people]]
name = "Eve"
telegram = 6666
[[answer_rules]]
name = "deploys"
command = "make deploy*"
group = "ops"
exclude = "requester"
[[routes]]
name = "deploys"
command = "make deploy*"
to = ["person:Ben"]
[[routes.escalate]]
after = "10m"
to = ["person:Eve"]
"#;

/// Ana's own token.
const ANAS: &str = "cs_ana_0123456789abcdef0123456789abcdef";

async fn team() -> (Telegram, Daemon) {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&config(&telegram, TEAM)).await;
    (telegram, daemon)
}

fn config(telegram: &Telegram, people: &str) -> String {
    let people = people.replace("TOKEN", ANAS);
    format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         {people}",
        telegram.url()
    )
}

fn people(reply: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let people = reply["people"].as_array().unwrap().iter();
    people.map(|it| (text(&it["who"]), text(&it["counts"]))).collect()
}

fn pair(who: &str, counts: &str) -> (String, String) {
    (who.to_owned(), counts.to_owned())
}

#[tokio::test]
async fn who_could_answer_a_call_and_who_can_answer_an_ask_is_told_with_the_reasons() {
    let (_telegram, daemon) = team().await;
    let call = json!({"tool": "shell_exec", "args": {"command": "make deploy"}, "host": "mill"});
    let (status, could) = daemon.post(COULD, ANAS, &call).await;
    assert_eq!((status, &could["verdict"]), (200, &json!("ask")), "{could}");
    let expected = [
        pair("Ana (token, telegram)", "no"),
        pair("Ben (telegram)", "yes"),
        pair("Eve (telegram)", "no"),
    ];
    assert_eq!(people(&could), expected);
    let rule = "deploys: 1 approval of ops; 1 denial denies; not the one who asks (Ana).";
    assert_eq!(could["required"], json!([rule]));
    let own = "This is your own agent's request, so somebody else has to answer it.";
    assert_eq!(could["people"][0]["why"], own);
    assert_eq!(
        could["shown"],
        json!([
            "deploys: shown at Ben (telegram).",
            "After 10 minutes without an answer: shown at Eve (telegram) too."
        ])
    );
    assert_eq!(daemon.get("/v1/asks", ANAS).await.1["asks"], json!([]), "nobody is asked");
    // The ask itself says the same, as it was asked.
    let mut submitted = shell("make deploy");
    submitted["host"] = json!("mill");
    let id = daemon.ask(&submitted).await;
    let path = format!("/v1/asks/{id}/approvers");
    let (status, can) = daemon.get(&path, ANAS).await;
    assert_eq!((status, people(&can)), (200, expected.to_vec()), "{can}");
    assert_eq!((&can["required"], &can["shown"]), (&could["required"], &could["shown"]));
    // What rules allow asks nobody, and a closed ask is answered by nobody.
    let args = json!({"command": "ls"});
    let allowed = json!({"tool": "shell_exec", "args": args, "cwd": "/home/ana/shop"});
    let (_, none) = daemon.post(COULD, ANAS, &allowed).await;
    assert_eq!((&none["verdict"], &none["people"]), (&json!("allow"), &json!([])), "{none}");
    let cancelled = daemon.post(&format!("/v1/asks/{id}/cancel"), AGENT, &json!({})).await;
    assert_eq!(cancelled.0, 200, "{cancelled:?}");
    let (status, closed) = daemon.get(&path, ANAS).await;
    assert_eq!(status, 409, "{closed}");
    assert_eq!(daemon.get("/v1/asks/nothing/approvers", ANAS).await.0, 404);
}

#[tokio::test]
async fn no_agent_learns_who_could_answer_however_much_it_may_read() {
    let daemon = Daemon::start("").await;
    let reads_all = json!({"name": "watcher", "sees_all": true});
    let (status, made) = daemon.post("/v1/tokens", APPROVER, &reads_all).await;
    assert_eq!(status, 200, "{made}");
    let watcher = made["token"].as_str().unwrap();
    let id = daemon.ask(&shell("make deploy")).await;
    let (path, call) = (format!("/v1/asks/{id}/approvers"), json!({"tool": "t", "args": {}}));
    assert_eq!(daemon.get(&format!("/v1/asks/{id}"), watcher).await.0, 200, "it reads all asks");
    for token in [AGENT, watcher] {
        let (asked, could) =
            (daemon.get(&path, token).await, daemon.post(COULD, token, &call).await);
        for (status, refused) in [asked, could] {
            let why = refused["error"].as_str().unwrap();
            assert_eq!((status, why.contains("approver's token")), (403, true), "{refused}");
        }
    }
    assert_eq!(daemon.get(&path, "wrong").await.0, 401);
    assert_eq!(daemon.get(&path, APPROVER).await.0, 200);
    // What is no call is refused before anything is said.
    for wrong in
        [json!({}), json!({"tool": "", "args": {}}), json!({"tool": "t", "args": 1, "x": 2})]
    {
        let (status, refused) = daemon.post(COULD, APPROVER, &wrong).await;
        assert_eq!(status, 400, "{wrong}: {refused}");
    }
}

#[tokio::test]
async fn an_agent_that_is_named_counts_as_the_agent_of_its_token() {
    let (telegram, mut daemon) = team().await;
    let made = daemon.post("/v1/tokens", ANAS, &json!({"name": "deployer"})).await;
    assert_eq!(made.0, 200, "{made:?}");
    let people = TEAM.replace("hosts = [\"mill\"]", "agents = [\"deployer\"]");
    daemon.write_config(&config(&telegram, &people));
    assert!(daemon.stop().await);
    daemon.run().await;
    let call = |agent: &str| {
        json!({"tool": "shell_exec", "args": {"command": "make deploy"}, "host": "mill",
            "agent": agent})
    };
    let (_, could) = daemon.post(COULD, ANAS, &call("deployer")).await;
    assert!(could["required"][0].as_str().unwrap().contains("(Ana)"), "{could}");
    // A machine's name proves nothing once agents are known by their tokens.
    let (_, could) = daemon.post(COULD, ANAS, &call("codex")).await;
    assert!(could["required"][0].as_str().unwrap().contains("whom nobody knows"), "{could}");
}
