//! The values of a call other than a shell's: what rules match, in which spellings.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value as Json;

use crate::facts::access::Access;
use crate::facts::argument_names::{FILES, URLS};
use crate::facts::call::Call;
use crate::facts::edited_files::EditedFiles;
use crate::facts::links::Links;
use crate::facts::patch::PatchedFile;
use crate::facts::paths::{self, Directories, expand_home};
use crate::facts::tools::Kind;

/// The values that rules match.
#[derive(Debug, Default)]
pub struct Values {
    /// All values, each once.
    pub list: Vec<Value>,
    /// The tool needs a value that is missing or has the wrong type.
    pub(crate) missing: bool,
    /// The call has a patch that may change more files than those that were found.
    pub(crate) unread: bool,
    /// Length of the folder that relative paths refer to, in bytes.
    folder: usize,
}

/// Limits on the values of a call that rules look at, in number and in bytes.
// A call of 0.9 MiB with 105,000 paths once kept the daemon busy for 190 s.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 128 * 1024;
/// The limits as part of a sentence.
pub(crate) const LIMIT: &str = "1,000 values and 128 KiB of them";

/// One value.
#[derive(Debug)]
pub struct Value {
    /// The value as rules match it.
    pub text: String,
    /// The value names a file or folder.
    pub is_path: bool,
    /// Any text of a tool whose arguments are unknown.
    pub is_leaf: bool,
    /// What a patch does to the file; `None` where the tool says it.
    pub access: Option<Access>,
}

impl Values {
    /// Collects the values of a call.
    #[must_use]
    pub fn of(call: &Call) -> Self {
        let mut collected = Collected::default();
        collected.values.folder = call.cwd.as_ref().map_or(0, String::len);
        collected.arguments(call);
        // Deny rules that ignored symbolic links were CVE-2026-25724 in Claude Code.
        for path in &call.resolved {
            collected.text(path, true);
        }
        collected.values
    }

    /// Splits the values into those that rules look at and the rest.
    #[must_use]
    // FAIL-CLOSED: no rule allows a call with values that it would have to look at but that are
    // beyond the limits.
    pub fn in_view(&self) -> (&[Value], &[Value]) {
        let mut bytes = 0_usize;
        let fits = |value: &&Value| {
            // Every relative path is joined with the folder, so a long folder costs for each of
            // them.
            let folder = if value.is_path { self.folder } else { 0 };
            bytes = bytes.saturating_add(value.text.len()).saturating_add(folder);
            bytes <= MOST_BYTES
        };
        let seen = self.list.iter().take(MOST).take_while(fits).count();
        self.list.split_at_checked(seen).unwrap_or((&[], &self.list))
    }
}

/// Returns the paths that a call names, absolute where `cwd` is known, for a caller that can look
/// up their targets. Paths beyond the limits are left out.
#[must_use]
pub fn paths_of(call: &Call) -> Vec<String> {
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let values = Values::of(call);
    let (seen, _) = values.in_view();
    let paths = seen.iter().filter(|value| value.is_path).flat_map(|value| value.readings(dirs));
    paths.map(|path| paths::clean(&path, dirs).into_owned()).collect()
}

/// Stores in a call what was found about its [`crate::lookups()`].
pub fn follow(call: &mut Call, links: Links) {
    for path in paths_of(call) {
        call.resolved.extend(links.places(&path).iter().cloned());
    }
    call.links = links;
}

/// Collects values: each once, at its first position.
#[derive(Default)]
struct Collected<'c> {
    values: Values,
    // Comparing every value with all earlier ones made large calls quadratic.
    seen: HashSet<&'c str>,
}

impl<'c> Collected<'c> {
    fn arguments(&mut self, call: &'c Call) {
        let args = &call.args;
        match call.kind() {
            Kind::Shell | Kind::Question => {}
            Kind::Read | Kind::Write => self.values.missing = !self.take(args, FILES, true),
            Kind::Edit => self.edited(call),
            Kind::Glob => {
                self.take(args, &["pattern", "glob"], true);
                self.take(args, FILES, true);
                self.take(args, &["directory", "dir_path"], true);
            }
            Kind::Grep => {
                self.take(args, FILES, true);
                self.take(args, &["glob", "include", "directory", "dir_path"], true);
            }
            Kind::Skill => {
                self.take(args, &["name", "skill", "command"], false);
            }
            Kind::Fetch => self.values.missing = !self.take(args, URLS, false),
            // A tool named `mcp:…` is matched by its name.
            Kind::Other if call.tool.starts_with("mcp:") => self.text(&call.tool, false),
            Kind::Other => self.leaves(args),
        }
    }

    /// Takes the files of an editing tool: those that it names, and those in its patches.
    // FAIL-CLOSED: a patch that names another file than the tool does changes that one too.
    fn edited(&mut self, call: &'c Call) {
        let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
        self.take(&call.args, FILES, true);
        let clean = |path: &str| paths::clean(path, dirs).into_owned();
        let named: HashSet<String> = self.seen.iter().take(MOST).map(|path| clean(path)).collect();
        let edited = EditedFiles::of(&call.args);
        for (at, file) in edited.files.iter().enumerate() {
            // Some tools spell the same absolute path without its first slash in a diff.
            let rooted = || clean(&["/", file.path].concat());
            let is_named =
                at < MOST && (named.contains(&clean(file.path)) || named.contains(&rooted()));
            if !is_named {
                self.file(file);
            }
        }
        self.values.unread = !edited.is_exact;
        self.values.missing |= self.values.list.is_empty();
    }

    /// Takes the strings (or lists of strings) under `keys`. Returns false when there is none, or
    /// one has another type.
    fn take(&mut self, args: &'c Json, keys: &[&str], is_path: bool) -> bool {
        let mut found = false;
        let mut odd = false;
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
        // A stack, not recursion: the nesting is the agent's choice.
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

    fn file(&mut self, file: &PatchedFile<'c>) {
        if self.seen.insert(file.path) {
            let text = file.path.to_owned();
            let access = Some(file.access);
            self.values.list.push(Value { text, is_path: true, is_leaf: false, access });
        }
    }

    fn push(&mut self, text: &'c str, is_path: bool, is_leaf: bool) {
        if self.seen.insert(text) {
            let text = text.to_owned();
            self.values.list.push(Value { text, is_path, is_leaf, access: None });
        }
    }
}

impl Value {
    /// Returns every path for which a tool may take the value; other values are what they are.
    pub(crate) fn readings(&self, dirs: Directories<'_>) -> Vec<Cow<'_, str>> {
        if self.is_path {
            paths::readings(&self.text, dirs)
        } else {
            vec![Cow::Borrowed(&self.text)]
        }
    }

    /// Returns the spellings of each reading. An allow rule must match one of every reading.
    pub(crate) fn allow_forms(&self, dirs: Directories<'_>) -> Vec<Vec<String>> {
        let forms = |text: Cow<'_, str>| {
            if self.is_path { forms(&text, dirs) } else { vec![text.into_owned()] }
        };
        self.readings(dirs).into_iter().map(forms).collect()
    }

    /// Returns the spellings of which a deny or ask rule needs to match one; includes the value as
    /// written.
    pub(crate) fn deny_forms(&self, dirs: Directories<'_>) -> Vec<String> {
        let mut all = self.allow_forms(dirs).concat();
        all.extend(self.readings(dirs).into_iter().map(Cow::into_owned));
        if self.is_path {
            all.push(expand_home(&self.text, None).into_owned());
        }
        all
    }

    /// Returns true for aliases of other paths that the kernel provides.
    pub(crate) fn is_alias(&self, dirs: Directories<'_>) -> bool {
        let alias = |path: &str| {
            let path = paths::clean(path, Directories::default());
            paths::within(&path, "/dev/fd")
                || path.strip_prefix("/proc/").is_some_and(|rest| {
                    ["/root", "/cwd", "/fd", "/map_files", "/task"].iter().any(|x| rest.contains(x))
                })
        };
        self.is_path && self.readings(dirs).iter().any(|path| alias(path))
    }
}

/// Returns a path as rules may name it: cleaned, absolute, and relative to the workspace.
fn forms(path: &str, dirs: Directories<'_>) -> Vec<String> {
    let nowhere = Directories { cwd: None, home: dirs.home };
    let text = expand_home(path, dirs.home);
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

#[cfg(test)]
mod tests;
