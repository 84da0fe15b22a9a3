//! Requests that wait out of band.

use crate::{Hands, rows, text};
use countersign_wcore::{
    ApprovalBridge, ApprovalOutcome, CancelCause, DEFAULT_APPROVAL_TTL,
    wire::{AnswerRoute, EngineEvent, ResumeToken},
};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use tokio::sync::oneshot::Receiver;

struct Run {
    bridge: ApprovalBridge,
    /// The minted secrets, by the names that the steps give them.
    secrets: HashMap<String, String>,
    outcome: Option<Receiver<ApprovalOutcome>>,
}

impl Run {
    fn new() -> Self {
        let bridge = ApprovalBridge::new(DEFAULT_APPROVAL_TTL, Hands::new().clock());
        Self { bridge, secrets: HashMap::new(), outcome: None }
    }

    fn spelled(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, (name, secret)| text.replace(name, secret))
    }

    async fn step(&mut self, step: &Value) {
        let approved = || match step["approved"].as_bool() {
            Some(true) => ApprovalOutcome::Approved { modifications: None },
            _ => ApprovalOutcome::Denied { modifications: None },
        };
        match text(step, "op") {
            "hitl_request" => {
                let public = text(step, "corr");
                let suspended = match step["ttl_ms"].as_u64() {
                    Some(ttl) => self.bridge.request_for(public, Duration::from_millis(ttl)),
                    None => self.bridge.request(public),
                };
                let name = format!("${}", step["as"].as_str().unwrap_or("secret"));
                self.secrets.insert(name, suspended.token.reveal().to_owned());
                // Only the last one is looked at, but none must count as given up.
                if let Some(earlier) = self.outcome.replace(suspended.outcome) {
                    tokio::spawn(earlier);
                }
            }
            "wire_resume" => {
                let found = self.bridge.resume(&self.spelled(text(step, "token")), approved());
                assert_eq!(json!(found), step["expect_found"], "{step}");
            }
            "local_resume" => {
                let found = self.bridge.resume_here(text(step, "corr"), approved());
                assert_eq!(json!(found), step["expect_found"], "{step}");
            }
            "mirror" => {
                let token = self.bridge.token(text(step, "corr"));
                let wanted = step["expect"].as_str().map(|name| self.spelled(name));
                assert_eq!(token.as_ref().map(ResumeToken::reveal), wanted.as_deref(), "{step}");
            }
            "redact" => {
                let clean = self.bridge.redact(&self.spelled(text(step, "text")));
                assert_eq!(clean, self.spelled(text(step, "expect")), "{step}");
            }
            "secret_shape" => {
                let secret = self.spelled("$secret");
                let uuid = secret.strip_prefix("apr-").unwrap();
                assert!(uuid::Uuid::parse_str(uuid).is_ok(), "{secret}");
            }
            "pending_count" => assert_eq!(json!(self.bridge.pending()), step["expect"], "{step}"),
            "reap" => assert_eq!(json!(self.bridge.reap_now()), step["expect_count"], "{step}"),
            "result" => {
                let kind = match self.outcome.take().unwrap().await.unwrap() {
                    ApprovalOutcome::Approved { .. } => "approved",
                    ApprovalOutcome::Denied { .. } => "denied",
                    ApprovalOutcome::Cancelled(CancelCause::Expired) => "cancelled",
                    ApprovalOutcome::Cancelled(CancelCause::HostGone) => "host gone",
                };
                assert_eq!(kind, text(step, "expect"), "{step}");
            }
            other => panic!("no step {other}"),
        }
    }
}

#[tokio::test]
async fn requests_wait_behind_secrets_of_their_own() {
    let mut ran = 0;
    for row in rows("hitl_bridge") {
        if let Some(steps) = row["steps"].as_array() {
            let mut run = Run::new();
            for step in steps {
                run.step(step).await;
            }
        } else {
            let Ok(EngineEvent::ApprovalRequired(wanted)) =
                EngineEvent::read(&row["event"].to_string())
            else {
                panic!("{row}");
            };
            let answers = match wanted.answering() {
                AnswerRoute::ByCall => "tool_approve|tool_deny",
                AnswerRoute::ByToken(_) => "approval_resume",
            };
            assert_eq!(answers, text(&row, "answer_with"), "{row}");
        }
        ran += 1;
    }
    assert!(ran > 4);
}

#[tokio::test]
async fn what_the_host_changed_arrives_and_the_public_id_opens_nothing_on_the_wire() {
    let bridge = ApprovalBridge::default();
    let suspended = bridge.request("c-8b2d");
    let approved = |answer: &str| ApprovalOutcome::Approved {
        modifications: Some(json!({ "answer": answer })),
    };
    assert!(!bridge.resume("c-8b2d", approved("production")));
    assert!(bridge.resume(suspended.token.reveal(), approved("staging")));
    assert_eq!(suspended.outcome.await, Ok(approved("staging")));
}

#[tokio::test]
async fn a_host_that_is_gone_is_told_apart_from_one_that_is_late() {
    let bridge = ApprovalBridge::default();
    let suspended = bridge.request("c");
    assert_eq!(bridge.cancel_all(), 1);
    let gone = ApprovalOutcome::Cancelled(CancelCause::HostGone);
    assert_eq!(suspended.outcome.await, Ok(gone));
    assert_ne!(CancelCause::HostGone.to_string(), CancelCause::Expired.to_string());
}

#[test]
fn no_log_shows_a_secret() {
    let bridge = ApprovalBridge::default();
    let suspended = bridge.request("c");
    let secret = suspended.token.reveal().to_owned();
    let shown = format!("{bridge:?} {suspended:?} {:?}", bridge.token("c"));
    assert!(secret.starts_with("apr-") && !shown.contains(&secret), "{shown}");
}
