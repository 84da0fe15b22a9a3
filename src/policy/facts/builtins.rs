//! What the shell's own commands do to the commands after them.

use crate::shell::environment;
use crate::shell::{Word, WordKind};

/// How a shell builtin bears on a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Touches nothing outside the shell (`true`, `[`, `exit`, `set -e`): needs no rule.
    Harmless,
    /// Changes what later commands mean, or runs something unseen: always an ask, with the reason.
    Poison(&'static str),
}

/// The builtin behind a command; `None` for programs and for builtins that rules decide (`echo`,
/// `cd`). Builtins that evaluate their arguments are refused by the scanner already.
#[must_use]
pub fn builtin(argv: &[Word<'_>]) -> Option<Builtin> {
    let (name, args) = argv.split_first()?;
    let name = name.literal()?;
    Some(match name.as_bytes() {
        b":" | b"true" | b"false" | b"[" | b"test" | b"exit" | b"return" | b"break"
        | b"continue" | b"shift" | b"sleep" | b"wait" | b"times" | b"getopts" => Builtin::Harmless,
        // What is read may become a command, but then its name is dynamic.
        b"read" | b"jobs" => Builtin::Harmless,
        b"set" if args.is_empty() => return None,
        b"set" if sets_options(args) => Builtin::Harmless,
        b"set" => Builtin::Poison("sets positional parameters or shell options"),
        b"export" | b"declare" | b"typeset" | b"local" | b"readonly" => declares(name, args),
        b"unset"
            if args.iter().all(|w| w.literal().is_some_and(|n| environment::harmless(n, None))) =>
        {
            Builtin::Harmless
        }
        b"unset" => Builtin::Poison("unsets variables or functions that later commands use"),
        b"printf" if args.first().is_some_and(|w| w.text.starts_with("-v")) => {
            Builtin::Poison("sets a variable")
        }
        b"command" if args.first().is_some_and(|w| matches!(&*w.text, "-v" | "-V")) => {
            Builtin::Harmless
        }
        b"type" => Builtin::Harmless,
        b"alias" | b"unalias" => Builtin::Poison("changes what command names mean"),
        b"source" | b"." => Builtin::Poison("runs the commands of a file in this shell"),
        b"eval" => Builtin::Poison("runs text as commands"),
        b"trap" => Builtin::Poison("runs commands later"),
        b"enable" | b"hash" | b"builtin" => Builtin::Poison("changes which program a name runs"),
        b"exec" => Builtin::Poison("replaces the shell or its files"),
        b"shopt" => Builtin::Poison("changes how the shell reads what follows"),
        b"bind" | b"complete" | b"compgen" | b"compopt" => {
            Builtin::Poison("hands commands to the line editor")
        }
        b"mapfile" | b"readarray" => Builtin::Poison("may run a command for every line"),
        b"history" | b"fc" => Builtin::Poison("reads, writes or runs the history"),
        b"let" => Builtin::Poison("evaluates text as arithmetic"),
        b"pushd" | b"popd" | b"dirs" => Builtin::Poison("changes the directory of later commands"),
        b"suspend" | b"disown" | b"logout" | b"coproc" | b"caller" => {
            Builtin::Poison("controls the shell itself")
        }
        b"umask" | b"ulimit" => Builtin::Poison("changes limits or permissions of later commands"),
        _ => return None,
    })
}

/// `-e`, `-u`, `-x`, `-o pipefail` and the like.
fn sets_options(args: &[Word<'_>]) -> bool {
    let named = ["pipefail", "errexit", "nounset", "xtrace", "verbose"];
    args.iter().all(|word| {
        word.literal().is_some_and(|text| {
            let flags = text.strip_prefix(['-', '+']);
            named.contains(&text)
                || flags.is_some_and(|f| !f.is_empty() && f.chars().all(|c| "euxvoEf".contains(c)))
        })
    })
}

/// Only names that no program obeys may be exported or declared.
fn declares(name: &str, args: &[Word<'_>]) -> Builtin {
    let exported = name == "export";
    let harmless = !args.is_empty()
        && args.iter().all(|word| {
            let variable = word.text.split(['=', '+']).next().unwrap_or_default();
            let known = word.kind == WordKind::Literal || word.text.contains('=');
            known && environment::harmless(variable, exported.then_some("export"))
        });
    if harmless && matches!(name, "export" | "readonly") {
        Builtin::Harmless
    } else {
        Builtin::Poison("declares variables that later commands use")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::scan;

    fn of(text: &str) -> Option<Builtin> {
        scan(text).commands.first().and_then(|c| builtin(&c.argv))
    }

    #[test]
    fn exporting_is_poison_but_for_names_that_change_no_program() {
        assert_eq!(of("export RUST_LOG=debug"), Some(Builtin::Harmless));
        assert!(matches!(of("export PATH=/x:$PATH"), Some(Builtin::Poison(_))));
        assert!(matches!(of("export http_proxy=x"), Some(Builtin::Poison(_))));
    }

    #[test]
    fn programs_are_not_builtins_even_if_a_path_ends_like_one() {
        assert_eq!(of("./test"), None);
        assert_eq!(of("cargo test"), None);
        assert_eq!(of("[ -f x ]"), Some(Builtin::Harmless));
    }
}
