//! Walks the commands of a shell text and everything that runs behind them.

use std::borrow::Cow;

use crate::engine::guardrail::programs::{self, Usage};
use crate::engine::guardrail::site::{Bases, Operand, Sink};
use crate::facts::paths::Directories;
use crate::facts::programs::description::Role;
use crate::facts::programs::input::{
    Texts, has_role, is_interpreter, makes_program, reads_program, texts,
};
use crate::facts::working_directory::{WorkingDirectory, after_cd};
use crate::facts::wrappers::{Inner, Passage, Unwrapped, base, unwrap};
use crate::shell::{self, Command, Dialect, PipePosition, RedirectOp, Scan, Via, Word, WordKind};

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;

/// Limit on the words behind commands that are looked at. In a chain of programs that may each run
/// the next in several ways, they multiply: 15 KiB of `fd -xa` took 4 s.
const MOST_BEHIND: usize = 8_000;
/// Bytes of a script that count as one word.
const BYTES: usize = 4;

/// Words with which a program runs another one.
const WAYS: &[&str] = &["system", "exec", "popen", "Popen", "spawn", "subprocess", "`", "qx"];

/// Passes every command of a text to a sink.
pub(crate) struct Commands<'s, 'p, S> {
    sink: &'s mut S,
    dirs: Directories<'p>,
    /// Number of words behind commands that may still be looked at.
    left: usize,
    /// What some part of the text runs is not known.
    is_blind: bool,
    /// The text may be one that runs; only what is certain about it counts.
    is_guess: bool,
}

impl<'s, 'p, S: Sink> Commands<'s, 'p, S> {
    pub(crate) fn new(sink: &'s mut S, dirs: Directories<'p>) -> Self {
        Self { sink, dirs, left: MOST_BEHIND, is_blind: false, is_guess: false }
    }

    pub(crate) fn text(&mut self, source: &str, scan: &Scan<'_>, bases: &Bases<'_>, depth: u32) {
        let was_blind = std::mem::take(&mut self.is_blind);
        // An unreadable text may name anything, so its raw words are checked as well.
        if scan.refusal.is_some() {
            self.sink.text(source, bases);
            self.unseen("cannot be read with certainty");
        }
        // Positions of `cd` do not matter here: a loop or function may run the text in another
        // order.
        let moves = bases.is_loose || scan.commands.iter().any(|command| may_move(&command.argv));
        let lost = bases.is_lost || scan.commands.iter().any(|command| is_lost(&command.argv));
        for command in &scan.commands {
            if self.sink.is_done() {
                return;
            }
            let sure = match after_cd(&scan.commands, command) {
                Some(WorkingDirectory::To(directory)) => self.gone(bases, &directory),
                Some(WorkingDirectory::Unknown) | None => bases.sure.clone(),
            };
            let bases = Bases { cwd: bases.cwd, sure, is_loose: moves, is_lost: lost };
            self.command(command, &bases, depth);
        }
        if self.is_blind && !self.is_guess {
            self.is_guess = true;
            let read = scan.commands.iter().filter(|command| command.via != Via::Guess);
            read.for_each(|command| self.said(command, bases, depth));
            self.is_guess = false;
        }
        self.is_blind |= was_blind;
    }

    fn unseen(&mut self, why: &'static str) {
        if !self.is_guess {
            self.is_blind = true;
            self.sink.unseen(why);
        }
    }

    fn runs(&mut self, argv: &[Word<'_>]) {
        match self.is_guess {
            true => self.sink.guessed(argv),
            false => self.sink.command(argv),
        }
    }

    fn opened(&mut self) {
        if !self.is_guess {
            self.is_blind = true;
            self.sink.opened();
        }
    }

    /// Checks the texts of a command as commands: where it is not known what runs, it may be these
    /// (`eval "$x"`, `printf … | sh`).
    fn said(&mut self, command: &Command<'_>, bases: &Bases<'_>, depth: u32) {
        let words = || command.argv.iter().skip(1).map(|word| &*word.text);
        let joined = [1, 2].map(|from| words().skip(from - 1).collect::<Vec<_>>().join(" "));
        let values = command.assigns.iter().map(|assign| &*assign.value.text);
        let inputs = command.redirects.iter().map(|redirect| &*redirect.target.text);
        for text in joined.iter().map(String::as_str).chain(words()).chain(values).chain(inputs) {
            if text.contains(char::is_whitespace) {
                self.script(text, Dialect::Bash, bases, depth);
            }
        }
    }

    /// Returns the directories that the text may be in. The `cd` may fail, so the old ones stay.
    fn gone<'b>(&self, bases: &Bases<'b>, directory: &str) -> Vec<Cow<'b, str>> {
        let directory = match (directory.strip_prefix('~'), self.dirs.home) {
            (Some(rest), Some(home)) => [home, rest].concat(),
            _ => directory.to_owned(),
        };
        let joined = bases.sure.iter().map(|base| match directory.starts_with('/') {
            true => directory.clone(),
            false => [base, "/", &directory].concat(),
        });
        let mut all: Vec<Cow<'b, str>> = joined.map(Cow::Owned).collect();
        all.extend(bases.sure.iter().cloned());
        // Each `cd` doubles the list. Beyond the limit, `is_loose` still covers every folder above
        // ours.
        all.truncate(16);
        all
    }

    fn command(&mut self, command: &Command<'_>, bases: &Bases<'_>, depth: u32) {
        let name = name_of(&command.argv);
        let mut operands = Vec::with_capacity(command.argv.len() + command.redirects.len());
        let (usage, walks_here) = programs::usage(&command.argv);
        let behind = unwrap(&command.argv);
        // The operands are those of the inner command, which is checked on its own.
        let usage = if is_transparent(behind.as_ref()) { Usage::Names } else { usage };
        for (at, word) in command.argv.iter().enumerate() {
            // A bare name is looked up in `PATH` and opens nothing in the working directory.
            if at == 0 && is_bare(word) {
                continue;
            }
            let prose = programs::is_prose(&command.argv, at);
            let usage = if prose { Usage::Names } else { usage };
            // The file that runs is known by its name.
            let usage = if at == 0 { Usage::Opens } else { usage };
            operands.push(operand(word, usage));
        }
        operands.extend(command.assigns.iter().map(|a| operand(&a.value, Usage::Names)));
        for redirect in &command.redirects {
            match redirect.op {
                RedirectOp::HereDocument | RedirectOp::HereString => {
                    if feeds_a_program(command) {
                        self.sink.text(&redirect.target.text, bases);
                        // A message for `git commit -F -` is no program.
                        if !has_role(name, Role::Many) {
                            self.sink.given(name, &redirect.target.text);
                        }
                    }
                }
                RedirectOp::Duplicate => {}
                _ => {
                    self.sink.redirect(&redirect.target);
                    operands.push(operand(&redirect.target, Usage::Opens));
                }
            }
        }
        // A wrapper that runs something else walks through nothing itself.
        if walks_here && behind.as_ref().is_none_or(|b| b.passage == Passage::Both) {
            operands.push(Operand { text: ".", is_dynamic: false, usage: Usage::Walks });
        }
        self.sink.site(&operands, bases);
        if !self.is_guess {
            self.sink.whole(command);
        }
        self.runs(&command.argv);
        self.given(&command.argv, behind.as_ref());
        let words = command.argv.get(1..).unwrap_or_default();
        self.programmed(name, words, bases, depth);
        // A variable may name a program to run (`GIT_PAGER=…`).
        if !command.argv.is_empty() {
            command.assigns.iter().for_each(|assign| self.sink.given("", &assign.value.text));
        }
        match behind {
            Some(behind) => self.behind(&behind, command, bases, depth),
            None => self.program(name, words, command, bases, depth),
        }
    }

    /// Passes the texts among a command's words to the sink, unless they are commands themselves.
    fn given(&mut self, argv: &[Word<'_>], behind: Option<&Unwrapped<'_, '_>>) {
        let Some(name) = argv.first().and_then(Word::literal).map(base) else { return };
        let assigns = behind.into_iter().flat_map(|behind| &behind.assigns);
        assigns.for_each(|word| self.sink.given("", &word.text));
        if texts(name) == Texts::Keeps || is_transparent(behind) {
            return;
        }
        for (at, word) in argv.iter().enumerate().skip(1) {
            if word.text.contains(char::is_whitespace) && !programs::is_prose(argv, at) {
                self.sink.given(name, &word.text);
            }
        }
    }

    /// Checks the texts in an interpreter's program that runs commands: `awk 'BEGIN
    /// {system("…")}'`.
    fn programmed(&mut self, name: &str, args: &[Word<'_>], bases: &Bases<'_>, depth: u32) {
        let runs = |word: &Word<'_>| WAYS.iter().any(|way| word.text.contains(way));
        let is_programmed = is_interpreter(name) || has_role(name, Role::Programmed);
        if self.is_guess || depth >= MAX_DEPTH || !is_programmed || !args.iter().any(runs) {
            return;
        }
        self.is_guess = true;
        for text in args.iter().map(|word| &*word.text) {
            let plain = text.replace("\\\"", "\u{1}");
            let strings = plain.split(['"', '`', '\'']).map(|part| part.replace('\u{1}', "\""));
            for text in strings.chain([text.to_owned()]).filter(|it| it.contains(' ')) {
                self.script(&text, Dialect::Bash, bases, depth);
            }
        }
        self.is_guess = false;
    }

    /// Looks for a program that a command gets when it runs.
    fn program(
        &mut self,
        name: &str,
        words: &[Word<'_>],
        command: &Command<'_>,
        bases: &Bases<'_>,
        depth: u32,
    ) {
        if makes_program(name, words) {
            self.unseen("is a program that is made when it runs");
        } else if reads_program(name, words) {
            self.input(None, command, bases, depth);
        }
    }

    /// Checks the program that a command reads from its input; a shell's has a dialect.
    fn input(
        &mut self,
        dialect: Option<Dialect>,
        command: &Command<'_>,
        bases: &Bases<'_>,
        depth: u32,
    ) {
        let ops = [RedirectOp::Read, RedirectOp::HereDocument, RedirectOp::HereString];
        let last = command.redirects.iter().rev().find(|redirect| ops.contains(&redirect.op));
        let is_shell = command.argv.first().is_some_and(|it| has_role(base(&it.text), Role::Shell));
        let given = last.filter(|it| it.op != RedirectOp::Read).and_then(|it| it.target.literal());
        match (given, dialect) {
            (Some(text), Some(dialect)) => self.script(text, dialect, bases, depth),
            (Some(text), None) if has_role(name_of(&command.argv), Role::Recipes) => {
                // A makefile doubles the dollars of its recipes.
                let was_guess = std::mem::replace(&mut self.is_guess, true);
                self.script(&text.replace("$$", "$"), Dialect::Bash, bases, depth);
                self.is_guess = was_guess;
            }
            // The text was checked with the redirects.
            (Some(_), None) => {}
            (None, None) if last.is_some_and(|it| it.op == RedirectOp::Read) => {}
            (None, _) if last.is_none() && !command.pipe.reads() && !is_shell => {}
            _ => self.unseen("reads commands that are not in the text"),
        }
    }

    /// Checks the words that run behind a command. The command itself was checked with all of its
    /// words.
    fn argv(
        &mut self,
        argv: &[Word<'_>],
        open: bool,
        command: &Command<'_>,
        bases: &Bases<'_>,
        depth: u32,
    ) {
        if !self.spend(argv.len()) {
            return;
        }
        let (usage, walks_here) = programs::usage(argv);
        let behind = unwrap(argv);
        let usage = if is_transparent(behind.as_ref()) { Usage::Names } else { usage };
        let files = is_find_of_files(command);
        let mut operands = Vec::with_capacity(argv.len());
        for word in argv.iter().skip(1) {
            // `find -exec` and `xargs` fill `{}` with names that may be ours.
            let filled = word.text.contains("{}") && !(files && word.text == "{}");
            let known = operand(word, usage);
            operands.push(Operand { is_dynamic: known.is_dynamic || filled, ..known });
        }
        if walks_here {
            operands.push(Operand { text: ".", is_dynamic: false, usage: Usage::Walks });
        }
        self.sink.site(&operands, bases);
        self.runs(argv);
        self.given(argv, behind.as_ref());
        if open && usage != Usage::Names && behind.is_none() {
            self.opened();
        }
        let (name, words) = (name_of(argv), argv.get(1..).unwrap_or_default());
        self.programmed(name, words, bases, depth);
        match behind {
            Some(behind) => self.behind(&behind, command, bases, depth),
            None => self.program(name, words, command, bases, depth),
        }
    }

    fn behind(
        &mut self,
        behind: &Unwrapped<'_, '_>,
        command: &Command<'_>,
        bases: &Bases<'_>,
        depth: u32,
    ) {
        if depth >= MAX_DEPTH {
            return self.unseen("runs commands inside commands inside commands");
        }
        for inner in &behind.inner {
            match inner {
                Inner::Argv { argv, open } => self.argv(argv, *open, command, bases, depth + 1),
                Inner::Script { text, dialect } => self.script(text, *dialect, bases, depth),
                Inner::Input(dialect) => self.input(Some(*dialect), command, bases, depth),
                Inner::File => {}
                Inner::Unknown => self.unseen("is only known when it runs"),
            }
        }
    }

    /// Takes a cost from the budget; returns false when the budget is spent.
    // FAIL-CLOSED: what exceeds the budget asks.
    fn spend(&mut self, words: usize) -> bool {
        match self.left.checked_sub(words + 1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left = 0;
                self.unseen("may run commands in more ways than can be followed");
                false
            }
        }
    }

    /// Checks a text beside the command, which may be a folder to run in or another command.
    pub(super) fn beside(&mut self, text: &str, bases: &Bases<'_>) {
        let operand = Operand { text, is_dynamic: false, usage: Usage::Opens };
        self.sink.site(&[operand], bases);
        self.sink.text(text, bases);
        // Only a text of several words can be a command with operands.
        if text.contains(char::is_whitespace) {
            self.script(text, Dialect::Bash, bases, 0);
        }
    }

    fn script(&mut self, text: &str, dialect: Dialect, bases: &Bases<'_>, depth: u32) {
        if !self.spend(text.len() / BYTES) {
            return;
        }
        let scan = shell::scan_as(text, dialect);
        self.text(text, &scan, bases, depth + 1);
    }
}

fn name_of<'w>(argv: &'w [Word<'_>]) -> &'w str {
    argv.first().and_then(Word::literal).map(base).unwrap_or_default()
}

fn operand<'o>(word: &'o Word<'_>, usage: Usage) -> Operand<'o> {
    Operand { text: &word.text, is_dynamic: word.kind == WordKind::Dynamic, usage }
}

/// Returns true for a name that is looked up in the folders of programs.
fn is_bare(word: &Word<'_>) -> bool {
    word.literal().is_some_and(|name| !name.contains('/'))
}

/// Returns true for `find -type f`, which fills in no links.
fn is_find_of_files(command: &Command<'_>) -> bool {
    let is = |text: &str| command.argv.iter().any(|word| word.text == text);
    is("-type") && (is("f") || is("d")) && !is("-L") && !is("-follow")
}

/// Returns true when the inner commands account for every word.
fn is_transparent(behind: Option<&Unwrapped<'_, '_>>) -> bool {
    behind.is_some_and(|behind| {
        matches!(behind.passage, Passage::Inner | Passage::DenyOnly)
            && !behind.inner.is_empty()
            && behind.inner.iter().all(|inner| matches!(inner, Inner::Argv { .. }))
    })
}

/// Returns true when a command may change the directory: `cd` and its kin, also behind `command`
/// and `builtin`.
fn may_move(argv: &[Word<'_>]) -> bool {
    argv.iter().take(3).any(|word| matches!(base(&word.text), "cd" | "pushd" | "popd"))
}

/// Returns true when it changes to a directory that is known only at run time.
fn is_lost(argv: &[Word<'_>]) -> bool {
    let known = |word: &Word<'_>| matches!(word.kind, WordKind::Literal | WordKind::Home);
    may_move(argv) && !argv.iter().all(known)
}

/// Returns true when a here-document is input of a program. For `cat` and `tee` it is content,
/// unless they pass it on.
fn feeds_a_program(command: &Command<'_>) -> bool {
    let name = command.argv.first().and_then(Word::literal).map(base);
    let writes_on = matches!(command.pipe, PipePosition::First | PipePosition::Middle);
    writes_on || !matches!(name, Some("cat" | "tee"))
}
