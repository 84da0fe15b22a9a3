//! Recursive removal of roots, homes, system directories, or everything here.

use super::{cleaned, is_dynamic};
use crate::facts::access::{has_flag, operands};
use crate::facts::paths::{self, Directories};
use crate::shell::Word;

pub(super) fn judge(name: &str, args: &[Word<'_>]) -> Option<&'static str> {
    match name.as_bytes() {
        b"rm" | b"srm" | b"rimraf" | b"trash" => {
            let recursive = name == "rimraf"
                || has_flag(args, 'r')
                || has_flag(args, 'R')
                || long(args, "--recursive");
            let root = operands(args, &[]).into_iter().any(|word| vast(word));
            let forced = args.iter().any(|w| w.text.starts_with("--no-preserve"));
            (recursive && (root || forced))
                .then_some("deletes a root, a home, a system directory or everything here")
        }
        b"find" | b"gfind" | b"bfind" => find(args),
        b"mv" => {
            let words = operands(args, &["-t", "-S"]);
            let hole = words.last().is_some_and(|w| w.text == "/dev/null");
            let away =
                words.iter().take(words.len().saturating_sub(1)).any(|w| vast(w) && !everything(w));
            (hole || away).then_some("moves away a root, a home or a system directory")
        }
        b"chmod" | b"chown" | b"chgrp" | b"setfacl" | b"chattr" | b"chcon" => rights(name, args),
        b"setcap" => (!args.is_empty()).then_some("gives a program rights of the system"),
        b"rsync" => {
            let deletes = args.iter().any(|w| w.text.starts_with("--delete") || w.text == "--del");
            let vast = operands(args, &["-e"]).last().is_some_and(|w| vast(w));
            (deletes && vast).then_some("deletes what is not in the source")
        }
        _ => None,
    }
}

/// `--rec` for `--recursive`.
fn long(args: &[Word<'_>], option: &str) -> bool {
    args.iter().any(|w| w.text.len() > 3 && option.starts_with(&*w.text))
}

/// A root, somebody's home, a directory of the system, the workspace itself or above it, or
/// something that is only known when it runs.
fn vast(word: &Word<'_>) -> bool {
    let text = &*word.text;
    let Some(path) = cleaned(word) else { return true };
    let path = path.trim_end_matches(['/', '*']).trim_end_matches("/.");
    if everything(word) || path.is_empty() || path == "." || path.starts_with("..") || path == "~" {
        return true;
    }
    if is_dynamic(word) && text.contains('{') && text.starts_with(['/', '~']) {
        return true;
    }
    if let Some(below) = paths::in_home(path, Directories::default()) {
        return below.is_empty()
            || matches!(
                below,
                "Documents"
                    | "Desktop"
                    | "Downloads"
                    | "Pictures"
                    | "Library"
                    | ".ssh"
                    | ".config"
                    | ".gnupg"
                    | ".local"
                    | ".aws"
                    | ".kube"
                    | ".*"
            );
    }
    if matches!(
        path,
        "/home" | "/Users" | "/root" | "/mnt" | "/media" | "/Volumes" | "/tmp" | "/var/tmp"
    ) {
        return true;
    }
    let deep = [
        "/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/sys", "/proc", "/dev", "/usr/bin",
        "/usr/lib",
    ];
    paths::system(path)
        && (path.matches('/').count() <= 2 || deep.iter().any(|dir| paths::within(path, dir)))
}

/// `*`, `./*`, `.`
fn everything(word: &Word<'_>) -> bool {
    matches!(&*word.text, "*" | "./*" | "." | "./" | "./." | ".." | "../" | "../*" | "**" | ".*")
}

fn find(args: &[Word<'_>]) -> Option<&'static str> {
    let acts = args.iter().enumerate().any(|(at, word)| match &*word.text {
        "-delete" => true,
        "-exec" | "-execdir" | "-ok" => args.get(at + 1).is_some_and(|w| {
            matches!(crate::facts::wrappers::base(&w.text), "rm" | "shred" | "unlink" | "srm")
        }),
        _ => false,
    });
    let tests = args.iter().any(|w| {
        matches!(
            &*w.text,
            "-name"
                | "-iname"
                | "-path"
                | "-regex"
                | "-mtime"
                | "-mmin"
                | "-size"
                | "-empty"
                | "-newer"
                | "-type"
        )
    });
    let starts = args.iter().take_while(|w| !w.text.starts_with(['-', '(', '!']));
    let vast =
        starts.clone().any(|word| vast(word) && (!everything(word) || !tests) && !is_dynamic(word));
    let here = starts.count() == 0 && !tests;
    (acts && (vast || here))
        .then_some("deletes what it finds in a root, a home or a system directory")
}

fn rights(name: &str, args: &[Word<'_>]) -> Option<&'static str> {
    let words = operands(args, &["-m", "-x", "-M", "-X"]);
    let recursive = has_flag(args, 'R') || long(args, "--recursive");
    let paths: Vec<_> =
        words.iter().skip(usize::from(!matches!(name, "setfacl" | "chattr"))).collect();
    if recursive
        && paths.iter().any(|w| vast(w) && !everything(w) && !is_dynamic(w) || home_variable(w))
    {
        return Some("changes the rights of a root, a home or a system directory");
    }
    let guarded = paths.iter().filter_map(|w| cleaned(w)).any(|path| {
        paths::within(&path, "/etc")
            || paths::secret(&path, Directories::default()) && name != "chmod"
    });
    if guarded && (name != "chmod" || opens(&words)) {
        return Some("changes the rights of a file of the system");
    }
    let suid = name == "chmod"
        && words.first().is_some_and(|w| {
            let mode = &*w.text;
            mode.contains("+s")
                || mode.contains("=s")
                || mode.len() == 4
                    && mode.starts_with(['2', '4', '6', '7'])
                    && mode.bytes().all(|b| b.is_ascii_digit())
        });
    suid.then_some("sets the set-user-id bit")
}

fn home_variable(word: &Word<'_>) -> bool {
    matches!(&*word.text, "$HOME" | "${HOME}" | "$HOME/" | "~" | "~/")
}

/// A mode that lets others write or read: `666`, `777`, `o+w`, `a+rwx`.
fn opens(words: &[&Word<'_>]) -> bool {
    words.first().is_some_and(|w| {
        let mode = &*w.text;
        let octal = mode.bytes().all(|b| b.is_ascii_digit()) && !mode.ends_with('0');
        octal
            || mode.contains("o+")
            || mode.contains("a+")
            || mode.starts_with('+')
            || mode.contains("+w")
    })
}
