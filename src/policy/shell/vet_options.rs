//! `set` and `shopt`: options of the shell itself.

use super::Word;
use super::vetted::Vetted;

/// Checks `set`. Options like `-e` are plain; words behind `--` are positional parameters.
pub(super) fn vet_set(args: &[Word<'_>]) -> Vetted {
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.literal() {
            Some("--") => return Vetted::Plain,
            Some(text) if text.starts_with(['-', '+']) => {
                let flags = text.get(1..).unwrap_or_default();
                // Left out on purpose: `-k` takes assignments from anywhere in a command, `-H`
                // expands history.
                if !flags.chars().all(|c| "efuxvaCbmBEo".contains(c)) {
                    return Vetted::Doubtful;
                }
                if flags.ends_with('o')
                    && !args.next().and_then(Word::literal).is_some_and(|o| {
                        matches!(
                            o,
                            "pipefail"
                                | "errexit"
                                | "nounset"
                                | "xtrace"
                                | "noglob"
                                | "noclobber"
                                | "verbose"
                                | "errtrace"
                        )
                    })
                {
                    return Vetted::Doubtful;
                }
                if flags.trim_end_matches('o').contains('o') {
                    return Vetted::Doubtful;
                }
            }
            Some(_) => return Vetted::Plain,
            None => return Vetted::Doubtful,
        }
    }
    Vetted::Plain
}

/// Checks `shopt`: queries are plain, and options that only change globbing and exit codes.
pub(super) fn vet_shopt(args: &[Word<'_>]) -> Vetted {
    let sets =
        |w: &Word<'_>| w.literal().is_none_or(|w| w.starts_with('-') && w.contains(['s', 'u']));
    if !args.iter().any(sets) {
        return Vetted::Plain;
    }
    let harmless = args.iter().all(|word| {
        word.literal().is_some_and(|text| {
            matches!(
                text,
                "-s" | "-u"
                    | "-q"
                    | "nullglob"
                    | "globstar"
                    | "dotglob"
                    | "failglob"
                    | "nocaseglob"
                    | "nocasematch"
                    | "inherit_errexit"
                    | "lastpipe"
                    | "checkwinsize"
            )
        })
    });
    if harmless { Vetted::Plain } else { Vetted::Doubtful }
}
