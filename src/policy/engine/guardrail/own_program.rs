//! The bridge's own program: which of its command lines an agent may run. They are read as the
//! program's own parser reads them; an unreadable one is denied.

use std::borrow::Cow;

use crate::engine::guardrail::GuardrailHit;
use crate::facts::programs::input::{Texts, is_interpreter, may_run_words, texts};
use crate::facts::wrappers::{base, unwrap};
use crate::shell::{Word, WordKind};

/// The effect of a command of the bridge's own program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCommand {
    /// Prints, and changes nothing.
    Tells,
    /// Prints, and changes nothing, unless one of these options or words is given.
    TellsWithout(&'static [&'static str]),
    /// Asks the daemon that its config names.
    Asks,
    /// The same, and starts the program behind `--` before anybody is asked.
    Hosts,
    /// Has sub-commands, of which only these are harmless; without one it only prints.
    Has(&'static [&'static str]),
    /// Answers, grants, starts, or changes the setup.
    Decides,
}

/// Every command that the program's own parser knows (a test of the program compares them).
pub const COMMANDS: &[(&str, OwnCommand)] = &[
    ("up", OwnCommand::Decides),
    ("serve", OwnCommand::Decides),
    ("init", OwnCommand::Decides),
    ("open", OwnCommand::Decides),
    ("inbox", OwnCommand::Decides),
    ("watch", OwnCommand::Decides),
    ("doctor", OwnCommand::TellsWithout(&["--fix"])),
    ("ask", OwnCommand::Asks),
    ("run", OwnCommand::Asks),
    ("verify", OwnCommand::Asks),
    ("hook", OwnCommand::Asks),
    ("host", OwnCommand::Hosts),
    ("acp", OwnCommand::Hosts),
    ("mcp", OwnCommand::Asks),
    ("mcp-proxy", OwnCommand::Hosts),
    ("connect", OwnCommand::Decides),
    ("disconnect", OwnCommand::Decides),
    ("status", OwnCommand::Tells),
    ("approvers", OwnCommand::Has(&["explain"])),
    ("duty", OwnCommand::Tells),
    ("pending", OwnCommand::Tells),
    ("parked", OwnCommand::Has(&[])),
    ("history", OwnCommand::Tells),
    ("digest", OwnCommand::Tells),
    ("suggest", OwnCommand::Tells),
    ("log", OwnCommand::TellsWithout(&["export", "--rotate", "--accept"])),
    ("approve", OwnCommand::Decides),
    ("deny", OwnCommand::Decides),
    ("answer", OwnCommand::Decides),
    ("pause", OwnCommand::Decides),
    ("resume", OwnCommand::Decides),
    ("reload", OwnCommand::Decides),
    ("undo", OwnCommand::Decides),
    ("grants", OwnCommand::Has(&[])),
    ("token", OwnCommand::Has(&[])),
    ("passkeys", OwnCommand::Has(&[])),
    ("backup", OwnCommand::Decides),
    ("restore", OwnCommand::Decides),
    ("policy", OwnCommand::Has(&["check", "explain", "test", "import", "score"])),
    ("docs", OwnCommand::Decides),
    ("completions", OwnCommand::Tells),
    ("man", OwnCommand::Decides),
    ("schema", OwnCommand::Tells),
    ("help", OwnCommand::Tells),
];

/// Options with a value, before or behind any command.
pub const WITH_VALUE: &[&str] = &["--config"];

/// Options that print something and exit.
pub const PRINTING: &[&str] = &["--help", "-h", "--version", "-V"];

/// Commands with names that mean nothing else, to find them behind other programs.
const ANSWERING: &[&str] = &["approve", "deny", "answer"];

/// The bridge's own program.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnProgram {
    names: Vec<String>,
}

impl OwnProgram {
    /// Creates the check for these names or paths of the program.
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn is_named(&self, text: &str) -> bool {
        // Where the file system ignores case, `COUNTERSIGN` starts the same program.
        self.names.iter().any(|own| own == text || own.eq_ignore_ascii_case(base(text)))
    }

    /// Decides a command; `is_ours` recognizes other names of the program.
    pub(super) fn judge(
        &self,
        argv: &[Word<'_>],
        is_ours: impl Fn(&str) -> bool,
    ) -> Option<GuardrailHit> {
        let (first, args) = argv.split_first().filter(|_| !self.is_empty())?;
        let Some(name) = first.literal().or_else(|| of_home(first)) else {
            // `$x approve 7`: the program is unknown, but the words are those of an answer.
            let words: Vec<&str> = args.iter().map_while(Word::literal).collect();
            let (answers, ..) = command(&words)?;
            let may = args.len() > 1 && ANSWERING.contains(&answers);
            return may.then(|| GuardrailHit::Denied(decides(&first.text, answers)));
        };
        if self.is_named(name) || is_ours(name) {
            return judge_words(base(name), args);
        }
        match base(name) {
            "cargo" => self.behind_cargo(args),
            name if is_interpreter(name)
                || texts(name) == Texts::Runs && unwrap(argv).is_none() =>
            {
                self.in_texts(name, args)
            }
            name => self.behind(name, argv),
        }
    }

    /// Checks the words of a program that may run them: `ccache countersign approve ID`.
    fn behind(&self, name: &str, argv: &[Word<'_>]) -> Option<GuardrailHit> {
        if !may_run_words(argv) {
            return None;
        }
        let words: Vec<&str> = argv.iter().skip(1).map_while(Word::literal).collect();
        let decides = |(at, word): (usize, &&str)| {
            let behind = words.get(at + 1..).unwrap_or_default();
            self.is_named(word) && matches!(does(behind), Line::Decides(_))
        };
        words.iter().enumerate().any(decides).then(|| GuardrailHit::Asks(may_run(name)))
    }

    /// Checks `cargo run -- approve ID`.
    fn behind_cargo(&self, args: &[Word<'_>]) -> Option<GuardrailHit> {
        let run = args.iter().position(|word| matches!(&*word.text, "run" | "r"))?;
        let mut behind = args.get(run..)?.iter().skip_while(|word| word.text != "--").skip(1);
        let answers = |word: &Word<'_>| {
            // A word that is known only at run time may be the answer.
            word.literal().is_none_or(|word| ANSWERING.contains(&word) || word == "revoke")
        };
        let found = behind.find(|word| answers(word))?;
        Some(match found.literal() {
            Some(word) => GuardrailHit::Denied(decides("cargo run --", word)),
            None => {
                GuardrailHit::Asks("What `cargo run` runs is only known when it runs.".to_owned())
            }
        })
    }

    /// Checks the texts for an interpreter, where one contains our name.
    fn in_texts(&self, name: &str, args: &[Word<'_>]) -> Option<GuardrailHit> {
        let mut texts = args.iter().map(|word| &*word.text);
        let text = texts.find(|text| self.is_in(text))?;
        match answering(text) {
            Some(command) => Some(GuardrailHit::Denied(decides(name, command))),
            None => {
                Some(GuardrailHit::Asks(format!("The text of {name} may run countersign itself.")))
            }
        }
    }

    /// Checks a text that a program may run.
    pub(super) fn mentioned(&self, name: &str, text: &str) -> Option<GuardrailHit> {
        let does = texts(name);
        let command = answering(text).filter(|_| does != Texts::Keeps && self.is_in(text))?;
        Some(match does {
            Texts::Runs => GuardrailHit::Denied(decides(name, command)),
            Texts::MayRun | Texts::Keeps => GuardrailHit::Asks(may_run(name)),
        })
    }

    fn is_in(&self, text: &str) -> bool {
        let text = bare(text);
        self.names.iter().any(|own| !own.contains('/') && has_word(&text, own))
    }
}

/// Removes what a shell or a small language takes away: `'counter'sign`, `c\ountersign`.
fn bare(text: &str) -> Cow<'_, str> {
    const MARKS: [char; 3] = ['\'', '"', '\\'];
    if text.contains(MARKS) { Cow::Owned(text.replace(MARKS, "")) } else { Cow::Borrowed(text) }
}

/// Returns the command of ours that a text contains and that decides.
fn answering(text: &str) -> Option<&'static str> {
    let decides = |command: &str, does: OwnCommand| match command {
        "grants" | "passkeys" => true,
        // A word of many programs.
        "token" => ["add", "rotate", "revoke"].iter().any(|it| has_word(text, it)),
        _ => does == OwnCommand::Decides,
    };
    let text = &*bare(text);
    let mut found = COMMANDS.iter().filter(|(command, _)| has_word(text, command));
    found.find(|(command, does)| decides(command, *does)).map(|(command, _)| *command)
}

/// Returns the text of `~/bin/x`.
fn of_home<'w>(word: &'w Word<'_>) -> Option<&'w str> {
    (word.kind == WordKind::Home).then_some(&*word.text)
}

fn judge_words(name: &str, args: &[Word<'_>]) -> Option<GuardrailHit> {
    let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    let prefix: Vec<&str> = args.iter().map_while(Word::literal).collect();
    match (words, does(&prefix)) {
        (_, Line::Decides(command)) => Some(GuardrailHit::Denied(decides(name, command))),
        (Some(_), Line::Tells) => None,
        (_, Line::AsksAnother) => Some(GuardrailHit::Asks(format!(
            "`{name}` is given another config, and may ask another daemon."
        ))),
        // The words belong to the command that it asks about, or to the question.
        (_, Line::Asks) => None,
        // By its own name, what it starts is judged as a command too.
        (_, Line::Hosts) if name == "countersign" => None,
        (_, Line::Hosts) => Some(GuardrailHit::Asks(format!(
            "`{name}` is countersign by another name, and starts a program."
        ))),
        (None, Line::Tells) | (_, Line::Unreadable) => Some(GuardrailHit::Denied(format!(
            "What `{name}` would do here cannot be read; an agent cannot approve itself."
        ))),
    }
}

/// The effect of a command line of our own program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'w> {
    Tells,
    Asks,
    /// Asks with a config that the caller chose.
    AsksAnother,
    Hosts,
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
        Some(OwnCommand::Tells) => Line::Tells,
        Some(OwnCommand::TellsWithout(not)) => match rest.iter().find(|it| not.contains(it)) {
            Some(word) => Line::Decides(word),
            None => Line::Tells,
        },
        Some(OwnCommand::Asks | OwnCommand::Hosts) if configured => Line::AsksAnother,
        Some(OwnCommand::Asks) => Line::Asks,
        Some(OwnCommand::Hosts) => Line::Hosts,
        Some(OwnCommand::Has(harmless)) => match self::command(rest) {
            None => Line::Tells,
            Some((inner, ..)) if harmless.contains(&inner) => Line::Tells,
            Some((inner, ..)) => Line::Decides(inner),
        },
        Some(OwnCommand::Decides) => Line::Decides(command),
        None => Line::Unreadable,
    }
}

/// Returns the first word that is neither an option nor an option's value, the words behind it, and
/// whether a config precedes it.
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

/// Returns true when a config follows the command, before the words that it asks about.
fn asks_another(words: &[&str]) -> bool {
    // Behind `--` the words belong to the command that is asked about.
    let mut own = words.iter().take_while(|word| **word != "--");
    own.any(|word| *word == "--config" || word.starts_with("--config="))
}

/// Returns true when the text contains the word, and not only as part of another.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, found)| {
        let part =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        !part(before) && !part(text.as_bytes().get(at + found.len()))
    })
}

fn may_run(name: &str) -> String {
    // A variable's value has no program.
    let name = if name.is_empty() { "It" } else { name };
    format!("{name} may run countersign itself.")
}

fn decides(name: &str, command: &str) -> String {
    format!("`{name} {command}` decides about asks; an agent cannot approve itself.")
}
