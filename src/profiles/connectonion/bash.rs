//! The commands of a shell text that ConnectOnion's permissions are matched with.
//!
//! ConnectOnion reads a text with bashlex, we with [`countersign_policy::shell`]. Every command that
//! bashlex was seen to read is among ours, or we give up on the text
//! (`tests/vectors/001-connectonion/bash.jsonl`).
//!
//! | text | bashlex | here |
//! |---|---|---|
//! | `case`, `select`, `time`, `coproc`, `[[`, arithmetic, arrays, empty bodies, `<<'E'`, `\$(`, `$()` | gives up | gives up |
//! | `$'a'`, `a;#b`, `A='$(b)'` | reads `$a`; a command `b` | gives up |
//! | `${x:-$(id)}`, what a group redirects, here-documents, a second line of `$(…)` | sees no command | sees it |
//! | what our scanner stops at | a reading | gives up |

use std::fmt;

use countersign_policy::shell::{self, Command, Doubt, RedirectOp, Scan, Via, Word, WordKind};

/// The reason why a text is given up on. ConnectOnion's agent gets it as an error of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// A construct that bashlex does not support.
    Unsupported,
    /// An unclosed quote or bracket.
    Unmatched,
    /// Text that does not fit the grammar.
    Syntax,
    /// Only blanks and comments.
    Empty,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsupported => "NotImplementedError",
            Self::Unmatched => "MatchedPairError",
            Self::Syntax => "ParsingError",
            Self::Empty => "AttributeError",
        })
    }
}

/// Returns every command of a text without quotes, each before those of its substitutions.
///
/// # Errors
/// When bashlex, or our scanner, gives up.
pub(super) fn read(text: &str) -> Result<Vec<String>, Unread> {
    let scan = shell::scan(text);
    if let Some(unread) = gives_up(text, &scan) {
        return Err(unread);
    }
    let named = in_order(&scan);
    let spoken = |command: &&Command<'_>| {
        let words: Vec<&str> = command.argv.iter().map(|word| &*word.text).collect();
        words.join(" ")
    };
    Ok(match named.is_empty() {
        // A text without commands (`A=1`, `> x`) is matched as a whole.
        true => vec![text.to_owned()],
        false => named.iter().map(spoken).collect(),
    })
}

/// Returns every command with a name that was read for certain, in the order of the text.
pub(super) fn in_order<'s, 'a>(scan: &'s Scan<'a>) -> Vec<&'s Command<'a>> {
    let named = |command: &&Command<'_>| command.via != Via::Guess && !command.argv.is_empty();
    let mut named: Vec<_> = scan.commands.iter().filter(named).collect();
    named.sort_by_key(|command| command.argv.first().map(|word| word.span.start));
    named
}

/// Bodies without a command.
const EMPTY: [&[&str]; 7] = [
    &["{", "}"],
    &["(", ")"],
    &["then", "fi"],
    &["then", "else"],
    &["then", "elif"],
    &["else", "fi"],
    &["do", "done"],
];

fn gives_up(text: &str, scan: &Scan<'_>) -> Option<Unread> {
    let comment = |line: &str| line.is_empty() || line.starts_with('#');
    if text.lines().all(|line| comment(line.trim_start())) {
        return Some(Unread::Empty);
    }
    // After a mere doubt the scanner has read on, and missed nothing.
    let stopped =
        scan.commands.is_empty() || scan.commands.iter().any(|command| command.via == Via::Guess);
    match scan.refusal.map(|refusal| refusal.doubt).filter(|_| stopped) {
        Some(Doubt::Coprocess) => return Some(Unread::Unsupported),
        Some(Doubt::Unfinished) if text.contains(['"', '\'', '`', '(', '{']) => {
            return Some(Unread::Unmatched);
        }
        Some(_) => return Some(Unread::Syntax),
        None => {}
    }
    let words = text.split_whitespace().map(|word| word.trim_end_matches(';'));
    let words: Vec<&str> = words.collect();
    let empty = words.windows(2).any(|pair| EMPTY.contains(&pair)) || words.first() == Some(&"()");
    let lost = [";#", "&#"].iter().any(|comment| text.contains(comment));
    if empty || lost || scan.commands.iter().any(|command| misread(command, text)) {
        return Some(Unread::Syntax);
    }
    match scan.elaborate {
        true if text.contains("[[") => Some(Unread::Syntax),
        true => Some(Unread::Unsupported),
        false => None,
    }
}

/// Returns true for a command that bashlex fails on, or of which it sees another one.
fn misread(command: &Command<'_>, text: &str) -> bool {
    let hides = |word: &Word<'_>| {
        let raw = text.get(word.span.clone()).unwrap_or_default();
        let dense: String = raw.split_whitespace().collect();
        raw.contains("\\$(")
            || raw.contains("$'") && !word.text.contains('$')
            || ["$()", "<()", ">()", "``"].iter().any(|empty| dense.contains(empty))
    };
    let ends =
        |delimiter: &str| text.lines().any(|line| line.trim_start_matches('\t') == delimiter);
    let element = |value: &Word<'_>| {
        let before = text.get(..value.span.start).unwrap_or_default();
        before.ends_with("]=") || before.ends_with("]+=")
    };
    let assigned = command.assigns.iter().map(|assign| &assign.value);
    let redirected = command.redirects.iter().map(|redirect| &redirect.target);
    command.argv.iter().chain(assigned.clone()).any(hides)
        || assigned
            .clone()
            .any(|value| value.kind == WordKind::Literal && value.text.contains("$("))
        || assigned.clone().any(element)
        || redirected.clone().any(hides)
        || command.redirects.iter().any(|redirect| {
            let written = text.get(redirect.target.span.clone()).unwrap_or_default();
            redirect.op == RedirectOp::HereDocument && (redirect.target.quoted || !ends(written))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::read;

    #[test]
    fn commands_come_before_those_of_their_substitutions() {
        assert_eq!(read("a \"$(b `c`)\"; e").unwrap(), ["a $(b `c`)", "b `c`", "c", "e"]);
    }

    #[test]
    fn endless_nesting_is_given_up_on() {
        for open in ["(", "$(", "{ ", "`(", "<(", "\"$("] {
            assert!(read(&open.repeat(100_000)).is_err(), "{open}");
        }
    }

    /// Every command that bashlex was seen to read is read here, or the text is given up on; what it
    /// gave up on is given up on. Rows marked `unlike` are known to be read otherwise.
    #[test]
    fn no_command_that_bashlex_sees_is_missed() {
        let path = "/../../tests/vectors/001-connectonion/bash.jsonl";
        let rows = std::fs::read_to_string([env!("CARGO_MANIFEST_DIR"), path].concat()).unwrap();
        let mut surprises = Vec::new();
        for row in rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap()) {
            let read = read(row["command"].as_str().unwrap());
            let missed = match (&read, row["subcommands"].as_array()) {
                (Err(_), _) => false,
                (Ok(_), None) => true,
                (Ok(ours), Some(theirs)) => {
                    let mut ours = ours.clone();
                    theirs.iter().any(|one| {
                        let at = ours.iter().position(|our| one == our);
                        at.map(|at| ours.swap_remove(at)).is_none()
                    })
                }
            };
            if missed != row.get("unlike").is_some() {
                surprises.push(format!("{row}: {read:?}"));
            }
        }
        assert_eq!(surprises, Vec::<String>::new());
    }
}
