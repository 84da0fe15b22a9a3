//! The words behind a program's name, and how options are found among them.

use super::words::{Words, each, listed};
use crate::facts::obeyed;
use crate::facts::paths::{self, Directories};
use crate::shell::{Redirect, RedirectOp, Word, WordKind};

/// The arguments of one command.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'w, 'a> {
    pub(crate) words: &'w [Word<'a>],
    /// More words follow that are not known.
    pub(crate) open: bool,
    pub(crate) dirs: Directories<'w>,
    /// The redirects of the command.
    pub(crate) redirects: &'w [Redirect<'a>],
    /// The sub-command that `words` stand behind; empty where none was looked for.
    pub(crate) sub: &'w str,
    /// Options whose next word is no operand.
    pub(crate) valued: &'w str,
    /// Options in front of the sub-command that take the next word.
    pub(crate) global: &'w str,
}

impl<'w, 'a> Arguments<'w, 'a> {
    pub(crate) fn new(words: &'w [Word<'a>]) -> Self {
        let dirs = Directories::default();
        Self { words, open: false, dirs, redirects: &[], sub: "", valued: "", global: "" }
    }

    /// The same behind the sub-command; options in front of it are stepped over.
    pub(crate) fn behind_sub(self) -> Self {
        let mut rest = self.words;
        while let Some((word, more)) = rest.split_first() {
            rest = match &*word.text {
                sub if !sub.starts_with('-') => return Self { words: more, sub, ..self },
                option if listed(self.global, option) => more.get(1..).unwrap_or_default(),
                _ => more,
            };
        }
        Self { words: rest, ..self }
    }

    /// All texts, as far as they are known.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'w str> {
        self.words.iter().map(|word| &*word.text)
    }

    /// Any text satisfies the condition.
    pub(crate) fn any(&self, condition: impl FnMut(&str) -> bool) -> bool {
        self.texts().any(condition)
    }

    /// A word of the list stands here exactly.
    pub(crate) fn has(&self, wanted: Words) -> bool {
        self.any(|text| listed(wanted, text))
    }

    /// The first text that is no option; empty where there is none.
    pub(crate) fn verb(&self) -> &'w str {
        self.texts().find(|text| !text.starts_with(['-', '+'])).unwrap_or_default()
    }

    /// One of these short options, alone or in a cluster.
    pub(crate) fn flag(&self, letters: &str) -> bool {
        self.before_end().any(|word| {
            let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            flags.is_some_and(|flags| flags.contains(|c| letters.contains(c)))
        })
    }

    /// Some word may turn out to be an option when it runs: unknown from its first character on.
    pub(crate) fn uncertain(&self) -> bool {
        self.open
            || self.words.iter().take_while(|w| w.text != "--").any(|word| {
                word.kind == WordKind::Dynamic && word.text.starts_with(['$', '`', '{', '-'])
            })
    }

    /// A long option of the list, whole or shortened (`--out` for `--output`), with or without a
    /// value.
    pub(crate) fn long(&self, options: &str) -> bool {
        self.before_end().any(|word| {
            let name = word.text.split('=').next().unwrap_or_default();
            name.len() > 3
                && name.starts_with("--")
                && each(options).any(|o| o.starts_with(name.as_bytes()))
        })
    }

    /// A short option of the list, alone or in a cluster (`-ro`); letters behind one that takes a
    /// value are its value.
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
                    if at + flag.len_utf8() == flags.len() {
                        words.next();
                    }
                    break;
                }
            }
        }
        false
    }

    /// Words that are no options; the word behind an option of `values` is none of them either.
    pub(crate) fn operands(&self, values: &str) -> Vec<&'w Word<'a>> {
        operands(self.words, values)
    }

    /// The same, with the options of the case that is looked at.
    pub(crate) fn named(&self) -> Vec<&'w Word<'a>> {
        operands(self.words, self.valued)
    }

    /// The operand at a place; empty where there is none.
    pub(crate) fn operand(&self, at: usize) -> &'w str {
        self.named().get(at).map(|word| &*word.text).unwrap_or_default()
    }

    /// The texts that stand on the command's input.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'w str> {
        let redirects = self.redirects.iter();
        redirects
            .filter(|r| matches!(r.op, RedirectOp::HereString | RedirectOp::HereDocument))
            .map(|r| &*r.target.text)
    }

    /// The values of options: the next word, or what is glued on (`-ofile`, `-sofile`,
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

    /// The word names a file outside the workspace, or one that cannot be told.
    pub(crate) fn outside(&self, word: &Word<'_>) -> bool {
        match paths::of_word(word, self.dirs) {
            Some(path) => self.path_outside(&path),
            None => true,
        }
    }

    /// The path lies outside the workspace, or is one that tools obey.
    pub(crate) fn path_outside(&self, path: &str) -> bool {
        !paths::sink(path) && (paths::outside(path, self.dirs) || obeyed::runs_later(path))
    }

    fn before_end(&self) -> impl Iterator<Item = &'w Word<'a>> {
        self.words.iter().take_while(|word| word.text != "--")
    }
}

/// Words that are no options, nor the value of one of `values`.
pub(crate) fn operands<'w, 'a>(args: &'w [Word<'a>], values: &str) -> Vec<&'w Word<'a>> {
    let mut found = Vec::new();
    let mut options = true;
    let mut words = args.iter();
    while let Some(word) = words.next() {
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

/// What an option gives as its value in this word: empty when it is the next one.
fn value_of<'t>(text: &'t str, option: &[u8]) -> Option<&'t str> {
    if text.as_bytes() == option {
        return Some("");
    }
    if text.as_bytes().starts_with(option) {
        let glued = text.get(option.len()..)?;
        return glued.strip_prefix('=').or((option.len() == 2).then_some(glued));
    }
    let [b'-', letter] = option else { return None };
    let (before, value) = text.strip_prefix('-')?.split_once(char::from(*letter))?;
    before.bytes().all(|b| b.is_ascii_alphabetic()).then_some(value)
}
