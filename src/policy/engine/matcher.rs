//! A call as the rules on people see it: answer rules, routes, reviews, grants that people gave.
//! Its facts are collected once; every condition is matched with them.
//!
//! A condition fits for certain, fits perhaps, or does not fit. Who asks decides what a perhaps is
//! worth: a rule that asks for more people counts it, a rule that asks for fewer does not.
//!
//! FAIL-CLOSED: a part of a call that cannot be read may be anything, so it fits every condition
//! perhaps.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value as Json;

use crate::engine::commands::{assigned, given, written};
use crate::engine::decision::{Layers, Mode, Subject, decide_briefly};
use crate::engine::guardrail::Guardrail;
use crate::engine::guardrail::territory::{self, Expansions};
use crate::engine::guardrail::walk::{self, Bases, Commands, Operand, Sink, Usage, joined, usage};
use crate::engine::stack::{CommandText, Stack};
use crate::facts::builtins::{Builtin, builtin};
use crate::facts::call::Call;
use crate::facts::effects::Effect;
use crate::facts::links::LinkTarget;
use crate::facts::paths::{self, Directories, UNKNOWN, expand_home};
use crate::facts::programs::description::{Files, Role};
use crate::facts::programs::{self, Words, begins, listed};
use crate::facts::tools::{Kind, canonical, known_names};
use crate::facts::values::Value;
use crate::facts::wrappers::{Inner, Passage, base, unwrap};
use crate::facts::{access, arguments, options};
use crate::glob::{self, Glob, opened};
use crate::rules::verdict::Verdict;
use crate::rules::{About, Rule, Rules};
use crate::shell::{self, Command, Word, WordKind};

/// The degree to which a call fits a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleFit {
    /// It does not.
    No,
    /// It may, or a part of it does.
    Maybe,
    /// All of it does, for certain.
    Yes,
}

impl From<bool> for RuleFit {
    fn from(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

/// A call as conditions see it.
#[derive(Debug)]
pub struct Matcher<'c> {
    call: &'c Call,
    effects: &'c [Effect],
    seen: Seen<'c>,
}

impl<'c> Matcher<'c> {
    /// Collects what conditions look at; `effects` are those of the call.
    #[must_use]
    pub fn new(call: &'c Call, effects: &'c [Effect]) -> Self {
        Self { call, effects, seen: Seen::of(call) }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &'c Call {
        self.call
    }

    /// Matches patterns of folders with every folder that the call runs in.
    #[must_use]
    pub fn folder(&self, patterns: &[String]) -> RuleFit {
        if patterns.is_empty() {
            return RuleFit::Yes;
        }
        let Seen { folders, lost, unread, .. } = &self.seen;
        let unknown = *lost || *unread || folders.is_empty();
        let fits = |folder: &String| patterns.iter().map(|it| self.reaches(it, folder)).max();
        let all = folders.iter().filter_map(fits);
        let (least, most) = all.fold((RuleFit::Yes, RuleFit::No), |(least, most), fit| {
            (least.min(fit), most.max(fit))
        });
        match (unknown, most) {
            (true, _) => RuleFit::Maybe,
            (false, RuleFit::No) => RuleFit::No,
            (false, _) => least.max(RuleFit::Maybe),
        }
    }

    /// Matches patterns of tools, under every name that agents have for it.
    #[must_use]
    pub fn tool(&self, patterns: &[String]) -> RuleFit {
        let own = canonical(&self.call.tool);
        let fit = |tool: &str| name(patterns, Some(tool));
        let known = known_names().filter(|known| canonical(known) == own).map(fit);
        known.chain([fit(&self.call.tool), fit(own)]).max().unwrap_or(RuleFit::No)
    }

    /// Matches names of effects.
    #[must_use]
    pub fn effect(&self, names: &[String]) -> RuleFit {
        let has = |effect: &Effect| names.iter().any(|name| effect.is(name));
        let unknown =
            self.seen.unread || self.effects.iter().any(|it| matches!(it, Effect::Unknown { .. }));
        match names.is_empty() || self.effects.iter().any(has) {
            true => RuleFit::Yes,
            false if unknown => RuleFit::Maybe,
            false => RuleFit::No,
        }
    }

    /// Matches patterns of commands, as a deny rule would; for certain where all of the call is
    /// covered, as an allow rule would.
    #[must_use]
    pub fn command(&self, patterns: &[String]) -> RuleFit {
        self.rules(SHELL, patterns, |patterns| self.runs(SHELL, patterns))
    }

    /// Matches patterns of paths with every path that the call names, or touches without a name.
    #[must_use]
    pub fn path(&self, patterns: &[String]) -> RuleFit {
        // The words of a command are no paths as they stand; those that are were collected.
        let fit = match self.call.kind() {
            Kind::Shell if !patterns.is_empty() => RuleFit::No,
            _ => self.rules("*", patterns, |_| false),
        };
        match fit {
            RuleFit::No if self.seen.unread || self.seen.anywhere => RuleFit::Maybe,
            RuleFit::No if patterns.iter().any(|it| self.touches(it)) => RuleFit::Maybe,
            fit => fit,
        }
    }

    /// Matches a rule's tool and pattern, whatever its verdict.
    #[must_use]
    pub fn rule(&self, rule: &Rule) -> RuleFit {
        let pattern = std::slice::from_ref(&rule.pattern);
        self.rules(&rule.tool, pattern, |patterns| self.runs(&rule.tool, patterns))
    }

    fn rules(
        &self,
        tool: &str,
        patterns: &[String],
        runs: impl Fn(&[Cow<'_, str>]) -> bool,
    ) -> RuleFit {
        if patterns.is_empty() {
            return RuleFit::Yes;
        }
        let home = self.call.home.as_deref();
        let patterns: Vec<Cow<'_, str>> = patterns.iter().map(|it| expand_home(it, home)).collect();
        let rules = |verdict, pattern: &str| Rule { verdict, ..Rule::allow(tool, pattern) };
        let every = |verdict, default| -> Vec<Rule> {
            let all = Rule { verdict: default, ..Rule::allow("*", "*") };
            let of = patterns.iter().map(|pattern| rules(verdict, pattern));
            std::iter::once(all).chain(of).collect()
        };
        let denies = every(Verdict::Deny, Verdict::Allow);
        let denied = layered(&denies, |it| decide_briefly(self.call, it, Mode::Default));
        // The first is the rule for everything.
        let meant = |rule: &Rule| denies.iter().skip(1).any(|it| it == rule);
        let strikes = match denied.verdict {
            Verdict::Deny => true,
            Verdict::Ask => !denied.understood || denied.deciding_rule.as_ref().is_some_and(meant),
            Verdict::Allow => false,
        };
        if !strikes && !runs(&patterns) {
            return RuleFit::No;
        }
        let allows = every(Verdict::Allow, Verdict::Ask);
        let covered = |layers: &Layers<'_>| Subject::new(self.call, layers).covered(layers);
        let is_covered = || layered(&allows, covered) == Verdict::Allow;
        if !self.seen.unread && (is_covered() || self.runs_only(tool, &patterns)) {
            RuleFit::Yes
        } else {
            RuleFit::Maybe
        }
    }

    /// Returns true when every command of the call is meant, also one that no wildcard allows, and
    /// none writes a file.
    fn runs_only(&self, tool: &str, patterns: &[Cow<'_, str>]) -> bool {
        let denies = denies(tool, patterns);
        let stack = Stack::new(SHELL, SHELL, 0, &[&denies]);
        let dirs = self.seen.dirs;
        let is_meant = |argv: &Vec<Word<'static>>| {
            // `./git` is some program.
            let is_by_name = argv.first().is_some_and(|first| !first.text.contains('/'));
            let is_exact = argv.iter().all(|word| word.kind == WordKind::Literal) && is_by_name;
            let text = CommandText::new(argv, None, dirs);
            is_exact && stack.command(argv, &text).verdict == Verdict::Deny
        };
        let Seen { commands, written, .. } = &self.seen;
        let is_plain = self.call.kind() == Kind::Shell && written.is_empty();
        is_plain && !commands.is_empty() && commands.iter().all(is_meant)
    }

    /// Returns true when a command of the call, or one that runs behind it, may be meant.
    fn runs(&self, tool: &str, patterns: &[Cow<'_, str>]) -> bool {
        let Seen { commands, unread, .. } = &self.seen;
        let of_shell = self.call.kind() == Kind::Shell || !commands.is_empty();
        let denies = denies(tool, patterns);
        if !of_shell || About::new(&denies, SHELL, SHELL, 0).is_empty() {
            return false;
        }
        let stack = Stack::new(SHELL, SHELL, 0, &[&denies]);
        let dirs = self.seen.dirs;
        *unread
            || commands.iter().any(|argv| {
                let text = CommandText::new(argv, None, dirs);
                let hit = stack.command(argv, &text);
                hit.verdict == Verdict::Deny || hit.maybe.is_some()
            })
    }

    fn touches(&self, pattern: &str) -> bool {
        let pattern = tidy(pattern, self.call.home.as_deref());
        let cwd = self.call.cwd.as_deref().map(|cwd| paths::clean(cwd, Directories::default()));
        // Relative to the project, as rules usually name files.
        let below = |path: &str| -> Option<String> {
            let rest = path.strip_prefix(&**cwd.as_ref()?)?.strip_prefix('/')?;
            Some(rest.to_owned())
        };
        let rooted = cwd.as_ref().filter(|_| !pattern.starts_with(['/', '*', '~', '!']));
        let rooted = rooted
            .map(|cwd| Glob::parse(&[&glob::escape(cwd), "/", &pattern].concat()))
            .transpose();
        let (Ok(glob), Ok(rooted)) = (Glob::parse(&pattern), rooted) else { return true };
        self.seen.paths.iter().any(|NamedPath { text, is_open, is_above }| {
            // Else a name such as `*.rs` would be any absolute path, too.
            let below = if pattern.starts_with('/') { None } else { below(text) };
            let forms = [Some(text.clone()), below];
            forms.into_iter().flatten().any(|form| {
                let globs = || std::iter::once(&glob).chain(&rooted);
                let overlaps = |text: &str| globs().any(|it| it.may_reach(&opened(text)));
                glob.reaches(&form)
                    || *is_open && overlaps(&form)
                    || *is_above && overlaps(&[form.trim_end_matches('/'), "/\0"].concat())
            })
        })
    }

    /// Matches one pattern with a folder. An empty text stands for one that is not known.
    fn reaches(&self, pattern: &str, folder: &str) -> RuleFit {
        if !folder.starts_with('/') {
            return RuleFit::Maybe;
        }
        let pattern = tidy(pattern, self.call.home.as_deref());
        Glob::parse(&pattern).map_or(RuleFit::Maybe, |glob| glob.reaches(folder).into())
    }
}

const SHELL: &str = "shell_exec";

fn denies(tool: &str, patterns: &[Cow<'_, str>]) -> Rules {
    let denies =
        patterns.iter().map(|it| Rule { verdict: Verdict::Deny, ..Rule::allow(tool, &**it) });
    Rules::from_rules(&denies.collect::<Vec<_>>())
}

/// Matches patterns of names with a name that the caller gives.
// FAIL-CLOSED: what the caller leaves out may be anything, and a pattern that cannot be used fits.
#[must_use]
pub fn name(patterns: &[String], name: Option<&str>) -> RuleFit {
    let fit = |pattern: &String| match (Glob::parse(pattern), name) {
        (Ok(glob), Some(name)) => glob.reaches(name).into(),
        _ => RuleFit::Maybe,
    };
    patterns.iter().map(fit).max().unwrap_or(RuleFit::Yes)
}

/// Returns a pattern of paths without what never stands in a clean path.
fn tidy(pattern: &str, home: Option<&str>) -> String {
    let mut pattern = expand_home(pattern, home).into_owned();
    while pattern.contains("//") || pattern.contains("/./") {
        pattern = pattern.replace("//", "/").replace("/./", "/");
    }
    let tidy = pattern.strip_prefix("./").unwrap_or(&pattern);
    match tidy.strip_suffix('/') {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => tidy.to_owned(),
    }
}

/// Calls with these rules as the only ones.
fn layered<T>(rules: &[Rule], decides: impl FnOnce(&Layers<'_>) -> T) -> T {
    let none = Rules::default();
    let guardrail = Guardrail::default();
    decides(&Layers::new(&Rules::from_rules(rules), &none, &guardrail, 0))
}

// Everything that a call names or runs, collected once.

/// What a call names or runs.
#[derive(Debug)]
struct Seen<'c> {
    call: &'c Call,
    dirs: Directories<'c>,
    /// Every command, and every command that may run behind one.
    commands: Vec<Vec<Word<'static>>>,
    /// Every folder that something runs in, and where it leads; not absolute where unknown.
    folders: Vec<String>,
    /// Every path, and where it leads.
    paths: HashSet<NamedPath>,
    /// Some path may be any path.
    anywhere: bool,
    /// Something runs in a folder that is not known.
    lost: bool,
    /// Something may run that could not be read.
    unread: bool,
    /// The folders of the command that is being looked at.
    bases: Vec<String>,
    /// Files that the call writes, and files that it runs.
    written: HashSet<String>,
    ran: HashSet<String>,
    /// Bytes of the paths so far.
    bytes: usize,
}

/// A path that a call names.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedPath {
    /// Clean; absolute where the working directory is known.
    text: String,
    /// It has wildcards or parts that are known only at run time.
    is_open: bool,
    /// What is below it is meant too.
    is_above: bool,
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
    fn of(call: &'c Call) -> Self {
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
                walk::walk_tool(call, &Bases::of(cwd), &mut seen);
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
            Commands::new(self, dirs).text(text, &scan, &Bases::of(start), 0);
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
        let clean = |path: &str| paths::clean(path, self.dirs).into_owned();
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
        let spellings = territory::pieces(word).into_iter().flat_map(|piece| {
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
            self.written.extend(all.iter().map(|(it, _)| paths::clean(it, self.dirs).into_owned()));
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
        self.unread |= assigned(command).is_some();
        for redirect in command.redirects.iter().filter(|redirect| redirect.op.writes()) {
            let all = self.spelled(&redirect.target.text, false);
            self.written.extend(all.iter().map(|(it, _)| paths::clean(it, self.dirs).into_owned()));
        }
    }

    fn command(&mut self, argv: &[Word<'_>]) {
        let dirs = self.dirs;
        let behind = unwrap(argv);
        self.unread |= is_unread(argv, false, dirs);
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
        self.unread |= given(&behind).is_some();
        let is_text = |word: &Word<'_>| {
            word.kind != WordKind::Literal || word.text.contains(char::is_whitespace)
        };
        let mut ways = 0_usize;
        for inner in &behind.inner {
            match inner {
                Inner::Argv { argv, open } => {
                    ways += 1;
                    if *open {
                        let more = Word::made("\0", WordKind::Dynamic);
                        self.run(argv.iter().map(owned).chain([more]).collect());
                        self.unread |= is_unread(argv, true, dirs);
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
            self.ran.extend(all.iter().map(|(it, _)| paths::clean(it, self.dirs).into_owned()));
        }
    }
}

/// Returns true for a tool that nobody knows, which may run whatever it is given.
fn is_unknown(call: &Call) -> bool {
    call.kind() == Kind::Other && !known_names().any(|known| known == call.tool)
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
    Word::made(text.to_owned(), WordKind::Literal)
}

// Commands whose words do not say what runs.

/// Returns true when a command may run what its words do not name.
fn is_unread(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let Some(name) = first.literal().map(base) else { return true };
    // Their words are commands or folders, and are looked at on their own.
    let walked = listed("eval exec trap cd pushd popd dirs umask ulimit set", name);
    if !walked && matches!(builtin(argv), Some(Builtin::Poison(_))) {
        return true;
    }
    match name {
        "git" => return git(argv, args, open, dirs),
        // What runs later is in a file or in their input.
        "at" | "batch" => return true,
        _ => {}
    }
    let is_interpreter = programs::of(name).is_some_and(|it| it.is(Role::Interpreter));
    is_interpreter && takes_a_text(args) || runs_more(argv, open, dirs)
}

/// Returns true when options of the command run further programs.
fn runs_more(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let Some(why) = options::exceeds(argv, open, dirs) else { return false };
    let why = why.replace("only known when it runs", "");
    ["run", "script", "action"].iter().any(|word| why.contains(word))
}

/// Options of interpreters that give no text and load no file.
const PLAIN: Words = "\
    -u -B -O -OO -s -S -I -b -q -v -w -W -t --test --watch --no-warnings --trace-warnings \
    --enable-source-maps";

/// Returns true when an interpreter gets its program as a text, or from its input.
fn takes_a_text(args: &[Word<'_>]) -> bool {
    for word in args {
        match word.literal() {
            None => return true,
            Some("-m" | "--version" | "-V" | "--help") => return false,
            Some(text) if listed(PLAIN, text) => {}
            Some(text) => {
                return text.starts_with(['-', '+'])
                    || listed("eval e repl", text)
                    || begins("/dev/ /proc/", text);
            }
        }
    }
    true
}

/// Returns true when git may run what its words do not name: an alias, or a program that a setting
/// names.
// A setting or a file may make any other word an alias, and no setting makes one of git's own.
fn git(argv: &[Word<'_>], args: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(text) = word.literal() else { return true };
        let value = more.first().and_then(Word::literal);
        rest = match text {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => more.get(1..).unwrap_or_default(),
            "-c" if value.is_some_and(|it| begins(SETTINGS, &it.to_ascii_lowercase())) => {
                more.get(1..).unwrap_or_default()
            }
            "--version" | "--help" | "-v" | "-h" => return false,
            text if listed(FLAGS, text) || begins("--git-dir= --work-tree= --namespace=", text) => {
                more
            }
            sub if listed(COMMANDS, sub) => {
                let words: Vec<Word<'_>> = argv.iter().take(1).chain(rest).cloned().collect();
                return runs_more(&words, open, dirs);
            }
            _ => return true,
        };
    }
    false
}

/// Flags of git that change nothing that it runs.
const FLAGS: Words = "\
    --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs \
    --icase-pathspecs --bare --no-replace-objects --no-advice";
/// Settings of git that name no program and no alias.
const SETTINGS: Words = "\
    user. author. committer. color. advice. column. core.quotepath= core.autocrlf= commit.gpgsign= \
    tag.gpgsign= init.defaultbranch= protocol.version= safe.directory= log.";
/// The commands of git itself.
const COMMANDS: Words = "\
    add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr \
    check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean \
    clone column commit commit-graph commit-tree config count-objects credential daemon describe \
    diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch \
    fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc grep \
    hash-object help hook index-pack init interpret-trailers log ls-files ls-remote ls-tree \
    mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree \
    multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune \
    prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote \
    repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm \
    send-email send-pack shortlog show show-branch show-index show-ref sparse-checkout stash \
    status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index \
    update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack \
    verify-tag version whatchanged worktree write-tree";

#[cfg(test)]
mod tests;
