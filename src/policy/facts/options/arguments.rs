//! The words behind a program's name, and how options are found among them.

use crate::facts::access;
use crate::facts::obeyed;
use crate::facts::paths::{self, Directories};
use crate::shell::{Word, WordKind};

/// The arguments of one command.
pub(super) struct Arguments<'w, 'a> {
    pub(super) words: &'w [Word<'a>],
    /// More words follow that are not known.
    pub(super) open: bool,
    pub(super) dirs: Directories<'w>,
}

impl<'w, 'a> Arguments<'w, 'a> {
    /// All texts, as far as they are known.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'w str> {
        self.words.iter().map(|word| &*word.text)
    }

    /// Any text satisfies the condition.
    pub(super) fn any(&self, condition: impl FnMut(&str) -> bool) -> bool {
        self.texts().any(condition)
    }

    /// A word stands here exactly.
    pub(super) fn has(&self, wanted: &[&str]) -> bool {
        self.any(|text| wanted.contains(&text))
    }

    /// Some word may turn out to be an option when it runs: unknown from its first character on.
    pub(super) fn uncertain(&self) -> bool {
        self.open
            || self.words.iter().take_while(|w| w.text != "--").any(|word| {
                word.kind == WordKind::Dynamic && word.text.starts_with(['$', '`', '{', '-'])
            })
    }

    /// A long option of the list, whole or shortened (`--out` for `--output`), with or without a
    /// value.
    pub(super) fn long(&self, options: &[&str]) -> bool {
        self.before_end().any(|word| {
            let name = word.text.split('=').next().unwrap_or_default();
            name.len() > 3 && name.starts_with("--") && options.iter().any(|o| o.starts_with(name))
        })
    }

    /// A short option of the list, alone or in a cluster (`-ro`); letters behind one that takes a
    /// value are its value.
    pub(super) fn short(&self, letters: &str, values: &str) -> bool {
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

    /// Words that are not options; the word behind an option of `values` is not one of them.
    pub(super) fn operands(&self, values: &[&str]) -> Vec<&'w Word<'a>> {
        access::operands(self.words, values)
    }

    /// The values of options: the next word, or what is glued on (`-ofile`, `-sofile`,
    /// `--output=file`).
    pub(super) fn values(&self, options: &[&str]) -> Vec<&'w str> {
        let mut found = Vec::new();
        let mut words = self.words.iter().map(|w| &*w.text);
        while let Some(text) = words.next() {
            let Some(value) = options.iter().find_map(|option| value_of(text, option)) else {
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
    pub(super) fn outside(&self, word: &Word<'_>) -> bool {
        match paths::of_word(word, self.dirs) {
            Some(path) => self.path_outside(&path),
            None => true,
        }
    }

    /// The path lies outside the workspace, or is one that tools obey.
    pub(super) fn path_outside(&self, path: &str) -> bool {
        self.path_elsewhere(path)
    }

    /// The path does not lie in the workspace itself.
    pub(super) fn path_elsewhere(&self, path: &str) -> bool {
        !paths::sink(path) && (paths::outside(path, self.dirs) || obeyed::runs_later(path))
    }

    fn before_end(&self) -> impl Iterator<Item = &'w Word<'a>> {
        self.words.iter().take_while(|word| word.text != "--")
    }
}

/// What an option gives as its value in this word: empty when it is the next one.
fn value_of<'t>(text: &'t str, option: &str) -> Option<&'t str> {
    if text == option {
        return Some("");
    }
    if let Some(glued) = text.strip_prefix(option) {
        return glued.strip_prefix('=').or((option.len() == 2).then_some(glued));
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1)?;
    let (before, value) = text.strip_prefix('-')?.split_once(letter)?;
    before.bytes().all(|b| b.is_ascii_alphabetic()).then_some(value)
}
