//! Options as programs read them: the one place that knows how an option may be written.

use crate::facts::programs::{Words, each, listed};
use crate::shell::Word;

/// The way in which a program reads its options.
#[derive(Clone, Copy)]
pub(crate) enum Syntax {
    /// Not known, but for these long options. A beginning of another one may stand for it, and a
    /// `--` behind an option may be its value.
    Partly(Words),
    /// Long options are written out, and `--` ends them.
    WrittenOut,
    /// All of its options are known.
    Getopt(Getopt),
}

/// The options of a program, as it gives them to `getopt_long`.
#[derive(Clone, Copy)]
pub(crate) struct Getopt {
    /// Letters. A `:` follows one with a value, `::` one whose value is attached or absent. With a
    /// `!` in front, the first word may be a cluster without a dash (`tar xf FILE`).
    pub(crate) shorts: &'static str,
    /// `name`, `name=` with a value, `name?` whose value is attached or absent. Names of one
    /// meaning are written `quiet|silent`.
    pub(crate) longs: Words,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// An attached value, or none.
    Maybe,
    /// The rest of the word, or else the next one.
    Value,
}

/// The meaning of a long option as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    One(&'static str, Takes),
    /// A beginning of several options, which the program refuses.
    Several,
    Unknown,
}

impl Getopt {
    /// Resolves a long option as glibc does: its whole name, or a beginning of one option only.
    // Names of one meaning are no ambiguity.
    pub(crate) fn resolve(self, written: &str) -> Resolved {
        let mut found = Resolved::Unknown;
        for item in self.longs.split_ascii_whitespace() {
            let names = item.trim_end_matches(['=', '?']);
            let takes = match item.as_bytes().last() {
                Some(b'=') => Takes::Value,
                Some(b'?') => Takes::Maybe,
                _ => Takes::Nothing,
            };
            let name = names.split('|').next().unwrap_or(names);
            if names.split('|').any(|one| one == written) {
                return Resolved::One(name, takes);
            }
            if names.split('|').any(|one| one.starts_with(written)) {
                found = match found {
                    Resolved::Unknown => Resolved::One(name, takes),
                    Resolved::One(..) | Resolved::Several => Resolved::Several,
                };
            }
        }
        found
    }

    /// Returns what a short option takes; `None` when it is unknown.
    pub(crate) fn short(self, letter: char) -> Option<Takes> {
        let at = self.shorts.find(letter).filter(|_| !":!".contains(letter))?;
        let behind = self.shorts.get(at + letter.len_utf8()..)?;
        Some(match behind.as_bytes() {
            [b':', b':', ..] => Takes::Maybe,
            [b':', ..] => Takes::Value,
            _ => Takes::Nothing,
        })
    }
}

/// A value, and the word that holds it.
#[derive(Clone, Copy)]
pub(crate) struct OptionValue<'w, 'a> {
    pub(crate) text: &'w str,
    pub(crate) word: &'w Word<'a>,
}

/// A part of a command line.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'w, 'a> {
    Short(char, Option<OptionValue<'w, 'a>>),
    /// The name without dashes: the whole one where the options are known, or as it is written.
    Long(&'w str, Option<OptionValue<'w, 'a>>),
    /// An option, as it is written, that the program does not know or that may be several.
    Unclear(&'w str),
    Operand(&'w Word<'a>),
}

impl<'w, 'a> Arg<'w, 'a> {
    /// Returns true when this may be an option of the list (`-o --output`).
    // FAIL-CLOSED: what is not known for certain may be any option that it can stand for.
    pub(crate) fn may_be(&self, syntax: Syntax, list: &str) -> bool {
        let is_whole = |name: &str| match syntax {
            Syntax::Partly(whole) => listed(whole, name),
            Syntax::WrittenOut | Syntax::Getopt(_) => true,
        };
        let long = |name: &str, is_whole: bool| {
            let mut names = each(list).filter_map(|option| option.strip_prefix(b"--"));
            if is_whole {
                names.any(|option| option == name.as_bytes())
            } else {
                !name.is_empty() && names.any(|it| it.starts_with(name.as_bytes()))
            }
        };
        let short = |letter: char| each(list).any(|option| option == [b'-', letter as u8]);
        match self {
            Self::Short(letter, _) => letter.is_ascii() && short(*letter),
            Self::Long(name, _) => long(name, is_whole(name)),
            Self::Unclear(text) => match text.strip_prefix("--") {
                Some(name) => long(name.split('=').next().unwrap_or(name), false),
                None => text.chars().skip(1).any(|c| c.is_ascii() && short(c)),
            },
            Self::Operand(_) => false,
        }
    }

    pub(crate) fn value(&self) -> Option<OptionValue<'w, 'a>> {
        match self {
            Self::Short(_, value) | Self::Long(_, value) => *value,
            Self::Unclear(_) | Self::Operand(_) => None,
        }
    }
}

/// Options with a value, for a program of which nothing else is known.
#[derive(Clone, Copy, Default)]
pub(crate) struct Valued<'v> {
    /// Letters of short options.
    pub(crate) letters: &'v str,
    /// Options with their dashes.
    pub(crate) lists: [&'v str; 2],
}

/// Reads the words behind a program's name.
#[derive(Clone)]
pub(crate) struct OptionReader<'w, 'a, 'v> {
    syntax: Syntax,
    valued: Valued<'v>,
    /// The words that are left.
    pub(crate) rest: &'w [Word<'a>],
    /// The rest of a cluster of short options, and its word.
    cluster: Option<(&'w str, &'w Word<'a>)>,
    /// The number of words behind a `--` that ended the options.
    pub(crate) behind_end: Option<usize>,
    /// The last word may be an option whose value is the next.
    is_waiting: bool,
}

impl<'w, 'a, 'v> OptionReader<'w, 'a, 'v> {
    pub(crate) fn new(syntax: Syntax, words: &'w [Word<'a>], valued: Valued<'v>) -> Self {
        let mut reader = Self {
            syntax,
            valued,
            rest: words,
            cluster: None,
            behind_end: None,
            is_waiting: false,
        };
        if let Syntax::Getopt(Getopt { shorts, .. }) = syntax
            && shorts.starts_with('!')
            && let Some((first, rest)) = words.split_first()
            && !first.text.starts_with('-')
        {
            reader.rest = rest;
            reader.cluster = Some((&first.text, first));
        }
        reader
    }

    fn long(&mut self, text: &'w str, word: &'w Word<'a>) -> Arg<'w, 'a> {
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) => (name, Some(OptionValue { text: value, word })),
            None => (text, None),
        };
        let (name, takes) = match self.syntax {
            Syntax::Getopt(getopt) => match getopt.resolve(name) {
                Resolved::One(_, Takes::Nothing) if glued.is_some() => {
                    return Arg::Unclear(&word.text);
                }
                Resolved::One(name, takes) => (name, takes),
                Resolved::Several | Resolved::Unknown => return Arg::Unclear(&word.text),
            },
            Syntax::Partly(_) | Syntax::WrittenOut => {
                let is_valued = Arg::Long(name, None);
                let takes = self.valued.lists.iter().any(|it| is_valued.may_be(self.syntax, it));
                (name, if takes { Takes::Value } else { Takes::Maybe })
            }
        };
        let value = match takes {
            Takes::Value => glued.or_else(|| self.following()),
            Takes::Nothing | Takes::Maybe => glued,
        };
        self.is_waiting = value.is_none() && takes != Takes::Nothing;
        Arg::Long(name, value)
    }

    fn short(&mut self, cluster: &'w str, word: &'w Word<'a>) -> Option<Arg<'w, 'a>> {
        let letter = cluster.chars().next()?;
        let more = cluster.get(letter.len_utf8()..).unwrap_or_default();
        let takes = match self.syntax {
            Syntax::Getopt(getopt) => match getopt.short(letter) {
                Some(takes) => takes,
                None => return Some(Arg::Unclear(&word.text)),
            },
            Syntax::Partly(_) | Syntax::WrittenOut => {
                let is_valued = |it: &&str| Arg::Short(letter, None).may_be(self.syntax, it);
                let known = self.valued.letters.contains(letter);
                if known || self.valued.lists.iter().any(is_valued) {
                    Takes::Value
                } else {
                    Takes::Nothing
                }
            }
        };
        let glued = (!more.is_empty()).then_some(OptionValue { text: more, word });
        let value = match takes {
            // In a cluster without a dash, values are the words behind it, in order.
            Takes::Value if !word.text.starts_with('-') => {
                self.cluster = glued.map(|rest| (rest.text, word));
                self.following()
            }
            Takes::Nothing => {
                self.cluster = glued.map(|rest| (rest.text, word));
                None
            }
            Takes::Maybe => glued,
            Takes::Value => glued.or_else(|| self.following()),
        };
        self.is_waiting = value.is_none() && self.cluster.is_none();
        Some(Arg::Short(letter, value))
    }

    fn following(&mut self) -> Option<OptionValue<'w, 'a>> {
        let (word, more) = self.rest.split_first()?;
        self.rest = more;
        Some(OptionValue { text: &word.text, word })
    }
}

impl<'w, 'a> Iterator for OptionReader<'w, 'a, '_> {
    type Item = Arg<'w, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((cluster, word)) = self.cluster.take() {
            return self.short(cluster, word);
        }
        let (word, more) = self.rest.split_first()?;
        self.rest = more;
        let was_waiting = std::mem::take(&mut self.is_waiting);
        let text = &*word.text;
        let is_option = text.len() > 1 && self.behind_end.is_none();
        match text.strip_prefix('-').filter(|_| is_option) {
            // `-` alone is the standard input and counts as an operand.
            None => Some(Arg::Operand(word)),
            Some("-") => {
                let is_end = !was_waiting || !matches!(self.syntax, Syntax::Partly(_));
                self.behind_end = is_end.then_some(more.len());
                self.next()
            }
            Some(option) => match option.strip_prefix('-') {
                Some(long) => Some(self.long(long, word)),
                None => self.short(option, word),
            },
        }
    }
}

#[cfg(test)]
mod tests;
