//! The operator's policy: the rules file, or another system's own configuration; read again when it
//! changes.

use super::{RulesFile, Workers, rules_file};
use countersign_policy::{Decision, Guardrail, Rule};
use countersign_profiles::{EvaluationContext, Profile, System};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
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
    last: Mutex<Arc<Native>>,
}

/// A configuration in force.
#[derive(Debug)]
pub struct Native {
    /// What rules.
    pub system: Arc<dyn System>,
    /// What is wrong with the file, when this is older than it.
    pub problem: Option<String>,
    stamp: rules_file::Stamp,
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
        match (profile, file, profile.worker_files()) {
            (Profile::Standard, Some(file), _) => {
                let system = profile.open(None, "the default rules", home.as_deref(), compat)?;
                Ok(Self::Rules(Box::new(RulesFile::open(file, home, guardrail)?), system.into()))
            }
            (_, Some(file), Some(files)) => {
                let system = profile.open(None, "the default rules", home.as_deref(), compat)?;
                let workers = Workers::open(profile, files, file, home, guardrail, compat)?;
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
            Self::Native(native) => native.current().system.clone(),
        }
    }

    /// The profile that it opened.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match self {
            Self::Rules(..) => Profile::Standard,
            Self::Workers(workers, _) => workers.profile(),
            Self::Native(native) => native.profile,
        }
    }

    /// Whether the unsafe spots of the profile's system are open.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        match self {
            Self::Rules(..) => false,
            Self::Workers(workers, _) => workers.is_compat(),
            Self::Native(native) => native.compat,
        }
    }

    /// What is wrong with the file at the moment, if something is.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Rules(rules, _) => rules.problem(),
            Self::Workers(workers, _) => workers.problem(),
            Self::Native(native) => native.current().problem.clone(),
        }
    }

    /// Adds rules to the file that calls of this worker are ruled by; `None` where no file keeps
    /// what is granted.
    pub(super) fn append(
        &self,
        worker: Option<&str>,
        rules: &[Rule],
    ) -> Option<Result<(), String>> {
        match self {
            Self::Rules(file, _) => Some(file.append(rules)),
            Self::Workers(workers, _) => Some(workers.append(worker, rules)),
            Self::Native(_) => None,
        }
    }

    /// Why a granted rule does not hold any more; `None` where it does, where the store alone keeps
    /// what is granted, and for the files of workers, which are not compared.
    pub(super) fn lacks(&self, rule: &Rule) -> Option<String> {
        match self {
            Self::Rules(file, _) => file.lacks(rule),
            Self::Workers(..) | Self::Native(_) => None,
        }
    }

    /// Takes a rule out of that file.
    pub(super) fn remove(&self, worker: Option<&str>, rule: &Rule) -> Option<Result<(), String>> {
        match self {
            Self::Rules(file, _) => Some(file.remove(rule)),
            Self::Workers(workers, _) => Some(workers.remove(worker, rule)),
            Self::Native(_) => None,
        }
    }
}

impl NativeFile {
    fn open(
        profile: Profile,
        path: Option<&Path>,
        guardrail: Guardrail,
        compat: bool,
    ) -> Result<Self, String> {
        let mut native = Self {
            profile,
            path: path.map(Path::to_owned),
            compat,
            guardrail,
            last: Mutex::new(Arc::new(Native {
                system: profile.open(None, profile.name(), None, compat)?.into(),
                problem: None,
                stamp: rules_file::Stamp::Missing,
            })),
        };
        if let Some(path) = path {
            let stamp =
                rules_file::stamp(path).map_err(|why| rules_file::cannot_read(path, &why))?;
            native.last = Mutex::new(Arc::new(native.load(stamp)?));
        }
        Ok(native)
    }

    /// The configuration in force now: that of the file, or the last good one with what is wrong.
    // FAIL-CLOSED: a broken file never loosens anything; the last good one stays, and every card
    // says so.
    fn current(&self) -> Arc<Native> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(path) = &self.path else { return last.clone() };
        let found = match rules_file::stamp(path) {
            Ok(found) if found == last.stamp && last.problem.is_none() => return last.clone(),
            Ok(rules_file::Stamp::Missing) => Err(format!("{} is gone", path.display())),
            Ok(found) => self.load(found),
            Err(error) => Err(rules_file::cannot_read(path, &error)),
        };
        *last = Arc::new(found.unwrap_or_else(|problem| {
            if last.problem.as_ref() != Some(&problem) {
                tracing::error!(problem, "the last good policy stays in force");
            }
            let (system, stamp) = (last.system.clone(), last.stamp.clone());
            Native { system, problem: Some(problem), stamp }
        }));
        last.clone()
    }

    fn load(&self, stamp: rules_file::Stamp) -> Result<Native, String> {
        let Some(path) = &self.path else { return Err("there is no file to read".to_owned()) };
        let text = rules_file::guarded(path, &stamp)?;
        let system = self.profile.open(Some(&text), &rules_file::name(path), None, self.compat)?;
        Ok(Native { system: system.into(), problem: None, stamp })
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
        Ok((countersign_profiles::decide(&*now.system, call, context)?, now.problem.clone()))
    }
}
