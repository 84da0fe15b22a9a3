//! A condition on a program's arguments, with the reason that it is.

use std::cell::LazyCell;

use super::arguments::Arguments;
use super::when::When;
use super::words::{Words, listed};

/// A condition on a program's arguments, and what is so where it holds.
#[derive(Clone, Copy)]
pub(crate) enum Case {
    /// With this sub-command (with any where it is empty).
    If {
        /// Behind the program's global options; the condition looks at the words behind it.
        sub: Words,
        /// Options whose next word is no operand.
        values: Words,
        /// The condition.
        when: When,
        /// It does not matter then (`--help`).
        unless: When,
        /// A clause: "publishes a package".
        why: &'static str,
    },
    /// What no condition can say: a small language, or several reasons from one look.
    Judge {
        /// Options whose next word is no operand.
        values: Words,
        /// The reason, if there is one.
        judge: fn(&Arguments<'_, '_>) -> Option<&'static str>,
    },
}

/// Whatever its sub-command.
pub(crate) const fn case(when: When, why: &'static str) -> Case {
    Case::If { sub: "", values: "", when, unless: When::Never, why }
}

/// With one of these sub-commands.
pub(crate) const fn sub(sub: Words, when: When, why: &'static str) -> Case {
    Case::If { sub, values: "", when, unless: When::Never, why }
}

/// Whatever this look finds.
pub(crate) const fn judge(judge: fn(&Arguments<'_, '_>) -> Option<&'static str>) -> Case {
    Case::Judge { values: "", judge }
}

impl Case {
    /// With these options the next word is no operand.
    pub(crate) const fn values(self, values: Words) -> Self {
        match self {
            Self::If { sub, when, unless, why, .. } => Self::If { sub, values, when, unless, why },
            Self::Judge { judge, .. } => Self::Judge { values, judge },
        }
    }

    /// Except then.
    pub(crate) const fn unless(self, unless: When) -> Self {
        match self {
            Self::If { sub, values, when, why, .. } => Self::If { sub, values, when, unless, why },
            judge => judge,
        }
    }
}

/// A look at the manual, or at the version.
const HELP: When =
    When::Any(&[When::Has("--help --version -V"), When::All(&[When::Has("-h"), When::Count(1)])]);

/// A look at what it would do.
const LOOKS: When = When::Has("--help -help --dry-run --dry-run=client --dryrun help");

/// Options in front of a sub-command whose value is no operand.
const VALUES: Words = "-h -p -n -a -u -U -d --host --port --namespace --context";

/// Critical unless it only shows its manual.
pub(crate) const fn critical(when: When, why: &'static str) -> Case {
    case(when, why).unless(HELP)
}

/// Critical: it destroys what is not on this machine.
pub(crate) const fn destroys(when: When) -> Case {
    case(when, "destroys infrastructure or data elsewhere").values(VALUES).unless(LOOKS)
}

/// Critical: it drops or empties a database.
pub(crate) const fn drops(when: When) -> Case {
    case(when, DROPS).values(VALUES).unless(LOOKS)
}

pub(crate) const DROPS: &str = "drops or empties a database";

/// Why one of these cases holds; the first that does.
pub(crate) fn why(cases: &[Case], args: &Arguments<'_, '_>) -> Option<&'static str> {
    // Options in front of the sub-command are stepped over once, where a case asks for it.
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
