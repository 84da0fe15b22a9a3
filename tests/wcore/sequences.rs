//! Scopes, answers and times to live, step by step.

use crate::{Hands, rows, text};
use countersign_policy::{Call, Guardrail, ProfileFacts, Rule, Rules, Verdict};
use countersign_profiles::wcore::{
    ApprovalScope, ModeChange, ModeChangeSource, Wcore, paths::Root,
};
use countersign_wcore::{
    DEFAULT_APPROVAL_TTL, DEFAULT_REAP_INTERVAL, DELIBERATION_TTL, RequestError, Resolution,
    ToolApprovalManager, ToolApprovalResult, Waiting, WaitingOutcome,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// One run of a row's steps.
struct Run {
    compat: bool,
    hands: Hands,
    manager: ToolApprovalManager,
    waiting: Vec<(String, Waiter)>,
    /// What the host answers from inside the telling.
    on_emit: Option<Value>,
    /// An id was refused because it waits already.
    refused: bool,
}

struct Waiter {
    waiting: Waiting,
    call: Call,
}

fn manager(compat: bool, hands: &Hands) -> ToolApprovalManager {
    let rules = Wcore::read(None, "", compat).unwrap();
    ToolApprovalManager::new(rules).with_clock(hands.clock())
}

fn scope(step: &Value) -> ApprovalScope {
    serde_json::from_value(step["scope"].clone()).unwrap()
}

impl Run {
    fn new(compat: bool) -> Self {
        let hands = Hands::new();
        let manager = manager(compat, &hands);
        Self { compat, hands, manager, waiting: Vec::new(), on_emit: None, refused: false }
    }

    async fn step(&mut self, step: &Value) {
        let id = step["call_id"].as_str().unwrap_or_default();
        let found = |resolution: Resolution| {
            if let Some(expected) = step.get("expect_found") {
                assert_eq!(json!(resolution != Resolution::Unknown), *expected, "{step}");
            }
        };
        match text(step, "op") {
            "request" | "request_emit_fails" => self.request(id, step),
            "on_emit_answer" => self.on_emit = Some(step.clone()),
            "approve" => {
                let answer = step["answer"].as_str().map(str::to_owned);
                let resolution = match text(step, "via") {
                    "approve" => self.manager.approve(id, scope(step), answer),
                    "resolve_host" => self.manager.resolve_host(id, true, scope(step), answer),
                    other => panic!("no way {other}"),
                };
                assert_ne!(resolution, Resolution::Unknown, "{step}");
            }
            "deny" => match step.get("scope") {
                Some(_) => found(self.manager.resolve_host(id, false, scope(step), None)),
                None => found(self.manager.deny(id, step["reason"].as_str())),
            },
            "resolve" => {
                let approved = step["approved"].as_bool().unwrap();
                found(self.manager.resolve_host(id, approved, ApprovalScope::Once, None));
            }
            "drop" => assert!(self.manager.forget(id)),
            "drop_receiver" => self.waiting.retain(|(known, _)| known != id),
            "deny_all" => count(step, self.manager.deny_all_pending(text(step, "reason"))),
            "reap" => count(step, self.manager.reap_now()),
            "ttl_ms" => {
                let ttl = Duration::from_millis(step["v"].as_u64().unwrap());
                self.manager = manager(self.compat, &self.hands).with_ttl(ttl);
            }
            "sleep_ms" => self.hands.pass(Duration::from_millis(step["v"].as_u64().unwrap())),
            "mode" => {
                let mode = text(step, "mode").parse().unwrap();
                assert_eq!(
                    self.manager.set_mode(mode, ModeChangeSource::Local),
                    ModeChange::Applied(mode)
                );
            }
            "policy" => {
                assert_eq!(text(step, "verdict"), "deny");
                let tool = text(step, "tool").to_owned();
                let deny = Rule { tool, verdict: Verdict::Deny, ..Rule::allow("", "*") };
                self.manager = manager(self.compat, &self.hands)
                    .with_guardrail(Guardrail::default().with_denies(Rules::from_rules(&[deny])));
                let _ = self.manager.set_mode("force".parse().unwrap(), ModeChangeSource::Local);
            }
            "add_category" => self.manager.add_category(text(step, "category").parse().unwrap()),
            "restore_tool" => {
                let restored = self.manager.restore_tool(text(step, "tool"));
                assert_eq!(restored.is_err(), text(step, "tool") == "send_message");
            }
            "pending" => {
                let waits = self.manager.pending_tool(id).is_some();
                assert_eq!(json!(waits), step["expect"], "{step}");
            }
            "pending_tool" => assert_eq!(json!(self.manager.pending_tool(id)), step["expect"]),
            "grants" => {
                let grants = self.manager.grants();
                let all: Vec<String> = [grants.tools, grants.categories].concat();
                assert_eq!(json!(all), step["expect"]);
                let none = grants.prefixes.is_empty() && grants.roots.list().is_empty();
                assert!(none, "{step}");
            }
            "path_grant" => {
                let roots = self.manager.grants().roots;
                let root = |root: &Root| json!({ "root": root.path, "write": root.write });
                let list: Vec<Value> = roots.list().iter().map(root).collect();
                let wanted = json!([{ "root": step["root"], "write": step["write"] }]);
                assert_eq!(json!(list), wanted);
            }
            "mutate_args" => {
                let waiter = self.waiting.iter_mut().find(|(known, _)| known == id).unwrap();
                waiter.1.call.args = json!({ "command": "something else" });
            }
            "check" => {
                let args = step["command"].as_str().map(|text| json!({ "command": text }));
                let call = Call {
                    own: ProfileFacts {
                        category: Some(text(step, "category").to_owned()),
                        ..ProfileFacts::default()
                    },
                    ..Call::new(text(step, "tool"), args.unwrap_or_default())
                };
                let verdict = match self.manager.check(&call).unwrap().verdict {
                    Verdict::Allow => "auto",
                    Verdict::Ask => "ask",
                    Verdict::Deny => "deny",
                };
                assert_eq!(verdict, text(step, "expect"), "{step}");
            }
            "result" => self.result(id, step).await,
            other => panic!("no step {other}"),
        }
    }

    fn request(&mut self, id: &str, step: &Value) {
        let tool = step["tool"].as_str().unwrap_or("Bash");
        let category = step["category"].as_str().map(str::to_owned);
        let own = ProfileFacts { category, ..ProfileFacts::default() };
        let call = Call { own, ..Call::new(tool, json!({})) };
        let emit = || match (&self.on_emit, text(step, "op")) {
            (_, "request_emit_fails") => Err(()),
            (Some(answer), _) => {
                let approved = answer["approved"].as_bool().unwrap();
                let told = self.manager.resolve_host(
                    text(answer, "call_id"),
                    approved,
                    ApprovalScope::Once,
                    None,
                );
                assert_eq!(told, Resolution::Resolved, "the host answers from inside the telling");
                Ok(())
            }
            (None, _) => Ok(()),
        };
        match self.manager.request_and_emit(id, &call, emit) {
            Ok(waiting) => self.waiting.push((id.to_owned(), Waiter { waiting, call })),
            Err(RequestError::Duplicate(known)) => {
                assert_eq!(known, id);
                self.refused = true;
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn result(&mut self, id: &str, step: &Value) {
        let mine = |(known, _): &(String, Waiter)| known == id;
        let (_, Waiter { waiting, call }) =
            self.waiting.remove(self.waiting.iter().position(mine).unwrap());
        let (kind, told) = match waiting.outcome(&call).await {
            WaitingOutcome::Approved { answer } => ("approved", answer),
            WaitingOutcome::Denied { reason } => ("denied", Some(reason)),
            WaitingOutcome::Aborted => ("aborted", None),
            WaitingOutcome::Changed => ("error", WaitingOutcome::Changed.text_for_model()),
        };
        assert_eq!(kind, text(step, "expect"), "{step}");
        for key in ["reason", "answer"] {
            if let Some(wanted) = step.get(key) {
                assert_eq!(json!(told), *wanted, "{step}");
            }
        }
        if let Some(note) = step.get("note") {
            assert!(told.unwrap().contains(note.as_str().unwrap()), "{step}");
        }
    }
}

fn count(step: &Value, counted: usize) {
    assert_eq!(json!(counted), step["expect_count"], "{step}");
}

async fn run_all(file: &str) {
    let mut ran = 0;
    for row in rows(file) {
        let Some(steps) = row["steps"].as_array() else { continue };
        for compat in [false, true] {
            let mut run = Run::new(compat);
            match row.get("want").filter(|_| !compat) {
                None => {
                    for step in steps {
                        run.step(step).await;
                    }
                    assert!(!run.refused, "{row}");
                }
                Some(want) => {
                    assert_eq!(want, "refuse the duplicate id");
                    for step in steps.iter().filter(|step| step["op"] != "result") {
                        run.step(step).await;
                    }
                    assert!(run.refused, "{row}");
                    let id = text(&steps[0], "call_id");
                    assert_eq!(run.manager.pending_tool(id).as_deref(), Some("Bash"));
                }
            }
            ran += 1;
        }
    }
    assert!(ran > 4, "{file}: only {ran} runs");
}

#[tokio::test]
async fn scopes_leave_behind_what_they_say() {
    run_all("scope_sequences").await;
}

#[tokio::test]
async fn every_request_has_one_answer() {
    run_all("resolve_lifecycle").await;
}

#[tokio::test]
async fn what_waits_too_long_is_denied() {
    run_all("ttl").await;
    let constants = rows("ttl");
    assert_eq!(constants[0]["ttl_secs"], DEFAULT_APPROVAL_TTL.as_secs());
    assert_eq!(constants[0]["reap_every_secs"], DEFAULT_REAP_INTERVAL.as_secs());
    assert_eq!(constants[1]["ttl_secs"], DELIBERATION_TTL.as_secs());
    let told = constants.iter().find(|row| row["id"] == "000-wcore/ttl/009").unwrap();
    let (least, sweep) = (DEFAULT_APPROVAL_TTL.as_secs(), DEFAULT_REAP_INTERVAL.as_secs());
    assert!(text(told, "note").contains(&format!("{least}..{} s", least + sweep)));
}

#[tokio::test]
async fn the_last_moment_is_too_late_and_the_denial_says_so() {
    let hands = Hands::new();
    let manager = manager(false, &hands);
    let waiting = manager.request_call("c", &Call::new("Bash", json!({}))).unwrap();
    hands.pass(Duration::from_millis(299_999));
    assert_eq!(manager.reap_now(), 0);
    hands.pass(Duration::from_millis(1));
    assert_eq!(manager.reap_now(), 1);
    let outcome = waiting.outcome(&Call::new("Bash", json!({}))).await;
    let reason = "approval timed out (no host response)";
    assert_eq!(outcome, WaitingOutcome::Denied { reason: reason.to_owned() });
    assert_eq!(outcome.text_for_model(), Some(format!("Tool denied: {reason}")));
}

#[tokio::test]
async fn the_reaper_denies_without_being_asked() {
    let hands = Hands::new();
    let manager = Arc::new(manager(false, &hands));
    let waiting = manager.request_approval("c", "exec".parse().unwrap(), "Bash").unwrap();
    let reaper = manager.spawn_reaper(Duration::from_millis(1));
    hands.pass(DEFAULT_APPROVAL_TTL);
    let reason = "approval timed out (no host response)".to_owned();
    assert_eq!(waiting.await, Ok(ToolApprovalResult::Denied { reason }));
    assert_eq!(manager.pending_tool("c"), None);
    reaper.abort();
}

#[test]
fn an_id_whose_waiter_is_gone_can_be_used_again() {
    let manager = manager(false, &Hands::new());
    let request = || manager.request_approval("c", "exec".parse().unwrap(), "Bash");
    drop(request().unwrap());
    let _waiting = request().unwrap();
    assert_eq!(request().unwrap_err(), RequestError::Duplicate("c".to_owned()));
}

#[test]
fn a_grant_that_is_refused_says_why_and_the_call_runs_all_the_same() {
    let manager = manager(false, &Hands::new());
    let approve = |tool: &str, scope| {
        let _waiting = manager.request_approval("c", "info".parse().unwrap(), tool).unwrap();
        manager.approve("c", scope, None)
    };
    let everything = ApprovalScope::AlwaysPath { root: "/".into(), write: false };
    let why = "/ holds everything; name a directory inside it".to_owned();
    assert_eq!(approve("Read", everything), Resolution::ResolvedOnce(why));
    let why = "send_message is approved anew each time".to_owned();
    assert_eq!(approve("send_message", ApprovalScope::Always), Resolution::ResolvedOnce(why));
    assert_eq!(approve("Read", ApprovalScope::Always), Resolution::Resolved);
}

#[test]
fn a_peer_on_the_wire_loosens_nothing_unless_somebody_opted_in() {
    let force = "force".parse().unwrap();
    let manager = manager(false, &Hands::new());
    assert_eq!(manager.set_mode(force, ModeChangeSource::Wire), ModeChange::Refused);
    let opted_in = ToolApprovalManager::new(Wcore::default()).with_authority(None, true);
    assert_eq!(opted_in.set_mode(force, ModeChangeSource::Wire), ModeChange::Applied(force));
    assert_eq!(opted_in.mode(), force);
}
