//! The rules that apply to one call, and the search for the one that wins.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::facts::paths::{self, Directories, UNKNOWN};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::own::{OperatorProgram, OwnPrograms};
use crate::facts::programs::{self, listed};
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::facts::wrappers::base;
use crate::facts::{obeyed, reads};
use crate::glob;
use crate::rules::pattern::{Coverage, Head, Pattern};
use crate::rules::verdict::Verdict;
use crate::rules::{About, RuleEntry, Rules};
use crate::shell::{Command, Word, WordKind};

/// Layers of rules for one tool, in order; the last match wins.
pub(crate) struct Stack<'r> {
    layers: Vec<About<'r>>,
    own: Option<&'r OwnPrograms>,
}

/// The rule that wins.
#[derive(Clone, Copy)]
pub(crate) struct Hit<'r> {
    pub(crate) verdict: Verdict,
    pub(crate) entry: Option<&'r RuleEntry>,
    /// A stricter rule that may match once a word is known.
    pub(crate) maybe: Option<&'r RuleEntry>,
}

impl Hit<'_> {
    /// FAIL-CLOSED: no rule is an ask.
    pub(crate) const NONE: Self = Self { verdict: Verdict::Ask, entry: None, maybe: None };

    /// Returns the pattern of an allow.
    fn allowed(&self) -> Option<&Pattern> {
        self.entry.filter(|_| self.verdict == Verdict::Allow).map(|entry| &entry.pattern)
    }

    /// Returns true for an allow of every call of the tool.
    pub(crate) fn allows_all(&self) -> bool {
        self.allowed().is_some_and(Pattern::is_all)
    }

    /// Returns true for an allow that names exactly this command.
    pub(crate) fn allows_exactly(&self) -> bool {
        self.allowed().is_some_and(Pattern::is_exact)
    }

    /// Returns true for an allow of the class of calls that only read.
    pub(crate) fn allows_reading(&self) -> bool {
        self.allowed().is_some_and(Pattern::is_reads)
    }

    /// Returns true when this allow does not cover a file because others run or obey it.
    pub(crate) fn leaves_to_a_person(&self, path: &str, dirs: Directories<'_>) -> bool {
        let named = |part: &str| self.allowed().is_some_and(|pattern| pattern.names_part(part));
        // One that names the file without a wildcard does.
        self.allowed().is_none_or(|pattern| pattern.literal().is_none())
            && (obeyed::is_obeyed(path)
                || obeyed::hidden(path, dirs).is_some_and(|part| !named(&part)))
    }

    /// Returns true for a deliberate ask: by a rule that is not for every call.
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

    /// Adds the programs that the operator describes.
    pub(crate) fn with_own(self, own: &'r OwnPrograms) -> Self {
        Self { own: Some(own), ..self }
    }

    fn own(&self, argv: &[Word<'_>]) -> Option<&'r OperatorProgram> {
        let own = self.own.filter(|own| !own.is_empty())?;
        own.of(base(argv.first()?.literal()?))
    }

    /// Returns why a command exceeds a plain grant of its name, by the operator's description.
    pub(crate) fn exceeds(&self, argv: &[Word<'_>], open: bool) -> Option<&'r str> {
        let words = argv.get(1..).unwrap_or_default();
        self.own(argv)?.exceeds(&Arguments { open, ..Arguments::new(words) })
    }

    /// Returns true when a rule denies or asks for some calls but not all.
    pub(crate) fn guarded(&self) -> bool {
        self.layers.iter().any(About::guards)
    }

    /// Returns true when some rule may deny a command with this first word; a cheap check.
    pub(crate) fn may_deny(&self, argv: &[Word<'_>]) -> bool {
        let head = argv.first().and_then(Word::literal).map(Head::of);
        self.layers.iter().any(|layer| layer.may_deny(head))
    }

    fn backwards(&self, head: Option<Head>) -> impl Iterator<Item = &'r RuleEntry> {
        self.layers.iter().rev().flat_map(move |layer| layer.backwards(head))
    }

    /// Returns the rule for a command.
    pub(crate) fn command(&self, argv: &[Word<'_>], spelling: &CommandText<'_, '_>) -> Hit<'r> {
        // A name that is not literal may become any name.
        let head = argv.first().and_then(Word::literal).map(Head::of);
        self.last(head, |entry| match entry.rule.verdict {
            Verdict::Allow if entry.pattern.is_reads() => {
                let own = || self.own(argv).is_some_and(|own| reads::own(own, argv, spelling.dirs));
                Coverage::of(reads::command(argv, false, spelling.dirs) || own())
            }
            Verdict::Allow => Coverage::of(entry.pattern.covers(argv, || spelling.words())),
            Verdict::Ask | Verdict::Deny => {
                entry.pattern.strikes(argv, || spelling.variants(), || spelling.open())
            }
        })
    }

    /// Returns the rule for a value other than a command.
    pub(crate) fn value(&self, kind: Kind, value: &Value, dirs: Directories<'_>) -> Hit<'r> {
        let allow = OnceCell::new();
        let deny = OnceCell::new();
        let allow = || allow.get_or_init(|| value.allow_forms(dirs)).iter();
        let deny = || deny.get_or_init(|| value.deny_forms(dirs)).iter();
        self.last(None, |entry| {
            let pattern = &entry.pattern;
            let matched = match entry.rule.verdict {
                Verdict::Allow if pattern.is_reads() => reads::value(kind, value, dirs),
                Verdict::Allow if pattern.is_all() && !value.is_path => true,
                Verdict::Allow => {
                    allow().all(|forms| forms.iter().any(|form| pattern.matches(form)))
                }
                // `*` covers every spelling.
                Verdict::Ask | Verdict::Deny if pattern.is_all() => true,
                Verdict::Ask | Verdict::Deny => deny().any(|form| pattern.reaches(form)),
            };
            Coverage::of(matched)
        })
    }

    /// Returns a rule that denies reading a file or what is below it; for an open path, a rule that
    /// may name it.
    pub(crate) fn denies_reading(
        &self,
        path: &str,
        dirs: Directories<'_>,
    ) -> Option<&'r RuleEntry> {
        let value = |text: String| Value { text, is_path: true, is_leaf: false, access: None };
        if glob::is_open(path) {
            let forms = value(path.to_owned()).deny_forms(dirs);
            return self.backwards(None).find(|entry| {
                entry.rule.verdict == Verdict::Deny
                    && forms.iter().any(|form| entry.pattern.may_name(form))
            });
        }
        let ruled = |text: String| {
            let rule = self.value(Kind::Read, &value(text), dirs);
            Some((rule.entry.filter(|it| !it.pattern.is_all())?, rule.verdict))
        };
        // A rule that names just this decides before those for what is below it.
        let own = ruled(path.to_owned()).filter(|(entry, _)| !entry.pattern.is_reads());
        let (entry, verdict) =
            own.or_else(|| ruled([path.trim_end_matches('/'), "/_"].concat()))?;
        (verdict == Verdict::Deny).then_some(entry)
    }

    /// Returns the rule for a call without values; only rules for every call match.
    pub(crate) fn every_call(&self) -> Hit<'r> {
        self.last(None, |entry| Coverage::of(entry.pattern.is_all()))
    }

    /// Returns the rule for a search without values, which searches the working directory.
    pub(crate) fn every_search(&self, kind: Kind, dirs: Directories<'_>) -> Hit<'r> {
        let reads = reads::every_value(kind, dirs);
        self.last(None, |entry| {
            let pattern = &entry.pattern;
            Coverage::of(pattern.is_all() || pattern.is_reads() && reads)
        })
    }

    /// Returns the rule that denies every call, if no milder rule follows it. It applies to a text
    /// that cannot be read.
    pub(crate) fn denies_every(&self) -> Option<&'r RuleEntry> {
        let decides =
            |entry: &&RuleEntry| entry.pattern.is_all() || entry.rule.verdict != Verdict::Deny;
        let last = self.backwards(None).find(decides)?;
        (last.rule.verdict == Verdict::Deny).then_some(last)
    }

    /// Returns the rule for a value that nobody has looked at; stricter ones may match.
    pub(crate) fn unseen(&self) -> Hit<'r> {
        self.last(None, |entry| match (entry.pattern.is_all(), entry.rule.verdict) {
            (true, _) => Coverage::Yes,
            (false, Verdict::Allow) => Coverage::No,
            (false, Verdict::Ask | Verdict::Deny) => Coverage::Maybe,
        })
    }

    /// Returns the rule that allows exactly this whole text, if no stricter rule follows it.
    pub(crate) fn whole_text(&self, text: &str) -> Option<&'r RuleEntry> {
        let text = text.trim();
        self.backwards(None)
            .take_while(|entry| entry.rule.verdict == Verdict::Allow)
            .find(|entry| entry.pattern.literal() == Some(text))
    }

    fn last(&self, head: Option<Head>, matches: impl Fn(&RuleEntry) -> Coverage) -> Hit<'r> {
        let mut maybe = None;
        for layer in self.layers.iter().rev() {
            for entry in layer.backwards(head) {
                match matches(entry) {
                    Coverage::No => {}
                    Coverage::Maybe => maybe = maybe.or(Some(entry)),
                    Coverage::Yes => {
                        // A stricter rule may match, so an allow becomes an ask.
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

/// A command as text, in the spellings that globs are matched with; built on first use.
pub(crate) struct CommandText<'w, 'a> {
    argv: &'w [Word<'a>],
    source: Option<(&'w str, &'w Command<'a>)>,
    dirs: Directories<'w>,
    words: OnceCell<String>,
    variants: OnceCell<Vec<String>>,
    open: OnceCell<Vec<String>>,
}

impl<'w, 'a> CommandText<'w, 'a> {
    /// Creates the texts of a command; `source` is the text that contains it.
    pub(crate) fn new(
        argv: &'w [Word<'a>],
        source: Option<(&'w str, &'w Command<'a>)>,
        dirs: Directories<'w>,
    ) -> Self {
        let words = OnceCell::new();
        let variants = OnceCell::new();
        let open = OnceCell::new();
        Self { argv, source, dirs, words, variants, open }
    }

    /// Returns the words joined by blanks; blanks within a word are replaced.
    fn words(&self) -> &str {
        self.words.get_or_init(|| {
            join(self.argv.iter().map(|word| {
                let blank = |c: char| c.is_whitespace();
                match &*word.text {
                    "" => INNER_BLANK.into(),
                    // `git "commit -m"` must not match a rule for `git commit -m`.
                    text if text.contains(blank) => text.replace(blank, INNER_BLANK).into(),
                    text => text.into(),
                }
            }))
        })
    }

    /// Returns every spelling that a deny or ask rule may refer to.
    pub(crate) fn variants(&self) -> &[String] {
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

    /// Returns the same with `UNKNOWN` in place of what is only known when it runs; nothing where
    /// all is known.
    fn open(&self) -> &[String] {
        self.open.get_or_init(|| {
            let is_known =
                |word: &Word<'_>| matches!(word.kind, WordKind::Literal | WordKind::Home);
            if self.argv.iter().all(is_known) {
                return Vec::new();
            }
            let argv: Vec<Word<'a>> = self.argv.iter().map(opened).collect();
            CommandText::new(&argv, None, self.dirs).variants().to_vec()
        })
    }
}

/// Returns a word with `UNKNOWN` in place of what is only known when it runs.
fn opened<'a>(word: &Word<'a>) -> Word<'a> {
    let text = match word.kind {
        WordKind::Dynamic => UNKNOWN.to_string().into(),
        WordKind::Glob => glob::opened(&word.text).into(),
        WordKind::Literal | WordKind::Home => word.text.clone(),
    };
    Word { text, ..word.clone() }
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

/// Cleans a word that looks like a path.
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

/// Returns the arguments from the sub-command on, without the program's own options.
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
