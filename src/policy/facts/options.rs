//! Options and operands with which a program executes, writes or sends more than a plain `name *`
//! grant covers. Sources: the programs' manuals, GTFOBins and published advisories of similar
//! products.

use crate::facts::paths::Directories;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::why;
use crate::facts::programs::description::Program;
use crate::facts::programs::{self, base, listed};
use crate::shell::Word;

/// Returns why this command goes beyond a plain grant of its name; `None` when it does not. `open`
/// is true when unknown words follow (`xargs`).
#[must_use]
pub fn exceeds(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> Option<&'static str> {
    let (first, words) = argv.split_first()?;
    let program = programs::exact(base(first.literal()?))?;
    let args = Arguments { open, dirs, ..Arguments::of(program, words) };
    // Without options to skip, the words behind the name are the sub-command's already.
    if program.plain.is_empty() {
        return why(program.beyond, &args);
    }
    behind_options(program, args)
}

/// Checks a program that options before its sub-command may point elsewhere.
fn behind_options(program: &Program, args: Arguments<'_, '_>) -> Option<&'static str> {
    let mut rest = args.words;
    while let Some((word, more)) = rest.split_first() {
        match &*word.text {
            // `git -C x push`: an option in front may choose another repository or program. Only
            // options known to change nothing are skipped.
            text if !text.starts_with('-') => break,
            text if listed(program.plain, text) || listed("--version --help", text) => rest = more,
            _ => {
                return Some("an option in front of its sub-command changes what it runs or where");
            }
        }
    }
    let (sub, words) = rest.split_first()?;
    let Some(sub) = sub.literal() else {
        return Some("which of its commands it is will only show when it runs");
    };
    why(program.beyond, &Arguments { words, sub, ..args })
}

#[cfg(test)]
mod tests;
