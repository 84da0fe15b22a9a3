//! Programs that create, change and delete files: normal in the workspace, more elsewhere.

use crate::facts::paths;
use crate::facts::programs::arguments::Arguments;
use crate::shell::{Word, WordKind};

const OUTSIDE: &str = "it changes files outside the project";

const UNKNOWN: &str = "what it deletes or overwrites is only known when it runs";

/// Checks every operand as a changed file.
pub(crate) fn all(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| touches(args, &args.named(), 0))
}

/// Checks every operand behind the first.
pub(crate) fn behind_the_first(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| touches(args, &args.named(), 1))
}

/// Checks chmod: permissions, and the set-user-id bit.
pub(crate) fn rights(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let bit = || args.any(mode_gives_rights).then_some("it sets the set-user-id bit");
    into_a_folder(args).or_else(bit).or_else(|| touches(args, &args.named(), 1))
}

/// Checks rm. It may delete temporary files, because a rule names the program and nothing is put
/// there.
pub(crate) fn removes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut operands = args.named();
    // A name that is known only at run time stays in the list: it may be anything.
    operands.retain(|word| word.kind == WordKind::Dynamic || !paths::scratch(&word.text));
    into_a_folder(args).or_else(|| known(args, &operands))
}

/// Checks tee, truncate and shred.
pub(crate) fn overwrites(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| known(args, &args.named()))
}

/// Checks cp: a source outside is only read, unless it is a secret.
pub(crate) fn copies(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| {
        let operands = args.named();
        let (to, from) = operands.split_last()?;
        let named = args.values("-t --target-directory").is_empty();
        // With `xargs` the target is not in the text.
        let to_outside = named && args.outside(to) || args.open;
        let secret = from.iter().any(|w| paths::secret(&w.text, args.dirs) && args.outside(w));
        (to_outside || secret).then_some(OUTSIDE)
    })
}

/// Checks install, which copies with permissions.
pub(crate) fn installs(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let bit = || args.any(mode_gives_rights).then_some("it sets the set-user-id bit");
    into_a_folder(args).or_else(bit).or_else(|| copies(args))
}

/// Checks dd, which writes the file of `of=`.
pub(crate) fn dd(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| {
        let mut written = args.texts().filter_map(|text| text.strip_prefix("of="));
        let unknown = |w: &Word<'_>| w.kind == WordKind::Dynamic && w.text.contains("of=");
        (written.any(|file| args.path_outside(file)) || args.words.iter().any(unknown))
            .then_some(OUTSIDE)
    })
}

/// Returns a reason when `-t DIR` is outside the project.
fn into_a_folder(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let folders = args.values("-t --target-directory");
    folders.iter().any(|folder| args.path_outside(folder)).then_some(OUTSIDE)
}

/// Returns a reason when a name is known only at run time: `rm $x` may delete anything.
fn known(args: &Arguments<'_, '_>, operands: &[&Word<'_>]) -> Option<&'static str> {
    let unknown =
        args.open || operands.iter().any(|w| w.kind == WordKind::Dynamic && args.outside(w));
    if unknown { Some(UNKNOWN) } else { touches(args, operands, 0) }
}

/// Returns a reason when an operand from the given position on is outside.
fn touches(args: &Arguments<'_, '_>, operands: &[&Word<'_>], skip: usize) -> Option<&'static str> {
    let outside = operands.iter().skip(skip).any(|word| {
        !paths::sink(&word.text)
            && match word.kind {
                // A variable of the workspace's own scripts: its name is known, its value is not.
                WordKind::Dynamic => {
                    !word.text.starts_with('{') && args.outside(word) && !relative(&word.text)
                }
                WordKind::Glob => args.path_outside(&word.text),
                _ => args.outside(word),
            }
    });
    outside.then_some(OUTSIDE)
}

/// Returns true for `src/{a,b}` and the like: it starts with a plain directory of the workspace and
/// never goes up.
fn relative(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !text.contains("..")
        && text.contains('{')
        && !text.contains('$')
}

/// Detects `u+s`, `4755`, `-m4755`.
fn mode_gives_rights(text: &str) -> bool {
    let digits = text.trim_start_matches("-m").trim_start_matches("--mode=");
    let octal = digits.len() >= 4
        && digits.bytes().all(|b| matches!(b, b'0'..=b'7'))
        // The fourth digit from the right carries the special bits; 1 is only the sticky bit.
        && digits.as_bytes().get(digits.len() - 4).is_some_and(|&b| b != b'0' && b != b'1');
    let symbolic = text.contains(['+', '='])
        && text.split(',').any(|part| {
            part.split_once(['+', '=']).is_some_and(|(who, what)| {
                who.bytes().all(|b| b"ugoa".contains(&b)) && what.contains('s') && what.len() < 6
            })
        });
    octal || symbolic
}
