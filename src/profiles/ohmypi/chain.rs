//! Decides for which texts an allow pattern may vouch.

use std::sync::LazyLock;

use regex::Regex;

use super::segments::ESCAPABLE;

/// One command of a flat chain.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The text as written.
    pub(super) text: String,
    /// The words without quotes.
    pub(super) argv: Vec<String>,
}

const CONTROLS: [char; 11] = ['\n', '\r', ';', '&', '|', '<', '>', '`', '$', '(', ')'];

/// Returns true when a text does more than run one command with the words that it shows: unquoted
/// control characters, expansions, or quoted control characters beside an option that evaluates its
/// argument (`-c`, `-e`, `--command`, `--eval`).
pub(super) fn controls(text: &str) -> bool {
    let mut quoted = false;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => quoted |= CONTROLS.contains(&c),
            (_, '\\') => quoted |= chars.next().is_some_and(|c| CONTROLS.contains(&c)),
            // Substitutions also run inside double quotes.
            (Some(_), '`' | '$') => return true,
            (Some(_), c) => quoted |= CONTROLS.contains(&c),
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if CONTROLS.contains(&c) => return true,
            (None, _) => {}
        }
    }
    // Quoted control characters matter only if an option evaluates its argument again.
    quoted && REREAD.as_ref().is_none_or(|reread| reread.is_match(text))
}

/// Matches an option that evaluates its argument, or a cluster of options that ends in one.
/// FAIL-CLOSED: if the expression could not be compiled, quoted control characters alone would
/// count.
static REREAD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:^|[ \t])(?:-[^-]*[ce]|--(?:command|eval))(?:[= \t]|$)").ok());

/// Splits a text into two or more commands of literal words joined with `&&`. Returns `None` for
/// any other text, also for commands that change the shell itself or run others.
pub(super) fn chain(text: &str) -> Option<Vec<Link>> {
    if text.chars().any(|c| (c < ' ' && c != '\t') || c == '\u{7f}') {
        return None;
    }
    let mut links = Vec::new();
    let mut reader = ChainReader { chars: text.char_indices().peekable(), argv: Vec::new() };
    let mut start = 0;
    loop {
        let end = reader.link()?;
        let written = text.get(start..end.unwrap_or(text.len()))?;
        let argv = std::mem::take(&mut reader.argv);
        if !is_plain(&argv) {
            return None;
        }
        links.push(Link { text: written.trim().to_owned(), argv });
        let Some(end) = end else { break };
        start = end + "&&".len();
    }
    (links.len() > 1).then_some(links)
}

struct ChainReader<'t> {
    chars: std::iter::Peekable<std::str::CharIndices<'t>>,
    argv: Vec<String>,
}

impl ChainReader<'_> {
    /// Reads to the next `&&` and returns its offset; `Some(None)` at the end of the text.
    fn link(&mut self) -> Option<Option<usize>> {
        let mut word: Option<String> = None;
        while let Some((at, c)) = self.chars.next() {
            match c {
                ' ' | '\t' => self.argv.extend(word.take()),
                '\'' => self.single(word.get_or_insert_default())?,
                '"' => self.double(word.get_or_insert_default())?,
                '\\' => word.get_or_insert_default().push(self.chars.next()?.1),
                '&' => {
                    // A single `&` starts a background job, which is no flat chain.
                    self.chars.next_if(|(_, next)| *next == '&')?;
                    self.argv.extend(word);
                    return Some(Some(at));
                }
                // A comment: bash would not run what follows.
                '#' if word.is_none() => return None,
                // The shell may expand these, so the words are not literal.
                '*' | '?' | '[' | ']' | '{' | '}' | '~' => return None,
                c if CONTROLS.contains(&c) => return None,
                c => word.get_or_insert_default().push(c),
            }
        }
        self.argv.extend(word);
        Some(None)
    }

    fn single(&mut self, word: &mut String) -> Option<()> {
        loop {
            match self.chars.next()?.1 {
                '\'' => return Some(()),
                c => word.push(c),
            }
        }
    }

    fn double(&mut self, word: &mut String) -> Option<()> {
        loop {
            match self.chars.next()?.1 {
                '"' => return Some(()),
                '$' | '`' => return None,
                '\\' => {
                    let (_, next) = *self.chars.peek()?;
                    let escaped = self.chars.next_if(|(_, next)| ESCAPABLE.contains(next));
                    word.push(if escaped.is_some() { next } else { '\\' });
                }
                c => word.push(c),
            }
        }
    }
}

/// Returns true for a program that neither changes the shell nor runs what its words say.
fn is_plain(argv: &[String]) -> bool {
    let Some((program, args)) = argv.split_first() else { return false };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    !program.is_empty()
        && !argv.iter().any(|word| is_assignment(word))
        && !args.iter().any(|word| has_code(word))
        && !STATEFUL.contains(&name)
        && !INTERPRETERS.contains(&name)
}

/// Returns true for an option whose argument is code: `-c`, `-xe`, `--eval`, `--command=…`.
fn has_code(word: &str) -> bool {
    let short = word.strip_prefix('-').is_some_and(|name| !name.contains('-'));
    let long = word.split('=').next().unwrap_or(word);
    (short && word.ends_with(['c', 'e'])) || matches!(long, "--command" | "--eval")
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Commands and reserved words of bash and zsh that change the shell or evaluate their words.
#[rustfmt::skip]
const STATEFUL: &[&str] = &[
    "!", "-", ".", "[", "[[", "alias", "autoload", "bg", "bindkey", "break", "builtin", "bye",
    "case", "cd", "chdir", "command", "continue", "coproc", "declare", "dirs", "disable",
    "disown", "do", "done", "elif", "else", "emulate", "enable", "esac", "eval", "exec", "exit",
    "export", "fc", "fg", "fi", "for", "function", "functions", "getopts", "hash", "history",
    "if", "in", "jobs", "let", "limit", "local", "logout", "mapfile", "popd", "print", "printf",
    "pushd", "read", "readarray", "readonly", "rehash", "return", "sched", "select", "set",
    "setopt", "shift", "shopt", "source", "suspend", "test", "then", "time", "times", "trap",
    "typeset", "ulimit", "umask", "unalias", "unfunction", "unhash", "unlimit", "unset",
    "unsetopt", "until", "vared", "wait", "while", "zle", "zmodload", "zparseopts", "zstyle",
];

/// Programs that run the commands in their words.
#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "ash", "bash", "busybox", "csh", "dash", "env", "fish", "ksh", "nocorrect", "noglob", "sh",
    "sudo", "tcsh", "zsh",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::{Link, chain, controls};

    #[test]
    fn a_flat_chain_of_literal_words_is_read_and_nothing_else() {
        let link = |text: &str, argv: &[&str]| Link {
            text: text.to_owned(),
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
        };
        assert_eq!(
            chain("cmp \"a b\" c && rm -f 'a b'").unwrap(),
            [
                link("cmp \"a b\" c", &["cmp", "a b", "c"]),
                link("rm -f 'a b'", &["rm", "-f", "a b"])
            ]
        );
        for text in [
            "ls",
            "a || b",
            "a & b",
            "a && b\nc",
            "a && $b",
            "a && \"$b\"",
            "a && b > c",
            "a && ''",
            "a && X=1 b",
            "a && b # c",
            "a && ~/b",
            "a && b 'c",
            "a && perl -e x",
            "a &&",
            "cd x && b",
        ] {
            assert_eq!(chain(text), None, "{text}");
        }
    }

    #[test]
    fn control_characters_count_where_something_reads_them() {
        for text in ["a; b", "a \"$x\"", "git -c 'a=!b; c' x", "sh -c \"a;b\"", "a\\;b --eval"] {
            assert!(controls(text), "{text}");
        }
        for text in ["cargo bench '^a/(10|100)$'", "a '$x'", "git -c a=b x", "a \"b;c\""] {
            assert!(!controls(text), "{text}");
        }
    }
}
