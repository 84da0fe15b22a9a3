//! Finds repositories inside other ones. git obeys the settings of the nearest, which may name
//! programs.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// Returns true when git, run in this folder, obeys a repository that lies inside the folder of
/// another one and is neither a submodule nor a worktree of it.
///
/// A repository with none around it is the project's own. One in the home folder or above it counts
/// for nothing, because it holds everybody's projects.
// FAIL-CLOSED: what cannot be read is taken for an inner repository. A folder that is not here is
// on another machine, where nothing can be looked up.
pub(crate) fn holds(folder: &Path, home: Option<&Path>) -> bool {
    let real = match fs::canonicalize(folder) {
        Ok(real) => real,
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let Some((root, settings)) = real.ancestors().find_map(|at| Some((at, settings(at)?))) else {
        return false;
    };
    let above_home = |at: &Path| home.as_ref().is_some_and(|home| home.starts_with(at));
    let mut around = root.ancestors().skip(1).take_while(|at| !above_home(at));
    around.find_map(self::settings).is_some_and(|outer| !settings.starts_with(outer))
}

/// Returns the folder with the settings of a repository whose root this is.
fn settings(root: &Path) -> Option<PathBuf> {
    let there = root.join(".git");
    match fs::metadata(&there) {
        Ok(found) if found.is_dir() => return Some(fs::canonicalize(&there).unwrap_or(there)),
        Ok(_) => return Some(linked(root, &there).unwrap_or(there)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return Some(there),
    }
    // A bare repository needs no `.git`; git clones and archives may bring one as plain files.
    let has = |name: &str| fs::symlink_metadata(root.join(name)).is_ok();
    let bare = has("HEAD") && (has("commondir") || has("objects") && has("refs"));
    bare.then(|| root.to_owned())
}

/// Follows the file that stands for `.git` in submodules and worktrees.
fn linked(root: &Path, file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    fs::canonicalize(root.join(text.strip_prefix("gitdir:")?.trim())).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use std::os::unix::fs::symlink;

    fn bare(at: &Path) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::create_dir_all(at.join("refs")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn file(at: &Path, gitdir: &str) {
        fs::create_dir_all(at).unwrap();
        fs::write(at.join(".git"), format!("gitdir: {gitdir}\n")).unwrap();
    }

    #[test]
    fn a_repository_that_came_with_the_project_is_an_inner_one() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        bare(&at("shop/.git"));
        bare(&at("shop/.git/modules/sub"));
        bare(&at("shop/.git/worktrees/tree"));
        fs::create_dir_all(at("shop/src/deep")).unwrap();
        file(&at("shop/sub"), "../.git/modules/sub");
        file(&at("shop/.trees/tree"), &at("shop/.git/worktrees/tree").display().to_string());
        symlink(at("shop/src"), at("link")).unwrap();
        bare(&at("shop/vendor/bare"));
        fs::create_dir_all(at("shop/vendor/bare/below")).unwrap();
        bare(&at("shop/vendor/cloned/.git"));
        file(&at("shop/vendor/file"), "../bare");
        file(&at("shop/vendor/lost"), "nowhere");
        fs::create_dir_all(at("shop/vendor/common")).unwrap();
        fs::write(at("shop/vendor/common/HEAD"), "").unwrap();
        fs::write(at("shop/vendor/common/commondir"), "../bare").unwrap();
        symlink(at("shop/vendor/bare"), at("in")).unwrap();
        bare(&at("mirror.git"));
        fs::create_dir_all(at("plain")).unwrap();
        let inner = |path: &str| holds(&at(path), Some(home.path()));
        for path in [
            "shop",
            "shop/src/deep",
            "shop/sub",
            "shop/.trees/tree",
            "shop/vendor",
            "link",
            "plain",
            "mirror.git",
            "not/here",
            "shop/.git",
        ] {
            assert!(!inner(path), "{path}");
        }
        for path in [
            "shop/vendor/bare",
            "shop/vendor/bare/below",
            "shop/vendor/cloned",
            "shop/vendor/file",
            "shop/vendor/lost",
            "shop/vendor/common",
            "in",
        ] {
            assert!(inner(path), "{path}");
        }
        bare(&at(".git"));
        assert!(!inner("mirror.git") && !inner("shop"), "a repository of the whole home");
        assert!(holds(&at("shop"), None), "whose home it is is not known");
    }
}
