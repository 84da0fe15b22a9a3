//! The words of a command that name files, and the access that the command makes of each. The
//! critical patterns and the effects share this.

use crate::facts::programs;
use crate::facts::programs::arguments::{Arguments, operands};
use crate::facts::programs::checks::find;
pub use crate::facts::programs::files::Access;
use crate::facts::programs::files::Files;
use crate::facts::programs::name::base;
use crate::facts::programs::words::listed;
use crate::shell::Word;

/// A path and the access to it.
pub type Touched<'w, 'a> = (Access, &'w Word<'a>);

/// Returns the paths that a simple command names, without its wrappers.
#[must_use]
pub fn of_command<'w, 'a>(argv: &'w [Word<'a>]) -> Vec<Touched<'w, 'a>> {
    let Some((first, args)) = argv.split_first() else { return Vec::new() };
    let program = first.literal().map(base).and_then(programs::exact);
    program.map_or_else(Vec::new, |program| touched(program.files, args))
}

fn touched<'w, 'a>(files: Files, args: &'w [Word<'a>]) -> Vec<Touched<'w, 'a>> {
    let all = |access: Access, skip: usize, values: &str| {
        operands(args, values).into_iter().skip(skip).map(|word| (access, word)).collect::<Vec<_>>()
    };
    match files {
        Files::Unknown => Vec::new(),
        Files::Each { access, skip, values } => all(access, skip, values),
        Files::Edited => {
            let has = |test: fn(&str) -> bool| args.iter().any(|w| test(&w.text));
            let edits =
                Arguments::new(args).flag("i") || has(|text| text.starts_with("--in-place"));
            // Without `-e` or `-f` the first operand is the script and not a file.
            let script = has(|text| listed(SCRIPTS, text));
            let access = if edits { Access::Write } else { Access::Read };
            all(access, usize::from(!script), SCRIPTS)
        }
        Files::Transfer(access) => transfer(args, access),
        Files::Assigned => args.iter().filter_map(assigned).collect(),
        Files::Behind(options) => behind(args, options),
        Files::Searched => {
            let access = searched(args);
            find::starts(args).iter().map(|word| (access, word)).collect()
        }
        Files::Archive => all(Access::Read, usize::from(!dashed(args)), "-f -C"),
    }
}

/// Returns the path that a simple command touches without naming it, and the access to it.
#[must_use]
pub fn implied(argv: &[Word<'_>]) -> Option<(Access, &'static str)> {
    let (first, args) = argv.split_first()?;
    let program = first.literal().map(base).and_then(programs::exact)?;
    let here = matches!(program.files, Files::Searched) && find::starts(args).is_empty();
    here.then(|| (searched(args), "."))
}

fn searched(args: &[Word<'_>]) -> Access {
    if find::removes(args) { Access::Delete } else { Access::Read }
}

/// The options of sed that give a script.
const SCRIPTS: &str = "-e -f --expression --file";

/// Reads `if=file` and `of=file`.
fn assigned<'w, 'a>(word: &'w Word<'a>) -> Option<Touched<'w, 'a>> {
    match word.text.split_once('=')?.0 {
        "of" => Some((Access::Write, word)),
        "if" => Some((Access::Read, word)),
        _ => None,
    }
}

/// Returns the operands of a copy or move: the last is written, the others are read or moved.
fn transfer<'w, 'a>(args: &'w [Word<'a>], from: Access) -> Vec<Touched<'w, 'a>> {
    // With `-t DIR` the target comes first and every operand is a source.
    let target = behind(args, "-t --target-directory");
    let mut words = operands(args, "-t --target-directory -m -o -g -S -e --rsh");
    let mut found = target;
    if found.is_empty()
        && words.len() > 1
        && let Some(to) = words.pop()
    {
        found.push((Access::Write, to));
    }
    found.extend(words.into_iter().map(|word| (from, word)));
    found
}

/// Returns the words behind options that name a file to write.
fn behind<'w, 'a>(args: &'w [Word<'a>], options: &str) -> Vec<Touched<'w, 'a>> {
    args.windows(2)
        .filter_map(|pair| match pair {
            [option, value] => {
                let text = &*option.text;
                // `-xo file`: the option may be the last letter of a cluster.
                let clustered = text.len() > 2
                    && text.starts_with('-')
                    && !text.starts_with("--")
                    && options
                        .split(' ')
                        .any(|o| o.len() == 2 && text.ends_with(o.trim_start_matches('-')));
                (listed(options, text) || clustered).then_some((Access::Write, value))
            }
            _ => None,
        })
        .collect()
}

fn dashed(args: &[Word<'_>]) -> bool {
    args.first().is_some_and(|w| w.text.starts_with('-'))
}
