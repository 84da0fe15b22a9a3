//! One pattern of a rule, ready for every sort of value it may meet.

use crate::facts::reads;
use crate::facts::wrappers::base;
use crate::glob::{Glob, GlobError};
use crate::rules::verdict::Verdict;
use crate::shell::{self, Word, WordKind};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    glob: Glob,
    shape: Shape,
    /// The text of a pattern without wildcards.
    literal: Option<Box<str>>,
    /// `domain:…` of a fetch rule.
    domain: Option<Glob>,
    /// The parts between slashes where `*` must stay within a directory; `None` is `**`.
    segments: Option<Vec<Option<Glob>>>,
}

/// The pattern as commands meet it.
#[derive(Clone, Debug)]
enum Shape {
    /// `*`
    All,
    /// `@reads`: told from the words themselves.
    Reads,
    /// Exactly these words.
    Exact(Vec<Box<str>>),
    /// These words and at least one more: `git push *`.
    Prefix(Vec<Box<str>>),
    /// Anything else: matched against the words joined by blanks. The first word, where it is
    /// literal, tells most commands apart at once.
    Glob { head: Option<Box<str>> },
}

impl Shape {
    fn of(words: Vec<Box<str>>, shape: impl FnOnce(Vec<Box<str>>) -> Self, text: &str) -> Self {
        if (1..=MOST_WORDS).contains(&words.len()) { shape(words) } else { Self::glob(text) }
    }

    fn glob(text: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
        let head = text.split_once(' ').map(|(head, _)| head);
        Self::Glob { head: head.filter(|head| head.chars().all(plain)).map(Into::into) }
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
        let pack =
            |word: &str| word.bytes().take(8).fold(1, |packed, b| packed << 8 | u64::from(b));
        let (full, base) = (pack(word), base(word));
        Self { full, base: if base.len() == word.len() { full } else { pack(base) } }
    }

    /// The part of a rule's head that decides about it; 0 where any command fits.
    pub(crate) fn of_rule(self, verdict: Verdict) -> u64 {
        if verdict == Verdict::Allow { self.full } else { self.base }
    }

    /// The deciding parts of the rules that may be about a command with this head, each once.
    pub(crate) fn of_rules(self) -> [Option<u64>; 3] {
        [Some(0), Some(self.full), Some(self.base).filter(|base| *base != self.full)]
    }

    /// False when a rule with this head cannot be about a command that begins with `word`.
    pub(crate) fn fits(self, word: Self, verdict: Verdict) -> bool {
        self == Self::ANY
            || if verdict == Verdict::Allow {
                self.full == word.full
            } else {
                self.base == word.base
            }
    }
}

/// Whether a pattern covers a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    No,
    /// It may: a word that decides it will only be known when it runs.
    Maybe,
    Yes,
}

impl Reach {
    pub(crate) fn of(covers: bool) -> Self {
        if covers { Self::Yes } else { Self::No }
    }
}

impl Pattern {
    /// Compiles `text`; `home` replaces `~/` and `$HOME/` in front.
    pub(crate) fn new(text: &str, home: Option<&str>) -> Result<Self, GlobError> {
        let text = &*expand_home(text, home);
        let glob = Glob::parse(text)?;
        let literal = literal(text);
        let shape = if matches!(text, "*" | "**") {
            Shape::All
        } else if let Some(literal) = &literal {
            Shape::of(words(literal, home), Shape::Exact, text)
        } else if let Some(head) = text.strip_suffix(" *").and_then(self::literal) {
            Shape::of(words(&head, home), Shape::Prefix, text)
        } else {
            Shape::glob(text)
        };
        let domain = match text.strip_prefix("domain:") {
            Some(host) => Some(Glob::parse(&host.to_ascii_lowercase())?),
            None => None,
        };
        Ok(Self {
            glob,
            shape,
            literal: literal.map(|literal| literal.trim().into()),
            domain,
            segments: None,
        })
    }

    /// The class of calls that only read.
    pub(crate) fn reads() -> Result<Self, GlobError> {
        Ok(Self { shape: Shape::Reads, literal: None, ..Self::new(reads::CLASS, None)? })
    }

    /// True for the class of calls that only read.
    pub(crate) fn is_reads(&self) -> bool {
        matches!(self.shape, Shape::Reads)
    }

    /// The same pattern with `*` staying within a directory, as in Claude's path rules.
    pub(crate) fn within_directories(mut self) -> Result<Self, GlobError> {
        let parts = self.glob.source().split('/').map(|part| match part {
            "**" => Ok(None),
            part => Glob::parse(part).map(Some),
        });
        self.segments = Some(parts.collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// What a command's first word must begin with, to tell most rules apart without reading them.
    pub(crate) fn head(&self) -> Head {
        match &self.shape {
            Shape::Exact(words) | Shape::Prefix(words) => {
                words.first().map_or(Head::ANY, |word| Head::of(word))
            }
            Shape::Glob { head: Some(head) } => Head::of(head),
            Shape::All | Shape::Reads | Shape::Glob { head: None } => Head::ANY,
        }
    }

    /// True for `*`: every call of the tool.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.shape, Shape::All)
    }

    /// True when the pattern names one exact command, quoting aside.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.shape, Shape::Exact(_))
    }

    /// How many words of a command the pattern names.
    pub(crate) fn words(&self) -> usize {
        match &self.shape {
            Shape::Exact(words) | Shape::Prefix(words) => words.len(),
            Shape::All | Shape::Reads | Shape::Glob { .. } => usize::MAX,
        }
    }

    /// The whole text of a pattern without wildcards.
    pub(crate) fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    /// A value that is no command, as an allow rule sees it.
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

    /// A value that is no command, as deny and ask rules see it.
    pub(crate) fn reaches(&self, value: &str) -> bool {
        match (&self.domain, host(value)) {
            (Some(domain), Some(host)) => {
                domain.reaches(&host)
                    || host
                        .match_indices('.')
                        .any(|(dot, _)| host.get(dot + 1..).is_some_and(|up| domain.reaches(up)))
            }
            // FAIL-CLOSED: a URL whose host cannot be told may be any host.
            (Some(_), None) => true,
            (None, _) => self.is_all() || self.glob.reaches(value),
        }
    }

    /// A command, as an allow rule sees it; `text` is called for the joined words.
    pub(crate) fn covers<'t>(&self, argv: &[Word<'_>], text: impl FnOnce() -> &'t str) -> bool {
        match &self.shape {
            Shape::All => true,
            Shape::Reads => false,
            Shape::Exact(words) => argv.len() == words.len() && starts_with(argv, words),
            Shape::Prefix(words) => argv.len() > words.len() && starts_with(argv, words),
            Shape::Glob { head: Some(head) }
                if argv.first().is_none_or(|first| *first.text != **head) =>
            {
                false
            }
            Shape::Glob { .. } => self.glob.matches(text()),
        }
    }

    /// A command, as deny and ask rules see it: the binary's directory and options in front of the
    /// words do not matter, `x *` includes `x`; `texts` is called for the spellings of the command.
    pub(crate) fn strikes<'t>(
        &self,
        argv: &[Word<'_>],
        texts: impl FnOnce() -> &'t [String],
    ) -> Reach {
        match &self.shape {
            // FAIL-CLOSED: the class is of use to an allow alone.
            Shape::All | Shape::Reads => Reach::Yes,
            Shape::Exact(words) => walk(argv, words, true),
            Shape::Prefix(words) => walk(argv, words, false),
            Shape::Glob { head: Some(head) }
                if argv.first().is_none_or(|first| base(&first.text) != base(head)) =>
            {
                Reach::No
            }
            Shape::Glob { .. } if texts().iter().any(|text| self.glob.reaches(text)) => Reach::Yes,
            Shape::Glob { .. } => Reach::No,
        }
    }
}

fn starts_with(argv: &[Word<'_>], words: &[Box<str>]) -> bool {
    argv.iter().zip(words).all(|(word, wanted)| word.literal() == Some(&**wanted))
}

/// Walks along `words`, stepping over options in `argv` that the pattern does not name.
fn walk(argv: &[Word<'_>], words: &[Box<str>], exact: bool) -> Reach {
    let (Some((name, args)), Some((wanted, rest))) = (argv.split_first(), words.split_first())
    else {
        return Reach::No;
    };
    let named = match name.kind {
        WordKind::Literal | WordKind::Home => {
            *name.text == **wanted || base(&name.text) == base(wanted) && !wanted.contains('/')
        }
        WordKind::Glob | WordKind::Dynamic => return Reach::Maybe,
    };
    if named { step(args, rest, exact) } else { Reach::No }
}

/// Every place in `words` where the walk can be is a bit; an option may or may not have a value.
fn step(args: &[Word<'_>], words: &[Box<str>], exact: bool) -> Reach {
    let done = 1_u128 << words.len();
    let (mut now, mut after) = (1_u128, 0_u128);
    let mut maybe = false;
    for word in args {
        if !exact && now & done != 0 {
            return Reach::Yes;
        }
        if word.kind == WordKind::Dynamic && now & (done - 1) != 0 {
            maybe = true;
        }
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
        (true, _) => Reach::Yes,
        (false, true) => Reach::Maybe,
        (false, false) => Reach::No,
    }
}

/// More words than a walk has bits for are matched as text.
const MOST_WORDS: usize = 120;

/// Matches the parts of a path one by one; `None` is any number of parts.
fn stays(parts: &[Option<Glob>], value: &str) -> bool {
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

/// `**` may stand for no part at all.
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

/// `~`, `~/…` and `$HOME/…` in front; without a home all of them become `~`.
pub fn expand_home<'t>(text: &'t str, home: Option<&str>) -> std::borrow::Cow<'t, str> {
    let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|name| text.strip_prefix(name));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.unwrap_or("~").trim_end_matches('/')).into()
        }
        _ => text.into(),
    }
}

/// The text of a pattern that has no wildcard; `None` when it has one.
fn literal(pattern: &str) -> Option<String> {
    if pattern.starts_with('!') {
        return None;
    }
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' | '?' => return None,
            '[' if chars.as_str().contains(']') => return None,
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

/// The words of a literal command text; quotes as in a shell where that can be read.
fn words(text: &str, home: Option<&str>) -> Vec<Box<str>> {
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

/// The host of a URL, in lower case; `None` when it cannot be told for certain.
pub(crate) fn host(url: &str) -> Option<String> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        url.get(..scheme.len())
            .filter(|head| head.eq_ignore_ascii_case(scheme))
            .and_then(|head| url.get(head.len()..))
    })?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.split(':').next()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    // SECURITY: user names, backslashes and other scripts make the real host a matter of taste.
    // No name in DNS is longer.
    ((1..=253).contains(&host.len()) && host.bytes().all(plain) && !authority.contains('@'))
        .then(|| host.trim_end_matches('.').to_ascii_lowercase())
}
