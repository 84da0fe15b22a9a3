//! Conditions on the arguments of a program.

use super::arguments::Arguments;
use super::sensitive;
use super::words::{Words, begins, ends, listed};

/// A condition on a command. Words of a list are separated by blanks.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// Any arguments.
    Always,
    /// Never.
    Never,
    /// No arguments.
    Bare,
    /// This number of arguments.
    Count(usize),
    /// An argument equals one of these.
    Has(Words),
    /// The same, where it is certain that the word is an option of its own.
    Surely(Words),
    /// An argument starts with one of these.
    Starts(Words),
    /// An argument contains one of these texts.
    Holds(&'static [&'static str]),
    /// The same, ignoring case.
    Says(&'static [&'static str]),
    /// One of these short options is given, alone or in a cluster.
    Flag(&'static str),
    /// One of these options is given: long ones whole or abbreviated, short ones alone or in a
    /// cluster. The letters of `values` take a value.
    Option { long: Words, short: &'static str, values: &'static str },
    /// The first argument is one of these.
    First(Words),
    /// The first argument without a dash or plus is one of these.
    Verb(Words),
    /// The second argument without a dash is one of these.
    Second(Words),
    /// Every argument starts with a dash or plus.
    NoVerb,
    /// The sub-command is one of these.
    Sub(Words),
    /// The operand at this position is one of these.
    Nth(usize, Words),
    /// The operand starts with one of these.
    NthStarts(usize, Words),
    /// The operand ends with one of these.
    NthEnds(usize, Words),
    /// At least this number of operands.
    AtLeast(usize),
    /// An operand is one of these.
    Operand(Words),
    /// An operand starts with one of these.
    OperandStarts(Words),
    /// An operand ends with one of these.
    OperandEnds(Words),
    /// An operand is a device that holds data or memory.
    Device,
    /// An operand is a root, a home, a system folder, or everything here.
    Vast,
    /// An argument names a secret, or a folder that holds some.
    Secret,
    /// An argument may become an option at run time.
    Uncertain,
    /// The value of one of these options is outside the project.
    Outside(Words),
    /// All of these hold.
    All(&'static [When]),
    /// At least one of these holds.
    Any(&'static [When]),
    /// This does not hold.
    Not(&'static When),
    /// A check that no list can express.
    Test(fn(&Arguments<'_, '_>) -> bool),
}

/// Creates a condition on long and short options; the letters of `values` take a value.
pub(crate) const fn options(long: Words, short: &'static str, values: &'static str) -> When {
    When::Option { long, short, values }
}

impl When {
    pub(crate) fn holds(&self, args: &Arguments<'_, '_>) -> bool {
        match *self {
            Self::Always => true,
            Self::Never => false,
            Self::Bare => args.words.is_empty(),
            Self::Count(count) => args.words.len() == count,
            Self::Has(words) => args.any(|text| listed(words, text)),
            Self::Surely(words) => args.surely(words),
            Self::Starts(words) => args.any(|text| begins(words, text)),
            Self::Holds(parts) => args.any(|text| parts.iter().any(|part| text.contains(part))),
            Self::Says(parts) => args.any(|text| {
                let text = text.to_ascii_lowercase();
                parts.iter().any(|part| text.contains(part))
            }),
            Self::Flag(letters) => args.flag(letters),
            Self::Option { long, short, values } => {
                !long.is_empty() && args.long(long)
                    || !short.is_empty() && args.short(short, values)
            }
            Self::First(words) => args.texts().next().is_some_and(|text| listed(words, text)),
            Self::Verb(words) => listed(words, args.verb()),
            Self::Second(words) => {
                let second = args.texts().filter(|text| !text.starts_with('-')).nth(1);
                second.is_some_and(|text| listed(words, text))
            }
            Self::NoVerb => args.verb().is_empty(),
            Self::Sub(words) => listed(words, args.sub),
            Self::Nth(at, words) => listed(words, args.operand(at)),
            Self::NthStarts(at, words) => begins(words, args.operand(at)),
            Self::NthEnds(at, words) => ends(words, args.operand(at)),
            Self::AtLeast(count) => args.named().len() >= count,
            Self::Operand(words) => args.named().iter().any(|word| listed(words, &word.text)),
            Self::OperandStarts(words) => args.named().iter().any(|word| begins(words, &word.text)),
            Self::OperandEnds(words) => args.named().iter().any(|word| ends(words, &word.text)),
            Self::Device => args.named().iter().any(|word| sensitive::device(&word.text)),
            Self::Vast => args.named().iter().any(|word| sensitive::vast(word)),
            Self::Secret => args.words.iter().any(sensitive::secret_word),
            Self::Uncertain => args.uncertain(),
            Self::Outside(options) => {
                args.values(options).iter().any(|path| args.path_outside(path))
            }
            Self::All(all) => all.iter().all(|when| when.holds(args)),
            Self::Any(any) => any.iter().any(|when| when.holds(args)),
            Self::Not(when) => !when.holds(args),
            Self::Test(test) => test(args),
        }
    }
}
