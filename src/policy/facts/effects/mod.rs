//! What a call touches, for the card and the log: worked out from its facts, in order, each thing
//! once. Never a promise of safety; what is not known is said to be unknown.

mod effect;
mod list;
mod reach;
mod shell;
mod weight;

use crate::facts::access::Access;
use crate::facts::paths::{self, Directories};
use crate::shell::{Scan, Word};
pub use effect::{Effect, Target};
use list::List;
pub use weight::{Weight, worst_first};

/// What a tool that is not a shell does with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Reads the paths.
    Read,
    /// Writes the paths.
    Write,
    /// Fetches the URLs.
    Fetch,
    /// Not known.
    Unknown,
}

/// Effects of a shell text.
#[must_use]
pub fn of_shell(scan: &Scan<'_>, dirs: Directories<'_>) -> Vec<Effect> {
    let mut list = List::default();
    shell::text(scan, dirs, &mut list, 0);
    list.finish()
}

/// Effects of one command that names these files and hosts.
pub(crate) fn of_files(
    files: &[(Access, &Word<'_>)],
    hosts: &[String],
    dirs: Directories<'_>,
) -> Vec<Effect> {
    let mut list = List::default();
    for (access, word) in files {
        match paths::of_word(word, dirs) {
            Some(path) => list.touch(*access, &path, dirs),
            None => list.unknown(&format!("which files {} stands for", word.text)),
        }
    }
    hosts.iter().for_each(|host| list.add(Effect::Reaches { host: host.clone() }));
    list.finish()
}

/// Effects of any other tool: what it does, with which paths or URLs.
#[must_use]
pub fn of_tool(act: Act, values: &[&str], dirs: Directories<'_>) -> Vec<Effect> {
    of_values(act, values, false, dirs)
}

/// The same where the tool may name more than these.
#[must_use]
pub fn of_values(act: Act, values: &[&str], more: bool, dirs: Directories<'_>) -> Vec<Effect> {
    let mut list = List::default();
    for value in values {
        match act {
            Act::Read => list.touch(Access::Read, value, dirs),
            Act::Write => list.touch(Access::Write, value, dirs),
            Act::Fetch => match reach::host(value) {
                Some(host) => list.add(Effect::Reaches { host }),
                None => list.unknown("the address cannot be read"),
            },
            Act::Unknown => {}
        }
    }
    if act == Act::Unknown {
        list.unknown("what this tool does is not known");
    } else if more {
        list.unknown("the call names more than is looked at");
    } else if values.is_empty() {
        list.unknown("the call names nothing that it works on");
    }
    list.finish()
}

#[cfg(test)]
mod tests;
