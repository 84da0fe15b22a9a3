//! The operator's policy: the rules file, a file for each worker, or another system's own
//! configuration. Each is read again when it changes. What somebody says Always to is added to the
//! files of workers, as their system does, and to no other.

use countersign_policy::{
    Decision, Guardrail, Rule, RuleProblem, Rules, Verdict,
    file::{self, FileError},
    tools::canonical,
};
use countersign_port::locked;
use countersign_profiles::{EvaluationContext, Profile, System};
use countersign_tokens::file::{Replacement, Rights, read};
use std::{
    collections::HashMap,
    fs, io,
    ops::Deref,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// What rules on calls.
#[derive(Debug)]
pub enum Policy {
    /// The rules file of the profile `standard`, and how it treats asks.
    Rules(Box<RulesFile>, Arc<dyn System>),
    /// A rules file for each worker, and how the profile treats asks.
    Workers(Box<Workers>, Arc<dyn System>),
    /// Another system's policy.
    Native(Box<NativeFile>),
}

/// Another system's own configuration.
#[derive(Debug)]
pub struct NativeFile {
    profile: Profile,
    path: Option<PathBuf>,
    compat: bool,
    guardrail: Guardrail,
    last: Mutex<Arc<LastGood<Arc<dyn System>>>>,
}

/// What a file holds, or held when it was last good.
#[derive(Debug)]
pub struct LastGood<T> {
    held: T,
    /// What is wrong with the file, when this is older than it.
    pub problem: Option<String>,
    stamp: Stamp,
}

impl<T> Deref for LastGood<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T: Clone> LastGood<T> {
    /// Reads a file that was never read.
    fn open(path: &Path, load: impl FnOnce(&Stamp) -> Result<T, String>) -> Result<Self, String> {
        let stamp = stamp(path).map_err(|error| cannot_read(path, &error))?;
        Ok(Self { held: load(&stamp)?, problem: None, stamp })
    }

    /// What is in force now: what the file holds, which is read where it changed, or where what was
    /// read of it is `outdated`; or what it held when it was last good, with what is wrong.
    // FAIL-CLOSED: a broken file never loosens anything; what was last good stays, and every card
    // says so.
    fn now(
        self: &Arc<Self>,
        path: &Path,
        outdated: bool,
        load: impl FnOnce(&Stamp) -> Result<T, String>,
    ) -> Arc<Self> {
        let found = match stamp(path) {
            Ok(found) if found == self.stamp && self.problem.is_none() && !outdated => {
                return self.clone();
            }
            // The defaults may allow more than the file did.
            Ok(Stamp::Missing) if self.stamp != Stamp::Missing => {
                Err(format!("{} is gone", path.display()))
            }
            Ok(stamp) => load(&stamp).map(|held| Self { held, problem: None, stamp }),
            Err(error) => Err(cannot_read(path, &error)),
        };
        Arc::new(found.unwrap_or_else(|problem| {
            if self.problem.as_ref() != Some(&problem) {
                tracing::error!(problem, "the last good rules stay in force");
            }
            // The old stamp stays, so that the file is looked at again.
            let held = self.held.clone();
            let stamp = self.stamp.clone();
            Self { held, problem: Some(problem), stamp }
        }))
    }
}

impl Policy {
    /// Opens the policy of a profile. `file` is the rules file of `standard` and of profiles with
    /// workers, and the system's own configuration otherwise; without one its defaults.
    ///
    /// # Errors
    /// When the file is there and cannot be read, is open to others, or holds an error.
    pub fn open(
        profile: Profile,
        file: Option<&Path>,
        home: Option<String>,
        guardrail: Guardrail,
        compat: bool,
    ) -> Result<Self, String> {
        match (profile, file, profile.worker_seed()) {
            (Profile::Standard, Some(file), _) => {
                let system = profile.open(None, "the built-in rules", home.as_deref(), compat)?;
                Ok(Self::Rules(Box::new(RulesFile::open(file, home, guardrail)?), system.into()))
            }
            (_, Some(file), Some(seed)) => {
                let system = profile.open(None, "the built-in rules", home.as_deref(), compat)?;
                let workers = Workers::open(profile, seed, file, home, guardrail, compat)?;
                Ok(Self::Workers(Box::new(workers), system.into()))
            }
            _ => {
                let native = NativeFile::open(profile, file, guardrail, compat)?;
                Ok(Self::Native(Box::new(native)))
            }
        }
    }

    /// How the system treats asks, and what its model is told.
    #[must_use]
    pub fn system(&self) -> Arc<dyn System> {
        match self {
            Self::Rules(_, system) | Self::Workers(_, system) => system.clone(),
            Self::Native(native) => native.current().held.clone(),
        }
    }

    /// The profile that it opened.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match self {
            Self::Rules(..) => Profile::Standard,
            Self::Workers(workers, _) => workers.profile,
            Self::Native(native) => native.profile,
        }
    }

    /// Whether the unsafe spots of the profile's system are open.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        match self {
            Self::Rules(..) => false,
            Self::Workers(workers, _) => workers.compat,
            Self::Native(native) => native.compat,
        }
    }

    /// What is wrong with the file at the moment, if something is.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Rules(file, _) => file.current().problem.clone(),
            Self::Workers(workers, _) => workers.problem(),
            Self::Native(native) => native.current().problem.clone(),
        }
    }

    /// The rules of the file that a person should look at, such as one for a tool that is called
    /// otherwise: in force, and void.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Rules(file, _) => {
                file.current().rules.warnings().iter().map(ToString::to_string).collect()
            }
            Self::Workers(..) | Self::Native(_) => Vec::new(),
        }
    }

    /// The files that keep what is granted for always, where the profile's system writes it to its
    /// own file. Everywhere else the store alone keeps it.
    pub(super) fn workers(&self) -> Option<&Workers> {
        match self {
            Self::Workers(workers, _) => Some(workers),
            Self::Rules(..) | Self::Native(_) => None,
        }
    }

    /// Why these rules cannot be granted: the rules file denies what one of them allows.
    pub(super) fn refuses(&self, rules: &[&Rule]) -> Option<String> {
        let Self::Rules(file, _) = self else { return None };
        let now = file.current();
        let denied = rules.iter().find(|rule| now.denies(rule))?;
        let tool = denied.tool.clone();
        let pattern = denied.pattern.clone();
        Some(FileError::Denied { tool, pattern }.to_string())
    }

    /// Says so if the rules file allows what a grant of this rule allowed.
    pub(super) fn still_allows(&self, rule: &Rule) -> Option<String> {
        let Self::Rules(file, _) = self else { return None };
        let now = file.current();
        let mut same = now.rules.iter().filter(|it| is_same(it, rule));
        same.any(|it| it.verdict == rule.verdict)
            .then(|| format!("a person wrote it to {}", name(&file.path)))
    }
}

impl NativeFile {
    fn open(
        profile: Profile,
        path: Option<&Path>,
        guardrail: Guardrail,
        compat: bool,
    ) -> Result<Self, String> {
        let read = |path: &Path, stamp: &Stamp| native(profile, compat, path, stamp);
        let last = match path {
            Some(path) => LastGood::open(path, |stamp| read(path, stamp))?,
            None => {
                let held = profile.open(None, profile.name(), None, compat)?.into();
                LastGood { held, problem: None, stamp: Stamp::Missing }
            }
        };
        let path = path.map(Path::to_owned);
        let last = Mutex::new(Arc::new(last));
        Ok(Self { profile, path, compat, guardrail, last })
    }

    fn current(&self) -> Arc<LastGood<Arc<dyn System>>> {
        let mut last = locked(&self.last);
        if let Some(path) = &self.path {
            *last = last.now(path, false, |stamp| native(self.profile, self.compat, path, stamp));
        }
        last.clone()
    }

    /// Whether the built-in rules decide, because no file is named.
    pub(super) fn is_built_in(&self) -> bool {
        self.profile == Profile::Standard && self.path.is_none()
    }

    /// What nothing lifts.
    pub(super) fn guardrail(&self) -> &Guardrail {
        &self.guardrail
    }

    /// Rules on a call, under the guardrail of what is given.
    pub(super) fn rule(
        &self,
        call: &countersign_policy::Call,
        context: &EvaluationContext<'_>,
    ) -> Result<(Decision, Option<String>), String> {
        let now = self.current();
        Ok((countersign_profiles::decide(&*now.held, call, context)?, now.problem.clone()))
    }
}

/// Reads another system's own configuration.
fn native(
    profile: Profile,
    compat: bool,
    path: &Path,
    stamp: &Stamp,
) -> Result<Arc<dyn System>, String> {
    Ok(profile.open(Some(&guarded(path, stamp)?), &name(path), None, compat)?.into())
}

/// The operator's rules.
#[derive(Debug)]
pub struct RulesFile {
    path: PathBuf,
    home: Option<String>,
    guardrail: Guardrail,
    last: Mutex<Arc<LastGood<Loaded>>>,
}

/// The rules in force.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The rules.
    pub rules: Rules,
    /// What nothing lifts: the bridge's own, and the denies that a person wrote.
    pub guardrail: Guardrail,
    /// The denies among the rules, in force or outranked by a later line.
    denies: Vec<Rule>,
}

impl Loaded {
    /// The granted rules, without those that the file denies by the same pattern.
    // SECURITY: such a grant is void whenever it was made, also where a later line of the file
    // outranks the deny.
    pub(super) fn grantable(&self, mut granted: Vec<Rule>) -> Rules {
        granted.retain(|rule| !self.denies(rule));
        Rules::from_grants(&granted)
    }

    fn denies(&self, rule: &Rule) -> bool {
        self.denies.iter().any(|deny| is_same(deny, rule))
    }
}

/// Tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stamp {
    Missing,
    File { inode: u64, length: u64, changed: (i64, i64), mode: u32 },
}

impl RulesFile {
    /// Reads the rules; the defaults are in force where there is no such file.
    ///
    /// # Errors
    /// When the file is there and cannot be read, is open to others, or holds an error.
    pub fn open(path: &Path, home: Option<String>, guardrail: Guardrail) -> Result<Self, String> {
        let loaded =
            LastGood::open(path, |stamp| load(path, home.as_deref(), stamp, guardrail.clone()))?;
        let last = Mutex::new(Arc::new(loaded));
        Ok(Self { path: path.to_owned(), home, guardrail, last })
    }

    /// The rules in force now.
    #[must_use]
    pub fn current(&self) -> Arc<LastGood<Loaded>> {
        let mut last = locked(&self.last);
        *last = last.now(&self.path, false, |stamp| {
            load(&self.path, self.home.as_deref(), stamp, self.guardrail.clone())
        });
        last.clone()
    }

    /// The rules as they would be with these too, written by hand at the end of their tools.
    /// Nothing is written.
    ///
    /// # Errors
    /// A sentence that says why a rule cannot be in the file.
    pub fn with(&self, rules: &[Rule]) -> Result<Loaded, String> {
        let text = read(&self.path).map_err(|error| cannot_read(&self.path, &error))?;
        let text = text.unwrap_or_else(|| countersign_policy::DEFAULT_RULES.to_owned());
        let text = file::append(&text, rules).map_err(|it| it.to_string())?;
        parsed(&text, &name(&self.path), self.home.as_deref(), self.guardrail.clone())
    }
}

fn load(
    path: &Path,
    home: Option<&str>,
    stamp: &Stamp,
    guardrail: Guardrail,
) -> Result<Loaded, String> {
    let (text, name) = match stamp {
        Stamp::Missing => {
            (countersign_policy::DEFAULT_RULES.to_owned(), "the built-in rules".into())
        }
        Stamp::File { .. } => (guarded(path, stamp)?, name(path)),
    };
    let loaded = parsed(&text, &name, home, guardrail)?;
    for warning in loaded.rules.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(loaded)
}

fn parsed(
    text: &str,
    name: &str,
    home: Option<&str>,
    guardrail: Guardrail,
) -> Result<Loaded, String> {
    let rules = Rules::parse(text, name, home).map_err(|problems| say(&problems))?;
    // SECURITY: the file is evaluated alone too, so that no grant lifts a deny of it.
    let guardrail = guardrail.with_denies(rules.clone());
    let denies = rules.iter().filter(|rule| rule.verdict == Verdict::Deny).cloned().collect();
    Ok(Loaded { rules, guardrail, denies })
}

/// Whether two rules are about the same calls of the same tool.
fn is_same(one: &Rule, other: &Rule) -> bool {
    one.pattern == other.pattern && canonical(&one.tool) == canonical(&other.tool)
}

/// The rules of a worker's file as a person wrote them, without those that grants have added.
// SECURITY: no grant lifts a deny that a person wrote, wherever it is in the file.
fn by_hand(text: &str, name: &str, home: Option<&str>, granted: &[Rule]) -> Option<Rules> {
    let without = |text: String, rule| file::remove(&text, rule).ok();
    let text = granted.iter().try_fold(text.to_owned(), without)?;
    Rules::parse(&text, name, home).ok()
}

/// The text of a file that only its owner can write.
// SECURITY: a user who can write the policy can allow anything.
fn guarded(path: &Path, stamp: &Stamp) -> Result<String, String> {
    if let Stamp::File { mode, .. } = stamp
        && mode & 0o022 != 0
    {
        return Err(format!("{0} can be written by others; run `chmod go-w {0}`", path.display()));
    }
    fs::read_to_string(path).map_err(|error| cannot_read(path, &error))
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    match fs::metadata(path) {
        Ok(meta) => Ok(Stamp::File {
            inode: meta.ino(),
            length: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
            mode: meta.permissions().mode(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stamp::Missing),
        Err(error) => Err(error),
    }
}

/// Replaces a file in one step, so that nobody ever reads half of it.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    Replacement::write(path, text, Rights::AsBefore)?.put()
}

/// The file's own name: short enough for a card.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn say(problems: &[RuleProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn cannot_read(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// The files of all workers.
#[derive(Debug)]
pub struct Workers {
    profile: Profile,
    /// What every file starts with.
    seed: &'static str,
    /// The file for calls that name no worker; the folder of the others is beside it.
    main: PathBuf,
    home: Option<String>,
    guardrail: Guardrail,
    compat: bool,
    last: Mutex<KnownWorkers<LastGood<Worker>>>,
    /// Two Always at once are written one after the other.
    writing: Mutex<()>,
}

/// A worker's rules in force.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    system: Arc<dyn System>,
    /// What nothing lifts: the bridge's own, and the denies that a person wrote.
    guardrail: Guardrail,
    /// Rules in the text that grants have put there.
    granted: Vec<Rule>,
}

impl LastGood<Worker> {
    /// What nothing lifts.
    pub(super) fn guardrail(&self) -> &Guardrail {
        &self.guardrail
    }

    /// Rules on a call, under the guardrail of what is given. The second is what is wrong with the
    /// worker's file, if something is.
    pub(super) fn rule(
        &self,
        call: &countersign_policy::Call,
        context: &EvaluationContext<'_>,
    ) -> Result<(Decision, Option<String>), String> {
        Ok((countersign_profiles::decide(&*self.system, call, context)?, self.problem.clone()))
    }
}

impl Workers {
    /// Takes the main file; the others are in the folder `workers` beside it.
    ///
    /// # Errors
    /// When the main file is there and cannot be read, is open to others, or holds an error.
    pub fn open(
        profile: Profile,
        seed: &'static str,
        main: &Path,
        home: Option<String>,
        guardrail: Guardrail,
        compat: bool,
    ) -> Result<Self, String> {
        let workers = Self {
            profile,
            seed,
            main: main.to_owned(),
            home,
            guardrail,
            compat,
            last: Mutex::default(),
            writing: Mutex::default(),
        };
        let worker = workers.first(main, &[])?;
        let mut last = locked(&workers.last);
        last.put(main, Arc::new(worker), Instant::now());
        drop(last);
        Ok(workers)
    }

    /// A worker's rules in force. `granted` are the rules in any file that came from grants.
    pub(super) fn rules_of(
        &self,
        worker: Option<&str>,
        granted: &[Rule],
    ) -> Result<Arc<LastGood<Worker>>, String> {
        self.current(&self.path(worker)?, granted)
    }

    /// What is wrong with any of the files at the moment.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let last = locked(&self.last);
        last.all().find_map(|worker| worker.problem.clone())
    }

    /// Adds rules at the end of a worker's file, keeping comments and layout. All or none are
    /// written.
    ///
    /// # Errors
    /// A sentence; then the file is as it was.
    pub(super) fn append(&self, worker: Option<&str>, rules: &[Rule]) -> Result<(), String> {
        self.edit(&self.path(worker)?, |text| {
            file::append(text, rules).map_err(|error| error.to_string())
        })
    }

    /// Takes a rule out of a worker's file, keeping comments and layout.
    ///
    /// # Errors
    /// A sentence; then the file is as it was.
    pub(super) fn remove(&self, worker: Option<&str>, rule: &Rule) -> Result<(), String> {
        self.edit(&self.path(worker)?, |text| {
            file::remove(text, rule).map_err(|error| error.to_string())
        })
    }

    /// Where a worker's rules are.
    // SECURITY: the name comes from outside; it names one folder and nothing above or below it.
    fn path(&self, worker: Option<&str>) -> Result<PathBuf, String> {
        let Some(worker) = worker else { return Ok(self.main.clone()) };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if worker.is_empty() || worker.len() > 100 || worker.starts_with('.') {
            return Err(format!("the worker {worker:?} names no folder for its rules"));
        }
        if !worker.chars().all(plain) {
            return Err(format!(
                "the worker {worker:?} names no folder for its rules; letters, digits, `-`, `_` \
                 and `.` do"
            ));
        }
        let folder = self.main.parent().unwrap_or(Path::new("."));
        Ok(folder.join("workers").join(worker).join("permissions.jsonc"))
    }

    /// The rules in force now.
    // FAIL-CLOSED: a worker whose file never could be read has no rules, and its calls are refused
    // with the reason.
    fn current(&self, path: &Path, granted: &[Rule]) -> Result<Arc<LastGood<Worker>>, String> {
        let mut all = locked(&self.last);
        let now = Instant::now();
        let worker = match all.get(path) {
            Some(last) => {
                last.now(path, last.granted != granted, |stamp| self.load(path, stamp, granted))
            }
            None => {
                let forgotten = all.make_room(&self.main, now);
                forgotten.iter().for_each(|forgotten| self.clear_away(forgotten));
                Arc::new(self.first(path, granted)?)
            }
        };
        all.put(path, worker.clone(), now);
        Ok(worker)
    }

    /// Reads a file that was never read; it is written with the profile's defaults where there is
    /// none.
    fn first(&self, path: &Path, granted: &[Rule]) -> Result<LastGood<Worker>, String> {
        if stamp(path).map_err(|why| cannot_read(path, &why))? == Stamp::Missing {
            replace(path, self.seed)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            let file = path.display();
            tracing::info!(%file, "a worker's rules start as the profile's defaults");
        }
        LastGood::open(path, |stamp| self.load(path, stamp, granted))
    }

    /// Takes the file of a forgotten worker away if it holds no more than it began with: names that
    /// somebody made up leave nothing behind.
    fn clear_away(&self, path: &Path) {
        let _nobody_writes = locked(&self.writing);
        if fs::read_to_string(path).is_ok_and(|text| text == self.seed) {
            // A folder that holds anything else stays.
            let folder = path.parent().unwrap_or(path);
            let _ = fs::remove_file(path).and_then(|()| fs::remove_dir(folder));
        }
    }

    fn load(&self, path: &Path, stamp: &Stamp, granted: &[Rule]) -> Result<Worker, String> {
        let text = guarded(path, stamp)?;
        let name = name(path);
        let home = self.home.as_deref();
        let system = self.profile.open(Some(&text), &name, home, self.compat)?;
        let guardrail = if self.compat {
            self.guardrail.clone()
        } else {
            let rules = Rules::parse(&text, &name, home).unwrap_or_default();
            let denies = by_hand(&text, &name, home, granted).unwrap_or(rules);
            self.guardrail.clone().with_denies(denies)
        };
        let granted = granted.to_vec();
        Ok(Worker { system: system.into(), guardrail, granted })
    }

    fn edit(
        &self,
        path: &Path,
        change: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        let _one_at_a_time = locked(&self.writing);
        let text = read(path).map_err(|error| cannot_read(path, &error))?;
        let text = text.unwrap_or_else(|| self.seed.to_owned());
        let changed = change(&text)?;
        self.profile.open(Some(&changed), &name(path), self.home.as_deref(), self.compat)?;
        replace(path, &changed).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// So many are remembered.
pub(super) const MOST: usize = 1000;
/// One that has made no call for so long is forgotten.
const IDLE: Duration = Duration::from_secs(3600);

#[derive(Debug)]
struct KnownWorkers<W> {
    by_path: HashMap<PathBuf, (Arc<W>, Instant)>,
}

impl<W> Default for KnownWorkers<W> {
    fn default() -> Self {
        Self { by_path: HashMap::new() }
    }
}

impl<W> KnownWorkers<W> {
    /// The worker whose rules are there, if it is known.
    pub(super) fn get(&self, path: &Path) -> Option<Arc<W>> {
        self.by_path.get(path).map(|(worker, _)| worker.clone())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &W> {
        self.by_path.values().map(|(worker, _)| &**worker)
    }

    /// Notes that a worker makes a call.
    pub(super) fn put(&mut self, path: &Path, worker: Arc<W>, now: Instant) {
        self.by_path.insert(path.to_owned(), (worker, now));
    }

    /// Forgets the idle, and so many more that there is room for one; where their rules are.
    pub(super) fn make_room(&mut self, main: &Path, now: Instant) -> Vec<PathBuf> {
        let age = |path: &Path| (path != main).then(|| self.by_path.get(path).map(|(_, at)| *at));
        let mut others: Vec<(Instant, PathBuf)> =
            (self.by_path.keys()).filter_map(|path| Some((age(path)??, path.clone()))).collect();
        others.sort();
        let many = (others.len() + 1).saturating_sub(MOST);
        let idle = others.iter().filter(|(at, _)| now.duration_since(*at) >= IDLE).count();
        others.truncate(many.max(idle));
        let forgotten: Vec<PathBuf> = others.into_iter().map(|(_, path)| path).collect();
        for path in &forgotten {
            self.by_path.remove(path);
        }
        forgotten
    }
}

#[cfg(test)]
mod tests;
