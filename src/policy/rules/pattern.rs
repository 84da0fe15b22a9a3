//! A compiled pattern for every kind of value that it may meet.

mod coverage;
mod head;
mod literal;
mod segments;
mod walk;

use crate::facts::paths::expand_home;
use crate::facts::reads;
use crate::facts::url::host;
use crate::facts::wrappers::base;
use crate::glob::{Glob, GlobError};
use crate::shell::Word;
pub(crate) use coverage::Coverage;
pub(crate) use head::Head;
use literal::{literal, words};
use segments::stays;
use walk::{MOST_WORDS, starts_with, walk};

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
        let literal = literal(text);
        let shape = if matches!(text, "*" | "**") {
            Shape::All
        } else if let Some(literal) = &literal {
            Shape::of(words(literal, home), Shape::Exact, text)
        // Most rules have one of these shapes. Comparing words is cheaper than running an
        // automaton, and quotes in the command do not matter.
        } else if let Some(head) = text.strip_suffix(" *").and_then(literal::literal) {
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
    /// words do not matter, and `x *` includes `x`. `texts` returns the spellings of the command.
    pub(crate) fn strikes<'t>(
        &self,
        argv: &[Word<'_>],
        texts: impl FnOnce() -> &'t [String],
    ) -> Coverage {
        // Globs alone are not enough: picomatch denied 18 of 62 test cases of deny rules such as
        // `rm *`.
        match &self.shape {
            // FAIL-CLOSED: the class exists for allow rules only.
            Shape::All | Shape::Reads => Coverage::Yes,
            Shape::Exact(words) => walk(argv, words, true),
            Shape::Prefix(words) => walk(argv, words, false),
            Shape::Glob { head: Some(head) }
                if argv.first().is_none_or(|first| base(&first.text) != base(head)) =>
            {
                Coverage::No
            }
            Shape::Glob { .. } if texts().iter().any(|text| self.glob.reaches(text)) => {
                Coverage::Yes
            }
            Shape::Glob { .. } => Coverage::No,
        }
    }
}
