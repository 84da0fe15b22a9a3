//! Which words of a command name files, and what the command does to them. Shared by the critical
//! patterns and the effects.

use crate::facts::programs;
use crate::facts::programs::arguments::{Arguments, operands};
pub use crate::facts::programs::files::Access;
use crate::facts::programs::files::Files;
use crate::facts::programs::name::base;
use crate::facts::programs::words::listed;
use crate::shell::Word;

/// A path and what happens to it.
pub type Touched<'w, 'a> = (Access, &'w Word<'a>);

/// The paths that a simple command names, wrappers already taken off.
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
            let script = has(|text| listed(SCRIPTS, text));
            let access = if edits { Access::Write } else { Access::Read };
            all(access, usize::from(!script), SCRIPTS)
        }
        Files::Transfer(access) => transfer(args, access),
        Files::Assigned => args.iter().filter_map(assigned).collect(),
        Files::Behind(options) => behind(args, options),
        Files::Archive => all(Access::Read, usize::from(!dashed(args)), "-f -C"),
    }
}

/// Options that give a script of sed.
const SCRIPTS: &str = "-e -f --expression --file";

/// `if=file`, `of=file`
fn assigned<'w, 'a>(word: &'w Word<'a>) -> Option<Touched<'w, 'a>> {
    match word.text.split_once('=')?.0 {
        "of" => Some((Access::Write, word)),
        "if" => Some((Access::Read, word)),
        _ => None,
    }
}

/// The last operand is written, the others are read or moved away.
fn transfer<'w, 'a>(args: &'w [Word<'a>], from: Access) -> Vec<Touched<'w, 'a>> {
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

/// The words behind options that name a file to write.
fn behind<'w, 'a>(args: &'w [Word<'a>], options: &str) -> Vec<Touched<'w, 'a>> {
    args.windows(2)
        .filter_map(|pair| match pair {
            [option, value] => {
                let text = &*option.text;
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
