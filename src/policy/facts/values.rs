//! The values of a call that is no shell: what its rules are matched against, in which spellings.

use std::collections::HashSet;

use serde_json::Value as Json;

use crate::facts::call::Call;
use crate::facts::links::Links;
use crate::facts::paths::{self, Directories, expand_home};
use crate::facts::tools::Kind;

/// What a call's rules look at.
#[derive(Debug, Default)]
pub struct Values {
    /// All values, each once.
    pub list: Vec<Value>,
    /// The tool needs a value that is missing or of the wrong type.
    pub(crate) missing: bool,
    /// How long the folder is that paths are seen from; bytes.
    folder: usize,
}

/// Rules look at so many values of a call, and at so many bytes of them.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 128 * 1024;
/// The same in a sentence.
pub(crate) const LIMIT: &str = "1,000 values and 128 KiB of them";

/// One value.
#[derive(Debug)]
pub struct Value {
    /// The value as rules match it.
    pub text: String,
    /// The value names a file or folder.
    pub is_path: bool,
    /// Some text of a tool whose arguments are not known.
    pub is_leaf: bool,
}

const PATHS: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "target_file",
    "filename",
    "file",
    "paths",
    "files",
    "file_paths",
];

impl Values {
    /// The values of a call.
    #[must_use]
    pub fn of(call: &Call) -> Self {
        let mut collected = Collected::default();
        collected.values.folder = call.cwd.as_ref().map_or(0, String::len);
        collected.arguments(call);
        for path in &call.resolved {
            collected.text(path, true);
        }
        collected.values
    }

    /// The values that rules look at, and those beyond what they look at.
    #[must_use]
    // FAIL-CLOSED: what nobody has looked at is allowed by no rule that would have to look at it.
    pub fn in_view(&self) -> (&[Value], &[Value]) {
        let mut bytes = 0_usize;
        let fits = |value: &&Value| {
            let folder = if value.is_path { self.folder } else { 0 };
            bytes = bytes.saturating_add(value.text.len()).saturating_add(folder);
            bytes <= MOST_BYTES
        };
        let seen = self.list.iter().take(MOST).take_while(fits).count();
        self.list.split_at_checked(seen).unwrap_or((&[], &self.list))
    }
}

/// The paths that a call names, from the root where `cwd` is known: for a caller that can look
/// where they lead. Of those beyond what rules look at none.
#[must_use]
pub fn paths_of(call: &Call) -> Vec<String> {
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let values = Values::of(call);
    let (seen, _) = values.in_view();
    let paths = seen.iter().filter(|v| v.is_path);
    paths.map(|v| paths::clean(&v.text, dirs).into_owned()).collect()
}

/// Gives a call what was found about its [`crate::sights()`].
pub fn follow(call: &mut Call, links: Links) {
    for path in paths_of(call) {
        call.resolved.extend(links.places(&path).iter().cloned());
    }
    call.links = links;
}

/// The values of a call while they are collected: each once, where it comes first.
#[derive(Default)]
struct Collected<'c> {
    values: Values,
    seen: HashSet<&'c str>,
}

impl<'c> Collected<'c> {
    fn arguments(&mut self, call: &'c Call) {
        let args = &call.args;
        match call.kind() {
            Kind::Shell | Kind::Question => {}
            Kind::Read | Kind::Write | Kind::Edit => {
                self.values.missing = !self.take(args, PATHS, true);
            }
            Kind::Glob => {
                self.take(args, &["pattern", "glob"], true);
                self.take(args, PATHS, true);
                self.take(args, &["directory", "dir_path"], true);
            }
            Kind::Grep => {
                self.take(args, PATHS, true);
                self.take(args, &["glob", "include", "directory", "dir_path"], true);
            }
            Kind::Skill => {
                self.take(args, &["name", "skill", "command"], false);
            }
            Kind::Fetch => self.values.missing = !self.take(args, &["url", "uri"], false),
            Kind::Other if call.tool.starts_with("mcp:") => self.text(&call.tool, false),
            Kind::Other => self.leaves(args),
        }
    }

    /// Takes the strings (or lists of strings) under `keys`; false when there is none or one is
    /// of another type.
    fn take(&mut self, args: &'c Json, keys: &[&str], is_path: bool) -> bool {
        let (mut found, mut odd) = (false, false);
        for json in keys.iter().filter_map(|key| args.get(key)) {
            match json {
                Json::String(text) if !text.is_empty() => {
                    self.text(text, is_path);
                    found = true;
                }
                Json::Array(items) => {
                    for item in items {
                        match item.as_str() {
                            Some(text) => self.text(text, is_path),
                            None => odd = true,
                        }
                        found = true;
                    }
                }
                Json::Null => {}
                _ => odd = true,
            }
        }
        self.values.missing |= odd;
        found && !odd
    }

    fn leaves(&mut self, args: &'c Json) {
        let mut rest = vec![args];
        while let Some(json) = rest.pop() {
            match json {
                Json::String(text) => self.push(text, false, true),
                Json::Array(items) => rest.extend(items.iter().rev()),
                Json::Object(map) => rest.extend(map.values().rev()),
                _ => {}
            }
        }
    }

    fn text(&mut self, text: &'c str, is_path: bool) {
        self.push(text, is_path, false);
    }

    fn push(&mut self, text: &'c str, is_path: bool, is_leaf: bool) {
        if self.seen.insert(text) {
            self.values.list.push(Value { text: text.to_owned(), is_path, is_leaf });
        }
    }
}

impl Value {
    /// The spellings of which an allow rule must match one: the value, cleaned.
    pub(crate) fn allow_forms(&self, dirs: Directories<'_>) -> Vec<String> {
        if !self.is_path {
            return vec![self.text.clone()];
        }
        let nowhere = Directories { cwd: None, home: dirs.home };
        let text = expand_home(&self.text, dirs.home);
        let mut forms = vec![paths::clean(&text, nowhere).into_owned()];
        if let Some(cwd) = dirs.cwd {
            let absolute = paths::clean(&text, dirs);
            let root = paths::clean(cwd, nowhere);
            let below = absolute.strip_prefix(&*root).and_then(|rest| rest.strip_prefix('/'));
            forms.extend(below.map(ToOwned::to_owned));
            forms.push(absolute.into_owned());
        }
        forms
    }

    /// The spellings of which a deny or ask rule needs to match only one: as written too.
    pub(crate) fn deny_forms(&self, dirs: Directories<'_>) -> Vec<String> {
        let mut forms = self.allow_forms(dirs);
        forms.push(self.text.clone());
        if self.is_path {
            let slashes = self.text.replace('\\', "/");
            let here = Directories { cwd: None, home: dirs.home };
            forms.push(paths::clean(&slashes, here).into_owned());
            forms.push(expand_home(&self.text, None).into_owned());
            forms.push(self.text.trim().trim_end_matches(['/', '.', ' ']).to_owned());
        }
        forms
    }

    /// Aliases of other paths that the kernel makes up.
    pub(crate) fn is_alias(&self) -> bool {
        let path = paths::clean(&self.text, Directories::default());
        self.is_path
            && (paths::within(&path, "/dev/fd")
                || path.strip_prefix("/proc/").is_some_and(|rest| {
                    ["/root", "/cwd", "/fd", "/map_files", "/task"].iter().any(|x| rest.contains(x))
                }))
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, MOST_BYTES, Values};
    use crate::Call;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        /// What the list was before it had a set beside it: compared with each other, in order.
        #[test]
        fn each_value_is_there_once_where_it_came_first(
            paths in prop::collection::vec("[ab]{0,2}", 0..40),
            resolved in prop::collection::vec("[ab]{0,2}", 0..20),
        ) {
            let mut wanted: Vec<&String> = Vec::new();
            for text in paths.iter().chain(&resolved) {
                if !wanted.contains(&text) {
                    wanted.push(text);
                }
            }
            let call =
                Call { resolved: resolved.clone(), ..Call::new("Read", json!({ "paths": paths })) };
            let values = Values::of(&call);
            let found: Vec<&String> = values.list.iter().map(|value| &value.text).collect();
            prop_assert_eq!(found, wanted);
        }
    }

    fn seen(call: &Call) -> (usize, usize) {
        let values = Values::of(call);
        let (seen, beyond) = values.in_view();
        (seen.len(), beyond.len())
    }

    #[test]
    fn rules_look_at_so_many_values_and_bytes_and_no_more() {
        let paths = |count: usize| (0..count).map(|n| format!("f{n}")).collect::<Vec<_>>();
        let read = |paths: Vec<String>| Call::new("Read", json!({ "paths": paths }));
        assert_eq!(seen(&read(paths(MOST))), (MOST, 0));
        assert_eq!(seen(&read(paths(MOST + 1))), (MOST, 1));
        let long = ["a".repeat(MOST_BYTES - 1), "b".to_owned(), "c".to_owned()];
        assert_eq!(seen(&read(long.to_vec())), (2, 1));
        assert_eq!(seen(&read(vec!["a".repeat(MOST_BYTES + 1)])), (0, 1));
        // Every path is seen from the folder, which is read again for each.
        let folder = Call { cwd: Some("d".repeat(MOST_BYTES / 10)), ..read(paths(20)) };
        assert_eq!(seen(&folder), (9, 11));
    }
}
