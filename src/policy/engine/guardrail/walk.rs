//! Walks through a call of any tool and passes what it names to a sink: its commands and everything
//! that runs behind them, its paths, its texts.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value as Json;

use crate::engine::guardrail::territory::{Expansions, pieces};
use crate::facts::argument_names::{CONTENTS, NEW_TEXTS, OLD_TEXTS, PATCHES};
use crate::facts::call::Call;
use crate::facts::edited_files::EditedFiles;
use crate::facts::links::Lookups;
use crate::facts::paths::{self, Directories, UNKNOWN, readings};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::{Depth, Program, Role};
use crate::facts::programs::input::{
    Texts, has_role, is_interpreter, makes_program, may_run_words, reads_program, texts,
};
use crate::facts::programs::{self, Words, listed};
use crate::facts::tools::Kind;
use crate::facts::values::paths_of;
use crate::facts::working_directory::known;
use crate::facts::wrappers::{Inner, Passage, Unwrapped, base, unwrap};
use crate::shell::{self, Command, Dialect, PipePosition, RedirectOp, Scan, Via, Word, WordKind};

/// Passes everything that a call names to a sink.
pub(super) fn walk(
    call: &Call,
    scan: Option<(&str, &Scan<'_>)>,
    dirs: Directories<'_>,
    sink: &mut impl Sink,
) {
    let bases = Bases::of(dirs.cwd);
    let Some((text, scan)) = scan else {
        if call.kind() == Kind::Shell {
            sink.unseen("is not where a command stands");
        }
        return walk_tool(call, &bases, sink);
    };
    let mut commands = Commands::new(sink, dirs);
    commands.text(text, scan, &bases, 0);
    // Arguments beside the command: another command, a folder, an environment.
    for (key, value) in call.args.as_object().into_iter().flatten() {
        // `description` is prose for people.
        let other = value.as_str().filter(|other| *other != text && key != "description");
        if let Some(other) = other {
            commands.beside(other, &bases);
        }
    }
}

// One command, or one call of another tool: what it names, and relative to what.

/// A text that a command or a call may turn into a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'o> {
    pub(crate) text: &'o str,
    /// A shell expands the variables in it.
    pub(crate) is_dynamic: bool,
    pub(crate) usage: Usage,
}

/// The directories that relative paths may refer to.
#[derive(Clone, Debug)]
pub(crate) struct Bases<'b> {
    /// The working directory of the call; `None` when unknown.
    pub(crate) cwd: Option<&'b str>,
    /// The directories in which the command may run, as far as they can be determined.
    pub(crate) sure: Vec<Cow<'b, str>>,
    /// The text changes the directory somewhere, so it may also run in any folder above.
    pub(crate) is_loose: bool,
    /// The text changes to a directory that is known only at run time.
    pub(crate) is_lost: bool,
}

impl<'b> Bases<'b> {
    /// Creates the bases of a call with this working directory.
    pub(crate) fn of(cwd: Option<&'b str>) -> Self {
        let cwd = cwd.filter(|cwd| cwd.starts_with('/'));
        let sure = cwd.map(Cow::Borrowed).into_iter().collect();
        // Without a working directory, a relative path may start anywhere.
        Self { cwd, sure, is_loose: cwd.is_none(), is_lost: false }
    }
}

/// Receives what is found in a call, in order.
pub(crate) trait Sink {
    /// Receives a command or call with its operands.
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>);

    /// Receives a text that may contain anything: a here-document, an interpreter's program.
    fn text(&mut self, text: &str, bases: &Bases<'_>);

    /// Receives the values of a call that may connect to what they name.
    fn values(&mut self, _values: &[&str]) {}

    /// Receives the words of a command.
    fn command(&mut self, _argv: &[Word<'_>]) {}

    /// Receives the words of what may be a command.
    fn guessed(&mut self, argv: &[Word<'_>]) {
        self.command(argv);
    }

    /// Receives a text that a program of this name is given and may run.
    fn given(&mut self, _program: &str, _text: &str) {}

    /// Receives the file of a redirect, which may be a connection.
    fn redirect(&mut self, _target: &Word<'_>) {}

    /// Receives a command of a text with its assignments and redirects.
    fn whole(&mut self, _command: &Command<'_>) {}

    /// Receives the news that the last command gets further words, known only when it runs.
    fn opened(&mut self) {
        self.unseen("gets names that are only known when it runs");
    }

    /// Receives the news that a part cannot be seen and may reach anything.
    fn unseen(&mut self, _why: &'static str) {}

    /// Returns true when nothing that follows can change the finding.
    fn is_done(&self) -> bool {
        false
    }
}

/// Returns the path that a text names from a base, for a look-up on the host.
pub(crate) fn joined(base: &str, text: &str) -> String {
    if text.starts_with('/') { text.to_owned() } else { [base, "/", text].concat() }
}

// Walks the commands of a shell text and everything that runs behind them.

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;

/// Limit on the words behind commands that are looked at. In a chain of programs that may each run
/// the next in several ways, they multiply: 15 KiB of `fd -xa` took 4 s.
const MOST_BEHIND: usize = 8_000;
/// Limit on the directories in which one command may run.
const MOST_BASES: usize = 64;
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
            let mut sure = bases.sure.clone();
            for directory in known(scan, command) {
                self.gone(bases, &directory, &mut sure);
            }
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
        if self.is_guess { self.sink.guessed(argv) } else { self.sink.command(argv) }
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

    /// Adds the directories that the text may be in.
    fn gone(&self, bases: &Bases<'_>, directory: &str, all: &mut Vec<Cow<'_, str>>) {
        let directory = match (directory.strip_prefix('~'), self.dirs.home) {
            (Some(rest), Some(home)) => [home, rest].concat(),
            _ => directory.to_owned(),
        };
        for base in &bases.sure {
            let there = joined(base, &directory);
            if !all.iter().any(|known| **known == there) {
                all.push(there.into());
            }
        }
        // Beyond the limit, `is_loose` still covers every folder above ours.
        all.truncate(MOST_BASES);
    }

    fn command(&mut self, command: &Command<'_>, bases: &Bases<'_>, depth: u32) {
        let name = name_of(&command.argv);
        let mut operands = Vec::with_capacity(command.argv.len() + command.redirects.len());
        let (usage, walks_here) = usage(&command.argv);
        let behind = unwrap(&command.argv);
        // The operands are those of the inner command, which is checked on its own.
        let usage = if is_transparent(behind.as_ref()) { Usage::Names } else { usage };
        for (at, word) in command.argv.iter().enumerate() {
            // A bare name is looked up in `PATH` and opens nothing in the working directory.
            if at == 0 && is_bare(word) {
                continue;
            }
            let prose = is_prose(&command.argv, at);
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
        // A variable may name a program to run (`GIT_PAGER=…`).
        if !command.argv.is_empty() {
            command.assigns.iter().for_each(|assign| self.sink.given("", &assign.value.text));
        }
        self.run_by(&command.argv, behind, command, bases, depth);
    }

    /// Checks what the words of a command run: their texts, and what is behind them or read as a
    /// program.
    fn run_by(
        &mut self,
        argv: &[Word<'_>],
        behind: Option<Unwrapped<'_, '_>>,
        command: &Command<'_>,
        bases: &Bases<'_>,
        depth: u32,
    ) {
        let name = name_of(argv);
        let words = argv.get(1..).unwrap_or_default();
        self.programmed(name, words, bases, depth);
        match behind {
            Some(behind) => self.behind(&behind, command, bases, depth),
            None if makes_program(name, words) => {
                self.unseen("is a program that is made when it runs");
            }
            None if reads_program(name, words) => self.input(None, command, bases, depth),
            None => {}
        }
    }

    /// Passes the texts among a command's words to the sink, unless they are commands themselves.
    fn given(&mut self, argv: &[Word<'_>], behind: Option<&Unwrapped<'_, '_>>) {
        let Some(name) = argv.first().and_then(Word::literal).map(base) else { return };
        let assigns = behind.into_iter().flat_map(|behind| &behind.assigns);
        assigns.for_each(|word| self.sink.given("", &word.text));
        if is_transparent(behind) {
            return;
        }
        let is_text = |at: usize, word: &Word<'_>| {
            word.text.contains(char::is_whitespace) && !is_prose(argv, at)
        };
        let all = || argv.iter().enumerate().skip(1).filter(|(at, word)| is_text(*at, word));
        let name = match texts(name) {
            Texts::Keeps if all().next().is_none() || !may_run_words(argv) => return,
            // Of an option, and not of the program.
            Texts::Keeps => "",
            Texts::Runs | Texts::MayRun => name,
        };
        all().for_each(|(_, word)| self.sink.given(name, &word.text));
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
        let (usage, walks_here) = usage(argv);
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
        self.run_by(argv, behind, command, bases, depth);
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
    fn beside(&mut self, text: &str, bases: &Bases<'_>) {
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

// Collects what a call of another tool than a shell names: any text may be a path or a pattern.

/// Returns true for arguments that are content and name nothing.
fn is_content(key: &str) -> bool {
    key == "description"
        || [CONTENTS, OLD_TEXTS, NEW_TEXTS].iter().any(|names| names.contains(&key))
}

/// Arguments that other arguments are relative to.
const FOLDERS: Words = "path directory dir_path dir cwd workdir working_directory root base";

/// Passes the texts of a call to a sink.
pub(crate) fn walk_tool(call: &Call, bases: &Bases<'_>, sink: &mut impl Sink) {
    let mut texts = Vec::new();
    // What a patch adds and removes is content; the files that it names are not.
    let edited = (call.kind() == Kind::Edit).then(|| EditedFiles::of(&call.args));
    let patched = edited.as_ref().filter(|edited| edited.is_exact);
    texts_of(&call.args, call.kind(), patched.is_some(), &mut texts);
    texts.extend(patched.iter().flat_map(|edited| edited.files.iter().map(|file| file.path)));
    let usage = usage_of_argument(call);
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let is_path = !matches!(call.kind(), Kind::Other | Kind::Skill | Kind::Fetch);
    let mut named: Vec<Cow<'_, str>> = Vec::with_capacity(texts.len());
    for text in texts.iter().copied() {
        if is_path { named.extend(readings(text, dirs)) } else { named.push(Cow::Borrowed(text)) }
    }
    let resolved = call.resolved.iter().map(String::as_str);
    let mut operands: Vec<Operand<'_>> = named
        .iter()
        .map(|text| &**text)
        .chain(resolved)
        .map(|text| Operand { text, is_dynamic: false, usage })
        .collect();
    if walks_here(call) {
        operands.push(Operand { text: ".", is_dynamic: false, usage: Usage::Walks });
    }
    let bases = Bases { sure: folders(call, bases), ..bases.clone() };
    sink.site(&operands, &bases);
    for text in &texts {
        sink.text(text, &bases);
    }
    // Paths may end in a number of their own: `src/main.rs:7117`.
    if matches!(call.kind(), Kind::Fetch | Kind::Other) && !sink.is_done() {
        let mut numbers = Vec::new();
        numbers_of(&call.args, &mut numbers);
        texts.extend(numbers.iter().map(String::as_str));
        sink.values(&texts);
    }
}

/// Collects the whole numbers of a call's arguments, any of which may be a port.
fn numbers_of(args: &Json, numbers: &mut Vec<String>) {
    match args {
        Json::Number(number) => {
            let port = number.as_f64().filter(|port| (0.0..=65_535.0).contains(port));
            numbers.extend(port.map(|port| port.to_string()));
        }
        Json::Array(items) => items.iter().for_each(|item| numbers_of(item, numbers)),
        Json::Object(map) => map.values().for_each(|value| numbers_of(value, numbers)),
        Json::Null | Json::Bool(_) | Json::String(_) => {}
    }
}

/// Returns the working directory and the folders that the arguments name.
fn folders<'b>(call: &'b Call, bases: &Bases<'b>) -> Vec<Cow<'b, str>> {
    let mut all = bases.sure.clone();
    for folder in FOLDERS.split(' ').filter_map(|key| call.args.get(key)?.as_str()) {
        let below = bases.sure.first().map(|cwd| joined(cwd, folder));
        match (folder.starts_with('/'), below) {
            (true, _) => all.push(Cow::Borrowed(folder)),
            (false, Some(below)) => all.push(Cow::Owned(below)),
            (false, None) => {}
        }
    }
    all
}

/// Collects every text that may name a file, a program or an address.
fn texts_of<'c>(args: &'c Json, kind: Kind, patched: bool, texts: &mut Vec<&'c str>) {
    let whole = patched && args.is_string();
    let mut rest: Vec<(&'c Json, bool)> = vec![(args, whole)];
    while let Some((json, content)) = rest.pop() {
        match json {
            // For an unknown tool, even content may be a path.
            Json::String(text) if !content || kind == Kind::Other && !text.contains('\n') => {
                texts.push(text);
            }
            Json::Array(items) => rest.extend(items.iter().map(|item| (item, content))),
            Json::Object(map) => rest.extend(map.iter().map(|(key, value)| {
                // A search pattern names text and not a file.
                let searched = kind == Kind::Grep && key == "pattern";
                let patch = patched && (PATCHES.contains(&key.as_str()) || key == "command");
                (value, content || searched || patch || is_content(key))
            })),
            _ => {}
        }
    }
}

fn usage_of_argument(call: &Call) -> Usage {
    match call.kind() {
        // A search opens every file below, and an unknown tool may.
        Kind::Grep | Kind::Other => Usage::Walks,
        Kind::Read if call.tool == "read_many_files" => Usage::Walks,
        Kind::Skill => Usage::Names,
        _ => Usage::Opens,
    }
}

/// Returns true when the call searches the working directory because it names no path.
fn walks_here(call: &Call) -> bool {
    let named = ["path", "paths", "directory", "dir_path"];
    call.kind() == Kind::Grep
        && !named.iter().any(|key| match call.args.get(key) {
            Some(Json::String(text)) => !text.is_empty(),
            Some(Json::Array(items)) => !items.is_empty(),
            _ => false,
        })
}

/// The use that a program makes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// Prints its name only.
    Names,
    /// Opens that file or folder, and nothing below it.
    Opens,
    /// May go through everything below.
    Walks,
}

/// Returns the use of a command's operands, and whether the program walks through the working
/// directory without an operand.
pub(crate) fn usage(argv: &[Word<'_>]) -> (Usage, bool) {
    let words = argv.get(1..).unwrap_or_default();
    // An unknown program may go through everything.
    let Some(program) = described(argv) else { return (Usage::Walks, false) };
    match program.depth {
        Depth::Names => (Usage::Names, false),
        Depth::Opens => (Usage::Opens, false),
        Depth::Walks => (Usage::Walks, false),
        Depth::WalksHere => (Usage::Walks, true),
        Depth::WalksWith { letters, longs, here } => {
            let args = Arguments::of(program, words);
            if args.flag(letters) || args.long(longs) {
                (Usage::Walks, here)
            } else {
                (Usage::Opens, false)
            }
        }
        Depth::WalksHereWith(list) => {
            (Usage::Walks, words.iter().any(|word| listed(list, &word.text)))
        }
    }
}

fn described(argv: &[Word<'_>]) -> Option<&'static Program> {
    argv.first().and_then(Word::literal).map(programs::base).and_then(programs::exact)
}

/// Returns true when the word is prose and not a path (`commit -m TEXT`).
fn is_prose(argv: &[Word<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| argv.get(before));
    before.filter(|option| option.text.starts_with('-')).is_some_and(|option| {
        described(argv).is_some_and(|program| listed(program.prose, &option.text))
    })
}

// The paths and programs that a caller with access to the host should look up.

/// Returns the paths and programs that a call may name, for a caller that can look up their targets
/// and pass them to [`crate::follow`].
#[must_use]
pub fn lookups(call: &Call) -> Lookups {
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let lookups = Lookups {
        files: paths_of(call).into_iter().filter(|path| path.starts_with('/')).collect(),
        cwd: call.cwd.clone(),
        home: call.home.clone(),
        ..Lookups::default()
    };
    let mut collector = Collector { home: dirs.home, lookups, seen: HashSet::new() };
    // The working directory may itself be a link.
    if let Some(cwd) = dirs.cwd {
        collector.path(cwd.to_owned());
    }
    for path in paths_of(call) {
        collector.path(path);
    }
    if call.kind() == Kind::Question {
        return collector.lookups;
    }
    let scan = call.scan();
    let scan = scan.as_ref().map(|(text, scan)| (*text, scan));
    walk(call, scan, dirs, &mut collector);
    collector.lookups
}

/// Limit on the paths that are looked up.
const MOST: usize = 4096;

/// Collects paths and programs.
struct Collector<'h> {
    home: Option<&'h str>,
    lookups: Lookups,
    seen: HashSet<String>,
}

impl Collector<'_> {
    fn path(&mut self, path: String) {
        // Without a folder nobody knows where a relative path begins, and it is not the root.
        let is_known = path.starts_with('/') && !path.contains(UNKNOWN);
        if !is_known || of_its_opener(&path) || path.len() > 4096 {
            return;
        }
        if self.seen.len() >= MOST {
            self.lookups.is_cut = true;
        } else if self.seen.insert(path.clone()) {
            self.lookups.paths.push(path);
        }
    }
}

/// Returns true for the kernel's links that refer to the process that opens them. Looked up here,
/// `/dev/stderr` would be a file of the daemon.
fn of_its_opener(path: &str) -> bool {
    const OWN: &[&str] =
        &["/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
    // Behind a link, `..` leads elsewhere than its text says.
    let plain = !path.split('/').any(|part| part == "..");
    let path = paths::clean(path, Directories::default());
    plain && OWN.iter().any(|own| paths::within(&path, own))
}

impl Sink for Collector<'_> {
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>) {
        for operand in operands {
            let expansions = Expansions { home: self.home, variables: operand.is_dynamic };
            for piece in pieces(operand.text) {
                for spelling in expansions.of(piece) {
                    let root = [Cow::Borrowed("/")];
                    let rooted = spelling.text.starts_with('/');
                    for base in if rooted { &root[..] } else { &bases.sure } {
                        self.path(joined(base, &spelling.text));
                    }
                }
            }
            if self.is_done() {
                return;
            }
        }
    }

    fn text(&mut self, _text: &str, _bases: &Bases<'_>) {}

    fn command(&mut self, argv: &[Word<'_>]) {
        let Some(first) = argv.first() else { return };
        if !matches!(first.kind, WordKind::Literal | WordKind::Home) {
            return;
        }
        let name = &*first.text;
        self.lookups.obeys_folder |= programs::is(argv, Role::ObeysFolder);
        if self.lookups.programs.len() < 256
            && !self.lookups.programs.iter().any(|known| known == name)
        {
            self.lookups.programs.push(name.to_owned());
        }
    }

    fn is_done(&self) -> bool {
        self.lookups.is_cut
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::guardrail::walk::lookups;
    use crate::facts::call::Call;

    #[test]
    fn links_of_the_process_that_opens_them_are_not_looked_up() {
        let call = Call {
            cwd: Some("/w".to_owned()),
            ..Call::shell(
                "echo x < notes > /dev/stderr; cat /dev/./fd/3 //dev/stdin /proc/self/fd/0 a/../b",
            )
        };
        assert_eq!(lookups(&call).paths, ["/w", "/w/x", "/w/notes", "/w/a/../b"]);
    }
}
