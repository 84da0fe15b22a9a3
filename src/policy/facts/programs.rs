//! The descriptions of command-line programs, one for each.
//!
//! `known/` holds them by family, each with the checks that no list can express, `languages/` the
//! readers of scripts. Unwrapping, effects, critical patterns, the class of reading calls and Always
//! use these descriptions and know no program themselves.

pub(crate) mod arguments;
pub(crate) mod changes;
pub(crate) mod condition;
pub(crate) mod description;
pub(crate) mod getopt;
pub(crate) mod input;
pub(crate) mod known;
pub(crate) mod languages;
pub(crate) mod own;
pub(crate) mod sensitive;
pub(crate) mod wide;

use std::sync::LazyLock;

use memchr::memmem;

use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::known::FAMILIES;
use crate::shell::Word;

/// Returns true for a program that obeys settings in its working folder.
pub(crate) fn obeys_folder(argv: &[Word<'_>]) -> bool {
    is(argv, Role::ObeysFolder)
}

/// Returns true for a wrapper that may write the output of its command to a file of its own.
pub(crate) fn keeps_output(argv: &[Word<'_>]) -> bool {
    is(argv, Role::KeepsOutput)
}

fn is(argv: &[Word<'_>], role: Role) -> bool {
    let program = argv.first().and_then(|first| exact(base(&first.text)));
    program.is_some_and(|program| program.is(role))
}

// Finds the description of a program by its name.

/// Number of slots: some 800 names leave most slots free, so that the first probe usually hits.
const SLOTS: usize = 1 << 12;
/// The shift that leaves as many of 64 bits as number the slots.
const SHIFT: u32 = 64 - SLOTS.ilog2();

/// Every name with its description, and the name prefixes (`python*`).
struct Index {
    slots: Vec<Option<(&'static str, &'static Program)>>,
    beginnings: Vec<(&'static str, &'static Program)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { slots: vec![None; SLOTS], beginnings: Vec::new() };
    for program in FAMILIES.iter().copied().flatten() {
        for name in program.names.split(' ') {
            match name.strip_suffix('*') {
                Some(beginning) => index.beginnings.push((beginning, program)),
                None => index.insert(name, program),
            }
        }
    }
    index
});

impl Index {
    fn insert(&mut self, name: &'static str, program: &'static Program) {
        let free = probes(name).find(|at| self.slots.get(*at).is_some_and(Option::is_none));
        if let Some(slot) = free.and_then(|at| self.slots.get_mut(at)) {
            *slot = Some((name, program));
        }
    }

    fn find(&self, name: &str) -> Option<&'static Program> {
        for at in probes(name) {
            let (known, program) = (*self.slots.get(at)?)?;
            if known == name {
                return Some(program);
            }
        }
        None
    }
}

/// Returns the slots where a name may be, the likeliest first.
// A hash that mixes every byte well costs more than the rest of the work on most names. The first
// eight bytes and the length distinguish nearly all of them.
fn probes(name: &str) -> impl Iterator<Item = usize> {
    let first = name.bytes().take(8).fold(0_u64, |hash, byte| hash << 8 | u64::from(byte));
    let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
    // The multiplier is 2^64 divided by the golden ratio, which spreads names that differ in one
    // byte.
    let mixed = (first ^ length << 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> SHIFT;
    let start = usize::try_from(mixed).unwrap_or_default();
    (0..SLOTS).map(move |step| (start + step) % SLOTS)
}

/// Returns the description of the program with exactly this name.
pub(crate) fn exact(name: &str) -> Option<&'static Program> {
    INDEX.find(name)
}

/// Returns the description of the program with this name or a matching name prefix.
pub(crate) fn of(name: &str) -> Option<&'static Program> {
    exact(name).or_else(|| {
        let mut all = INDEX.beginnings.iter();
        all.find(|(beginning, _)| name.starts_with(beginning)).map(|(_, program)| *program)
    })
}

/// Returns the name of a program without its directory.
#[must_use]
pub fn base(name: &str) -> &str {
    let slash = name.bytes().rposition(|b| b == b'/');
    slash.and_then(|at| name.get(at + 1..)).unwrap_or(name)
}

// Word lists in the form that descriptions use.

/// Words separated by blanks.
pub(crate) type Words = &'static str;

/// Iterates over the words of a list.
// As bytes: splitting a text by a character takes several times as long, and most facts about a
// program are looked up in such lists.
pub(super) fn each(list: &str) -> impl Iterator<Item = &[u8]> {
    list.as_bytes().split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// Lists longer than this are searched as a whole first.
const LONG: usize = 48;

/// Returns true when a word is in the list.
// Most words are in no list. In a long list, one search of the whole text shows that; in a short
// one, comparing first bytes is faster.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    let [first, ..] = word.as_bytes() else { return false };
    if list.len() > LONG && memmem::find(list.as_bytes(), word.as_bytes()).is_none() {
        return false;
    }
    let mut rest = list.as_bytes();
    while rest.len() >= word.len() {
        if rest.first() == Some(first)
            && let Some([] | [b' ', ..]) = rest.strip_prefix(word.as_bytes())
        {
            // A word that contains a blank is not in the list, even if its parts are.
            return !word.contains(' ');
        }
        let Some(blank) = rest.iter().position(|byte| *byte == b' ') else { return false };
        rest = rest.get(blank + 1..).unwrap_or_default();
    }
    false
}

/// Returns true when a text starts with a word of the list.
pub(crate) fn begins(list: &str, text: &str) -> bool {
    each(list).any(|one| text.as_bytes().starts_with(one))
}

/// Returns true when a text ends with a word of the list.
pub(crate) fn ends(list: &str, text: &str) -> bool {
    each(list).any(|one| text.as_bytes().ends_with(one))
}

pub(crate) const FETCHED: &str = "runs code that it downloads or decodes";
pub(crate) const LEAKS: &str = "sends secrets or private files to another host";
pub(crate) const REMOTE: &str = "gives another host a shell here";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::collections::HashSet;

    use crate::facts::programs::{FAMILIES, begins, ends, exact, listed, of};

    #[test]
    fn every_program_is_described_once_and_found() {
        let mut seen = HashSet::new();
        for program in FAMILIES.iter().copied().flatten() {
            for name in program.names.split(' ') {
                assert!(seen.insert(name), "{name} is described twice");
                let found = of(name.trim_end_matches('*')).unwrap();
                assert!(std::ptr::eq(found, program) || name.ends_with('*'), "{name}");
            }
        }
        assert!(seen.len() > 500);
    }

    #[test]
    fn a_beginning_stands_for_all_names_that_begin_so() {
        assert!(of("mkfs.ext4").is_some() && of("python3.12").is_some());
        assert!(exact("python3.12").is_none() && of("mkf").is_none());
    }

    #[test]
    fn a_list_holds_its_words_and_no_part_of_one() {
        for word in ["push", "ls-remote", "x"] {
            assert!(listed("push ls-remote x", word), "{word}");
        }
        for word in ["", " ", "pus", "remote", "ls", "ls-remote x", "push ls-remote x "] {
            assert!(!listed("push ls-remote x", word), "{word}");
        }
        assert!(!listed("", "x") && !begins("", "x") && !ends("", "x"));
        assert!(begins("-o --out", "--output") && ends(":rm :delete", "db:rm"));
    }
}
