//! Sequences of the profile `molf`: asks, replies, cascades and ends, against the public type.

use std::collections::HashMap;

use countersign_policy::{Call, Guardrail, Verdict};
use countersign_profiles::molf::{DEFAULT, approval_id};
use countersign_profiles::rules_of;
use countersign_profiles::{CallEnd, EvaluationContext, Grants, Profile};
use serde_json::{Value, json};

use crate::molf_gate::{ApprovalEvent, ApprovalReply, ApprovalResolution, Ended, MolfGate};

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/002-molf/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A gate, and what its waiters have been told.
struct Run {
    gate: MolfGate,
    compat: bool,
    names: HashMap<String, String>,
    ended: Vec<Ended>,
    events: Vec<ApprovalEvent>,
}

impl Run {
    fn new(compat: bool) -> Self {
        let gate = MolfGate::new(compat, Some("/home/u"));
        Self { gate, compat, names: HashMap::new(), ended: Vec::new(), events: Vec::new() }
    }

    fn step(&mut self, row: &Value, step: &Value) {
        let text = |key: &str| step[key].as_str();
        let session = text("session").unwrap_or("s1");
        let worker = text("worker").unwrap_or("w1");
        let at = format!("{} {step}", row["id"]);
        let call = || Call::new(text("tool").unwrap(), step["args"].clone());
        match text("op").unwrap() {
            "ask" => {
                let ruling = self.gate.evaluate(&call(), session, worker, 0).unwrap();
                assert_eq!(ruling.verdict, Verdict::Ask, "{at}");
                let random = u32::try_from(self.names.len()).unwrap() + 0xa0;
                let id = self.gate.ask(call(), session, worker, &ruling, random);
                self.names.insert(text("as").unwrap().to_owned(), id);
            }
            "reply" => {
                let id = text("id").unwrap_or_else(|| &self.names[text("of").unwrap()]);
                let reply = match text("response").unwrap() {
                    "once" => ApprovalReply::Once,
                    "always" => ApprovalReply::Always,
                    _ => ApprovalReply::Reject(text("feedback")),
                };
                let owner = id.split(':').next().unwrap();
                let replied = self.gate.reply(id, text("session").unwrap_or(owner), reply, 0);
                let refused = row.get("want").is_some() && !self.compat;
                let wanted = step["applied"] == true && !refused;
                assert_eq!(!replied.ended.is_empty(), wanted, "{at}");
                self.ended.extend(replied.ended);
            }
            "evaluate" => {
                let ruling = self.gate.evaluate(&call(), session, worker, 0).unwrap();
                assert_eq!(json!(ruling.verdict), step["expect"], "{at}");
            }
            "outcome" | "wait" => {
                let id = &self.names[text("of").unwrap()];
                let ended = self.ended.iter().find(|ended| ended.id == *id);
                let ended = ended.unwrap_or_else(|| panic!("{at}: still waits"));
                let rejected =
                    ended.message.is_some() || ended.outcome == ApprovalResolution::Denied;
                match text("expect") {
                    Some("approved") => {
                        assert_eq!(ended.outcome, ApprovalResolution::Approved, "{at}")
                    }
                    Some("rejected") => assert!(rejected, "{at}: {ended:?}"),
                    None => {}
                    Some(other) => panic!("{at}: {other}"),
                }
                if let Some(message) = text("message") {
                    assert_eq!(ended.message.as_deref(), Some(message), "{at}");
                }
            }
            "pending" | "list" => {
                let count = match text("session") {
                    Some(session) => self.gate.replay(session).len(),
                    None => self.gate.pending().len(),
                };
                assert_eq!(json!(count), step["expect"], "{at}");
            }
            "cancel" => {
                let id = self.names[text("of").unwrap()].clone();
                let ended = self.gate.cancel(&id);
                assert_eq!(ended[0].message, None, "{at}: nobody waits");
                self.ended.extend(ended);
            }
            "abort" => self.ended.extend(self.gate.abort(session)),
            "clear_session" => self.ended.extend(self.gate.clear_session(session)),
            "clear_all" => self.ended.extend(self.gate.clear_all()),
            "worker_gone" => self.ended.extend(self.gate.worker_gone(worker, &[])),
            "agent" => {
                let rules = rules_of(&step["rules"], "agent", None).unwrap();
                self.gate.set_agent(session, rules);
            }
            "event" => {
                let found = self.events.iter().any(|event| {
                    let event = json!(event);
                    event["type"] == step["type"]
                        && step.get("outcome").is_none_or(|outcome| event["outcome"] == *outcome)
                });
                assert!(found, "{at}: {:?}", self.events);
            }
            "sleep_ms" => {}
            other => panic!("{at}: {other}"),
        }
        self.events.extend(self.gate.events());
    }
}

#[test]
fn lifecycles() {
    for compat in [false, true] {
        for row in rows("lifecycle.jsonl") {
            let mut run = Run::new(compat);
            for step in row["steps"].as_array().unwrap() {
                run.step(&row, step);
            }
        }
    }
}

/// Files between evaluations: seeded, read each time, never rewritten by reading.
#[test]
fn files_are_seeded_read_each_time_and_left_alone() {
    let cases: Vec<Value> = rows("persistence.jsonl");
    let case = |words: &str| {
        assert!(
            cases.iter().any(|row| row["case"].as_str().unwrap().starts_with(words)),
            "{words}"
        );
    };
    let mut gate = MolfGate::new(false, Some("/home/u"));
    let ls = Call::shell("ls -la");
    let verdict = |gate: &mut MolfGate| gate.evaluate(&ls, "s", "w", 0).unwrap().verdict;
    case("missing file is seeded");
    assert_eq!((verdict(&mut gate), gate.file("w")), (Verdict::Ask, DEFAULT));
    case("file is read on every evaluation");
    let text = "{ \"shell_exec\": { \"ls *\": \"allow\" }, \"read_file\": { \"~/s\": \"deny\" } }";
    gate.set_file("w", text);
    assert_eq!(verdict(&mut gate), Verdict::Allow);
    case("loading never rewrites");
    assert_eq!(gate.file("w"), text);
}

#[test]
fn a_dead_rule_behind_a_catch_all_is_told() {
    let mut gate = MolfGate::new(false, None);
    gate.set_file("w", r#"{ "shell_exec": { "ls *": "allow" }, "*": "ask" }"#);
    let push = Call::shell("git push origin");
    let ruling = gate.evaluate(&push, "s", "w", 0).unwrap();
    let id = gate.ask(push.clone(), "s", "w", &ruling, 1);
    let replied = gate.reply(&id, "s", ApprovalReply::Always, 0);
    assert!(replied.but.unwrap().starts_with("the stored rule does not win"));
    // In the session it holds, as with molf; in the next it asks again.
    assert_eq!(gate.evaluate(&push, "s", "w", 0).unwrap().verdict, Verdict::Allow);
    assert_eq!(gate.evaluate(&push, "t", "w", 0).unwrap().verdict, Verdict::Ask);
}

#[test]
fn a_pipeline_is_remembered_whole_under_compat_too() {
    let pipeline = Call::shell("cat a | grep b | wc -l");
    let stored = json!({"*": "ask", "cat *": "allow", "grep *": "allow", "wc *": "allow"});
    for compat in [false, true] {
        let mut gate = MolfGate::new(compat, None);
        let ruling = gate.evaluate(&pipeline, "s", "w", 0).unwrap();
        let id = gate.ask(pipeline.clone(), "s", "w", &ruling, 1);
        let _ = gate.reply(&id, "s", ApprovalReply::Always, 0);
        let text: String = gate.file("w").lines().filter(|l| !l.starts_with("//")).collect();
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["shell_exec"], stored, "compat {compat}");
    }
}

#[test]
fn a_cascade_does_not_pass_the_agents_veto() {
    let mut gate = MolfGate::new(false, None);
    let curl = |host: &str| Call::shell(format!("curl https://{host}"));
    let ask = |gate: &mut MolfGate, host: &str, random: u32| {
        let ruling = gate.evaluate(&curl(host), "s", "w", 0).unwrap();
        gate.ask(curl(host), "s", "w", &ruling, random)
    };
    let (one, two) = (ask(&mut gate, "a.com", 1), ask(&mut gate, "b.com", 2));
    gate.set_agent("s", rules_of(&json!({"*": "deny"}), "agent", None).unwrap());
    let replied = gate.reply(&one, "s", ApprovalReply::Always, 0);
    assert_eq!(replied.ended.len(), 1);
    assert_eq!(gate.pending()[0].id, two);
}

#[test]
fn ids_and_errors() {
    let rows = rows("ids_and_errors.jsonl");
    let session = "3f2a9c1e-0000-4000-8000-0123456789ab";
    for row in &rows {
        match (row.get("regex"), row.get("error"), row.get("event")) {
            (Some(_), ..) => {
                let id = approval_id(session, 0xbeef);
                assert_eq!(id, format!("{session}:0000beef"));
                assert_eq!(json!(id.len()), row["length"]);
            }
            (_, Some(error), _) => assert!(denied(".env").starts_with(error.as_str().unwrap())),
            (.., Some(event)) => {
                let call = Call::shell("python script.py");
                let mut gate = MolfGate::new(false, None);
                let ruling = gate.evaluate(&call, session, "w", 0).unwrap();
                let id = gate.ask(call, session, "w", &ruling, 1);
                let mut wanted = event.clone();
                wanted["approvalId"] = json!(id);
                wanted["sessionId"] = json!(session);
                assert_eq!(json!(gate.events()), json!([wanted]));
                assert_eq!(json!(gate.replay(session)), json!([wanted]));
            }
            // Words are handed back; nothing is thrown.
            _ => assert!(denied(".env").contains("denied by policy"), "{row}"),
        }
    }
}

/// What the model is told of a read of this path under the built-in rules.
fn denied(path: &str) -> String {
    let system = Profile::Molf.open(None, "permissions.jsonc", None, false).unwrap();
    let call = Call::new("read_file", json!({ "path": path }));
    let given = EvaluationContext {
        mode: None,
        grants: &Grants::default(),
        agent_rules: None,
        guardrail: &Guardrail::default(),
        reachable: true,
        now_ms: 0,
    };
    let ruling = countersign_profiles::decide(&*system, &call, &given).unwrap();
    let end = CallEnd::Forbidden { reason: &ruling.reason, rule: ruling.rule.as_deref() };
    system.text_for_model(&call, &end).unwrap()
}

#[test]
fn a_denial_names_the_first_piece_and_every_rule_that_bears_on_it() {
    assert_eq!(
        denied(".env"),
        "Tool \"read_file\" denied by policy for pattern: .env\nRelevant rules: \
         [{\"permission\":\"*\",\"pattern\":\"*\",\"action\":\"ask\"},\
         {\"permission\":\"read_file\",\"pattern\":\"*\",\"action\":\"allow\"},\
         {\"permission\":\"read_file\",\"pattern\":\"*.env\",\"action\":\"deny\"}]"
    );
}
