//! Asks the person at the terminal for a yes.

use anyhow::{Result, bail};
use std::io::{self, BufRead, IsTerminal, Write};

/// Whether the person at the terminal says yes to this question.
///
/// # Errors
/// Where nobody is there.
pub(in crate::cli) fn agreed(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody is here to agree to this change; --yes makes it without asking");
    }
    // On stderr, since stdout may be a pipe.
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
