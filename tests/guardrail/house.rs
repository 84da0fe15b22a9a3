//! A home folder with the bridge's folders in it, a workspace, and links that lead about.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A home folder of its own.
pub struct House {
    _dir: TempDir,
    root: PathBuf,
}

/// Folders below home that calls are made in.
pub const FOLDERS: &[&str] =
    &["proj", "proj/sub/deep", "proj", "", ".config", "proj/to_config", "proj/sub/up"];

impl House {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in [
            ".config/countersign/workers",
            ".config/other",
            ".local/state/countersign",
            "proj/sub/deep",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            ".config/countersign/approver.token",
            ".config/countersign/countersign.toml",
            ".config/other/settings",
            ".local/state/countersign/countersign.db",
            "proj/notes.txt",
            "proj/sub/main.rs",
            "proj/sub/deep/x",
        ] {
            fs::write(root.join(file), "x").unwrap();
        }
        for (to, link) in [
            ("../.config", "proj/to_config"),
            ("../.config/countersign", "proj/to_ours"),
            ("../.config/countersign/approver.token", "proj/innocent.txt"),
            ("../../.config/other", "proj/sub/other"),
            ("..", "proj/sub/up"),
            ("to_config", "proj/twice"),
            ("../../.local", "proj/sub/loc"),
            ("round", "proj/round"),
        ] {
            symlink(to, root.join(link)).unwrap();
        }
        // The only programs that can be found.
        fs::create_dir(root.join("only_bash")).unwrap();
        crate::bash::furnish(&root.join("only_bash"));
        Self { _dir: dir, root }
    }

    /// A path below home.
    pub fn text(&self, below: &str) -> String {
        self.root.join(below).display().to_string().trim_end_matches('/').to_owned()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What of ours a path leads to, as the file system has it.
    pub fn ours(&self, cwd: &str, path: &str) -> Option<String> {
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.root.join(rest),
            None => Path::new(cwd).join(path),
        };
        let real = path.canonicalize().ok()?;
        let own = [".config/countersign", ".local/state/countersign"];
        own.iter()
            .any(|own| real.starts_with(self.root.join(own)))
            .then(|| real.display().to_string())
    }

    /// Something of ours lies below the folder.
    pub fn is_above(&self, cwd: &str, path: &str) -> bool {
        let real = Path::new(cwd).join(path).canonicalize().unwrap_or_default();
        let own = [".config/countersign", ".local/state/countersign"];
        !real.as_os_str().is_empty() && own.iter().any(|own| self.root.join(own).starts_with(&real))
    }
}
