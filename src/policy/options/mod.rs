//! Options and operands with which a program executes, writes or sends more than a plain
//! `name *` grant says. The knowledge is that of manuals, GTFOBins and the rivals' advisories.

mod arguments;
mod files;
mod git;
mod network;
mod programs;
mod tables;
mod tools;

use crate::place::Place;
use crate::shell::Word;
use crate::wrappers::base;
use arguments::Arguments;

/// Why this command goes beyond what a plain grant of its name says; `None` when it does not.
/// `open` says that words follow which are not known (`xargs`).
#[must_use]
pub fn exceeds(argv: &[Word<'_>], open: bool, place: Place<'_>) -> Option<&'static str> {
    let (first, words) = argv.split_first()?;
    let name = base(first.literal()?);
    let args = Arguments { words, open, place };
    if let Some(rule) = tables::rule(name)
        && let Some(why) = rule.judge(&args)
    {
        return Some(why);
    }
    match name {
        "git" => git::judge(&args),
        "find" | "gfind" | "bfind" => programs::find(&args),
        "sed" | "gsed" => programs::sed(&args),
        "awk" | "gawk" | "mawk" | "nawk" | "busybox-awk" => programs::awk(&args),
        "curl" => network::curl(&args),
        "wget" => network::wget(&args),
        "rsync" | "scp" | "sftp" => network::copy(&args),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "ping" | "ping6" | "dig" | "nslookup"
        | "host" | "drill" | "traceroute" | "tracepath" | "whois" => network::probe(&args),
        "cp" | "gcp" | "mv" | "ln" | "install" | "rm" | "rmdir" | "unlink" | "mkdir" | "touch"
        | "chmod" | "chown" | "chgrp" | "truncate" | "shred" | "tee" | "dd" | "split"
        | "csplit" | "mkfifo" | "mknod" | "patch" => files::judge(name, &args),
        "tar" | "gtar" | "bsdtar" | "unzip" | "zip" | "cpio" | "ar" | "7z" => {
            files::archive(name, &args)
        }
        _ => tools::judge(name, &args),
    }
}

#[cfg(test)]
mod tests;
