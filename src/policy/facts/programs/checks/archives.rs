//! tar, unzip and the like: the folder they unpack to, and programs they run.

use crate::facts::programs::arguments::Arguments;

const OUTSIDE: &str = "it changes files outside the project";
const RUNS: &str = "an option of it runs another program";

/// Checks tar, whose first word may be a cluster of options without a dash (`tar xPf`).
pub(crate) fn tar(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let first = args.texts().next().unwrap_or_default();
    // `P` keeps absolute names, `I` names a program to compress with, `F` a script.
    let cluster = !first.starts_with('-') && first.contains(['P', 'I', 'F']);
    let why = "an option of it runs a program or writes outside";
    runs(args).or(cluster.then_some(why)).or_else(|| archive(args))
}

/// Checks unzip, which unpacks into a folder.
pub(crate) fn unzip(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let folders = args.values("-d");
    let outside = folders.iter().any(|folder| args.path_outside(folder));
    runs(args).or((outside || args.has("-:")).then_some(OUTSIDE)).or_else(|| archive(args))
}

/// Checks 7z, which unpacks into the folder behind `-o`.
pub(crate) fn seven_zip(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut folders = args.texts().filter_map(|text| text.strip_prefix("-o"));
    let outside = folders.any(|folder| args.path_outside(folder));
    runs(args).or(outside.then_some(OUTSIDE)).or_else(|| archive(args))
}

/// Checks cpio, which may copy files to a folder.
pub(crate) fn cpio(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let passes = args.short("p", "HCEFIMO") && args.named().iter().any(|w| args.outside(w));
    runs(args).or(passes.then_some(OUTSIDE)).or_else(|| archive(args))
}

/// Checks what they have in common: the folder to work in, and an archive on another host.
pub(crate) fn archive(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let folders = args.values("-C --directory --cd --one-top-level");
    let archives = args.values("-f --file");
    let outside = folders.iter().any(|folder| args.path_outside(folder));
    // `host:file` makes tar start a remote shell.
    let remote = archives.iter().any(|file| file.contains(':') && !file.starts_with("./"));
    runs(args).or((outside || remote).then_some(OUTSIDE))
}

fn runs(args: &Arguments<'_, '_>) -> Option<&'static str> {
    // `zip -TT CMD` runs the command to test the archive.
    args.any(|text| text.starts_with('-') && text.contains("TT")).then_some(RUNS)
}
