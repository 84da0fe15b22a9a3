//! What is asked of the person at the terminal: a yes, or a secret.

use super::Misused;
use anyhow::{Context as _, Result, bail};
use countersign_port::visible;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, BufRead, IsTerminal, Read, Write};

/// Asks for a yes; `otherwise` says what to do where there is no terminal.
///
/// # Errors
/// A usage error where there is no terminal.
// FAIL-CLOSED: only a `y` that somebody types is a yes.
pub(super) fn confirmed(question: &str, otherwise: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Misused(format!("no terminal to confirm this on; {otherwise}")).into());
    }
    // On stderr, since stdout may be a pipe.
    write!(io::stderr(), "{} [y/N] ", visible(question))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Ctrl-C, Ctrl-D, and the two bytes of the backspace key.
const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
const BACKSPACE: [u8; 2] = [0x08, 0x7f];

/// The terminal as it was, which it is again when this is dropped.
struct Restored(Termios);

impl Drop for Restored {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// What a person types or pastes; `None` when they stop with Ctrl-C.
///
/// # Errors
/// Where nobody is at the terminal.
// The terminal does not handle Ctrl-C meanwhile: it would end the process with the echo off.
pub(super) fn secret(prompt: &str) -> Result<Option<String>> {
    if !io::stdin().is_terminal() {
        bail!(
            "no terminal to read the token from; --token-file FILE reads it from a file, and `-` \
             from stdin"
        );
    }
    let before = tcgetattr(io::stdin()).context("the terminal cannot be read")?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    silent.special_codes[SpecialCodeIndex::VMIN] = 1;
    silent.special_codes[SpecialCodeIndex::VTIME] = 0;
    let restored = Restored(before);
    tcsetattr(io::stdin(), OptionalActions::Now, &silent).context("the terminal cannot be set")?;
    // Only now, so that nothing that is typed after it is shown. On stderr, since stdout may be a
    // pipe.
    write!(io::stderr(), "{prompt}")?;
    let typed = typed(&mut io::stdin().lock());
    drop(restored);
    writeln!(io::stderr())?;
    typed
}

fn typed(input: &mut impl Read) -> Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while input.read(&mut byte)? == 1 {
        match byte {
            [INTERRUPT] => return Ok(None),
            [b'\n' | b'\r' | END] => break,
            [back] if BACKSPACE.contains(&back) => {
                line.pop();
            }
            [other] => line.push(other),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_line_ends_at_enter_and_is_given_up_at_ctrl_c() {
        let read = |keys: &str| typed(&mut keys.as_bytes()).unwrap();
        assert_eq!(read(" 7:abx\u{7f}c\nrest"), Some("7:abc".to_owned()));
        assert_eq!(read("7:a\r"), Some("7:a".to_owned()));
        assert_eq!(read("7:a"), Some("7:a".to_owned()));
        assert_eq!(read("7:a\u{3}b\n"), None);
    }
}
