//! The boundary of the workspace, and directories outside it that a person opened.

use countersign_policy::paths::{self, Directories};
use countersign_policy::values::{Value, Values};
use countersign_policy::{call::Call, tools::Kind};

/// Limit on the directories that a session may have opened.
// wayland-core has the same limit.
pub const MOST_ROOTS: usize = 64;

/// Directories outside the workspace that a session may access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots(Vec<Root>);

/// One such directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The directory's clean path.
    pub path: String,
    /// True when files there may be written too.
    pub write: bool,
}

impl Roots {
    /// Opens a directory.
    ///
    /// # Errors
    /// A sentence, when the directory must stay closed; the call that it was opened for may still
    /// run.
    // SECURITY: never everything, never a home directory, never where keys are kept.
    pub fn open(&mut self, root: &str, write: bool, home: Option<&str>) -> Result<(), String> {
        let dirs = Directories { cwd: None, home };
        let path = paths::clean(root, dirs).into_owned();
        if !path.starts_with('/') {
            return Err(format!("{root:?} is not an absolute path"));
        }
        if path == "/" || paths::in_home(&path, dirs) == Some("") {
            return Err(format!("{path} holds everything; name a directory inside it"));
        }
        if paths::keeps_secrets(&path, dirs)
            || paths::secret(&path, dirs)
            || paths::startup(&path, dirs)
        {
            return Err(format!("{path} is where keys and start-up files are kept"));
        }
        // Opening it again can only add the right to write.
        if let Some(known) = self.0.iter_mut().find(|known| known.path == path) {
            known.write |= write;
            return Ok(());
        }
        if self.0.len() >= MOST_ROOTS {
            return Err(format!("{MOST_ROOTS} directories are open already"));
        }
        self.0.push(Root { path, write });
        Ok(())
    }

    /// Returns the open directories, oldest first.
    #[must_use]
    pub fn list(&self) -> &[Root] {
        &self.0
    }

    fn covers(&self, path: &str, writes: bool) -> bool {
        self.0.iter().any(|root| paths::within(path, &root.path) && (root.write || !writes))
    }
}

/// Returns a path of the call that is outside the workspace and all open directories. Checks only
/// where the workspace is known; `writers` includes the tools that write.
#[must_use]
pub fn beyond(call: &Call, roots: &Roots, writers: bool) -> Option<String> {
    let writes = matches!(call.kind(), Kind::Write | Kind::Edit);
    let looks = matches!(call.kind(), Kind::Read | Kind::Glob | Kind::Grep);
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    // Without a workspace there is no boundary.
    dirs.cwd?;
    if !(looks || writes && writers) {
        return None;
    }
    let values = Values::of(call);
    let (seen, unseen) = values.in_view();
    let path = |value: &Value| paths::clean(&value.text, dirs).into_owned();
    let beyond = |path: &String| paths::outside(path, dirs) && !roots.covers(path, writes);
    let mut paths = seen.iter().filter(|value| value.is_path).map(path);
    // FAIL-CLOSED: a path beyond the limit of those looked at may be anywhere.
    paths.find(beyond).or_else(|| unseen.iter().find(|value| value.is_path).map(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_home_and_keys_stay_closed() {
        let mut roots = Roots::default();
        for root in [
            "/",
            "/home/ana",
            "~",
            "/home/ana/.ssh",
            "/home/ana/.aws",
            "/srv/.AWS/x",
            "/srv/.kube",
            "/etc",
            "x",
            "/a/..",
        ] {
            assert!(roots.open(root, false, Some("/home/ana")).is_err(), "{root}");
        }
        assert_eq!(roots.list(), []);
        roots.open("/srv/reports/", false, Some("/home/ana")).unwrap();
        assert_eq!(roots.list(), [Root { path: "/srv/reports".into(), write: false }]);
    }

    #[test]
    fn only_so_many_directories_are_open_at_once() {
        let mut roots = Roots::default();
        for n in 0..MOST_ROOTS {
            roots.open(&format!("/data/{n}"), false, None).unwrap();
        }
        assert!(roots.open("/data/more", false, None).is_err());
        roots.open("/data/1", true, None).unwrap();
        assert_eq!(roots.list().len(), MOST_ROOTS);
    }

    #[test]
    fn a_root_for_reading_opens_nothing_for_writing() {
        let mut roots = Roots::default();
        roots.open("/srv/reports", false, None).unwrap();
        let call = |tool: &str, path: &str| Call {
            cwd: Some("/work".into()),
            ..Call::new(tool, json!({ "file_path": path }))
        };
        assert_eq!(beyond(&call("Read", "/srv/reports/q3.md"), &roots, true), None);
        assert_eq!(beyond(&call("Read", "src/../a"), &roots, true), None);
        for (tool, path) in [("Write", "/srv/reports/q3.md"), ("Read", "/srv/reports/../keys")] {
            assert!(beyond(&call(tool, path), &roots, true).is_some(), "{tool} {path}");
        }
    }
}
