//! Recorded answers of other systems, each row run strict and under `compat`.

use std::fmt;

use countersign_profiles::Profile;
use countersign_profiles::check::Options;
use serde_json::{Value, json};

/// The vectors of one system.
pub struct Vectors {
    profile: Profile,
    folder: &'static str,
}

/// Which answers are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `want` where a row has it, else `expect`.
    Strict,
    /// The system's own.
    Compat,
}

/// `policy check` in one of both ways.
pub struct Check {
    pub kind: Kind,
    options: Options,
}

/// What a row was to come to, and what it came to.
pub struct Outcome {
    wanted: Value,
    got: Value,
}

impl Vectors {
    pub fn new(profile: Profile, folder: &'static str) -> Self {
        Self { profile, folder }
    }

    /// Runs every row of a file in both ways. Rows that `deviations.jsonl` lists for a way
    /// (`strict` or `compat`) must come out otherwise than recorded, all others as recorded.
    pub fn each(&self, file: &str, run: impl Fn(&Value, &Check) -> Outcome) {
        let deviations = self.rows("deviations.jsonl");
        let mut surprises = Vec::new();
        let rows = self.rows(file);
        assert!(!rows.is_empty(), "{file} has no rows");
        for kind in [Kind::Strict, Kind::Compat] {
            let compat = kind == Kind::Compat;
            let options = Options { profile: self.profile, compat, ..Options::default() };
            let check = Check { kind, options };
            for row in &rows {
                let wanted = match (kind, row.get("want")) {
                    (Kind::Strict, Some(want)) => with_expectation(row, want),
                    _ => row.clone(),
                };
                let Outcome { wanted, got } = run(&wanted, &check);
                let listed = deviations.iter().any(|listed| {
                    listed["id"] == row["id"] && listed["under"] == kind.to_string().as_str()
                });
                if listed == (wanted == got) {
                    surprises.push(format!("{kind} {row}\n  wanted {wanted}, got {got}"));
                }
            }
        }
        assert!(surprises.is_empty(), "{file}:\n{}", surprises.join("\n"));
    }

    fn rows(&self, file: &str) -> Vec<Value> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors");
        let path = format!("{root}/{}/{file}", self.folder);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The fields that say what a row comes to; the first that it has takes the `want`.
const EXPECTATIONS: [&str; 7] =
    ["expect", "requires", "effective", "decision", "outcome", "permitted", "error"];

fn with_expectation(row: &Value, want: &Value) -> Value {
    let mut row = row.clone();
    let field = EXPECTATIONS.iter().find(|field| row.get(**field).is_some());
    row[*field.expect("a row with `want` says what the system does")] = want.clone();
    row
}

impl Check {
    pub fn line(&self, line: &Value) -> Value {
        serde_json::from_str(&self.options.line(&line.to_string())).unwrap()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Strict { "strict" } else { "compat" })
    }
}

impl From<(Value, Value)> for Outcome {
    fn from((wanted, got): (Value, Value)) -> Self {
        Self { wanted, got }
    }
}

impl From<bool> for Outcome {
    fn from(holds: bool) -> Self {
        Self { wanted: json!(true), got: json!(holds) }
    }
}

/// The verdict that a system's word means.
#[allow(dead_code, reason = "not every system has words of its own")]
pub fn verdict_of(word: &Value) -> Value {
    match word.as_str() {
        Some("prompt") => json!("ask"),
        _ => word.clone(),
    }
}
