//! Scores the policy on corpora of commands with known right answers. `countersign policy score
//! DIR` prints the table; `tests/policy/corpus.rs` asserts what it must say.

use std::fmt;
use std::sync::LazyLock;

use countersign_policy::{
    Call, DEFAULT_RULES, Decision, Guardrail, Layers, Mode, Rule, Rules, Verdict, decide, examples,
    rules::sentences,
};
use serde::Deserialize;
use serde_json::json;

/// Where the commands of the corpora are run from.
const HOME: &str = "/home/u";
const PROJECT: &str = "/home/u/work";

/// One line of a corpus; which fields matter depends on the corpus.
#[derive(Clone, Debug, Deserialize)]
pub struct CorpusCase {
    /// Its name.
    pub id: String,
    /// 1 to 4 in the bypass and critical corpora.
    #[serde(default)]
    pub tier: u8,
    /// Shell patterns that are allowed; everything else asks.
    #[serde(default)]
    grants: Vec<String>,
    /// Patterns and actions in order, instead of grants.
    #[serde(default)]
    rules: Vec<(String, String)>,
    /// The tool the rules are about, when it is not the shell.
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    path: Option<String>,
    /// `allow`, `ask` (anything but allow), `deny`, `allow-or-ask`, `policy`.
    #[serde(default)]
    must: Option<String>,
    /// Whether the command is critical.
    #[serde(default)]
    critical: Option<bool>,
    /// What Always must offer, exactly.
    #[serde(default)]
    offer: Option<Vec<String>>,
    /// What Always must never offer.
    #[serde(default)]
    never: Vec<String>,
    /// Where a path really leads, for cases about symbolic links.
    #[serde(default)]
    resolved: Vec<String>,
    /// What the command does, for the score of the built-in rules alone.
    #[serde(default)]
    effect: Option<CommandEffect>,
}

/// What a command of the corpora does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEffect {
    /// It only reads, inside the project and without secrets.
    Reads,
    /// It changes, runs or sends something, or reads what is no project's.
    Changes,
    /// It reads, but starts other programs or takes names that only show when it runs.
    Unseen,
}

/// How one line of the table came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was scored.
    pub name: String,
    /// Cases that came out right.
    pub right: usize,
    /// All cases.
    pub cases: usize,
    /// Those that did not: their names and what was ruled.
    pub wrong: Vec<String>,
}

/// The whole table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreTable {
    /// Its lines, in order of their first case.
    pub rows: Vec<Row>,
}

impl ScoreTable {
    /// The line of that name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn count(&mut self, name: &str, right: bool, wrong: impl FnOnce() -> String) {
        if !self.rows.iter().any(|row| row.name == name) {
            let name = name.to_owned();
            self.rows.push(Row { name, right: 0, cases: 0, wrong: Vec::new() });
        }
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
            row.cases += 1;
            row.right += usize::from(right);
            if !right {
                row.wrong.push(wrong());
            }
        }
    }
}

impl Row {
    /// Right answers among all, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "counts of cases are small")]
        let share = self.right as f64 / self.cases.max(1) as f64;
        share
    }
}

impl fmt::Display for ScoreTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<28} {:>6} {:>6} {:>8}", "corpus", "right", "cases", "share")?;
        for row in &self.rows {
            let share = row.share() * 100.0;
            writeln!(f, "{:<28} {:>6} {:>6} {share:>7.2}%", row.name, row.right, row.cases)?;
        }
        for row in self.rows.iter().filter(|row| !row.wrong.is_empty()) {
            writeln!(f, "\n{}", row.name)?;
            for wrong in &row.wrong {
                writeln!(f, "  {wrong}")?;
            }
        }
        Ok(())
    }
}

/// Scores corpora; each is a name (`bypass`, `benign`, …) and its JSON lines.
///
/// # Errors
/// A line that is no case, named by corpus and line.
pub fn score(corpora: &[(String, String)]) -> Result<ScoreTable, String> {
    let mut table = ScoreTable::default();
    for (name, text) in corpora {
        let name = name.trim_end_matches(".jsonl");
        for case in cases_of(name, text) {
            judge(&mut table, name, &case?);
        }
    }
    Ok(table)
}

fn cases(corpora: &[(String, String)]) -> Result<Vec<CorpusCase>, String> {
    corpora
        .iter()
        .flat_map(|(name, text)| cases_of(name.trim_end_matches(".jsonl"), text))
        .collect()
}

fn cases_of(name: &str, text: &str) -> impl Iterator<Item = Result<CorpusCase, String>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(move |(at, line)| {
        serde_json::from_str(line).map_err(|error| format!("{name}, line {}: {error}", at + 1))
    })
}

fn layers(rules: &Rules) -> Layers<'_> {
    static NO_RULES: LazyLock<Rules> = LazyLock::new(Rules::default);
    static NO_GUARDRAIL: LazyLock<Guardrail> = LazyLock::new(Guardrail::default);
    Layers { agent: None, rules, grants: &NO_RULES, guardrail: &NO_GUARDRAIL, now_ms: 0 }
}

/// Scores the built-in rules alone: what only reads must be silent, everything else asked.
///
/// # Errors
/// As [`score`].
pub fn defaults(corpora: &[(String, String)]) -> Result<ScoreTable, String> {
    let mut table = ScoreTable::default();
    let rules = Rules::parse(DEFAULT_RULES, "the built-in rules", Some(HOME))
        .map_err(|problems| sentences(&problems))?;
    for case in cases(corpora)? {
        let ruling = decide(&case.at_home(), &layers(&rules), Mode::Default);
        let (row, right) = match case.effect {
            None => continue,
            Some(CommandEffect::Reads) => {
                ("reading commands, silent", ruling.verdict == Verdict::Allow)
            }
            Some(CommandEffect::Changes) => {
                ("changing commands, asked", ruling.verdict != Verdict::Allow)
            }
            Some(CommandEffect::Unseen) => {
                ("reading unseen, asked", ruling.verdict != Verdict::Allow)
            }
        };
        table.count(row, right, || case.wrong(&ruling));
    }
    Ok(table)
}

fn judge(table: &mut ScoreTable, corpus: &str, case: &CorpusCase) {
    if case.is_for_defaults_alone() {
        return;
    }
    let ruling = case.ruling();
    let wrong = || case.wrong(&ruling);
    if let Some(offer) = &case.offer {
        let offers: Vec<&str> = ruling.always.iter().map(|rule| rule.pattern.as_str()).collect();
        let right = offers == offer.iter().map(String::as_str).collect::<Vec<_>>()
            && !case.never.iter().any(|never| offers.contains(&never.as_str()));
        table.count(corpus, right, || format!("{}: {:?} offers {offers:?}", case.id, case.command));
        return;
    }
    let must = case.must.as_deref().unwrap_or("allow");
    let right = match must {
        "allow" => ruling.verdict == Verdict::Allow,
        "deny" => ruling.verdict == Verdict::Deny,
        "ask" => ruling.verdict != Verdict::Allow,
        _ => true,
    };
    match case.critical {
        Some(true) => {
            let name = format!("{corpus} tier {}", case.tier);
            table.count(&name, right && ruling.critical, wrong);
        }
        Some(false) => {
            table.count(&format!("{corpus} look-alikes"), right && !ruling.critical, wrong)
        }
        None if case.tier > 0 => table.count(&format!("{corpus} tier {}", case.tier), right, wrong),
        None if must == "allow" => table.count(corpus, right, wrong),
        None => table.count(&format!("{corpus} ({must})"), right, wrong),
    }
}

impl CorpusCase {
    /// Rules on the case by the rules that it names.
    pub fn ruling(&self) -> Decision {
        let tool = self.tool.as_deref().unwrap_or("shell_exec");
        let rule_of = |pattern: &str, verdict: Verdict| Rule {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
            verdict,
        };
        let mut list = vec![rule_of("*", Verdict::Ask)];
        list.extend(self.grants.iter().map(|grant| rule_of(grant, Verdict::Allow)));
        list.extend(
            self.rules.iter().filter_map(|(pattern, action)| {
                Some(rule_of(pattern, Verdict::from_word(action)?))
            }),
        );
        decide(&self.call(), &layers(&Rules::from_rules(&list)), Mode::Default)
    }

    fn is_for_defaults_alone(&self) -> bool {
        self.effect.is_some() && self.grants.is_empty() && self.rules.is_empty()
    }

    fn call(&self) -> Call {
        let tool = self.tool.as_deref().unwrap_or("shell_exec");
        let call = match (&self.command, &self.path) {
            (Some(command), _) => Call::new("Bash", json!({ "command": command })),
            (None, path) => examples::call(tool, path.as_deref().unwrap_or_default()),
        };
        Call { resolved: self.resolved.clone(), ..call }
    }

    /// The call from a project in a home folder.
    fn at_home(&self) -> Call {
        let cwd = Some(PROJECT.to_owned());
        let home = Some(HOME.to_owned());
        Call { cwd, home, ..self.call() }
    }

    fn wrong(&self, ruling: &Decision) -> String {
        let what = self.command.as_deref().or(self.path.as_deref()).unwrap_or_default();
        format!("{}: {} {what:?}: {}", self.id, ruling.verdict, ruling.reason)
    }
}
