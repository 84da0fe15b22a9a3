//! The words of a command, told apart by the description of its program.

use crate::facts::programs::reading::Reading;
use crate::shell::{Word, WordKind};

/// Options, their values, and operands.
pub(super) struct Words<'w, 'a> {
    /// Options without their dashes; each short one alone.
    pub(super) options: Vec<&'w str>,
    /// Values of options, with the option's name.
    pub(super) values: Vec<(&'w str, &'w str)>,
    /// Values of options that name files.
    pub(super) files: Vec<&'w str>,
    /// Words that are no options, and whether `--` stands before them.
    pub(super) operands: Vec<(&'w Word<'a>, bool)>,
}

impl<'w, 'a> Words<'w, 'a> {
    /// `None` where an option is not known, or a word may turn out to be one.
    pub(super) fn of(form: &Reading, args: &'w [Word<'a>]) -> Option<Self> {
        let (options, values, files, operands) = Default::default();
        let mut words = Self { options, values, files, operands };
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            if word.text == "--" {
                words.operands.extend(rest.map(|word| (word, true)));
                return Some(words);
            }
            match word.text.strip_prefix('-') {
                None | Some("") => words.operands.push((word, false)),
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
            (Takes::Nothing, None) | (Takes::Maybe, None) => {}
            (Takes::Nothing, Some(_)) => return None,
            (Takes::Maybe, Some(value)) => self.values.push((name, value)),
            (Takes::Text, given) => {
                let value = given.or_else(|| rest.next()?.literal())?;
                self.values.push((name, value));
            }
            (Takes::File, given) => self.files.push(given.or_else(|| rest.next()?.literal())?),
        }
        self.options.push(name);
        Some(())
    }

    /// `-la`, `-n5`, `-n 5`, `-50`
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
                Takes::Nothing => {}
                _ => {
                    let value = if more.is_empty() { rest.next()?.literal()? } else { more };
                    self.values.push((name, value));
                    return Some(());
                }
            }
        }
        Some(())
    }

    /// An option of the blank-separated list is given.
    pub(super) fn has(&self, list: &str) -> bool {
        list.split(' ').any(|name| self.options.contains(&name))
    }
}

/// Literal, or a pattern of names behind the name of a long option (`--include=*.rs`).
fn is_known(word: &Word<'_>, option: &str) -> bool {
    let plain = |name: &str| !name.contains(['*', '?', '[']);
    let pattern =
        option.split_once('=').is_some_and(|(name, _)| name.starts_with('-') && plain(name));
    word.kind == WordKind::Literal || word.kind == WordKind::Glob && pattern
}

/// What an option takes as its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// One that is glued on, or none.
    Maybe,
    /// A text or number.
    Text,
    /// A file, folder or pattern of names.
    File,
}

impl Reading {
    fn short(&self, letter: char) -> Option<Takes> {
        let is = |letters: &str| letter != '#' && letters.contains(letter);
        match () {
            () if is(self.flags) => Some(Takes::Nothing),
            () if is(self.values) => Some(Takes::Text),
            () => None,
        }
    }

    /// The list spells `name`, `name=` with a text, `name?` with an optional value, `name:` with a
    /// file.
    fn long(&self, name: &str) -> Option<Takes> {
        let all = self.longs.iter().flat_map(|longs| longs.split_whitespace());
        all.filter_map(|known| known.strip_prefix(name)).find_map(|rest| match rest {
            "" => Some(Takes::Nothing),
            "=" => Some(Takes::Text),
            "?" => Some(Takes::Maybe),
            ":" => Some(Takes::File),
            _ => None,
        })
    }
}
