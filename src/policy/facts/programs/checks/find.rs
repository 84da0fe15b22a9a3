//! The actions of find.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::name::base;
use crate::facts::programs::sensitive::{everything, vast};
use crate::facts::programs::words::listed;
use crate::shell::{Word, WordKind};

const UNSEEN: &str = "a word that is only known when it runs may be an action of it";
const TESTS: &str = "-name -iname -path -regex -mtime -mmin -size -empty -newer -type";

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
pub(crate) fn acts(args: &Arguments<'_, '_>) -> Option<&'static str> {
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
pub(crate) fn deletes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let tests = args.has(TESTS);
    let starts = starts(args.words);
    let known = |word: &Word<'_>| word.kind != WordKind::Dynamic;
    // `find . -name x -delete` is ordinary; without a test it deletes everything here.
    let vast = starts.iter().any(|word| vast(word) && (!everything(word) || !tests) && known(word));
    let here = starts.is_empty() && !tests;
    (removes(args.words) && (vast || here))
        .then_some("deletes what it finds in a root, a home or a system directory")
}

/// Returns true when an action of find deletes what it finds.
pub(crate) fn removes(words: &[Word<'_>]) -> bool {
    words.iter().enumerate().any(|(at, word)| match &*word.text {
        "-delete" => true,
        "-exec" | "-execdir" | "-ok" | "-okdir" => {
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
