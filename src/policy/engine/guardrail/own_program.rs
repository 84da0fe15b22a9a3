//! The bridge's own program: which of its command lines an agent may run. They are read as its own
//! parser reads them; what cannot be read is denied.

use super::reach::Reach;
use crate::facts::wrappers::base;
use crate::shell::{Word, WordKind};

/// What a command of the bridge's own program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Tells, and changes nothing.
    Tells,
    /// Asks the daemon that its config names.
    Asks,
    /// Has commands of its own, of which these only tell; without one it tells too.
    Has(&'static [&'static str]),
    /// Answers, grants, starts, or changes what is set up.
    Decides,
}

/// Every command, as the program's own parser knows them (a test of the program compares).
pub const COMMANDS: &[(&str, Command)] = &[
    ("serve", Command::Decides),
    ("init", Command::Decides),
    ("inbox", Command::Decides),
    ("doctor", Command::Tells),
    ("ask", Command::Asks),
    ("run", Command::Asks),
    ("hook", Command::Asks),
    ("host", Command::Asks),
    ("connect", Command::Decides),
    ("disconnect", Command::Decides),
    ("pending", Command::Tells),
    ("approve", Command::Decides),
    ("deny", Command::Decides),
    ("answer", Command::Decides),
    ("grants", Command::Has(&[])),
    ("backup", Command::Decides),
    ("policy", Command::Has(&["check", "explain", "test", "import", "score"])),
    ("completions", Command::Tells),
    ("schema", Command::Tells),
    ("help", Command::Tells),
];

/// Options in front of, or behind, any command, that take a value.
pub const WITH_VALUE: &[&str] = &["--config"];

/// Options that print something and end.
pub const PRINTING: &[&str] = &["--help", "-h", "--version", "-V"];

/// Commands whose names mean nothing else, to find them behind other programs.
const ANSWERING: &[&str] = &["approve", "deny", "answer"];

/// Programs that run the text that they are given.
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "osascript",
    "expect",
    "tclsh",
    "pwsh",
    "powershell",
    "Rscript",
    "julia",
    "ghci",
    "guile",
    "emacs",
    "vim",
    "nvim",
    "ed",
    "make",
    "gdb",
    "alias",
];

/// The bridge's own program.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnProgram {
    names: Vec<String>,
}

impl OwnProgram {
    /// The program under these names, or paths.
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn is_named(&self, text: &str) -> bool {
        self.names.iter().any(|own| own == text || own.eq_ignore_ascii_case(base(text)))
    }

    /// What a command means for the bridge's own program; `is_ours` knows it by other names.
    pub(super) fn judge(&self, argv: &[Word<'_>], is_ours: impl Fn(&str) -> bool) -> Option<Reach> {
        let (first, args) = argv.split_first().filter(|_| !self.is_empty())?;
        let Some(name) = first.literal().or_else(|| of_home(first)) else {
            let words: Vec<&str> = args.iter().map_while(Word::literal).collect();
            let (answers, ..) = command(&words)?;
            let may = args.len() > 1 && ANSWERING.contains(&answers);
            return may.then(|| Reach::Denied(decides(&first.text, answers)));
        };
        if self.is_named(name) || is_ours(name) {
            return judge_words(base(name), args);
        }
        match base(name) {
            "cargo" => self.behind_cargo(args),
            name if INTERPRETERS.contains(&name) => self.in_texts(name, args),
            _ => None,
        }
    }

    /// `cargo run -- approve ID`
    fn behind_cargo(&self, args: &[Word<'_>]) -> Option<Reach> {
        let run = args.iter().position(|word| matches!(&*word.text, "run" | "r"))?;
        let mut behind = args.get(run..)?.iter().skip_while(|word| word.text != "--").skip(1);
        let answers = |word: &Word<'_>| {
            word.literal().is_none_or(|word| ANSWERING.contains(&word) || word == "revoke")
        };
        let found = behind.find(|word| answers(word))?;
        Some(match found.literal() {
            Some(word) => Reach::Denied(decides("cargo run --", word)),
            None => Reach::Asks("What `cargo run` runs is only known when it runs.".to_owned()),
        })
    }

    /// A text of an interpreter that has our name in it.
    fn in_texts(&self, name: &str, args: &[Word<'_>]) -> Option<Reach> {
        let mut texts = args.iter().map(|word| &*word.text);
        let text = texts
            .find(|text| self.names.iter().any(|own| !own.contains('/') && has_word(text, own)))?;
        match COMMANDS.iter().find(|(command, does)| {
            (*does == Command::Decides || *command == "grants") && has_word(text, command)
        }) {
            Some((command, _)) => Some(Reach::Denied(decides(name, command))),
            None => {
                Some(Reach::Asks(format!("The text of {name} may run the bridge's own program.")))
            }
        }
    }
}

/// `~/bin/x`
fn of_home<'w>(word: &'w Word<'_>) -> Option<&'w str> {
    (word.kind == WordKind::Home).then_some(&*word.text)
}

fn judge_words(name: &str, args: &[Word<'_>]) -> Option<Reach> {
    let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    let prefix: Vec<&str> = args.iter().map_while(Word::literal).collect();
    match (words, does(&prefix)) {
        (_, Line::Decides(command)) => Some(Reach::Denied(decides(name, command))),
        (Some(_), Line::Tells) => None,
        (_, Line::AsksAnother) => Some(Reach::Asks(format!(
            "`{name}` is given another config, and may ask another daemon."
        ))),
        // Words of the command that it asks about, or of the question.
        (_, Line::Asks) => None,
        (None, Line::Tells) | (_, Line::Unreadable) => Some(Reach::Denied(format!(
            "What `{name}` would do here cannot be read; an agent cannot approve itself."
        ))),
    }
}

/// What a command line of our own program comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'w> {
    Tells,
    Asks,
    /// Asks, with a config that the caller chose.
    AsksAnother,
    Decides(&'w str),
    Unreadable,
}

fn does<'w>(words: &[&'w str]) -> Line<'w> {
    let Some((command, rest, configured)) = command(words) else {
        return match words.iter().any(|word| PRINTING.contains(word)) || words.is_empty() {
            true if !words.contains(&"--") => Line::Tells,
            _ => Line::Unreadable,
        };
    };
    let known = COMMANDS.iter().find(|(name, _)| *name == command);
    let configured = configured || asks_another(rest);
    match known.map(|(_, does)| *does) {
        Some(Command::Tells) => Line::Tells,
        Some(Command::Asks) if configured => Line::AsksAnother,
        Some(Command::Asks) => Line::Asks,
        Some(Command::Has(harmless)) => match self::command(rest) {
            None => Line::Tells,
            Some((inner, ..)) if harmless.contains(&inner) => Line::Tells,
            Some((inner, ..)) => Line::Decides(inner),
        },
        Some(Command::Decides) => Line::Decides(command),
        None => Line::Unreadable,
    }
}

/// The first word that is no option and no option's value, what stands behind it, and whether a
/// config stands before it.
fn command<'s, 'w>(words: &'s [&'w str]) -> Option<(&'w str, &'s [&'w str], bool)> {
    let mut rest = words;
    let mut configured = false;
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        if WITH_VALUE.contains(word) {
            configured = true;
            rest = more.get(1..).unwrap_or_default();
        } else if word.starts_with("--config=") {
            configured = true;
        } else if !word.starts_with('-') || *word == "-" {
            return Some((word, more, configured));
        }
    }
    None
}

/// A config behind the command, in front of the words that it asks about.
fn asks_another(words: &[&str]) -> bool {
    let mut own = words.iter().take_while(|word| **word != "--");
    own.any(|word| *word == "--config" || word.starts_with("--config="))
}

/// The word stands in the text, not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, found)| {
        let part =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        !part(before) && !part(text.as_bytes().get(at + found.len()))
    })
}

fn decides(name: &str, command: &str) -> String {
    format!("`{name} {command}` decides about asks; an agent cannot approve itself.")
}
