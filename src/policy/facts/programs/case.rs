//! A condition on a program's arguments, with the consequence that holds under it.

use std::cell::LazyCell;

use super::arguments::Arguments;
use super::when::When;
use super::words::{Words, listed};

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
pub(crate) const fn case(when: When, why: &'static str) -> Case {
    Case::If { sub: "", values: "", when, unless: When::Never, why }
}

/// Creates a case for these sub-commands.
pub(crate) const fn sub(sub: Words, when: When, why: &'static str) -> Case {
    Case::If { sub, values: "", when, unless: When::Never, why }
}

/// Creates a case from a check that returns the reason.
pub(crate) const fn judge(judge: fn(&Arguments<'_, '_>) -> Option<&'static str>) -> Case {
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
const LOOKS: When = When::Surely("--help -help --dry-run --dry-run=client --dryrun help");

/// Options before a sub-command whose value is not an operand.
const VALUES: Words = "-h -p -n -a -u -U -d --host --port --namespace --context";

/// Creates a critical case; a call that only shows the manual is an exception.
pub(crate) const fn critical(when: When, why: &'static str) -> Case {
    case(when, why).unless(HELP)
}

/// Creates a critical case that destroys something on another machine.
pub(crate) const fn destroys(when: When) -> Case {
    case(when, "destroys infrastructure or data elsewhere").values(VALUES).unless(LOOKS)
}

/// Creates a critical case that drops or empties a database.
pub(crate) const fn drops(when: When) -> Case {
    case(when, DROPS).values(VALUES).unless(LOOKS)
}

pub(crate) const DROPS: &str = "drops or empties a database";

/// Returns the reason of the first case that holds.
pub(crate) fn why(cases: &[Case], args: &Arguments<'_, '_>) -> Option<&'static str> {
    // Options before the sub-command are skipped only once, and only if a case needs it.
    let behind = LazyCell::new(|| match args.sub.is_empty() {
        true => args.behind_sub(),
        false => *args,
    });
    cases.iter().find_map(|case| match case {
        Case::Judge { values, judge } => judge(&Arguments { valued: values, ..*args }),
        Case::If { sub, values, when, unless, why } => {
            let args = if sub.is_empty() { args } else { &*behind };
            if !sub.is_empty() && !listed(sub, args.sub) {
                return None;
            }
            let args = Arguments { valued: values, ..*args };
            (when.holds(&args) && !unless.holds(&args)).then_some(*why)
        }
    })
}
