//! Decides one argument vector: the rule for its words, and how far that rule goes.

use crate::engine::commands::judge::{At, Care, Judge};
use crate::engine::commands::variables::given;
use crate::engine::part_decision::{PartDecision, quote};
use crate::engine::stack::{CommandText, Hit};
use crate::facts::builtins::{Builtin, builtin};
use crate::facts::effects::user_of;
use crate::facts::programs::description::Role;
use crate::facts::wrappers::{Passage, Unwrapped, base};
use crate::facts::{options, paths, programs};
use crate::rules::verdict::Verdict;
use crate::shell::{Word, WordKind};

const TOO_MANY_WAYS: &str =
    "Could not fully analyse this command: it may run others in too many ways.";
const INNER_REPOSITORY: &str =
    " runs in a repository inside another one, whose settings may name programs to run.";
const NOT_COVERED: &str = " does not cover that.";

impl<'r> Judge<'r, '_> {
    /// Decides one argument vector: its own rule first, then what it runs.
    pub(super) fn argv(
        &self,
        argv: &[Word<'_>],
        behind: Option<&Unwrapped<'_, '_>>,
        open: bool,
        at: At<'_, '_>,
    ) -> (Hit<'r>, PartDecision<'r>) {
        if !at.effort.spend(argv) {
            return (Hit::NONE, PartDecision::blind(TOO_MANY_WAYS));
        }
        let written = at.source.map(|source| (source, at.command));
        // The whole is an ask by now, so only a deny could still change it. Most commands have no
        // rule that could deny them.
        let hit = if self.care.get() == Care::Denies && !self.commands.may_deny(argv) {
            Hit::NONE
        } else if open {
            // An unknown last word makes rules with more words than are known match as "maybe".
            let mut more = argv.to_vec();
            more.push(unknown_word());
            self.commands.command(&more, &CommandText::new(&more, written, self.dirs))
        } else {
            self.commands.command(argv, &CommandText::new(argv, written, self.dirs))
        };
        // A deny of the outer command wins before anything behind it is looked at.
        if hit.verdict == Verdict::Deny {
            return (hit, self.part(hit, || quote(argv)));
        }
        let inner = behind.map(|behind| self.behind(behind, at));
        if let Some(inner) = inner.as_ref().filter(|inner| inner.verdict == Verdict::Deny) {
            return (hit, inner.clone());
        }
        if self.care.get() == Care::Denies {
            return (hit, PartDecision::allow(None));
        }
        // An exact allow names every word, so no wrapper or builtin in it was overlooked by its
        // author.
        if hit.allows_exactly() && !open {
            return (hit, PartDecision::allow(hit.entry));
        }
        let blind = inner.as_ref().is_some_and(|inner| inner.blind);
        if hit.allows_all() {
            // `*: allow` also covers what cannot be read, unless some rule guards a part of the
            // tool.
            let unseen = blind && self.commands.guarded();
            let held =
                inner.filter(|inner| unseen || inner.verdict == Verdict::Ask && !inner.blind);
            return (hit, held.unwrap_or_else(|| PartDecision::allow(hit.entry)));
        }
        // A deliberate ask is not lifted by a harmless builtin or by what runs behind.
        if hit.asks_on_purpose() {
            return (hit, self.part(hit, || quote(argv)));
        }
        let found = match (builtin(argv), behind, inner) {
            (Some(Builtin::Poison(why)), ..) => self.ask(|| [&quote(argv), " ", why, "."].concat()),
            (Some(Builtin::Harmless), None, _) => PartDecision::allow(None),
            (None, None, _) if self.changes_directory(argv) => PartDecision::allow(None),
            (_, Some(behind), Some(inner)) => match behind.passage {
                Passage::Inner => inner.max(given(behind)),
                Passage::Both => self.plain(hit, argv, open).max(inner),
                Passage::Outer => self.plain(hit, argv, open),
                Passage::DenyOnly => PartDecision {
                    blind: inner.blind,
                    ..self.ask(|| [&quote(argv), " ", runs_out_of_sight(argv), "."].concat())
                },
            },
            _ => self.plain(hit, argv, open),
        };
        (hit, found)
    }

    /// Decides by the command's own rule, as far as it goes.
    fn plain(&self, hit: Hit<'r>, argv: &[Word<'_>], open: bool) -> PartDecision<'r> {
        if hit.verdict == Verdict::Allow
            && let Some(why) = self.exceeds(argv, open)
            && !self.named(hit, argv, why)
        {
            let rule = hit.entry.map_or("", |entry| &*entry.label);
            let mut found =
                self.ask(|| [&quote(argv), ": ", why, ". The rule ", rule, NOT_COVERED].concat());
            found.rule = hit.entry;
            return found;
        }
        // SECURITY: a repository that came with the project may name programs in its settings.
        let inner = self.links.is_in_inner_repository();
        if hit.allows_reading() && inner && programs::obeys_folder(argv) {
            return self.ask(|| [&quote(argv), INNER_REPOSITORY].concat());
        }
        self.part(hit, || quote(argv))
    }

    /// Returns why a command goes beyond a plain grant of its name, by our descriptions or the
    /// operator's.
    fn exceeds(&self, argv: &[Word<'_>], open: bool) -> Option<&str> {
        options::exceeds(argv, open, self.dirs).or_else(|| self.commands.exceeds(argv, open))
    }

    /// Returns true when the rule itself names the reason. `kubectl delete *` names the sub-command
    /// that goes beyond `kubectl *`, and the words after it must be no reason of their own.
    fn named(&self, hit: Hit<'r>, argv: &[Word<'_>], why: &str) -> bool {
        let words = hit.entry.map_or(0, |entry| entry.pattern.words());
        let (Some(named), Some(more)) = (argv.get(..words), argv.get(words..)) else {
            return false;
        };
        let many = |first: &&Word<'_>| {
            let program = first.literal().map(base).and_then(programs::exact);
            program.is_some_and(|program| program.is(Role::Many))
        };
        let Some(first) = named.first().filter(|first| !many(first)) else { return false };
        // The rest is checked again behind a neutral word, so that only the words after the named
        // ones can raise a reason.
        let nameless =
            Word { text: "x".into(), kind: WordKind::Literal, quoted: false, span: 0..0 };
        let rest: Vec<Word<'_>> =
            [first.clone(), nameless].into_iter().chain(more.iter().cloned()).collect();
        // A rule of one word names no sub-command.
        words > 1
            && more.iter().all(|word| word.literal().is_some())
            && self.exceeds(named, false) == Some(why)
            && (more.iter().all(|word| !word.text.starts_with('-'))
                || self.exceeds(&rest, false).is_none())
    }

    /// Returns true for `cd` to a plain directory of the workspace.
    fn changes_directory(&self, argv: &[Word<'_>]) -> bool {
        let [name, to] = argv else { return false };
        name.literal() == Some("cd")
            && to.literal().is_some_and(|to| {
                !to.is_empty()
                    && !to.starts_with('-')
                    && !paths::outside(to, self.dirs)
                    // A hidden folder is often one that tools obey, such as `.git`.
                    && !to.split('/').any(|part| part.starts_with('.') && part != ".")
            })
    }
}

/// Describes a command behind which no rule allows anything.
fn runs_out_of_sight(argv: &[Word<'_>]) -> &'static str {
    let program = argv.first().and_then(Word::literal).map(base).and_then(programs::exact);
    if !program.is_some_and(|program| program.is(Role::Privilege)) {
        return "runs other commands, which could not be fully analysed";
    }
    let name = argv.first().and_then(Word::literal).map(base).unwrap_or_default();
    match (name, user_of(name, argv)) {
        ("sudo", Some(_)) => "runs as root (sudo)",
        ("doas", Some(_)) => "runs as root (doas)",
        _ => "runs as another user",
    }
}

fn unknown_word<'a>() -> Word<'a> {
    Word { text: "…".into(), kind: WordKind::Dynamic, quoted: false, span: 0..0 }
}
