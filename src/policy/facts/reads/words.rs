//! Sorts the words of a command by its program's description.

use crate::facts::programs::reading::Reading;
use crate::shell::{Word, WordKind};

/// Options, their values, and operands.
pub(crate) struct SortedWords<'w, 'a> {
    /// Options without dashes; each short option alone.
    pub(crate) options: Vec<&'w str>,
    /// Values of options, with the option's name.
    pub(crate) values: Vec<(&'w str, &'w str)>,
    /// Values of options that name files.
    pub(crate) files: Vec<&'w str>,
    /// Words that are not options; true when `--` precedes them.
    pub(crate) operands: Vec<(&'w Word<'a>, bool)>,
    /// An option follows an operand: for a program that does not sort its words, a file.
    pub(crate) late: bool,
}

impl<'w, 'a> SortedWords<'w, 'a> {
    /// Sorts the words; `None` when an option is unknown or a word may become one.
    pub(crate) fn of(form: &Reading, args: &'w [Word<'a>]) -> Option<Self> {
        let (options, values, files, operands, late) = Default::default();
        let mut words = Self { options, values, files, operands, late };
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            // Behind `--`, a word that starts with a dash is a file.
            if word.text == "--" {
                words.operands.extend(rest.map(|word| (word, true)));
                return Some(words);
            }
            let option = word.text.strip_prefix('-').filter(|option| !option.is_empty());
            words.late |= option.is_some() && !words.operands.is_empty();
            match option {
                None => words.operands.push((word, false)),
                Some(option) if !is_known(word, option) => return None,
                Some(option) => match option.strip_prefix('-') {
                    Some(long) => words.long(form, long, &mut rest)?,
                    None => words.short(form, option, &mut rest)?,
                },
            }
        }
        Some(words)
    }

    fn long(
        &mut self,
        form: &Reading,
        option: &'w str,
        rest: &mut impl Iterator<Item = &'w Word<'a>>,
    ) -> Option<()> {
        let (name, given) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        match (form.long(name)?, given) {
            (OptionTakes::Nothing, None) | (OptionTakes::Maybe, None) => {}
            (OptionTakes::Nothing, Some(_)) => return None,
            (OptionTakes::Maybe, Some(value)) => self.values.push((name, value)),
            (OptionTakes::Text, given) => {
                let value = given.or_else(|| self.next_value(rest))?;
                self.values.push((name, value));
            }
            (OptionTakes::Pair, None) => {
                rest.next()?.literal()?;
                rest.next()?.literal()?;
            }
            (OptionTakes::Pair, Some(_)) => return None,
            (OptionTakes::File, given) => {
                self.files.push(given.or_else(|| rest.next()?.literal())?)
            }
        }
        self.options.push(name);
        Some(())
    }

    /// Takes the next word as a value.
    fn next_value(&mut self, rest: &mut impl Iterator<Item = &'w Word<'a>>) -> Option<&'w str> {
        let value = rest.next()?.literal()?;
        self.files.extend(self.late.then_some(value));
        Some(value)
    }

    /// Reads `-la`, `-n5`, `-n 5`, `-50`.
    fn short(
        &mut self,
        form: &Reading,
        cluster: &'w str,
        rest: &mut impl Iterator<Item = &'w Word<'a>>,
    ) -> Option<()> {
        let number = cluster.bytes().all(|b| b.is_ascii_digit());
        if number && form.flags.contains('#') {
            return Some(());
        }
        for (at, letter) in cluster.char_indices() {
            let end = at + letter.len_utf8();
            let (name, more) = (cluster.get(at..end)?, cluster.get(end..)?);
            self.options.push(name);
            match form.short(letter)? {
                OptionTakes::Nothing => {}
                _ => {
                    let value = if more.is_empty() { self.next_value(rest)? } else { more };
                    self.values.push((name, value));
                    return Some(());
                }
            }
        }
        Some(())
    }

    /// Returns true when an option of the blank-separated list is given.
    pub(crate) fn has(&self, list: &str) -> bool {
        list.split(' ').any(|name| self.options.contains(&name))
    }
}

/// Returns true for a literal, or for a name pattern as the value of a long option
/// (`--include=*.rs`).
fn is_known(word: &Word<'_>, option: &str) -> bool {
    let plain = |name: &str| !name.contains(['*', '?', '[']);
    let pattern =
        option.split_once('=').is_some_and(|(name, _)| name.starts_with('-') && plain(name));
    word.kind == WordKind::Literal || word.kind == WordKind::Glob && pattern
}

/// The kind of value that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionTakes {
    /// No value.
    Nothing,
    /// An attached value, or none.
    Maybe,
    /// A text or number.
    Text,
    /// Two texts, in the next words.
    Pair,
    /// A file, folder or pattern of names.
    File,
}

impl Reading {
    fn short(&self, letter: char) -> Option<OptionTakes> {
        let is = |letters: &str| letter != '#' && letters.contains(letter);
        match () {
            () if is(self.flags) => Some(OptionTakes::Nothing),
            () if is(self.values) => Some(OptionTakes::Text),
            () => None,
        }
    }

    /// Looks up a long option. The list has `name`, `name=` with a text, `name?` with an optional
    /// value, `name:` with a file, `name==` with two texts.
    fn long(&self, name: &str) -> Option<OptionTakes> {
        let all = self.longs.iter().flat_map(|longs| longs.split_whitespace());
        all.filter_map(|known| known.strip_prefix(name)).find_map(|rest| match rest {
            "" => Some(OptionTakes::Nothing),
            "=" => Some(OptionTakes::Text),
            "==" => Some(OptionTakes::Pair),
            "?" => Some(OptionTakes::Maybe),
            ":" => Some(OptionTakes::File),
            _ => None,
        })
    }
}
