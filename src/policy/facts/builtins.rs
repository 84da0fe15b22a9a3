//! The effect of shell builtins on the commands after them.

use crate::shell::{Word, WordKind, environment};

/// The effect of a builtin on a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Touches nothing outside the shell (`true`, `[`, `exit`, `set -e`), so it needs no rule.
    Harmless,
    /// Changes what later commands mean or runs something unseen: always an ask, with the reason.
    Poison(&'static str),
}

/// Classifies a builtin. Returns `None` for programs and for builtins that rules decide (`echo`,
/// `cd`). The scanner refuses builtins that evaluate their arguments.
#[must_use]
pub fn builtin(argv: &[Word<'_>]) -> Option<Builtin> {
    let (name, args) = argv.split_first()?;
    let name = name.literal()?;
    Some(match name.as_bytes() {
        b":" | b"true" | b"false" | b"[" | b"test" | b"exit" | b"return" | b"break"
        | b"continue" | b"shift" | b"sleep" | b"wait" | b"times" | b"getopts" => Builtin::Harmless,
        // A variable read here may become a command, but that command's name is then dynamic.
        b"read" | b"jobs" => Builtin::Harmless,
        // `set` alone prints every variable; rules decide that.
        b"set" if args.is_empty() => return None,
        b"set" if sets_options(args) => Builtin::Harmless,
        b"set" => Builtin::Poison("sets positional parameters or shell options"),
        // Cursor never checked these (CVE-2026-22708), so `export PATH=…` changed what later
        // commands run.
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

/// Returns true for a harmless builtin that is as harmless as a program of the system.
#[must_use]
pub(crate) fn is_program(argv: &[Word<'_>]) -> bool {
    let name = argv.first().and_then(Word::literal);
    matches!(name, Some("true" | "false" | "test" | "[" | "sleep"))
}

/// Returns true for `-e`, `-u`, `-x`, `-o pipefail` and the like.
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

/// Classifies `export` and its kin: only names that no program obeys are harmless.
fn declares(name: &str, args: &[Word<'_>]) -> Builtin {
    let exported = name == "export";
    let harmless = !args.is_empty()
        && args.iter().all(|word| {
            let variable = word.text.split(['=', '+']).next().unwrap_or_default();
            let known = word.kind == WordKind::Literal || word.text.contains('=');
            known && environment::harmless(variable, exported.then_some("export"))
        });
    // `declare` and `local` can set attributes that change how later assignments are read.
    if harmless && exported {
        Builtin::Harmless
    } else {
        Builtin::Poison("declares variables that later commands use")
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::builtins::*;
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
