//! Tells the program which commit it is built from, for `--version`.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = commit().map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo:rustc-env=COUNTERSIGN_VERSION={version}{commit}");
}

/// The commit and its date, such as `abc1234 2026-11-22`; `None` without git or a repository.
fn commit() -> Option<String> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let top = git(&here, &["rev-parse", "--show-toplevel"])?;
    // A source archive that was unpacked in some other repository is not built from its commit.
    if Path::new(&top).canonicalize().ok()? != here.canonicalize().ok()? {
        return None;
    }
    // The log of HEAD changes with every commit, checkout and rebase.
    let log = git(&here, &["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo:rerun-if-changed={}", here.join(log).display());
    git(&here, &["show", "--no-patch", "--format=%h %cs", "HEAD"])
}

fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let out = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| out.status.success() && !text.is_empty())
}
