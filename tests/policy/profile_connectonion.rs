//! ConnectOnion's recorded answers (seed 001): every row as it wants to be by default, and as
//! ConnectOnion itself answers under `compat`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_policy::Call;
use countersign_policy::check::Options;
use countersign_policy::profiles::connectonion::{
    Answer, ConnectOnion, Expires, Key, Mailbox, Mode, Outcome, Permission, Requester, Session,
    Source, Step, is_control_file,
};
use countersign_policy::profiles::{Dialect, End, Profile, Then};
use serde_json::{Value, json};

/// How literally ConnectOnion is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    Strict,
    Compat,
}
use Taken::{Compat, Strict};

fn rows(file: &str) -> Vec<Value> {
    let folder = "/../../tests/vectors/001-connectonion/";
    let path = [env!("CARGO_MANIFEST_DIR"), folder, file, ".jsonl"].concat();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One line of `policy check`: the verdict, or `error`.
fn check(line: &Value, taken: Taken) -> Value {
    let options =
        Options { profile: Profile::Connectonion, compat: taken == Compat, ..Options::default() };
    let mut answer: Value = serde_json::from_str(&options.line(&line.to_string())).unwrap();
    if answer["error"].is_string() {
        answer["verdict"] = "error".into();
    }
    answer
}

/// What a row asks for: its `want` by default, ConnectOnion's own answer (`field`) under compat.
fn wanted(row: &Value, field: &str, taken: Taken) -> Value {
    let want = row.get("want").filter(|_| taken == Strict);
    let wanted = want.unwrap_or(&row[field]).clone();
    match wanted.as_str() {
        Some(text) if text.starts_with("error:") => "error".into(),
        _ => wanted,
    }
}

struct Tally {
    deviations: BTreeMap<String, String>,
    surprises: Vec<String>,
    rows: usize,
}

impl Tally {
    fn new() -> Self {
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        let listed = rows("deviations");
        let deviations = listed.iter().map(|row| (text(row, "id"), text(row, "why"))).collect();
        Self { deviations, surprises: Vec::new(), rows: 0 }
    }

    /// A listed row must really differ, by default; under compat nothing may.
    fn see(&mut self, row: &Value, taken: Taken, wanted: &Value, got: &Value) {
        self.rows += 1;
        let id = row["id"].as_str().unwrap();
        let listed = taken == Strict && self.deviations.contains_key(id);
        if listed == (wanted == got) {
            self.surprises.push(format!("{id} {taken:?}: wanted {wanted}, got {got}"));
        }
    }

    fn close(self, rows: usize) {
        assert!(self.surprises.is_empty(), "\n{}", self.surprises.join("\n"));
        assert_eq!(self.rows, rows, "every row is looked at, twice");
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn chains_are_read_command_by_command() {
    let rows = rows("chain_parse");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            // ConnectOnion takes a session without permissions for one that cannot match.
            let config = json!({ "permissions": { "Bash(none)": { "allowed": true } } });
            let line =
                json!({ "tool": "bash", "args": { "command": row["command"] }, "config": config });
            let answer = check(&line, taken);
            if row["error"].is_null() {
                let firsts: Vec<&Value> =
                    answer["commands"].as_array().unwrap().iter().map(|argv| &argv[0]).collect();
                let wanted = json!({ "names": row["names"], "subcommands": row["subcommands"], "verdict": "ask" });
                let got = json!({ "names": firsts, "subcommands": answer["patterns"], "verdict": answer["verdict"] });
                tally.see(row, taken, &wanted, &got);
            } else {
                let error = json!({ "verdict": "error" });
                let row_with_error = if taken == Compat { &error["verdict"] } else { &row["want"] };
                tally.see(row, taken, row_with_error, &answer["verdict"]);
                let name = row["error"].as_str().unwrap();
                assert!(
                    taken == Strict || answer["error"].as_str().unwrap().starts_with(name),
                    "{answer}"
                );
            }
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn every_command_of_a_chain_needs_its_permission() {
    let rows = rows("chain_permit");
    let mut tally = Tally::new();
    for row in &rows {
        // The chain check alone is what decides about calls that no model made.
        for (taken, profile) in [(Strict, ":read-only"), (Compat, "remote-exec")] {
            let answer = check(
                &json!({
                    "tool": "bash", "args": { "command": row["command"] }, "mode": profile,
                    "config": { "permissions": row["permissions"] },
                }),
                taken,
            );
            let permitted = match row.get("want").filter(|_| taken == Strict) {
                Some(want) => want == "allow",
                None => row["permitted"].as_bool().unwrap(),
            };
            let reason = row["reason"].as_str().unwrap_or("");
            let source = row["source"].as_str().unwrap_or("");
            let said = answer["reason"].as_str().unwrap();
            let (opening, closing) = (reason.trim_end_matches(')'), format!("{source})"));
            let words = !permitted
                || said.starts_with(opening) && (source.is_empty() || said.ends_with(&closing));
            tally.see(
                row,
                taken,
                &json!([permitted, true]),
                &json!([answer["verdict"] == "allow", words]),
            );
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn a_key_matches_the_calls_that_it_spells() {
    let rows = rows("pattern_match");
    let mut tally = Tally::new();
    for row in &rows {
        let tool = row["tool"].as_str().unwrap();
        let of = row.get("permission");
        let key = of.map_or(&row["pattern"], |permission| &permission["key"]).as_str().unwrap();
        let when = of.map_or_else(Vec::new, |permission| {
            let globs = permission["when"].as_object().unwrap().iter();
            globs.map(|(name, glob)| (name.clone(), glob.as_str().unwrap().to_owned())).collect()
        });
        let permission = Permission { when, ..Permission::skill(key) };
        let got = match Key::new(key).matches(tool, &row["args"]) {
            Ok(matches) => Value::Bool(matches && permission.fits_args(&row["args"], true)),
            Err(error) => Value::from(format!("error:{}", error.split(':').next().unwrap())),
        };
        tally.see(row, Compat, &row["match"], &got);
        // By default a key never lets through what its own text does not match.
        let config = json!({ "permissions": { key: { "allowed": true, "when": of.map(|p| p["when"].clone()) } } });
        let ruled = check(&json!({ "tool": tool, "args": row["args"], "config": config }), Strict);
        let wanted = if row["match"] == true { "allow" } else { "ask" };
        tally.see(row, Strict, &wanted.into(), &ruled["verdict"]);
    }
    tally.close(rows.len() * 2);
}

#[test]
fn the_shipped_template_rules_as_recorded() {
    let rows = rows("template_live");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            let line = json!({
                "tool": "bash", "args": { "command": row["command"] }, "mode": row["profile"],
            });
            tally.see(row, taken, &wanted(row, "expect", taken), &check(&line, taken)["verdict"]);
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn known_tools_are_safe_or_ask_by_era() {
    let rows = rows("safe_and_dangerous");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            let era = row.get("era").cloned().unwrap_or_else(|| "head".into());
            let line = json!({ "tool": row["tool"], "args": {}, "config": { "era": era } });
            tally.see(row, taken, &wanted(row, "expect", taken), &check(&line, taken)["verdict"]);
        }
    }
    tally.close(rows.len() * 2);
}

fn session(config: &Value, requester: Requester, reachable: bool, taken: Taken) -> Session {
    let host = ConnectOnion::read(Some(&config.to_string()), "config", taken == Compat).unwrap();
    Session::new(Arc::new(host), requester, reachable)
}

fn verdict(step: &Step) -> &'static str {
    match step {
        Step::Run => "allow",
        Step::Prompt(_) => "ask",
        Step::Refused(_) => "deny",
    }
}

/// The `permissions` of a row: entries, or names of tools.
fn permitted(row: &Value) -> Value {
    row.get("permissions").cloned().unwrap_or_else(|| json!({}))
}

#[test]
fn unknown_tools_ask_and_are_denied_where_nobody_can_answer() {
    let rows = rows("unknown_tools");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            let mut config = json!({ "permissions": permitted(row), "era": row["era"] });
            for field in ["profile", "grant"] {
                config[field] = row[field].clone();
            }
            let io = row["io"].as_bool().unwrap();
            let call = Call::new(row["tool"].as_str().unwrap(), json!({}));
            let step = session(&config, Requester::Local, io, taken).check(&call).unwrap();
            tally.see(row, taken, &wanted(row, "expect", taken), &verdict(&step).into());
            if io {
                let line = json!({ "tool": row["tool"], "args": {}, "config": config });
                assert_eq!(check(&line, taken)["verdict"], wanted(row, "expect", taken), "{row}");
            }
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn the_workspace_policy_decides_with_its_effect_and_scope() {
    let rows = rows("workspace_policy");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            let config = json!({ "permissions": permitted(row), "profile": ":workspace" });
            let call = Call {
                cwd: Some("/work/project".into()),
                ..Call::new(row["tool"].as_str().unwrap(), row["args"].clone())
            };
            let step = |requester, io| session(&config, requester, io, taken).check(&call).unwrap();
            let line = json!({
                "tool": call.tool, "args": call.args, "cwd": call.cwd, "config": config,
            });
            let ruled = check(&line, taken)["verdict"].clone();
            if row.get("case").is_some() {
                tally.see(row, taken, &wanted(row, "expect", taken), &ruled);
                continue;
            }
            assert_eq!(ruled, row["decision"], "{row} {taken:?}");
            let host = ConnectOnion::read(Some(&config.to_string()), "config", taken == Compat);
            let decision = host.unwrap().workspace(&call);
            let contact = Call { requester: Some("contact".into()), ..call.clone() };
            assert_eq!(
                verdict(&step(Requester::Contact, true)),
                row["non_operator"],
                "{contact:?}"
            );
            let got = json!([
                decision.verdict,
                decision.effect,
                decision.scope,
                decision.requires_human,
                verdict(&step(Requester::Local, false)),
                verdict(&step(Requester::Contact, true)),
            ]);
            let wanted = json!([
                row["decision"],
                row["effect_class"],
                row["scope"],
                row["requires_human"],
                row["headless"],
                row["non_operator"],
            ]);
            tally.see(row, taken, &wanted, &got);
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn control_files_are_out_of_reach() {
    let rows = rows("control_files");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            let (tool, args) = match row.get("path") {
                Some(path) => ("write", json!({ "path": path })),
                None => ("bash", json!({ "command": row["command"] })),
            };
            // Even where every call of the tool is granted, in any mode.
            for mode in [":read-only", ":workspace", ":danger-full-access 0/9", "remote-exec"] {
                let line = json!({
                    "tool": tool, "args": args, "mode": mode, "grants": { "tools": [tool] },
                    "cwd": "/home/u/p",
                });
                let denied = check(&line, taken)["verdict"] == "deny";
                assert!(denied || row["refused"] == false, "{row} {mode} {taken:?}");
            }
            let line = json!({ "tool": tool, "args": args, "cwd": "/home/u/p" });
            let denied = check(&line, taken)["verdict"] == "deny";
            tally.see(row, taken, &row["refused"], &denied.into());
            if let Some(path) = row.get("path") {
                assert_eq!(is_control_file(path.as_str().unwrap()), row["refused"], "{row}");
            }
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn old_names_of_profiles_are_known() {
    let rows = rows("profile_aliases");
    let mut tally = Tally::new();
    for row in &rows {
        let word = row["value"].as_str().unwrap();
        for taken in [Strict, Compat] {
            let mut session = session(&json!({}), Requester::Local, true, taken);
            let before = session.mode();
            let got = match row["via"].as_str().unwrap() {
                "restored session" => {
                    session.restore(word);
                    session.mode().to_string()
                }
                "set_mode frame" => {
                    assert_eq!(session.wants(word, None), None);
                    let same = session.mode() == before;
                    if same { "unchanged".into() } else { session.mode().to_string() }
                }
                other => panic!("{other}"),
            };
            tally.see(row, taken, &row["profile"], &got.into());
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn profile_changes_are_told_when_something_changed() {
    let rows = rows("modes_poll");
    let mut tally = Tally::new();
    for row in &rows {
        let config = json!({ "profile": row["start"] });
        let mut session = session(&config, Requester::Local, true, Strict);
        let sent =
            names(&row["frames"]).iter().filter_map(|word| session.wants(word, None)).count();
        let got = json!([session.mode().to_string(), sent]);
        tally.see(row, Strict, &json!([row["end"], row["sent"]]), &got);
    }
    tally.close(rows.len());
}

#[test]
fn who_the_agent_works_for_decides_whether_anybody_is_asked() {
    let rows = rows("requester");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            // What the client claims is never read: the level is what the host computed.
            let level = row.get("computed").unwrap_or(&row["level"]);
            if let Some(wanted) = row.get("effective") {
                let claimed = Requester::of(row["claimed"].as_str());
                let got = Requester::of(level.as_str());
                assert!(claimed.is_operator() && !got.is_operator(), "{row}");
                tally.see(row, taken, wanted, level);
                continue;
            }
            if let Some(mode) = row.get("request_mode") {
                let requester = Requester::of(level.as_str());
                let mut session =
                    session(&json!({ "profile": ":read-only" }), requester, true, taken);
                session.wants(mode.as_str().unwrap(), Some(5));
                tally.see(row, taken, &row["mode_after"], &session.mode().to_string().into());
                continue;
            }
            let tool = row.get("tool").cloned().unwrap_or_else(|| "bash".into());
            let args =
                row.get("args").cloned().unwrap_or_else(|| json!({ "command": "rm -rf build" }));
            let mut line = json!({
                "tool": tool, "args": args, "config": { "permissions": permitted(row) },
            });
            if level != "<absent>" {
                line["requester"] = level.clone();
            }
            tally.see(row, taken, &row["expect"], &check(&line, taken)["verdict"]);
        }
    }
    tally.close(rows.len() * 2);
}

#[test]
fn skills_grants_end_with_their_turn() {
    let rows = rows("skill_lifecycle");
    let mut tally = Tally::new();
    for row in &rows {
        let before = row.get("before").cloned().unwrap_or_else(|| json!([]));
        let mut session =
            session(&json!({ "permissions": before }), Requester::Local, true, Strict);
        for step in row["steps"].as_array().unwrap() {
            if let Some(patterns) = step.get("grant") {
                session.skill(&names(patterns));
            } else if let Some(tool) = step.get("user_session") {
                let call = Call::new(tool.as_str().unwrap(), json!({}));
                let answer = Answer::read(&json!({ "approved": true, "scope": "session" }));
                assert_eq!(session.answered(&call, answer), Outcome::Run);
            } else if step.get("turn_died").is_some() {
                session.turn_begins();
            } else if step.get("end_turn").is_some() {
                session.turn_ends();
            } else {
                panic!("{step}");
            }
        }
        let left: Vec<&str> = session.permissions().iter().map(|one| one.key.text()).collect();
        tally.see(row, Strict, &row["left"], &json!(left));
    }
    tally.close(rows.len());
}

#[test]
fn answers_are_what_they_say_and_nothing_else_approves() {
    let rows = rows("responses");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            let call = Call::new("bash", json!({ "command": "npm install" }));
            let mut session = session(&json!({ "permissions": {} }), Requester::Local, true, taken);
            assert_eq!(session.check(&call).unwrap(), Step::Prompt(None));
            let wanted = row.get("want").filter(|_| taken == Strict).unwrap_or(&row["outcome"]);
            let response = &row["response"];
            if let Some(error) = wanted.get("error") {
                let early = Mailbox::default().answer(response).unwrap_err();
                tally.see(row, taken, error, &early.into());
                continue;
            }
            // The raw handler is the one without a mailbox before it.
            let raw = taken == Compat && response.get("type").is_none();
            let answer =
                if raw { Answer::read_literally(response) } else { Answer::read(response) };
            let outcome = session.answered(&call, answer);
            let message = match &outcome {
                Outcome::Refused(message) => message.clone(),
                Outcome::Run | Outcome::Interrupted => String::new(),
            };
            let mut got = serde_json::Map::new();
            for (field, value) in wanted.as_object().unwrap() {
                let seen = match field.as_str() {
                    "run" => json!(outcome == Outcome::Run),
                    "stop" => json!(session.stopped().is_some()),
                    "stop_signal" => json!(session.stopped()),
                    "remember" => remembered(&session),
                    "raises" => json!((outcome == Outcome::Interrupted).then_some("UserInterrupt")),
                    "message_contains" => {
                        let missing = names(value).iter().any(|part| !message.contains(part));
                        if missing { json!(message) } else { value.clone() }
                    }
                    other => panic!("{other}"),
                };
                got.insert(field.clone(), seen);
            }
            tally.see(row, taken, wanted, &got.into());
        }
    }
    tally.close(rows.len() * 2);
}

fn remembered(session: &Session) -> Value {
    let given = session.permissions().iter().filter(|one| one.source == Source::User);
    let mut all = serde_json::Map::new();
    for one in given {
        assert_eq!((one.when.len(), one.expires), (0, Expires::SessionEnd));
        let entry = json!({ "source": one.source.word(), "expires": "session_end" });
        all.insert(one.key.text().to_owned(), entry);
    }
    if all.is_empty() { Value::Null } else { all.into() }
}

/// Runs a batch: which calls ran, which were prompted for with what behind them, and whether the
/// model gets another turn.
fn batch(calls: &[Call], answers: &[Value], taken: Taken) -> Value {
    let mut session = session(&json!({ "permissions": {} }), Requester::Local, true, taken);
    let (mut ran, mut prompts, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
    let mut answers = answers.iter();
    for (at, call) in calls.iter().enumerate() {
        let run = match session.check(call).unwrap() {
            Step::Run => true,
            Step::Refused(_) => {
                rejected.push(at);
                false
            }
            Step::Prompt(_) => {
                let behind: Vec<&str> =
                    calls[at + 1..].iter().map(|call| call.tool.as_str()).collect();
                prompts.push(json!({ "tool": call.tool, "batch_remaining": behind }));
                let answer = Answer::read(answers.next().expect("an answer for every prompt"));
                session.answered(call, answer) == Outcome::Run
            }
        };
        ran.push(run);
    }
    assert_eq!(answers.next(), None, "every answer is used");
    json!({
        "ran": ran, "prompts": prompts, "auto_rejected": rejected,
        "llm_gets_turn": session.stopped().is_none(),
    })
}

#[test]
fn a_batch_goes_on_or_stops_as_its_answers_say() {
    let rows = rows("batches");
    let mut tally = Tally::new();
    for row in &rows {
        for taken in [Strict, Compat] {
            if let Some(calls) = row.get("batch") {
                let calls: Vec<Call> = calls
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|call| Call::new(call["tool"].as_str().unwrap(), call["args"].clone()))
                    .collect();
                let mut got = batch(&calls, row["answers"].as_array().unwrap(), taken);
                let fields = ["ran", "prompts", "auto_rejected", "llm_gets_turn"];
                let mut wanted = json!({});
                for field in fields {
                    match row.get(field) {
                        Some(value) => wanted[field] = value.clone(),
                        None => drop(got.as_object_mut().unwrap().remove(field)),
                    }
                }
                tally.see(row, taken, &wanted, &got);
            } else if let Some(wanted) = row.get("description") {
                let got = countersign_policy::profiles::connectonion::description(&row["args"]);
                tally.see(row, taken, wanted, &got.into());
            } else if row.get("io").is_some() {
                let config = json!({ "permissions": {}, "profile": row["profile"] });
                let call = Call::new(row["tool"].as_str().unwrap(), json!({ "command": "npm i" }));
                let step = session(&config, Requester::Local, false, taken).check(&call).unwrap();
                let got = if step == Step::Run { "run" } else { verdict(&step) };
                tally.see(row, taken, &wanted_run(row, taken), &got.into());
            } else {
                // A permitted call never comes as far as a prompt; everything that is prompted for
                // is stored first (the journeys see it survive a kill).
                assert_eq!(row["id"], "001-connectonion/batches/012");
                let session = session(&json!({}), Requester::Local, true, taken);
                let step = |tool: &str| session.check(&Call::new(tool, json!({}))).unwrap();
                assert_eq!([step("read_file"), step("write")], [Step::Run, Step::Prompt(None)]);
                tally.see(row, taken, &Value::Null, &Value::Null);
            }
        }
    }
    tally.close(rows.len() * 2);
}

fn wanted_run(row: &Value, taken: Taken) -> Value {
    wanted(row, "expect", taken)
}

#[test]
fn in_a_stopped_batch_permitted_calls_run_only_as_they_did() {
    for (taken, runs) in [(Strict, false), (Compat, true)] {
        let mut session = session(&json!({}), Requester::Local, true, taken);
        let call = Call::new("write", json!({ "path": "x" }));
        session.answered(&call, Answer::read(&json!({ "approved": false })));
        let step = session.check(&Call::new("read_file", json!({ "path": "x" }))).unwrap();
        assert_eq!(step == Step::Run, runs, "{taken:?}");
        session.turn_begins();
        assert_eq!(session.check(&call).unwrap(), Step::Prompt(None));
    }
}

#[test]
fn questions_carry_what_was_asked_and_unanswered_is_not_yes() {
    let rows = rows("ask_user");
    let mut tally = Tally::new();
    for row in &rows {
        let call = Call::new("ask_user", json!({ "question": "Which city?" }));
        if row.get("io") == Some(&Value::Bool(false)) {
            let host = ConnectOnion::read(None, "host.yaml", false).unwrap();
            let told = host.told(&call, &End::Unreachable).unwrap();
            let contains = row["result_contains"].as_str().unwrap();
            let got = if told.contains(contains) { contains } else { &*told };
            tally.see(row, Strict, &contains.into(), &got.into());
            continue;
        }
        // The question itself is always a person's, whatever lets the tool run.
        let mut event = row.get("event").cloned().unwrap_or_else(|| json!({ "question": "Who?" }));
        for (name, value) in row.get("event_extra").and_then(Value::as_object).into_iter().flatten()
        {
            event[name] = value.clone();
        }
        event["question"] = event.get("question").cloned().unwrap_or_else(|| "Which?".into());
        let asks = check(&json!({ "tool": "ask_user", "args": event }), Strict);
        tally.see(row, Strict, &"ask".into(), &asks["verdict"]);
    }
    tally.close(rows.len());
}

#[test]
fn a_second_answer_and_a_second_request_are_errors() {
    let mut mailbox = Mailbox::default();
    mailbox.ask("one").unwrap();
    mailbox.ask("one").unwrap();
    let error = mailbox.ask("two").unwrap_err();
    assert_eq!(error, "one still waits for its answer; one request at a time");
    let hard = Answer::Rejected { then: Then::Stop, feedback: None };
    assert_eq!(mailbox.answer(&json!({ "approved": "yes" })), Ok(("one".into(), hard)));
    assert_eq!(mailbox.answer(&json!({ "approved": true })), Err(Mailbox::STALE));
}

#[test]
fn full_access_ends_with_its_turns() {
    let mut session = session(&json!({}), Requester::Admin, true, Strict);
    let call = Call::new("my_tool", json!({}));
    assert_eq!(session.wants(":danger-full-access", None), Some(Mode::ReadOnly));
    session.wants("ulw", Some(2));
    for left in [2, 1, 0] {
        let step = session.check(&call).unwrap();
        assert_eq!(step == Step::Run, left > 0, "{left} turns left");
        session.turn_ends();
    }
}
