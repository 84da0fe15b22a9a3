//! Runs of programs that say nothing beside the other effects of their call.

use crate::facts::programs::description::Role;
use crate::facts::programs::exact;
use crate::facts::programs::files::{Access, Files};

/// Returns whether this effect of a call, as text, only restates others of it: `runs rm` beside
/// `deletes build`, or `runs git push` beside `publishes to origin main (git push)`.
// Where anything is unknown, the program's name may be all there is to tell of it.
#[must_use]
pub fn is_restated(effect: &str, all: &[String]) -> bool {
    let Some(program) = effect.strip_prefix("runs ") else { return false };
    let published = format!(" ({program})");
    let says = |other: &String| {
        verb(program).is_some_and(|verb| other.starts_with(verb))
            || other.starts_with("publishes ") && other.ends_with(&published)
    };
    !all.iter().any(|other| other.starts_with("effects unknown")) && all.iter().any(says)
}

/// The start of the effects that say all that a program does.
// `./rm` is a program of its own, and no name of ours.
fn verb(program: &str) -> Option<&'static str> {
    let program = exact(program).filter(|program| program.is(Role::OnlyFiles))?;
    match program.files {
        Files::Each { access, .. } | Files::Transfer(access) => match access {
            Access::Read => None,
            Access::Write => Some("writes "),
            Access::Delete => Some("deletes "),
            Access::Move => Some("moves "),
            Access::Rights => Some("changes the rights of "),
        },
        _ => None,
    }
}
