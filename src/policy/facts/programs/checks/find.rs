//! The actions of find.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::name::base;
use crate::facts::programs::sensitive::{everything, vast};
use crate::facts::programs::words::listed;
use crate::shell::{Word, WordKind};

const UNSEEN: &str = "a word that is only known when it runs may be an action of it";
const TESTS: &str = "-name -iname -path -regex -mtime -mmin -size -empty -newer -type";

/// Checks find for actions of its own; the wrappers look behind `-exec`.
pub(crate) fn acts(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let acts = args.any(|text| {
        matches!(text, "-delete" | "-fprint" | "-fprint0" | "-fprintf" | "-fls")
            || text.starts_with("-files0")
    });
    if acts {
        return Some("an action of find deletes or writes");
    }
    args.uncertain().then_some(UNSEEN)
}

/// Checks whether find deletes from a root, a home or a folder of the system.
pub(crate) fn deletes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut rest = args.words;
    let mut deletes = false;
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        deletes |= match &*word.text {
            "-delete" => true,
            "-exec" | "-execdir" | "-ok" => {
                more.first().is_some_and(|w| listed("rm shred unlink srm", base(&w.text)))
            }
            _ => false,
        };
    }
    let tests = args.has(TESTS);
    let starts = args.words.iter().take_while(|w| !w.text.starts_with(['-', '(', '!']));
    let known = |word: &Word<'_>| word.kind != WordKind::Dynamic;
    // `find . -name x -delete` is ordinary; without a test it deletes everything here.
    let vast =
        starts.clone().any(|word| vast(word) && (!everything(word) || !tests) && known(word));
    let here = starts.count() == 0 && !tests;
    (deletes && (vast || here))
        .then_some("deletes what it finds in a root, a home or a system directory")
}
