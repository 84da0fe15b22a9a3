//! Rules files, read and checked: no file is used whose examples do not hold.

pub mod examples;
mod lint;

use crate::rules::{Problem, Rules, Severity, read};

impl Rules {
    /// Reads a rules file; `name` is what problems call it, `home` is what `~/` stands for.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place. Nothing of a broken file is used.
    pub fn parse(text: &str, name: &str, home: Option<&str>) -> Result<Self, Vec<Problem>> {
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
