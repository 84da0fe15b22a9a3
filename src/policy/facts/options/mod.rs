//! Options and operands with which a program executes, writes or sends more than a plain
//! `name *` grant says. The knowledge is that of manuals, GTFOBins and the rivals' advisories.

mod arguments;
mod files;
mod git;
mod network;
mod programs;
mod tables;
mod tools;

use crate::facts::paths::Directories;
use crate::facts::wrappers::base;
use crate::shell::Word;
use arguments::Arguments;
pub(crate) use programs::sed_reaches;

/// Why this command goes beyond what a plain grant of its name says; `None` when it does not.
/// `open` says that words follow which are not known (`xargs`).
#[must_use]
pub fn exceeds(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> Option<&'static str> {
    let (first, words) = argv.split_first()?;
    let name = base(first.literal()?);
    let args = Arguments { words, open, dirs };
    if let Some(rule) = tables::rule(name)
        && let Some(why) = rule.judge(&args)
    {
        return Some(why);
    }
    match name.as_bytes() {
        b"git" => git::judge(&args),
        b"find" | b"gfind" | b"bfind" => programs::find(&args),
        b"sed" | b"gsed" => programs::sed(&args),
        b"awk" | b"gawk" | b"mawk" | b"nawk" | b"busybox-awk" => programs::awk(&args),
        b"curl" => network::curl(&args),
        b"wget" => network::wget(&args),
        b"rsync" | b"scp" | b"sftp" => network::copy(&args),
        b"nc" | b"ncat" | b"netcat" | b"socat" | b"telnet" | b"ping" | b"ping6" | b"dig"
        | b"nslookup" | b"host" | b"drill" | b"traceroute" | b"tracepath" | b"whois" => {
            network::probe(&args)
        }
        b"cp" | b"gcp" | b"mv" | b"ln" | b"install" | b"rm" | b"rmdir" | b"unlink" | b"mkdir"
        | b"touch" | b"chmod" | b"chown" | b"chgrp" | b"truncate" | b"shred" | b"tee" | b"dd"
        | b"split" | b"csplit" | b"mkfifo" | b"mknod" | b"patch" => files::judge(name, &args),
        b"tar" | b"gtar" | b"bsdtar" | b"unzip" | b"zip" | b"cpio" | b"ar" | b"7z" => {
            files::archive(name, &args)
        }
        _ => tools::judge(name, &args),
    }
}

#[cfg(test)]
mod tests;
