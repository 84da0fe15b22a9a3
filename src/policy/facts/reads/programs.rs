//! The programs that only read, and how: the one place where that is written down.

use crate::shell::Word;

/// A program, or a sub-command of one, with all the options with which it only reads.
///
/// Left out, so that they ask: options that run a program, write a file, reach another host, follow
/// links out of the workspace, or read names of files from a file.
pub(super) struct Program {
    /// Its names.
    names: &'static str,
    /// The words that must come first.
    sub: &'static str,
    /// Short options without a value; `#` stands for numbers (`-20`).
    pub(super) flags: &'static str,
    /// Short options with a value.
    pub(super) values: &'static str,
    /// Long options: `name`, `name=` with a value, `name?` with or without, `name:` with a file.
    pub(super) longs: &'static [&'static str],
    /// What else may follow.
    pub(super) operands: Operands,
}

/// What the operands of a program are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// There are none.
    None,
    /// Anything; no word is an option.
    Words,
    /// Words that are known.
    Literals,
    /// Names of variables, which are printed.
    Variables,
    /// A format that begins with `+`.
    Format,
    /// Files and folders, of which only names and numbers are shown.
    Names,
    /// Files that are shown.
    Contents,
    /// The same, for programs with options that write or run: no file name may pass for one.
    Guarded,
    /// One such file at most: another one would be written.
    OneFile,
    /// A text and files; files alone with one of these options.
    Pattern(&'static str),
    /// A script of sed, and files.
    Sed,
    /// A program of awk, and files.
    Awk,
    /// A program of jq, and files.
    Jq,
    /// Revisions and paths of git.
    Revisions,
    /// Patterns to list by, with one of these options.
    Listed(&'static str),
    /// One key of git's configuration.
    Setting,
}

const fn program(
    names: &'static str,
    flags: &'static str,
    values: &'static str,
    longs: &'static [&'static str],
    operands: Operands,
) -> Program {
    Program { names, sub: "", flags, values, longs, operands }
}

/// A sub-command.
pub(super) const fn sub(
    names: &'static str,
    sub: &'static str,
    flags: &'static str,
    values: &'static str,
    longs: &'static [&'static str],
    operands: Operands,
) -> Program {
    Program { names, sub, flags, values, longs, operands }
}

/// The descriptions that a command with these words may fit, each with the words behind its
/// sub-command.
pub(super) fn of<'w, 'a>(
    name: &str,
    args: &'w [Word<'a>],
) -> impl Iterator<Item = (&'static Program, &'w [Word<'a>])> {
    PROGRAMS
        .iter()
        .filter(move |one| one.names.split(' ').any(|known| known == name))
        .filter_map(move |one| Some((one, one.behind(args)?)))
}

impl Program {
    /// The words behind the sub-command.
    pub(super) fn behind<'w, 'a>(&self, args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
        let subs = self.sub.split_whitespace();
        let count = subs.clone().count();
        let fits = args.len() >= count
            && args.iter().zip(subs).all(|(word, sub)| word.literal() == Some(sub));
        fits.then(|| args.get(count..))?
    }
}

use Operands::{
    Awk, Contents, Format, Guarded, Jq, Listed, Literals, Names, None, OneFile, Pattern, Sed,
    Variables, Words,
};

/// Programs that say their version without looking at the project: no tool chain, plug-in or
/// setting of it runs (`cargo`, `go`, `yarn` and `mvn` let it choose what they start).
const VERSIONED: &str = "bash bun clang clang++ cmake deno docker g++ gcc gh git jq make node npm perl php \
    pip pip3 podman python python3 rg ruby ruff tree uv";

static PROGRAMS: &[Program] = &[
    program("echo printf seq expr basename dirname true false", "", "", &[], Words),
    program("pwd", "LP", "", &[], None),
    program("whoami groups tty arch logname", "", "", &[], None),
    program("id", "agGnruz", "", &["user", "group", "groups", "name", "real"], Literals),
    program("uname", "asnrvmpio", "", &["all", "kernel-name", "machine"], None),
    program("hostname", "sI", "", &["short"], None),
    program("nproc uptime lscpu free df", "apsVbkmghHTitl", "", FREE, Names),
    program("date", "uR", "d", &["date=", "utc", "rfc-3339=", "iso-8601?"], Format),
    program("cal", "13y", "", &[], Literals),
    program("printenv", "", "", &[], Variables),
    program("which type whereis", "abasmtpP", "", &["all"], Literals),
    program("ls dir vdir", "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "", LS, Names),
    program("tree", "adfiprsugDFtcUvCnhJX", "LPI", TREE, Names),
    program("stat", "Ltx", "c", &["format=", "printf=", "terse", "dereference"], Names),
    program("du", "abchkmsxSHPl0", "dt", DU, Names),
    program("file", "bikNnprs0E", "F", &["brief", "mime", "mime-type", "mime-encoding"], Names),
    program("realpath readlink", "efmnqsvz", "", READLINK, Names),
    program("cat tac rev", "AbeEnstTuv", "", &["number", "show-all", "show-ends"], Contents),
    program("head", "qvz#", "nc", &["lines=", "bytes=", "quiet", "verbose"], Contents),
    program(
        "tail",
        "qvzfF#",
        "ncs",
        &["lines=", "bytes=", "quiet", "verbose", "follow?"],
        Contents,
    ),
    program("wc", "clLmw", "", &["lines", "words", "bytes", "chars", "max-line-length"], Contents),
    program("nl", "p", "bdfhilnsvw", &[], Contents),
    program("od", "abcdfilosxv", "AjNtS", &[], Contents),
    program("hexdump", "bcCdovx", "ns", &[], Contents),
    program("xxd", "abpui", "cglos", &[], OneFile),
    program("strings", "afw", "ntes", &["all", "bytes="], Contents),
    program("md5sum sha1sum sha256sum sha512sum b2sum cksum", "btz", "", &["tag"], Contents),
    program("base64", "di", "w", &["decode", "wrap="], OneFile),
    program("cut", "nsz", "bcdf", CUT, Guarded),
    program("tr", "cCdst", "", &["complement", "delete", "squeeze-repeats"], Literals),
    program("sort", "bdfghiMnRrVcCmsuz", "kt", SORT, Guarded),
    program("uniq", "cdDiuz", "fsw", UNIQ, OneFile),
    program("comm", "123iz", "", &[], Guarded),
    program("join", "i", "12aeotvj", &[], Guarded),
    program("paste", "sz", "d", &[], Guarded),
    program("fold fmt expand", "bsciu", "wt", &["width="], Guarded),
    program("column", "txneJL", "scoNR", &["table"], Guarded),
    program("diff", "abBcdeEiNpqstTuvwy", "CIUWxF", DIFF, Guarded),
    program("cmp", "bls", "in", &["silent", "quiet", "print-bytes", "verbose"], Guarded),
    program("grep egrep fgrep", "abcEFGHhIilLnoPqrsTUvwxyzZ#", "ABCemdD", GREP, GREPPED),
    program("rg", "acFhHiIlnNopPqsSuUvVwx0", "ABCdegjmMrtTE", RG, SEARCHED),
    program("fd fdfind", "aHIsgiplFu10", "dEetc", FD, Pattern("")),
    program("sed", "nErsuz", "e", SED, Sed),
    program("awk gawk mawk", "", "vF", &["field-separator=", "assign="], Awk),
    program("jq", "acCejMnrRsS", "", JQ, Jq),
    program("gofmt", "lde", "", &[], Contents),
    program("pgrep pidof", "acflnovxis", "uPgst", &[], Literals),
    program("lsblk ss", "abfilmopStuxan46", "", &[], None),
    sub("ip", "addr", "", "", &[], None),
    sub("ip", "addr show", "", "", &[], Literals),
    sub("ip", "a", "", "", &[], None),
    sub("ip", "link", "", "", &[], None),
    sub("ip", "link show", "", "", &[], Literals),
    sub("ip", "route", "", "", &[], None),
    sub("ip", "route show", "", "", &[], Literals),
    sub("systemctl", "status", "l", "n", SYSTEMD, Literals),
    sub("systemctl", "is-active", "q", "", SYSTEMD, Literals),
    sub("systemctl", "is-enabled", "q", "", SYSTEMD, Literals),
    sub("systemctl", "is-failed", "q", "", SYSTEMD, Literals),
    sub("systemctl", "list-units", "a", "t", SYSTEMD, Literals),
    sub("systemctl", "list-timers", "a", "", SYSTEMD, Literals),
    sub("docker podman", "ps", "aqlns", "f", DOCKER, None),
    sub("docker podman", "images", "aq", "f", DOCKER, Literals),
    sub("docker podman", "version", "", "f", DOCKER, None),
    sub("npm", "ls", "al", "", NPM, Literals),
    sub("npm", "list", "al", "", NPM, Literals),
    sub("pip pip3", "list", "", "", &["format=", "local", "user", "not-required"], None),
    sub("pip pip3", "freeze", "l", "", &["local", "all", "user"], None),
    sub("pip pip3", "show", "f", "", &["files", "verbose"], Literals),
    sub("rustup", "toolchain list", "v", "", &[], None),
    sub(VERSIONED, "--version", "", "", &[], None),
    sub("python python3 pip pip3", "-V", "", "", &[], None),
    sub("node npm deno bun php perl", "-v", "", "", &[], None),
    sub("java javac", "-version", "", "", &[], None),
];

/// With these options the first operand is no pattern.
const GREPPED: Operands = Pattern("e regexp");
const SEARCHED: Operands = Pattern("e regexp files type-list");

const FREE: &[&str] = &["all", "human-readable", "total", "si", "bytes", "kilo", "mega", "giga"];
const LS: &[&str] = &[
    "all almost-all author classify? color? directory file-type format= full-time group-directories-first",
    "human-readable hyperlink? ignore= indicator-style= inode no-group numeric-uid-gid quote-name recursive",
    "reverse si size sort= time= time-style= width= zero",
];
const TREE: &[&str] =
    &["noreport dirsfirst filesfirst sort= gitignore prune charset= filelimit= du"];
const DU: &[&str] = &[
    "all apparent-size bytes block-size= total human-readable max-depth= si summarize threshold= exclude=",
    "one-file-system time? separate-dirs null",
];
const READLINK: &[&str] =
    &["canonicalize canonicalize-existing canonicalize-missing relative-to: relative-base: zero"];
const CUT: &[&str] =
    &["bytes= characters= delimiter= fields= complement only-delimited output-delimiter="];
const SORT: &[&str] = &[
    "reverse unique numeric-sort human-numeric-sort version-sort general-numeric-sort ignore-case key=",
    "field-separator= stable check? sort= month-sort random-sort dictionary-order zero-terminated",
];
const UNIQ: &[&str] =
    &["count repeated all-repeated? unique ignore-case skip-fields= skip-chars= check-chars="];
const DIFF: &[&str] = &[
    "unified? brief context? side-by-side color? ignore-all-space ignore-space-change new-file",
    "ignore-blank-lines ignore-case exclude= suppress-common-lines width= text label= strip-trailing-cr",
    "report-identical-files minimal normal no-dereference",
];
const GREP: &[&str] = &[
    "after-context= before-context= binary-files= byte-offset color? colour? context= count",
    "extended-regexp files-with-matches files-without-match fixed-strings ignore-case include: exclude:",
    "exclude-dir: invert-match line-buffered line-number line-regexp max-count= no-filename no-messages",
    "null only-matching perl-regexp quiet regexp= recursive text with-filename word-regexp basic-regexp",
    "initial-tab no-ignore-case silent",
];
const RG: &[&str] = &[
    "after-context= before-context= binary block-buffered case-sensitive color= colors= column context=",
    "context-separator= count count-matches crlf encoding= engine= field-context-separator=",
    "field-match-separator= files files-with-matches files-without-match fixed-strings glob: heading",
    "hidden iglob: ignore-case include-zero invert-match json line-buffered line-number line-regexp",
    "max-columns= max-columns-preview max-count= max-depth= max-filesize= multiline multiline-dotall",
    "no-config no-filename no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude",
    "no-ignore-global no-ignore-parent no-ignore-vcs no-line-number no-messages no-unicode null",
    "one-file-system only-matching passthru pcre2 pretty quiet regexp= replace= smart-case sort= sortr=",
    "stats stop-on-nonmatch text threads= trim type= type-list type-not= unrestricted vimgrep",
    "with-filename word-regexp",
];
const FD: &[&str] = &[
    "absolute-path case-sensitive color= exclude= extension= full-path glob hidden ignore-case list-details",
    "max-depth= max-results= min-depth= no-ignore no-ignore-vcs print0 regex size= type= unrestricted",
    "changed-within= changed-before= fixed-strings quiet strip-cwd-prefix",
];
const SED: &[&str] = &[
    "quiet silent expression= regexp-extended line-length= null-data separate unbuffered sandbox posix",
];
const JQ: &[&str] = &[
    "compact-output raw-output join-output ascii-output sort-keys tab indent= null-input slurp raw-input",
    "exit-status color-output monochrome-output seq stream",
];
const SYSTEMD: &[&str] =
    &["no-pager full lines= all type= state= output= plain no-legend user system quiet failed"];
const DOCKER: &[&str] = &["all filter= format= last= latest no-trunc quiet size digests no-legend"];
const NPM: &[&str] = &["depth= all json long parseable prod production dev omit="];

/// Listing patterns of git, where `git tag` and `git branch` would make something otherwise.
pub(super) const LISTED: Operands = Listed("l list");
