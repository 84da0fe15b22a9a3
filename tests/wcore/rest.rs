//! The resolve route over HTTP.

use crate::{rows, text};
use countersign_profiles::wcore::{Category, Wcore};
use countersign_tokens::secret::TokenHash;
use countersign_wcore::{
    ApprovalBridge, ApprovalOutcome, ToolApprovalManager, ToolApprovalResult, router,
};
use serde_json::{Value, json};
use std::sync::Arc;

struct Served {
    manager: Arc<ToolApprovalManager>,
    bridge: Arc<ApprovalBridge>,
    url: String,
}

impl Served {
    async fn new() -> Self {
        let manager = Arc::new(ToolApprovalManager::new(Wcore::default()));
        let bridge = Arc::new(ApprovalBridge::default());
        let session = (manager.clone(), bridge.clone());
        let find = move |id: &str| (id == "s1").then(|| session.clone());
        let routes = router(TokenHash::of("right"), find);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/sessions", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { manager, bridge, url }
    }

    async fn post(&self, call: &str, body: &Value, token: Option<&str>) -> (u16, Value) {
        let url = format!("{}/{call}/resolve", self.url);
        let mut request = reqwest::Client::new().post(url).json(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let reply = request.send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    }
}

#[tokio::test]
async fn the_route_answers_as_the_peers_does() {
    for row in rows("acp_rest") {
        let served = Served::new().await;
        let status = row["status"].as_u64().unwrap();
        let waiting = served.manager.request_approval("c1", Category::Exec, "Bash").unwrap();
        let token = if status == 401 { None } else { Some("right") };
        let path = "s1/approvals/c1";
        if status == 404 {
            let (unknown, _) = served.post("s1/approvals/c2", &row["request"], token).await;
            assert_eq!(unknown, 404);
            served.post(path, &row["request"], token).await;
        }
        let (got, body) = served.post(path, &row["request"], token).await;
        assert_eq!(u64::from(got), status, "{row}: {body}");
        for (key, wanted) in row["body"].as_object().into_iter().flatten() {
            assert_eq!(body[key], *wanted, "{row}");
        }
        if status == 200 {
            assert_eq!(body["call_id"], "c1");
            assert_eq!(waiting.await, Ok(ToolApprovalResult::Approved { answer: None }));
            let grants = served.manager.grants();
            let scope = row["request"].get("scope").and_then(Value::as_str).unwrap_or("once");
            assert_eq!(grants.tools, if scope == "always" { vec!["Bash"] } else { vec![] });
            let prefixes: Vec<&str> = grants.prefixes.iter().map(|p| p.text.as_str()).collect();
            assert_eq!(prefixes, if scope == "always_prefix" { vec!["cargo "] } else { vec![] });
        }
    }
}

#[tokio::test]
async fn nothing_but_a_plain_answer_is_one() {
    let served = Served::new().await;
    let _waiting = served.manager.request_approval("c1", Category::Exec, "Bash").unwrap();
    for body in [
        json!({}),
        json!({ "approved": "true" }),
        json!({ "approved": 1 }),
        json!({ "approved": true, "scope": "forever" }),
        json!({ "approved": true, "scope": "always_prefix" }),
        json!({ "approved": true, "scope": "always_prefix", "prefix": " " }),
        json!({ "approved": true, "prefix": "cargo " }),
        json!({ "approved": true, "extra": 1 }),
    ] {
        let (status, reply) = served.post("s1/approvals/c1", &body, Some("right")).await;
        assert_eq!(status, 400, "{body}");
        assert!(!text(&reply, "error").is_empty());
    }
    assert_eq!(served.manager.pending_tool("c1").as_deref(), Some("Bash"));
    let body = json!({ "approved": true });
    assert_eq!(served.post("s1/approvals/c1", &body, Some("wrong")).await.0, 401);
    assert_eq!(served.post("s2/approvals/c1", &body, Some("right")).await.0, 404);
}

#[tokio::test]
async fn a_resume_token_answers_the_suspended_request_and_nothing_else() {
    let served = Served::new().await;
    let mut waiting = served.manager.request_approval("c1", Category::Exec, "Bash").unwrap();
    let suspended = served.bridge.request("c1");
    let wrong = json!({ "approved": true, "resume_token": "c1" });
    assert_eq!(served.post("s1/approvals/c1", &wrong, Some("right")).await.0, 404);
    let token = suspended.token.reveal();
    let right = json!({ "approved": true, "resume_token": token, "answer": "staging" });
    assert_eq!(served.post("s1/approvals/c1", &right, Some("right")).await.0, 200);
    let modifications = Some(json!({ "answer": "staging" }));
    assert_eq!(suspended.outcome.await, Ok(ApprovalOutcome::Approved { modifications }));
    assert!(waiting.try_recv().is_err(), "the call itself still waits");
}
