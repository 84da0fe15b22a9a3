//! Scripts of sed: whether they run a program, or read or write a file.

use std::iter::Peekable;
use std::str::Chars;

use crate::facts::programs::arguments::Arguments;
use crate::shell::WordKind;

const UNSEEN: &str = "a word that is only known when it runs may be an action of it";

/// Checks sed for the commands `e`, `w`, `r`, `W`, `R`, the flags `e`, `w` of `s`, and files edited
/// in place.
pub(crate) fn sed(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.short("i", "efl") || args.long("--in-place") {
        let files = args.operands("-e -f --expression --file");
        let explicit = args.short("e", "fl") || args.long("--expression");
        let outside = files.iter().skip(usize::from(!explicit)).any(|w| args.outside(w));
        if outside || args.open {
            return Some("it edits files outside the project in place");
        }
        return Some("it edits files in place");
    }
    if args.short("f", "el") || args.long("--file") {
        return Some("it runs a script from a file");
    }
    if args.uncertain() {
        return Some(UNSEEN);
    }
    // Clusters as people write them; the script is the next word.
    let explicit = args.values("-e --expression -ne -ner -nEe -Ee -re -nre -se -ze");
    let implicit = args.operands("").first().map(|w| (&*w.text, w.kind));
    let scripts =
        if explicit.is_empty() { implicit.map(|(t, _)| t).into_iter().collect() } else { explicit };
    if explicit_is_dynamic(implicit) {
        return Some("its script is only known when it runs");
    }
    scripts
        .iter()
        .any(|script| sed_reaches(script))
        .then_some("its script runs a program or reads or writes a file")
}

fn explicit_is_dynamic(word: Option<(&str, WordKind)>) -> bool {
    word.is_some_and(|(text, kind)| kind == WordKind::Dynamic && text.starts_with('$'))
}

/// Reads a sed script as far as needed to find `e`, `w`, `W`, `r`, `R` and the flags of `s`.
/// FAIL-CLOSED: a script that it cannot follow counts as one that reaches out.
pub(crate) fn sed_reaches(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    loop {
        // Addresses, blanks, blocks.
        let Some(c) = chars.next() else { return false };
        match c {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | '!' | ',' | '$' | '~' | '+' | '0'..='9' => {}
            '/' | '\\' => {
                let end = if c == '\\' { chars.next() } else { Some('/') };
                if !end.is_some_and(|end| skip(&mut chars, end)) {
                    return true;
                }
                while chars.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            's' | 'y' => {
                let Some(end) = chars.next() else { return true };
                if end == '\\' || end == '\n' || !skip(&mut chars, end) || !skip(&mut chars, end) {
                    return true;
                }
                while let Some(flag) = chars.next_if(|c| c.is_ascii_alphanumeric()) {
                    if matches!(flag, 'e' | 'w') {
                        return true;
                    }
                }
            }
            'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' | 'F' => {}
            'l' | 'q' | 'Q' => while chars.next_if(char::is_ascii_digit).is_some() {},
            // Labels also end at a blank or semicolon; text and comments end with the line.
            ':' | 'b' | 't' | 'T' => {
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                while chars.next_if(|c| !c.is_whitespace() && !matches!(c, ';' | '}')).is_some() {}
            }
            'a' | 'i' | 'c' | '#' => {
                let mut before = ' ';
                while let Some(c) = chars.next().filter(|&c| c != '\n' || before == '\\') {
                    before = c;
                }
            }
            _ => return true,
        }
    }
}

/// Skips a delimited part; returns false when it has no end.
fn skip(chars: &mut Peekable<Chars<'_>>, end: char) -> bool {
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == end {
            return true;
        }
    }
    false
}
