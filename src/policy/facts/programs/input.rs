//! Programs that run what they are given: as a text among their words, or as their input.

use crate::facts::options::exceeds;
use crate::facts::paths::Directories;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::{Role, Runs};
use crate::facts::programs::{self, Words, listed};
use crate::shell::Word;

/// What a program does with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// It may run it.
    Runs,
    /// It runs some, and is given many others (`git commit -m`), or it is not described.
    MayRun,
    /// It is described, and runs nothing.
    Keeps,
}

/// Returns what the program of this name does with a text.
pub(crate) fn texts(name: &str) -> Texts {
    let Some(program) = programs::of(name) else { return Texts::MayRun };
    let roles = [
        Role::Shell,
        Role::Interpreter,
        Role::Programmed,
        Role::Recipes,
        Role::HandsOn,
        Role::Database,
        Role::Privilege,
    ];
    match program.runs {
        _ if roles.iter().any(|role| program.is(*role)) => Texts::Runs,
        Runs::Nothing if listed(OTHERS, name) => Texts::Runs,
        // Its command `e` runs one; most of its scripts do not.
        Runs::Nothing if matches!(name, "sed" | "gsed") => Texts::MayRun,
        Runs::Nothing => Texts::Keeps,
        Runs::Parts(_)
        | Runs::Package
        | Runs::Elsewhere(_)
        | Runs::UpTo(_)
        | Runs::Last { .. }
        | Runs::Hosted(_) => Texts::MayRun,
        _ => Texts::Runs,
    }
}

/// Returns true when a command may run some of its words, as far as its program is not described or
/// an option goes beyond that: `tar -I CMD`.
pub(crate) fn may_run_words(argv: &[Word<'_>]) -> bool {
    let Some(name) = argv.first().and_then(Word::literal).map(programs::base) else { return true };
    programs::of(name).is_none() || exceeds(argv, false, Directories::default()).is_some()
}

/// Editors and debuggers, and `alias`.
const OTHERS: Words = "emacs vim vi nvim ed ex gdb lldb alias dc";

pub(crate) fn has_role(name: &str, role: Role) -> bool {
    programs::of(name).is_some_and(|program| program.is(role))
}

pub(crate) fn is_interpreter(name: &str) -> bool {
    has_role(name, Role::Interpreter) || has_role(name, Role::Shell)
}

/// Returns true when the program of an interpreter comes from another command: `python3 <(./gen)`,
/// `make -f <(./gen)`.
pub(crate) fn makes_program(name: &str, args: &[Word<'_>]) -> bool {
    let is_made = |word: &Word<'_>| word.text.starts_with("<(");
    let args = Arguments::new(args);
    if has_role(name, Role::Recipes) || has_role(name, Role::Programmed) || name == "sed" {
        args.given("-f --file --makefile").iter().any(|file| is_made(file.word))
    } else {
        is_interpreter(name) && args.operands("").first().is_some_and(|it| is_made(it))
    }
}

/// Returns true for an interpreter that reads its program from standard input.
pub(crate) fn reads_program(name: &str, args: &[Word<'_>]) -> bool {
    if name == "source" || name == "." {
        return args
            .first()
            .is_some_and(|w| w.text.starts_with("/dev/stdin") || w.text.starts_with("/dev/fd"));
    }
    // `make -f -` and `awk -f /dev/stdin`.
    if has_role(name, Role::Recipes) || has_role(name, Role::Programmed) || name == "sed" {
        let files = Arguments::new(args).values("-f --file --makefile");
        return files.iter().any(|file| *file == "-" || file.starts_with("/dev/"));
    }
    if !is_interpreter(name) {
        return false;
    }
    let given = Arguments::new(args)
        .has("-c -e -m -E -p -n -ne -pe -lne -r --eval -i --version -V -lc -ec -ic");
    let mut words = args.iter().filter(|w| !w.text.starts_with('-') || w.text == "-");
    let reads = words.next().is_none_or(|w| matches!(&*w.text, "-" | "/dev/stdin"));
    // `sh -s` reads its input even with operands.
    let forced = args.iter().any(|w| w.text == "-s" && has_role(name, Role::Shell));
    (reads && !given) || forced
}
