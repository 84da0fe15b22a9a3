//! No button covers a critical call, in any profile: what may be granted is granted, and every
//! critical call still asks.

use countersign_policy::{Call, Guardrail, ProfileFacts, Rule, Rules, Verdict, glob::escape};
use countersign_profiles::{EvaluationContext, Grants, Prefix, Profile, System};
use serde_json::{Value, json};

/// A profile with everything that an operator may have left on, its shells and its modes that ask.
struct Case {
    profile: Profile,
    config: Option<&'static str>,
    shells: &'static [&'static str],
    writers: &'static [&'static str],
    modes: &'static [Option<&'static str>],
}

const SYSTEMS: &[Case] = &[
    Case {
        profile: Profile::Standard,
        config: Some(r#"{"*": "allow"}"#),
        shells: &["shell_exec", "Bash", "exec_command", "terminal"],
        writers: &["write_file", "Write", "edit_file"],
        modes: &[None],
    },
    Case {
        profile: Profile::Wcore,
        config: Some(r#"{"tools": {"allow_list": ["Bash", "Write", "Edit"]}}"#),
        shells: &["Bash"],
        writers: &["Write", "Edit"],
        modes: &[None, Some("auto_edit")],
    },
    Case {
        profile: Profile::Connectonion,
        config: None,
        shells: &["bash", "shell", "run", "run_in_dir", "run_background", "BASH"],
        writers: &["write", "edit"],
        modes: &[None, Some(":workspace")],
    },
    Case {
        profile: Profile::Molf,
        config: Some(r#"{"shell_exec": "allow", "write_file": "allow", "edit_file": "allow"}"#),
        shells: &["shell_exec"],
        writers: &["write_file", "edit_file"],
        modes: &[None],
    },
    Case {
        profile: Profile::Ohmypi,
        config: Some("tools:\n  approvalMode: write\n"),
        shells: &["bash", "Bash"],
        writers: &["write", "edit"],
        modes: &[None, Some("always-ask")],
    },
    Case {
        profile: Profile::Zeptoclaw,
        config: Some(r#"{"approval": {"enabled": true}, "agent_mode": {"mode": "autonomous"}}"#),
        shells: &["shell"],
        writers: &["write_file", "edit_file"],
        modes: &[None],
    },
];

/// Everything that any button of any profile could have stored for calls of this tool.
fn everything(tool: &str, value: &str) -> Grants {
    let head = |words: usize| value.split(' ').take(words).collect::<Vec<_>>().join(" ");
    let mut rules = vec![Rule::allow(tool, "*"), Rule::allow(tool, escape(value))];
    for name in ["shell_exec", "write_file", "edit_file"] {
        rules.extend([Rule::allow(name, "*"), Rule::allow(name, escape(value))]);
        rules.push(Rule::allow(name, format!("{} *", escape(&head(1)))));
    }
    let prefix = |words| Prefix { text: format!("{} ", head(words)), category: "exec".to_owned() };
    Grants {
        tools: vec![tool.to_owned()],
        categories: ["exec", "edit", "info", "mcp"].map(str::to_owned).into(),
        prefixes: vec![prefix(1), prefix(2), prefix(3)],
        rules: Rules::from_grants(&rules),
        ..Grants::default()
    }
}

fn ruled(system: &dyn System, call: &Call, grants: &Grants, mode: Option<&str>) -> Vec<String> {
    let guardrail = Guardrail::default();
    let given = EvaluationContext {
        mode,
        grants,
        agent_rules: None,
        guardrail: &guardrail,
        reachable: true,
        now_ms: 0,
    };
    let ruling = match countersign_profiles::decide(system, call, &given) {
        Ok(ruling) => ruling,
        Err(refused) => return vec![refused],
    };
    let mut wrong = Vec::new();
    if ruling.verdict == Verdict::Allow {
        wrong.push(format!("{mode:?} {} {}: {}", call.tool, call.args, ruling.reason));
    }
    let offers = [&ruling.always, &ruling.exact];
    if offers.iter().any(|rules| !rules.is_empty()) || !ruling.prefix.is_empty() {
        let call = format!("{} {}", call.tool, call.args);
        wrong.push(format!("{mode:?} {call} offers {offers:?} {:?}", ruling.prefix));
    }
    wrong
}

fn place(call: Call) -> Call {
    Call { cwd: Some("/home/me/shop".into()), home: Some("/home/me".into()), ..call }
}

/// The critical commands of the corpus that our own list knows.
fn critical_commands() -> Vec<String> {
    let corpus = format!("{}/../../tests/corpus/critical.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(corpus).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let commands = rows.filter(|row| row["critical"] == true && row["tier"] == 1);
    commands.map(|row| row["command"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn no_grant_and_no_list_covers_a_critical_command_in_any_profile() {
    let commands = critical_commands();
    assert!(commands.len() > 70, "{}", commands.len());
    let mut wrong = Vec::new();
    for Case { profile, config, shells, modes, .. } in SYSTEMS {
        let system = profile.open(*config, "config", Some("/home/me"), false).unwrap();
        for (command, tool) in commands.iter().flat_map(|c| shells.iter().map(move |t| (c, *t))) {
            let call = place(Call {
                own: of_category(*profile, "exec"),
                ..Call::new(tool, json!({ "command": command }))
            });
            for mode in *modes {
                let found = ruled(&*system, &call, &everything(tool, command), *mode);
                wrong.extend(found.into_iter().map(|why| format!("{profile}: {why}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_grant_and_no_list_covers_a_write_to_what_a_shell_or_login_obeys() {
    let files = ["/home/me/.bashrc", "~/.ssh/authorized_keys", "~/.profile", "/etc/passwd"];
    let mut wrong = Vec::new();
    for Case { profile, config, writers, modes, .. } in SYSTEMS {
        let system = profile.open(*config, "config", Some("/home/me"), false).unwrap();
        for (file, tool) in files.iter().flat_map(|f| writers.iter().map(move |t| (*f, *t))) {
            let args = json!({"path": file, "file_path": file, "content": "x", "old_string": "a",
                "new_string": "b"});
            let call = place(Call { own: of_category(*profile, "edit"), ..Call::new(tool, args) });
            for mode in *modes {
                let found = ruled(&*system, &call, &everything(tool, file), *mode);
                wrong.extend(found.into_iter().map(|why| format!("{profile}: {why}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// The category that wayland-core's calls name.
fn of_category(profile: Profile, category: &str) -> ProfileFacts {
    let category = (profile == Profile::Wcore).then(|| category.to_owned());
    ProfileFacts { category, ..ProfileFacts::default() }
}
