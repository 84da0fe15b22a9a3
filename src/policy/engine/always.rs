//! What the Always button would store: one rule per command, in words a person understands, and
//! only when it really covers the call.

use std::collections::HashSet;

use crate::engine::decision::{Layers, Mode, Subject};
use crate::engine::evaluation::CallDecision;
use crate::facts::builtins::{Builtin, builtin};
use crate::facts::paths::{self, Directories};
use crate::facts::programs::description::{AlwaysRule, Role};
use crate::facts::programs::own::OperatorProgram;
use crate::facts::programs::{self, listed, wide};
use crate::facts::tools::{Kind, canonical};
use crate::facts::wrappers::{Inner, Passage, base, unwrap};
use crate::facts::{host, options, reads, tools};
use crate::glob::escape;
use crate::rules::Rule;
use crate::rules::verdict::Verdict;
use crate::shell::{self, Command, Dialect, Scan, Via, Word};

// Which rules are offered: the first that cover the call.

/// The rules to store for a call that asks, and the part of the call that each comes from; empty
/// when Always must not be offered.
// INVARIANT: with the offered rules granted the same call is allowed, and nothing critical is.
pub(crate) fn offers(
    subject: &Subject<'_>,
    decision: &CallDecision<'_>,
    layers: &Layers<'_>,
    mode: Mode,
    width: Width<'_>,
) -> (Vec<Rule>, Vec<String>) {
    if !may_last(subject, decision) {
        return Default::default();
    }
    let (rules, parts) = match (&subject.scan, subject.call.kind()) {
        (_, Kind::Question) => return Default::default(),
        (Some((_, scan)), _) => {
            let parts = of_text(subject, scan, layers, mode, width);
            parts.unwrap_or_default().into_iter().unzip()
        }
        (None, _) => (of_values(subject, width).unwrap_or_default(), Vec::new()),
    };
    if covers(subject, &rules, layers, mode) { (rules, parts) } else { Default::default() }
}

/// The rules that "always, exactly this" would store: the same words and no others.
// INVARIANT: as for `offers`.
pub(crate) fn exact(
    subject: &Subject<'_>,
    decision: &CallDecision<'_>,
    layers: &Layers<'_>,
    mode: Mode,
) -> Vec<Rule> {
    if !may_last(subject, decision) {
        return Vec::new();
    }
    let kind = subject.call.kind();
    let candidates = match &subject.scan {
        _ if kind == Kind::Question => return Vec::new(),
        Some((text, scan)) => {
            let whole = vec![Rule::allow("shell_exec", escape(text.trim()))];
            let each = exact_commands(scan);
            // Rules for each of several commands would cover them in any order, and fed by others.
            match scan.commands.len() {
                0 | 1 => each.into_iter().chain([whole]).collect(),
                _ => [whole].into_iter().chain(each).collect(),
            }
        }
        None if kind == Kind::Fetch => {
            let values = &subject.values.list;
            if values.len() > MOST_RULES {
                return Vec::new();
            }
            vec![values.iter().map(|url| Rule::allow("web_fetch", escape(&url.text))).collect()]
        }
        None if matches!(kind, Kind::Read | Kind::Write | Kind::Edit | Kind::Skill) => {
            Vec::from_iter(of_values(subject, Width::Family))
        }
        None => return Vec::new(),
    };
    let known = subject.scan.as_ref().is_none_or(|(_, scan)| {
        scan.understood()
            && scan.commands.iter().flat_map(|c| &c.argv).all(|word| word.literal().is_some())
    });
    first_to_cover(candidates.into_iter().filter(|_| known), subject, layers, mode)
}

/// Neither what is critical, nor what could not be read, nor a tool whose name no rule can hold is
/// allowed for longer than once.
fn may_last(subject: &Subject<'_>, decision: &CallDecision<'_>) -> bool {
    decision.critical.is_none() && !decision.part.blind && tools::may_be_granted(&subject.call.tool)
}

/// The first of the candidates with which the call is allowed.
fn first_to_cover(
    candidates: impl IntoIterator<Item = Vec<Rule>>,
    subject: &Subject<'_>,
    layers: &Layers<'_>,
    mode: Mode,
) -> Vec<Rule> {
    let mut candidates = candidates.into_iter();
    candidates.find(|rules| covers(subject, rules, layers, mode)).unwrap_or_default()
}

/// True when the call is allowed once these rules are granted.
fn covers(subject: &Subject<'_>, rules: &[Rule], layers: &Layers<'_>, mode: Mode) -> bool {
    // A file by the name of the class would be read as the class.
    if rules.is_empty() || rules.iter().any(|rule| rule.pattern == reads::CLASS) {
        return false;
    }
    let granted = layers.grants.clone().with_grants(rules);
    let layers = Layers { grants: &granted, ..*layers };
    subject.decide(&layers, mode).part.verdict == Verdict::Allow
}

/// More rules than this are more than a person reads before pressing Always.
const MOST_RULES: usize = 50;

// Rules for a shell text.

const NOWHERE: Directories<'static> = Directories { cwd: None, home: None };

/// A rule, and the part of the text that needs it.
type NeededRule = (Rule, String);

/// A rule for each command that is not allowed yet; `None` where one must not be offered.
fn of_text(
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
        if part.decide(layers, mode).part.verdict != Verdict::Allow {
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
            let rule = Rule::allow("write_file", escape(&paths::clean(path, NOWHERE)));
            (rule, format!("> {path}"))
        })
        .collect()
}

/// One rule per command with its very words.
fn exact_commands(scan: &Scan<'_>) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    let mut seen = HashSet::new();
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

/// Rules for the values of a tool that is no shell.
fn of_values(subject: &Subject<'_>, width: Width<'_>) -> Option<Vec<Rule>> {
    let call = subject.call;
    let tool = canonical(&call.tool);
    let values = &subject.values;
    if values.missing || values.unread || call.kind() == Kind::Shell {
        return None;
    }
    let one_each = matches!(call.kind(), Kind::Read | Kind::Write | Kind::Edit | Kind::Skill);
    if one_each && values.list.len() > MOST_RULES {
        return None;
    }
    Some(match call.kind() {
        Kind::Read | Kind::Write | Kind::Edit | Kind::Skill => values
            .list
            .iter()
            .map(|value| {
                let here = Directories { cwd: None, home: subject.dirs.home };
                let text = if value.is_path {
                    paths::clean(&value.text, here).into_owned()
                } else {
                    value.text.clone()
                };
                Rule::allow(tool, escape(&text))
            })
            .collect(),
        Kind::Fetch => {
            let url = values.list.first()?;
            let host = host(&url.text)?;
            vec![Rule::allow(tool, format!("domain:{host}"))]
        }
        // What it is given means nothing to rules, so that only a wildcard would cover it.
        Kind::Other if matches!(width, Width::Harmless(_)) && wide::grave_name(&call.tool) => {
            return None;
        }
        Kind::Glob | Kind::Grep | Kind::Other => vec![Rule::allow(tool, "*")],
        Kind::Shell | Kind::Question => return None,
    })
}

/// How much a wildcard may cover.
#[derive(Clone, Copy)]
pub(crate) enum Width<'d> {
    /// Whatever begins with the words that name what a command does, as other systems store it.
    Family,
    /// The same, but nothing that deletes, overwrites, publishes, pays, gains rights or hands words
    /// to an interpreter: such a command is named with every word. Seen from these folders.
    Harmless(Directories<'d>),
}

/// Patterns for one command, as wide as its family; `None` when none must be offered.
pub fn of_command(argv: &[Word<'_>], depth: u32) -> Option<Vec<String>> {
    patterns(argv, depth, Width::Family)
}

/// Patterns for one command of this width; `None` when none must be offered.
fn patterns(argv: &[Word<'_>], depth: u32, width: Width<'_>) -> Option<Vec<String>> {
    let name = base(argv.first()?.literal()?);
    if depth > 2 || grant(name).never {
        return None;
    }
    match unwrap(argv) {
        Some(behind) if behind.passage == Passage::Inner => {
            let mut found = Vec::new();
            for inner in &behind.inner {
                match inner {
                    Inner::Argv { argv, open } => {
                        found.extend(of_inner(argv, *open, depth + 1, width)?);
                    }
                    _ => return None,
                }
            }
            Some(found)
        }
        Some(behind) if behind.passage == Passage::DenyOnly => None,
        Some(behind) if behind.passage == Passage::Outer && !names_its_program(name, argv) => None,
        _ => of_words(argv, false, width),
    }
}

/// Patterns for a program that the operator describes.
fn of_own(program: &OperatorProgram, argv: &[Word<'_>], width: Width<'_>) -> Option<Vec<String>> {
    let Some(words) = program.words else { return patterns(argv, 0, width) };
    let literal: Vec<&str> = argv.iter().map_while(Word::literal).collect();
    let exact = || (literal.len() == argv.len()).then(|| vec![escape(&spoken(argv))]);
    if argv.len() <= words {
        return exact();
    }
    let named = literal.get(..words)?;
    if matches!(width, Width::Harmless(_)) && wide::grave_behind(None, named) {
        return exact();
    }
    let flagged = named.iter().skip(1).any(|word| word.starts_with('-'));
    let head = named.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    (!flagged).then(|| vec![format!("{} *", escape(&head))])
}

/// The command behind a wrapper.
fn of_inner(argv: &[Word<'_>], open: bool, depth: u32, width: Width<'_>) -> Option<Vec<String>> {
    match (unwrap(argv).is_some(), width) {
        // Words that are only known when it runs (`xargs`): only a wildcard would cover them.
        (_, Width::Harmless(_)) if open => None,
        (true, _) => patterns(argv, depth, width),
        (false, _) => of_words(argv, open, width),
    }
}

/// The command itself, whatever it runs.
fn of_words(argv: &[Word<'_>], open: bool, width: Width<'_>) -> Option<Vec<String>> {
    let name = base(argv.first()?.literal()?);
    if grant(name).never {
        return None;
    }
    let literal: Vec<&str> = argv.iter().map_while(Word::literal).collect();
    let sub = literal.get(1).copied().unwrap_or("");
    let grant = grant(name);
    if listed(grant.never_subs, sub) {
        return None;
    }
    let exact = || (literal.len() == argv.len()).then(|| vec![escape(&spoken(argv))]);
    if runs_script_file(name) && !listed(grant.scripts, sub) {
        // A script may be run again with the same words; code on the command line never.
        let script = literal.get(1).is_some_and(|first| !first.starts_with('-') || *first == "-m");
        return if script && sub != "eval" { exact() } else { None };
    }
    if grant.runner && runs_anything(base(sub)) {
        return None;
    }
    if listed(grant.runners, sub) && literal.get(2).is_none_or(|third| runs_anything(base(third))) {
        return None;
    }
    let unknown = match width {
        Width::Family => None,
        Width::Harmless(_) if wide::may_have_commands(name) => Some(0),
        // `cargo xtask deploy`: a program of its own, of which nothing is known.
        Width::Harmless(_) if !grant.own.is_empty() && !listed(grant.own, sub) => Some(1),
        Width::Harmless(_) => None,
    };
    let count = match unknown {
        None => action(&literal),
        Some(before) => match unknown_action(argv.get(before..).unwrap_or_default()) {
            Some(count) => before + count,
            None => return exact(),
        },
    };
    let words = literal.get(..count).unwrap_or(&literal);
    let flagged =
        words.iter().skip(1).any(|word| word.starts_with('-')) && !listed(grant.options, sub);
    if argv.len() <= count && !open {
        let many = programs::exact(name).is_some_and(|program| program.is(Role::Many));
        let nameless = many && flagged && words.len() > 1 && argv.len() <= 2;
        return if nameless { None } else { exact() };
    }
    if flagged || literal.len() < count {
        return None;
    }
    let is = |role| programs::of(name).is_some_and(|program| program.is(role));
    if matches!(width, Width::Harmless(_)) && is(Role::Programmed) {
        return None;
    }
    if let Width::Harmless(dirs) = width
        && (wide::grave_behind(programs::of(name), words)
            || options::exceeds(argv, false, dirs).is_some())
    {
        return exact();
    }
    let head = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    Some(vec![format!("{} *", escape(&head))])
}

/// A runner whose rule names what it runs.
fn names_its_program(name: &str, argv: &[Word<'_>]) -> bool {
    let second = argv.get(1).and_then(Word::literal).unwrap_or_default();
    let grant = grant(name);
    runs_script_file(name) || grant.runner || listed(grant.runners, second)
}

fn runs_anything(name: &str) -> bool {
    name.starts_with('-') || grant(name).never || runs_script_file(name)
}

fn runs_script_file(name: &str) -> bool {
    let is = |name: &str| programs::exact(name).is_some_and(|one| one.is(Role::Interpreter));
    // `python3.12`, `ruby3.2`, `node20`
    is(name) || is(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// What is known of how a program's rules are stored.
fn grant(name: &str) -> AlwaysRule {
    programs::exact(name).map_or(AlwaysRule::ONE_WORD, |program| program.grant)
}

/// The words of `tokens` that name what the command does.
#[must_use]
pub fn prefix<'t, 'w>(tokens: &'t [&'w str]) -> &'t [&'w str] {
    tokens.get(..action(tokens)).unwrap_or(tokens)
}

/// The number of words that name what a command does, which may be more than it has.
fn action(tokens: &[&str]) -> usize {
    let Some(name) = tokens.first() else { return 0 };
    let grant = grant(base(name));
    let sub = tokens.get(1).copied().unwrap_or_default();
    match grant.ours {
        _ if listed(grant.ours_three, sub) => 3,
        Some(words) => words,
        None => molf_action(&grant, sub),
    }
}

/// The same by molf's table, which ours adds to.
#[must_use]
pub fn molf_prefix<'t, 'w>(tokens: &'t [&'w str]) -> &'t [&'w str] {
    let Some(name) = tokens.first() else { return tokens };
    let sub = tokens.get(1).copied().unwrap_or_default();
    tokens.get(..molf_action(&grant(name), sub)).unwrap_or(tokens)
}

fn molf_action(grant: &AlwaysRule, sub: &str) -> usize {
    if listed(grant.molf_three, sub) { 3 } else { grant.molf }
}

/// The number of words for a program of whose commands nothing is known: its name and all that may be
/// sub-commands. `None` where the first word cannot be one: then nothing says what it does.
fn unknown_action(argv: &[Word<'_>]) -> Option<usize> {
    let is_named = |text: &str| text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'-' | b':' | b'_'));
    let may_be = |word: &Word<'_>| match word.literal() {
        Some(text) => is_named(text) && !text.starts_with('-'),
        // FAIL-CLOSED: a word that only the shell knows may be one.
        None => true,
    };
    let words = argv.get(1..).unwrap_or_default();
    let named = words.iter().take_while(|word| may_be(word)).count();
    (named > 0 || words.is_empty()).then_some(1 + named)
}

/// The words of a command as a rule or a person would write them.
pub fn spoken(argv: &[Word<'_>]) -> String {
    let mut text = String::with_capacity(argv.len() * 12);
    for (at, word) in argv.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        match word.literal() {
            Some(literal) => text.push_str(&quoted(literal)),
            None => text.push_str(&word.text),
        }
    }
    text
}

/// A word as a shell would read it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,^[]{}*?!".contains(c);
    if !word.is_empty() && word.chars().all(plain) && reads_back(word) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn reads_back(word: &str) -> bool {
    let special = |c: char| "[]{}*?!".contains(c);
    if !word.contains(special) {
        return true;
    }
    let scan = shell::scan_as(word, Dialect::Bash);
    let [one] = scan.commands.as_slice() else { return false };
    matches!(one.argv.as_slice(), [w] if w.literal() == Some(word))
}
