//! One pattern of a rule, ready for every sort of value it may meet.

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
pub(crate) use coverage::Reach;
pub(crate) use head::Head;
use literal::{literal, words};
use segments::stays;
use walk::{MOST_WORDS, starts_with, walk};

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
