//! Seed 004: zeptoclaw's recorded answers, strict and under `compat`. Its requests have a clock and
//! are tested with the library (`src/zeptoclaw`).

use crate::support::{Check, Kind, Vectors};
use countersign_policy::{Call, Guardrail, Verdict};
use countersign_profiles::zeptoclaw::{
    agent_mode::{AgentMode, CategoryPermission, ModePolicy, ToolCategory},
    config::{ApprovalConfig, ApprovalPolicyConfig, ZeptoclawSettings},
    ending::{self, ApprovalResponse, CallOutcome},
    policy::ApprovalPolicy,
    replies::{self, ChatReply, CliAnswer, cli_answer, reply},
};
use countersign_profiles::{CallEnd, DefaultTimeout, EvaluationContext, Grants, OnDeny, Profile};
use serde_json::{Value, json};

fn vectors() -> Vectors {
    Vectors::new(Profile::Zeptoclaw, "004-zeptoclaw")
}

#[test]
fn tools_are_asked_about_as_the_policy_says() {
    vectors().each("policy.jsonl", |row, check| {
        let tool = row["tool"].as_str().unwrap();
        let mut approval = json!({ "enabled": row["enabled"], "policy": row["policy"] });
        let list = match row["policy"].as_str().unwrap() {
            "require_for_dangerous" => "dangerous_tools",
            _ => "require_for",
        };
        if !row["list"].is_null() {
            approval[list] = row["list"].clone();
        }
        let config: ApprovalConfig = serde_json::from_value(approval.clone()).unwrap();
        let head = row["era"] == "head" && row["list"].is_null();
        let requires = config.enabled && ApprovalPolicy::of(&config).requires(tool);
        assert!(head || row["requires"] == requires, "{row}: the library says {requires}");
        let config = json!({ "approval": approval });
        let answer = check.line(&json!({ "tool": tool, "args": {}, "config": config }));
        (row["requires"].clone(), asks(&answer)).into()
    });
}

/// True for an ask, false for an allow, else the whole answer.
fn asks(answer: &Value) -> Value {
    match answer["verdict"].as_str() {
        Some("ask") => json!(true),
        Some("allow") => json!(false),
        _ => answer.clone(),
    }
}

#[test]
fn modes_permit_categories() {
    vectors().each("agent_mode.jsonl", |row, check| {
        if let Some(word) = row.get("parse") {
            let mode = word.as_str().unwrap().parse::<AgentMode>();
            let got = mode.map_or_else(|_| "error".to_owned(), |mode| mode.to_string());
            return (row["mode"].clone(), json!(got)).into();
        }
        if let Some(word) = row.get("config_mode") {
            let wanted: AgentMode = row["effective"].as_str().unwrap().parse().unwrap();
            return every_category_is_ruled_on_as_in(wanted, word, check).into();
        }
        let (mode, category) = (&row["mode"], &row["category"]);
        if row.get("permission").is_some() {
            return (row["permission"].clone(), permission(check, &json!({}), mode, category))
                .into();
        }
        let requires = row["gate_requires"] == true;
        let answer = ask_gate(check, mode, category, requires);
        let got = match answer["verdict"].as_str() {
            Some("deny") => json!("blocked"),
            Some("ask") => json!("goes to the gate"),
            Some("allow") => json!("runs"),
            _ => answer.clone(),
        };
        (row["outcome"].clone(), got).into()
    });
}

fn ask_gate(check: &Check, mode: &Value, category: &Value, requires: bool) -> Value {
    let policy = if requires { "always_require" } else { "always_allow" };
    check.line(&json!({
        "tool": "gadget", "args": {}, "category": category, "mode": mode,
        "config": { "approval": { "enabled": true, "policy": policy } },
    }))
}

/// What a mode says about a category, seen in what becomes of a call with and without the gate.
fn permission(check: &Check, agent_mode: &Value, mode: &Value, category: &Value) -> Value {
    let verdict = |policy: &str| {
        let answer = check.line(&json!({
            "tool": "gadget", "args": {}, "category": category, "mode": mode,
            "config": {
                "approval": { "enabled": true, "policy": policy }, "agent_mode": agent_mode,
            },
        }));
        answer["verdict"].as_str().map(str::to_owned).unwrap_or_else(|| answer.to_string())
    };
    match (verdict("always_allow").as_str(), verdict("always_require").as_str()) {
        ("allow", "ask") => json!("allowed"),
        ("deny", "ask") => json!("requires_approval"),
        ("deny", "deny") => json!("blocked"),
        other => json!(format!("{other:?}")),
    }
}

fn every_category_is_ruled_on_as_in(mode: AgentMode, word: &Value, check: &Check) -> bool {
    ToolCategory::ALL.into_iter().all(|category| {
        let wanted = match ModePolicy::new(mode).check(category) {
            CategoryPermission::Allowed => "allowed",
            CategoryPermission::RequiresApproval => "requires_approval",
            CategoryPermission::Blocked => "blocked",
        };
        let agent_mode = json!({ "mode": word });
        permission(check, &agent_mode, &Value::Null, &json!(category)) == wanted
    })
}

#[test]
fn a_mode_that_is_none_is_named_and_on_a_line_it_is_a_mistake() {
    let read = |compat| {
        ZeptoclawSettings::read(r#"{"agent_mode":{"mode":"typo"}}"#, "config.json", compat)
    };
    assert_eq!(read(true).unwrap().mode, AgentMode::Autonomous);
    let strict = read(false).unwrap();
    assert_eq!(strict.mode, AgentMode::Assistant);
    assert!(strict.doubt.unwrap().contains("\"typo\""));
    let options =
        countersign_profiles::check::Options { profile: Profile::Zeptoclaw, ..Default::default() };
    let line = json!({ "tool": "x", "args": {}, "mode": "typo" }).to_string();
    let answer: Value = serde_json::from_str(&options.line(&line)).unwrap();
    assert!(answer["error"].as_str().unwrap().contains("no agent mode"), "{answer}");
    let line = json!({ "tool": "x", "args": {}, "category": "exec" }).to_string();
    let answer: Value = serde_json::from_str(&options.line(&line)).unwrap();
    assert!(answer["error"].as_str().unwrap().contains("FilesystemRead"), "{answer}");
}

#[test]
fn the_terminal_reads_its_answers_closed() {
    vectors().each("cli_answers.jsonl", |row, _| {
        let got = match cli_answer(row["input"].as_str()) {
            CliAnswer::Approved => "approved".to_owned(),
            CliAnswer::Denied(reason) => format!("denied: {reason}"),
            CliAnswer::AskAgain => "asked again".to_owned(),
        };
        (row["outcome"].clone(), json!(got)).into()
    });
}

#[test]
fn chat_words_decide_by_the_first_and_small_talk_decides_nothing() {
    vectors().each("text_replies.jsonl", |row, check| {
        let got = match reply(row["text"].as_str().unwrap(), check.kind == Kind::Compat) {
            Some(ChatReply::Approved { reason }) => json!(["approved", reason]),
            Some(ChatReply::Rejected { reason }) => json!(["rejected", reason]),
            None => Value::Null,
        };
        let wanted = match &row["decision"] {
            Value::Null => Value::Null,
            decision => json!([decision, row["reason"]]),
        };
        (wanted, got).into()
    });
    let question = reply("approve what?", false);
    assert_eq!(question, None);
}

#[test]
fn the_bridges_messages_read_as_recorded() {
    vectors().each("text_messages.jsonl", |row, _| {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        match text("kind") {
            "request" => {
                let got = replies::request(text("workflow"), text("execution_id"), text("message"));
                (row["lines"].clone(), json!(got.lines().collect::<Vec<_>>())).into()
            }
            "timeout" => {
                let elapsed = row["elapsed"].as_u64().unwrap();
                let got = replies::expiry(text("workflow"), text("execution_id"), elapsed);
                got.contains(&format!("expired after {}", text("contains"))).into()
            }
            "short_id" => (row["short"].clone(), json!(replies::short(text("id")))).into(),
            "help" => replies::HELP.contains(text("contains")).into(),
            other => panic!("{other} is not known here"),
        }
    });
}

#[test]
fn prompts_show_the_tool_and_all_its_arguments() {
    vectors().each("format.jsonl", |row, _| {
        let got = ending::prompt(row["tool"].as_str().unwrap(), &row["args"]);
        if let Some(parts) = row["contains"].as_array() {
            return parts.iter().all(|part| got.contains(part.as_str().unwrap())).into();
        }
        let pretty = serde_json::to_string_pretty(&row["args"]).unwrap();
        let order = row["order"].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
        let wanted: Vec<&str> =
            order.map(|part| if part == "<pretty JSON>" { &pretty } else { part }).collect();
        let wanted = wanted.join("\n").replace("Tool:\n", "Tool: shell\n");
        (json!(wanted), json!(got)).into()
    });
}

#[test]
fn answers_end_as_the_loop_ends_them() {
    vectors().each("loop_outcome.jsonl", |row, check| {
        if let Some(raw) = row.get("raw") {
            let got = ending::arguments(raw.as_str().unwrap());
            let wanted = row["shown"]["_parse_error"].as_str().unwrap().trim_end_matches('…');
            return got["_parse_error"].as_str().unwrap().starts_with(wanted).into();
        }
        if row.get("requires").is_none() {
            // The mode blocks before the gate is asked.
            let answer = ask_gate(check, &json!("observer"), &json!("Shell"), true);
            return (json!("deny"), answer["verdict"].clone()).into();
        }
        let handled = row["handler"].as_str().map(|word| match word.split_once(':') {
            Some(("denied", reason)) => ApprovalResponse::Denied(reason.to_owned()),
            _ if word == "approved" => ApprovalResponse::Approved,
            _ => ApprovalResponse::TimedOut,
        });
        let (requires, trusted) = (row["requires"] == true, row["trusted_local"] == true);
        let got = ending::outcome("shell", &json!({}), requires, trusted, handled.as_ref());
        let (word, said) = match got {
            CallOutcome::Run => ("run", String::new()),
            CallOutcome::Skip(said) => ("skip", said),
        };
        let contains = row["result_contains"].as_str().unwrap_or_default();
        assert!(said.contains(contains), "{row}: {said}");
        (row["outcome"].clone(), json!(word)).into()
    });
}

#[test]
fn sections_are_read_with_the_defaults_of_their_time() {
    vectors().each("config_parse.jsonl", |row, check| {
        let section = row["json"].clone();
        let silent = match row["era"].as_str() {
            Some("head") => ApprovalConfig::careful(),
            _ => ApprovalConfig::default(),
        };
        let read = ApprovalConfig::over(silent.clone(), &section);
        if row["era"] != "head" {
            let by_serde = serde_json::from_value::<ApprovalConfig>(section.clone());
            assert_eq!(by_serde.ok(), read.clone().ok(), "{row}");
        }
        if row["error"] == true {
            let config = json!({ "tool": "x", "args": {}, "config": { "approval": section } });
            assert!(check.line(&config)["error"].is_string(), "{row}");
            return read.is_err().into();
        }
        let read = json!(read.unwrap());
        match row.get("parsed") {
            Some(parsed) => (parsed.clone(), read).into(),
            None => {
                let given = section.as_object().unwrap();
                given.iter().all(|(key, value)| read[key] == *value).into()
            }
        }
    });
}

#[test]
fn a_file_without_the_section_is_gated_and_under_compat_it_is_not() {
    let read =
        |text: &str, compat| ZeptoclawSettings::read(text, "config.json", compat).unwrap().approval;
    assert_eq!(read("{}", false), ApprovalConfig::careful());
    assert!(!read(r#"{"agents":{}}"#, true).enabled);
    let alone = read(r#"{"enabled":true,"policy":"always_require"}"#, false);
    assert_eq!((alone.enabled, alone.policy), (true, ApprovalPolicyConfig::AlwaysRequire));
    for (text, named) in [
        (r#"{"approval":{"enable":true}}"#, "enabled"),
        (r#"{"approval":[]}"#, "section"),
        ("[]", "approval"),
        (r#"{"agent_mode":{"mode":3}}"#, "agent_mode.mode"),
        ("{", "config.json"),
    ] {
        let error = ZeptoclawSettings::read(text, "config.json", false).unwrap_err();
        assert!(error.contains(named), "{text}: {error}");
    }
}

#[test]
fn a_call_that_its_embedder_wants_asked_about_is_asked_about() {
    let options =
        countersign_profiles::check::Options { profile: Profile::Zeptoclaw, ..Default::default() };
    for (wish, verdict) in [(json!(true), "ask"), (json!("yes"), "ask"), (json!(false), "allow")] {
        let line = json!({
            "tool": "echo", "args": {}, "override": wish,
            "config": { "approval": { "enabled": false } },
        });
        let answer: Value = serde_json::from_str(&options.line(&line.to_string())).unwrap();
        assert_eq!(answer["verdict"], verdict, "{wish}");
    }
}

#[test]
fn the_model_is_told_who_decided_in_the_systems_own_words() {
    let config = r#"{"approval":{"enabled":true,"policy":"always_require",
        "auto_approve_timeout_secs":90}}"#;
    let system = Profile::Zeptoclaw.open(Some(config), "config.json", None, false).unwrap();
    assert_eq!(system.prompt_behaviour().timeout, DefaultTimeout::Approve(90));
    let call = Call::new("shell", json!({ "command": "ls" }));
    let told = |end| system.text_for_model(&call, &end);
    assert_eq!(told(CallEnd::Approved { by: "Ana" }), None);
    let denied = CallEnd::Denied { by: "Ana", reason: Some("nope"), then: OnDeny::GoOn };
    assert_eq!(told(denied).unwrap(), "Tool 'shell' was denied by user approval. nope");
    assert_eq!(
        told(CallEnd::TimedOut { after_s: 90 }).unwrap(),
        "Tool 'shell' approval timed out and was not executed."
    );
    assert!(
        told(CallEnd::Unreachable).unwrap().contains("requires user approval and was not executed")
    );
    let guardrail = Guardrail::default();
    let grants = Grants::default();
    let given = EvaluationContext {
        mode: None,
        grants: &grants,
        agent_rules: None,
        guardrail: &guardrail,
        reachable: false,
        now_ms: 0,
    };
    assert_eq!(system.decide(&call, &given).unwrap().verdict, Verdict::Deny, "nobody can be asked");
}
