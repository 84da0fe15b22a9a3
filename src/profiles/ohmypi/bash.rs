//! The declaration of oh-my-pi's bash tool for a command: `bash.patterns`, then the critical
//! shapes.

use super::chain::{Link, chain, controls};
use super::critical;
use super::declare::{Declared, Tier};
use super::pattern::{BashPattern, Star, normal};
use super::segments::segments;
use countersign_policy::always::spoken;
use countersign_policy::shell::{self, Word};
use countersign_policy::verdict::Verdict;
use countersign_policy::wrappers::{Inner, Passage, base, unwrap};

/// The tool's name.
pub const TOOL: &str = "bash";

/// The settings of the bash tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bash {
    /// `bash.patterns`: the first that matches wins.
    pub patterns: Vec<BashPattern>,
    /// `bash.allowCompoundCommands`: chains with `&&` are checked command by command.
    pub compound: bool,
    /// `shellPath`: the shell that runs the commands; bash when not set.
    pub shell: Option<String>,
}

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;

/// Returns the tool's declaration for a command. Deny precedes critical; critical precedes allow
/// and prompt.
#[must_use]
pub fn declare(command: &str, settings: &Bash, compat: bool) -> Declared {
    let looker = PatternMatcher { patterns: &settings.patterns, compat };
    let links = chain(command).filter(|_| settings.compound && is_posix(settings.shell.as_deref()));
    let rule = match &links {
        Some(links) => looker.links(command, links),
        None => looker.first(command).map_or(PatternMatch::Nothing, PatternMatch::Rule),
    };
    if let PatternMatch::Rule(pattern) = rule
        && pattern.verdict() == Verdict::Deny
    {
        return restricted(pattern);
    }
    // `r''m -rf /` shows its shape only without the quotes.
    let canonical = links.iter().flatten().any(|link| critical::matches(&link.argv.join(" ")));
    let critical = critical::matches(command)
        || canonical
        || !compat && countersign_policy::critical::critical(&shell::scan(command)).is_some();
    match rule {
        PatternMatch::Rule(pattern) if pattern.verdict() == Verdict::Ask && links.is_some() => {
            restricted(pattern)
        }
        _ if critical && !command.is_empty() => Declared::critical(),
        PatternMatch::Rule(pattern) if pattern.verdict() == Verdict::Ask => restricted(pattern),
        // The system declares allowed commands as tier write.
        PatternMatch::Rule(_) | PatternMatch::Every => Declared {
            tier: Some(Tier::Write),
            policy: Some(Verdict::Allow),
            ..Declared::default()
        },
        PatternMatch::Nothing => Declared { tier: Some(Tier::Exec), ..Declared::default() },
    }
}

/// The result of matching the patterns with a text.
#[derive(Clone, Copy, Debug)]
enum PatternMatch<'p> {
    /// One pattern decides.
    Rule(&'p BashPattern),
    /// Every command of the chain is allowed by a pattern.
    Every,
    /// No pattern matches, or not for the whole chain.
    Nothing,
}

fn restricted(pattern: &BashPattern) -> Declared {
    let (text, denied) = (pattern.text(), pattern.verdict() == Verdict::Deny);
    let words = if denied { "Blocked by" } else { "Prompt required by" };
    Declared {
        tier: Some(Tier::Exec),
        overrides: true,
        policy: Some(pattern.verdict()),
        reason: Some(format!("{words} bash pattern: {text}")),
        policy_key: None,
    }
}

/// Returns true for shells with POSIX quoting. Texts for other shells are not split into chains.
fn is_posix(shell: Option<&str>) -> bool {
    let Some(shell) = shell else { return true };
    let name = shell.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    ["bash", "zsh", "sh", "dash", "ksh", "ash", "mksh"].contains(&name)
}

#[derive(Clone, Copy)]
struct PatternMatcher<'p> {
    patterns: &'p [BashPattern],
    compat: bool,
}

impl<'p> PatternMatcher<'p> {
    /// Returns the first pattern that applies. An allow vouches for the whole text; a deny or
    /// prompt fires on any command in it.
    // SECURITY: we see more commands than the system. A prompt that fires on one of them must not
    // hide a later deny that the system would have met first.
    fn first(&self, text: &str) -> Option<&'p BashPattern> {
        let first = self.patterns.iter().find(|pattern| match pattern.verdict() {
            Verdict::Allow => self.vouches(pattern, text),
            Verdict::Ask | Verdict::Deny => self.fires(pattern, text),
        });
        if self.compat {
            return first;
        }
        // What the system itself would meet first, without the commands that only we see.
        let literal = PatternMatcher { compat: true, ..*self }.first(text);
        let stricter = |it: &&BashPattern| first.is_none_or(|first| it.verdict() > first.verdict());
        literal.filter(|it| it.verdict() != Verdict::Allow).filter(stricter).or(first)
    }

    /// Matches each command with its own first pattern and returns the strictest. A deny or prompt
    /// that matches only the whole chain is a veto.
    fn links(&self, text: &str, links: &[Link]) -> PatternMatch<'p> {
        let found: Vec<Option<&BashPattern>> =
            links.iter().map(|link| self.first(&link.text)).collect();
        // A deny that spans the `&&` would be lost if only single commands were matched.
        let whole = self.patterns.iter().filter(|pattern| {
            pattern.verdict() != Verdict::Allow
                && self.fires(pattern, text)
                && !links.iter().any(|link| self.fires(pattern, &link.text))
        });
        let all = found.iter().flatten().copied().chain(whole);
        let strictest =
            all.reduce(|best, next| if next.verdict() > best.verdict() { next } else { best });
        match strictest {
            Some(pattern) if pattern.verdict() != Verdict::Allow => PatternMatch::Rule(pattern),
            Some(_) if found.iter().all(Option::is_some) => PatternMatch::Every,
            _ => PatternMatch::Nothing,
        }
    }

    fn star(&self) -> Star {
        if self.compat { Star::OneLine } else { Star::Everything }
    }

    fn fires(&self, pattern: &BashPattern, text: &str) -> bool {
        let whole = normal(text);
        let covers = |text: &str| pattern.covers(text, self.star());
        if whole.is_empty() {
            return false;
        }
        covers(&whole)
            || segments(text).iter().any(|segment| covers(segment))
            || !self.compat && commands(text, 0).iter().any(|command| covers(command))
    }

    fn vouches(&self, pattern: &BashPattern, text: &str) -> bool {
        let whole = normal(text);
        // An allow vouches for the whole text, so its stars never leave the line.
        !whole.is_empty()
            && !controls(text)
            && pattern.covers(&whole, Star::OneLine)
            && (self.compat || self.is_only(pattern, text))
    }

    /// Returns true when our own scanner sees one command of plain words, and everything that runs
    /// behind it is allowed too.
    // SECURITY: `env *` or `*` vouches only for the commands that run in the end.
    fn is_only(&self, pattern: &BashPattern, text: &str) -> bool {
        let scan = shell::scan(text);
        let [command] = scan.commands.as_slice() else { return false };
        let plain = scan.understood() && command.redirects.is_empty() && command.assigns.is_empty();
        plain && !scan.background && self.reaches_no_further(pattern, &command.argv, 0)
    }

    fn reaches_no_further(&self, pattern: &BashPattern, argv: &[Word<'_>], depth: u32) -> bool {
        let Some(behind) = unwrap(argv).filter(|_| !pattern.is_exact()) else { return true };
        if depth > MAX_DEPTH || behind.passage == Passage::DenyOnly {
            return false;
        }
        behind.inner.iter().all(|inner| match inner {
            Inner::Argv { argv, open: false } => {
                self.allows(&spoken(argv)) && self.reaches_no_further(pattern, argv, depth + 1)
            }
            Inner::Script { text, .. } => self.allows(text),
            Inner::Argv { open: true, .. } | Inner::Input(_) | Inner::File | Inner::Unknown => {
                false
            }
        })
    }

    fn allows(&self, text: &str) -> bool {
        self.first(text).is_some_and(|pattern| pattern.verdict() == Verdict::Allow)
    }
}

/// Returns every command that our own scanner finds in a text, as words: those of substitutions,
/// behind wrappers and in scripts, and programs also by their bare names.
fn commands(text: &str, depth: u32) -> Vec<String> {
    let mut found = Vec::new();
    for command in &shell::scan(text).commands {
        behind(&command.argv, depth, &mut found);
    }
    found
}

fn behind(argv: &[Word<'_>], depth: u32, found: &mut Vec<String>) {
    let Some((program, _)) = argv.split_first().filter(|_| depth <= MAX_DEPTH) else { return };
    let words = argv.iter().map(|word| &*word.text);
    // `/bin/rm` meets a deny for `rm`.
    let bare = std::iter::once(base(&program.text)).chain(words.clone().skip(1));
    found.push(words.collect::<Vec<_>>().join(" "));
    found.push(bare.collect::<Vec<_>>().join(" "));
    for inner in unwrap(argv).into_iter().flat_map(|behind| behind.inner) {
        match inner {
            Inner::Argv { argv, .. } => behind(argv, depth + 1, found),
            Inner::Script { text, .. } => found.extend(commands(&text, depth + 1)),
            Inner::Input(_) | Inner::File | Inner::Unknown => {}
        }
    }
}
