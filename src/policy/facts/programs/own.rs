//! Programs that the operator describes in the rules file.

use crate::facts::programs::arguments::{Arguments, operands};
use crate::facts::programs::description::Access;
use crate::facts::programs::{each, listed};
use crate::shell::{Word, WordKind};

/// The operator's description of a program. It never replaces a built-in one, so no file makes a
/// built-in description less strict.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperatorProgram {
    pub(crate) name: String,
    /// Options whose next word is not an operand, separated by blanks.
    pub(crate) values: String,
    /// The forms that only read.
    pub(crate) reads: Vec<OwnForm>,
    /// Cases that go beyond a plain `name *` grant.
    pub(crate) asks: Vec<OwnCase>,
    /// Cases that always need a person.
    pub(crate) critical: Vec<OwnCase>,
    /// The access to the files among its operands.
    pub(crate) operands: Option<Access>,
    /// Words that precede a command that it runs.
    pub(crate) runs: Vec<String>,
    /// Hosts that it contacts.
    pub(crate) reaches: Vec<String>,
    /// Number of words that Always keeps; one by default.
    pub(crate) words: Option<usize>,
}

/// A sub-command that only reads, and the options allowed with it.
#[derive(Clone, Debug)]
pub(crate) struct OwnForm {
    /// Empty for the program as a whole.
    pub(crate) sub: String,
    /// `-v`, `--long`, or `--output=` with a value, separated by blanks.
    pub(crate) options: String,
}

/// Words that make a call special: sub-commands in order, and options anywhere.
#[derive(Clone, Debug)]
pub(crate) struct OwnCase {
    pub(crate) words: String,
    pub(crate) why: String,
}

/// All programs that a rules file describes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPrograms(Vec<OperatorProgram>);

impl OwnPrograms {
    pub(crate) fn push(&mut self, program: OperatorProgram) {
        self.0.push(program);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the description of a program by its name without directory.
    pub(crate) fn of(&self, name: &str) -> Option<&OperatorProgram> {
        self.0.iter().find(|program| program.name == name)
    }
}

impl OperatorProgram {
    /// Returns why these arguments are critical.
    pub(crate) fn critical(&self, args: &Arguments<'_, '_>) -> Option<&str> {
        self.critical.iter().find(|case| self.fits(case, args)).map(|case| &*case.why)
    }

    /// Returns why these arguments go beyond a plain grant of the name.
    // FAIL-CLOSED: a word that is known only at run time may be one that asks.
    pub(crate) fn exceeds(&self, args: &Arguments<'_, '_>) -> Option<&str> {
        let found = self.asks.iter().find(|case| self.fits(case, args)).map(|case| &*case.why);
        let unseen = !self.asks.is_empty() && args.uncertain();
        found.or(unseen.then_some("a word that is only known when it runs may be an option"))
    }

    fn fits(&self, case: &OwnCase, args: &Arguments<'_, '_>) -> bool {
        let named = operands(args.words, &self.values);
        let mut subs = named.iter();
        case.words.split_whitespace().all(|word| match word.strip_prefix('-') {
            None => {
                // A word that is known only at run time may be the sub-command of the case.
                subs.next().is_some_and(|sub| sub.text == word || sub.kind == WordKind::Dynamic)
            }
            Some(long) if long.starts_with('-') => args.long(word),
            Some(flag) if flag.chars().count() == 1 => args.flag(flag),
            Some(_) => {
                // Some programs write long options with a single dash: `-name=value`.
                let begins =
                    |text: &str| text.strip_prefix(word).is_some_and(|v| v.starts_with('='));
                args.any(|text| text == word || begins(text))
            }
        })
    }

    /// Returns the files among its operands with the access to them.
    pub(crate) fn files<'w, 'a>(&self, args: &'w [Word<'a>]) -> Vec<(Access, &'w Word<'a>)> {
        let Some(access) = self.operands else { return Vec::new() };
        operands(args, &self.values).into_iter().map(|word| (access, word)).collect()
    }

    /// Returns the words that it runs.
    pub(crate) fn inner<'w, 'a>(&self, args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
        let at = args.iter().position(|word| self.runs.iter().any(|begin| *begin == word.text))?;
        args.get(at + 1..).filter(|inner| !inner.is_empty())
    }
}

impl OwnForm {
    /// Returns the operands behind its sub-command; `None` when an option or a word is unknown.
    pub(crate) fn operands<'w>(&self, args: &'w [Word<'_>]) -> Option<Vec<&'w str>> {
        let mut subs = each(&self.sub);
        let mut found = Vec::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let text = word.literal()?;
            match (text.strip_prefix('-'), subs.next()) {
                // An option before the sub-command may change which one it is.
                (Some(_), Some(_)) => return None,
                (Some(_), None) if listed(&self.options, text) => {}
                (Some(_), None) => {
                    let (name, glued) = text.split_once('=').unzip();
                    let valued = [name.unwrap_or(text), "="].concat();
                    if !listed(&self.options, &valued) {
                        return None;
                    }
                    if glued.is_none() {
                        words.next()?.literal()?;
                    }
                }
                (None, Some(sub)) if sub == text.as_bytes() => {}
                (None, Some(_)) => return None,
                (None, None) => found.push(text),
            }
        }
        subs.next().is_none().then_some(found)
    }
}
