//! Conditions on the arguments of a program.

use super::arguments::Arguments;
use super::sensitive;
use super::words::{Words, begins, ends, listed};

/// When something holds for a command. Words of a list have a blank between them.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// Whatever its arguments are.
    Always,
    /// In no case.
    Never,
    /// It has no arguments.
    Bare,
    /// It has so many arguments.
    Count(usize),
    /// An argument is one of these.
    Has(Words),
    /// An argument begins with one of these.
    Starts(Words),
    /// An argument holds one of these texts.
    Holds(&'static [&'static str]),
    /// The same, in small letters.
    Says(&'static [&'static str]),
    /// One of these short options is given, alone or in a cluster.
    Flag(&'static str),
    /// One of these options is given: long ones whole or shortened, short ones alone or in a
    /// cluster; behind the letters of `values` stands a value.
    Option { long: Words, short: &'static str, values: &'static str },
    /// An argument is this option or a beginning of it.
    Shortened(&'static str),
    /// The first argument is one of these.
    First(Words),
    /// The first argument without a dash or plus is one of these.
    Verb(Words),
    /// The second argument without a dash is one of these.
    Second(Words),
    /// Every argument begins with a dash or plus.
    NoVerb,
    /// The sub-command is one of these.
    Sub(Words),
    /// The operand at this place is one of these.
    Nth(usize, Words),
    /// It begins with one of these.
    NthStarts(usize, Words),
    /// It ends with one of these.
    NthEnds(usize, Words),
    /// There are so many operands, or more.
    AtLeast(usize),
    /// An operand is one of these.
    Operand(Words),
    /// An operand begins with one of these.
    OperandStarts(Words),
    /// An operand ends with one of these.
    OperandEnds(Words),
    /// An operand is a device that holds data or memory.
    Device,
    /// An operand is a root, a home, a folder of the system, or everything here.
    Vast,
    /// An argument names a secret, or a folder that holds some.
    Secret,
    /// An argument may turn out to be an option when it runs.
    Uncertain,
    /// The value of one of these options lies outside the workspace.
    Outside(Words),
    /// All of these hold.
    All(&'static [When]),
    /// Some of these hold.
    Any(&'static [When]),
    /// This does not hold.
    Not(&'static When),
    /// What no list says.
    Test(fn(&Arguments<'_, '_>) -> bool),
}

/// One of these options, long or short; behind the letters of `values` stands a value.
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
            Self::Shortened(option) => args.any(|text| text.len() > 3 && option.starts_with(text)),
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
