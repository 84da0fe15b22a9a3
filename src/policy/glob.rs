//! Globs: picomatch with `{dot: true, bash: true}` for allow rules, and a wider reading of the same
//! pattern for deny and ask rules.
//!
//! Deviations from picomatch 4, all towards matching less (`tests/policy/vectors.rs` holds the
//! list against recorded answers):
//! - extglobs (`@(a|b)`, `+(a)`, …) and regex groups (`(?…`) are refused when the file is loaded;
//! - a backslash before a letter means that letter, never a regex class (`\d` is `d`);
//! - a star between double quotes stands for itself, alone as well as inside a command;
//! - a brace range is a range of single characters; any other range never matches.

mod machine;
mod parse;

use std::sync::OnceLock;

use crate::facts::paths::UNKNOWN;
use crate::glob::machine::{ANY, Machine};

/// Returns the pattern that matches `text` and nothing else.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for char in text.chars() {
        if "*?[]{}()!\"\\".contains(char) {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

/// Returns a pattern of a shell as [`Glob::may_reach`] reads it, which rather reads more into it.
pub(crate) fn opened(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find(['*', '?', '[']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let (open, after) = if let Some(list) = from.strip_prefix('[') {
            bracket(list).map_or((UNKNOWN, ""), |(_, after)| (ANY, after))
        } else {
            let open = if from.starts_with('*') { UNKNOWN } else { ANY };
            (open, from.get(1..).unwrap_or_default())
        };
        text.push(open);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Returns true for a text with something open in it.
pub(crate) fn is_open(text: &str) -> bool {
    text.contains([UNKNOWN, ANY])
}

/// Splits what follows a `[` into the list in the brackets and what stands behind it, where all
/// shells and tools read it alike.
pub(crate) fn bracket(rest: &str) -> Option<(&str, &str)> {
    let (list, after) = rest.split_once(']')?;
    let is_plain = !matches!(list, "" | "!" | "^") && !list.contains(['[', '\\', '\'', '"', '/']);
    is_plain.then_some((list, after))
}

/// A pattern. Its automata are built on first use, because most rules never need them.
#[derive(Clone, Debug)]
pub struct Glob {
    source: Box<str>,
    machines: OnceLock<Machines>,
}

#[derive(Clone, Debug)]
struct Machines {
    negated: bool,
    strict: Machine,
    wide: Machine,
}

impl Machines {
    fn of(pattern: &str) -> Result<Self, GlobError> {
        let tree = parse::tree(pattern)?;
        let strict = Machine::strict(&tree.node);
        let mut readings = vec![tree.node];
        // `rm *` also denies a bare `rm`; picomatch does not match it.
        if let Some(bare) = pattern.strip_suffix(" *").filter(|bare| !bare.ends_with('\\')) {
            readings.push(parse::tree(bare)?.node);
        }
        // The author may mean the quotes literally, so the wide reading covers both.
        if pattern.contains('"') {
            readings.push(parse::as_written(pattern));
        }
        Ok(Self { negated: tree.negated, strict, wide: Machine::wide(&readings) })
    }

    /// Matches nothing for an allow rule and everything for a deny or ask rule.
    // FAIL-CLOSED: unreachable, `parse` refuses every pattern that cannot be read.
    fn unreadable() -> Self {
        let strict = parse::Node::Never;
        let wide = parse::Node::Anything;
        Self { negated: false, strict: Machine::strict(&strict), wide: Machine::wide(&[wide]) }
    }
}

impl Glob {
    /// Creates a glob; checks the pattern but does not compile it yet.
    ///
    /// # Errors
    /// Patterns with extglobs or regex groups, and patterns that are too long.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        refuse(pattern)?;
        Ok(Self { source: pattern.into(), machines: OnceLock::new() })
    }

    fn machines(&self) -> &Machines {
        self.machines
            .get_or_init(|| Machines::of(&self.source).unwrap_or_else(|_| Machines::unreadable()))
    }

    /// Returns the pattern as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns picomatch's answer, which allow rules use.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        if value.is_empty() || self.source.is_empty() {
            return false;
        }
        // picomatch compares the two strings before it reads the pattern.
        if *value == *self.source {
            return true;
        }
        let Machines { negated, strict, .. } = self.machines();
        if *negated {
            // picomatch negates with `^(?!…).*$`, whose `.` stops at a line end.
            return !strict.runs(value) && !value.contains(machine::LINE_ENDS);
        }
        strict.runs(value)
    }

    /// Returns the wider answer, which deny and ask rules use. `*` crosses lines and dot segments
    /// and may be empty; `x *` matches a bare `x`.
    // INVARIANT: whatever `matches`, `reaches`.
    #[must_use]
    pub fn reaches(&self, value: &str) -> bool {
        if self.source.is_empty() {
            return false;
        }
        if *value == *self.source {
            return true;
        }
        let Machines { negated, strict, wide } = self.machines();
        if *negated { !strict.runs(value) } else { wide.runs(value) }
    }

    /// Returns true when [`Glob::reaches`] may hold for what a text becomes, in which `UNKNOWN`
    /// stands for any text and `ANY` for a character.
    pub(crate) fn may_reach(&self, text: &str) -> bool {
        self.may_run(text, false)
    }

    /// Returns true where the text says so itself: `pr*te.rs` may be what `*private*` names, and so
    /// may `*.rs`, but of that only the star knows.
    pub(crate) fn may_mean(&self, text: &str) -> bool {
        self.may_run(text, true)
    }

    fn may_run(&self, text: &str, meant: bool) -> bool {
        let Machines { negated, wide, .. } = self.machines();
        // What a negated pattern leaves out is never all that an unknown text may be.
        *negated || !self.source.is_empty() && wide.may_run(text, meant)
    }
}

/// The reason why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// An extended glob.
    #[error("the extglob `{0}` is not supported; write `{{a,b}}` for alternatives")]
    Extglob(String),
    /// A regex group.
    #[error("the regex group `(?` is not supported in a pattern")]
    Group,
    /// Longer than a pattern may be.
    #[error("the pattern has {0} characters; at most {MAX} are allowed")]
    Long(usize),
}

const MAX: usize = 2_000;

/// Refuses a pattern that this matcher does not support.
fn refuse(pattern: &str) -> Result<(), GlobError> {
    if pattern.len() > MAX {
        return Err(GlobError::Long(pattern.len()));
    }
    refuse_extglob(pattern)
}

fn refuse_extglob(pattern: &str) -> Result<(), GlobError> {
    let mut previous = None;
    let mut class = false;
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match (previous, char) {
            (_, '\\') => {
                chars.next();
                previous = None;
                continue;
            }
            // Without a closing bracket, `[` is an ordinary character.
            (_, '[') if chars.clone().any(|c| c == ']') => class = true,
            (_, ']') => class = false,
            (_, '(') if !class && chars.peek() == Some(&'?') => return Err(GlobError::Group),
            (Some(sign @ ('@' | '+' | '?' | '!' | '*')), '(') if !class => {
                return Err(GlobError::Extglob(format!("{sign}(")));
            }
            _ => {}
        }
        previous = Some(char);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

    use crate::glob::{Glob, opened};

    fn glob(pattern: &str) -> Glob {
        Glob::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
    }

    #[test]
    fn a_star_crosses_directories_but_no_line_and_no_dot_segment() {
        assert!(glob("src/*").matches("src/a/b.ts"));
        assert!(!glob("a*").matches("a\nb"));
        assert!(!glob("rm *").matches("rm -rf ../.."));
    }

    #[test]
    fn the_wide_reading_crosses_both_and_matches_the_bare_word() {
        for value in ["rm", "rm -rf ../..", "rm a\nb", "rm -rf x/.."] {
            assert!(glob("rm *").reaches(value), "{value}");
        }
        assert!(!glob("rm *").reaches("rmdir x"));
    }

    #[test]
    fn an_open_text_may_reach_what_it_may_become() {
        for (pattern, text) in [
            ("/srv/prod/**", "/srv/pro*"),
            ("/srv/prod/**", "/srv/\0"),
            ("/srv/prod/*.conf", "/srv/*/a.*"),
            ("**/*.env", "src/*"),
            ("git push *", "git \0"),
            ("git {push,pull} *", "git p?sh -x"),
            ("make deploy*", "make \0"),
            ("/a/[xy]/*", "/a/?/b"),
            ("!x", "\0"),
            ("a?c", "[ab]?c"),
            ("*prod*", "deploy pr[o]d"),
            ("*prod*", "deploy pr[[:alpha:]]d"),
            ("*prod*", "deploy pr[]o]d"),
            ("*prod*", "deploy pr[x\\]o]d"),
            ("deploy pr[[:alpha:]]d", "deploy pr?d"),
        ] {
            assert!(glob(pattern).may_reach(&opened(text)), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("/srv/prod/**", "/srv/test/*"),
            ("**/*.env", "src/*.rs"),
            ("git push *", "git status \0"),
            ("make deploy*", "make test-\0"),
            ("abc", "ab"),
            ("", "a"),
            ("*prod*", "deploy te[s]t"),
            ("*--force*", "deploy pr?d"),
        ] {
            assert!(!glob(pattern).may_reach(&opened(text)), "{pattern} {text}");
        }
    }

    #[test]
    fn an_open_text_means_what_it_names_a_part_of() {
        for text in ["pr?vate.txt", "pr[i]vate", "pr*te.rs", "a/*vate.rs", "p*", "*e"] {
            assert!(glob("*private*").may_mean(&opened(text)), "{text}");
        }
        for text in ["src/*.rs", "*", "public.*", "te?t.rs", "tests/*"] {
            assert!(!glob("*private*").may_mean(&opened(text)), "{text}");
        }
        for text in ["src/*.rs", "*.md", "app/[ab]*.rs"] {
            assert!(!glob("*.env.*").may_mean(&opened(text)), "{text}");
        }
    }

    #[test]
    fn extglobs_are_refused_with_a_sentence() {
        let error = Glob::parse("@(a|b)/*").map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the extglob `@(` is not supported; write `{a,b}` for alternatives"
        );
    }

    #[test]
    fn hostile_values_take_linear_time() {
        let value = "a".repeat(20_000);
        assert!(!glob("*a*a*a*a*a*a*a*a*b").matches(&value));
        assert!(!glob("{a,aa}*{a,aa}*{a,aa}*b").reaches(&value));
    }
}
