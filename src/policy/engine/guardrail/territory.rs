//! The bridge's own files and folders, and the location of a path relative to them. Lexical: the
//! caller, who has access to the host, follows links.

use std::borrow::Cow;

use crate::facts::paths::{self, Directories, UNKNOWN, braces};

/// Files and folders of the bridge.
#[derive(Clone, Debug, Default)]
pub(super) struct Territory {
    own: Vec<Own>,
    /// Every folder above one of them.
    above: Vec<String>,
}

#[derive(Clone, Debug)]
struct Own {
    path: String,
    segments: Vec<String>,
}

/// The location of a path relative to the bridge's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    Elsewhere,
    /// Known only at run time.
    Unknown,
    Above(Above),
    /// Ours if wildcards also match dot files.
    MayBeOurs(String),
    /// Ours, or below something of ours.
    Ours(String),
}

/// A folder above something of the bridge's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Above {
    pub(super) own: String,
    pub(super) below_home: bool,
    /// A `**` in the pattern walks down from there.
    pub(super) walks: bool,
}

impl Territory {
    pub(super) fn new(paths: impl IntoIterator<Item = String>) -> Self {
        let clean = |path: String| paths::clean(&path, Directories::default()).into_owned();
        let mut paths: Vec<String> = paths.into_iter().map(clean).collect();
        // A folder sorts before its contents, which are covered by it then.
        paths.sort_unstable();
        let mut territory = Self { own: Vec::new(), above: vec!["/".to_owned()] };
        for path in paths.into_iter().filter(|path| path.len() > 1 && path.starts_with('/')) {
            if !territory.own.iter().any(|own| paths::within(&path, &own.path)) {
                territory.add(path);
            }
        }
        territory
    }

    fn add(&mut self, path: String) {
        for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
            let folder = path.get(..at).unwrap_or_default();
            if !self.above.iter().any(|known| known == folder) {
                self.above.push(folder.to_owned());
            }
        }
        let segments = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned);
        self.own.push(Own { segments: segments.collect(), path });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Iterates over the folders above ours, including `/`.
    pub(super) fn above(&self) -> impl Iterator<Item = &str> {
        self.above.iter().map(String::as_str)
    }

    /// Returns true when a relative path from there may reach something of ours without a `..`.
    pub(super) fn is_near(&self, folder: &str) -> bool {
        let folder = paths::clean(folder, Directories::default());
        self.above.iter().any(|above| above.eq_ignore_ascii_case(&folder))
            || self.own.iter().any(|own| paths::within(&folder, &own.path))
            || folder.starts_with("/proc")
    }

    /// Returns the path of ours that a text contains anywhere.
    pub(super) fn spelled_in(&self, text: &str) -> Option<&str> {
        // A path of one segment, such as `/data`, occurs in too many harmless texts.
        let mut own = self.own.iter().filter(|own| own.segments.len() > 1);
        own.find(|own| text.len() >= own.path.len() && spells(text, &own.path))
            .map(|own| &*own.path)
    }

    /// Returns the location of a path; the strictest of all that it may mean.
    pub(super) fn lie(&self, route: &Route<'_>, home: Option<&str>) -> Lie {
        let mut found = if route.unknown { Lie::Unknown } else { Lie::Elsewhere };
        for own in &self.own {
            let lie = lie_to(own, route, home);
            if rank(&lie) > rank(&found) {
                found = lie;
            }
        }
        found
    }
}

/// Returns true when the text contains the path and the path ends there: `/a/bc` does not contain
/// `/a/b`.
fn spells(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let next = text.as_bytes().get(at + path.len());
        !next.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    })
}

fn lie_to(own: &Own, route: &Route<'_>, home: Option<&str>) -> Lie {
    let plain = lie_along(own, &route.segments, home, false);
    // `a/**/x` matches at any depth, so everything below the part before the stars is within reach.
    let stars = route.segments.iter().position(|part| route.is_pattern && part.contains("**"));
    match stars.and_then(|at| route.segments.get(..at)) {
        Some(before) => {
            let walked = lie_along(own, before, home, true);
            if rank(&walked) > rank(&plain) { walked } else { plain }
        }
        None => plain,
    }
}

fn lie_along<S: AsRef<str>>(own: &Own, segments: &[S], home: Option<&str>, walks: bool) -> Lie {
    let mut loose = false;
    // Compared as far as both go: a shorter path is above ours, a longer one below.
    for (segment, name) in segments.iter().zip(&own.segments) {
        match fits(segment.as_ref(), name) {
            Fit::Exact => {}
            Fit::Loose => loose = true,
            Fit::No => return Lie::Elsewhere,
        }
    }
    match own.segments.get(..segments.len()).filter(|above| above.len() < own.segments.len()) {
        Some(above) => Lie::Above(Above {
            own: own.path.clone(),
            below_home: home.is_some_and(|home| {
                let folder = ["/", &above.join("/")].concat();
                folder != home && paths::within(&folder, home)
            }),
            walks,
        }),
        None if loose => Lie::MayBeOurs(own.path.clone()),
        None => Lie::Ours(own.path.clone()),
    }
}

fn rank(lie: &Lie) -> u8 {
    match lie {
        Lie::Elsewhere => 0,
        Lie::Unknown => 1,
        Lie::Above(above) => 2 + u8::from(above.walks) + 2 * u8::from(above.below_home),
        Lie::MayBeOurs(_) => 6,
        Lie::Ours(_) => 7,
    }
}

// A path as segments from the root. The kernel's links such as `/proc/self/cwd` are followed, and
// wildcards are matched segment by segment.

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
fn fits(pattern: &str, name: &str) -> Fit {
    if pattern.eq_ignore_ascii_case(name) {
        return Fit::Exact;
    }
    if !pattern.contains(['*', '?', '[', UNKNOWN]) || !matches(pattern.as_bytes(), name.as_bytes())
    {
        return Fit::No;
    }
    if name.starts_with('.') && !pattern.starts_with(['.', UNKNOWN]) {
        Fit::Loose
    } else {
        Fit::Exact
    }
}

/// Returns true when a segment of a pattern may stand for a name; matches more than any shell.
#[must_use]
pub fn fits_name(pattern: &str, name: &str) -> bool {
    fits(pattern, name) != Fit::No
}

/// Matches with two positions: on a mismatch the last star takes one more character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut p = 0;
    let mut n = 0;
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
        match (byte, pattern.get(end - 1)) {
            // A class inside the bracket: `[:alpha:]`, `[=a=]`, `[.a.]`.
            (kind @ (b':' | b'=' | b'.'), Some(b'[')) => {
                let rest = pattern.get(end + 1..)?;
                end += 2 + rest.windows(2).position(|pair| pair == [*kind, b']'])?;
            }
            (b']', _) => return Some(end),
            _ => {}
        }
        end += 1;
    }
    None
}

// The paths that a text may become in a shell or a program: braces, variables, tildes.

/// One way to read a text as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelling<'t> {
    /// The path; relative unless it starts with `/`. `UNKNOWN` stands for a part that is known only
    /// at run time.
    pub(crate) text: Cow<'t, str>,
    pub(crate) is_pattern: bool,
}

/// The expansions to apply to a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expansions<'p> {
    pub(crate) home: Option<&'p str>,
    /// Unknown variables become `UNKNOWN`; otherwise they stay as they are.
    pub(crate) variables: bool,
}

impl<'p> Expansions<'p> {
    /// Returns every way to read the text.
    pub(crate) fn of<'t>(self, text: &'t str) -> Vec<Spelling<'t>> {
        // Most words have nothing to expand.
        if !text.contains(['{', '$', '~', '`', '\\', '%', '*', '?', '[']) {
            return vec![Spelling { text: Cow::Borrowed(text), is_pattern: false }];
        }
        let is_pattern = |text: &str| text.contains(['*', '?', '[']);
        let mut all = Vec::new();
        for text in braces(text) {
            let is_pattern = is_pattern(&text);
            let known = self.variables(&text);
            let known = self.tilde(&known).map_or(known, Cow::Owned);
            let text = Cow::Owned(known.into_owned());
            all.push(Spelling { text, is_pattern });
        }
        if let Some(plain) = unescaped(text) {
            all.push(Spelling { text: Cow::Owned(plain), is_pattern: is_pattern(text) });
        }
        if all.iter().any(|spelling| *spelling.text != *text) {
            // As written, because quoted text is not expanded.
            all.push(Spelling { text: Cow::Borrowed(text), is_pattern: is_pattern(text) });
        }
        all
    }

    /// Expands a leading `~`, `~user`, `~+` or `~-`.
    fn tilde(self, text: &str) -> Option<String> {
        let rest = text.strip_prefix('~')?;
        let (user, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Some(match (user, self.home) {
            ("", Some(home)) => format!("{home}{rest}"),
            ("+", _) => format!(".{rest}"),
            // Another user's home, or the shell's previous directory.
            _ => format!("{UNKNOWN}{rest}"),
        })
    }

    fn variables<'t>(self, text: &'t str) -> Cow<'t, str> {
        if self.variables && text.contains("{}") {
            // The names that `xargs` and `find` fill in.
            let text = text.replace("{}", "\0");
            return Cow::Owned(self.variables(&text).into_owned());
        }
        if !text.contains(['$', '`']) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '`']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let (name, length) = expansion(from);
            match name {
                Some("HOME") if self.home.is_some() => out.push_str(self.home.unwrap_or_default()),
                Some("PWD") => out.push('.'),
                // Variables that hold numbers.
                Some(
                    "$" | "?" | "#" | "!" | "RANDOM" | "SECONDS" | "UID" | "EUID" | "PPID"
                    | "BASHPID" | "LINENO",
                ) => out.push('0'),
                Some(_) if self.variables => out.push(UNKNOWN),
                _ => out.push_str(from.get(..length).unwrap_or_default()),
            }
            rest = from.get(length..).unwrap_or_default();
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// Returns the name behind a `$` or backtick and the length of the expansion; no name when it is
/// not an expansion.
fn expansion(text: &str) -> (Option<&str>, usize) {
    let bytes = text.as_bytes();
    let name = |from: usize| {
        let tail = bytes.get(from..).unwrap_or_default();
        tail.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
    };
    match (bytes.first(), bytes.get(1)) {
        (Some(b'`'), _) => {
            let end = text.get(1..).and_then(|rest| rest.find('`')).map_or(text.len(), |at| at + 2);
            (Some("`"), end)
        }
        (_, Some(b'{')) => {
            let length = name(2);
            let end = closing(text, b'{', b'}');
            match bytes.get(2 + length) {
                Some(b'}') if length > 0 => (text.get(2..2 + length), end),
                _ => (Some("{"), end),
            }
        }
        (_, Some(b'(')) if text.starts_with("$((") => (Some("#"), closing(text, b'(', b')')),
        (_, Some(b'(')) => (Some("("), closing(text, b'(', b')')),
        (_, Some(b)) if b.is_ascii_alphabetic() || *b == b'_' => {
            let length = name(1);
            (text.get(1..1 + length), 1 + length)
        }
        (_, Some(b'0'..=b'9' | b'@' | b'*' | b'-')) => (Some("@"), 2),
        (_, Some(b'$' | b'?' | b'#' | b'!')) => (text.get(1..2), 2),
        _ => (None, 1),
    }
}

/// Returns the length up to the bracket that closes the first one. Quotes are ignored, so the
/// unknown part is rather too long than too short.
fn closing(text: &str, open: u8, close: u8) -> usize {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + 1;
            }
        }
    }
    text.len()
}

/// Removes backslashes and decodes `%2e`, as programs read their arguments.
fn unescaped(text: &str) -> Option<String> {
    if !text.contains(['\\', '%']) {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (byte, code) {
            (b'\\', _) => {}
            (b'%', Some(decoded)) => {
                out.push(decoded);
                at += 2;
            }
            _ => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8(out).ok()
}

/// Returns the parts of a word that may be paths: the whole, the value of an option, the parts
/// between separators.
pub(crate) fn pieces(word: &str) -> Vec<&str> {
    let mut all = vec![word];
    if let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')) {
        // `-fNAME` and, in a cluster of options, `-xzf/NAME`.
        let slash = flags.find(['/', '~', '.', '$']).unwrap_or(0).min(8);
        all.extend(
            flags.char_indices().skip(1).take(slash.max(1)).filter_map(|(at, _)| flags.get(at..)),
        );
    }
    if word.contains(SEPARATORS) {
        let behind = |at: usize| word.get(at + 1..);
        all.extend(word.find('=').and_then(behind));
        all.extend(word.find([':', '@']).and_then(behind));
        all.extend(word.split(SEPARATORS).filter(|part| part.len() < word.len()));
    }
    all.retain(|piece| !piece.is_empty());
    all
}

const SEPARATORS: [char; 5] = ['=', ':', ',', '@', ';'];

/// Iterates over the parts of a text that may be paths; none when the text is a single word.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: &[char] = &[
        ' ', '\t', '\n', '\r', '"', '\'', '`', '(', ')', '<', '>', '|', '&', ';', ',', '=', ':',
        '@', '[', ']', '{', '}',
    ];
    let several = text.contains(ENDS);
    text.split(ENDS).filter(move |part| several && !part.is_empty())
}

#[cfg(test)]
mod tests;
