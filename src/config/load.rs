//! Finds and reads the config; writes the default one.

use super::{
    Config,
    read::{self, PREFIX},
};
use crate::platforms::{BUILT_IN, Registered};
use countersign_client::{NoHome, Places};
use std::{
    fmt::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The variables of the agent's token.
const TOKEN: &str = "COUNTERSIGN__CLIENT__TOKEN";

impl Config {
    /// Reads the file named by `flag`, or by `$COUNTERSIGN_CONFIG`, or the default file if it
    /// exists. The `COUNTERSIGN__SECTION__KEY` variables override its keys.
    ///
    /// # Errors
    /// Every mistake, with its place and its fix.
    pub fn load(flag: Option<&Path>) -> Result<Self, ConfigError> {
        Self::load_for(flag, BUILT_IN)
    }

    /// As [`Config::load`], for a program with these platforms.
    ///
    /// # Errors
    /// As there, and for a faulty registration.
    pub fn load_for(
        flag: Option<&Path>,
        platforms: &'static [Registered],
    ) -> Result<Self, ConfigError> {
        let places = Places::of_this_user().map_err(|NoHome| ConfigError::NoHome)?;
        let named = named(flag);
        Self::load_with(named.as_deref(), platforms, &places, |_| true)
    }

    /// As [`Config::load`], for a hook that an agent starts. Where `flag` names the config, the
    /// environment gives at most the token, and `sockets` is the folder of the daemon's socket
    /// where the config names none.
    ///
    /// # Errors
    /// As there.
    // SECURITY: agents read a `.env` file of the project they work on into the environment of their
    // hooks, and a project must not choose the daemon that decides.
    pub fn load_for_hook(flag: Option<&Path>, sockets: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(flag) = flag else { return Self::load(None) };
        let sockets = sockets.map(Path::to_path_buf);
        let places = Places::of_account(sockets).map_err(|NoHome| ConfigError::NoHome)?;
        // `connect` names the default file, whether it exists or not.
        let file = named(Some(flag)).filter(|file| file.exists() || *file != places.config_file());
        Self::load_with(file.as_deref(), BUILT_IN, &places, |name| name.starts_with(TOKEN))
    }

    fn load_with(
        named: Option<&Path>,
        platforms: &'static [Registered],
        places: &Places,
        counts: impl Fn(&str) -> bool,
    ) -> Result<Self, ConfigError> {
        let file = named.map_or_else(|| places.config_file(), Path::to_path_buf);
        // Before it is read: a file that changes meanwhile counts as changed.
        let version = version(&file);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text),
            // Only the default file may be absent. A missing file that somebody named is an error.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => None,
            Err(error) => {
                return Err(ConfigError::Unreadable { file, why: error.to_string() });
            }
        };
        let file = text.map(|text| (file, text));
        // Not `vars`, which panics at a variable that is no UTF-8.
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(PREFIX) && counts(name))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect();
        let config = read::config(file, env, places, platforms).map_err(ConfigError::Mistakes)?;
        let version = version.filter(|_| config.path.is_some());
        Ok(Self { version, ..config })
    }

    /// Reads the same file again.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn again(&self) -> Result<Self, ConfigError> {
        Self::load_for(self.path.as_deref(), self.platforms)
    }

    /// The file that [`Config::load`] reads for `flag`, whether it exists or not.
    ///
    /// # Errors
    /// When no file was named and there is no home folder.
    pub fn file(flag: Option<&Path>) -> Result<PathBuf, ConfigError> {
        match named(flag) {
            Some(file) => Ok(file),
            None => Ok(Places::of_this_user().map_err(|NoHome| ConfigError::NoHome)?.config_file()),
        }
    }
}

/// The version of a file: it changes whenever the file is written. It tells nothing of what is in
/// the file, so it may be shown.
#[must_use]
pub fn version(file: &Path) -> Option<String> {
    let found = std::fs::metadata(file).ok()?;
    let seconds = found.mtime();
    let nanos = found.mtime_nsec();
    Some(format!("{seconds}.{nanos:09}-{}-{}", found.size(), found.ino()))
}

/// The files named by `COUNTERSIGN__…_FILE` variables; each holds a secret.
#[must_use]
pub fn secret_files(config: Option<&Path>) -> Vec<PathBuf> {
    let Ok(places) = Places::of_this_user() else { return Vec::new() };
    let base = config.and_then(Path::parent).unwrap_or(&places.config);
    let is_file =
        |name: &str| name.starts_with(PREFIX) && name.to_ascii_uppercase().ends_with("_FILE");
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_file))
        .map(|(_, value)| places.resolve(base, &value.to_string_lossy()))
        .map(|file| std::path::absolute(&file).unwrap_or(file))
        .collect()
}

/// Whether the environment sets any key of the config.
pub(crate) fn is_in_environment() -> bool {
    std::env::vars_os().any(|(name, _)| name.to_str().is_some_and(|name| name.starts_with(PREFIX)))
}

/// The config file that was named, as an absolute path, so that hooks find it from any folder.
pub(crate) fn named(flag: Option<&Path>) -> Option<PathBuf> {
    let from_env = || {
        std::env::var_os("COUNTERSIGN_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from)
    };
    let file = flag.map(Path::to_path_buf).or_else(from_env)?;
    Some(std::path::absolute(&file).unwrap_or(file))
}

/// The config could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no home folder to search.
    #[error("there is no home folder to look for a config in; name one with --config FILE")]
    NoHome,
    /// The named file cannot be read.
    #[error("{file}: {why}; `countersign --config {file} init` writes one", file = file.display())]
    Unreadable {
        /// The named file.
        file: PathBuf,
        /// The system's error.
        why: String,
    },
    /// Mistakes in the file or the environment, one sentence each.
    #[error("{}", .0.join("\n"))]
    Mistakes(Vec<String>),
}

/// The part for every program.
const BASE: &str = include_str!("../../config/countersign.toml");
/// The line that the platforms' sections replace.
const CHATS: &str = "# (the chats)\n";
/// The line that their lists of approvers replace.
const APPROVERS: &str = "# (the approvers in chats)\n";

/// The default config of a program with these platforms.
#[must_use]
pub fn template(platforms: &[Registered]) -> String {
    let mut sections = String::new();
    let mut lists = String::new();
    for platform in platforms.iter().filter_map(|it| it.platform) {
        let about = platform.description();
        let _ = writeln!(sections, "{}", about.example);
        for list in about.approvers {
            let _ = writeln!(lists, "# {} = {}", list.key, list.example);
        }
    }
    let sections = sections.strip_suffix('\n').unwrap_or_default();
    BASE.replace(CHATS, sections).replace(APPROVERS, &lists)
}
