//! Programs that create, change and delete files: fine in the workspace, more elsewhere.

use super::arguments::Arguments;
use crate::facts::paths;
use crate::shell::WordKind;

const OUTSIDE: &str = "it changes files outside the workspace";

/// cp, mv, rm and their kin.
pub(super) fn judge(name: &str, args: &Arguments<'_, '_>) -> Option<&'static str> {
    let valued: &[&str] = match name {
        "install" => &["-m", "-o", "-g", "-S"],
        "truncate" => &["-s", "-r"],
        "split" | "csplit" => &["-b", "-l", "-n", "-a", "-C"],
        "touch" => &["-d", "-t", "-r"],
        "shred" => &["-n", "-s"],
        "mkdir" | "mkfifo" | "mknod" => &["-m"],
        "cp" | "mv" | "ln" => &["-S"],
        _ => &[],
    };
    let mut operands = args.operands(valued);
    if matches!(name, "rm" | "rmdir" | "unlink") {
        // Temporary files may go where the rule names the program; nothing is put there.
        operands.retain(|word| word.kind == WordKind::Dynamic || !paths::scratch(&word.text));
    }
    let targets = args.values(&["-t", "--target-directory"]);
    if targets.iter().any(|dir| args.path_outside(dir)) {
        return Some(OUTSIDE);
    }
    match name {
        "dd" => dd(args),
        "chmod" => chmod(args).or_else(|| touches(args, &operands, 1)),
        "chown" | "chgrp" => touches(args, &operands, 1),
        "install" if args.any(mode_gives_rights) => Some("it sets the set-user-id bit"),
        // What is copied from elsewhere is only read; secrets are more than that.
        "cp" | "gcp" | "install" => {
            let (to, from) = operands.split_last()?;
            let to_outside = targets.is_empty() && args.outside(to) || args.open;
            let secret = from.iter().any(|w| paths::secret(&w.text, args.dirs) && args.outside(w));
            (to_outside || secret).then_some(OUTSIDE)
        }
        "split" | "csplit" => touches(args, &operands, 1),
        "tee" | "rm" | "rmdir" | "unlink" | "shred" | "truncate" => {
            // Names that are only known when it runs: `rm $x` may delete anything.
            let unknown = args.open
                || operands.iter().any(|w| w.kind == WordKind::Dynamic && args.outside(w));
            if unknown {
                Some("what it deletes or overwrites is only known when it runs")
            } else {
                touches(args, &operands, 0)
            }
        }
        _ => touches(args, &operands, 0),
    }
}

/// Any operand from the given place on lies outside.
fn touches(
    args: &Arguments<'_, '_>,
    operands: &[&crate::shell::Word<'_>],
    skip: usize,
) -> Option<&'static str> {
    let outside = operands.iter().skip(skip).any(|word| {
        !paths::sink(&word.text)
            && match word.kind {
                // A variable in the workspace's own scripts: its value is not known, its name is.
                WordKind::Dynamic => {
                    !word.text.starts_with('{') && args.outside(word) && !relative(&word.text)
                }
                WordKind::Glob => args.path_outside(&word.text),
                _ => args.outside(word),
            }
    });
    outside.then_some(OUTSIDE)
}

/// `src/{a,b}`, `build/$x`: begins with a plain directory of the workspace and never climbs.
fn relative(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !text.contains("..")
        && text.contains('{')
        && !text.contains('$')
}

fn dd(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let outside = args
        .texts()
        .filter_map(|text| text.strip_prefix("of="))
        .any(|file| args.path_outside(file));
    (outside || args.words.iter().any(|w| w.kind == WordKind::Dynamic && w.text.contains("of=")))
        .then_some(OUTSIDE)
}

fn chmod(args: &Arguments<'_, '_>) -> Option<&'static str> {
    args.any(mode_gives_rights).then_some("it sets the set-user-id bit")
}

/// `u+s`, `4755`, `-m4755`
fn mode_gives_rights(text: &str) -> bool {
    let digits = text.trim_start_matches("-m").trim_start_matches("--mode=");
    let octal = digits.len() >= 4
        && digits.bytes().all(|b| matches!(b, b'0'..=b'7'))
        && digits.as_bytes().get(digits.len() - 4).is_some_and(|&b| b != b'0' && b != b'1');
    let symbolic = text.contains(['+', '='])
        && text.split(',').any(|part| {
            part.split_once(['+', '=']).is_some_and(|(who, what)| {
                who.bytes().all(|b| b"ugoa".contains(&b)) && what.contains('s') && what.len() < 6
            })
        });
    octal || symbolic
}

/// tar, unzip and the like: where they unpack to, and programs they run.
pub(super) fn archive(name: &str, args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.any(|text| text.starts_with('-') && text.contains("TT")) {
        return Some("an option of it runs another program");
    }
    // `tar xPf`: the first word is a cluster of options without a dash.
    let first = args.words.first().map(|w| &*w.text).unwrap_or_default();
    if name.ends_with("tar") && !first.starts_with('-') && first.contains(['P', 'I', 'F']) {
        return Some("an option of it runs a program or writes outside");
    }
    let mut places = args.values(&["-C", "--directory", "--cd", "--one-top-level"]);
    if name == "unzip" {
        places.extend(args.values(&["-d"]));
        if args.has(&["-:"]) {
            return Some(OUTSIDE);
        }
    }
    if name == "7z" {
        places.extend(args.texts().filter_map(|t| t.strip_prefix("-o")));
    }
    let outside = places.iter().any(|dir| args.path_outside(dir));
    let archive = args.values(&["-f", "--file"]);
    let remote = archive.iter().any(|f| f.contains(':') && !f.starts_with("./"));
    let pass = name == "cpio"
        && args.short("p", "HCEFIMO")
        && args.operands(&[]).iter().any(|w| args.outside(w));
    (outside || remote || pass).then_some(OUTSIDE)
}
