//! Reads and checks rules files: a file whose examples fail is not used.

pub mod examples;
mod lint;

use crate::rules::{RuleProblem, Rules, Severity, read};

impl Rules {
    /// Reads a rules file. Problems carry `name`; `home` is what `~/` stands for.
    ///
    /// # Errors
    /// Every problem of the file, each with its position. Nothing of a broken file is used.
    pub fn parse(text: &str, name: &str, home: Option<&str>) -> Result<Self, Vec<RuleProblem>> {
        let (mut rules, mut problems) = read::rules(text, name, home);
        examples::check(&rules, &mut problems);
        let is_broken = problems.iter().any(|problem| problem.severity == Severity::Error);
        if !is_broken {
            lint::warnings(&rules, &mut problems);
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if is_broken {
            return Err(problems);
        }
        rules.set_warnings(problems);
        Ok(rules)
    }
}
