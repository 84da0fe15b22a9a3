//! Seed 003: oh-my-pi's recorded answers, strict and under `compat`.

use crate::support::{Kind, Vectors, verdict_of};
use countersign_policy::ProfileFacts;
use countersign_policy::{Call, Guardrail, Verdict};
use countersign_profiles::ohmypi::{
    bash,
    config::OhMyPiSettings,
    declare::{Declared, Tier},
    mode::ApprovalMode,
    prompt,
    resolve::{ApprovalSource, resolve, word},
};
use countersign_profiles::{EvaluationContext, Grants, Profile};
use proptest::{collection::vec, prop_assert, proptest};
use serde_json::{Map, Value, json};

fn vectors() -> Vectors {
    Vectors::new(Profile::Ohmypi, "003-ohmypi")
}

/// The line that a row of a resolution file means.
fn resolution(row: &Value) -> Value {
    let tool = row["tool"].as_str().unwrap_or("some_tool");
    let mut approval = row.get("user_config").cloned().unwrap_or_else(|| json!({}));
    if let Some(policy) = row.get("user_policy").filter(|policy| !policy.is_null()) {
        approval[tool] = policy.clone();
    }
    let mut line = json!({
        "tool": tool, "args": {},
        "config": { "tools": { "approvalMode": row["mode"], "approval": approval } },
    });
    match row.get("approval").or(row.get("tier")) {
        Some(Value::String(tier)) => line["tier"] = json!(tier),
        Some(Value::Object(declared)) => {
            for (key, value) in declared.iter().filter(|(_, value)| !value.is_null()) {
                line[key] = value.clone();
            }
        }
        _ => {}
    }
    line
}

fn declared(line: &Value) -> Declared {
    let call: Call = serde_json::from_value(line.clone()).unwrap();
    Declared::of(&call, false)
}

#[test]
fn calls_resolve_in_the_order_of_the_first_document_and_of_the_later_one() {
    for file in ["resolve_seed.jsonl", "resolve_head.jsonl", "resolve_repo_tests.jsonl"] {
        vectors().each(file, |row, check| {
            let answer = check.line(&resolution(row));
            if let Some(parts) = row["error_contains"].as_array() {
                assert_eq!(answer["verdict"], "deny", "{row}: {answer}");
                let reason = answer["reason"].as_str().unwrap();
                return parts.iter().all(|part| reason.contains(part.as_str().unwrap())).into();
            }
            (verdict_of(&row["expect"]), answer["verdict"].clone()).into()
        });
    }
}

#[test]
fn who_decided_and_why_is_as_recorded() {
    for file in ["resolve_seed.jsonl", "resolve_head.jsonl"] {
        vectors().each(file, |row, _| {
            let line = resolution(row);
            let settings =
                OhMyPiSettings::read(&line["config"].to_string(), "config", false).unwrap();
            let resolved =
                resolve("some_tool", &declared(&line), settings.mode, &settings.approval);
            let by = match resolved.source {
                ApprovalSource::Tool => "tool",
                ApprovalSource::User => "user",
                ApprovalSource::Mode => "mode",
            };
            let wanted = row.get("decided_by").cloned();
            let (wanted, got) = match wanted {
                Some(wanted) => (wanted, json!(by)),
                None => (row["reason"].clone(), json!(resolved.reason)),
            };
            (wanted, got).into()
        });
    }
}

#[test]
fn critical_commands_are_found() {
    vectors().each("critical_bash.jsonl", |row, check| {
        let command = row["command"].as_str().unwrap();
        let line = json!({
            "tool": "bash", "args": { "command": command }, "mode": "write",
            "config": { "tools": { "approval": { "bash": "allow" } } },
        });
        let answer = check.line(&line);
        let forced = if answer["critical"] == true { "ask" } else { "allow" };
        assert_eq!(answer["verdict"], forced, "{command}");
        if check.kind == Kind::Compat {
            assert_eq!(bash::has_critical_shape(command), answer["critical"] == true, "{command}");
        }
        (row["critical"].clone(), answer["critical"].clone()).into()
    });
}

fn bash_config(row: &Value, mode: &str) -> Value {
    let mut config = json!({
        "tools": { "approvalMode": mode },
        "bash": { "patterns": row["patterns"] },
    });
    if row["compound"] == true {
        config["bash"]["allowCompoundCommands"] = json!(true);
    }
    if let Some(shell) = row.get("shell") {
        config["shellPath"] = shell.clone();
    }
    if let Some(policy) = row.get("user_policy").filter(|policy| !policy.is_null()) {
        config["tools"]["approval"] = json!({ "bash": policy });
    }
    config
}

/// A declaration as the vectors write it.
fn written(declared: &Declared) -> Value {
    if !declared.overrides && declared.policy.is_none() {
        return json!(declared.tier().to_string());
    }
    let mut object = Map::new();
    object.insert("tier".into(), json!(declared.tier().to_string()));
    if declared.overrides {
        object.insert("override".into(), json!(true));
    }
    if let Some(policy) = declared.policy {
        object.insert("policy".into(), json!(word(policy)));
    }
    if let Some(reason) = &declared.reason {
        object.insert("reason".into(), json!(reason));
    }
    Value::Object(object)
}

#[test]
fn bash_patterns_declare_what_they_say() {
    vectors().each("bash_patterns.jsonl", |row, check| {
        let command = row["command"].as_str().unwrap();
        let compat = check.kind == Kind::Compat;
        let config = bash_config(row, "always-ask");
        let settings = OhMyPiSettings::read(&config.to_string(), "config", compat).unwrap();
        let declared = bash::declare(command, &settings.bash, compat);
        let answer = check
            .line(&json!({ "tool": "bash", "args": { "command": command }, "config": config }));
        let asked = match declared.policy {
            Some(policy) => json!(policy),
            None => json!("ask"),
        };
        assert_eq!(answer["verdict"], asked, "{row}: {answer}");
        match row["expect"].as_str() {
            Some("not-allow") => (declared.policy != Some(Verdict::Allow)).into(),
            Some(said) if said.starts_with("policy:") => {
                let policy = said.trim_start_matches("policy:");
                (json!(policy), json!(declared.policy.map(word))).into()
            }
            _ => (row["expect"].clone(), written(&declared)).into(),
        }
    });
}

#[test]
fn bash_patterns_meet_mode_user_and_shell() {
    vectors().each("bash_patterns_in_yolo.jsonl", |row, check| {
        let config = bash_config(row, row["mode"].as_str().unwrap());
        let line =
            json!({ "tool": "bash", "args": { "command": row["command"] }, "config": config });
        let answer = check.line(&line);
        if let Some(by) = row.get("decided_by") {
            let rule = answer["rule"].as_str();
            let got = match rule {
                None => "tool",
                Some(rule) if rule.starts_with("tools.approvalMode") => "mode",
                Some(_) => "user",
            };
            assert_eq!(by, got, "{row}: {answer}");
        }
        (verdict_of(&row["expect"]), answer["verdict"].clone()).into()
    });
}

#[test]
fn prompts_read_as_they_do_in_the_terminal() {
    vectors().each("prompt_format.jsonl", |row, _| {
        if let Some(most) = row.get("truncate_default") {
            let text = "x".repeat(prompt::SHOWN + 7);
            let elided = prompt::elide(&text, prompt::SHOWN);
            assert!(elided.ends_with("[…7ch elided…]"), "{elided}");
            return (most.clone(), json!(prompt::SHOWN)).into();
        }
        if row.get("lines").is_none() {
            let (text, most) = (row["text"].as_str().unwrap(), row["max"].as_u64().unwrap());
            let got = prompt::elide(text, usize::try_from(most).unwrap());
            return (row["expect"].clone(), json!(got)).into();
        }
        let details: Vec<String> = match &row["details"] {
            Value::String(one) => vec![one.clone()],
            Value::Array(all) => all.iter().map(|d| d.as_str().unwrap().to_owned()).collect(),
            _ => Vec::new(),
        };
        let got = prompt::lines(
            row["tool"].as_str().unwrap(),
            !row["approval"].is_null(),
            row["reason"].as_str(),
            &details,
        );
        (row["lines"].clone(), json!(got)).into()
    });
}

#[test]
fn an_ask_carries_the_systems_own_prompt() {
    let system = Profile::Ohmypi.open(None, "config", None, false).unwrap();
    let guardrail = Guardrail::default();
    let none = Grants::default();
    let given = EvaluationContext {
        mode: Some("write"),
        grants: &none,
        agent_rules: None,
        guardrail: &guardrail,
        reachable: true,
        now_ms: 0,
    };
    let prompt = |call: &Call| system.decide(call, &given).unwrap().prompt;
    let wipe = Call::new("bash", json!({ "command": "rm -rf /" }));
    assert_eq!(
        prompt(&wipe),
        ["Allow tool: bash", "Reason: Critical pattern detected", "Command: rm -rf /"]
    );
    let foreign = Call::new("mcp__files_delete", json!({ "path": "/x" }));
    assert_eq!(prompt(&foreign), ["Allow tool: mcp__files_delete", "Origin: MCP server tool"]);
    let quiet = Call { own: tiered("read"), ..foreign };
    assert_eq!(prompt(&quiet), Vec::<String>::new(), "nobody is asked");
}

#[test]
fn subagents_run_in_yolo_and_a_prompt_that_nobody_sees_rejects() {
    vectors().each("subagents.jsonl", |row, check| {
        let mut approval = json!({});
        if !row["user_policy"].is_null() {
            approval["bash"] = row["user_policy"].clone();
        }
        let config = json!({ "tools": { "approvalMode": row["mode"], "approval": approval } });
        let call = Call::new("bash", json!({ "command": "ls" }));
        let ruling = rule(&config, &call, &Grants::default(), row["has_ui"] != false, check.kind);
        (verdict_of(&row["expect"]), json!(ruling)).into()
    });
}

fn rule(config: &Value, call: &Call, grants: &Grants, reachable: bool, kind: Kind) -> Verdict {
    let compat = kind == Kind::Compat;
    let system = Profile::Ohmypi.open(Some(&config.to_string()), "config", None, compat).unwrap();
    let guardrail = Guardrail::default();
    let given = EvaluationContext {
        mode: None,
        grants,
        agent_rules: None,
        guardrail: &guardrail,
        reachable,
        now_ms: 0,
    };
    system.decide(call, &given).unwrap().verdict
}

/// A session in which bash and one file were approved for its rest.
fn session() -> Grants {
    let path = Call::new("write", json!({ "path": "src/a.ts", "content": "x" }));
    let system = Profile::Ohmypi.open(None, "config", None, false).unwrap();
    let guardrail = Guardrail::default();
    let none = Grants::default();
    let given = EvaluationContext {
        mode: Some("always-ask"),
        grants: &none,
        agent_rules: None,
        guardrail: &guardrail,
        reachable: true,
        now_ms: 0,
    };
    let offered = system.decide(&path, &given).unwrap().exact;
    assert_eq!(offered.len(), 2, "a write and an edit of that file");
    Grants {
        tools: vec!["bash".to_owned()],
        rules: countersign_policy::Rules::from_rules(&offered),
        ..Grants::default()
    }
}

#[test]
fn session_grants_end_where_the_system_ends_them() {
    let ask = json!({ "tools": { "approvalMode": "always-ask" } });
    let deny = json!({ "tools": { "approvalMode": "always-ask", "approval": { "bash": "deny" } } });
    let ls = Call::new("bash", json!({ "command": "ls" }));
    let held = json!({ "command": "ls", "pendingSafetyChecks": [{ "code": "x" }] });
    let edit = |args: Value| Call::new("edit", args);
    let grants = session();
    vectors().each("session_grants.jsonl", |row, check| {
        let on = |config: &Value, call: &Call| rule(config, call, &grants, true, check.kind);
        let got = match row["case"].as_str().unwrap() {
            "approve-for-session then same tool" => on(&ask, &ls),
            "then a user or tool deny" => {
                let by_tool = Call {
                    own: ProfileFacts { policy: Some(json!("deny")), ..ls.own.clone() },
                    ..ls.clone()
                };
                assert_eq!(on(&ask, &by_tool), Verdict::Deny);
                on(&deny, &ls)
            }
            "then a provider safety check" => on(&ask, &Call::new("bash", held.clone())),
            "task tool" => {
                let task = Call::new("task", json!({ "assignment": "x" }));
                let system = Profile::Ohmypi.open(None, "config", None, false).unwrap();
                let guardrail = Guardrail::default();
                let given = EvaluationContext {
                    mode: Some("always-ask"),
                    grants: &grants,
                    agent_rules: None,
                    guardrail: &guardrail,
                    reachable: true,
                    now_ms: 0,
                };
                let ruling = system.decide(&task, &given).unwrap();
                assert_eq!(ruling.verdict, Verdict::Ask);
                return (ruling.always.is_empty() && ruling.exact.is_empty()).into();
            }
            // Nothing judges likeness here, so nothing is like anything.
            "approve-similar with classifier error or timeout" => {
                on(&ask, &Call::new("browser", json!({ "action": "open" })))
            }
            "later delete or move of F" => {
                let moved = edit(json!({ "path": "src/a.ts", "rename": "src/b.ts" }));
                assert_eq!(on(&ask, &moved), Verdict::Ask);
                assert_eq!(on(&ask, &edit(json!({ "path": "src/a.ts" }))), Verdict::Allow);
                on(&ask, &edit(json!({ "path": "src/a.ts", "op": "delete" })))
            }
            other => panic!("{other} is not known here"),
        };
        let got = match got {
            Verdict::Allow => "no prompt",
            verdict => word(verdict),
        };
        (row["expect"].clone(), json!(got)).into()
    });
}

#[test]
fn critical_prompts_are_not_lifted_by_a_session_grant() {
    let ask = json!({ "tools": { "approvalMode": "always-ask" } });
    let wipe = Call::new("bash", json!({ "command": "rm -rf /" }));
    assert_eq!(rule(&ask, &wipe, &session(), true, Kind::Strict), Verdict::Ask);
}

#[test]
fn an_allow_vouches_for_what_runs_in_the_end() {
    let config = json!({
        "tools": { "approvalMode": "always-ask" },
        "bash": { "patterns": [{ "match": "timeout *", "approval": "allow" }] },
    });
    let run = |command: &str, kind| {
        let call = Call::new("bash", json!({ "command": command }));
        rule(&config, &call, &Grants::default(), true, kind)
    };
    assert_eq!(run("timeout 5 rm x", Kind::Strict), Verdict::Ask);
    assert_eq!(run("timeout 5 rm x", Kind::Compat), Verdict::Allow);
    let denying = json!({ "bash": { "patterns": [{ "match": "rm *", "approval": "deny" }] } });
    for command in ["/bin/rm x", "bash -c 'rm x'", "timeout 5 rm x", "cd x && rm 'a\nb'"] {
        let call = Call::new("bash", json!({ "command": command }));
        let on = |kind| rule(&denying, &call, &Grants::default(), true, kind);
        assert_eq!(on(Kind::Strict), Verdict::Deny, "{command}");
        assert_eq!(on(Kind::Compat), Verdict::Allow, "{command}");
    }
}

#[test]
fn files_that_are_obeyed_later_are_critical_for_file_tools_too() {
    let config = json!({ "tools": { "approvalMode": "write", "approval": { "write": "allow" } } });
    for (path, strict) in [("~/.ssh/authorized_keys", Verdict::Ask), ("notes.txt", Verdict::Allow)]
    {
        let write = Call::new("write", json!({ "path": path, "content": "x" }));
        let write = Call { own: tiered("write"), ..write };
        assert_eq!(rule(&config, &write, &Grants::default(), true, Kind::Strict), strict, "{path}");
        let compat = rule(&config, &write, &Grants::default(), true, Kind::Compat);
        assert_eq!(compat, Verdict::Allow, "{path}");
    }
}

#[test]
fn seeing_more_never_hides_a_later_deny() {
    let config = json!({ "tools": { "approvalMode": "always-ask" }, "bash": { "patterns": [
        { "match": "rm *", "approval": "prompt" }, { "match": "*publish*", "approval": "deny" },
    ] } });
    let call = Call::new("bash", json!({ "command": "bash -c 'rm x' && npm publish" }));
    for kind in [Kind::Strict, Kind::Compat] {
        assert_eq!(rule(&config, &call, &Grants::default(), true, kind), Verdict::Deny);
    }
}

#[test]
fn mistakes_in_a_config_are_named() {
    let open = |text: &str, compat| Profile::Ohmypi.open(Some(text), "config.yml", None, compat);
    for (text, named) in [
        ("tools:\n  approvalMode: wild", "tools.approvalMode"),
        ("tools:\n  approvalMode: 3", "tools.approvalMode"),
        ("tools:\n  approval: deny", "tools.approval"),
        ("bash:\n  allowCompoundCommands: yeah", "bash.allowCompoundCommands"),
        ("bash:\n  patterns:\n    - match: rm *\n      approval: dney", "bash.patterns[0]"),
        ("tools:\n  aproval:\n    bash: deny", "did you mean approval"),
        ("bash:\n  pattern: []", "did you mean patterns"),
        ("- a", "settings"),
        ("a: [", "config.yml"),
    ] {
        let error = open(text, false).unwrap_err();
        assert!(error.contains(named) && error.contains("config.yml"), "{text}: {error}");
    }
    assert!(open("tools:\n  maxTimeout: 5\nbash:\n  enabled: true", false).is_ok());
    let lenient = "bash:\n  patterns:\n    - match: rm *\n      approval: dney";
    assert!(open(lenient, true).is_ok(), "the system itself passes over the entry");
}

#[test]
fn a_users_yaml_is_read_as_it_stands() {
    let yaml = "theme: dark\ntools:\n  approvalMode: write\n  approval:\n    bash: Prompt\n    read: allow\n";
    let settings = OhMyPiSettings::read(yaml, "config.yml", false).unwrap();
    assert_eq!(settings.mode, ApprovalMode::Write);
    assert_eq!(settings.approval.of("bash", None), (Some(Verdict::Ask), "bash"));
    assert_eq!(settings.approval.of("write", Some("read")), (Some(Verdict::Allow), "read"));
    assert_eq!(OhMyPiSettings::read("", "config.yml", false).unwrap().mode, ApprovalMode::Yolo);
}

#[test]
fn an_override_that_is_no_yes_or_no_is_a_yes() {
    let call: Call =
        serde_json::from_value(json!({ "tool": "x", "tier": "read", "override": "false" }))
            .unwrap();
    assert!(Declared::of(&call, false).overrides);
    assert!(!Declared::of(&call, true).overrides);
    assert_eq!(Declared::of(&call, true).tier(), Tier::Read);
}

#[test]
fn a_policy_may_bring_its_key_along() {
    for policy in [
        json!({ "tool": "write", "policy": { "policyKey": "search", "policy": "Allow" } }),
        json!({ "tool": "write", "policy": "allow", "policyKey": "search" }),
    ] {
        let call: Call = serde_json::from_value(policy).unwrap();
        let declared = Declared::of(&call, false);
        assert_eq!(declared.policy_key.as_deref(), Some("search"));
        assert_eq!(declared.policy, Some(Verdict::Allow));
    }
}

/// Pieces of commands, harmless and not.
const PIECES: [&str; 16] = [
    "git ",
    "rm ",
    "-rf ",
    "x ",
    "&& ",
    "; ",
    "| ",
    "'a;b' ",
    "\"$x\" ",
    "-c ",
    "$(rm x) ",
    "\n",
    "bash -c 'rm x' ",
    "/bin/rm ",
    "timeout 5 ",
    "'",
];
const WORDS: [&str; 3] = ["allow", "prompt", "deny"];
const MATCHES: [&str; 6] = ["git *", "rm *", "*", "* x", "timeout *", "*&&*"];

proptest! {
    #[test]
    fn strict_is_never_looser_than_the_system_itself(
        pieces in vec(0..PIECES.len(), 0..7),
        rules in vec((0..MATCHES.len(), 0..3_usize), 1..4),
        compound: bool,
    ) {
        let command: String = pieces.iter().map(|&at| PIECES[at]).collect();
        let patterns: Vec<Value> = rules.iter().map(|&(at, word)| {
            json!({ "match": MATCHES[at], "approval": WORDS[word] })
        }).collect();
        let config = json!({
            "tools": { "approvalMode": "write" },
            "bash": { "patterns": patterns, "allowCompoundCommands": compound },
        });
        let call = Call::new("bash", json!({ "command": command }));
        let on = |kind| rule(&config, &call, &Grants::default(), true, kind);
        prop_assert!(on(Kind::Strict) >= on(Kind::Compat), "{command:?} {config}");
    }
}

/// What a call says for its profile: its tool's tier.
fn tiered(tier: &str) -> ProfileFacts {
    ProfileFacts { tier: Some(tier.to_owned()), ..ProfileFacts::default() }
}
