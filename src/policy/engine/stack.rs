//! The rules that bear on one call, and which of them wins.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::facts::paths::{self, Directories};
use crate::facts::programs;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::own::{OwnProgram, OwnPrograms};
use crate::facts::programs::words::listed;
use crate::facts::reads;
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::facts::wrappers::base;
use crate::rules::pattern::{Head, Reach};
use crate::rules::verdict::Verdict;
use crate::rules::{About, Entry, Rules};
use crate::shell::{Command, Word, WordKind};

/// Layers of rules for one tool, one behind the other; the last match wins.
pub(crate) struct Stack<'r> {
    layers: Vec<About<'r>>,
    own: Option<&'r OwnPrograms>,
}

/// The rule that wins.
#[derive(Clone, Copy)]
pub(crate) struct Hit<'r> {
    pub(crate) verdict: Verdict,
    pub(crate) entry: Option<&'r Entry>,
    /// A stricter rule that may match once a word is known.
    pub(crate) maybe: Option<&'r Entry>,
}

impl Hit<'_> {
    /// FAIL-CLOSED: no rule is an ask.
    pub(crate) const NONE: Self = Self { verdict: Verdict::Ask, entry: None, maybe: None };

    /// An allow for every call of the tool.
    pub(crate) fn allows_all(&self) -> bool {
        self.verdict == Verdict::Allow && self.entry.is_some_and(|entry| entry.pattern.is_all())
    }

    /// An allow that names this very command.
    pub(crate) fn allows_exactly(&self) -> bool {
        self.verdict == Verdict::Allow && self.entry.is_some_and(|entry| entry.pattern.is_exact())
    }

    /// An allow for the class of calls that only read.
    pub(crate) fn allows_reading(&self) -> bool {
        self.verdict == Verdict::Allow && self.entry.is_some_and(|entry| entry.pattern.is_reads())
    }

    /// An allow that names one file, without a wildcard.
    pub(crate) fn names_a_file(&self) -> bool {
        let entry = self.entry.filter(|_| self.verdict == Verdict::Allow);
        entry.is_some_and(|entry| entry.pattern.literal().is_some())
    }

    /// An ask that somebody meant for this: by a rule that is not for every call.
    pub(crate) fn asks_on_purpose(&self) -> bool {
        self.verdict == Verdict::Ask
            && (self.maybe.is_some() || self.entry.is_some_and(|entry| !entry.pattern.is_all()))
    }
}

impl<'r> Stack<'r> {
    pub(crate) fn new(tool: &str, known: &str, now_ms: i64, layers: &[&'r Rules]) -> Self {
        let layers = layers.iter().filter(|layer| !layer.is_empty());
        let about = layers.map(|layer| About::new(layer, tool, known, now_ms));
        Self { layers: about.filter(|about| !about.is_empty()).collect(), own: None }
    }

    /// With the programs that the operator describes.
    pub(crate) fn with_own(self, own: &'r OwnPrograms) -> Self {
        Self { own: Some(own), ..self }
    }

    fn own(&self, argv: &[Word<'_>]) -> Option<&'r OwnProgram> {
        let own = self.own.filter(|own| !own.is_empty())?;
        own.of(base(argv.first()?.literal()?))
    }

    /// Why a command goes beyond a plain grant of its name, by the operator's description.
    pub(crate) fn exceeds(&self, argv: &[Word<'_>], open: bool) -> Option<&'r str> {
        let words = argv.get(1..).unwrap_or_default();
        self.own(argv)?.exceeds(&Arguments { open, ..Arguments::new(words) })
    }

    /// A rule forbids or asks about some calls but not all: what cannot be read may be one of them.
    pub(crate) fn guarded(&self) -> bool {
        self.layers.iter().any(About::guards)
    }

    /// Some rule may forbid a command with this first word; cheaper than looking for the one.
    pub(crate) fn may_deny(&self, argv: &[Word<'_>]) -> bool {
        let head = argv.first().and_then(Word::literal).map(Head::of);
        self.layers.iter().any(|layer| layer.may_deny(head))
    }

    fn backwards(&self, head: Option<Head>) -> impl Iterator<Item = &'r Entry> {
        self.layers.iter().rev().flat_map(move |layer| layer.backwards(head))
    }

    /// The rule for a command.
    pub(crate) fn command(&self, argv: &[Word<'_>], spelling: &Spelling<'_, '_>) -> Hit<'r> {
        // A name that is not literal may be any name.
        let head = argv.first().and_then(Word::literal).map(Head::of);
        self.last(head, |entry| match entry.rule.verdict {
            Verdict::Allow if entry.pattern.is_reads() => {
                let own = || self.own(argv).is_some_and(|own| reads::own(own, argv, spelling.dirs));
                Reach::of(reads::command(argv, false, spelling.dirs) || own())
            }
            Verdict::Allow => Reach::of(entry.pattern.covers(argv, || spelling.words())),
            Verdict::Ask | Verdict::Deny => entry.pattern.strikes(argv, || spelling.variants()),
        })
    }

    /// The rule for a value that is no command.
    pub(crate) fn value(&self, kind: Kind, value: &Value, dirs: Directories<'_>) -> Hit<'r> {
        let (allow, deny) = (OnceCell::new(), OnceCell::new());
        let allow = || allow.get_or_init(|| value.allow_forms(dirs)).iter();
        let deny = || deny.get_or_init(|| value.deny_forms(dirs)).iter();
        self.last(None, |entry| {
            let pattern = &entry.pattern;
            let matched = match entry.rule.verdict {
                Verdict::Allow if pattern.is_reads() => reads::value(kind, value, dirs),
                Verdict::Allow if pattern.is_all() && !value.is_path => true,
                Verdict::Allow => allow().any(|form| pattern.matches(form)),
                // Reaches every form.
                Verdict::Ask | Verdict::Deny if pattern.is_all() => true,
                Verdict::Ask | Verdict::Deny => deny().any(|form| pattern.reaches(form)),
            };
            Reach::of(matched)
        })
    }

    /// The rule for a call without values: only rules for every call match.
    pub(crate) fn every_call(&self) -> Hit<'r> {
        self.last(None, |entry| Reach::of(entry.pattern.is_all()))
    }

    /// The same for a search, which looks through the working directory then.
    pub(crate) fn every_search(&self, kind: Kind, dirs: Directories<'_>) -> Hit<'r> {
        let reads = reads::every_value(kind, dirs);
        self.last(None, |entry| {
            let pattern = &entry.pattern;
            Reach::of(pattern.is_all() || pattern.is_reads() && reads)
        })
    }

    /// The rule that denies every call, with no milder rule behind it: it holds for a text that
    /// nobody can read.
    pub(crate) fn denies_every(&self) -> Option<&'r Entry> {
        let decides =
            |entry: &&Entry| entry.pattern.is_all() || entry.rule.verdict != Verdict::Deny;
        let last = self.backwards(None).find(decides)?;
        (last.rule.verdict == Verdict::Deny).then_some(last)
    }

    /// The rule for a value that nobody has looked at: those for every call hold, stricter ones
    /// may.
    pub(crate) fn unseen(&self) -> Hit<'r> {
        self.last(None, |entry| match (entry.pattern.is_all(), entry.rule.verdict) {
            (true, _) => Reach::Yes,
            (false, Verdict::Allow) => Reach::No,
            (false, Verdict::Ask | Verdict::Deny) => Reach::Maybe,
        })
    }

    /// The rule that allows the whole text, word for word, with no stricter rule behind it.
    pub(crate) fn whole_text(&self, text: &str) -> Option<&'r Entry> {
        let text = text.trim();
        self.backwards(None)
            .take_while(|entry| entry.rule.verdict == Verdict::Allow)
            .find(|entry| entry.pattern.literal() == Some(text))
    }

    fn last(&self, head: Option<Head>, matches: impl Fn(&Entry) -> Reach) -> Hit<'r> {
        let mut maybe = None;
        for layer in self.layers.iter().rev() {
            for entry in layer.backwards(head) {
                match matches(entry) {
                    Reach::No => {}
                    Reach::Maybe => maybe = maybe.or(Some(entry)),
                    Reach::Yes => {
                        let least = if maybe.is_some() { Verdict::Ask } else { Verdict::Allow };
                        let verdict = entry.rule.verdict.max(least);
                        return Hit { verdict, entry: Some(entry), maybe };
                    }
                }
            }
        }
        Hit { maybe, ..Hit::NONE }
    }
}

/// A command as text, in the spellings that globs are matched against; made when first needed.
pub(crate) struct Spelling<'w, 'a> {
    argv: &'w [Word<'a>],
    source: Option<(&'w str, &'w Command<'a>)>,
    dirs: Directories<'w>,
    words: OnceCell<String>,
    variants: OnceCell<Vec<String>>,
}

impl<'w, 'a> Spelling<'w, 'a> {
    /// `source` is the text in which the command was written, where that is known.
    pub(crate) fn new(
        argv: &'w [Word<'a>],
        source: Option<(&'w str, &'w Command<'a>)>,
        dirs: Directories<'w>,
    ) -> Self {
        Self { argv, source, dirs, words: OnceCell::new(), variants: OnceCell::new() }
    }

    /// The words joined by blanks; a blank within a word is no blank of the command.
    fn words(&self) -> &str {
        self.words.get_or_init(|| {
            join(self.argv.iter().map(|word| {
                let blank = |c: char| c.is_whitespace();
                match &*word.text {
                    "" => INNER_BLANK.into(),
                    text if text.contains(blank) => text.replace(blank, INNER_BLANK).into(),
                    text => text.into(),
                }
            }))
        })
    }

    /// Every spelling that a deny or ask rule may have meant.
    fn variants(&self) -> &[String] {
        self.variants.get_or_init(|| {
            let plain = || self.argv.iter().map(|word| (&*word.text).into());
            let name = self.argv.first().map_or("", |word| base(&word.text));
            let named = |args: &'w [Word<'a>], spell: &dyn Fn(&'w Word<'a>) -> Cow<'w, str>| {
                join(std::iter::once(name.into()).chain(args.iter().map(spell)))
            };
            let args = self.argv.get(1..).unwrap_or_default();
            let behind = behind_options(name, args);
            let here = Directories { cwd: None, home: self.dirs.home };
            let mut all = vec![
                join(plain()),
                named(args, &|word| (&*word.text).into()),
                named(behind, &|word| (&*word.text).into()),
                named(behind, &|word| path(word, here)),
                named(behind, &|word| path(word, self.dirs)),
            ];
            let written = self.source.and_then(|(source, command)| command.written_in(source));
            all.extend(written.map(ToOwned::to_owned));
            all.dedup();
            all
        })
    }
}

/// Stands for a blank inside a word; the scanner refuses it in a text.
const INNER_BLANK: &str = "\u{1}";

fn join<'w>(words: impl Iterator<Item = Cow<'w, str>>) -> String {
    let mut text = String::with_capacity(128);
    for (at, word) in words.enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&word);
    }
    text
}

/// A word that looks like a path, cleaned.
fn path<'w>(word: &'w Word<'_>, dirs: Directories<'_>) -> Cow<'w, str> {
    let text = &*word.text;
    let looks = word.kind == WordKind::Home
        || text.contains('/') && !text.contains("://")
        || text.starts_with('.');
    match paths::of_word(word, dirs) {
        Some(path) if looks => paths::clean(&path, dirs).into_owned().into(),
        _ => text.into(),
    }
}

/// The arguments from the sub-command on, for programs whose own options stand in front of it.
fn behind_options<'w, 'a>(name: &str, args: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let values = programs::exact(name).map_or("", |program| program.global);
    if values.is_empty() {
        return args;
    }
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        let text = &*first.text;
        if !text.starts_with(['-', '+']) {
            break;
        }
        rest = if listed(values, text) { more.get(1..).unwrap_or_default() } else { more };
    }
    rest
}
