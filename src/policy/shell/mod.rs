//! What a shell text would run, read by a strict scanner that refuses what it does not fully
//! understand. bash itself is the judge (`tests/policy/oracle.rs`).
//!
//! INVARIANT: while [`Scan::understood`] is true, every simple command that bash would execute is
//! in [`Scan::commands`]. After a refusal the list still holds whatever could be read, so that
//! deny rules see it; it must never be used to allow.

mod ansi;
mod arithmetic;
mod characters;
mod class;
mod command;
mod compound;
mod condition;
mod cursor;
mod dialect;
mod doubt;
pub mod environment;
mod expand;
mod grammar;
mod guess;
mod heredoc;
mod loops;
mod marks;
mod names;
mod pending;
mod quotes;
mod simple;
mod stop;
mod text;
mod vet;
mod vet_names;
mod vet_options;
mod vet_test;
mod vetted;
mod word;

pub use command::{Assign, Command, PipePosition, Redirect, RedirectOp, Scan, Via, Word, WordKind};
use cursor::Scanner;
pub use dialect::Dialect;
pub use doubt::{Doubt, Refusal};

/// Longer texts are refused unread.
const MAX_LENGTH: usize = 64 * 1024;

/// Reads a shell text as bash would. Never fails: what is not understood is in [`Scan::refusal`].
#[must_use]
pub fn scan(source: &str) -> Scan<'_> {
    scan_as(source, Dialect::Bash)
}

/// Reads a shell text for a certain shell.
#[must_use]
pub fn scan_as(source: &str, dialect: Dialect) -> Scan<'_> {
    if source.len() > MAX_LENGTH {
        let refusal = Some(Refusal { doubt: Doubt::TooLong, at: MAX_LENGTH });
        return Scan { commands: guess::commands(source, 0), refusal, ..Scan::default() };
    }
    let mut scanner = Scanner::new(source, dialect);
    scanner.out.refusal = characters::inspect(source);
    let end = scanner.whole();
    let conflict = scanner.names.conflict();
    let mut scan = scanner.out;
    if let Err(refusal) = end {
        // FAIL-CLOSED: deny rules still see every word that may be a command name.
        scan.refusal.get_or_insert(refusal);
        scan.commands.extend(guess::commands(source, 0));
    }
    scan.refusal = scan.refusal.or(conflict);
    scan
}
