//! A call as the rules on people see it: answer rules, routes, reviews, grants that people gave.
//! Its facts are collected once; every condition is matched with them.
//!
//! A condition fits for certain, fits perhaps, or does not fit. Who asks decides what a perhaps is
//! worth: a rule that asks for more people counts it, a rule that asks for fewer does not.
//!
//! FAIL-CLOSED: a part of a call that cannot be read may be anything, so it fits every condition
//! perhaps.

mod overlap;
mod seen;
mod unread;

use std::borrow::Cow;

use crate::engine::decision::{BriefDecision, Layers, Mode, covered, decide_briefly};
use crate::engine::guardrail::Guardrail;
use crate::engine::matcher::seen::{NamedPath, Seen};
use crate::engine::stack::{CommandText, Stack};
use crate::facts::call::Call;
use crate::facts::effects::Effect;
use crate::facts::paths::{Directories, expand_home};
use crate::facts::tools::{Kind, canonical, known_names};
use crate::glob::Glob;
use crate::rules::verdict::Verdict;
use crate::rules::{About, Rule, Rules};
use crate::shell::{Word, WordKind};

/// The degree to which a call fits a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleFit {
    /// It does not.
    No,
    /// It may, or a part of it does.
    Maybe,
    /// All of it does, for certain.
    Yes,
}

impl From<bool> for RuleFit {
    fn from(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

/// A call as conditions see it.
#[derive(Debug)]
pub struct Matcher<'c> {
    call: &'c Call,
    effects: &'c [Effect],
    seen: Seen<'c>,
}

impl<'c> Matcher<'c> {
    /// Collects what conditions look at; `effects` are those of the call.
    #[must_use]
    pub fn new(call: &'c Call, effects: &'c [Effect]) -> Self {
        Self { call, effects, seen: Seen::of(call) }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &'c Call {
        self.call
    }

    /// Matches patterns of folders with every folder that the call runs in.
    #[must_use]
    pub fn folder(&self, patterns: &[String]) -> RuleFit {
        if patterns.is_empty() {
            return RuleFit::Yes;
        }
        let Seen { folders, lost, unread, .. } = &self.seen;
        let unknown = *lost || *unread || folders.is_empty();
        let fits = |folder: &String| patterns.iter().map(|it| self.reaches(it, folder)).max();
        let all = folders.iter().filter_map(fits);
        let (least, most) = all.fold((RuleFit::Yes, RuleFit::No), |(least, most), fit| {
            (least.min(fit), most.max(fit))
        });
        match (unknown, most) {
            (true, _) => RuleFit::Maybe,
            (false, RuleFit::No) => RuleFit::No,
            (false, _) => least.max(RuleFit::Maybe),
        }
    }

    /// Matches patterns of tools, under every name that agents have for it.
    #[must_use]
    pub fn tool(&self, patterns: &[String]) -> RuleFit {
        let own = canonical(&self.call.tool);
        let fit = |tool: &str| name(patterns, Some(tool));
        let known = known_names().filter(|known| canonical(known) == own).map(fit);
        known.chain([fit(&self.call.tool), fit(own)]).max().unwrap_or(RuleFit::No)
    }

    /// Matches names of effects.
    #[must_use]
    pub fn effect(&self, names: &[String]) -> RuleFit {
        let has = |effect: &Effect| names.iter().any(|name| name == effect.name());
        let unknown =
            self.seen.unread || self.effects.iter().any(|it| matches!(it, Effect::Unknown { .. }));
        match names.is_empty() || self.effects.iter().any(has) {
            true => RuleFit::Yes,
            false if unknown => RuleFit::Maybe,
            false => RuleFit::No,
        }
    }

    /// Matches patterns of commands, as a deny rule would; for certain where all of the call is
    /// covered, as an allow rule would.
    #[must_use]
    pub fn command(&self, patterns: &[String]) -> RuleFit {
        self.rules(SHELL, patterns, |patterns| self.runs(SHELL, patterns))
    }

    /// Matches patterns of paths with every path that the call names, or touches without a name.
    #[must_use]
    pub fn path(&self, patterns: &[String]) -> RuleFit {
        // The words of a command are no paths as they stand; those that are were collected.
        match self.rules("*", patterns, |_| false) {
            RuleFit::No if self.seen.unread || self.seen.anywhere => RuleFit::Maybe,
            RuleFit::No if patterns.iter().any(|it| self.touches(it)) => RuleFit::Maybe,
            fit => fit,
        }
    }

    /// Matches a rule's tool and pattern, whatever its verdict.
    #[must_use]
    pub fn rule(&self, rule: &Rule) -> RuleFit {
        let pattern = std::slice::from_ref(&rule.pattern);
        self.rules(&rule.tool, pattern, |patterns| self.runs(&rule.tool, patterns))
    }

    fn rules(
        &self,
        tool: &str,
        patterns: &[String],
        runs: impl Fn(&[Cow<'_, str>]) -> bool,
    ) -> RuleFit {
        if patterns.is_empty() {
            return RuleFit::Yes;
        }
        let home = self.call.home.as_deref();
        let patterns: Vec<Cow<'_, str>> = patterns.iter().map(|it| expand_home(it, home)).collect();
        let rules = |verdict, pattern: &str| Rule { verdict, ..Rule::allow(tool, pattern) };
        let every = |verdict, default| -> Vec<Rule> {
            let all = Rule { verdict: default, ..Rule::allow("*", "*") };
            let of = patterns.iter().map(|pattern| rules(verdict, pattern));
            std::iter::once(all).chain(of).collect()
        };
        let denies = every(Verdict::Deny, Verdict::Allow);
        let denied = decide(self.call, &denies);
        // The first is the rule for everything.
        let meant = |rule: &Rule| denies.iter().skip(1).any(|it| it == rule);
        let strikes = match denied.verdict {
            Verdict::Deny => true,
            Verdict::Ask => !denied.understood || denied.deciding_rule.as_ref().is_some_and(meant),
            Verdict::Allow => false,
        };
        if !strikes && !runs(&patterns) {
            return RuleFit::No;
        }
        let allows = every(Verdict::Allow, Verdict::Ask);
        let covered = || layered(&allows, |layers| covered(self.call, layers)) == Verdict::Allow;
        match !self.seen.unread && (covered() || self.runs_only(tool, &patterns)) {
            true => RuleFit::Yes,
            false => RuleFit::Maybe,
        }
    }

    /// Returns true when every command of the call is meant, also one that no wildcard allows, and
    /// none writes a file.
    fn runs_only(&self, tool: &str, patterns: &[Cow<'_, str>]) -> bool {
        let denies = denies(tool, patterns);
        let (stack, dirs) = (Stack::new(SHELL, SHELL, 0, &[&denies]), self.seen.dirs);
        let is_meant = |argv: &Vec<Word<'static>>| {
            // `./git` is some program.
            let is_by_name = argv.first().is_some_and(|first| !first.text.contains('/'));
            let is_exact = argv.iter().all(|word| word.kind == WordKind::Literal) && is_by_name;
            let text = CommandText::new(argv, None, dirs);
            is_exact && stack.command(argv, &text).verdict == Verdict::Deny
        };
        let Seen { commands, written, .. } = &self.seen;
        let is_plain = self.call.kind() == Kind::Shell && written.is_empty();
        is_plain && !commands.is_empty() && commands.iter().all(is_meant)
    }

    /// Returns true when a command of the call, or one that runs behind it, may be meant.
    fn runs(&self, tool: &str, patterns: &[Cow<'_, str>]) -> bool {
        let Seen { commands, unread, .. } = &self.seen;
        let of_shell = self.call.kind() == Kind::Shell || !commands.is_empty();
        let denies = denies(tool, patterns);
        if !of_shell || About::new(&denies, SHELL, SHELL, 0).is_empty() {
            return false;
        }
        let (stack, dirs) = (Stack::new(SHELL, SHELL, 0, &[&denies]), self.seen.dirs);
        *unread
            || commands.iter().any(|argv| {
                let text = CommandText::new(argv, None, dirs);
                let hit = stack.command(argv, &text);
                let is_exact = argv.iter().all(|word| word.kind == WordKind::Literal);
                // A pattern that is compared as text does not see that a word may be any other.
                let may_be = |pattern: &Cow<'_, str>| {
                    text.variants().iter().any(|text| overlap::overlap(pattern, text))
                };
                hit.verdict == Verdict::Deny
                    || hit.maybe.is_some()
                    || !is_exact && patterns.iter().any(may_be)
            })
    }

    fn touches(&self, pattern: &str) -> bool {
        let pattern = tidy(pattern, self.call.home.as_deref());
        let cwd = self
            .call
            .cwd
            .as_deref()
            .map(|cwd| crate::facts::paths::clean(cwd, Directories::default()));
        // Relative to the project, as rules usually name files.
        let below = |path: &str| -> Option<String> {
            let rest = path.strip_prefix(&**cwd.as_ref()?)?.strip_prefix('/')?;
            Some(rest.to_owned())
        };
        let rooted = cwd.as_ref().filter(|_| !pattern.starts_with(['/', '*', '~', '!']));
        let rooted = rooted.map(|cwd| [cwd, "/", &pattern].concat());
        let Ok(glob) = Glob::parse(&pattern) else { return true };
        self.seen.paths.iter().any(|NamedPath { text, is_open, is_above }| {
            // Else a name such as `*.rs` would be any absolute path, too.
            let below = if pattern.starts_with('/') { None } else { below(text) };
            let forms = [Some(text.clone()), below];
            forms.into_iter().flatten().any(|form| {
                let patterns = || [Some(&*pattern), rooted.as_deref()].into_iter().flatten();
                let overlaps = |text: &str| patterns().any(|it| overlap::overlap(it, text));
                glob.reaches(&form)
                    || *is_open && overlaps(&form)
                    || *is_above && overlaps(&[form.trim_end_matches('/'), "/\0"].concat())
            })
        })
    }

    /// Matches one pattern with a folder. An empty text stands for one that is not known.
    fn reaches(&self, pattern: &str, folder: &str) -> RuleFit {
        if !folder.starts_with('/') {
            return RuleFit::Maybe;
        }
        let pattern = tidy(pattern, self.call.home.as_deref());
        Glob::parse(&pattern).map_or(RuleFit::Maybe, |glob| glob.reaches(folder).into())
    }
}

const SHELL: &str = "shell_exec";

fn denies(tool: &str, patterns: &[Cow<'_, str>]) -> Rules {
    let denies =
        patterns.iter().map(|it| Rule { verdict: Verdict::Deny, ..Rule::allow(tool, &**it) });
    Rules::from_rules(&denies.collect::<Vec<_>>())
}

/// Matches patterns of names with a name that the caller gives.
// FAIL-CLOSED: what the caller leaves out may be anything, and a pattern that cannot be used fits.
#[must_use]
pub fn name(patterns: &[String], name: Option<&str>) -> RuleFit {
    let fit = |pattern: &String| match (Glob::parse(pattern), name) {
        (Ok(glob), Some(name)) => glob.reaches(name).into(),
        _ => RuleFit::Maybe,
    };
    patterns.iter().map(fit).max().unwrap_or(RuleFit::Yes)
}

/// Returns a pattern of paths without what never stands in a clean path.
fn tidy(pattern: &str, home: Option<&str>) -> String {
    let mut pattern = expand_home(pattern, home).into_owned();
    while pattern.contains("//") || pattern.contains("/./") {
        pattern = pattern.replace("//", "/").replace("/./", "/");
    }
    let tidy = pattern.strip_prefix("./").unwrap_or(&pattern);
    match tidy.strip_suffix('/') {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => tidy.to_owned(),
    }
}

fn decide(call: &Call, rules: &[Rule]) -> BriefDecision {
    layered(rules, |layers| decide_briefly(call, layers, Mode::Default))
}

/// Calls with these rules as the only ones.
fn layered<T>(rules: &[Rule], decides: impl FnOnce(&Layers<'_>) -> T) -> T {
    let (rules, none, guardrail) =
        (Rules::from_rules(rules), Rules::default(), Guardrail::default());
    decides(&Layers { agent: None, rules: &rules, grants: &none, guardrail: &guardrail, now_ms: 0 })
}

#[cfg(test)]
mod tests;
