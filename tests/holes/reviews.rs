//! Calls that ran without asking and are shown afterwards: who decides about them, what they cost
//! nobody, and what no agent can do about them.

use crate::{
    agent_tokens::{ask, submit, token},
    daemon::{AGENT, APPROVER, private_file, shell},
    inbox_visitor::Visitor,
    process::run,
    telegram_server::{BEN, GROUP},
    world::World,
};
use serde_json::{Value, json};

/// Everything that a rule or a grant lets run is shown.
const ALL: &str = "[[reviews]]\none_in = 1\n";
const MAKE: &str = r#"{"*": "ask", "shell_exec": {"make *": "allow", "make clean": "deny"}}"#;

impl World {
    /// One with these rules, in which calls are shown as this config says.
    async fn reviewing(config: &str, rules: &str) -> Self {
        let world = Self::start(config).await;
        private_file(&world.daemon.dir.path().join("permissions.jsonc"), rules);
        world
    }

    async fn verdict(&self, command: &str) -> Value {
        self.daemon.call(&shell(command)).await.1["verdict"].clone()
    }

    /// The open reviews, once there are so many.
    async fn reviews(&self, count: usize) -> Vec<Value> {
        let of = |page: &Value| -> Vec<Value> {
            let asks = page["asks"].as_array().unwrap();
            asks.iter().filter(|ask| ask.get("review").is_some()).cloned().collect()
        };
        of(&self.daemon.until("/v1/asks", |page| of(page).len() == count).await)
    }

    /// The only open review.
    async fn review(&self) -> (String, Value) {
        let review = self.reviews(1).await.remove(0);
        (review["id"].as_str().unwrap().to_owned(), review)
    }

    async fn events(&self) -> String {
        let path = format!("{}/v1/events?last=100&follow=false&all=true", self.daemon.url);
        let events = self.daemon.http.get(path).bearer_auth(APPROVER).send().await.unwrap();
        events.text().await.unwrap()
    }
}

#[tokio::test]
async fn a_call_that_a_grant_let_run_is_shown_and_one_press_revokes_the_grant() {
    let config = "[[reviews]]\nallowed_by = \"grant\"\none_in = 1\n";
    let world = World::start(config).await;
    assert_eq!(world.verdict("ls").await, "allow", "by a rule, which this review leaves out");
    let given = world.daemon.ask(&shell("cargo build --release")).await;
    let always = json!({"decision": "approve", "scope": "always"});
    assert_eq!(world.daemon.answer(&given, &always).await.0, 200);
    assert_eq!(world.verdict("cargo build --release").await, "allow");
    let (id, review) = world.review().await;
    assert_eq!(
        (&review["review"]["agent"], &review["review"]["session"]),
        (&json!("tester"), &json!("one"))
    );
    let shown = world.shown(&id).await;
    shown.all_say("Ran: cargo build --release");
    shown.all_say("by the grant shell: cargo build *");
    shown.all_say("Should have asked revokes the grant shell: cargo build *");
    assert_eq!(shown.buttons, ["Fine", "Should have asked"]);
    assert!(shown.telegram.contains("tester"), "{}", shown.telegram);

    // Somebody who may not answer changes nothing.
    world.telegram.press(GROUP, shown.message, "Should have asked", BEN).await;
    assert_eq!(world.verdict("cargo build --release").await, "allow");
    world.reviews(2).await;

    let visitor = Visitor::enter(&world.daemon.inbox).await;
    let card = visitor.follow().await.card(|card| card["card"]["ask"] == id).await;
    let told = visitor.press_label(&card, "Should have asked", None).await;
    assert_eq!(told, "Noted, and the grant is revoked: shell: cargo build *.");
    assert_eq!(world.verdict("cargo build --release").await, "ask");
    let (_, grants) = world.daemon.get("/v1/grants", APPROVER).await;
    assert_eq!(grants["grants"], json!([]));
    let over = || {
        let card = world.telegram.message(GROUP, shown.message);
        card.text.contains("should have asked, says").then_some(card)
    };
    let over = world.telegram.until("the card says so", over).await;
    assert!(over.text.contains("revoked: shell: cargo build *"), "{}", over.text);
    let events = world.events().await;
    assert_eq!(events.matches("event: review\n").count(), 2, "{events}");
    assert_eq!(events.matches("event: reviewed\n").count(), 1, "{events}");
    assert!(events.contains("\"outcome\":\"should_have_asked\""), "{events}");
    let late = world.daemon.answer(&id, &json!({"decision": "approve"})).await.1;
    assert!(late["message"].as_str().unwrap().ends_with("should have asked."), "{late}");
    // The grant behind the second is gone already; that is no fault.
    let (second, _) = world.review().await;
    let told = world.daemon.answer(&second, &json!({"decision": "deny"})).await.1;
    assert_eq!(told["applied"], true, "{told}");
    world.is_clean();
}

#[tokio::test]
async fn no_agent_sees_answers_or_cancels_a_review_or_ends_what_it_said() {
    let world = World::reviewing(ALL, MAKE).await;
    let bot = token(&world.daemon, "bot", json!({})).await;
    assert_eq!(submit(&world.daemon, &bot, &shell("make all")).await.1["verdict"], "allow");
    let (id, _) = world.review().await;
    let path = format!("/v1/asks/{id}");
    for token in [&*bot, AGENT] {
        assert_eq!(world.daemon.get(&path, token).await.0, 404);
        assert_eq!(world.daemon.get(&format!("/v1/history/{id}"), token).await.0, 404);
        assert_eq!(world.daemon.get("/v1/asks", token).await.1["asks"], json!([]));
        assert_eq!(world.daemon.post(&format!("{path}/cancel"), token, &json!({})).await.0, 404);
        let fine = json!({"decision": "approve"});
        assert_eq!(world.daemon.post(&format!("{path}/answer"), token, &fine).await.0, 403);
    }
    // It ran already: nothing about it can be changed, remembered or started.
    for wrong in [
        json!({"decision": "edit", "edit": "make nothing"}),
        json!({"decision": "approve", "scope": "always"}),
        json!({"decision": "approve", "scope": "session"}),
        json!({"decision": "approve", "scope": "10m"}),
    ] {
        assert_eq!(world.daemon.answer(&id, &wrong).await.0, 422, "{wrong}");
    }
    let said = world.daemon.answer(&id, &json!({"decision": "deny"})).await.1;
    assert_eq!(
        said["message"],
        "Noted. Such calls ask from now on: shell: make *. `countersign grants` lists that."
    );
    // For every agent: it is the rule that was too wide.
    for agent in ["tester", "countersign"] {
        let mut call = shell("make other");
        call["agent"] = json!(agent);
        assert_eq!(world.daemon.call(&call).await.1["verdict"], "ask", "{agent}");
        for session in ["one", "", "review"] {
            let end = format!("/v1/sessions/{session}/end");
            world.daemon.post(&end, AGENT, &json!({ "agent": agent })).await;
        }
    }
    let listed = run(&world.daemon, &["grants"]).await.stdout;
    let line = format!("{id}  shell: make *  asks, a review said, by ");
    assert!(listed.starts_with(&line), "{listed}");
    assert_eq!(world.daemon.get("/v1/grants", &bot).await.1["grants"], json!([]));
    let gone = crate::agent_tokens::delete(&world.daemon, &format!("/v1/grants/{id}"), &bot).await;
    assert_eq!(gone.0, 403, "{gone:?}");
    let revoked = crate::agent_tokens::delete(&world.daemon, "/v1/tokens/bot", APPROVER).await;
    assert_eq!(revoked.0, 200, "{revoked:?}");
    assert_eq!(world.verdict("make a && make other").await, "ask");
    assert_eq!(world.verdict("make clean").await, "deny", "no review lifts a deny");
    // No grant wins against it; only its revocation ends it.
    let asked = world.daemon.ask(&shell("make three")).await;
    let always = json!({"decision": "approve", "scope": "always"});
    assert_eq!(world.daemon.answer(&asked, &always).await.0, 422);
    let gone =
        crate::agent_tokens::delete(&world.daemon, &format!("/v1/grants/{id}"), APPROVER).await;
    assert_eq!(gone.0, 200, "{gone:?}");
    assert_eq!(world.verdict("make other").await, "allow");
}

#[tokio::test]
async fn a_burst_shows_a_few_reviews_that_count_for_no_limit_of_their_agent() {
    let mut world = World::reviewing(ALL, MAKE).await;
    let limits = json!({"limits": {"max_open": 1, "per_minute": 1, "per_task": 1}});
    let bot = token(&world.daemon, "bot", limits).await;
    let named = token(&world.daemon, "countersign", json!({"limits": {"max_open": 1}})).await;
    for n in 0..9 {
        let call = shell(&format!("make n{n}"));
        assert_eq!(submit(&world.daemon, &bot, &call).await.1["verdict"], "allow");
    }
    world.daemon.says("is not shown for review: as many are open as may be").await;
    assert_eq!(world.reviews(3).await.len(), 3);
    // Its own ask is its first, for the one whose name reviews have, too.
    ask(&world.daemon, &bot, "git push origin main").await;
    ask(&world.daemon, &named, "git push origin main").await;
    let (_, tokens) = world.daemon.get("/v1/tokens", APPROVER).await;
    assert!(!tokens.to_string().contains("\"paused\":{"), "{tokens}");
    // Another agent's calls are shown meanwhile.
    assert_eq!(world.verdict("make other").await, "allow");
    assert_eq!(world.reviews(4).await.len(), 4);
    let (_, sessions) = world.daemon.get("/v1/sessions", APPROVER).await;
    assert!(!sessions.to_string().contains("review-"), "{sessions}");
}

#[tokio::test]
async fn what_asks_or_is_denied_or_has_no_rate_is_never_shown() {
    let config = "[[reviews]]\nagent = \"tester\"\n[[reviews]]\ncommand = \"make *\"\none_in = 1\n";
    let rules = r#"{"*": "ask", "shell_exec": {"make *": "allow", "ls": "allow",
        "make clean": "deny"}}"#;
    let world = World::reviewing(config, rules).await;
    assert_eq!(world.verdict("make all").await, "allow", "its agent's rule has no rate");
    let mut call = shell("make clean");
    call["agent"] = json!("other");
    for (command, verdict) in
        [("make clean", "deny"), ("git push", "ask"), ("ls", "allow"), ("make last", "allow")]
    {
        call["args"]["command"] = json!(command);
        assert_eq!(world.daemon.call(&call).await.1["verdict"], verdict, "{command}");
    }
    let (_, review) = world.review().await;
    assert_eq!(review["call"]["args"]["command"], "make last");
}

#[tokio::test]
async fn a_review_that_nobody_answers_ends_and_changes_nothing() {
    let config = "[[reviews]]\none_in = 1\ntimeout = \"1s\"\n";
    let world = World::reviewing(config, MAKE).await;
    assert_eq!(world.verdict("make all").await, "allow");
    let expired = |page: &Value| page["asks"].as_array().unwrap().len() == 1;
    let page = world.daemon.until("/v1/asks?state=expired", expired).await;
    assert_eq!(page["asks"][0]["reason"], "nobody reviewed it");
    let said = || {
        let all = world.telegram.messages(GROUP).into_iter();
        let mut all = all.filter(|card| card.text.contains("nobody reviewed it"));
        all.next_back()
    };
    world.telegram.until("the card says so", said).await;
    assert!(world.events().await.contains("\"outcome\":\"not_reviewed\""));
    assert_eq!(world.verdict("make all").await, "allow");
    let digest = world.daemon.get("/v1/digest", APPROVER).await;
    assert!(!digest.1.to_string().contains("make all"), "{digest:?}");
}
