//! Everything that a call names or runs, collected once.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value as Json;

use crate::engine::commands::obeyed_files::written;
use crate::engine::guardrail::commands::Commands;
use crate::engine::guardrail::programs::{Usage, usage};
use crate::engine::guardrail::route::UNKNOWN;
use crate::engine::guardrail::site::{Bases, Operand, Sink, joined};
use crate::engine::guardrail::spelling::{Expansions, pieces};
use crate::engine::guardrail::tools;
use crate::engine::matcher::unread;
use crate::facts::call::Call;
use crate::facts::links::LinkTarget;
use crate::facts::paths::Directories;
use crate::facts::programs::description::{Files, Role};
use crate::facts::programs::{self, listed};
use crate::facts::tools::{Kind, known_names};
use crate::facts::values::Value;
use crate::facts::wrappers::{Inner, Passage, base, unwrap};
use crate::facts::{access, arguments};
use crate::shell::{self, Command, Word, WordKind, environment};

/// What a call names or runs.
#[derive(Debug)]
pub(super) struct Seen<'c> {
    call: &'c Call,
    pub(super) dirs: Directories<'c>,
    /// Every command, and every command that may run behind one.
    pub(super) commands: Vec<Vec<Word<'static>>>,
    /// Every folder that something runs in, and where it leads; not absolute where unknown.
    pub(super) folders: Vec<String>,
    /// Every path, and where it leads.
    pub(super) paths: HashSet<NamedPath>,
    /// Some path may be any path.
    pub(super) anywhere: bool,
    /// Something runs in a folder that is not known.
    pub(super) lost: bool,
    /// Something may run that could not be read.
    pub(super) unread: bool,
    /// The folders of the command that is being looked at.
    bases: Vec<String>,
    /// Files that the call writes, and files that it runs.
    pub(super) written: HashSet<String>,
    ran: HashSet<String>,
    /// Bytes of the paths so far.
    bytes: usize,
}

/// A path that a call names.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedPath {
    /// Clean; absolute where the working directory is known.
    pub(super) text: String,
    /// It has wildcards or parts that are known only at run time.
    pub(super) is_open: bool,
    /// What is below it is meant too.
    pub(super) is_above: bool,
}

/// Limits on commands, and on bytes of paths, that are compared with rules.
const MOST_COMMANDS: usize = 2_000;
const MOST_BYTES: usize = 64 * 1024;

/// Programs that write files in their working directory that their words do not name.
const SPREADS: &str = "patch tar gtar bsdtar unzip 7z 7za 7zz cpio bsdcpio pax ar unar";
/// The same among the commands of git.
const GIT_SPREADS: &str = "\
    apply am checkout switch restore reset stash merge rebase pull cherry-pick revert clean \
    read-tree checkout-index worktree sparse-checkout submodule bisect mv rm";
/// Options that name the folder to work in.
const FOLDERS: &str = "\
    -C -D --directory --chdir --cwd --work-tree --git-dir --prefix --working-dir --workdir \
    --project-directory --working-directory --dir -chdir";

impl<'c> Seen<'c> {
    pub(super) fn of(call: &'c Call) -> Self {
        let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
        let mut seen = Self {
            call,
            dirs,
            commands: Vec::new(),
            folders: Vec::new(),
            paths: HashSet::new(),
            anywhere: call.links.is_cut(),
            lost: false,
            unread: false,
            bases: Vec::new(),
            written: HashSet::new(),
            ran: HashSet::new(),
            bytes: 0,
        };
        if call.kind() == Kind::Question {
            return seen;
        }
        let cwd = call.cwd.as_deref();
        let starts = arguments::folders(call);
        let starts =
            starts.iter().map(|folder| cwd.map_or(folder.to_string(), |cwd| joined(cwd, folder)));
        let starts: Vec<String> = cwd.map(str::to_owned).into_iter().chain(starts).collect();
        starts.iter().for_each(|start| seen.folder(start));
        // An argument beside the command may change what runs.
        seen.unread |= arguments::changes_what_runs(call);
        match (call.kind(), call.command()) {
            (Kind::Shell, Some(text)) => seen.shell(text, &starts),
            (Kind::Shell, None) => seen.unread = true,
            (kind, text) => {
                let bases = bases(cwd);
                tools::walk(call, &bases, &mut seen);
                if is_unknown(call) {
                    seen.lists(&call.args);
                }
                // A tool that nobody knows may be a shell.
                if let (Kind::Other, Some(text)) = (kind, text) {
                    seen.shell(text, &starts);
                }
            }
        }
        seen.unread |= seen.ran.iter().any(|file| seen.written.contains(file));
        seen
    }

    fn shell(&mut self, text: &str, starts: &[String]) {
        let scan = shell::scan(text);
        let starts: Vec<Option<&str>> = match starts {
            [] => vec![None],
            starts => starts.iter().map(|start| Some(&**start)).collect(),
        };
        for start in starts {
            let dirs = Directories { cwd: start, ..self.dirs };
            Commands::new(self, dirs).text(text, &scan, &bases(start), 0);
        }
    }

    /// Adds a folder in which something runs.
    fn folder(&mut self, folder: &str) {
        if folder.contains(UNKNOWN) {
            self.lost = true;
            return;
        }
        for place in self.places(folder) {
            match place {
                Some(place) if !self.folders.contains(&place) => self.folders.push(place),
                Some(_) => {}
                None => self.lost = true,
            }
        }
    }

    /// Returns a path and where it leads, clean; `None` for a place that cannot be determined.
    fn places(&self, path: &str) -> Vec<Option<String>> {
        let clean = |path: &str| crate::facts::paths::clean(path, self.dirs).into_owned();
        // A path that begins with an unknown part is relative to nothing that is known.
        if path.starts_with(UNKNOWN) {
            return vec![Some(path.to_owned())];
        }
        let text = clean(path);
        let value = Value { text, is_path: true, is_leaf: false, access: None };
        // The kernel's own links may lead anywhere.
        let mut all = vec![(!value.is_alias(self.dirs)).then_some(value.text)];
        match self.call.links.of(path) {
            Some(LinkTarget::To(places)) => all.extend(places.iter().map(|it| Some(clean(it)))),
            Some(LinkTarget::Unknown(_)) => all.push(None),
            None => {}
        }
        all
    }

    /// Returns every path that a word may stand for, from every folder that it may be relative to.
    fn spelled(&self, word: &str, is_dynamic: bool) -> Vec<(String, bool)> {
        let expansions = Expansions { home: self.dirs.home, variables: is_dynamic };
        let spellings = pieces(word).into_iter().flat_map(|piece| {
            expansions.of(piece).into_iter().map(|it| (it.text.into_owned(), it.is_pattern))
        });
        let mut all = Vec::new();
        for (text, is_pattern) in spellings {
            if text.starts_with(['/', UNKNOWN]) {
                all.push((text, is_pattern));
                continue;
            }
            all.extend(self.bases.iter().map(|base| (joined(base, &text), is_pattern)));
            if self.bases.is_empty() || self.lost {
                all.push((["\0/", &text].concat(), is_pattern));
            }
        }
        all
    }

    /// Adds the paths that a word may stand for.
    fn word(&mut self, word: &str, is_dynamic: bool, is_above: bool) {
        if self.anywhere {
            return;
        }
        for (path, is_pattern) in self.spelled(word, is_dynamic) {
            let unknown = path.contains(UNKNOWN);
            if path == "\0" || unknown && path.contains("..") {
                self.anywhere = true;
                return;
            }
            for place in self.places(&path) {
                let Some(text) = place else {
                    self.anywhere = true;
                    continue;
                };
                self.bytes = self.bytes.saturating_add(text.len());
                if self.bytes > MOST_BYTES {
                    self.anywhere = true;
                    return;
                }
                self.paths.insert(NamedPath { text, is_open: unknown || is_pattern, is_above });
            }
        }
    }

    /// Adds what a command does to files beyond the paths among its words.
    fn files(&mut self, argv: &[Word<'_>], is_wrapper: bool) {
        let name = argv.first().map(|word| base(&word.text)).unwrap_or_default();
        let args = argv.get(1..).unwrap_or_default();
        let files = programs::exact(name).map_or(Files::Unknown, |program| program.files);
        let usage = usage(argv).0;
        let walks = usage == Usage::Walks && !matches!(files, Files::Edited);
        let dynamic = |word: &Word<'_>| word.kind == WordKind::Dynamic;
        for (_, word) in access::of_command(argv) {
            self.word(&word.text, dynamic(&word), walks);
        }
        if let Some((_, path)) = access::implied(argv) {
            self.word(path, false, true);
        }
        // A file that is copied into a folder has its own name there.
        for path in written(argv) {
            self.word(&path, false, walks);
            let all = self.spelled(&path, false);
            self.written.extend(
                all.iter().map(|(it, _)| crate::facts::paths::clean(it, self.dirs).into_owned()),
            );
        }
        // A program that nobody described may go through whatever folder it is given.
        if matches!(files, Files::Unknown) && !is_wrapper && usage != Usage::Names {
            let far = args.iter().filter(|word| word.text.starts_with(['/', '~', '$', '.']));
            far.for_each(|word| self.word(&word.text, dynamic(word), !in_project(&word.text)));
        }
        let sub = || args.iter().find_map(|word| listed(GIT_SPREADS, &word.text).then_some(()));
        if listed(SPREADS, name) || name == "git" && sub().is_some() {
            self.word(".", false, true);
            for folder in self.folders.clone() {
                self.word(&folder, false, true);
            }
        }
    }

    /// Adds the folders that options of a command choose, and those that only the shell knows.
    fn moves(&mut self, argv: &[Word<'_>]) {
        let name = argv.first().and_then(Word::literal).unwrap_or_default();
        let known = |word: &Word<'_>| {
            matches!(word.kind, WordKind::Literal | WordKind::Home)
                && (!word.text.starts_with(['-', '+']) || listed("-P -L -e --", &word.text))
        };
        self.lost |= listed("cd pushd", name) && !argv.iter().all(known);
        for (at, word) in argv.iter().enumerate().skip(1) {
            let text = &*word.text;
            let folder = match text.split_once('=') {
                Some((option, folder)) if listed(FOLDERS, option) => Some((folder, word)),
                _ if listed(FOLDERS, text) => argv.get(at + 1).map(|next| (&*next.text, next)),
                _ => text.strip_prefix("-C").filter(|it| !it.is_empty()).map(|it| (it, word)),
            };
            let Some((folder, word)) = folder else { continue };
            for (path, _) in self.spelled(folder, word.kind == WordKind::Dynamic) {
                self.folder(&path);
            }
        }
    }

    fn run(&mut self, argv: Vec<Word<'static>>) {
        if argv.is_empty() {
            return;
        }
        if self.commands.len() >= MOST_COMMANDS {
            self.unread = true;
        } else {
            self.commands.push(argv);
        }
    }

    /// Adds the lists of a tool that nobody knows, which may be the words of a command.
    fn lists(&mut self, args: &Json) {
        let mut rest = vec![args];
        while let Some(json) = rest.pop() {
            match json {
                Json::Array(items) => {
                    let words = items.iter().filter_map(Json::as_str).map(literal);
                    self.run(words.collect());
                    rest.extend(items);
                }
                Json::Object(map) => rest.extend(map.values()),
                _ => {}
            }
        }
    }

    /// Adds every command that a text may hold, wherever it begins.
    fn guesses(&mut self, text: &str, most: usize) {
        const ENDS: &[char] =
            &[';', '|', '&', '(', ')', '"', '\'', '`', '!', ':', '=', ',', '{', '}', '\\'];
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || ENDS.contains(&c))
            .filter(|it| !it.is_empty())
            .collect();
        for at in 0..words.len().min(most) {
            let rest = words.iter().skip(at).take(16);
            self.run(rest.map(|text| literal(text)).collect());
        }
    }
}

impl Sink for Seen<'_> {
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>) {
        self.bases = bases.sure.iter().map(|base| base.to_string()).collect();
        let is_shell = self.call.kind() == Kind::Shell;
        if is_shell {
            self.lost |= bases.is_lost;
            bases.sure.iter().for_each(|base| self.folder(base));
        }
        for operand in operands.iter().filter(|operand| operand.usage != Usage::Names) {
            let is_above = !is_shell
                && operand.usage == Usage::Walks
                && (self.call.kind() == Kind::Grep || !in_project(operand.text));
            self.word(operand.text, operand.is_dynamic, is_above);
        }
    }

    fn text(&mut self, text: &str, _bases: &Bases<'_>) {
        match self.call.kind() {
            Kind::Shell => self.guesses(text, 256),
            _ if is_unknown(self.call) => self.guesses(text, 64),
            _ => {}
        }
        let ends = |c: char| c.is_whitespace() || "\"'`();|&<>,=".contains(c);
        for token in text.split(ends).filter(|token| token.starts_with(['/', '~'])) {
            self.word(token, false, false);
        }
    }

    fn whole(&mut self, command: &Command<'_>) {
        self.unread |= unread::assigns(command);
        for redirect in command.redirects.iter().filter(|redirect| redirect.op.writes()) {
            let all = self.spelled(&redirect.target.text, false);
            self.written.extend(
                all.iter().map(|(it, _)| crate::facts::paths::clean(it, self.dirs).into_owned()),
            );
        }
    }

    fn command(&mut self, argv: &[Word<'_>]) {
        let dirs = Directories { cwd: self.dirs.cwd, home: self.dirs.home };
        let behind = unwrap(argv);
        self.unread |= unread::is_unread(argv, false, dirs);
        self.run(argv.iter().map(owned).collect());
        self.moves(argv);
        self.files(argv, behind.is_some());
        self.runs_a_file(argv);
        let Some(behind) = behind else {
            let name = argv.first().map(|word| base(&word.text)).unwrap_or_default();
            // What nobody described may run whatever text it is given.
            if programs::of(name).is_none() {
                let texts = argv.iter().skip(1).filter(|it| it.text.contains(char::is_whitespace));
                texts.for_each(|word| self.guesses(&word.text, 64));
            }
            return;
        };
        let names = behind.assigns.iter().filter_map(|word| word.text.split('=').next());
        self.unread |= names.into_iter().any(|name| !environment::harmless(name, Some("")));
        let is_text = |word: &Word<'_>| {
            word.kind != WordKind::Literal || word.text.contains(char::is_whitespace)
        };
        let mut ways = 0_usize;
        for inner in &behind.inner {
            match inner {
                Inner::Argv { argv, open } => {
                    ways += 1;
                    if *open {
                        let more = std::iter::once(literal_unknown());
                        self.run(argv.iter().map(owned).chain(more).collect());
                        self.unread |= unread::is_unread(argv, true, dirs);
                    }
                }
                Inner::Unknown | Inner::File => self.unread = true,
                Inner::Script { .. } | Inner::Input(_) => {}
            }
        }
        // Its options are not known, so a text among its words may be the command.
        let guessed = ways > 1 && behind.passage == Passage::DenyOnly;
        self.unread |= behind.inner.is_empty() || guessed && argv.iter().any(is_text);
    }

    // What such words run beyond that is not known, which says nothing of the rest.
    fn guessed(&mut self, argv: &[Word<'_>]) {
        self.run(argv.iter().map(owned).collect());
        self.files(argv, unwrap(argv).is_some());
    }

    // The words that it gets are part of its commands already.
    fn opened(&mut self) {
        self.anywhere = true;
    }

    fn unseen(&mut self, _why: &'static str) {
        self.unread = true;
    }
}

impl Seen<'_> {
    /// Notes the files that a command runs by their names.
    fn runs_a_file(&mut self, argv: &[Word<'_>]) {
        let Some((first, args)) = argv.split_first() else { return };
        let program = programs::of(base(&first.text));
        let reads_one = program.is_some_and(|it| {
            [Role::Interpreter, Role::Shell, Role::Recipes].iter().any(|role| it.is(*role))
        });
        let by_name = std::iter::once(first).filter(|word| word.text.contains('/'));
        let operands = args.iter().filter(|_| reads_one);
        for word in by_name.chain(operands) {
            let all = self.spelled(&word.text, word.kind == WordKind::Dynamic);
            self.ran.extend(
                all.iter().map(|(it, _)| crate::facts::paths::clean(it, self.dirs).into_owned()),
            );
        }
    }
}

/// Returns true for a tool that nobody knows, which may run whatever it is given.
fn is_unknown(call: &Call) -> bool {
    call.kind() == Kind::Other && !known_names().any(|known| known == call.tool)
}

fn bases(cwd: Option<&str>) -> Bases<'_> {
    let cwd = cwd.filter(|cwd| cwd.starts_with('/'));
    let sure = cwd.map(Cow::Borrowed).into_iter().collect();
    Bases { cwd, sure, is_loose: cwd.is_none(), is_lost: false }
}

/// Returns true for a word that names something below the working directory, if anything.
fn in_project(text: &str) -> bool {
    !text.starts_with(['/', '~', '$']) && !text.split('/').any(|part| part == "..")
}

/// Returns a word whose text says what is not known of it.
fn owned(word: &Word<'_>) -> Word<'static> {
    // `find` and `xargs` fill in names for `{}`.
    let is_filled = word.text.contains("{}");
    let text = match word.kind {
        WordKind::Dynamic => UNKNOWN.to_string(),
        _ if is_filled => word.text.replace("{}", "\0"),
        _ => word.text.to_string(),
    };
    // A file may have the name that a pattern stands for.
    let kind = match word.kind {
        WordKind::Literal if !is_filled => WordKind::Literal,
        WordKind::Home => WordKind::Home,
        _ => WordKind::Dynamic,
    };
    Word { text: text.into(), kind, quoted: word.quoted, span: 0..0 }
}

fn literal(text: &str) -> Word<'static> {
    Word { text: text.to_owned().into(), kind: WordKind::Literal, quoted: false, span: 0..0 }
}

fn literal_unknown() -> Word<'static> {
    Word { kind: WordKind::Dynamic, ..literal("\0") }
}
