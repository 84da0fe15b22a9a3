//! Scripts of sed.

use crate::facts::programs::description::{Operands, Reading, reading};
use crate::facts::programs::languages::ScriptText;

/// Options that neither edit a file nor read a script from one. Without `-l`: it takes a value in
/// GNU's sed only, and the script in others.
pub(crate) const FORM: Reading = reading("nErsuz", "e", &[OPTIONS], Operands::Sed);
const OPTIONS: &str = "\
    quiet silent expression= regexp-extended line-length= null-data separate unbuffered sandbox \
    posix debug";

/// Characters around the parts of `s`, `y` and of an address.
const DELIMITERS: &str = "/|#,:@!%_~+=";

/// Returns true when a script of sed only prints and changes text: no `e`, `w`, `r`, no comment,
/// and no text that continues on the next line.
pub(crate) fn reads(script: &str) -> bool {
    let mut rest = ScriptText(script);
    loop {
        rest.take(|c| matches!(c, ' ' | '\t' | '\n' | ';'));
        if rest.0.is_empty() {
            return true;
        }
        if command(&mut rest).is_none() {
            return false;
        }
    }
}

/// Reads one command with its addresses.
fn command(rest: &mut ScriptText<'_>) -> Option<()> {
    let blank = |c| matches!(c, ' ' | '\t');
    if address(rest)? {
        rest.take(blank);
        if rest.eat(",") {
            rest.take(blank);
            rest.eat("+");
            address(rest)?.then_some(())?;
        }
    }
    rest.take(|c| blank(c) || c == '!');
    match rest.next()? {
        '{' => return Some(()),
        '}' | 'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'F' | 'z' => {
        }
        'q' | 'Q' | 'l' => {
            rest.take(|c| blank(c) || c.is_ascii_digit());
        }
        ':' | 'b' | 't' | 'T' => {
            rest.take(blank);
            rest.name();
        }
        // The text is the rest of the script, on the same line.
        'a' | 'i' | 'c' => {
            let text = rest.take(|c| c != '\n' && c != '\\');
            return (rest.0.is_empty() && !text.trim().is_empty()).then_some(());
        }
        's' => {
            let end = delimiter(rest)?;
            let early = rest.regex(end)?;
            // Where a bracket does not protect its end, the flags stand here instead.
            let flags = |c: char| c.is_alphanumeric() || c.is_whitespace() || ";}#".contains(c);
            if early && rest.peek().is_none_or(flags) {
                return None;
            }
            rest.text(end)?;
            rest.take(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I'));
        }
        'y' => {
            let end = delimiter(rest)?;
            (!rest.regex(end)?).then_some(())?;
            rest.text(end)?;
        }
        _ => return None,
    }
    rest.take(blank);
    rest.peek().is_none_or(|c| matches!(c, ';' | '\n' | '}')).then_some(())
}

/// Reads an address, if there is one.
fn address(rest: &mut ScriptText<'_>) -> Option<bool> {
    if !rest.take(|c| c.is_ascii_digit() || matches!(c, '$' | '~')).is_empty() {
        return Some(true);
    }
    let end = match rest.peek() {
        Some('/') => delimiter(rest)?,
        Some('\\') => rest.next().and_then(|_| delimiter(rest))?,
        _ => return Some(false),
    };
    // `]` behind an early end is no command.
    rest.regex(end)?;
    rest.eat("I");
    Some(true)
}

fn delimiter(rest: &mut ScriptText<'_>) -> Option<char> {
    rest.next().filter(|c| DELIMITERS.contains(*c))
}
