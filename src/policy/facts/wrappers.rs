//! Finds what runs behind a command that runs other commands.

mod shells;

use std::borrow::Cow;
use std::cell::Cell;

use crate::facts::programs::arguments::Arguments;
pub use crate::facts::programs::base;
pub use crate::facts::programs::description::Passage;
use crate::facts::programs::description::{Program, Role, Runs, RunsPart, Wrapper};
use crate::facts::programs::getopt::{Arg, OptionReader, Syntax, Valued};
use crate::facts::programs::known::databases::MIGRATES;
use crate::facts::programs::{self, listed};
use crate::shell::{Command, Dialect, Word};

/// Looks behind each of the commands.
pub(crate) fn behind<'w, 'a>(commands: &'w [Command<'a>]) -> Vec<Option<Unwrapped<'w, 'a>>> {
    commands.iter().map(|command| unwrap(&command.argv)).collect()
}

/// Looks behind a command that runs others; returns `None` for any other command.
#[must_use]
pub fn unwrap<'w, 'a>(argv: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let (first, args) = argv.split_first()?;
    let path = first.literal()?;
    let name = base(path);
    // Elsewhere a fixed list of eight wrappers left others uncovered (claude-code issue 92542).
    let mut found = match programs::of(name) {
        Some(program) => look(program, name, args)?,
        None => undescribed(args)?,
    };
    // SECURITY: `./timeout` is some program. Only the system's own wrappers pass an allow through.
    let trusted = !path.contains('/')
        || ["/usr/bin/", "/bin/", "/usr/local/bin/"]
            .iter()
            .any(|dir| path.strip_prefix(dir) == Some(name));
    if !trusted && found.passage != Passage::Outer {
        found.passage = Passage::DenyOnly;
    }
    Some(found.cut())
}

/// Finds what a program that nobody described may run: the words behind `--` (`dotenv -- rm x`) or
/// behind variables (`cross-env A=b rm x`). Its own rule decides; deny rules see them too.
fn undescribed<'w, 'a>(args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let variables =
        args.iter().take_while(|word| !is_option(&word.text) && word.text.contains('='));
    let at = match args.iter().position(|word| word.text == "--") {
        Some(end) => end + 1,
        None => Some(variables.count()).filter(|count| *count > 0)?,
    };
    let argv = args.get(at..).filter(|rest| !rest.is_empty())?;
    Some(Unwrapped::of(Passage::Outer, vec![Inner::Argv { argv, open: false }]))
}

/// Finds what a program of this description runs.
fn look<'w, 'a>(program: &Program, name: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    match program.runs {
        Runs::Nothing => None,
        Runs::Behind(wrapper) => behind_options(&wrapper, name, program.syntax, args),
        Runs::Anywhere { opens_shell } => {
            let mut found = Unwrapped::guessed(Passage::DenyOnly, args);
            // `parallel` appends the lines of its input.
            for one in found.inner.iter_mut().filter(|_| program.is(Role::HandsOn)) {
                if let Inner::Argv { open, .. } = one {
                    *open = true;
                }
            }
            if opens_shell {
                found.inner.push(Inner::Input(Dialect::Bash));
            }
            Some(found)
        }
        Runs::Shell => shells::shell(name, args),
        Runs::OtherShell => shells::foreign(args),
        Runs::Text => Some(Unwrapped::of(Passage::DenyOnly, vec![shells::join(args)])),
        Runs::Later => shells::trap(args),
        Runs::AsUser => Some(shells::su(args)),
        Runs::Remote => Some(shells::remote(args)),
        Runs::Sourced => Some(shells::sourced(args)),
        Runs::Queued => shells::queued(args),
        Runs::UpTo(options) => up_to(options, args),
        Runs::Last { long, short } => last(long, short, args),
        Runs::Elsewhere(subs) => {
            let mut operands = args.iter().enumerate().filter(|(_, w)| !w.text.starts_with('-'));
            // `yarn prisma` runs a package's program, as `yarn exec prisma` does.
            let at = operands.find_map(|(at, word)| match &*word.text {
                sub if listed(subs, sub) => Some(at + 1),
                program => listed(MIGRATES, program).then_some(at),
            })?;
            Some(elsewhere(args.get(at..).unwrap_or_default()))
        }
        Runs::Package => Some(elsewhere(args)),
        Runs::Hosted(subs) => hosted(subs, args),
        Runs::Parts(parts) => in_parts(parts, args),
    }
}

/// Something that a command runs.
#[derive(Debug)]
pub enum Inner<'w, 'a> {
    /// An argument vector inside this one.
    Argv {
        /// The inner command.
        argv: &'w [Word<'a>],
        /// Unknown words follow (`xargs`).
        open: bool,
    },
    /// A shell text that needs its own scan (`bash -c`, `eval`, `trap`, `ssh`).
    Script {
        /// The text.
        text: Cow<'w, str>,
        /// The shell that reads it.
        dialect: Dialect,
    },
    /// Commands from standard input: a here-document, a file or a pipe.
    Input(Dialect),
    /// A script file, or a text that is not read here: its name or words are in the call.
    File,
    /// Something that cannot be known (`bash -c "$x"`, `eval $x`).
    Unknown,
}

/// The result of looking behind a command.
#[derive(Debug)]
pub struct Unwrapped<'w, 'a> {
    /// The inner commands.
    pub inner: Vec<Inner<'w, 'a>>,
    /// The meaning of the inner verdicts for the whole.
    pub passage: Passage,
    /// The `NAME=value` words of `env` and `sudo`.
    pub assigns: Vec<&'w Word<'a>>,
    /// Whether any word may be the command, so that most of the inner commands are none.
    pub guessed: bool,
}

impl<'w, 'a> Unwrapped<'w, 'a> {
    fn of(passage: Passage, inner: Vec<Inner<'w, 'a>>) -> Self {
        Self { inner, passage, assigns: Vec::new(), guessed: false }
    }

    fn guessed(passage: Passage, args: &'w [Word<'a>]) -> Self {
        Self { guessed: true, ..Self::of(passage, guesses(args)) }
    }
}

/// Limit on the inner commands of one command.
const MOST_INNER: usize = 64;

impl Unwrapped<'_, '_> {
    /// Returns true when there are too many inner commands for [`Unwrapped::inner`].
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.inner.len() > MOST_INNER
    }

    // FAIL-CLOSED: the rest is unknown, so the result is an ask at best.
    fn cut(mut self) -> Self {
        if self.inner.len() > MOST_INNER {
            self.inner.truncate(MOST_INNER);
            self.inner.push(Inner::Unknown);
            self.passage = Passage::DenyOnly;
        }
        self
    }
}

/// Returns guesses for a wrapper with unknown options: any word may be the inner command, and a
/// word with blanks, or the value of an option with blanks, may be a text for a shell.
fn guesses<'w, 'a>(args: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    let command = |at: usize| {
        let argv = args.get(at..).filter(|it| it.first().is_some_and(|w| !is_option(&w.text)))?;
        Some(Inner::Argv { argv, open: false })
    };
    let commands = (0..args.len()).filter_map(command);
    let texts = args.iter().filter_map(|word| {
        let word = word.literal().filter(|text| has_blank(text))?;
        let text = if is_option(word) {
            word.split_once('=').map(|(_, value)| value).or_else(|| word.get(2..))?
        } else {
            word
        };
        Some(Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Bash })
    });
    texts.chain(commands).take(MOST_INNER + 1).collect()
}

/// Bytes first: behind nested wrappers each word is looked at many times.
fn has_blank(text: &str) -> bool {
    text.bytes().any(|byte| byte <= b' ' || !byte.is_ascii()) && text.contains(char::is_whitespace)
}

fn is_option(text: &str) -> bool {
    text.starts_with('-')
}

/// The number of words behind one command that are still looked at. A wrapper with unknown options
/// yields several guesses, and each of them may be such a wrapper again: `parallel parallel
/// parallel …`.
pub(crate) struct Effort(Cell<usize>);

impl Effort {
    /// Creates a budget that is ample for what people write and proportional to the command.
    pub(crate) fn of(argv: &[Word<'_>]) -> Self {
        // In proportion to the command, so that long texts stay affordable.
        Self(Cell::new(argv.len().saturating_mul(16).saturating_add(32)))
    }

    /// Takes the cost of looking at these words; returns false when the budget is spent.
    #[must_use]
    pub(crate) fn spend(&self, argv: &[Word<'_>]) -> bool {
        let left = self.0.get().checked_sub(argv.len().max(1));
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

// Wrappers whose options are known (`timeout`, `env`, `sudo`).

/// Skips a wrapper's own options and operands.
fn behind_options<'w, 'a>(
    wrapper: &Wrapper,
    name: &str,
    syntax: Syntax,
    args: &'w [Word<'a>],
) -> Option<Unwrapped<'w, 'a>> {
    let mut passage = wrapper.passage;
    let mut is_emptied = false;
    let mut filled = None;
    let mut options = OptionReader::new(syntax, args, Valued::default());
    let mut rest = args;
    loop {
        let arg = options.next();
        // The first operand ends the options of every wrapper.
        let Some(arg) = arg.filter(|arg| !matches!(arg, Arg::Operand(_))) else { break };
        if arg.may_be(syntax, wrapper.tells) {
            return None;
        }
        // FAIL-CLOSED: behind an option that is unknown or ambiguous, any word may be the command.
        let value = arg.value().map(|value| value.text);
        // Only its own words: the others were looked at, and a thousand options are no million looks.
        let read = rest.get(..rest.len() - options.rest.len()).unwrap_or_default();
        let is_known =
            !matches!(arg, Arg::Unclear(_)) && read.iter().all(|word| word.literal().is_some());
        if !is_known {
            return Some(unknown(args));
        }
        if arg.may_be(syntax, wrapper.splits) {
            return Some(split(name, value.unwrap_or_default(), options.rest, args));
        }
        if arg.may_be(syntax, wrapper.opaque) {
            passage = Passage::DenyOnly;
        }
        if arg.may_be(syntax, wrapper.fills) {
            filled = Some(value.unwrap_or("{}"));
        }
        rest = options.rest;
    }
    // A `--` may stand in front of the first operand.
    if let Some(left) = options.behind_end {
        rest = args.get(args.len() - left..).unwrap_or_default();
    }
    let mut assigns = Vec::new();
    let mut operands = wrapper.operands;
    while let Some((word, more)) = rest.split_first() {
        let Some(text) = word.literal() else { return Some(unknown(args)) };
        if wrapper.assigns && text.contains('=') {
            assigns.push(word);
        } else if wrapper.assigns && text == "-" && assigns.is_empty() && !is_emptied {
            // `env -` empties the environment; the command follows.
            is_emptied = true;
        } else if operands > 0 {
            operands -= 1;
        } else {
            break;
        }
        rest = more;
    }
    if rest.is_empty() {
        // `env` alone prints, `xargs` alone echoes; `sudo -i` is a shell.
        if !wrapper.opens_shell && passage == wrapper.passage {
            return None;
        }
        let inner = vec![Inner::Unknown];
        return Some(Unwrapped { assigns, ..Unwrapped::of(Passage::DenyOnly, inner) });
    }
    let mut inner = vec![Inner::Argv { argv: rest, open: wrapper.open }];
    if filled.is_some_and(|it| fills(rest, it)) {
        passage = Passage::DenyOnly;
        inner.push(Inner::Unknown);
    }
    Some(Unwrapped { assigns, ..Unwrapped::of(passage, inner) })
}

/// Returns what is certain when it is not known which word is the command: deny rules look at all.
fn unknown<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let mut found = Unwrapped::guessed(Passage::DenyOnly, args);
    found.inner.push(Inner::Unknown);
    found
}

/// Looks behind `env -S TEXT WORD…`: the words of the text come first, and may be options of `env`.
fn split<'w, 'a>(
    name: &str,
    text: &str,
    rest: &'w [Word<'a>],
    args: &'w [Word<'a>],
) -> Unwrapped<'w, 'a> {
    let mut found = Unwrapped::of(Passage::DenyOnly, Vec::new());
    let mut whole = [name, " ", text].concat();
    for word in rest {
        match word.literal() {
            Some(word) => whole += &[" '", &word.replace('\'', r"'\''"), "'"].concat(),
            None => found.inner.push(Inner::Unknown),
        }
    }
    // Its escapes are not those of a shell: `\_` is a blank.
    if text.contains('\\') {
        found.inner.push(Inner::Unknown);
    }
    let dialect = Dialect::Bash;
    found.inner.push(Inner::Script { text: Cow::Owned(whole), dialect });
    found.inner.extend(guesses(args));
    found
}

/// Returns true when a placeholder decides what runs (`xargs -I{} {}`, `find -exec sh -c {} ;`). It
/// may as soon as it stands behind a program that runs others, but for a shell's operands.
fn fills(argv: &[Word<'_>], placeholder: &str) -> bool {
    let holds = |word: &Word<'_>| word.text.contains(placeholder);
    let Some((first, args)) = argv.split_first() else { return false };
    let Some(program) = first.literal().map(base).and_then(programs::of) else {
        return holds(first);
    };
    let script = |args| match shells::shell(base(&first.text), args)?.inner.first()? {
        Inner::Script { text, .. } => Some(text.contains(placeholder)),
        // The options of a shell may be in the way of its script.
        _ => Some(args.iter().take(2).any(holds)),
    };
    holds(first)
        || match program.runs {
            Runs::Nothing => false,
            Runs::Shell => script(args).unwrap_or_default(),
            _ => args.iter().any(holds),
        }
}

// Programs whose operands or options hold a command (`docker exec`, `find -exec`, `fd -x`).

/// Looks behind `docker exec C CMD` and `npx CMD`. Rules name the outer command, but a shell asks.
fn elsewhere<'w, 'a>(rest: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let is_shell = |word: &Word<'_>| {
        programs::exact(base(&word.text)).is_some_and(|program| program.is(Role::Shell))
    };
    let shell = rest.iter().any(is_shell);
    let passage = if shell { Passage::DenyOnly } else { Passage::Outer };
    Unwrapped::guessed(passage, rest)
}

/// Looks behind `countersign host SYSTEM -- ENGINE`.
// SECURITY: the engine starts without an ask, whichever program it is. `run` asks on its own.
fn hosted<'w, 'a>(subs: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let at = args.iter().position(|word| word.literal() == Some("--"))?;
    args.get(..at)?.iter().find(|word| word.literal().is_some_and(|sub| listed(subs, sub)))?;
    let argv = args.get(at + 1..).unwrap_or_default();
    (!argv.is_empty())
        .then(|| Unwrapped::of(Passage::Both, vec![Inner::Argv { argv, open: false }]))
}

/// Looks behind `find … -exec CMD ;`.
fn up_to<'w, 'a>(options: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let mut inner = Vec::new();
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        if !listed(options, &word.text) {
            continue;
        }
        let ends = |w: &Word<'_>| matches!(&*w.text, ";" | "+");
        // Without an end, everything that follows is the command.
        let length = more.iter().position(ends).unwrap_or(more.len());
        match more.get(..length) {
            Some(argv) if !argv.is_empty() => {
                inner.push(Inner::Argv { argv, open: false });
                if fills(argv, "{}") {
                    inner.push(Inner::Unknown);
                }
            }
            _ => inner.push(Inner::Unknown),
        }
        rest = more.get(length..).unwrap_or_default();
    }
    (!inner.is_empty()).then(|| Unwrapped::of(Passage::Both, inner))
}

/// Looks behind `fd … -x CMD`.
fn last<'w, 'a>(long: &str, short: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let is = |w: &Word<'_>| {
        let text = &*w.text;
        text.starts_with(long)
            || (!text.starts_with("--")
                && text.starts_with('-')
                && text.contains(|c| short.contains(c)))
    };
    let at = args.iter().position(is)?;
    let argv = args.get(at + 1..).unwrap_or_default();
    let glued = args
        .get(at)
        .is_some_and(|w| w.text.contains('=') || (!w.text.starts_with("--") && w.text.len() > 2));
    // An attached value (`-xrm`, `--exec=rm`) hides where the command starts.
    let mut inner = if argv.is_empty() || glued {
        unknown(argv).inner
    } else {
        vec![Inner::Argv { argv, open: true }]
    };
    if fills(argv, "{") {
        inner.push(Inner::Unknown);
    }
    Some(Unwrapped::of(Passage::Both, inner))
}

// Programs of which only some sub-commands run others (`git bisect run`).

/// Looks behind `git rebase -x CMD`, `git bisect run CMD`, `git submodule foreach CMD` and `git -c
/// alias.x=!CMD`.
fn in_parts<'w, 'a>(parts: &[RunsPart], args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let at = |name: &str| args.iter().position(|w| w.text == name);
    let behind = |at: usize| args.get(at..).unwrap_or_default();
    let mut inner = parts
        .iter()
        .find_map(|part| match *part {
            RunsPart::Values { behind: word, options } => {
                let values = Arguments::new(behind(at(word)?)).values(options);
                Some(values.into_iter().map(script).collect())
            }
            RunsPart::Command { behind: word, second } => {
                let at =
                    at(word).filter(|&at| args.get(at + 1).is_some_and(|w| w.text == second))?;
                Some(vec![Inner::Argv { argv: behind(at + 2), open: false }])
            }
            RunsPart::Guesses { behind: word, with } => {
                let rest = behind(at(word).filter(|_| at(with).is_some())? + 1);
                let mut inner = guesses(rest);
                inner.extend(rest.iter().map(|w| script(&w.text)));
                Some(inner)
            }
            RunsPart::Texts { behind: word } => {
                Some(behind(at(word)? + 1).iter().map(|w| script(&w.text)).collect())
            }
        })
        .unwrap_or_default();
    // `git -c alias.x=!CMD` defines a shell command.
    let aliases = args.iter().filter_map(|word| word.text.split_once("=!"));
    inner.extend(aliases.map(|(_, command)| script(command)));
    (!inner.is_empty()).then(|| Unwrapped::of(Passage::DenyOnly, inner))
}

fn script<'w, 'a>(text: &'w str) -> Inner<'w, 'a> {
    Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Posix }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use crate::facts::wrappers::*;
    use crate::shell::scan;

    /// Returns the passage and the inner commands of a text as words.
    fn of(text: &str) -> Option<(Passage, Vec<String>)> {
        let scan = scan(text);
        let found = unwrap(&scan.commands.last().unwrap().argv)?;
        let inner = found.inner.iter().map(|inner| match inner {
            Inner::Argv { argv, open } => {
                let words: Vec<_> = argv.iter().map(|w| &*w.text).collect();
                words.join(" ") + if *open { " …" } else { "" }
            }
            Inner::Script { text, .. } => format!("`{text}`"),
            Inner::Input(_) => "<input>".to_owned(),
            Inner::File => "<file>".to_owned(),
            Inner::Unknown => "?".to_owned(),
        });
        Some((found.passage, inner.collect()))
    }

    fn inner(text: &str) -> Option<(Passage, Vec<String>)> {
        Some((Passage::Inner, vec![text.to_owned()]))
    }

    #[test]
    fn the_engine_of_a_host_needs_to_be_allowed_itself() {
        let both = |inner: &str| Some((Passage::Both, vec![inner.to_owned()]));
        assert_eq!(of("countersign host wcore -- rm -rf x"), both("rm -rf x"));
        assert_eq!(of("countersign mcp-proxy --name a -- rm -rf x"), both("rm -rf x"));
        assert_eq!(of("countersign acp --race -- rm -rf x"), both("rm -rf x"));
        assert_eq!(of("countersign --config c host wcore --session s -- sh x"), both("sh x"));
        assert_eq!(of("countersign run -- rm -rf x"), None);
    }

    #[test]
    fn transparent_wrappers_pass_the_inner_command_on() {
        for (text, command) in [
            ("timeout 60 cargo test", "cargo test"),
            ("timeout -k 5 --signal=KILL 60s cargo test -- -x", "cargo test -- -x"),
            ("nice -n 5 rm -rf x", "rm -rf x"),
            ("nice -5 rm x", "rm x"),
            ("env -u A B=1 rm -rf x", "rm -rf x"),
            ("env -i - A=1 ls", "ls"),
            ("nohup setsid -f rm x", "setsid -f rm x"),
            ("stdbuf -oL -e 0 rm x", "rm x"),
            ("command -p rm x", "rm x"),
            ("ionice -c 3 rm x", "rm x"),
            ("/usr/bin/env rm x", "rm x"),
        ] {
            assert_eq!(of(text), inner(command), "{text}");
        }
        assert_eq!(of("ls | xargs -0 -I{} -n 1 rm {}"), inner("rm {} …"));
    }

    #[test]
    fn wrappers_that_change_who_or_where_pass_only_a_deny_on() {
        let deny = |list: &[&str]| {
            Some((Passage::DenyOnly, list.iter().map(|s| (*s).to_owned()).collect()))
        };
        assert_eq!(of("sudo -n -u root rm -rf x"), deny(&["rm -rf x"]));
        assert_eq!(of("sudo -i"), deny(&["?"]));
        assert_eq!(of("exec -a x rm x"), deny(&["rm x"]));
        assert_eq!(of("ssh -p 22 host 'rm -rf x'"), deny(&["`rm -rf x`"]));
        assert_eq!(of("./timeout 5 ls"), deny(&["ls"]));
        assert_eq!(of("eval rm -rf x"), deny(&["`rm -rf x`"]));
        assert_eq!(of("su -c 'rm x' root"), deny(&["`rm x`"]));
    }

    #[test]
    fn an_option_is_known_by_its_beginning_and_behind_another_nothing_is_known() {
        for (text, command) in [
            ("timeout --kill 5 --sig=KILL 60 rm x", "rm x"),
            ("nice --adj 5 rm x", "rm x"),
            ("env --un A rm x", "rm x"),
            ("env -iu A rm x", "rm x"),
            ("env -- A=1 rm x", "rm x"),
            ("env a-b=c rm x", "rm x"),
            ("nice -12 rm x", "rm x"),
            ("stdbuf --out L rm x", "rm x"),
            ("setsid --wait rm x", "rm x"),
            ("xargs --no-run rm x", "rm x …"),
        ] {
            assert_eq!(of(text), inner(command), "{text}");
        }
        for text in [
            "env --new rm x",
            "env -x rm x",
            "env --i rm x --y",
            "timeout -x 5 rm x",
            "timeout --s 5 9 rm x --f",
            "nice --5 rm x",
            "nohup -x rm x",
            "setsid -fx rm x",
            "nice -n $n rm x",
            "xargs --max-l rm x -y",
            "xargs --m 1 rm x",
            "bash --rc rm -c x",
            "bash -Z rm x",
            "noglob -x rm x",
        ] {
            let (passage, found) = of(text).unwrap();
            let unsure = passage == Passage::DenyOnly && found.contains(&"?".to_owned());
            let certain = text == "timeout --s 5 9 rm x --f" || text.starts_with("xargs --max-l ");
            assert_ne!(unsure, certain, "{text}: {found:?}");
            assert!(found.iter().any(|it| it.starts_with("rm x")) || text.contains("-c"), "{text}");
        }
    }

    #[test]
    fn words_of_a_text_come_first_and_placeholders_decide_what_runs() {
        let first = |text: &str| of(text).unwrap();
        assert_eq!(first("env --s='rm -x' y").1.first().unwrap(), "`env rm -x 'y'`");
        assert_eq!(first("env -vS 'A=1 rm' y").1.first().unwrap(), "`env A=1 rm 'y'`");
        for text in [
            "xargs -I{} {} x",
            "xargs --rep=@ sh -c 'rm @'",
            "find . -exec {} ;",
            "find . -exec sh -c 'rm {}' ;",
            "find . -exec timeout 5 sh {} ;",
            "fd -x sh -c 'rm {}'",
        ] {
            assert!(first(text).1.contains(&"?".to_owned()), "{text}: {:?}", first(text));
        }
        assert_eq!(first("xargs -I{} cp {} x").1, ["cp {} x …"]);
        assert_eq!(first("find . -exec sh -c 'rm \"$1\"' _ {} ;").1, ["sh -c rm \"$1\" _ {}"]);
        assert_eq!(first("script -qc 'rm -rf x' /dev/null").1.first().unwrap(), "`rm -rf x`");
        assert_eq!(first("tmux new -d 'rm -rf x'").1.first().unwrap(), "`rm -rf x`");
        assert_eq!(first("bash -oc pipefail 'rm -rf x'").1, ["`rm -rf x`"]);
        assert_eq!(first("bash -c - 'rm -rf x'").1, ["`rm -rf x`"]);
        assert_eq!(of("bash -rcfile 'rm x' -i").unwrap().0, Passage::DenyOnly);
        assert_eq!(first("git rebase -x'rm -rf x' HEAD").1, ["`rm -rf x`"]);
        assert_eq!(first("git rebase --ex 'rm -rf x' HEAD").1, ["`rm -rf x`"]);
    }

    #[test]
    fn shells_are_opened_when_their_text_is_known() {
        assert_eq!(of("bash -lc 'rm -rf x' name"), inner("`rm -rf x`"));
        assert_eq!(of("sh -e -c 'ls'"), inner("`ls`"));
        assert_eq!(of("bash -c \"$x\""), Some((Passage::DenyOnly, vec!["?".to_owned()])));
        assert_eq!(
            of("bash -o pipefail build.sh"),
            Some((Passage::Outer, vec!["<file>".to_owned()]))
        );
        assert_eq!(of("curl x | sh -s -- -y").unwrap().1, ["<input>"]);
    }

    #[test]
    fn programs_that_run_others_show_them() {
        assert_eq!(
            of("find . -name x -exec rm {} + -execdir ls ';'"),
            Some((Passage::Both, vec!["rm {}".to_owned(), "ls".to_owned()]))
        );
        assert_eq!(of("fd -x rm"), Some((Passage::Both, vec!["rm …".to_owned()])));
        assert_eq!(of("git rebase -x 'rm x' HEAD~1").unwrap().1, ["`rm x`"]);
        assert_eq!(of("find . -name x"), None);
        assert_eq!(of("ls -la"), None);
        assert_eq!(of("command -v rm"), None);
    }
}
