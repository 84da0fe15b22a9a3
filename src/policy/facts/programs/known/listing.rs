//! Programs that find and list files.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::{case, judge, options};
use crate::facts::programs::description::{Depth, Files, Operands, Program, Runs, reading};
use crate::facts::programs::known::syntax;
use crate::facts::programs::known::{FREE, READS, RUNS, WRITES};
use crate::facts::programs::sensitive::{everything, history, is_nameless, vast};
use crate::facts::programs::{Words, base, listed};
use crate::shell::{Word, WordKind};

pub(super) static ALL: &[Program] = &[
    Program::named("ls dir vdir")
        .reads(&[reading("aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "", LS, Operands::Names)])
        .depth(Depth::WalksWith { letters: "R", longs: "--recursive", here: true }),
    FIND.reads(&[reading("", "", &[], Operands::Find)]),
    FIND.renamed("gfind bfind"),
    Program::named("fd fdfind")
        .reads(&[reading("aHIsgiplFu10", "dEetc", FD, Operands::Pattern(""))])
        .beyond(&[case(options("--exec --exec-batch", "xX", "edEtcjS"), RUNS)])
        .depth(Depth::WalksHere)
        .runs(Runs::Last { long: "--exec", short: "xX" }),
    Program::named("tree")
        // A value follows its whole cluster (`-Lo 2 out`), so values count as names.
        .reads(&[reading("adfiprsugDFtcUvCnhJXLPI0123456789", "", TREE, GUARDED)])
        .versions("--version")
        .beyond(&[case(options("--fromfile", "oR", "LPIH"), WRITES)])
        .depth(Depth::WalksHere),
    Program::named("stat")
        .reads(&[reading("Ltx", "c", &["format= printf= terse dereference"], Operands::Names)])
        .shows_files(),
    Program::named("du")
        .options(syntax::DU)
        .reads(&[reading("abchkmsxSHPl0", "dt", DU, Operands::Names)])
        .beyond(&[case(options("--files0-from --exclude-from", "X", "dBt"), READS)])
        .depth(Depth::WalksHere),
    Program::named("df")
        .reads(&[reading("apsVbkmghHTitl", "", FREE, Operands::Names)])
        .depth(Depth::Opens),
    // `-m` reads a magic file and `-C` writes one.
    Program::named("file")
        .options(syntax::FILE)
        .reads(&[reading("bikNnrs0E", "F", &["brief mime mime-type mime-encoding"], GUARDED)])
        .beyond(&[case(options(FILE_OPTIONS, "mfCzZ", "FeP"), READS)])
        .shows_files(),
    Program::named("realpath readlink")
        .reads(&[reading("efmnqsvz", "", READLINK, Operands::Names)])
        .depth(Depth::Opens),
    Program::named("basename dirname")
        .reads(&[reading("", "", &[], Operands::Words)])
        .depth(Depth::Names),
    Program::named("lsattr").depth(Depth::Opens),
];

const FIND: Program = Program::named("find")
    .beyond(&[judge(acts)])
    .critical(&[judge(deletes)])
    .files(Files::Searched)
    .depth(Depth::WalksHere)
    .runs(Runs::UpTo(EXECUTES));
const GUARDED: Operands = Operands::GuardedNames;
const LS: &[Words] = &["\
    all almost-all author classify? color? directory file-type format= full-time \
    group-directories-first human-readable hyperlink? ignore= indicator-style= inode no-group \
    numeric-uid-gid quote-name recursive reverse si size sort= time= time-style= width= zero"];
const FD: &[Words] = &["\
    absolute-path case-sensitive color= exclude= extension= full-path glob hidden ignore-case \
    list-details max-depth= max-results= min-depth= no-ignore no-ignore-vcs print0 regex size= \
    type= unrestricted changed-within= changed-before= fixed-strings quiet strip-cwd-prefix"];
const TREE: &[Words] = &["\
    noreport dirsfirst filesfirst sort= gitignore prune charset= filelimit= du"];
const DU: &[Words] = &["\
    all apparent-size bytes block-size= total human-readable max-depth= si summarize threshold= \
    exclude= one-file-system time? separate-dirs null"];
const FILE_OPTIONS: Words = "\
    --magic-file --files-from --compile --uncompress --uncompress-noreport";
const READLINK: &[Words] = &["\
    canonicalize canonicalize-existing canonicalize-missing relative-to: relative-base: zero"];

// The actions of find.

const UNSEEN: &str = "a word that is only known when it runs may be an action of it";
/// Tests that narrow what is found; `-type f` alone still finds every file.
const TESTS: &str = "-name -iname -path -regex -mtime -mmin -size -empty -newer";

/// What a regular expression has besides names.
const OF_REGEXES: &[char] = &['+', '^', '$', '|', '(', ')', '\\'];

/// Tests that say nothing about a name, and actions that print names.
const ALONE: &str = "\
    -print -print0 -ls -prune -empty -depth -d -mount -xdev -not -o -or -a -and ! ( ) , -readable \
    -writable -executable -true -false -nouser -nogroup -quit -daystart -noleaf -P";
const WITH_A_TEXT: &str = "\
    -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype \
    -type -xtype -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user \
    -group -uid -gid -links -inum -fstype -printf -newermt -newerat -newerct -used";
const WITH_A_FILE: &str = "-newer -anewer -cnewer -samefile";
const EXECUTES: &str = "-exec -execdir -ok -okdir";

/// The word behind a test or action of find.
pub(crate) enum Follows {
    Nothing,
    Text,
    File,
}

/// Returns what follows a test or action of find, if it only looks and prints.
pub(crate) fn follows(word: &str) -> Option<Follows> {
    match word {
        _ if listed(ALONE, word) => Some(Follows::Nothing),
        _ if listed(WITH_A_TEXT, word) => Some(Follows::Text),
        _ if listed(WITH_A_FILE, word) => Some(Follows::File),
        _ => None,
    }
}

/// Checks find for actions of its own; the wrappers look behind `-exec`.
fn acts(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut words = args.words.iter();
    while let Some(word) = words.next() {
        match (follows(&word.text), &*word.text) {
            (Some(Follows::Nothing), _) | (None, "-L" | "-H" | "-follow") => {}
            (Some(_), _) => drop(words.next()),
            (None, text) if listed(EXECUTES, text) => {
                words.find(|word| matches!(&*word.text, ";" | "+"));
            }
            // FAIL-CLOSED: `-delete`, `-fprintf` and all that is not known.
            (None, text) if text.starts_with('-') => {
                return Some("an action of find may delete or write");
            }
            _ => {}
        }
    }
    args.uncertain().then_some(UNSEEN)
}

/// Checks whether find deletes from a root, a home or a folder of the system.
fn deletes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    (removes(args.words) && finds_everything(args)).then_some(DELETES_FOUND)
}

pub(crate) const DELETES_FOUND: &str =
    "deletes what it finds in a root, a home or a system directory";

/// Returns true when find names all that is below a root, a home, a folder of the system or here.
pub(crate) fn finds_everything(args: &Arguments<'_, '_>) -> bool {
    // `! -name x` is everything but `x`.
    let negated = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| args.words.get(at));
        before.is_some_and(|word| matches!(&*word.text, "!" | "-not"))
    };
    // `-name '*'` is no test.
    let narrows = |at: usize| {
        let pattern = args.words.get(at + 1).map(|word| word.text.replace(OF_REGEXES, ""));
        pattern.is_none_or(|pattern| !is_nameless(&pattern))
    };
    let mut words = args.words.iter().enumerate();
    let tests = words.any(|(at, word)| listed(TESTS, &word.text) && !negated(at) && narrows(at));
    let starts = starts(args.words);
    let known = |word: &Word<'_>| word.kind != WordKind::Dynamic;
    // `find . -name x -delete` is ordinary; without a test it deletes everything here.
    let vast = starts.iter().any(|word| vast(word) && (!everything(word) || !tests) && known(word));
    vast || !tests && starts.iter().any(history) || starts.is_empty() && !tests
}

/// Returns true when an action of find deletes what it finds.
pub(crate) fn removes(words: &[Word<'_>]) -> bool {
    words.iter().enumerate().any(|(at, word)| match &*word.text {
        "-delete" => true,
        text if listed(EXECUTES, text) => {
            words.get(at + 1).is_some_and(|w| listed("rm shred unlink srm", base(&w.text)))
        }
        _ => false,
    })
}

/// Returns the words in which find starts, behind the options that come before them.
pub(crate) fn starts<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let mut rest = words;
    while let Some((first, more)) = rest.split_first() {
        rest = match &*first.text {
            "-H" | "-L" | "-P" => more,
            "-D" => more.get(1..).unwrap_or_default(),
            text if text.starts_with("-O") => more,
            _ => break,
        };
    }
    let end = rest.iter().position(|w| w.text.starts_with(['-', '(', '!']));
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}
