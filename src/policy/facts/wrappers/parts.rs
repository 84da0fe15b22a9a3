//! Programs of which only some sub-commands run others (`git bisect run`).

use std::borrow::Cow;

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::runs::{Passage, RunsPart};
use crate::facts::wrappers::inner::{Inner, Unwrapped, guesses};
use crate::shell::{Dialect, Word};

/// Looks behind `git rebase -x CMD`, `git bisect run CMD`, `git submodule foreach CMD` and `git -c
/// alias.x=!CMD`.
pub(super) fn in_parts<'w, 'a>(
    parts: &[RunsPart],
    args: &'w [Word<'a>],
) -> Option<Unwrapped<'w, 'a>> {
    let at = |name: &str| args.iter().position(|w| w.text == name);
    let behind = |at: usize| args.get(at..).unwrap_or_default();
    let mut inner = parts
        .iter()
        .find_map(|part| match *part {
            RunsPart::Values { behind: word, options } => Some(values(options, behind(at(word)?))),
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

/// Returns the values of options, which are shell texts.
fn values<'w, 'a>(options: &str, words: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    Arguments::new(words).values(options).into_iter().map(script).collect()
}

fn script<'w, 'a>(text: &'w str) -> Inner<'w, 'a> {
    Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Posix }
}
