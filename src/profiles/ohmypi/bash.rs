//! The declaration of oh-my-pi's bash tool for a command: `bash.patterns`, then the critical
//! shapes.

use crate::ohmypi::declare::{Declared, Tier};
use countersign_policy::{
    always::spoken,
    shell::{self, Word},
    verdict::Verdict,
    wrappers::{Inner, Passage, base, unwrap},
};
use regex::{Regex, RegexSet};
use std::{iter::Peekable, str::Chars, sync::LazyLock};

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
    let canonical = links.iter().flatten().any(|link| has_critical_shape(&link.argv.join(" ")));
    let critical = has_critical_shape(command)
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
    let text = pattern.text();
    let denied = pattern.verdict() == Verdict::Deny;
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

/// A pattern for commands and its verdict. A `*` stands for any text, including an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BashPattern {
    text: String,
    verdict: Verdict,
}

/// The reach of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Star {
    /// Any text.
    Everything,
    /// The rest of the line, as in the system.
    OneLine,
}

impl BashPattern {
    /// Creates a pattern; `None` for an empty one.
    #[must_use]
    pub fn new(text: &str, verdict: Verdict) -> Option<Self> {
        let text = normal(text);
        (!text.is_empty()).then_some(Self { text, verdict })
    }

    /// Returns the pattern as it is matched, with single blanks.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the verdict for matching commands.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns true when the pattern names one command and no others.
    fn is_exact(&self) -> bool {
        !self.text.contains('*')
    }

    /// Matches a whole text that has single blanks already.
    pub(super) fn covers(&self, text: &str, star: Star) -> bool {
        let mut parts = self.text.split('*');
        let Some(rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
            return false;
        };
        // No star: the whole text has to match.
        let Some(tail) = parts.next_back() else { return rest.is_empty() };
        let Some(mut rest) = rest.strip_suffix(tail) else { return false };
        if star == Star::OneLine && rest.contains(['\n', '\r', '\u{2028}', '\u{2029}']) {
            return false;
        }
        // The first occurrence is always good enough, because only stars lie between the parts.
        parts.all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

/// Returns a text with single blanks and none at its ends.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

// Splits a shell text into commands as oh-my-pi does: coarsely, for deny and prompt patterns.

/// Characters that a backslash escapes between double quotes.
const ESCAPABLE: [char; 4] = ['"', '\\', '$', '`'];

/// Returns the words of every command without quotes, joined with single blanks. Parentheses,
/// pipes, `;`, `&` and line ends separate commands. Substitutions, here-documents and arithmetic
/// are not recognized.
fn segments(text: &str) -> Vec<String> {
    let mut found = Cutter::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => found.word.extend(chars.by_ref().take_while(|&c| c != '\'')),
            '"' => found.double(&mut chars),
            '\\' => found.word.push(chars.next().unwrap_or('\\')),
            ' ' | '\t' => found.end_word(),
            '\n' | ';' | '&' | '|' | '(' | ')' => found.end_segment(),
            _ => found.word.push(c),
        }
    }
    found.end_segment();
    found.segments
}

#[derive(Default)]
struct Cutter {
    segments: Vec<String>,
    words: Vec<String>,
    word: String,
}

impl Cutter {
    fn double(&mut self, chars: &mut Peekable<Chars<'_>>) {
        while let Some(c) = chars.next().filter(|&c| c != '"') {
            let escaped = (c == '\\').then(|| chars.next_if(|next| ESCAPABLE.contains(next)));
            self.word.push(escaped.flatten().unwrap_or(c));
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.segments.push(std::mem::take(&mut self.words).join(" "));
        }
    }
}

// Decides for which texts an allow pattern may vouch.

/// One command of a flat chain.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The text as written.
    pub(super) text: String,
    /// The words without quotes.
    pub(super) argv: Vec<String>,
}

const CONTROLS: [char; 11] = ['\n', '\r', ';', '&', '|', '<', '>', '`', '$', '(', ')'];

/// Returns true when a text does more than run one command with the words that it shows: unquoted
/// control characters, expansions, or quoted control characters beside an option that evaluates its
/// argument (`-c`, `-e`, `--command`, `--eval`).
fn controls(text: &str) -> bool {
    let mut quoted = false;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => quoted |= CONTROLS.contains(&c),
            (_, '\\') => quoted |= chars.next().is_some_and(|c| CONTROLS.contains(&c)),
            // Substitutions also run inside double quotes.
            (Some(_), '`' | '$') => return true,
            (Some(_), c) => quoted |= CONTROLS.contains(&c),
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if CONTROLS.contains(&c) => return true,
            (None, _) => {}
        }
    }
    // Quoted control characters matter only if an option evaluates its argument again.
    quoted && REREAD.as_ref().is_none_or(|reread| reread.is_match(text))
}

/// Matches an option that evaluates its argument, or a cluster of options that ends in one.
/// FAIL-CLOSED: if the expression could not be compiled, quoted control characters alone would
/// count.
static REREAD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:^|[ \t])(?:-[^-]*[ce]|--(?:command|eval))(?:[= \t]|$)").ok());

/// Splits a text into two or more commands of literal words joined with `&&`. Returns `None` for
/// any other text, also for commands that change the shell itself or run others.
fn chain(text: &str) -> Option<Vec<Link>> {
    let scan = shell::scan(text);
    if !scan.understood() || text.chars().any(|c| (c < ' ' && c != '\t') || c == '\u{7f}') {
        return None;
    }
    let mut links = Vec::new();
    let mut end = 0;
    for command in &scan.commands {
        let first = command.argv.first()?;
        let last = command.argv.last()?;
        let argv: Vec<String> = command.argv.iter().map(in_full).collect::<Option<_>>()?;
        let before = if links.is_empty() { "" } else { "&&" };
        let joined = text.get(end..first.span.start)?.trim() == before;
        if !joined || !command.redirects.is_empty() || !is_plain(&argv) {
            return None;
        }
        end = last.span.end;
        links.push(Link { text: text.get(first.span.start..end)?.to_owned(), argv });
    }
    // A comment, too, is more than a command.
    (links.len() > 1 && text.get(end..)?.trim().is_empty()).then_some(links)
}

/// Returns a word that no shell expands.
fn in_full(word: &Word<'_>) -> Option<String> {
    let text = word.literal().filter(|text| word.quoted || !text.contains(EXPANDED))?;
    Some(text.to_owned())
}

const EXPANDED: [char; 7] = ['*', '?', '[', ']', '{', '}', '~'];

/// Returns true for a program that neither changes the shell nor runs what its words say.
fn is_plain(argv: &[String]) -> bool {
    let Some((program, args)) = argv.split_first() else { return false };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    !program.is_empty()
        && !argv.iter().any(|word| is_assignment(word))
        && !args.iter().any(|word| has_code(word))
        && !STATEFUL.contains(&name)
        && !INTERPRETERS.contains(&name)
}

/// Returns true for an option whose argument is code: `-c`, `-xe`, `--eval`, `--command=…`.
fn has_code(word: &str) -> bool {
    let short = word.strip_prefix('-').is_some_and(|name| !name.contains('-'));
    let long = word.split('=').next().unwrap_or(word);
    (short && word.ends_with(['c', 'e'])) || matches!(long, "--command" | "--eval")
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Commands and reserved words of bash and zsh that change the shell or evaluate their words.
#[rustfmt::skip]
const STATEFUL: &[&str] = &[
    "!", "-", ".", "[", "[[", "alias", "autoload", "bg", "bindkey", "break", "builtin", "bye",
    "case", "cd", "chdir", "command", "continue", "coproc", "declare", "dirs", "disable",
    "disown", "do", "done", "elif", "else", "emulate", "enable", "esac", "eval", "exec", "exit",
    "export", "fc", "fg", "fi", "for", "function", "functions", "getopts", "hash", "history",
    "if", "in", "jobs", "let", "limit", "local", "logout", "mapfile", "popd", "print", "printf",
    "pushd", "read", "readarray", "readonly", "rehash", "return", "sched", "select", "set",
    "setopt", "shift", "shopt", "source", "suspend", "test", "then", "time", "times", "trap",
    "typeset", "ulimit", "umask", "unalias", "unfunction", "unhash", "unlimit", "unset",
    "unsetopt", "until", "vared", "wait", "while", "zle", "zmodload", "zparseopts", "zstyle",
];

/// Programs that run the commands in their words.
#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "ash", "bash", "busybox", "csh", "dash", "env", "fish", "ksh", "nocorrect", "noglob", "sh",
    "sudo", "tcsh", "zsh",
];

// The commands for which the system's bash tool always asks a person. They are searched in the raw
// text, so a quoted mention counts too, and so does any absolute target of a forced `rm`.

/// `\b` separates ASCII words here, as in the system's own expressions.
const SHAPES: [&str; 21] = [
    // Deletion and permissions, recursively from an absolute path.
    r"(?i)(?-u:\b)rm\s+(?:-\S+\s+)*(?:--force|--recursive|-[a-z]*[rf][a-z]*)\s+(?:-\S+\s+)*/",
    r"(?i)(?-u:\b)rm\s+(?:-\S+\s+)*--no-preserve-root(?-u:\b)",
    r"(?i)(?-u:\b)sudo\s+rm(?-u:\b)",
    r"(?i)(?-u:\b)chmod\s+-R\s+[0-7]+\s+/",
    r"(?-u:\b)chmod\s+-R\s+[-+=,agorstuwxX]+\s+/",
    r"(?i)(?-u:\b)chown\s+-R\s+\S+\s+/",
    // Disks.
    r"(?i)>\s*/dev/sd[a-z]",
    r"(?i)(?-u:\b)mkfs(?:\.|(?-u:\b))",
    r"(?i)(?-u:\b)dd\s+if=.+of=/dev/",
    r"(?i)(?-u:\b)shred\s+/dev/",
    r"(?i)(?-u:\b)cryptsetup(?-u:\b)",
    // Login accounts.
    r"(?i)>\s*/etc/(?:passwd|shadow|sudoers)(?-u:\b)",
    r"(?i)(?-u:\b)tee\s+(?:-a\s+)?/etc/(?:passwd|shadow|sudoers)(?-u:\b)",
    // Fetched text that is run.
    r"(?i)(?-u:\b)(?:curl|fetch|wget)(?-u:\b)[^|]*\|\s*(?:bash|fish|sh|zsh)(?-u:\b)",
    r"(?i)(?:^|[\s;&|(])(?:bash|sh|source|zsh|\.)\s+<\(\s*(?:curl|fetch|wget)(?-u:\b)",
    r#"(?i)(?-u:\b)eval\s+(?:["'`]?\$\(|`)\s*(?:curl|fetch|wget)(?-u:\b)"#,
    // The machine itself, and shells for others.
    r":\(\)\s*\{\s*:\s*\|\s*:",
    r"(?-u:\b)kill\s+-9\s+1(?-u:\b)",
    r"(?i)(?:^|[\s;&|(])(?:halt|poweroff|reboot|shutdown)(?:\s|$|[;|&])",
    r"(?i)(?:^|[\s;&|(])init\s+0(?-u:\b)",
    r"(?i)(?-u:\b)nc(?-u:\b)[^|;]*\s-[a-z]*[ec][a-z]*\s",
];

/// FAIL-CLOSED: if the expressions could not be compiled, every text would match; a test checks
/// that they can.
static CRITICAL: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(SHAPES).ok());

/// Returns true when the text has one of the shapes.
#[must_use]
pub fn has_critical_shape(text: &str) -> bool {
    // A match only asks. Another project that denied on such a list measured 893 false denials in
    // 40 of 147 tasks.
    CRITICAL.as_ref().is_none_or(|shapes| shapes.is_match(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::ohmypi::bash::{BashPattern, Link, Star, Verdict, chain, controls, segments};

    #[test]
    fn a_flat_chain_of_literal_words_is_read_and_nothing_else() {
        let link = |text: &str, argv: &[&str]| Link {
            text: text.to_owned(),
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
        };
        assert_eq!(
            chain("cmp \"a b\" c && rm -f 'a b'").unwrap(),
            [
                link("cmp \"a b\" c", &["cmp", "a b", "c"]),
                link("rm -f 'a b'", &["rm", "-f", "a b"])
            ]
        );
        for text in [
            "ls",
            "a || b",
            "a & b",
            "a && b\nc",
            "a && $b",
            "a && \"$b\"",
            "a && b > c",
            "a && ''",
            "a && X=1 b",
            "a && b # c",
            "a && ~/b",
            "a && b 'c",
            "a && perl -e x",
            "a &&",
            "cd x && b",
        ] {
            assert_eq!(chain(text), None, "{text}");
        }
    }

    #[test]
    fn control_characters_count_where_something_reads_them() {
        for text in ["a; b", "a \"$x\"", "git -c 'a=!b; c' x", "sh -c \"a;b\"", "a\\;b --eval"] {
            assert!(controls(text), "{text}");
        }
        for text in ["cargo bench '^a/(10|100)$'", "a '$x'", "git -c a=b x", "a \"b;c\""] {
            assert!(!controls(text), "{text}");
        }
    }

    #[test]
    fn a_star_stands_for_any_text_between_its_neighbours() {
        let covers = |pattern: &str, text: &str| {
            BashPattern::new(pattern, Verdict::Deny).unwrap().covers(text, Star::Everything)
        };
        for (pattern, text) in [
            ("git *", "git status"),
            ("git *", "git "),
            ("*", ""),
            ("* && rm *", "a && b && rm c"),
            ("a*a", "aa"),
            ("rm  -rf\t*", "rm -rf x"),
        ] {
            assert!(covers(pattern, text), "{pattern} does not match {text}");
        }
        for (pattern, text) in [("git *", "git"), ("a*a", "a"), ("git", "git status"), ("*b*", "a")]
        {
            assert!(!covers(pattern, text), "{pattern} matches {text}");
        }
    }

    #[test]
    fn the_systems_own_star_ends_with_the_line() {
        let rm = BashPattern::new("rm *", Verdict::Deny).unwrap();
        assert!(rm.covers("rm a\nb", Star::Everything));
        assert!(!rm.covers("rm a\nb", Star::OneLine));
    }

    #[test]
    fn commands_are_cut_at_every_boundary_and_quotes_hide_none() {
        assert_eq!(segments("cd /tmp && \"rm\" -rf 'a b'"), ["cd /tmp", "rm -rf a b"]);
        assert_eq!(segments("(rm x); a|b & c\nd"), ["rm x", "a", "b", "c", "d"]);
        assert_eq!(segments("echo \"a\\\"b\\n\" '' \\;"), ["echo a\"b\\n ;"]);
        assert_eq!(segments("echo 'open ; rm x"), ["echo open ; rm x"]);
    }

    #[test]
    fn the_expressions_can_be_read() {
        assert!(!has_critical_shape("echo hello"));
        assert!(has_critical_shape("rm -rf /"));
    }
}
