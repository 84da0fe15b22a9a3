//! Programs that the operator describes in the rules file.

use super::arguments::{Arguments, operands};
use super::files::Access;
use super::words::{each, listed};
use crate::shell::{Word, WordKind};

/// What the operator says of one program. It is never one of ours, so that no file can make what we
/// know of a program less strict.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnProgram {
    pub(crate) name: String,
    /// Options whose next word is no operand, with a blank between them.
    pub(crate) values: String,
    /// The forms that only read.
    pub(crate) reads: Vec<OwnForm>,
    /// Where it goes beyond a plain `name *` grant.
    pub(crate) asks: Vec<OwnCase>,
    /// Where it always wants a person.
    pub(crate) critical: Vec<OwnCase>,
    /// What it does to the files among its operands.
    pub(crate) operands: Option<Access>,
    /// Words behind which a command begins that it runs.
    pub(crate) runs: Vec<String>,
    /// Hosts that it speaks to.
    pub(crate) reaches: Vec<String>,
    /// How many words Always keeps; one where nothing is said.
    pub(crate) words: Option<usize>,
}

/// A sub-command that only reads, and the options that it may have then.
#[derive(Clone, Debug)]
pub(crate) struct OwnForm {
    /// Empty for the program as a whole.
    pub(crate) sub: String,
    /// `-v`, `--long`, `--output=` with a value; a blank between them.
    pub(crate) options: String,
}

/// Words that make a call special: sub-commands in their order, and options anywhere.
#[derive(Clone, Debug)]
pub(crate) struct OwnCase {
    pub(crate) words: String,
    pub(crate) why: String,
}

/// All programs that a rules file describes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPrograms(Vec<OwnProgram>);

impl OwnPrograms {
    pub(crate) fn push(&mut self, program: OwnProgram) {
        self.0.push(program);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The description of a program of this name, without its directory.
    pub(crate) fn of(&self, name: &str) -> Option<&OwnProgram> {
        self.0.iter().find(|program| program.name == name)
    }
}

impl OwnProgram {
    /// Why these arguments are critical.
    pub(crate) fn critical(&self, args: &Arguments<'_, '_>) -> Option<&str> {
        self.critical.iter().find(|case| self.fits(case, args)).map(|case| &*case.why)
    }

    /// Why these arguments go beyond a plain grant of its name.
    // FAIL-CLOSED: a word that is only known when it runs may be one that asks.
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
                subs.next().is_some_and(|sub| sub.text == word || sub.kind == WordKind::Dynamic)
            }
            Some(long) if long.starts_with('-') => args.long(word),
            Some(flag) if flag.chars().count() == 1 => args.flag(flag),
            Some(_) => {
                let begins =
                    |text: &str| text.strip_prefix(word).is_some_and(|v| v.starts_with('='));
                args.any(|text| text == word || begins(text))
            }
        })
    }

    /// The files among its operands, and what happens to them.
    pub(crate) fn files<'w, 'a>(&self, args: &'w [Word<'a>]) -> Vec<(Access, &'w Word<'a>)> {
        let Some(access) = self.operands else { return Vec::new() };
        operands(args, &self.values).into_iter().map(|word| (access, word)).collect()
    }

    /// The words that it runs.
    pub(crate) fn inner<'w, 'a>(&self, args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
        let at = args.iter().position(|word| self.runs.iter().any(|begin| *begin == word.text))?;
        args.get(at + 1..).filter(|inner| !inner.is_empty())
    }
}

impl OwnForm {
    /// The operands behind its sub-command; `None` where an option or a word is not known.
    pub(crate) fn operands<'w>(&self, args: &'w [Word<'_>]) -> Option<Vec<&'w str>> {
        let mut subs = each(&self.sub);
        let mut found = Vec::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let text = word.literal()?;
            match (text.strip_prefix('-'), subs.next()) {
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
