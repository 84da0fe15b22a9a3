//! What really runs behind a command that runs other commands.

mod shells;

use std::borrow::Cow;
use std::cell::Cell;

use crate::facts::programs;
use crate::facts::programs::description::{Program, Role};
pub use crate::facts::programs::name::base;
pub use crate::facts::programs::runs::Passage;
use crate::facts::programs::runs::{Part, Runs, Wrapper};
use crate::facts::programs::words::listed;
use crate::shell::{Command, Dialect, Word};

/// What a command runs besides itself.
#[derive(Debug)]
pub enum Inner<'w, 'a> {
    /// An argument vector inside this one.
    Argv {
        /// The inner command.
        argv: &'w [Word<'a>],
        /// More words follow that are not known (`xargs`).
        open: bool,
    },
    /// A shell text, to be scanned in its turn (`bash -c`, `eval`, `trap`, `ssh`).
    Script {
        /// The text.
        text: Cow<'w, str>,
        /// The shell that reads it.
        dialect: Dialect,
    },
    /// The commands come from standard input: a here-document, a file or a pipe.
    Input(Dialect),
    /// Something runs that cannot be known (`bash -c "$x"`, `eval $x`).
    Unknown,
}

/// What runs behind a command.
#[derive(Debug)]
pub struct Unwrapped<'w, 'a> {
    /// The inner commands.
    pub inner: Vec<Inner<'w, 'a>>,
    /// What their verdicts mean for the whole.
    pub passage: Passage,
    /// The `NAME=value` words of `env` and `sudo`, whole.
    pub assigns: Vec<&'w Word<'a>>,
}

impl<'w, 'a> Unwrapped<'w, 'a> {
    fn of(passage: Passage, inner: Vec<Inner<'w, 'a>>) -> Self {
        Self { inner, passage, assigns: Vec::new() }
    }
}

/// More inner commands of one command than this are not looked at one by one.
const MOST_INNER: usize = 64;

impl Unwrapped<'_, '_> {
    /// Some inner commands are not among [`Unwrapped::inner`], because there are too many.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.inner.len() > MOST_INNER
    }

    // FAIL-CLOSED: with the rest unknown it is an ask at best.
    fn cut(mut self) -> Self {
        if self.inner.len() > MOST_INNER {
            self.inner.truncate(MOST_INNER);
            self.inner.push(Inner::Unknown);
            self.passage = Passage::DenyOnly;
        }
        self
    }
}

/// How many words behind one command are still looked at. A wrapper with unknown options has
/// several guesses for what it runs, and each of them may be such a wrapper: `parallel parallel
/// parallel …`.
pub(crate) struct Effort(Cell<usize>);

impl Effort {
    /// Enough for what people write, and in proportion to the command.
    pub(crate) fn of(argv: &[Word<'_>]) -> Self {
        Self(Cell::new(argv.len().saturating_mul(16).saturating_add(32)))
    }

    /// Takes what looking at these words costs; false when it is spent.
    #[must_use]
    pub(crate) fn spend(&self, argv: &[Word<'_>]) -> bool {
        let left = self.0.get().checked_sub(argv.len().max(1));
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// What runs behind each of the commands.
pub(crate) fn behind<'w, 'a>(commands: &'w [Command<'a>]) -> Vec<Option<Unwrapped<'w, 'a>>> {
    commands.iter().map(|command| unwrap(&command.argv)).collect()
}

/// Looks behind a command that runs others; `None` when it is not one.
#[must_use]
pub fn unwrap<'w, 'a>(argv: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let (first, args) = argv.split_first()?;
    let path = first.literal()?;
    let name = base(path);
    let mut found = look(programs::of(name)?, name, args)?;
    // SECURITY: `./timeout` is some program; only the system's own wrappers pass an allow through.
    let trusted = !path.contains('/')
        || ["/usr/bin/", "/bin/", "/usr/local/bin/"]
            .iter()
            .any(|dir| path.strip_prefix(dir) == Some(name));
    if !trusted && found.passage != Passage::Outer {
        found.passage = Passage::DenyOnly;
    }
    Some(found.cut())
}

/// What a program of this description runs.
fn look<'w, 'a>(program: &Program, name: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    match program.runs {
        Runs::Nothing => None,
        Runs::Behind(wrapper) => by_table(&wrapper, args),
        Runs::Anywhere => Some(Unwrapped::of(Passage::DenyOnly, guesses(args))),
        Runs::Shell => shells::shell(name, args),
        Runs::OtherShell => shells::foreign(args),
        Runs::Text => Some(shells::eval(args)),
        Runs::Later => shells::trap(args),
        Runs::AsUser => Some(shells::su(args)),
        Runs::Remote => Some(shells::remote(args)),
        Runs::Joined(values) => Some(shells::joined(args, values)),
        Runs::UpTo(options) => up_to(options, args),
        Runs::Last { long, short } => last(long, short, args),
        Runs::Elsewhere(subs) => {
            let mut operands = args.iter().enumerate().filter(|(_, w)| !w.text.starts_with('-'));
            let at = operands.find(|(_, word)| listed(subs, &word.text))?.0;
            Some(elsewhere(args.get(at + 1..).unwrap_or_default()))
        }
        Runs::Package => Some(elsewhere(args)),
        Runs::Hosted(sub) => hosted(sub, args),
        Runs::Parts(parts) => in_parts(parts, args),
    }
}

/// Steps over a wrapper's own options and operands.
fn by_table<'w, 'a>(spec: &Wrapper, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    if args.first().is_some_and(|word| listed(spec.tells, &word.text)) {
        return None;
    }
    let mut passage = spec.passage;
    let mut assigns = Vec::new();
    let mut operands = spec.operands;
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(text) = word.literal() else {
            // What `timeout $x rm` runs is not known; deny rules look at every word.
            let mut found = Unwrapped::of(Passage::DenyOnly, guesses(args));
            found.inner.push(Inner::Unknown);
            return Some(found);
        };
        if text == "--" && operands == spec.operands {
            rest = more;
            break;
        }
        if text.len() > 1 && text.starts_with(['-', '+']) && operands == spec.operands {
            if is_opaque(spec, text) {
                passage = Passage::DenyOnly;
            }
            let value = takes_value(spec, text);
            rest = if value { more.get(1..).unwrap_or_default() } else { more };
        } else if spec.assigns && is_assignment(text) {
            assigns.push(word);
            rest = more;
        } else if text == "-" && spec.assigns {
            rest = more;
        } else if operands > 0 {
            operands -= 1;
            rest = more;
        } else {
            break;
        }
    }
    if rest.is_empty() {
        // `env` alone prints; `sudo -i` is a shell; `xargs` alone echoes.
        if !spec.opens_shell && passage == spec.passage {
            return None;
        }
        let inner = vec![Inner::Unknown];
        return Some(Unwrapped { inner, passage: Passage::DenyOnly, assigns });
    }
    let mut inner = vec![Inner::Argv { argv: rest, open: spec.open }];
    if passage != spec.passage {
        inner.extend(guesses(args));
    }
    Some(Unwrapped { inner, passage, assigns })
}

/// For a wrapper whose options are not known: any word may be the inner command.
fn guesses<'w, 'a>(args: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    const MOST: usize = 8;
    (0..args.len())
        .filter_map(|at| args.get(at..))
        .filter(|argv| argv.first().is_some_and(|w| !w.text.starts_with('-')))
        .take(MOST)
        .map(|argv| Inner::Argv { argv, open: false })
        .collect()
}

/// The next word belongs to this option.
fn takes_value(spec: &Wrapper, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        return listed(spec.longs, long);
    }
    let flags = option.get(1..).unwrap_or_default();
    match flags.find(|c| spec.shorts.contains(c)) {
        Some(at) => at + 1 == flags.len(),
        None => false,
    }
}

/// With this option an allow of the inner command is not enough.
fn is_opaque(spec: &Wrapper, option: &str) -> bool {
    spec.opaque.split(' ').filter(|opaque| !opaque.is_empty()).any(|opaque| {
        match opaque.strip_prefix("--") {
            // Long options may be shortened.
            Some(_) => {
                let name = option.split('=').next().unwrap_or(option);
                name.len() > 3 && opaque.starts_with(name)
            }
            None => {
                let letter = opaque.trim_start_matches('-');
                !option.starts_with("--") && option.contains(letter)
            }
        }
    })
}

/// `docker exec C CMD`, `npx CMD`: the outer command is what rules name, but a shell is opened.
fn elsewhere<'w, 'a>(rest: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let is_shell = |word: &Word<'_>| {
        programs::exact(base(&word.text)).is_some_and(|program| program.is(Role::Shell))
    };
    let shell = rest.iter().any(is_shell);
    let passage = if shell { Passage::DenyOnly } else { Passage::Outer };
    Unwrapped::of(passage, guesses(rest))
}

/// `NAME=value`
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// `countersign host SYSTEM -- ENGINE`
// SECURITY: the engine is started unasked, whatever program that is; `run` asks by itself.
fn hosted<'w, 'a>(sub: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let at = args.iter().position(|word| word.literal() == Some("--"))?;
    args.get(..at)?.iter().find(|word| word.literal() == Some(sub))?;
    let argv = args.get(at + 1..).unwrap_or_default();
    (!argv.is_empty())
        .then(|| Unwrapped::of(Passage::Both, vec![Inner::Argv { argv, open: false }]))
}

/// `find … -exec CMD ;`
fn up_to<'w, 'a>(options: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let mut inner = Vec::new();
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        if !listed(options, &word.text) {
            continue;
        }
        let ends = |w: &Word<'_>| matches!(&*w.text, ";" | "+");
        let length = more.iter().position(ends).unwrap_or(more.len());
        match more.get(..length) {
            Some(argv) if !argv.is_empty() => inner.push(Inner::Argv { argv, open: false }),
            _ => inner.push(Inner::Unknown),
        }
        rest = more.get(length..).unwrap_or_default();
    }
    (!inner.is_empty()).then(|| Unwrapped::of(Passage::Both, inner))
}

/// `fd … -x CMD`
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
    let inner = if argv.is_empty() || glued {
        let mut inner = guesses(argv);
        inner.push(Inner::Unknown);
        inner
    } else {
        vec![Inner::Argv { argv, open: true }]
    };
    Some(Unwrapped::of(Passage::Both, inner))
}

/// `git rebase -x CMD`, `git bisect run CMD`, `git submodule foreach CMD`, `git -c alias.x=!CMD`
fn in_parts<'w, 'a>(parts: &[Part], args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let at = |name: &str| args.iter().position(|w| w.text == name);
    let behind = |at: usize| args.get(at..).unwrap_or_default();
    let mut inner = parts
        .iter()
        .find_map(|part| match *part {
            Part::Values { behind: word, options } => Some(values(options, behind(at(word)?))),
            Part::Command { behind: word, second } => {
                let at =
                    at(word).filter(|&at| args.get(at + 1).is_some_and(|w| w.text == second))?;
                Some(vec![Inner::Argv { argv: behind(at + 2), open: false }])
            }
            Part::Guesses { behind: word, with } => {
                let rest = behind(at(word).filter(|_| at(with).is_some())? + 1);
                let mut inner = guesses(rest);
                inner.extend(rest.iter().map(|w| script(&w.text)));
                Some(inner)
            }
            Part::Texts { behind: word } => {
                Some(behind(at(word)? + 1).iter().map(|w| script(&w.text)).collect())
            }
        })
        .unwrap_or_default();
    let aliases = args.iter().filter_map(|word| word.text.split_once("=!"));
    inner.extend(aliases.map(|(_, command)| script(command)));
    (!inner.is_empty()).then(|| Unwrapped::of(Passage::DenyOnly, inner))
}

/// The values of options, which are shell texts.
fn values<'w, 'a>(options: &str, words: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    let pairs = words.windows(2).filter_map(|pair| {
        let [option, value] = pair else { return None };
        let (name, glued) = match option.text.split_once('=') {
            Some((name, glued)) => (name, Some(glued)),
            None => (&*option.text, None),
        };
        // Only long options have their value glued on.
        let known = listed(options, name) && (glued.is_none() || name.starts_with("--"));
        known.then(|| script(glued.unwrap_or(&value.text)))
    });
    pairs.collect()
}

fn script<'w, 'a>(text: &'w str) -> Inner<'w, 'a> {
    Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Posix }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use crate::shell::scan;

    /// The passage and the inner commands of a text, as words.
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
    fn shells_are_opened_when_their_text_is_known() {
        assert_eq!(of("bash -lc 'rm -rf x' name"), inner("`rm -rf x`"));
        assert_eq!(of("sh -e -c 'ls'"), inner("`ls`"));
        assert_eq!(of("bash -c \"$x\""), Some((Passage::DenyOnly, vec!["?".to_owned()])));
        assert_eq!(of("bash -o pipefail build.sh"), Some((Passage::Outer, vec!["?".to_owned()])));
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
