//! The profile `molf` against what molf's own code was seen to do: every row of
//! `tests/vectors/002-molf`, strict (`want` where it stands, else `expect`) and with `compat`
//! (`expect`).

use countersign_policy::file::append;
use countersign_policy::glob::Glob;
use countersign_policy::paths::expand_home;
use countersign_policy::{Rule, Rules, Verdict, always};
use countersign_profiles::check::Options;
use countersign_profiles::molf::commands::{Piece, pieces};
use countersign_profiles::molf::ruleset::{Covers, Ruleset, evaluate};
use countersign_profiles::{Profile, molf, rules_of};
use serde_json::{Value, json};

const HOME: &str = "/home/u";

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/002-molf/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Strict,
    Compat,
}

impl Mode {
    const BOTH: [Self; 2] = [Self::Strict, Self::Compat];

    fn name(self) -> &'static str {
        if self == Self::Strict { "strict" } else { "compat" }
    }

    fn options(self) -> Options {
        let compat = self == Self::Compat;
        Options { profile: Profile::Molf, compat, ..Options::default() }
    }

    fn check(self, line: &Value) -> Value {
        serde_json::from_str(&self.options().line(&line.to_string())).unwrap()
    }

    /// What the row wants of us.
    fn wanted<'r>(self, row: &'r Value, key: &str) -> &'r Value {
        row.get("want").filter(|_| self == Self::Strict).unwrap_or(&row[key])
    }
}

/// Compares rows, except that those of `deviations.jsonl` must differ.
struct Tally {
    file: &'static str,
    mode: Mode,
    listed: Vec<String>,
    rows: usize,
    surprises: Vec<String>,
}

impl Tally {
    fn new(file: &'static str, mode: Mode) -> Self {
        let ours = |row: &Value| row["under"] == mode.name() && row["why"].as_str().is_some();
        let listed = rows("deviations.jsonl").into_iter().filter(ours);
        let listed = listed.map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        Self { file, mode, listed, rows: 0, surprises: Vec::new() }
    }

    fn see(&mut self, row: &Value, wanted: &Value, got: &Value) {
        self.rows += 1;
        let id = row["id"].as_str().unwrap();
        let listed = self.listed.iter().any(|listed| listed == id);
        if listed == (wanted == got) {
            self.surprises.push(format!("{id}: wanted {wanted}, got {got}, listed: {listed}"));
        }
    }

    fn close(self) {
        let Self { file, mode, rows, surprises, .. } = self;
        println!("{file} {}: {rows} rows", mode.name());
        assert!(surprises.is_empty(), "{file} {}:\n{}", mode.name(), surprises.join("\n"));
    }
}

fn each(file: &'static str, mut test: impl FnMut(Mode, &Value, &mut Tally)) {
    for mode in Mode::BOTH {
        let mut tally = Tally::new(file, mode);
        for row in rows(file) {
            test(mode, &row, &mut tally);
        }
        tally.close();
    }
}

/// The configuration of a row; molf's own defaults where it says `DEFAULT`.
fn config(row: &Value) -> Value {
    match row.as_str() {
        Some("DEFAULT") => Value::String(molf::DEFAULT.to_owned()),
        _ => row.clone(),
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn verdict(answer: &Value) -> Value {
    answer.get("verdict").cloned().unwrap_or_else(|| Value::from("error"))
}

/// A call whose pieces are these.
fn call(tool: &str, patterns: &[&str]) -> Value {
    let args = match (tool, patterns) {
        ("shell_exec", patterns) => json!({ "command": patterns.join(" && ") }),
        (_, []) => json!({}),
        ("glob", [pattern]) => json!({ "pattern": pattern }),
        ("skill", [name]) => json!({ "name": name }),
        (_, [value]) => json!({ "path": value }),
        _ => panic!("{tool} {patterns:?}"),
    };
    json!({ "tool": tool, "args": args })
}

#[test]
fn rules() {
    each("rules.jsonl", |mode, row, tally| {
        let tool = row["tool"].as_str().unwrap();
        let mut line = call(tool, &strings(&row["patterns"]));
        line["config"] = config(&row["rules"]);
        line["runtime_rules"] = row.get("runtime").cloned().unwrap_or(Value::Null);
        tally.see(row, mode.wanted(row, "expect"), &verdict(&mode.check(&line)));
    });
}

/// The same rows against the evaluation itself, which sees pieces and not a call.
#[test]
fn rules_as_molf_evaluates_them() {
    for row in rows("rules.jsonl") {
        let rules = rules_of(&config(&row["rules"]), "rules", None);
        let Ok(rules) = rules else {
            assert_eq!(row["want"], "error", "{row}");
            continue;
        };
        let runtime = row.get("runtime").map(|rules| rules_of(rules, "runtime", None).unwrap());
        let layers: Vec<Ruleset> =
            std::iter::once(&rules).chain(&runtime).map(|rules| set(rules, None)).collect();
        let piece = |text: &&str| Piece { text: (*text).to_owned(), always: (*text).to_owned() };
        let pieces: Vec<Piece> = strings(&row["patterns"]).iter().map(piece).collect();
        let tool = row["tool"].as_str().unwrap();
        let (verdict, _) = evaluate(tool, &pieces, Covers::Text, &layers);
        assert_eq!(json!(verdict), row["expect"], "{row}");
    }
}

fn set(rules: &Rules, home: Option<&str>) -> Ruleset {
    Ruleset::of(rules, home, 0)
}

#[test]
fn layers() {
    each("layers.jsonl", |mode, row, tally| {
        let other_session = row.get("session").is_some();
        let agent = if other_session { &Value::Null } else { &row["agent"] };
        let off = row.get("enabled") == Some(&Value::Bool(false));
        let answer = mode.check(&json!({
            "tool": row["tool"], "args": row["args"], "config": config(&row["static"]),
            "agent_rules": agent, "runtime_rules": row["runtime"],
            "mode": if off { "off" } else { "on" },
        }));
        tally.see(row, mode.wanted(row, "expect"), &verdict(&answer));
    });
}

#[test]
fn globs() {
    each("glob.jsonl", |mode, row, tally| {
        let glob = row["glob"].as_str().unwrap();
        let piece = Piece { text: row["value"].as_str().unwrap().to_owned(), always: "-".into() };
        let rule = Rule::allow("tool", glob);
        let got = match mode {
            Mode::Strict => Glob::parse(glob)
                .map_or_else(|_| Value::from("refused"), |glob| json!(glob.matches(&piece.text))),
            Mode::Compat => {
                let rules = [set(&Rules::from_grants(&[rule]), Some("$HOME"))];
                let (verdict, _) = evaluate("tool", &[piece], Covers::Text, &rules);
                json!(verdict == Verdict::Allow)
            }
        };
        tally.see(row, mode.wanted(row, "match"), &got);
    });
}

#[test]
fn patterns_of_other_tools() {
    each("extract_patterns.jsonl", |mode, row, tally| {
        let answer = mode.check(&json!({ "tool": row["tool"], "args": row["args"] }));
        tally.see(row, &row["patterns"], &answer["patterns"]);
    });
}

#[test]
fn arity() {
    for row in rows("arity_prefix.jsonl") {
        assert_eq!(json!(always::molf_prefix(&strings(&row["tokens"]))), row["prefix"], "{row}");
    }
}

#[test]
fn shell_patterns_and_always() {
    each("shell_parse.jsonl", |mode, row, tally| {
        let answer =
            mode.check(&json!({ "tool": "shell_exec", "args": { "command": row["command"] } }));
        let mut always = row["always"].as_array().unwrap().clone();
        always.dedup(); // one rule for the same pattern is enough
        tally.see(
            row,
            &json!({ "patterns": row["patterns"], "always": always }),
            &json!({ "patterns": answer["patterns"], "always": answer["always"] }),
        );
    });
}

/// What is checked is what molf checks; an odd text is asked about whatever the rules say.
#[test]
fn shell_pieces_are_those_of_molf() {
    let everything = json!({ "*": "allow" });
    for row in rows("shell_parse.jsonl") {
        let pieces = pieces(row["command"].as_str().unwrap());
        let named = pieces.iter().filter(|piece| !piece.always.is_empty());
        let (texts, always): (Vec<_>, Vec<_>) =
            named.map(|piece| (&piece.text, &piece.always)).unzip();
        if json!([texts, always]) != json!([row["patterns"], row["always"]]) {
            let line = json!({ "tool": "shell_exec", "config": everything,
                "args": { "command": row["command"] } });
            assert_eq!(verdict(&Mode::Compat.check(&line)), "ask", "{row}: {texts:?}");
        }
    }
}

#[test]
fn home_directories() {
    for row in rows("expand.jsonl") {
        let expanded = expand_home(row["pattern"].as_str().unwrap(), Some(HOME));
        assert_eq!(json!(expanded.replace(HOME, "{home}")), row["expanded"], "{row}");
    }
}

fn flat(rules: &Ruleset) -> Value {
    let flat = |rule: &Rule| json!([rule.tool, rule.pattern.replace(HOME, "{home}"), rule.verdict]);
    rules.rules().map(flat).collect()
}

/// The rules of a file as `open` reads it, as `[tool, pattern, action]`.
fn read(mode: Mode, text: &str) -> Result<Value, String> {
    let compat = mode == Mode::Compat;
    Profile::Molf.open(Some(text), "permissions.jsonc", Some(HOME), compat)?;
    let text = if text == "{}" { molf::DEFAULT } else { text };
    Ok(flat(&set(&Rules::parse(text, "permissions.jsonc", Some(HOME)).unwrap(), Some(HOME))))
}

#[test]
fn configurations() {
    each("config_convert.jsonl", |mode, row, tally| {
        if row.get("direction").is_some() {
            let rules: Vec<Rule> = row["rules"].as_array().unwrap().iter().map(rule).collect();
            let config: Value = serde_json::from_str(&append("{}", &rules).unwrap()).unwrap();
            return tally.see(row, &row["config"], &config);
        }
        let text = match row.get("config") {
            Some(config) => config.to_string(),
            // Words about a file that is a list.
            None if row.get("accepted").is_some() => {
                r#"[{"permission":"glob","pattern":"*","action":"allow"}]"#.to_owned()
            }
            None => row["file"].as_str().unwrap().to_owned(),
        };
        let wanted = match (row["want"].as_str(), row.get("rules"), &row["result"]) {
            // The order of the text, not of JavaScript's properties.
            (Some("file order"), ..) if mode == Mode::Strict => {
                json!([["*", "*", "ask"], ["10", "*", "allow"], ["2", "*", "deny"]])
            }
            (Some(_), None, _) if mode == Mode::Strict => json!("refused"),
            (_, Some(rules), _) => rules.clone(),
            (_, None, Value::String(_)) => read(mode, molf::DEFAULT).unwrap(),
            (_, None, config @ Value::Object(_)) => read(mode, &config.to_string()).unwrap(),
            _ if row.get("accepted").is_some() => json!([["glob", "*", "allow"]]),
            // A comment's sign within a string is part of the string, whatever is made of it.
            _ if mode == Mode::Strict => json!("refused"),
            _ => json!([["shell_exec", "*", "echo // not a comment"]]),
        };
        let got = read(mode, &text).unwrap_or_else(|error| {
            let whole = !text.contains("not a comment") || error.contains("echo // not a comment");
            json!(if whole { "refused" } else { "cut" })
        });
        tally.see(row, &wanted, &got);
    });
}

/// A rule of `[tool, pattern, action]`.
fn rule(flat: &Value) -> Rule {
    serde_json::from_value(json!({ "tool": flat[0], "pattern": flat[1], "verdict": flat[2] }))
        .unwrap()
}

#[test]
fn rules_that_a_denial_names() {
    for row in rows("matching_rules.jsonl") {
        let all: Vec<Rule> = row["rules"].as_array().unwrap().iter().map(rule).collect();
        let rules = set(&Rules::from_rules(&all), None);
        let found = rules.matching(row["tool"].as_str().unwrap(), row["pattern"].as_str().unwrap());
        let found: Vec<usize> =
            found.map(|found| all.iter().position(|rule| rule == found).unwrap()).collect();
        assert_eq!(json!(found), row["matches"], "{row}");
    }
}

#[test]
fn files_after_always() {
    each("persistence.jsonl", |mode, row, tally| {
        let Some(before) = row.get("before") else { return };
        // The vectors write a list's rules short.
        let short =
            |rule: &Value| json!({ "permission": rule[0], "pattern": rule[1], "action": rule[2] });
        let before = match before.as_array() {
            Some(rules) => rules.iter().map(short).collect(),
            None => before.clone(),
        };
        let rules: Vec<Rule> = strings(&row["add"])
            .iter()
            .map(|pattern| Rule::allow("shell_exec", *pattern))
            .collect();
        let after = append(&before.to_string(), &rules)
            .unwrap_or_else(|error| json!(error.to_string()).to_string());
        let text: String = after.lines().filter(|line| !line.starts_with("//")).collect();
        let got: Value = serde_json::from_str(&text.replace(HOME, "{home}")).unwrap();
        let want = row.get("want").filter(|want| want.is_object() && mode == Mode::Strict);
        tally.see(row, want.unwrap_or(&row["after"]), &got);
        if let Some(verdict_behind) = row.get("evaluates") {
            // The stored rule does not win; the daemon tells the person who pressed.
            let line = json!({ "tool": "shell_exec", "config": got,
                "args": { "command": "git push origin" } });
            assert_eq!(&verdict(&mode.check(&line)), verdict_behind, "{row}");
        }
    });
}

#[test]
fn files_as_molf_writes_them() {
    for row in rows("serialize.jsonl") {
        let rules = Rules::parse(&row["config"].to_string(), "config", None).unwrap();
        let rules: Vec<Rule> = rules.iter().cloned().collect();
        let text = append("{}", &rules).unwrap();
        let several = row["contains"].as_array().cloned();
        for part in several.unwrap_or_else(|| vec![row["contains"].clone()]) {
            assert!(text.contains(part.as_str().unwrap()), "{row}\n{text}");
        }
        if let Some(part) = row["not_contains"].as_str() {
            assert!(!text.contains(part), "{row}\n{text}");
        }
    }
}

#[test]
fn a_tool_without_patterns_is_remembered_by_its_name() {
    let row = rows("persistence.jsonl").into_iter().find(|row| row.get("tool").is_some()).unwrap();
    assert_eq!(row["want"], "store the tool name");
    let line = json!({ "tool": row["tool"], "args": { "path": "x" } });
    assert_eq!(Mode::Strict.check(&line)["always"], json!([row["tool"]]));
    assert_eq!(Mode::Compat.check(&line)["always"], row["add"]);
}

#[test]
fn strict_is_never_looser_than_molf() {
    let strictness = |answer: &Value| match verdict(answer).as_str() {
        Some("allow") => 0,
        Some("ask") => 1,
        _ => 2,
    };
    let configs = [
        json!({ "*": "allow" }),
        json!({ "shell_exec": { "*": "allow", "rm *": "deny" } }),
        json!({ "*": "deny", "shell_exec": { "*": "ask", "git *": "allow", "l* *": "allow" } }),
        json!({ "shell_exec": { "* *": "allow", "*rm*": "ask" } }),
    ];
    for row in rows("shell_parse.jsonl") {
        for config in &configs {
            let line = json!({ "tool": "shell_exec", "config": config,
                "args": { "command": row["command"] } });
            let (strict, molf) = (Mode::Strict.check(&line), Mode::Compat.check(&line));
            assert!(strictness(&strict) >= strictness(&molf), "{line}\n{strict}\n{molf}");
        }
    }
}

#[test]
fn always_covers_the_command_it_was_made_from() {
    for command in ["ls 2>&1 | tee out.txt", "cat < in.txt", "cmd 2>/dev/null", "git add . && ls"] {
        let mut line = json!({ "tool": "shell_exec", "args": { "command": command } });
        let offered = Mode::Strict.check(&line);
        assert_eq!(offered["verdict"], "ask");
        let stored = strings(&offered["always"]);
        assert!(!stored.is_empty(), "{command}");
        let rules = stored.iter().map(|pattern| json!(["shell_exec", pattern, "allow"]));
        line["runtime_rules"] = rules.collect();
        assert_eq!(Mode::Strict.check(&line)["verdict"], "allow", "{command}: {stored:?}");
    }
}
