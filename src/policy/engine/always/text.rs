//! Rules for a shell text.

use std::collections::HashSet;

use crate::engine::always::most::MOST_RULES;
use crate::engine::always::patterns::{Width, of_own, patterns};
use crate::engine::always::spelling::spoken;
use crate::engine::deciding::verdict;
use crate::engine::layers::{Layers, Mode};
use crate::engine::subject::Subject;
use crate::facts::builtins::{Builtin, builtin};
use crate::facts::paths::{self, Directories};
use crate::facts::wrappers::base;
use crate::glob::escape;
use crate::rules::Rule;
use crate::rules::verdict::Verdict;
use crate::shell::{Command, Scan, Via, Word};

const NOWHERE: Directories<'static> = Directories { cwd: None, home: None };

/// A rule, and the part of the text that needs it.
pub(super) type NeededRule = (Rule, String);

/// A rule for each command that is not allowed yet; `None` where one must not be offered.
pub(super) fn of_text(
    subject: &Subject<'_>,
    scan: &Scan<'_>,
    layers: &Layers<'_>,
    mode: Mode,
    width: Width<'_>,
) -> Option<Vec<NeededRule>> {
    if !scan.understood() {
        return None;
    }
    let mut rules: Vec<NeededRule> = Vec::new();
    for command in &scan.commands {
        // The words of a substitution become words of the command around it.
        if command.via == Via::Substitution {
            return None;
        }
        let files = of_redirects(command, subject.dirs);
        if command.argv.is_empty() {
            rules.extend(files);
            continue;
        }
        let bare = Command { redirects: Vec::new(), ..command.clone() };
        let alone = Scan { commands: vec![bare], ..Scan::default() };
        let part = subject.part("", alone);
        if verdict(&part, layers, mode) != Verdict::Allow {
            let name = command.argv.first().and_then(Word::literal).map(base);
            let found = match name.and_then(|name| layers.rules.programs().of(name)) {
                Some(program) => of_own(program, &command.argv, width)?,
                None => patterns(&command.argv, 0, width)?,
            };
            let from = spoken(&command.argv);
            let rule = |pattern| (Rule::allow("shell_exec", pattern), from.clone());
            rules.extend(found.into_iter().map(rule));
        }
        rules.extend(files);
    }
    let mut seen = HashSet::with_capacity(rules.len());
    rules.retain(|(rule, _)| seen.insert(rule.clone()));
    (rules.len() <= MOST_RULES).then_some(rules)
}

/// Rules for the workspace files that a command's redirects write.
fn of_redirects(command: &Command<'_>, dirs: Directories<'_>) -> Vec<NeededRule> {
    let writes = command.redirects.iter().filter(|redirect| redirect.op.writes());
    writes
        .filter_map(|redirect| redirect.target.literal())
        .filter(|path| !paths::sink(path) && !paths::outside(path, dirs))
        .map(|path| {
            let rule =
                Rule::allow("write_file", escape(&crate::facts::paths::clean(path, NOWHERE)));
            (rule, format!("> {path}"))
        })
        .collect()
}

/// One rule per command with its very words.
pub(super) fn exact_commands(scan: &Scan<'_>) -> Option<Vec<Rule>> {
    let (mut rules, mut seen) = (Vec::new(), HashSet::new());
    for command in scan.commands.iter().filter(|command| !command.argv.is_empty()) {
        if builtin(&command.argv) == Some(Builtin::Harmless) {
            continue;
        }
        let rule = Rule::allow("shell_exec", escape(&spoken(&command.argv)));
        if seen.insert(rule.clone()) {
            rules.push(rule);
        }
    }
    (1..=MOST_RULES).contains(&rules.len()).then_some(rules)
}
