//! One call, one verdict.

use countersign_policy::Call;
use countersign_profiles::Profile;
use countersign_profiles::check::Options;
use countersign_profiles::connectonion::{
    ConnectOnion, Permission, PermissionKey, Requester, description, is_control_file,
};
use serde_json::{Value, json};

use super::{host, permitted, ruled, session, vectors, word};
use crate::support::Kind;

#[test]
fn chains_are_read_command_by_command() {
    vectors().each("chain_parse.jsonl", |row, check| {
        let config = json!({ "permissions": { "Bash(none)": { "allowed": true } } });
        let args = json!({ "command": row["command"] });
        let line = json!({ "tool": "bash", "args": args, "config": config });
        if let Some(error) = row["error"].as_str() {
            let wanted = if error == "ask" { error.to_owned() } else { format!("error:{error}") };
            return (wanted.into(), ruled(check, &line)).into();
        }
        let answer = check.line(&line);
        let Some(argvs) = answer["commands"].as_array() else {
            return (json!([row["names"], row["subcommands"], "ask"]), ruled(check, &line)).into();
        };
        let firsts: Vec<&Value> = argvs.iter().map(|argv| &argv[0]).collect();
        let wanted = json!([row["names"], row["subcommands"], "ask"]);
        (wanted, json!([firsts, answer["patterns"], answer["verdict"]])).into()
    });
}

#[test]
fn every_command_of_a_chain_needs_its_permission() {
    vectors().each("chain_permit.jsonl", |row, check| {
        // Calls that no model made are decided by the chain check alone.
        let mode = if check.kind == Kind::Strict { ":read-only" } else { "remote-exec" };
        let answer = check.line(&json!({
            "tool": "bash", "args": { "command": row["command"] }, "mode": mode,
            "config": { "permissions": row["permissions"] },
        }));
        let allowed = answer["verdict"] == "allow";
        if !allowed || row["permitted"] != true {
            return (json!(row["permitted"] == true), json!(allowed)).into();
        }
        let said = answer["reason"].as_str().unwrap();
        let reason = row["reason"].as_str().unwrap_or_default().trim_end_matches(')');
        let source = row["source"].as_str().map_or_else(String::new, |source| format!("{source})"));
        (said.starts_with(reason) && said.ends_with(&source)).into()
    });
}

#[test]
fn a_key_matches_the_calls_that_it_spells() {
    vectors().each("pattern_match.jsonl", |row, check| {
        let tool = row["tool"].as_str().unwrap();
        let of = row.get("permission");
        let key = of.map_or(&row["pattern"], |permission| &permission["key"]).as_str().unwrap();
        if check.kind == Kind::Strict {
            let when = of.map(|permission| permission["when"].clone());
            let entry = json!({ "allowed": true, "when": when });
            let config = json!({ "permissions": { key: entry } });
            let line = json!({ "tool": tool, "args": row["args"], "config": config });
            let wanted = if row["match"] == true { "allow" } else { "ask" };
            return (wanted.into(), ruled(check, &line)).into();
        }
        let globs = of.and_then(|permission| permission["when"].as_object()).into_iter().flatten();
        let when = globs.map(|(name, glob)| (name.clone(), glob.as_str().unwrap().to_owned()));
        let permission = Permission { when: when.collect(), ..Permission::session(key) };
        let got = PermissionKey::new(key).matches(tool, &row["args"])
            && permission.fits_args(&row["args"], true);
        (row["match"].clone(), json!(got)).into()
    });
}

#[test]
fn the_shipped_template_rules_as_recorded() {
    vectors().each("template_live.jsonl", |row, check| {
        let args = json!({ "command": row["command"] });
        let line = json!({ "tool": "bash", "args": args, "mode": row["profile"] });
        (row["expect"].clone(), ruled(check, &line)).into()
    });
}

#[test]
fn known_tools_are_safe_or_ask_by_era() {
    vectors().each("safe_and_dangerous.jsonl", |row, check| {
        let era = row.get("era").cloned().unwrap_or_else(|| "head".into());
        let line = json!({ "tool": row["tool"], "args": {}, "config": { "era": era } });
        (row["expect"].clone(), ruled(check, &line)).into()
    });
}

#[test]
fn unknown_tools_ask_and_are_denied_where_nobody_can_answer() {
    vectors().each("unknown_tools.jsonl", |row, check| {
        let mut config = json!({ "permissions": permitted(row), "era": row["era"] });
        for field in ["profile", "grant"] {
            config[field] = row[field].clone();
        }
        let call = Call::new(row["tool"].as_str().unwrap(), json!({}));
        let io = row["io"].as_bool().unwrap();
        let step = session(&config, Requester::Local, io, check.kind).check(&call).unwrap();
        if io {
            let line = json!({ "tool": row["tool"], "args": {}, "config": config });
            assert_eq!(ruled(check, &line), word(&step), "{row}");
        }
        (row["expect"].clone(), word(&step).into()).into()
    });
}

#[test]
fn the_workspace_policy_decides_with_its_effect_and_scope() {
    vectors().each("workspace_policy.jsonl", |row, check| {
        let config = json!({ "permissions": permitted(row), "profile": ":workspace" });
        let cwd = Some("/work/project".to_owned());
        let call = Call { cwd, ..Call::new(row["tool"].as_str().unwrap(), row["args"].clone()) };
        let line =
            json!({ "tool": call.tool, "args": call.args, "cwd": call.cwd, "config": config });
        if row.get("case").is_some() {
            return (row["expect"].clone(), ruled(check, &line)).into();
        }
        let decision = host(&config, check.kind).workspace(&call);
        let step = |requester, io| {
            json!(word(&session(&config, requester, io, check.kind).check(&call).unwrap()))
        };
        let fields = ["decision", "decision", "effect_class", "scope", "requires_human"];
        let wanted = fields.iter().chain(&["headless", "non_operator"]).map(|name| &row[*name]);
        let got = json!([
            ruled(check, &line),
            decision.verdict,
            decision.effect,
            decision.scope,
            decision.requires_human,
            step(Requester::Local, false),
            step(Requester::Contact, true),
        ]);
        (wanted.cloned().collect(), got).into()
    });
}

#[test]
fn control_files_are_out_of_reach_in_every_mode_and_with_every_grant() {
    vectors().each("control_files.jsonl", |row, check| {
        let (tool, args) = match row.get("path") {
            Some(path) => ("write", json!({ "path": path })),
            None => ("bash", json!({ "command": row["command"] })),
        };
        let denied = |mode: &str, granted: &[&str]| {
            let line = json!({
                "tool": tool, "args": args, "mode": mode, "grants": { "tools": granted },
                "cwd": "/home/u/p",
            });
            ruled(check, &line) == "deny"
        };
        for mode in [":read-only", ":workspace", ":danger-full-access 0/9", "remote-exec"] {
            assert!(denied(mode, &[tool]) || row["refused"] == false, "{row} {mode}");
        }
        if let Some(path) = row.get("path") {
            assert_eq!(is_control_file(path.as_str().unwrap()), row["refused"], "{row}");
        }
        (row["refused"].clone(), json!(denied(":read-only", &[]))).into()
    });
}

#[test]
fn who_the_agent_works_for_decides_whether_anybody_is_asked() {
    vectors().each("requester.jsonl", |row, check| {
        // What the client claims is never read: the level is what the host computed.
        let level = row.get("computed").unwrap_or(&row["level"]);
        if let Some(wanted) = row.get("effective") {
            let is_operator = |level: &Value| Requester::of(level.as_str()).is_operator();
            assert!(is_operator(&row["claimed"]) && !is_operator(level));
            return (wanted.clone(), level.clone()).into();
        }
        if let Some(mode) = row.get("request_mode") {
            let requester = Requester::of(level.as_str());
            let mut session = session(&json!({}), requester, true, check.kind);
            session.wants(mode.as_str().unwrap(), Some(5));
            return (row["mode_after"].clone(), json!(session.mode().to_string())).into();
        }
        let or = |name: &str, value| row.get(name).cloned().unwrap_or(value);
        let mut line = json!({
            "tool": or("tool", "bash".into()),
            "args": or("args", json!({ "command": "rm -rf build" })),
            "config": { "permissions": permitted(row) },
        });
        if level != "<absent>" {
            line["requester"] = level.clone();
        }
        (row["expect"].clone(), ruled(check, &line)).into()
    });
}

#[test]
fn the_description_is_what_the_call_says_about_itself() {
    vectors().each("batches.jsonl", |row, _| match row.get("description") {
        Some(wanted) => (wanted.clone(), description(&row["args"]).into()).into(),
        None => true.into(),
    });
}

#[test]
fn a_question_is_a_persons_though_its_tool_may_run() {
    vectors().each("ask_user.jsonl", |row, check| {
        assert_eq!(ruled(check, &json!({ "tool": "ask_user", "args": {} })), "allow");
        let mut args = row.get("event").cloned().unwrap_or_else(|| json!({}));
        let extra = row.get("event_extra").and_then(Value::as_object).into_iter().flatten();
        extra.for_each(|(name, value)| args[name] = value.clone());
        args["question"] = args.get("question").cloned().unwrap_or_else(|| "Which?".into());
        ("ask".into(), ruled(check, &json!({ "tool": "ask_user", "args": args }))).into()
    });
}

#[test]
fn a_turned_down_spelling_of_yes_is_no_permission() {
    for entry in [json!({ "allowed": "true" }), json!({ "allowed": 1 }), json!({}), json!(true)] {
        let config = json!({ "permissions": { "write": entry } }).to_string();
        assert!(ConnectOnion::read(Some(&config), "config", false).is_err(), "{config}");
    }
}

/// What ConnectOnion lets through and we ask about, and what both let through.
#[test]
fn a_permission_covers_no_more_than_it_says() {
    let asks = |key: &str, command: &str| {
        let config = json!({ "permissions": { key: { "allowed": true }, "Bash(ls *)": { "allowed": true } } });
        let call = json!({ "tool": "bash", "args": { "command": command }, "config": config, "cwd": "/w" });
        let options = Options { profile: Profile::Connectonion, ..Options::default() };
        let answer: Value = serde_json::from_str(&options.line(&call.to_string())).unwrap();
        answer["verdict"] == "ask"
    };
    for (key, command) in [
        ("Bash(timeout *)", "timeout 5 rm x"),
        ("Bash(find *)", "find . -exec rm {} +"),
        ("Bash(bash *)", "bash -c 'ls; rm x'"),
        ("Bash(sort *)", "sort -o ~/.profile x"),
        ("Bash(echo *)", "echo hi > x"),
        ("Bash(echo *)", "echo ${X:-$(rm x)}"),
        ("Bash(git *)", "LD_PRELOAD=./x git status"),
        ("Bash(echo *)", "echo `ls $(pwd\nrm x)`"),
        ("Bash(cat *)", "cat < ~/.ssh/id_ed25519"),
    ] {
        assert!(asks(key, command), "{key}: {command}");
    }
    for (key, command) in [
        ("Bash(timeout *)", "timeout 5 ls"),
        ("Bash(find *)", "find . -name x | ls"),
        ("Bash(bash *)", "bash -c 'ls -F'"),
        ("Bash(echo *)", "FOO=1 echo hi 2>&1 > /dev/null"),
        ("Bash(git push *)", "git push origin main"),
    ] {
        assert!(!asks(key, command), "{key}: {command}");
    }
}

#[test]
fn endless_wrapping_ends() {
    for command in ["watch ".repeat(20_000) + "ls", "timeout 5 ".repeat(6_000) + "ls"] {
        let config = json!({ "permissions": { "Bash(watch *)": { "allowed": true }, "Bash(timeout *)": { "allowed": true } } });
        let call = Call::new("bash", json!({ "command": command }));
        let session = session(&config, Requester::Local, true, Kind::Strict);
        assert_eq!(word(&session.check(&call).unwrap()), "ask");
    }
}
