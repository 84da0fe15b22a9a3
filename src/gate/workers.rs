//! The rules of workers: a `permissions.jsonc` for each, written when it is first looked at,
//! read again when it changes, added to when somebody says Always.

mod known;
#[cfg(test)]
mod tests;

use super::rules_file::{self, Stamp};
use countersign_policy::{Decision, Guardrail, Rule, Rules, file};
use countersign_profiles::{EvaluationContext, Profile, System, WorkerFiles};
use known::KnownWorkers;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

/// The files of all workers.
#[derive(Debug)]
pub struct Workers {
    profile: Profile,
    files: WorkerFiles,
    /// The file for calls that name no worker; the folder of the others is beside it.
    main: PathBuf,
    home: Option<String>,
    guardrail: Guardrail,
    compat: bool,
    last: Mutex<KnownWorkers<Worker>>,
    /// Two Always at once are written one after the other.
    writing: Mutex<()>,
}

/// A worker's rules in force.
#[derive(Debug)]
pub(super) struct Worker {
    system: Arc<dyn System>,
    /// What nothing lifts: the bridge's own, and the denies that a person wrote.
    guardrail: Guardrail,
    /// What is wrong with the file, when these are older than it.
    problem: Option<String>,
    /// Rules in the text that grants have put there.
    granted: Vec<Rule>,
    stamp: Stamp,
}

impl Worker {
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
        files: WorkerFiles,
        main: &Path,
        home: Option<String>,
        guardrail: Guardrail,
        compat: bool,
    ) -> Result<Self, String> {
        let workers = Self {
            profile,
            files,
            main: main.to_owned(),
            home,
            guardrail,
            compat,
            last: Mutex::default(),
            writing: Mutex::default(),
        };
        let worker = workers.seeded(main).and_then(|stamp| workers.load(main, stamp, &[]))?;
        let mut last = workers.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.put(main, Arc::new(worker), Instant::now());
        drop(last);
        Ok(workers)
    }

    /// A worker's rules in force. `granted` are the rules in any file that came from grants.
    pub(super) fn rules_of(
        &self,
        worker: Option<&str>,
        granted: &[Rule],
    ) -> Result<Arc<Worker>, String> {
        self.current(&self.path(worker)?, granted)
    }

    /// The profile whose files these are.
    #[must_use]
    pub(super) fn profile(&self) -> Profile {
        self.profile
    }

    /// Whether they rule as the profile's system does, where that is unsafe too.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        self.compat
    }

    /// What is wrong with any of the files at the moment.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.all().find_map(|worker| worker.problem.clone())
    }

    /// Adds rules at the end of a worker's file, keeping comments and layout. All or none are
    /// written.
    ///
    /// # Errors
    /// A sentence; then the file is as it was.
    pub(super) fn append(&self, worker: Option<&str>, rules: &[Rule]) -> Result<(), String> {
        self.edit(&self.path(worker)?, |text| {
            if !self.compat {
                return file::append(text, rules).map_err(|error| error.to_string());
            }
            let Some(Rule { tool, .. }) = rules.first() else { return Ok(text.to_owned()) };
            let patterns: Vec<&str> = rules.iter().map(|rule| rule.pattern.as_str()).collect();
            Ok((self.files.remember)(text, tool, &patterns, self.home.as_deref()))
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

    /// The rules in force now: those of the file, or the last good ones with what is wrong.
    // FAIL-CLOSED: a broken file never loosens anything; a worker whose file never could be read
    // has no rules, and its calls are refused with the reason.
    fn current(&self, path: &Path, granted: &[Rule]) -> Result<Arc<Worker>, String> {
        let mut all = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, now) = (all.get(path), Instant::now());
        if before.is_none() {
            all.make_room(&self.main, now).iter().for_each(|forgotten| self.clear_away(forgotten));
        }
        let found = match &before {
            None => self.seeded(path),
            Some(_) => rules_file::stamp(path).map_err(|why| rules_file::cannot_read(path, &why)),
        };
        let loaded = match (found, &before) {
            (Ok(Stamp::Missing), Some(_)) => Err(format!("{} is gone", path.display())),
            (Ok(stamp), Some(last))
                if stamp == last.stamp && last.problem.is_none() && last.granted == granted =>
            {
                all.put(path, last.clone(), now);
                return Ok(last.clone());
            }
            (Ok(stamp), _) => self.load(path, stamp, granted),
            (Err(problem), _) => Err(problem),
        };
        let worker = match (loaded, before) {
            (Ok(worker), _) => worker,
            (Err(problem), None) => return Err(problem),
            (Err(problem), Some(last)) => {
                if last.problem.as_ref() != Some(&problem) {
                    tracing::error!(problem, "the last good rules stay in force");
                }
                Worker {
                    system: last.system.clone(),
                    guardrail: last.guardrail.clone(),
                    problem: Some(problem),
                    granted: last.granted.clone(),
                    stamp: last.stamp.clone(),
                }
            }
        };
        let worker = Arc::new(worker);
        all.put(path, worker.clone(), now);
        Ok(worker)
    }

    /// The state of the file, which is written with the profile's defaults where there is none.
    fn seeded(&self, path: &Path) -> Result<Stamp, String> {
        let look = || rules_file::stamp(path).map_err(|why| rules_file::cannot_read(path, &why));
        if look()? == Stamp::Missing {
            rules_file::replace(path, self.files.seed)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            let file = path.display();
            tracing::info!(%file, "a worker's rules start as the profile's defaults");
        }
        look()
    }

    /// Takes the file of a forgotten worker away if it holds no more than it began with: names that
    /// somebody made up leave nothing behind.
    fn clear_away(&self, path: &Path) {
        let _nobody_writes = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if fs::read_to_string(path).is_ok_and(|text| text == self.files.seed) {
            // A folder that holds anything else stays.
            let folder = path.parent().unwrap_or(path);
            let _ = fs::remove_file(path).and_then(|()| fs::remove_dir(folder));
        }
    }

    fn load(&self, path: &Path, stamp: Stamp, granted: &[Rule]) -> Result<Worker, String> {
        let text = rules_file::guarded(path, &stamp)?;
        let (name, home) = (rules_file::name(path), self.home.as_deref());
        let system = self.profile.open(Some(&text), &name, home, self.compat)?;
        let guardrail = match self.compat {
            true => self.guardrail.clone(),
            false => {
                let rules = Rules::parse(&text, &name, home).unwrap_or_default();
                let denies = rules_file::by_hand(&text, &name, home, granted).unwrap_or(rules);
                self.guardrail.clone().with_denies(denies)
            }
        };
        let granted = granted.to_vec();
        Ok(Worker { system: system.into(), guardrail, problem: None, granted, stamp })
    }

    fn edit(
        &self,
        path: &Path,
        change: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.files.seed.to_owned(),
            Err(error) => return Err(rules_file::cannot_read(path, &error)),
        };
        let changed = change(&text)?;
        self.profile.open(
            Some(&changed),
            &rules_file::name(path),
            self.home.as_deref(),
            self.compat,
        )?;
        rules_file::replace(path, &changed)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}
