//! A path as segments from the root. The kernel's links such as `/proc/self/cwd` are followed, and
//! wildcards are matched segment by segment.

use std::borrow::Cow;

pub(crate) use crate::facts::paths::UNKNOWN;

/// A clean absolute path; its segments may contain wildcards.
#[derive(Debug)]
pub(super) struct Route<'p> {
    pub(super) segments: Vec<Cow<'p, str>>,
    pub(super) is_pattern: bool,
    /// The path goes through a link of the kernel (`/proc/7/cwd`), which only that process can see.
    pub(super) unknown: bool,
}

impl<'p> Route<'p> {
    /// Creates the route of `text`, relative to `base`.
    pub(super) fn new(base: &'p str, text: &'p str, is_pattern: bool, cwd: &'p str) -> Self {
        let mut route = Self { segments: Vec::new(), is_pattern, unknown: false };
        if !text.starts_with('/') {
            route.walk(base, cwd);
        }
        route.walk(text, cwd);
        route
    }

    fn walk(&mut self, path: &'p str, cwd: &'p str) {
        for part in path.split('/') {
            match part {
                "" | "." => {}
                // Lexical. The caller's look-up covers a `..` behind a link.
                ".." => {
                    self.segments.pop();
                }
                part => {
                    self.segments.push(Cow::Borrowed(part));
                    self.kernel(cwd);
                }
            }
        }
    }

    /// Follows the kernel's links as soon as the path reaches one.
    fn kernel(&mut self, cwd: &'p str) {
        let [proc, _, what, ..] = self.segments.as_slice() else { return };
        if !self.is(proc, "proc") {
            return;
        }
        match self.segments.len() {
            // The root of another process may be a container's.
            3 if self.is(what, "root") => {
                self.unknown = true;
                self.segments.clear();
            }
            3 if self.is(what, "cwd") => {
                self.unknown = true;
                self.segments.clear();
                if cwd != "/proc/self/cwd" {
                    self.walk(cwd, "/");
                }
            }
            // `/proc/PID/task/TID` repeats the folder of the process.
            4 if self.is(what, "task") => self.segments.truncate(2),
            5 if self.is(what, "fd") || self.is(what, "map_files") => self.unknown = true,
            _ => {}
        }
    }

    fn is(&self, segment: &str, name: &str) -> bool {
        segment == name || self.is_pattern && fits(segment, name) != Fit::No
    }

    /// Returns the path as text.
    pub(super) fn text(&self) -> String {
        if self.segments.is_empty() {
            return "/".to_owned();
        }
        let length = self.segments.iter().map(|part| part.len() + 1).sum();
        let mut text = String::with_capacity(length);
        for part in &self.segments {
            text.push('/');
            text.push_str(part);
        }
        text
    }
}

/// The degree to which a segment with wildcards fits a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    No,
    /// Fits only if wildcards also match a leading dot, which a shell does only on request.
    Loose,
    Exact,
}

/// Matches `pattern` (`*`, `?`, `[…]`) with `name`. It matches more than any shell: brackets stand
/// for any character, and case is ignored, because some file systems ignore it.
pub(super) fn fits(pattern: &str, name: &str) -> Fit {
    if pattern.eq_ignore_ascii_case(name) {
        return Fit::Exact;
    }
    if !pattern.contains(['*', '?', '[', UNKNOWN]) || !matches(pattern.as_bytes(), name.as_bytes())
    {
        return Fit::No;
    }
    match name.starts_with('.') && !pattern.starts_with(['.', UNKNOWN]) {
        true => Fit::Loose,
        false => Fit::Exact,
    }
}

/// Returns true when a segment of a pattern may stand for a name; matches more than any shell.
#[must_use]
pub fn fits_name(pattern: &str, name: &str) -> bool {
    fits(pattern, name) != Fit::No
}

/// Matches with two positions: on a mismatch the last star takes one more character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() || p < pattern.len() {
        match (pattern.get(p), name.get(n)) {
            // Byte 0 is `UNKNOWN`, which matches like a star.
            (Some(b'*' | 0), _) => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            (Some(b'['), Some(_)) if bracket(pattern, p).is_some() => {
                p = bracket(pattern, p).unwrap_or(p) + 1;
                n += 1;
                continue;
            }
            (Some(b'?'), Some(_)) => {
                p += 1;
                n += 1;
                continue;
            }
            (Some(one), Some(other)) if one.eq_ignore_ascii_case(other) => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((after, from)) if from < name.len() => {
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            _ => return false,
        }
    }
    true
}

/// Returns the end of the bracket that starts at `at`; a `]` as its first character belongs to it.
fn bracket(pattern: &[u8], at: usize) -> Option<usize> {
    let negated = matches!(pattern.get(at + 1), Some(b'!' | b'^'));
    // A bracket contains at least one character.
    let mut end = at + 2 + usize::from(negated);
    while let Some(byte) = pattern.get(end) {
        match (byte, pattern.get(end - 1), pattern.get(end + 1)) {
            // A class inside the bracket: `[:alpha:]`.
            (b':', Some(b'['), _) => {
                let rest = pattern.get(end + 1..)?;
                end += 2 + rest.windows(2).position(|pair| pair == b":]")?;
            }
            (b']', ..) => return Some(end),
            _ => {}
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::engine::guardrail::route::*;

    fn route(text: &str) -> String {
        Route::new("/home/u/work", text, true, "/home/u/work").text()
    }

    #[test]
    fn a_path_is_followed_from_its_base_through_what_the_kernel_makes_up() {
        for (text, path) in [
            ("a/./b//c/..", "/home/u/work/a/b"),
            ("../../../../x", "/x"),
            ("/proc/self/cwd/../.config", "/home/u/.config"),
            ("/proc/self/root/etc", "/etc"),
            ("/proc/1/root/../etc", "/etc"),
            ("/proc/s*/c?d/x", "/home/u/work/x"),
            ("/proc/self/task/7/cwd/x", "/home/u/work/x"),
            ("/proc/7/environ", "/proc/7/environ"),
        ] {
            assert_eq!(route(text), path, "{text}");
        }
        assert!(Route::new("/", "/proc/7/cwd/x", false, "/").unknown);
        assert!(Route::new("/", "/proc/self/fd/3/x", false, "/").unknown);
        assert!(!Route::new("/", "/proc/self/fd/3", false, "/").unknown);
    }

    #[test]
    fn wildcards_fit_more_than_a_shell_takes_them_for() {
        for (pattern, name, fit) in [
            ("countersign", "countersign", Fit::Exact),
            ("CounterSign", "countersign", Fit::Exact),
            ("c*n", "countersign", Fit::Exact),
            ("[a-d]?unter[s]ig*", "countersign", Fit::Exact),
            ("c[]x]unt*", "countersign", Fit::Exact),
            ("c[[:alpha:]]unt*", "countersign", Fit::Exact),
            ("*", ".config", Fit::Loose),
            ("[.]config", ".config", Fit::Loose),
            (".c*", ".config", Fit::Exact),
            ("c*x", "countersign", Fit::No),
            ("[", "countersign", Fit::No),
            ("countersig", "countersign", Fit::No),
        ] {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }
}
