//! A compiled pattern for every kind of value that it may meet.

use crate::engine::guardrail::fits_name;
use crate::facts::paths::expand_home;
use crate::facts::wrappers::base;
use crate::facts::{host, reads};
use crate::glob::{Glob, GlobError};
use crate::rules::verdict::Verdict;
use crate::shell::{self, Word, WordKind};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    glob: Glob,
    shape: Shape,
    /// The text, if the pattern has no wildcards.
    literal: Option<Box<str>>,
    /// `domain:…` of a fetch rule.
    domain: Option<Glob>,
    /// The parts between slashes, where `*` must not cross directories; `None` is `**`.
    segments: Option<Vec<Option<Glob>>>,
}

/// The pattern as it applies to commands.
#[derive(Clone, Debug)]
enum Shape {
    /// `*`
    All,
    /// `@reads`: the words themselves show that the command only reads.
    Reads,
    /// Exactly these words.
    Exact(Vec<Box<str>>),
    /// These words and at least one more: `git push *`.
    Prefix(Vec<Box<str>>),
    /// Any other pattern: matched against the words joined by blanks. A literal first word excludes
    /// most commands quickly.
    Glob { head: Option<Box<str>> },
}

impl Shape {
    fn of(words: Vec<Box<str>>, shape: impl FnOnce(Vec<Box<str>>) -> Self, text: &str) -> Self {
        if (1..=MOST_WORDS).contains(&words.len()) { shape(words) } else { Self::glob(text) }
    }

    fn glob(text: &str) -> Self {
        // The first word excludes commands only if nothing in it can match several names.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
        let head = text.split_once(' ').map(|(head, _)| head);
        Self::Glob { head: head.filter(|head| head.chars().all(plain)).map(Into::into) }
    }
}

impl Pattern {
    /// Compiles `text`; `home` replaces a leading `~/` or `$HOME/`.
    pub(crate) fn new(text: &str, home: Option<&str>) -> Result<Self, GlobError> {
        let text = &*expand_home(text, home);
        let glob = Glob::parse(text)?;
        let literal = without_wildcards(text);
        let shape = if matches!(text, "*" | "**") {
            Shape::All
        } else if let Some(without_wildcards) = &literal {
            Shape::of(words(without_wildcards, home), Shape::Exact, text)
        // Most rules have one of these shapes. Comparing words is cheaper than running an
        // automaton, and quotes in the command do not matter.
        } else if let Some(head) = text.strip_suffix(" *").and_then(without_wildcards) {
            Shape::of(words(&head, home), Shape::Prefix, text)
        } else {
            Shape::glob(text)
        };
        let domain = text.strip_prefix("domain:");
        let domain = domain.map(|host| Glob::parse(&host.to_ascii_lowercase())).transpose()?;
        Ok(Self {
            glob,
            shape,
            literal: literal.map(|literal| literal.trim().into()),
            domain,
            segments: None,
        })
    }

    /// Creates the class of calls that only read.
    pub(crate) fn reads() -> Result<Self, GlobError> {
        Ok(Self { shape: Shape::Reads, literal: None, ..Self::new(reads::CLASS, None)? })
    }

    /// Returns true for the class of calls that only read.
    pub(crate) fn is_reads(&self) -> bool {
        matches!(self.shape, Shape::Reads)
    }

    /// Returns the same pattern with `*` kept within a directory, as in Claude's path rules.
    pub(crate) fn within_directories(mut self) -> Result<Self, GlobError> {
        let parts = self.glob.source().split('/').map(|part| match part {
            "**" => Ok(None),
            part => Glob::parse(part).map(Some),
        });
        self.segments = Some(parts.collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// Returns the bytes that a command's first word must start with, to exclude most rules
    /// quickly.
    pub(crate) fn head(&self) -> Head {
        match &self.shape {
            Shape::Exact(words) | Shape::Prefix(words) => {
                words.first().map_or(Head::ANY, |word| Head::of(word))
            }
            Shape::Glob { head: Some(head) } => Head::of(head),
            Shape::All | Shape::Reads | Shape::Glob { head: None } => Head::ANY,
        }
    }

    /// Returns true for `*`, which matches every call of the tool.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.shape, Shape::All)
    }

    /// Returns true when the pattern names one exact command, apart from quoting.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.shape, Shape::Exact(_))
    }

    /// Returns the number of a command's words that the pattern names.
    pub(crate) fn words(&self) -> usize {
        match &self.shape {
            Shape::Exact(words) | Shape::Prefix(words) => words.len(),
            Shape::All | Shape::Reads | Shape::Glob { .. } => usize::MAX,
        }
    }

    /// Returns the whole text of a pattern without wildcards.
    pub(crate) fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    /// Returns true when a part of the path that the pattern stands for is named, without a
    /// wildcard in it.
    pub(crate) fn names_part(&self, part: &str) -> bool {
        self.glob.source().split('/').any(|named| named == part)
    }

    /// Matches a value other than a command, as allow rules do.
    pub(crate) fn matches(&self, value: &str) -> bool {
        if self.is_reads() {
            return false;
        }
        match (&self.domain, host(value)) {
            (Some(domain), Some(host)) => domain.matches(&host),
            (Some(_), None) => false,
            (None, _) => {
                self.glob.matches(value)
                    && self.segments.as_deref().is_none_or(|parts| stays(parts, value))
            }
        }
    }

    /// Matches a value other than a command, as deny and ask rules do.
    pub(crate) fn reaches(&self, value: &str) -> bool {
        match (&self.domain, host(value)) {
            (Some(domain), Some(host)) => {
                domain.reaches(&host)
                    || host
                        // A deny for `example.com` also covers its subdomains.
                        .match_indices('.')
                        .any(|(dot, _)| host.get(dot + 1..).is_some_and(|up| domain.reaches(up)))
            }
            // FAIL-CLOSED: a URL whose host cannot be determined may have any host.
            (Some(_), None) => true,
            (None, _) => self.is_all() || self.glob.reaches(value),
        }
    }

    /// Returns true when an open path may be what the pattern names: it says a part of that, or its
    /// folders may be those. Nearly every path may meet a pattern that begins with a wildcard.
    pub(crate) fn may_name(&self, open: &str) -> bool {
        let source = self.glob.source();
        let is_anchored = !source.starts_with(['*', '!', '@']);
        self.domain.is_none()
            && !self.is_all()
            && (self.glob.may_mean(open)
                || is_anchored && may_meet(source.strip_prefix("./").unwrap_or(source), open))
    }

    /// Matches a command as allow rules do; `text` returns the joined words.
    pub(crate) fn covers<'t>(&self, argv: &[Word<'_>], text: impl FnOnce() -> &'t str) -> bool {
        match &self.shape {
            Shape::All => true,
            Shape::Reads => false,
            Shape::Exact(words) => argv.len() == words.len() && starts_with(argv, words),
            // Whole words: elsewhere `ls*` also granted `lsof` (opencode issue 6737).
            Shape::Prefix(words) => argv.len() > words.len() && starts_with(argv, words),
            Shape::Glob { head: Some(head) }
                if argv.first().is_none_or(|first| *first.text != **head) =>
            {
                false
            }
            Shape::Glob { .. } => self.glob.matches(text()),
        }
    }

    /// Matches a command as deny and ask rules do: the program's directory and options before the
    /// words do not matter, and `x *` includes `x`. `texts` returns the spellings of the command, and
    /// `open` those in which `UNKNOWN` stands for words that are only known when it runs.
    pub(crate) fn strikes<'t>(
        &self,
        argv: &[Word<'_>],
        texts: impl FnOnce() -> &'t [String],
        open: impl FnOnce() -> &'t [String],
    ) -> Coverage {
        // Globs alone are not enough: picomatch denied 18 of 62 test cases of deny rules such as
        // `rm *`.
        match &self.shape {
            // FAIL-CLOSED: the class exists for allow rules only.
            Shape::All | Shape::Reads => Coverage::Yes,
            Shape::Exact(words) => walk(argv, words, true),
            Shape::Prefix(words) => walk(argv, words, false),
            Shape::Glob { head: Some(head) }
                if argv
                    .first()
                    .and_then(Word::literal)
                    .is_some_and(|it| base(it) != base(head)) =>
            {
                Coverage::No
            }
            Shape::Glob { .. } if texts().iter().any(|text| self.glob.reaches(text)) => {
                Coverage::Yes
            }
            // FAIL-CLOSED: a word that is only known when it runs may be what the rule names.
            Shape::Glob { .. } if open().iter().any(|text| self.glob.may_reach(text)) => {
                Coverage::Maybe
            }
            Shape::Glob { .. } => Coverage::No,
        }
    }
}

/// Returns the text of a pattern without wildcards; `None` when it has one.
fn without_wildcards(pattern: &str) -> Option<String> {
    if pattern.starts_with('!') {
        return None;
    }
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' | '?' => return None,
            '[' if chars.as_str().contains(']') => return None,
            // A brace without a comma or a range is an ordinary character.
            '{' => {
                let group = chars.as_str().split('}').next().unwrap_or_default();
                if group.len() < chars.as_str().len()
                    && (group.contains([',']) || group.contains(".."))
                {
                    return None;
                }
                text.push('{');
            }
            '\\' => match chars.clone().next() {
                // Only characters with a meaning can be escaped; any other backslash is text.
                Some(next) if "*?[]{}()!\"\\".contains(next) => {
                    chars.next();
                    text.push(next);
                }
                _ => text.push('\\'),
            },
            char => text.push(char),
        }
    }
    Some(text)
}

/// Splits a literal command into words, with the quoting of a shell where it can be read.
fn words(text: &str, home: Option<&str>) -> Vec<Box<str>> {
    // Read as a command is read, so that `git commit -m 'a b'` in a rule has four words.
    let scan = shell::scan(text);
    if scan.understood()
        && let [command] = scan.commands.as_slice()
        && command.redirects.is_empty()
        && command.assigns.is_empty()
        && let Some(words) = command
            .argv
            .iter()
            .map(|word| word.literal().map(Into::into))
            .collect::<Option<Vec<_>>>()
        && !words.is_empty()
    {
        return words;
    }
    text.split_whitespace().map(|word| expand_home(word, home).into()).collect()
}

// Compares the exact words of a rule with the words of a command.

/// Limit on the words of a walk, which has a bit for each; longer patterns are matched as text.
const MOST_WORDS: usize = 120;

/// Returns true when the command starts with exactly these words.
fn starts_with(argv: &[Word<'_>], words: &[Box<str>]) -> bool {
    argv.iter().zip(words).all(|(word, wanted)| word.literal() == Some(&**wanted))
}

/// Compares `words` with `argv`, stepping over options that the pattern does not name.
fn walk(argv: &[Word<'_>], words: &[Box<str>], exact: bool) -> Coverage {
    let (Some((name, args)), Some((wanted, rest))) = (argv.split_first(), words.split_first())
    else {
        return Coverage::No;
    };
    let named = match name.kind {
        WordKind::Literal | WordKind::Home => {
            *name.text == **wanted || base(&name.text) == base(wanted) && !wanted.contains('/')
        }
        WordKind::Glob | WordKind::Dynamic => return Coverage::Maybe,
    };
    if named { step(args, rest, exact) } else { Coverage::No }
}

/// Tracks every position in `words` as a bit, because an option may or may not take a value.
fn step(args: &[Word<'_>], words: &[Box<str>], exact: bool) -> Coverage {
    // `git -C x push` must not escape a deny for `git push`. Without knowing that `-C` takes a
    // value, both readings are followed: `after` holds the positions where the next word is a
    // value.
    let done = 1_u128 << words.len();
    let mut now = 1_u128;
    let mut after = 0_u128;
    let mut maybe = false;
    for word in args {
        // A prefix needs one word more than it names, and here is one.
        if !exact && now & done != 0 {
            return Coverage::Yes;
        }
        // This word may become the next one of the pattern.
        let may_be = |wanted: &str| match word.kind {
            WordKind::Dynamic => true,
            WordKind::Glob => !wanted.is_ascii() || fits_name(&word.text, wanted),
            WordKind::Literal | WordKind::Home => false,
        };
        maybe |= words.iter().enumerate().any(|(at, it)| now & (1 << at) != 0 && may_be(it));
        let mut next = after;
        after = 0;
        for (at, wanted) in words.iter().enumerate() {
            if now & (1 << at) != 0 && *word.text == **wanted {
                next |= 1 << (at + 1);
            }
        }
        if word.text.starts_with('-') {
            next |= now;
            after = now;
        }
        now = next;
        if now == 0 && after == 0 {
            break;
        }
    }
    match (now & done != 0, maybe) {
        (true, _) => Coverage::Yes,
        (false, true) => Coverage::Maybe,
        (false, false) => Coverage::No,
    }
}

/// Returns true when an open path may fit the pattern of a rule. A star of the path ends at a slash;
/// one of the rule may stand for all that follows.
fn may_meet(pattern: &str, path: &str) -> bool {
    for (rule, part) in pattern.split('/').zip(path.split('/')) {
        // A group may hold slashes.
        if rule.contains('{') {
            return true;
        }
        if rule != part && Glob::parse(rule).is_ok_and(|rule| !rule.may_reach(part)) {
            return false;
        }
        if rule.contains('*') {
            return true;
        }
    }
    pattern.split('/').count() == path.split('/').count()
}

// Path patterns in which `*` stays within a directory.

/// Matches a path part by part; `None` stands for any number of parts.
fn stays(parts: &[Option<Glob>], value: &str) -> bool {
    // All positions at once, as in an automaton: several `**` would make backtracking exponential.
    let mut now = vec![false; parts.len() + 1];
    if let Some(start) = now.first_mut() {
        *start = true;
    }
    skip_any(parts, &mut now);
    for part in value.split('/') {
        let mut next = vec![false; parts.len() + 1];
        for (at, wanted) in parts.iter().enumerate() {
            if !now.get(at).copied().unwrap_or(false) {
                continue;
            }
            let to = match wanted {
                None => at,
                Some(glob)
                    if glob.matches(part) || (part.is_empty() && glob.source().is_empty()) =>
                {
                    at + 1
                }
                Some(_) => continue,
            };
            if let Some(slot) = next.get_mut(to) {
                *slot = true;
            }
        }
        skip_any(parts, &mut next);
        now = next;
    }
    now.last().copied().unwrap_or(false)
}

/// Skips every `**`, which may also stand for no part at all.
fn skip_any(parts: &[Option<Glob>], places: &mut [bool]) {
    for at in 0..parts.len() {
        if matches!(parts.get(at), Some(None))
            && places.get(at).copied().unwrap_or(false)
            && let Some(slot) = places.get_mut(at + 1)
        {
            *slot = true;
        }
    }
}

/// Tells whether a pattern covers a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coverage {
    No,
    /// It may: a word that decides it is known only at run time.
    Maybe,
    Yes,
}

impl Coverage {
    pub(crate) fn of(covers: bool) -> Self {
        if covers { Self::Yes } else { Self::No }
    }
}

/// The first bytes of a command's name, with its directory and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    full: u64,
    base: u64,
}

impl Head {
    const ANY: Self = Self { full: 0, base: 0 };

    pub(crate) fn of(word: &str) -> Self {
        // The fold starts at 1, so no name packs to 0 and 0 is free for "any command". Eight bytes
        // fill the number and push the 1 out.
        let pack =
            |word: &str| word.bytes().take(8).fold(1, |packed, b| packed << 8 | u64::from(b));
        let full = pack(word);
        let base = base(word);
        Self { full, base: if base.len() == word.len() { full } else { pack(base) } }
    }

    /// Returns false when a rule with this head cannot match a command that starts with `word`.
    // An allow for `git` must not cover `./git`; a deny for `rm` must cover `/bin/rm`.
    pub(crate) fn fits(self, word: Self, verdict: Verdict) -> bool {
        self == Self::ANY
            || match verdict {
                Verdict::Allow => self.full == word.full,
                Verdict::Ask | Verdict::Deny => self.base == word.base,
            }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use crate::glob::opened;
    use crate::rules::pattern::Pattern;

    #[test]
    fn an_open_path_may_be_what_a_pattern_names() {
        for (pattern, path, may) in [
            ("private/**", "pr?vate/a", true),
            ("private/**", "*/a", true),
            ("./private/**", "*/a", true),
            ("private/**", "*.md", false),
            ("private/**", "s*/a.rs", false),
            ("private/*.pem", "private/*", true),
            ("private/keys", "p*/a", false),
            ("{private/x,b}", "pr?vate/x", true),
            ("*private*", "pr?vate.txt", true),
            ("*private*", "src/*.rs", false),
            ("*", "src/*.rs", false),
            ("domain:private.example", "pr*", false),
        ] {
            let found = Pattern::new(pattern, None).unwrap().may_name(&opened(path));
            assert_eq!(found, may, "{pattern} {path}");
        }
    }
}
