//! Finds what runs behind a command that runs other commands.

mod effort;
mod inner;
mod operands;
mod options;
mod parts;
mod shells;

use crate::facts::programs;
use crate::facts::programs::description::Program;
pub use crate::facts::programs::name::base;
pub use crate::facts::programs::runs::Passage;
use crate::facts::programs::runs::Runs;
use crate::facts::programs::words::listed;
pub(crate) use crate::facts::wrappers::effort::Effort;
use crate::facts::wrappers::inner::guesses;
pub use crate::facts::wrappers::inner::{Inner, Unwrapped};
use crate::facts::wrappers::operands::{elsewhere, hosted, last, up_to};
use crate::facts::wrappers::options::behind as behind_options;
use crate::facts::wrappers::parts::in_parts;
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
    let mut found = look(programs::of(name)?, name, args)?;
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

/// Finds what a program of this description runs.
fn look<'w, 'a>(program: &Program, name: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    match program.runs {
        Runs::Nothing => None,
        Runs::Behind(wrapper) => behind_options(&wrapper, name, program.syntax, args),
        Runs::Anywhere { opens_shell } => {
            let mut inner = guesses(args);
            if opens_shell {
                inner.push(Inner::Input(Dialect::Bash));
            }
            Some(Unwrapped::of(Passage::DenyOnly, inner))
        }
        Runs::Shell => shells::shell(name, args),
        Runs::OtherShell => shells::foreign(args),
        Runs::Text => Some(shells::eval(args)),
        Runs::Later => shells::trap(args),
        Runs::AsUser => Some(shells::su(args)),
        Runs::Remote => Some(shells::remote(args)),
        Runs::Sourced => Some(shells::sourced(args)),
        Runs::Queued => shells::queued(args),
        Runs::UpTo(options) => up_to(options, args),
        Runs::Last { long, short } => last(long, short, args),
        Runs::Elsewhere(subs) => {
            let mut operands = args.iter().enumerate().filter(|(_, w)| !w.text.starts_with('-'));
            let at = operands.find(|(_, word)| listed(subs, &word.text))?.0;
            Some(elsewhere(args.get(at + 1..).unwrap_or_default()))
        }
        Runs::Package => Some(elsewhere(args)),
        Runs::Hosted(subs) => hosted(subs, args),
        Runs::Parts(parts) => in_parts(parts, args),
    }
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
