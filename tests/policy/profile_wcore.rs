//! wayland-core's own answers, strict and literal: the rows that one call, or one text, decides.
//! The rows about sequences run against the library type in tests/wcore.

use countersign_policy::{Call, Guardrail, Verdict};
use countersign_profiles::check::Options;
use countersign_profiles::wcore::question::{self, Approved};
use countersign_profiles::wcore::{
    ApprovalScope, Category, ModeChange, ModeChangeSource, RememberedApproval, SessionMode, Wcore,
    card, change, prefix,
};
use countersign_profiles::{EvaluationContext, Grants, Profile, System};
use serde_json::{Value, json};

fn rows(file: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/000-wcore");
    let path = format!("{folder}/{file}.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a row wants: the safe answer, or the literal one.
fn wanted(row: &Value, compat: bool) -> &Value {
    let want = row.get("want").filter(|_| !compat);
    want.or(row.get("expect")).or(row.get("match")).unwrap_or(&Value::Null)
}

/// Runs every row strict and literal. What deviations.jsonl lists must differ, all else must not.
fn each(file: &str, answer: impl Fn(&Value, bool) -> Value) {
    let deviations = rows("deviations");
    let mut surprises = Vec::new();
    for row in rows(file) {
        for compat in [false, true] {
            let under = if compat { "compat" } else { "strict" };
            let listed = deviations.iter().any(|d| d["id"] == row["id"] && d["under"] == under);
            let (wanted, got) = (wanted(&row, compat), answer(&row, compat));
            if listed == (*wanted == got) {
                surprises.push(format!("{} {under}: wanted {wanted}, got {got}", row["id"]));
            }
        }
    }
    assert!(surprises.is_empty(), "{file}:\n{}", surprises.join("\n"));
}

/// The verdict of `policy check` on a line, in the vectors' words.
fn checked(line: &Value, compat: bool) -> Value {
    let options = Options { profile: Profile::Wcore, compat, ..Options::default() };
    let answer: Value = serde_json::from_str(&options.line(&line.to_string())).unwrap();
    match answer["verdict"].as_str() {
        Some("allow") => json!("auto"),
        Some(verdict) => json!(verdict),
        None => answer,
    }
}

#[test]
fn modes_and_categories() {
    each("mode_category", |row, compat| {
        let tool = row["tool"].as_str().unwrap_or("a tool of no registry");
        let mut line = json!({ "tool": tool, "category": row["category"], "mode": row["mode"] });
        if let Some(list) = row.get("allow_list") {
            line["config"] = json!({ "tools": { "allow_list": list } });
        }
        checked(&line, compat)
    });
}

#[test]
fn prefixes_at_the_gate() {
    each("prefix_gate", |row, compat| {
        let command = row["command"].as_str().map(|text| json!({ "command": text }));
        let of = row.get("query_category").unwrap_or(&row["category"]);
        let grants = json!({ "prefixes": row["grants"], "prefix_category": row["category"] });
        let line = json!({ "tool": "Bash", "args": command, "category": of, "grants": grants });
        checked(&line, compat)
    });
}

#[test]
fn one_rule_against_one_command() {
    each("prefix_match", |row, compat| {
        let line = json!({
            "tool": "Bash", "args": { "command": row["command"] }, "category": "exec",
            "grants": { "prefixes": [row["rule"]] },
        });
        json!(checked(&line, compat) == "auto")
    });
    for row in rows("prefix_match") {
        let (rule, command) = (row["rule"].as_str().unwrap(), row["command"].as_str().unwrap());
        assert_eq!(json!(prefix::matches(rule, command)), row["match"], "{row}");
    }
}

#[test]
fn texts_as_wayland_core_splits_and_refuses_them() {
    for row in rows("split") {
        assert_eq!(json!(prefix::split(row["command"].as_str().unwrap())), row["pieces"], "{row}");
    }
    for row in rows("metachars") {
        let refused = prefix::runs_unseen(row["command"].as_str().unwrap());
        assert_eq!(json!(refused), row["refuse"], "{row}");
    }
}

#[test]
fn offered_prefixes() {
    for row in rows("infer_prefix") {
        let offered = prefix::infer_prefix(row["command"].as_str().unwrap());
        assert_eq!(json!(offered), row["offered"], "{row}");
    }
}

#[test]
fn what_a_card_shows_of_a_command() {
    for row in rows("destructive_warning") {
        let warns = card::destructive_warning(row["command"].as_str().unwrap());
        assert_eq!(json!(warns), row["warn"], "{row}");
    }
    for row in rows("card_label") {
        let command = row["command"].as_str().unwrap();
        assert_eq!(json!(card::card_label(command, true)), row["shown"], "{row}");
        assert_eq!(row["want"], "show the whole command");
        assert_eq!(card::card_label(command, false), command);
    }
}

#[test]
fn modes_on_the_wire() {
    for row in rows("mode_wire") {
        let mode = serde_json::from_str::<SessionMode>(row["json"].as_str().unwrap());
        let got = mode.map_or("error", SessionMode::word);
        assert_eq!(row["parse"], got, "{row}");
    }
}

#[test]
fn who_may_change_the_mode() {
    for row in rows("mode_wire_authority") {
        let mode = |value: &Value| value.as_str().map(|word| word.parse::<SessionMode>().unwrap());
        let source = match (row["source"].as_str().unwrap(), row["opt_in"].as_bool().unwrap()) {
            ("local", _) => ModeChangeSource::Local,
            (_, true) => ModeChangeSource::WireOptedIn,
            (_, false) => ModeChangeSource::Wire,
        };
        let (applied, after) =
            match change(mode(&row["request"]).unwrap(), source, mode(&row["floor"])) {
                ModeChange::Applied(mode) => (true, mode),
                ModeChange::Clamped(mode) => (false, mode),
                ModeChange::Refused => (false, SessionMode::Default),
            };
        assert_eq!(json!([applied, after]), json!([row["applied"], row["mode_after"]]), "{row}");
    }
}

#[test]
fn questions_and_their_answers() {
    for row in rows("ask_user") {
        if let Some(approve) = row.get("approve") {
            let answer = approve["answer"].as_str().map(str::to_owned);
            let done = question::approved(row["tool"].as_str().unwrap(), answer);
            let (runs, fails) = (row.get("executed").is_some(), row.get("is_error").is_some());
            assert_eq!(
                (done == Approved::Runs, matches!(done, Approved::Unanswered(_))),
                (runs, fails),
                "{row}"
            );
        } else if let Some(args) = row.get("args") {
            let read = question::parse(args);
            let labels: Vec<&str> = read.choices.iter().map(|c| c.label.as_str()).collect();
            assert_eq!(json!([read.text, labels]), json!([row["question"], row["choices"]]));
        } else {
            let (schema, option) = (question::schema(), "/properties/options");
            let item = schema.pointer(&format!("{option}/items")).unwrap();
            assert_eq!(schema["required"], row["required"]);
            assert_eq!(item["required"], row["option_required"]);
            let named = |of: &Value, list: &Value| {
                list.as_array()
                    .unwrap()
                    .iter()
                    .all(|key| of["properties"].get(key.as_str().unwrap()).is_some())
            };
            assert!(named(&schema, &row["optional"]) && named(item, &row["option_optional"]));
            assert_eq!(schema.pointer(&format!("{option}/maxItems")), None, "no cap");
        }
    }
    let answered = question::approved("AskUserQuestion", Some("B".into()));
    assert_eq!(answered, Approved::Outputs("B".into()));
}

/// A look at `path`, with what an earlier answer on the same card left behind.
fn look(path: &str, mode: &str, scope: ApprovalScope, compat: bool) -> Verdict {
    let mut grants = Grants { categories: vec!["info".into()], ..Grants::default() };
    match scope.remembers("Read", Category::Info) {
        RememberedApproval::Nothing => {}
        RememberedApproval::Tool(tool) => grants.tools.push(tool),
        RememberedApproval::Prefix(prefix) => grants.prefixes.push(prefix),
        RememberedApproval::Path { root, write } => grants.roots.open(&root, write, None).unwrap(),
    }
    let config = r#"{"tools":{"allow_list":["Read"]}}"#;
    let wcore = Wcore::read(Some(config), "config", compat).unwrap();
    let call =
        Call { cwd: Some("/work/app".into()), ..Call::new("Read", json!({ "file_path": path })) };
    let given = EvaluationContext {
        mode: Some(mode),
        grants: &grants,
        agent_rules: None,
        guardrail: &Guardrail::default(),
        reachable: true,
        now_ms: 0,
    };
    wcore.decide(&call, &given).unwrap().verdict
}

#[test]
fn the_edge_of_the_workspace() {
    let away = "/srv/reports/q3.md";
    let folder = || ApprovalScope::AlwaysPath { root: "/srv/reports".into(), write: false };
    let mut seen = 0;
    for compat in [false, true] {
        for row in rows("path_boundary") {
            let of = |path, mode, scope| look(path, mode, scope, compat);
            let (got, expected) = match row["id"].as_str().unwrap().rsplit('/').next().unwrap() {
                "001" => (of(away, "default", ApprovalScope::Once), Verdict::Ask),
                "002" => (of(away, "force", ApprovalScope::Once), Verdict::Allow),
                "005" => (of("src/a.rs", "default", ApprovalScope::Once), Verdict::Allow),
                // Once and always open nothing; only the directory does.
                "007" => (of(away, "default", folder()), Verdict::Allow),
                "008" => (of(away, "default", ApprovalScope::Always), Verdict::Ask),
                other => panic!("no test for row {other}"),
            };
            assert_eq!(got, expected, "{row}");
            seen += 1;
        }
    }
    assert_eq!(seen, 10);
}

#[test]
fn critical_commands_ask_whatever_is_granted_and_only_force_lets_them_run() {
    let line = |mode: &str, grants: Value| {
        json!({
            "tool": "Bash", "category": "exec", "mode": mode, "grants": grants,
            "args": { "command": "rm -rf /" },
            "config": { "tools": { "allow_list": ["Bash"] } },
        })
    };
    let all = json!({ "tools": ["Bash"], "categories": ["exec"], "prefixes": ["rm "] });
    assert_eq!(checked(&line("default", all.clone()), false), "ask");
    assert_eq!(checked(&line("auto_edit", all.clone()), false), "ask");
    assert_eq!(checked(&line("force", json!({})), false), "auto");
    assert_eq!(checked(&line("default", all), true), "auto");
}

#[test]
fn always_names_the_tool_and_nothing_is_offered_for_messages_and_questions() {
    let always = |tool: &str, args: Value| {
        let options = Options { profile: Profile::Wcore, ..Options::default() };
        let line = json!({ "tool": tool, "args": args });
        let answer: Value = serde_json::from_str(&options.line(&line.to_string())).unwrap();
        answer["always"].clone()
    };
    assert_eq!(always("Bash", json!({ "command": "cargo test" })), json!(["Bash"]));
    assert_eq!(always("Notion", json!({})), json!(["Notion"]));
    assert_eq!(always("Bash", json!({ "command": "rm -rf /" })), json!([]));
    assert_eq!(always("send_message", json!({ "to": "ana" })), json!([]));
    assert_eq!(always("AskUserQuestion", json!({ "question": "q" })), json!([]));
}

#[test]
fn unknown_modes_categories_and_keys_are_errors_and_never_an_allow() {
    for line in [
        json!({ "tool": "Read", "mode": "forced" }),
        json!({ "tool": "Read", "category": "Info" }),
        json!({ "tool": "Read", "config": { "tools": { "allow": ["Read"] } } }),
        json!({ "tool": "Read", "grants": { "tool": ["Read"] } }),
    ] {
        for compat in [false, true] {
            assert!(checked(&line, compat)["error"].is_string(), "{line}");
        }
    }
}
