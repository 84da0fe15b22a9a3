//! The effects of a call, for the card and the log: derived from its facts, in order, each once.
//! The list is never a promise of safety; anything unknown is listed as unknown.

mod effect;
mod list;
mod reach;
mod restated;
mod shell;
mod weight;

use crate::facts::access::Access;
pub use crate::facts::effects::effect::{Effect, PathEffect};
use crate::facts::effects::list::List;
pub use crate::facts::effects::restated::is_restated;
pub(crate) use crate::facts::effects::shell::user_of;
pub use crate::facts::effects::weight::{Weight, worst_first};
use crate::facts::paths::{self, Directories};
use crate::shell::{Scan, Word};

/// The action of a tool other than a shell.
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

/// Returns the effects of a shell text.
#[must_use]
pub fn of_shell(scan: &Scan<'_>, dirs: Directories<'_>) -> Vec<Effect> {
    let mut list = List::default();
    shell::text(scan, dirs, &mut list, 0);
    list.finish()
}

/// Returns the effects of one command that names these files and hosts.
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

/// Returns the effects of any other tool: its action on these paths or URLs.
#[must_use]
pub fn of_tool(act: Act, values: &[&str], dirs: Directories<'_>) -> Vec<Effect> {
    of_values(act, values, false, dirs)
}

/// Returns the effects of an editing tool on these paths; one without an access is written.
#[must_use]
pub fn of_edits<'p>(
    files: impl Iterator<Item = (Option<Access>, &'p str)>,
    more: bool,
    dirs: Directories<'_>,
) -> Vec<Effect> {
    let mut list = List::default();
    let mut files = files.peekable();
    if more || files.peek().is_none() {
        list.unknown("the call may change more files than can be read from it");
    }
    files.for_each(|(access, path)| list.touch(access.unwrap_or(Access::Write), path, dirs));
    list.finish()
}

/// Like [`of_tool`], for a call that may name more than these values.
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
        list.unknown("");
    } else if more {
        list.unknown("the call names more than is looked at");
    } else if values.is_empty() {
        list.unknown("the call names nothing that it works on");
    }
    list.finish()
}

#[cfg(test)]
mod tests;
