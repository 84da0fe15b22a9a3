//! Which words of a command name files, and what the command does to them. Shared by the critical
//! patterns and the effects.

use crate::facts::wrappers::base;
use crate::shell::Word;

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is created or changed.
    Write,
    /// It is deleted.
    Delete,
    /// It goes somewhere else.
    Move,
    /// Its rights or owner change.
    Rights,
}

/// A path and what happens to it.
pub type Touched<'w, 'a> = (Access, &'w Word<'a>);

/// Programs that look at the files they are given and change none, or name none.
#[must_use]
pub fn only_reads(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"cat"
            | b"tac"
            | b"head"
            | b"tail"
            | b"less"
            | b"more"
            | b"nl"
            | b"wc"
            | b"base64"
            | b"base32"
            | b"xxd"
            | b"od"
            | b"hexdump"
            | b"strings"
            | b"sort"
            | b"uniq"
            | b"cut"
            | b"diff"
            | b"cmp"
            | b"md5sum"
            | b"sha256sum"
            | b"gzip"
            | b"bzip2"
            | b"xz"
            | b"zcat"
            | b"bat"
            | b"file"
            | b"stat"
            | b"column"
            | b"fold"
            | b"rev"
            | b"split"
            | b"nano"
            | b"vim"
            | b"vi"
            | b"view"
            | b"grep"
            | b"egrep"
            | b"fgrep"
            | b"rg"
            | b"ag"
            | b"ack"
            | b"jq"
            | b"yq"
            | b"awk"
            | b"gawk"
            | b"mawk"
    )
}

/// The paths that a simple command names, wrappers already taken off.
#[must_use]
pub fn of_command<'w, 'a>(argv: &'w [Word<'a>]) -> Vec<Touched<'w, 'a>> {
    let Some((first, args)) = argv.split_first() else { return Vec::new() };
    let Some(name) = first.literal().map(base) else { return Vec::new() };
    let all = |access: Access, skip: usize, values: &[&str]| {
        operands(args, values).into_iter().skip(skip).map(|word| (access, word)).collect::<Vec<_>>()
    };
    match name.as_bytes() {
        b"ls" | b"echo" | b"printf" | b"git" | b"cargo" | b"npm" | b"cd" | b"python3" => Vec::new(),
        b"grep" | b"egrep" | b"fgrep" | b"rg" | b"ag" | b"ack" | b"jq" | b"yq" | b"awk"
        | b"gawk" | b"mawk" => all(
            Access::Read,
            1,
            &["-e", "-A", "-B", "-C", "-m", "-f", "-v", "-F", "-g", "-t", "--arg"],
        ),
        _ if only_reads(name) => {
            all(Access::Read, 0, &["-n", "-c", "-t", "-k", "-f", "-d", "-w", "-s"])
        }
        b"sed" | b"gsed" => {
            let edits =
                has_flag(args, 'i') || args.iter().any(|w| w.text.starts_with("--in-place"));
            let script =
                args.iter().any(|w| matches!(&*w.text, "-e" | "-f" | "--expression" | "--file"));
            let access = if edits { Access::Write } else { Access::Read };
            all(access, usize::from(!script), &["-e", "-f", "--expression", "--file"])
        }
        b"tee" | b"touch" | b"mkdir" | b"truncate" | b"mkfifo" | b"mknod" | b"patch" | b"ed"
        | b"ex" => all(Access::Write, 0, &["-s", "-m", "-r", "-t", "-d", "-i", "--size", "--mode"]),
        b"rm" | b"rmdir" | b"unlink" | b"shred" | b"srm" | b"rimraf" | b"trash" => {
            all(Access::Delete, 0, &["-n", "-s"])
        }
        b"chmod" | b"chown" | b"chgrp" | b"setfacl" | b"chattr" | b"setcap" | b"chcon" => {
            all(Access::Rights, 1, &["-m", "-x"])
        }
        b"cp" | b"gcp" | b"install" | b"ln" | b"rsync" | b"scp" => transfer(args, Access::Read),
        b"mv" => transfer(args, Access::Move),
        b"dd" => args
            .iter()
            .filter_map(|word| {
                let access = match word.text.split_once('=')?.0 {
                    "of" => Access::Write,
                    "if" => Access::Read,
                    _ => return None,
                };
                Some((access, word))
            })
            .collect(),
        b"curl" => behind(args, &["-o", "--output", "-D", "-c"]),
        b"wget" => behind(args, &["-O", "--output-document", "-P", "-o"]),
        b"tar" | b"zip" | b"7z" | b"cpio" => {
            all(Access::Read, usize::from(!dashed(args)), &["-f", "-C"])
        }
        b"." | b"source" => all(Access::Read, 0, &[]),
        _ => Vec::new(),
    }
}

/// Words that are not options, nor the value of one of `values`.
#[must_use]
pub fn operands<'w, 'a>(args: &'w [Word<'a>], values: &[&str]) -> Vec<&'w Word<'a>> {
    let mut found = Vec::new();
    let mut options = true;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if options && word.text == "--" {
            options = false;
        } else if options && word.text.len() > 1 && word.text.starts_with('-') {
            if values.contains(&&*word.text) {
                words.next();
            }
        } else {
            found.push(word);
        }
    }
    found
}

/// A short option, alone or in a cluster.
#[must_use]
pub fn has_flag(args: &[Word<'_>], flag: char) -> bool {
    args.iter()
        .take_while(|w| w.text != "--")
        .any(|w| w.text.starts_with('-') && !w.text.starts_with("--") && w.text.contains(flag))
}

/// The last operand is written, the others are read or moved away.
fn transfer<'w, 'a>(args: &'w [Word<'a>], from: Access) -> Vec<Touched<'w, 'a>> {
    let target = behind(args, &["-t", "--target-directory"]);
    let mut words =
        operands(args, &["-t", "--target-directory", "-m", "-o", "-g", "-S", "-e", "--rsh"]);
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
fn behind<'w, 'a>(args: &'w [Word<'a>], options: &[&str]) -> Vec<Touched<'w, 'a>> {
    args.windows(2)
        .filter_map(|pair| match pair {
            [option, value] => {
                let text = &*option.text;
                let clustered = text.len() > 2
                    && text.starts_with('-')
                    && !text.starts_with("--")
                    && options
                        .iter()
                        .any(|o| o.len() == 2 && text.ends_with(o.trim_start_matches('-')));
                (options.contains(&text) || clustered).then_some((Access::Write, value))
            }
            _ => None,
        })
        .collect()
}

fn dashed(args: &[Word<'_>]) -> bool {
    args.first().is_some_and(|w| w.text.starts_with('-'))
}
