//! The rules file: read again when it changes, written when somebody says Always.

use countersign_policy::{Guardrail, Rule, Rules, file, tools::canonical};
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The operator's rules.
#[derive(Debug)]
pub struct RulesFile {
    path: PathBuf,
    home: Option<String>,
    guardrail: Guardrail,
    last: Mutex<Arc<Loaded>>,
    /// Two Always at once are written one after the other.
    writing: Mutex<()>,
}

/// The rules in force.
#[derive(Debug)]
pub struct Loaded {
    /// The rules.
    pub rules: Rules,
    /// What nothing lifts: the bridge's own, and the denies that a person wrote.
    pub guardrail: Guardrail,
    /// What is wrong with the file, when these are older than it.
    pub problem: Option<String>,
    /// Rules in the file that grants have put there.
    granted: Vec<Rule>,
    stamp: Stamp,
}

/// Tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stamp {
    Missing,
    File { inode: u64, length: u64, changed: (i64, i64), mode: u32 },
}

impl RulesFile {
    /// Reads the rules; the defaults are in force where there is no such file.
    ///
    /// # Errors
    /// When the file is there and cannot be read, is open to others, or holds an error.
    pub fn open(path: &Path, home: Option<String>, guardrail: Guardrail) -> Result<Self, String> {
        let stamp = stamp(path).map_err(|error| cannot_read(path, &error))?;
        let loaded = load(path, home.as_deref(), stamp, guardrail.clone(), &[])?;
        let last = Mutex::new(Arc::new(loaded));
        Ok(Self { path: path.to_owned(), home, guardrail, last, writing: Mutex::new(()) })
    }

    /// The rules in force now: those of the file, or the last good ones with what is wrong.
    /// `granted` are the rules in it that came from grants.
    #[must_use]
    // FAIL-CLOSED: a broken file never loosens anything; the last good rules stay, and every card
    // says so.
    pub fn current(&self, granted: &[Rule]) -> Arc<Loaded> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match stamp(&self.path) {
            Ok(found) if found == last.stamp && last.problem.is_none() => {
                if last.granted == granted {
                    return last.clone();
                }
                self.load(found, granted)
            }
            // The defaults may allow more than the file did.
            Ok(Stamp::Missing) if last.stamp != Stamp::Missing => {
                Err(format!("{} is gone", self.path.display()))
            }
            Ok(found) => self.load(found, granted),
            Err(error) => Err(cannot_read(&self.path, &error)),
        };
        *last = Arc::new(match found {
            Ok(loaded) => loaded,
            Err(problem) => {
                if last.problem.as_ref() != Some(&problem) {
                    tracing::error!(problem, "the last good rules stay in force");
                }
                // The old stamp stays, so that the file is looked at again.
                Loaded {
                    rules: last.rules.clone(),
                    guardrail: last.guardrail.clone(),
                    problem: Some(problem),
                    granted: last.granted.clone(),
                    stamp: last.stamp.clone(),
                }
            }
        });
        last.clone()
    }

    fn load(&self, stamp: Stamp, granted: &[Rule]) -> Result<Loaded, String> {
        load(&self.path, self.home.as_deref(), stamp, self.guardrail.clone(), granted)
    }

    /// Why a rule that a grant wrote is not in force any more: people edit the file.
    #[must_use]
    pub fn lacks(&self, rule: &Rule) -> Option<String> {
        let granted = self.last.lock().unwrap_or_else(PoisonError::into_inner).granted.clone();
        let loaded = self.current(&granted);
        let same =
            |it: &&Rule| canonical(&it.tool) == canonical(&rule.tool) && it.pattern == rule.pattern;
        let file = name(&self.path);
        // The last one decides.
        match loaded.rules.iter().filter(same).last() {
            Some(found) if found.verdict == rule.verdict => None,
            Some(found) => Some(format!("{file} was edited and says {} now", found.verdict.word())),
            None => Some(format!("it is no longer in {file}")),
        }
    }

    /// What is wrong with the file, if something is.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let granted = self.last.lock().unwrap_or_else(PoisonError::into_inner).granted.clone();
        self.current(&granted).problem.clone()
    }

    /// Adds rules at the end, keeping comments and layout. All or none are written.
    ///
    /// # Errors
    /// A sentence; then the file is as it was.
    pub fn append(&self, rules: &[Rule]) -> Result<(), String> {
        self.edit(|text| file::append(text, rules).map_err(|error| error.to_string()))
    }

    /// The rules as they would be with these too, written by hand at the end of their tools.
    /// Nothing is written.
    ///
    /// # Errors
    /// A sentence that says why a rule cannot be in the file.
    pub fn with(&self, rules: &[Rule], granted: &[Rule]) -> Result<Loaded, String> {
        let stamp = stamp(&self.path).map_err(|error| cannot_read(&self.path, &error))?;
        let text = self.text()?;
        let text = file::append(&text, rules).map_err(|it| it.to_string())?;
        parsed(&text, &name(&self.path), self.home.as_deref(), self.guardrail.clone(), granted)
            .map(|loaded| Loaded { stamp, ..loaded })
    }

    /// Takes a rule out, keeping comments and layout.
    ///
    /// # Errors
    /// A sentence; then the file is as it was.
    pub fn remove(&self, rule: &Rule) -> Result<(), String> {
        self.edit(|text| file::remove(text, rule).map_err(|error| error.to_string()))
    }

    fn edit(&self, change: impl FnOnce(&str) -> Result<String, String>) -> Result<(), String> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&self.text()?)?;
        Rules::parse(&changed, &name(&self.path), self.home.as_deref())
            .map_err(|problems| say(&problems))?;
        replace(&self.path, &changed)
            .map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }

    /// The text of the file; that of the defaults where there is none.
    fn text(&self) -> Result<String, String> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(countersign_policy::DEFAULT_RULES.to_owned())
            }
            Err(error) => Err(cannot_read(&self.path, &error)),
        }
    }
}

fn load(
    path: &Path,
    home: Option<&str>,
    stamp: Stamp,
    guardrail: Guardrail,
    granted: &[Rule],
) -> Result<Loaded, String> {
    let (text, name) = match &stamp {
        Stamp::Missing => {
            (countersign_policy::DEFAULT_RULES.to_owned(), "the default rules".into())
        }
        Stamp::File { .. } => (guarded(path, &stamp)?, name(path)),
    };
    let loaded = parsed(&text, &name, home, guardrail, granted)?;
    for warning in loaded.rules.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(Loaded { stamp, ..loaded })
}

fn parsed(
    text: &str,
    name: &str,
    home: Option<&str>,
    guardrail: Guardrail,
    granted: &[Rule],
) -> Result<Loaded, String> {
    let rules = Rules::parse(text, name, home).map_err(|problems| say(&problems))?;
    let guardrail =
        guardrail.with_denies(by_hand(text, name, home, granted).unwrap_or(rules.clone()));
    let (problem, granted) = (None, granted.to_vec());
    Ok(Loaded { rules, guardrail, problem, granted, stamp: Stamp::Missing })
}

/// The rules as a person wrote them, without those that grants have added.
// SECURITY: no grant lifts a deny that a person wrote, wherever it is in the file.
pub(super) fn by_hand(
    text: &str,
    name: &str,
    home: Option<&str>,
    granted: &[Rule],
) -> Option<Rules> {
    let without = |text: String, rule| file::remove(&text, rule).ok();
    let text = granted.iter().try_fold(text.to_owned(), without)?;
    Rules::parse(&text, name, home).ok()
}

/// The text of a file that only its owner can write.
// SECURITY: a user who can write the policy can allow anything.
pub(super) fn guarded(path: &Path, stamp: &Stamp) -> Result<String, String> {
    if let Stamp::File { mode, .. } = stamp
        && mode & 0o022 != 0
    {
        return Err(format!("{0} can be written by others; run `chmod go-w {0}`", path.display()));
    }
    fs::read_to_string(path).map_err(|error| cannot_read(path, &error))
}

pub(super) fn stamp(path: &Path) -> io::Result<Stamp> {
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
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut new, text.as_bytes())?;
    if let Ok(meta) = fs::metadata(path) {
        new.as_file().set_permissions(meta.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

/// The file's own name: short enough for a card.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn say(problems: &[countersign_policy::RuleProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub(super) fn cannot_read(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}
