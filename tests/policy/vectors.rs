//! Recorded answers of others: picomatch 4.0.7 `{dot, bash}` and seed 002's own gate.

use countersign_policy::glob::{Glob, GlobError};
use countersign_policy::{Rule, Rules, always, file};
use countersign_profiles::check::Options;
use serde_json::{Value, json};

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn globs_answer_as_picomatch_does() {
    let (mut over, mut under, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
    let mut extglobs = 0;
    let rows = rows("picomatch.jsonl");
    for row in &rows {
        let (pattern, input) = (row["pattern"].as_str().unwrap(), row["input"].as_str().unwrap());
        let wanted = row["match"].as_bool().unwrap();
        let glob = match Glob::parse(pattern) {
            Ok(glob) => glob,
            Err(GlobError::Extglob(_)) => {
                extglobs += 1;
                continue;
            }
            Err(error) => panic!("{pattern}: {error}"),
        };
        match (wanted, glob.matches(input)) {
            (true, false) => under.push((pattern, input)),
            (false, true) => over.push((pattern, input)),
            _ => {}
        }
        if wanted && !glob.reaches(input) {
            narrow.push((pattern, input));
        }
    }
    println!("{} rows, {extglobs} with extglobs, under {under:?}", rows.len());
    assert_eq!(over, [], "an allow rule would match more than picomatch");
    assert_eq!(narrow, [], "a deny rule would match less than picomatch");
    // A star between double quotes stands for itself here.
    assert_eq!(under, [("git commit -m \"*\"", "git commit -m \"a b\"")]);
}

/// Where seed 002's own gate answers otherwise than we do, and why. Every other row must come out
/// as recorded (`want` where it stands, else `expect`), and every listed one must not.
fn deviations() -> Vec<(String, String)> {
    rows("002-molf/standard_deviations.jsonl")
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("id"), text("why"))
        })
        .collect()
}

fn check(line: &Value) -> Value {
    serde_json::from_str(&Options::default().line(&line.to_string())).unwrap()
}

/// The seed's own default rules where a row says `DEFAULT`.
fn config(row: &Value) -> Value {
    match row.as_str() {
        Some("DEFAULT") => {
            Value::String(include_str!("../../src/profiles/molf/default.jsonc").to_owned())
        }
        _ => row.clone(),
    }
}

struct Tally {
    deviations: Vec<(String, String)>,
    rows: usize,
    listed: usize,
    surprises: Vec<String>,
}

impl Tally {
    fn new() -> Self {
        Self { deviations: deviations(), rows: 0, listed: 0, surprises: Vec::new() }
    }

    fn see(&mut self, row: &Value, wanted: &Value, got: &Value) {
        self.rows += 1;
        let id = row["id"].as_str().unwrap();
        let listed = self.deviations.iter().any(|(listed, _)| listed == id);
        self.listed += usize::from(listed);
        if listed == (wanted == got) {
            self.surprises.push(format!("{id}: wanted {wanted}, got {got}, listed: {listed}"));
        }
    }

    fn close(self, name: &str) {
        println!("{name}: {} rows, {} deviations", self.rows, self.listed);
        assert!(self.surprises.is_empty(), "{name}:\n{}", self.surprises.join("\n"));
    }
}

fn wanted(row: &Value) -> &Value {
    row.get("want").unwrap_or(&row["expect"])
}

#[test]
fn seed_002_globs() {
    let mut tally = Tally::new();
    for row in rows("002-molf/glob.jsonl") {
        let glob = row["glob"].as_str().unwrap();
        let got = match Glob::parse(glob) {
            Ok(glob) => Value::Bool(glob.matches(row["value"].as_str().unwrap())),
            Err(_) => Value::from("refused"),
        };
        tally.see(&row, row.get("want").unwrap_or(&row["match"]), &got);
    }
    tally.close("glob");
}

#[test]
fn seed_002_rules() {
    let mut tally = Tally::new();
    for row in rows("002-molf/rules.jsonl") {
        let tool = row["tool"].as_str().unwrap();
        let patterns = row["patterns"].as_array().unwrap();
        let args = match (tool, patterns.as_slice()) {
            ("shell_exec", patterns) => {
                let text: Vec<&str> = patterns.iter().map(|p| p.as_str().unwrap()).collect();
                json!({ "command": text.join(" && ") })
            }
            (_, []) => json!({}),
            ("glob", [pattern]) => json!({ "pattern": pattern }),
            ("skill", [name]) => json!({ "name": name }),
            (_, [value]) => json!({ "path": value }),
            _ => panic!("{row}"),
        };
        let mut line = json!({ "tool": tool, "args": args, "config": config(&row["rules"]) });
        if let Some(runtime) = row.get("runtime") {
            line["runtime_rules"] = runtime.clone();
        }
        let answer = check(&line);
        let got = answer.get("verdict").cloned().unwrap_or_else(|| Value::from("error"));
        tally.see(&row, wanted(&row), &got);
    }
    tally.close("rules");
}

#[test]
fn seed_002_layers() {
    let mut tally = Tally::new();
    for row in rows("002-molf/layers.jsonl") {
        if row.get("enabled").is_some() {
            continue; // a gate that is switched off is not this gate
        }
        let agent = if row.get("session").is_some() { Value::Null } else { row["agent"].clone() };
        let answer = check(&json!({
            "tool": row["tool"], "args": row["args"], "config": config(&row["static"]),
            "agent_rules": agent, "runtime_rules": row["runtime"],
        }));
        tally.see(&row, wanted(&row), &answer["verdict"]);
    }
    tally.close("layers");
}

#[test]
fn seed_002_patterns_of_other_tools() {
    let mut tally = Tally::new();
    for row in rows("002-molf/extract_patterns.jsonl") {
        let answer = check(&json!({ "tool": row["tool"], "args": row["args"] }));
        tally.see(&row, &row["patterns"], &answer["patterns"]);
    }
    tally.close("extract_patterns");
}

#[test]
fn seed_002_arity() {
    let mut tally = Tally::new();
    for row in rows("002-molf/arity_prefix.jsonl") {
        let tokens: Vec<&str> =
            row["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        tally.see(&row, &row["prefix"], &json!(always::prefix(&tokens)));
    }
    tally.close("arity_prefix");
}

#[test]
fn seed_002_shell_patterns_and_always() {
    let mut tally = Tally::new();
    for row in rows("002-molf/shell_parse.jsonl") {
        let answer = check(&json!({
            "tool": "shell_exec", "args": { "command": row["command"] }, "config": {},
        }));
        // One rule for the same pattern is enough.
        let mut always = row["always"].as_array().unwrap().clone();
        always.dedup();
        tally.see(
            &row,
            &json!({ "patterns": row["patterns"], "always": always }),
            &json!({ "patterns": answer["patterns"], "always": answer["always"] }),
        );
    }
    tally.close("shell_parse");
}

#[test]
fn seed_002_files() {
    let mut tally = Tally::new();
    for row in rows("002-molf/persistence.jsonl") {
        let (Some(before), Some(after)) =
            (row.get("before"), row.get("want").filter(|w| w.is_object()).or(row.get("after")))
        else {
            continue;
        };
        let flat = before.as_array().is_some_and(|rows| rows.iter().all(Value::is_array));
        if flat {
            continue; // the form of the vectors, not of a file
        }
        let rules: Vec<Rule> = row["add"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pattern| Rule::allow("shell_exec", pattern.as_str().unwrap()))
            .collect();
        let got = match file::append(&before.to_string(), &rules) {
            Ok(text) => serde_json::from_str(&text).unwrap(),
            Err(error) => Value::from(error.to_string()),
        };
        tally.see(&row, after, &got);
    }
    tally.close("persistence");
}

#[test]
fn seed_002_files_read_back() {
    let mut tally = Tally::new();
    let refused = Value::from("refused");
    for row in rows("002-molf/config_convert.jsonl") {
        if row.get("direction").is_some() {
            continue;
        }
        let text = match (row.get("config"), row.get("file")) {
            (Some(config), _) => config.to_string(),
            (None, Some(file)) if file.as_str().unwrap().starts_with(['{', 'n']) => {
                file.as_str().unwrap().to_owned()
            }
            _ => continue, // words about a file, not a file
        };
        let home = "/home/u";
        let got = match Rules::parse(&text, "permissions.jsonc", Some(home)) {
            Ok(rules) => json!(
                rules
                    .iter()
                    .map(|rule| {
                        let pattern = rule.pattern.replace("~/", "{home}/");
                        (rule.tool.clone(), pattern.replace("$HOME", "{home}"), rule.verdict)
                    })
                    .collect::<Vec<_>>()
            ),
            Err(_) => Value::from("refused"),
        };
        let wanted = match row.get("want").and_then(Value::as_str) {
            Some(words) if words.starts_with("refuse") => Some(&refused),
            Some(_) => None, // checked by a test of its own below
            None => row.get("rules").or(row.get("result")),
        };
        if wanted.is_none() && row.get("want").is_some() {
            continue;
        }
        tally.see(&row, wanted.unwrap_or(&Value::Null), &got);
    }
    tally.close("config_convert");
}

#[test]
fn keys_that_look_like_numbers_keep_their_place() {
    let rules = Rules::parse(r#"{"*":"ask","10":"allow","2":"deny"}"#, "x", None).unwrap();
    let tools: Vec<&str> = rules.iter().map(|rule| rule.tool.as_str()).collect();
    assert_eq!(tools, ["*", "10", "2"]);
}
