//! Scripts on the command line of sed, awk, jq and yq.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::languages::{awk, jq, sed};
use crate::facts::programs::reading::Reading;
use crate::facts::reads::scripts::scripts;
use crate::facts::reads::words::SortedWords;

const UNSEEN: &str = "a word that is only known when it runs may be an option or script of it";
const REACHES: &str = "its script may run a program, or read or write a file";

/// Checks sed for files edited in place, its options, and its script.
pub(crate) fn sed(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.short("i", "efl") || args.long("--in-place") {
        let files = args.operands("-e -f --expression --file");
        let explicit = args.short("e", "fl") || args.long("--expression");
        let outside = files.iter().skip(usize::from(!explicit)).any(|w| args.outside(w));
        if outside || args.open {
            return Some("it edits files outside the project in place");
        }
        return Some("it edits files in place");
    }
    reaches(&sed::FORM, args)
}

/// Checks the options and the program of awk.
pub(crate) fn awk(args: &Arguments<'_, '_>) -> Option<&'static str> {
    // gawk connects to a host by such a name.
    if args.any(|text| text.starts_with("/inet")) {
        return Some("it contacts a host");
    }
    reaches(&awk::FORM, args)
}

/// Checks the options and the filter of jq.
pub(crate) fn jq(args: &Arguments<'_, '_>) -> Option<&'static str> {
    reaches(&jq::FORM, args)
}

/// Checks the expression of yq, which is close to a filter of jq.
pub(crate) fn yq(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let words = args.operands("-p -o -I --indent --input-format --output-format");
    let mut words =
        words.iter().skip_while(|w| matches!(&*w.text, "e" | "eval" | "ea" | "eval-all"));
    let expression = words.next()?;
    (!expression.literal().is_some_and(jq::reads)).then_some(REACHES)
}

/// FAIL-CLOSED: an option that is not known, or a script that is not certainly harmless, goes
/// beyond a wildcard.
fn reaches(form: &Reading, args: &Arguments<'_, '_>) -> Option<&'static str> {
    if matches!(args.words, [one] if matches!(one.literal(), Some("--version" | "--help"))) {
        return None;
    }
    if args.uncertain() {
        return Some(UNSEEN);
    }
    let harmless = |words: SortedWords<'_, '_>| scripts(form.operands, &words).is_some();
    (!SortedWords::of(form, args.words).is_some_and(harmless)).then_some(REACHES)
}
