//! The words behind a program's name, and how options are found among them.

use super::words::{Words, each, listed};
use crate::facts::obeyed;
use crate::facts::paths::{self, Directories};
use crate::shell::{Redirect, RedirectOp, Word, WordKind};

/// The arguments of one command.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'w, 'a> {
    pub(crate) words: &'w [Word<'a>],
    /// Unknown words follow (`xargs`).
    pub(crate) open: bool,
    pub(crate) dirs: Directories<'w>,
    /// The redirects of the command.
    pub(crate) redirects: &'w [Redirect<'a>],
    /// The sub-command that precedes `words`; empty when none was searched for.
    pub(crate) sub: &'w str,
    /// Options whose next word is not an operand.
    pub(crate) valued: &'w str,
    /// Options before the sub-command that take the next word as their value.
    pub(crate) global: &'w str,
}

impl<'w, 'a> Arguments<'w, 'a> {
    pub(crate) fn new(words: &'w [Word<'a>]) -> Self {
        let dirs = Directories::default();
        Self { words, open: false, dirs, redirects: &[], sub: "", valued: "", global: "" }
    }

    /// Returns the arguments behind the sub-command; options before it are skipped.
    pub(crate) fn behind_sub(self) -> Self {
        let mut rest = self.words;
        while let Some((word, more)) = rest.split_first() {
            rest = match &*word.text {
                sub if !sub.starts_with('-') => return Self { words: more, sub, ..self },
                // `git -C push status`: the value of a global option is not the sub-command.
                option if listed(self.global, option) => more.get(1..).unwrap_or_default(),
                _ => more,
            };
        }
        Self { words: rest, ..self }
    }

    /// Iterates over the texts, as far as they are known.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'w str> {
        self.words.iter().map(|word| &*word.text)
    }

    /// Returns true when some text satisfies the condition.
    pub(crate) fn any(&self, condition: impl FnMut(&str) -> bool) -> bool {
        self.texts().any(condition)
    }

    /// Returns true when a word equals one of the list.
    pub(crate) fn has(&self, wanted: Words) -> bool {
        self.any(|text| listed(wanted, text))
    }

    /// Returns the first text that is not an option; empty when there is none.
    pub(crate) fn verb(&self) -> &'w str {
        self.texts().find(|text| !text.starts_with(['-', '+'])).unwrap_or_default()
    }

    /// Returns true when one of these short options is given, alone or in a cluster.
    pub(crate) fn flag(&self, letters: &str) -> bool {
        self.before_end().any(|word| {
            // A long option is not a cluster of letters.
            let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            flags.is_some_and(|flags| flags.contains(|c| letters.contains(c)))
        })
    }

    /// Returns true when a word may become an option at run time: it is unknown from its first
    /// character on.
    pub(crate) fn uncertain(&self) -> bool {
        self.open
            || self.words.iter().take_while(|w| w.text != "--").any(|word| {
                word.kind == WordKind::Dynamic && word.text.starts_with(['$', '`', '{', '-'])
            })
    }

    /// Returns true when a long option of the list is given, whole or abbreviated (`--out` for
    /// `--output`), with or without a value.
    pub(crate) fn long(&self, options: &str) -> bool {
        self.before_end().any(|word| {
            let name = word.text.split('=').next().unwrap_or_default();
            // getopt accepts every unique abbreviation, so `--outp` must not escape a check for
            // `--output`.
            name.len() > 3
                && name.starts_with("--")
                && each(options).any(|o| o.starts_with(name.as_bytes()))
        })
    }

    /// Returns true when one of these short options is given, alone or in a cluster (`-ro`).
    /// Letters behind an option of `values` are its value.
    pub(crate) fn short(&self, letters: &str, values: &str) -> bool {
        let mut words = self.before_end();
        while let Some(word) = words.next() {
            let Some(flags) = word.text.strip_prefix('-').filter(|f| !f.starts_with('-')) else {
                continue;
            };
            for (at, flag) in flags.char_indices() {
                if letters.contains(flag) {
                    return true;
                }
                if values.contains(flag) {
                    // The value may be the rest of the cluster (`-ofile`) or the next word (`-o
                    // file`).
                    if at + flag.len_utf8() == flags.len() {
                        words.next();
                    }
                    break;
                }
            }
        }
        false
    }

    /// Returns the words that are neither options nor the value of an option of `values`.
    pub(crate) fn operands(&self, values: &str) -> Vec<&'w Word<'a>> {
        operands(self.words, values)
    }

    /// Returns the operands according to the case that is being checked.
    pub(crate) fn named(&self) -> Vec<&'w Word<'a>> {
        operands(self.words, self.valued)
    }

    /// Returns the operand at a position; empty when there is none.
    pub(crate) fn operand(&self, at: usize) -> &'w str {
        self.named().get(at).map(|word| &*word.text).unwrap_or_default()
    }

    /// Iterates over the texts given as the command's input.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'w str> {
        let redirects = self.redirects.iter();
        redirects
            .filter(|r| matches!(r.op, RedirectOp::HereString | RedirectOp::HereDocument))
            .map(|r| &*r.target.text)
    }

    /// Returns the values of options: the next word, or an attached value (`-ofile`, `-sofile`,
    /// `--output=file`).
    pub(crate) fn values(&self, options: &str) -> Vec<&'w str> {
        let mut found = Vec::new();
        let mut words = self.words.iter().map(|w| &*w.text);
        while let Some(text) = words.next() {
            if !text.starts_with('-') {
                continue;
            }
            let Some(value) = each(options).find_map(|option| value_of(text, option)) else {
                continue;
            };
            if value.is_empty() {
                found.extend(words.next());
            } else {
                found.push(value);
            }
        }
        found
    }

    /// Returns true when the word names a file outside the project, or one that cannot be
    /// determined.
    pub(crate) fn outside(&self, word: &Word<'_>) -> bool {
        match paths::of_word(word, self.dirs) {
            Some(path) => self.path_outside(&path),
            None => true,
        }
    }

    /// Returns true when the path is outside the project, or is one that tools obey.
    pub(crate) fn path_outside(&self, path: &str) -> bool {
        !paths::sink(path) && (paths::outside(path, self.dirs) || obeyed::runs_later(path))
    }

    fn before_end(&self) -> impl Iterator<Item = &'w Word<'a>> {
        self.words.iter().take_while(|word| word.text != "--")
    }
}

/// Returns the words that are neither options nor the value of one of `values`.
pub(crate) fn operands<'w, 'a>(args: &'w [Word<'a>], values: &str) -> Vec<&'w Word<'a>> {
    let mut found = Vec::new();
    let mut options = true;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        // `-` alone is the standard input and counts as an operand.
        if options && word.text == "--" {
            options = false;
        } else if options && word.text.len() > 1 && word.text.starts_with('-') {
            if listed(values, &word.text) {
                words.next();
            }
        } else {
            found.push(word);
        }
    }
    found
}

/// Returns the value that this word gives to an option; empty when the value is the next word.
fn value_of<'t>(text: &'t str, option: &[u8]) -> Option<&'t str> {
    if text.as_bytes() == option {
        return Some("");
    }
    if text.as_bytes().starts_with(option) {
        let glued = text.get(option.len()..)?;
        // A short option may have its value attached; a long one needs a `=`.
        return glued.strip_prefix('=').or((option.len() == 2).then_some(glued));
    }
    // `-sofile`: letters without a value may precede the option.
    let [b'-', letter] = option else { return None };
    let (before, value) = text.strip_prefix('-')?.split_once(char::from(*letter))?;
    before.bytes().all(|b| b.is_ascii_alphabetic()).then_some(value)
}
