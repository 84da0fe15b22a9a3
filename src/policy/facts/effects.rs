//! The effects of a call, for the card and the log: derived from its facts, in order, each once.
//! The list is never a promise of safety; anything unknown is listed as unknown.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use crate::facts::access::{self, Access};
use crate::facts::paths::{self, Directories};
use crate::facts::programs::arguments::{Arguments, operands};
use crate::facts::programs::description::{self, Files, Reach, Role, Title, To};
use crate::facts::programs::known::databases;
use crate::facts::programs::{self, changes, exact, listed};
use crate::facts::wrappers::{Effort, Inner, base, unwrap};
use crate::shell::{
    Command, Dialect, PipePosition, Redirect, RedirectOp, Scan, Via, Word, scan_as,
};

/// The action of a tool other than a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Reads the paths.
    Read,
    /// Writes the paths.
    Write,
    /// Fetches the URLs.
    Fetch,
    /// Not known.
    Unknown,
}

/// Returns the effects of a shell text.
#[must_use]
pub fn of_shell(scan: &Scan<'_>, dirs: Directories<'_>) -> Vec<Effect> {
    let mut list = List::default();
    text(scan, dirs, &mut list, 0, false);
    list.finish()
}

/// Returns the effects of one command that names these files and hosts.
pub(crate) fn of_files(
    files: &[(Access, &Word<'_>)],
    hosts: &[String],
    dirs: Directories<'_>,
) -> Vec<Effect> {
    let mut list = List::default();
    for (access, word) in files {
        match paths::of_word(word, dirs) {
            Some(path) => list.touch(*access, &path, dirs),
            None => list.unknown(&format!("which files {} stands for", word.text)),
        }
    }
    hosts.iter().for_each(|host| list.add(Effect::Reaches { host: host.clone() }));
    list.finish()
}

/// Returns the effects of an editing tool on these paths; one without an access is written.
#[must_use]
pub fn of_edits<'p>(
    files: impl Iterator<Item = (Option<Access>, &'p str)>,
    more: bool,
    dirs: Directories<'_>,
) -> Vec<Effect> {
    let mut list = List::default();
    let mut files = files.peekable();
    if more || files.peek().is_none() {
        list.unknown("the call may change more files than can be read from it");
    }
    files.for_each(|(access, path)| list.touch(access.unwrap_or(Access::Write), path, dirs));
    list.finish()
}

/// Returns the effects of any other tool: its action on these paths or URLs. With `more`, the call
/// may name more than these.
#[must_use]
pub fn of_values(act: Act, values: &[&str], more: bool, dirs: Directories<'_>) -> Vec<Effect> {
    let mut list = List::default();
    for value in values {
        match act {
            Act::Read => list.touch(Access::Read, value, dirs),
            Act::Write => list.touch(Access::Write, value, dirs),
            Act::Fetch => match host(value) {
                Some(host) => list.add(Effect::Reaches { host }),
                None => list.unknown("the address cannot be read"),
            },
            Act::Unknown => {}
        }
    }
    if act == Act::Unknown {
        list.unknown("");
    } else if more {
        list.unknown("the call names more than is looked at");
    } else if values.is_empty() {
        list.unknown("the call names nothing that it works on");
    }
    list.finish()
}

/// One effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
#[non_exhaustive]
pub enum Effect {
    /// A program is started.
    Runs {
        /// The name, with the sub-command where that is clearer (`git push`).
        what: String,
    },
    /// A file is read that is outside the project or holds secrets.
    Reads(PathEffect),
    /// A file is created or changed.
    Writes(PathEffect),
    /// A file is deleted.
    Deletes(PathEffect),
    /// A file is moved to another place.
    Moves(PathEffect),
    /// The permissions or the owner of a file change.
    Rights(PathEffect),
    /// Another host is contacted.
    Reaches {
        /// Name or address.
        host: String,
    },
    /// Data leaves this machine: pushed, published, uploaded.
    Publishes {
        /// The action (`git push`).
        what: String,
        /// The destination, as far as the call names it.
        to: String,
    },
    /// A database, a cluster or a cloud changes.
    Changes {
        /// A clause: "deletes the namespace prod".
        what: String,
        /// The program, with its sub-command where that is clearer.
        how: String,
    },
    /// A command runs as another user.
    Privilege {
        /// The program that changes the user.
        how: String,
        /// The user, where that is certain.
        user: Option<&'static str>,
    },
    /// Something continues after the call has ended.
    Background,
    /// The effect cannot be determined from the call.
    Unknown {
        /// The reason; empty where there is no more to say.
        why: String,
    },
}

/// A path and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PathEffect {
    /// The path as the call names it.
    pub path: String,
    /// The path is outside the project.
    pub outside: bool,
    /// The path is known to hold keys, tokens or passwords.
    pub secret: bool,
}

impl PathEffect {
    fn new(path: &str, dirs: Directories<'_>) -> Self {
        let outside = paths::outside(path, dirs);
        Self { path: path.to_owned(), outside, secret: paths::secret(path, dirs) }
    }
}

impl fmt::Display for PathEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match (self.outside, self.secret) {
            (true, true) => f.write_str(" (outside the project, holds secrets)"),
            (true, false) => f.write_str(" (outside the project)"),
            (false, true) => f.write_str(" (holds secrets)"),
            (false, false) => Ok(()),
        }
    }
}

impl Effect {
    /// Returns true when rules call this effect so. What deletes elsewhere goes by two names.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        let deletes = |what: &str| name == "deletes" && what.starts_with("deletes ");
        self.name() == name || matches!(self, Self::Changes { what, .. } if deletes(what))
    }

    /// Returns the name by which rules call this kind of effect.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.words().0
    }

    /// Returns that name, and the words under which effects of this kind are counted.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Runs { .. } => ("runs", "more programs"),
            Self::Reads(_) => ("reads", "more reads"),
            Self::Writes(_) => ("writes", "more writes"),
            Self::Deletes(_) => ("deletes", "more deletions"),
            Self::Moves(_) => ("moves", "more moves"),
            Self::Rights(_) => ("rights", "more changes of rights"),
            Self::Reaches { .. } => ("reaches", "more hosts"),
            Self::Publishes { .. } => ("publishes", "more publications"),
            Self::Changes { .. } => ("changes", "more changes elsewhere"),
            Self::Privilege { .. } => ("privilege", "more uses of other rights"),
            Self::Background => ("background", "more in the background"),
            Self::Unknown { .. } => ("unknown", "more that cannot be told"),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs { what } => write!(f, "runs {what}"),
            Self::Reads(target) => write!(f, "reads {target}"),
            Self::Writes(target) => write!(f, "writes {target}"),
            Self::Deletes(target) => write!(f, "deletes {target}"),
            Self::Moves(target) => write!(f, "moves {target}"),
            Self::Rights(target) => write!(f, "changes the rights of {target}"),
            Self::Reaches { host } => write!(f, "reaches {host}"),
            Self::Publishes { what, to } if to == INFRASTRUCTURE => {
                write!(f, "changes live infrastructure ({what})")
            }
            Self::Publishes { what, to } if to.is_empty() => write!(f, "publishes ({what})"),
            Self::Publishes { what, to } => write!(f, "publishes to {to} ({what})"),
            Self::Changes { what, how } => write!(f, "{what} ({how})"),
            Self::Privilege { how, user } => {
                write!(f, "runs as {} ({how})", user.unwrap_or("another user"))
            }
            Self::Background => f.write_str("continues in the background"),
            Self::Unknown { why } if why.is_empty() => f.write_str("effects unknown"),
            Self::Unknown { why } => write!(f, "effects unknown: {why}"),
        }
    }
}

/// The weight of an effect or a part, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Always needs a person.
    Critical,
    /// Deletes, publishes, changes something elsewhere or the user, or reads secrets.
    Grave,
    /// Leaves the workspace or the machine, or cannot be determined.
    Notable,
}

impl Weight {
    /// Returns the weight of an effect; `None` for what everyday commands do.
    #[must_use]
    pub fn of(effect: &Effect) -> Option<Self> {
        match effect {
            Effect::Deletes(_)
            | Effect::Publishes { .. }
            | Effect::Changes { .. }
            | Effect::Privilege { .. } => Some(Self::Grave),
            Effect::Reads(it) | Effect::Writes(it) | Effect::Moves(it) if it.secret => {
                Some(Self::Grave)
            }
            Effect::Writes(it) | Effect::Moves(it) if it.outside => Some(Self::Notable),
            Effect::Rights(_)
            | Effect::Reads(_)
            | Effect::Reaches { .. }
            | Effect::Unknown { .. } => Some(Self::Notable),
            _ => None,
        }
    }
}

/// Sorts the worst effects first and keeps their order otherwise, so that a shortened list never
/// drops a worse effect for a milder one.
pub fn worst_first(effects: &mut [Effect]) {
    effects.sort_by_key(|effect| {
        let weight = Weight::of(effect);
        (weight.is_none(), weight)
    });
}

// Collects the effects of a call: each once, the worst kept, the others counted.

/// Limit on listed effects; a card has no room for more.
const MOST: usize = 40;

/// The rank of an effect: the worst first, those without weight last.
type Rank = (bool, Option<Weight>);

/// Effects grouped by rank and numbered in order of arrival.
#[derive(Default)]
struct List {
    by_weight: BTreeMap<Rank, Vec<(usize, Effect)>>,
    seen: HashSet<Effect>,
    /// The number left out, by kind.
    left_out: BTreeMap<&'static str, usize>,
}

impl List {
    // INVARIANT: an effect is left out only where as many others of at least the same rank are
    // kept.
    fn add(&mut self, effect: Effect) {
        let order = self.seen.len();
        if !self.seen.insert(effect.clone()) {
            return;
        }
        let weight = Weight::of(&effect);
        let kept = self.by_weight.entry((weight.is_none(), weight)).or_default();
        if kept.len() < MOST {
            kept.push((order, effect));
        } else {
            *self.left_out.entry(effect.words().1).or_default() += 1;
        }
    }

    fn unknown(&mut self, why: &str) {
        self.add(Effect::Unknown { why: why.to_owned() });
    }

    fn touch(&mut self, access: Access, path: &str, dirs: Directories<'_>) {
        let target = PathEffect::new(path, dirs);
        if paths::sink(path) || access == Access::Read && paths::source(path) {
            return;
        }
        self.add(match access {
            // Agents read the workspace all the time; listing it would bury the rest.
            Access::Read if !target.outside && !target.secret => return,
            Access::Read => Effect::Reads(target),
            Access::Write => Effect::Writes(target),
            Access::Delete => Effect::Deletes(target),
            Access::Move => Effect::Moves(target),
            Access::Rights => Effect::Rights(target),
        });
    }

    /// Returns the effects in order of arrival. When there are too many: the worst, followed by the
    /// counts of those left out.
    fn finish(mut self) -> Vec<Effect> {
        let mut all: Vec<(usize, Effect)> = self.by_weight.into_values().flatten().collect();
        for (_, effect) in all.split_off(all.len().min(MOST)) {
            *self.left_out.entry(effect.words().1).or_default() += 1;
        }
        // A complete list keeps its order; a shortened one stays sorted by weight.
        if self.left_out.is_empty() {
            all.sort_by_key(|(order, _)| *order);
        }
        let mut effects: Vec<Effect> = all.into_iter().map(|(_, effect)| effect).collect();
        if !self.left_out.is_empty() {
            let counts: Vec<String> =
                self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            effects.push(Effect::Unknown { why: format!("not listed: {}", counts.join(", ")) });
        }
        effects
    }
}

// The effects of a shell text, including those behind wrappers and in literal scripts.

/// Depth limit for literal scripts inside each other.
const MAX_DEPTH: u32 = 4;

/// Adds the effects of every command.
fn text(scan: &Scan<'_>, dirs: Directories<'_>, list: &mut List, depth: u32, guessed: bool) {
    // Guesses serve deny rules; as effects most of them would be wrong.
    for command in scan.commands.iter().filter(|c| c.via != Via::Guess) {
        let at = EffectSite { command, dirs, depth, effort: &Effort::of(&command.argv), guessed };
        argv(&command.argv, at, list);
        for redirect in &command.redirects {
            redirected(redirect, dirs, list);
        }
    }
    if scan.background {
        list.add(Effect::Background);
    }
    if let Some(refusal) = scan.refusal.as_ref().filter(|_| !scan.read_whole()) {
        list.unknown(&refusal.to_string());
    }
}

/// The context of an argument vector.
#[derive(Clone, Copy)]
struct EffectSite<'e, 'a> {
    /// The command itself, or the command that it is behind.
    command: &'e Command<'a>,
    dirs: Directories<'e>,
    depth: u32,
    effort: &'e Effort,
    /// Whether these words need not be a command: they are told as one that runs only where the
    /// program is described.
    guessed: bool,
}

/// Returns the user as whom a command behind `sudo` or `doas` is certain to run.
// `sudo -u ana` names another one.
pub(crate) fn user_of(name: &str, words: &[Word<'_>]) -> Option<&'static str> {
    let [_, next, ..] = words else { return None };
    let is_plain = next.literal().is_some_and(|word| !word.starts_with('-'));
    (is_plain && matches!(name, "sudo" | "doas")).then_some("root")
}

fn argv(words: &[Word<'_>], at: EffectSite<'_, '_>, list: &mut List) {
    let Some((first, args)) = words.split_first() else { return };
    let Some(path) = first.literal() else {
        return list.unknown(&format!("which program {} is", first.text));
    };
    let name = base(path);
    if at.depth > MAX_DEPTH {
        return list.unknown("commands inside commands are too deep to follow");
    }
    if !at.effort.spend(words) {
        return list.unknown("commands inside commands are too many to follow");
    }
    let found = unwrap(words);
    if found.is_some() && is(name, Role::Privilege) {
        list.add(Effect::Privilege { how: name.to_owned(), user: user_of(name, words) });
    } else if (found.is_some() || !is(name, Role::Quiet))
        && (!at.guessed || programs::of(name).is_some())
    {
        list.add(Effect::Runs { what: title(path, args) });
    }
    if let Some(found) = found {
        let at = EffectSite { guessed: found.guessed, ..at };
        found.inner.iter().for_each(|inner| behind(inner, path, at, list));
    }
    for (access, word) in access::of_command(words) {
        touched(access, &word, at.dirs, list);
    }
    if let Some((access, path)) = access::implied(words) {
        list.touch(access, path, at.dirs);
    }
    add(name, args, list);
    changed(name, args, at.command, list);
}

/// Adds what a program changes elsewhere.
fn changed(name: &str, args: &[Word<'_>], command: &Command<'_>, list: &mut List) {
    let Some(program) = programs::exact(name) else { return };
    let found = changes::of(program, args);
    if !found.is_empty() {
        let unknown = args.iter().filter(|word| word.literal().is_none());
        unknown.for_each(|word| list.unknown(&format!("what {} stands for", word.text)));
    }
    for what in found {
        list.add(Effect::Changes { what, how: title(name, args) });
    }
    if program.is(Role::Database) {
        statements(name, args, command, list);
    }
}

/// Options behind which these programs take a statement, and those behind which they take a file of
/// them.
const STATEMENTS: &str = "-c -e --command --execute --eval";
const STATEMENT_FILES: &str = "-f --file";

/// Adds what the statements change that a database is given, or that they cannot be read.
fn statements(name: &str, args: &[Word<'_>], command: &Command<'_>, list: &mut List) {
    let given = Arguments { redirects: &command.redirects, ..Arguments::new(args) };
    for what in given.texts().chain(given.input()).flat_map(databases::changes) {
        list.add(Effect::Changes { what, how: name.to_owned() });
    }
    for value in given.given(STATEMENTS) {
        if value.word.literal().is_none() {
            list.unknown(&format!("which statements {} stands for", value.text));
        }
    }
    for file in given.values(STATEMENT_FILES) {
        list.unknown(&format!("the statements in {file}"));
    }
    let files = command.redirects.iter().filter(|it| it.op == RedirectOp::Read);
    files.for_each(|it| list.unknown(&format!("the statements in {}", it.target.text)));
    if matches!(command.pipe, PipePosition::Middle | PipePosition::Last) {
        list.unknown(&format!("the statements that {name} reads from its input"));
    }
}

fn behind(inner: &Inner<'_, '_>, wrapper: &str, at: EffectSite<'_, '_>, list: &mut List) {
    let script = |source: &str, dialect: Dialect, list: &mut List| {
        if at.depth >= MAX_DEPTH {
            return list.unknown("commands inside commands are too deep to follow");
        }
        text(&scan_as(source, dialect), at.dirs, list, at.depth + 1, at.guessed);
    };
    match inner {
        Inner::Argv { argv: words, open } => {
            argv(words, EffectSite { depth: at.depth + 1, ..at }, list);
            if *open {
                list.unknown(&format!("what {wrapper} appends to the command"));
            }
        }
        Inner::Script { text, dialect } => script(text, *dialect, list),
        Inner::Input(dialect) => match at.command.here_text() {
            Some(body) => script(body, *dialect, list),
            None => list.unknown(&format!("the commands that {wrapper} reads from its input")),
        },
        Inner::File | Inner::Unknown => list.unknown(&format!("what {wrapper} runs")),
    }
}

fn touched(access: Access, word: &Word<'_>, dirs: Directories<'_>, list: &mut List) {
    let known = paths::of_word(word, dirs);
    let path = known.as_deref().unwrap_or(&word.text);
    let path = path.strip_prefix("of=").or(path.strip_prefix("if=")).unwrap_or(path);
    if path.is_empty() || path == "-" {
        return;
    }
    list.touch(access, path, dirs);
    if known.is_none() && access != Access::Read {
        list.unknown(&format!("which files {} stands for", word.text));
    }
}

fn redirected(redirect: &Redirect<'_>, dirs: Directories<'_>, list: &mut List) {
    let text = &*redirect.target.text;
    // bash opens a connection for these paths itself; no such file exists.
    if let Some(rest) = text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/")) {
        let host = rest.split('/').next().unwrap_or(rest);
        return list.add(Effect::Reaches { host: host.to_owned() });
    }
    match redirect.op {
        RedirectOp::HereDocument | RedirectOp::HereString | RedirectOp::Duplicate => {}
        op if op.writes() => touched(Access::Write, &redirect.target, dirs, list),
        _ => touched(Access::Read, &redirect.target, dirs, list),
    }
}

fn is(name: &str, role: Role) -> bool {
    programs::exact(name).is_some_and(|program| program.is(role))
}

// The hosts that a command contacts, and what it publishes.

/// Returns a program's name, with its sub-command where the name alone says little.
fn title(path: &str, args: &[Word<'_>]) -> String {
    let program = programs::exact(programs::base(path)).filter(|it| it.is(Role::Titled));
    let sub = program.map(|program| Arguments::of(program, args).behind_sub().sub);
    let sub = sub.and_then(|sub| args.iter().find(|word| std::ptr::eq(&*word.text, sub)));
    match sub.and_then(Word::literal) {
        Some(sub) => format!("{path} {sub}"),
        None => path.to_owned(),
    }
}

/// Adds the hosts and publications of one command.
fn add(name: &str, args: &[Word<'_>], list: &mut List) {
    for word in args {
        if let Some(host) = host(&word.text) {
            list.add(Effect::Reaches { host });
        }
    }
    let Some(program) = programs::exact(name) else { return };
    if !program.reaches.is_empty() {
        let words = operands(args, VALUES);
        program.reaches.iter().for_each(|reach| one(*reach, name, &words, list));
    }
}

fn one(reach: Reach, name: &str, words: &[&Word<'_>], list: &mut List) {
    let word = |at: usize| words.get(at).map(|w| &*w.text).unwrap_or_default();
    let mut reaches = |host: &str| list.add(Effect::Reaches { host: host.to_owned() });
    match reach {
        Reach::Publishes { sub, second, title, to } => {
            let fits = listed(sub, word(0)) && (second.is_empty() || listed(second, word(1)));
            if fits {
                let what = match title {
                    Title::Two => format!("{name} {}", word(0)),
                    Title::Three => format!("{name} {} {}", word(0), word(1)),
                };
                list.add(Effect::Publishes { what, to: goal(to, words) });
            }
        }
        Reach::Copies => words.iter().filter_map(|w| remote(&w.text)).for_each(|to| reaches(&to)),
        Reach::Host if word(0).is_empty() => {}
        Reach::Host => reaches(word(0).rsplit('@').next().unwrap_or_default()),
        Reach::Addresses => words
            .iter()
            .filter(|w| !w.text.contains("://") && w.text.contains(['.', ':']))
            .for_each(|w| reaches(w.text.split(['/', '?']).next().unwrap_or_default())),
        Reach::Repository(subs) if listed(subs, word(0)) => {
            // A name such as `origin` is shown as it is; its host is in git's settings.
            let at = word(1);
            let named = (!at.is_empty() && !at.contains('/')).then(|| at.to_owned());
            let host = remote(at).or(named);
            reaches(host.as_deref().unwrap_or("the default remote"));
        }
        Reach::Registry(subs) if listed(subs, word(0)) => {
            reaches(&format!("the package registry of {name}"));
        }
        Reach::Repository(_) | Reach::Registry(_) => {}
    }
}

/// Returns the destination of a publication.
fn goal(to: To, words: &[&Word<'_>]) -> String {
    let text = |word: Option<&&Word<'_>>| word.map(|w| w.text.to_string()).unwrap_or_default();
    match to {
        To::Known(goal) => goal.to_owned(),
        To::Rest(default) if words.len() < 2 => default.to_owned(),
        To::Rest(_) => {
            let rest: Vec<&str> = words.iter().skip(1).map(|w| &*w.text).collect();
            rest.join(" ")
        }
        To::Second => text(words.get(1)),
        To::Last => text(words.last()),
    }
}

/// The destination of what changes infrastructure.
pub(crate) const INFRASTRUCTURE: &str = "the infrastructure";

/// Options of these programs whose value is not an operand.
const VALUES: &str = "-X -H -d -o -A -u -b -p -i -l -e -m -C -c -n -F -T -w";

/// Returns the host of an address with a scheme.
fn host(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    // The address may stand behind a name: `--url=https://…`, `user@https://…`.
    let scheme = scheme.rsplit(['=', '@']).next().unwrap_or(scheme);
    let plain = !scheme.is_empty()
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // `user:password@host`: only the host belongs on a card.
    let host = host.rsplit('@').next().unwrap_or_default();
    (plain && !host.is_empty() && scheme != "file").then(|| host.to_owned())
}

/// Returns the host of `user@host:path`.
fn remote(text: &str) -> Option<String> {
    let (host, _) = text.split_once(':')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    (!host.is_empty() && !host.contains('/')).then(|| host.to_owned())
}

/// Returns whether this effect of a call, as text, only restates others of it: `runs rm` beside
/// `deletes build`, or `runs git push` beside `publishes to origin main (git push)`.
// Where anything is unknown, the program's name may be all there is to tell of it.
#[must_use]
pub fn is_restated(effect: &str, all: &[String]) -> bool {
    // What is deleted of the infrastructure says that it changes.
    if let Some(how) = effect.strip_prefix("changes live infrastructure ") {
        return all.iter().any(|other| other.starts_with("deletes ") && other.ends_with(how));
    }
    // What is written to another host says that it is reached.
    if let Some(host) = effect.strip_prefix("reaches ") {
        let written = |other: &String| other.strip_prefix("writes ").and_then(remote);
        return all.iter().any(|other| written(other).is_some_and(|it| it == host));
    }
    let Some(program) = effect.strip_prefix("runs ") else { return false };
    // `runs npx jest` says that jest runs.
    let behind = |other: &String| {
        let name = other.strip_prefix("runs ").and_then(|run| run.strip_suffix(program));
        name.is_some_and(|runner| runner.ends_with(' '))
    };
    if all.iter().any(behind) {
        return true;
    }
    let by_it = format!(" ({program})");
    let says = |other: &String| {
        verb(program).is_some_and(|verb| other.starts_with(verb))
            || ELSEWHERE.iter().any(|start| other.starts_with(start)) && other.ends_with(&by_it)
    };
    !all.iter().any(|other| other.starts_with("effects unknown")) && all.iter().any(says)
}

/// How effects begin that name their program at the end.
const ELSEWHERE: &[&str] =
    &["publishes ", "changes ", "deletes ", "moves everything ", "adds rows ", "creates the "];

/// The start of the effects that say all that a program does.
// `./rm` is a program of its own, and no name of ours.
fn verb(program: &str) -> Option<&'static str> {
    let program = exact(program).filter(|program| program.is(Role::OnlyFiles))?;
    match program.files {
        Files::Each { access, .. } | Files::Transfer(access) => match access {
            description::Access::Read => None,
            description::Access::Write => Some("writes "),
            description::Access::Delete => Some("deletes "),
            description::Access::Move => Some("moves "),
            description::Access::Rights => Some("changes the rights of "),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
