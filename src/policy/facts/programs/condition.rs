//! A condition on a program's arguments, with the consequence that holds under it.

use std::cell::LazyCell;

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::{Words, begins, ends, listed, sensitive};

/// A condition on a program's arguments, with the consequence that holds under it.
#[derive(Clone, Copy)]
pub(crate) enum Case {
    /// With this sub-command (with any when empty).
    If {
        /// Follows the program's global options; the condition applies to the words behind it.
        sub: Words,
        /// Options whose next word is not an operand.
        values: Words,
        /// The condition.
        when: When,
        /// An exception (`--help`).
        unless: When,
        /// A clause: "publishes a package".
        why: &'static str,
    },
    /// Something that no condition can express: a small language, or several reasons from one
    /// check.
    Judge {
        /// Options whose next word is not an operand.
        values: Words,
        /// Returns the reason, if there is one.
        judge: fn(&Arguments<'_, '_>) -> Option<&'static str>,
    },
}

/// Creates a case for every sub-command.
pub(super) const fn case(when: When, why: &'static str) -> Case {
    Case::If { sub: "", values: "", when, unless: When::Never, why }
}

/// Creates a case for these sub-commands.
pub(super) const fn sub(sub: Words, when: When, why: &'static str) -> Case {
    Case::If { sub, values: "", when, unless: When::Never, why }
}

/// Creates a case from a check that returns the reason.
pub(super) const fn judge(judge: fn(&Arguments<'_, '_>) -> Option<&'static str>) -> Case {
    Case::Judge { values: "", judge }
}

impl Case {
    /// Sets the options whose next word is not an operand.
    pub(crate) const fn values(self, values: Words) -> Self {
        match self {
            Self::If { sub, when, unless, why, .. } => Self::If { sub, values, when, unless, why },
            Self::Judge { judge, .. } => Self::Judge { values, judge },
        }
    }

    /// Sets the exception.
    pub(crate) const fn unless(self, unless: When) -> Self {
        match self {
            Self::If { sub, values, when, why, .. } => Self::If { sub, values, when, unless, why },
            judge => judge,
        }
    }
}

/// Shows the manual or the version only.
const HELP: When = When::Any(&[
    When::Surely("--help --version -V"),
    When::All(&[When::Has("-h"), When::Count(1)]),
]);

/// Shows only what would be done.
pub(super) const LOOKS: When =
    When::Surely("--help --dry-run --dry-run=client --dry-run=server --dryrun");

/// The same, where `-help` is no `-h` with a value.
pub(super) const LOOKS_AT_CLOUDS: When = When::Any(&[LOOKS, When::Surely("-help")]);

/// Options before a sub-command whose value is not an operand.
pub(super) const VALUES: Words = "\
    -h -p -n -a -u -U -d --host --port --namespace --context --profile --region --project";

/// Creates a critical case; a call that only shows the manual is an exception.
pub(super) const fn critical(when: When, why: &'static str) -> Case {
    case(when, why).unless(HELP)
}

/// Creates a critical case that destroys something on another machine.
pub(super) const fn destroys(when: When) -> Case {
    let why = "destroys infrastructure or data elsewhere";
    case(when, why).values(VALUES).unless(LOOKS_AT_CLOUDS)
}

/// Creates a critical case that drops or empties a database.
pub(super) const fn drops(when: When) -> Case {
    case(when, DROPS).values(VALUES).unless(LOOKS)
}

pub(crate) const DROPS: &str = "drops or empties a database";

/// Returns the reason of the first case that holds.
pub(crate) fn why(cases: &[Case], args: &Arguments<'_, '_>) -> Option<&'static str> {
    // Options before the sub-command are skipped only once, and only if a case needs it.
    let behind = LazyCell::new(|| if args.sub.is_empty() { args.behind_sub() } else { *args });
    cases.iter().find_map(|case| match case {
        Case::Judge { values, judge } => judge(&Arguments { valued: values, ..*args }),
        Case::If { sub, values, when, unless, why } => {
            let args = if sub.is_empty() { args } else { &*behind };
            if !sub.is_empty() && !listed(sub, args.sub) {
                return None;
            }
            let args = Arguments { valued: values, ..*args };
            (when.holds(&args) && !unless.is(&args, false)).then_some(*why)
        }
    })
}

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
    /// The first argument without a dash or plus, and that is no option's value, is one of these.
    Verb(Words),
    /// The argument without a dash behind it is one of these.
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
pub(super) const fn options(long: Words, short: &'static str, values: &'static str) -> When {
    When::Option { long, short, values }
}

impl When {
    pub(crate) fn holds(&self, args: &Arguments<'_, '_>) -> bool {
        self.is(args, true)
    }

    /// Where a word may be a sub-command or the value of the option in front of it: returns true if
    /// it holds either way, or with `may` if it holds one way.
    // FAIL-CLOSED: what `Not` lets pass has to be certain.
    fn is(&self, args: &Arguments<'_, '_>, may: bool) -> bool {
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
            Self::Verb(words) => {
                let verbs = args.verbs();
                let is = |verb: &&str| listed(words, verb);
                if may { verbs.iter().any(is) } else { !verbs.is_empty() && verbs.iter().all(is) }
            }
            Self::Second(words) => {
                let texts = args.texts().filter(|text| !text.starts_with('-')).skip(1);
                let most = if may { args.verbs().len().max(1) } else { 1 };
                texts.take(most).any(|text| listed(words, text))
            }
            Self::NoVerb => args.verbs().is_empty(),
            Self::Sub(words) => listed(words, args.sub),
            Self::Nth(at, words) => args.nth(at, may, |text| listed(words, text)),
            Self::NthStarts(at, words) => args.nth(at, may, |text| begins(words, text)),
            Self::NthEnds(at, words) => args.nth(at, may, |text| ends(words, text)),
            Self::AtLeast(count) => args.each_named().count() >= count,
            Self::Operand(words) => args.each_named().any(|word| listed(words, &word.text)),
            Self::OperandStarts(words) => args.each_named().any(|word| begins(words, &word.text)),
            Self::OperandEnds(words) => args.each_named().any(|word| ends(words, &word.text)),
            Self::Device => args.each_named().any(|word| sensitive::device(&word.text)),
            Self::Secret => args.words.iter().any(sensitive::secret_word),
            Self::Uncertain => args.uncertain(),
            Self::Outside(options) => {
                args.values(options).iter().any(|path| args.path_outside(path))
            }
            Self::All(all) => all.iter().all(|when| when.is(args, may)),
            Self::Any(any) => any.iter().any(|when| when.is(args, may)),
            Self::Not(when) => !when.is(args, !may),
            Self::Test(test) => test(args),
        }
    }
}
