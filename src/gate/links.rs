//! Resolves the symbolic links in a call's paths on this machine, and finds repositories inside other
//! ones: git obeys the settings of the nearest, which may name programs.

use countersign_policy::{LinkTarget, Links, Lookups, guardrail::fits_name};
use std::{
    collections::HashMap,
    env, fs,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The number of links in a row that Linux follows.
const HOPS: usize = 40;
/// The number of directory entries that are read for the patterns of one call.
const ENTRIES: usize = 20_000;
/// The number of targets that are recorded for one pattern.
const PLACES: usize = 256;
/// The number of folders in each other through which a pattern is followed.
const DEEPEST: usize = 64;

/// Resolves every path that a call may touch. Paths without links are left out.
// FAIL-CLOSED: a path that cannot be resolved is reported as unknown, and asks.
#[must_use]
pub fn look(lookups: &Lookups) -> Links {
    let mut links = Links::default();
    let mut looker = LinkReader { kinds: HashMap::new(), entries: ENTRIES, is_deep: false };
    for path in &lookups.paths {
        let is_file_of_a_tool = lookups.files.contains(path);
        looker.is_deep = !is_file_of_a_tool;
        match looker.follow(path) {
            Ok(places) if places.is_empty() => {}
            Ok(places) => links.lead(path.clone(), LinkTarget::To(places)),
            Err(Unseen::OfOthers(why)) if is_file_of_a_tool => {
                links.unresolved(path, &why);
                links.lead(path.clone(), LinkTarget::Unknown(why));
            }
            // Only its owner could create a link in there that leads to us, and that is another
            // user.
            Err(Unseen::OfOthers(_)) => {}
            Err(Unseen::Ours(why)) => {
                if is_file_of_a_tool {
                    links.unresolved(path, &why);
                }
                links.lead(path.clone(), LinkTarget::Unknown(why));
            }
        }
    }
    let own = own_program();
    for name in &lookups.programs {
        // Compared by device and inode: a link to our program is our program under any name.
        if own.is_some() && candidates(name, lookups).any(|file| identity(&file) == own) {
            links.own_program(name.clone());
        }
    }
    let cwd = lookups.cwd.as_deref().map(Path::new);
    let home = lookups.home.as_deref().map(Path::new);
    if lookups.obeys_folder && cwd.is_some_and(|cwd| holds_inner_repository(cwd, home)) {
        links.inner_repository();
    }
    if lookups.is_cut || looker.entries == 0 {
        links.cut();
    }
    links
}

/// The reason why a path cannot be resolved.
#[derive(Debug)]
enum Unseen {
    /// A folder of another user denies access.
    OfOthers(String),
    Ours(String),
}

/// The kind of a directory entry.
#[derive(Clone, Debug)]
enum PathKind {
    Nothing,
    Link(PathBuf),
    Other,
}

struct LinkReader {
    kinds: HashMap<PathBuf, PathKind>,
    entries: usize,
    /// `**` stands for any number of folders, as in zsh.
    is_deep: bool,
}

impl LinkReader {
    /// The targets of a path that contains links; empty if it contains none.
    fn follow(&mut self, path: &str) -> Result<Vec<String>, Unseen> {
        let mut places = Vec::new();
        let parts: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        self.walk(PathBuf::from("/"), parts, 0, &mut places)?;
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// Walks the parts of a path; `rest` holds the remaining parts, the next one last.
    fn walk(
        &mut self,
        mut at: PathBuf,
        mut rest: Vec<String>,
        mut hops: usize,
        places: &mut Vec<String>,
    ) -> Result<(), Unseen> {
        while let Some(part) = rest.pop() {
            match &*part {
                // `..` is applied after links were followed, as the kernel does; `a/..` is not `.`
                // if `a` is a link.
                "" | "." => continue,
                ".." => {
                    at.pop();
                    continue;
                }
                _ => {}
            }
            // The pattern is kept as a literal name below, too: a file may really be called `*`.
            if part.contains(['*', '?', '[']) {
                self.expand(&at, &part, &rest, hops, places)?;
            }
            let next = at.join(&part);
            match self.kind(&at, &next)? {
                PathKind::Other => at = next,
                PathKind::Nothing => {
                    // What does not exist yet may be created behind the link, so the rest of the
                    // path is appended.
                    if hops > 0 {
                        rest.push(part);
                        let behind = rest.iter().rev().fold(at, |at, part| at.join(part));
                        places.push(behind.display().to_string());
                    }
                    return Ok(());
                }
                PathKind::Link(to) => {
                    hops += 1;
                    if hops > HOPS {
                        return Err(Unseen::Ours("too many links lead to each other".to_owned()));
                    }
                    if to.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    rest.extend(to.display().to_string().rsplit('/').map(str::to_owned));
                }
            }
        }
        if hops > 0 && places.len() < PLACES {
            places.push(at.display().to_string());
        }
        Ok(())
    }

    /// Walks the entries of a folder that match a pattern.
    fn expand(
        &mut self,
        folder: &Path,
        pattern: &str,
        rest: &[String],
        hops: usize,
        places: &mut Vec<String>,
    ) -> Result<(), Unseen> {
        let is_deep = self.is_deep && pattern == "**";
        if is_deep {
            self.walk(folder.to_owned(), rest.to_vec(), hops, places)?;
        }
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        if is_deep && folder.components().count() > DEEPEST {
            self.entries = 0;
        }
        for entry in entries.flatten() {
            if self.entries == 0 || places.len() >= PLACES {
                self.entries = 0;
                return Ok(());
            }
            self.entries -= 1;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            // A plain file before any link leads nowhere else, so it needs no walk. A name with
            // pattern characters would be expanded again.
            if plain && hops == 0 || !fits_name(pattern, &name) || name.contains(['*', '?', '[']) {
                continue;
            }
            let mut rest = rest.to_vec();
            if is_deep && !name.starts_with('.') && entry.file_type().is_ok_and(|it| it.is_dir()) {
                rest.push(pattern.to_owned());
            }
            rest.push(name);
            self.walk(folder.to_owned(), rest, hops, places)?;
        }
        Ok(())
    }

    fn kind(&mut self, folder: &Path, path: &Path) -> Result<PathKind, Unseen> {
        if let Some(known) = self.kinds.get(path) {
            return Ok(known.clone());
        }
        let found = fs::symlink_metadata(path).and_then(|found| {
            if found.is_symlink() {
                fs::read_link(path).map(PathKind::Link)
            } else {
                Ok(PathKind::Other)
            }
        });
        let kind = match found {
            Ok(kind) => kind,
            Err(error) if is_nothing(&error) => PathKind::Nothing,
            Err(error) => {
                let why = format!("{}: {error}", path.display());
                return Err(if owner(folder) == owner(Path::new("/proc/self")) {
                    Unseen::Ours(why)
                } else {
                    Unseen::OfOthers(why)
                });
            }
        };
        self.kinds.insert(path.to_owned(), kind.clone());
        Ok(kind)
    }
}

fn is_nothing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput)
}

fn owner(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|found| found.uid())
}

/// The identity of the file that a path leads to, whatever its name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn own_program() -> Option<(u64, u64)> {
    identity(&env::current_exe().ok()?)
}

/// The files that a command name may start.
fn candidates(name: &str, lookups: &Lookups) -> impl Iterator<Item = PathBuf> {
    let named = match (name.strip_prefix("~/"), &lookups.home, &lookups.cwd) {
        (Some(rest), Some(home), _) => Some(Path::new(home).join(rest)),
        (None, _, Some(cwd)) if name.contains('/') => Some(Path::new(cwd).join(name)),
        (None, _, None) if name.starts_with('/') => Some(PathBuf::from(name)),
        _ => None,
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let below = |folder| lookups.home.as_ref().map(|home| Path::new(home).join(folder));
    folders.extend(["bin", ".local/bin", ".cargo/bin"].into_iter().filter_map(below));
    folders.retain(|_| !name.contains('/') && !name.is_empty());
    let name = name.to_owned();
    named.into_iter().chain(folders.into_iter().map(move |folder| folder.join(&name)))
}

/// Returns true when git, run in this folder, obeys a repository that lies inside the folder of
/// another one and is neither a submodule nor a worktree of it.
///
/// A repository with none around it is the project's own. One in the home folder or above it counts
/// for nothing, because it holds everybody's projects.
// FAIL-CLOSED: what cannot be read is taken for an inner repository. A folder that is not here is
// on another machine, where nothing can be looked up.
fn holds_inner_repository(folder: &Path, home: Option<&Path>) -> bool {
    let real = match fs::canonicalize(folder) {
        Ok(real) => real,
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let Some((root, settings)) = real.ancestors().find_map(|at| Some((at, settings_at(at)?)))
    else {
        return false;
    };
    let above_home = |at: &Path| home.as_ref().is_some_and(|home| home.starts_with(at));
    let mut around = root.ancestors().skip(1).take_while(|at| !above_home(at));
    around.find_map(settings_at).is_some_and(|outer| !settings.starts_with(outer))
}

/// Returns the folder with the settings of a repository whose root this is.
fn settings_at(root: &Path) -> Option<PathBuf> {
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

    fn led(path: &str) -> Result<Vec<String>, Unseen> {
        let kinds = HashMap::new();
        LinkReader { kinds, entries: ENTRIES, is_deep: true }.follow(path)
    }

    #[test]
    fn two_stars_stand_for_any_number_of_folders() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("a/b/c")).unwrap();
        symlink("/etc/hostname", real.join("a/b/c/x.md")).unwrap();
        let at = |name: &str| real.join(name).display().to_string();
        for path in ["**/x.md", "a/**/*.md", "**/c/x.*", "a/b/c/**/x.md"] {
            let leads = led(&at(path)).unwrap();
            assert!(leads.iter().any(|it| it == "/etc/hostname"), "{path}: {leads:?}");
        }
        assert!(led(&at("*/x.md")).unwrap().is_empty());
    }

    #[test]
    fn links_are_followed_to_what_is_there_and_to_what_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("to/below")).unwrap();
        fs::write(real.join("to/file"), "").unwrap();
        symlink(real.join("to"), real.join("link")).unwrap();
        symlink("to/below", real.join("deep")).unwrap();
        symlink("link/file", real.join("twice")).unwrap();
        let at = |name: &str| real.join(name).display().to_string();
        for (path, leads) in [
            ("link/file", vec![at("to/file")]),
            ("link/new/er", vec![at("to/new/er")]),
            ("deep/../file", vec![at("to/file")]),
            ("twice", vec![at("to/file")]),
            ("l*/f*", vec![at("to/f*"), at("to/file")]),
            ("l[x]*", vec![at("to")]),
            ("to/file", vec![]),
            ("none/new", vec![]),
        ] {
            assert_eq!(led(&at(path)).unwrap(), leads, "{path}");
        }
    }

    #[test]
    fn our_own_program_is_known_by_other_names() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("cs");
        symlink(env::current_exe().unwrap(), &link).unwrap();
        let call = countersign_policy::Call {
            cwd: Some(folder.path().display().to_string()),
            ..countersign_policy::Call::shell("./cs approve x; other")
        };
        let lookups = countersign_policy::lookups(&call);
        assert_eq!(lookups.programs, ["./cs", "other"]);
        let mut expected = Links::default();
        let path = format!("{}/./cs", folder.path().display());
        let to = env::current_exe().unwrap().display().to_string();
        expected.lead(path, LinkTarget::To(vec![to]));
        expected.own_program("./cs".to_owned());
        assert_eq!(look(&lookups), expected);
    }

    #[test]
    fn a_circle_of_links_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(at("a"), at("b")).unwrap();
        symlink(at("b"), at("a")).unwrap();
        let path = at("a").display().to_string();
        assert!(led(&path).is_err());
        let lookups =
            Lookups { paths: vec![path.clone()], files: [path].into(), ..Lookups::default() };
        assert!(look(&lookups).is_unresolved());
    }

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
        let inner = |path: &str| holds_inner_repository(&at(path), Some(home.path()));
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
        assert!(holds_inner_repository(&at("shop"), None), "whose home it is is not known");
    }
}
