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

use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::known::FAMILIES;
use crate::shell::Word;
pub(crate) use crate::words::{Words, begins, each, ends, listed};

/// Returns true for a command whose program has this role.
pub(crate) fn is(argv: &[Word<'_>], role: Role) -> bool {
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

/// Returns the description of the program that `RM` is where file names ignore case.
pub(crate) fn in_capitals(name: &str) -> Option<&'static Program> {
    let is_odd = name.bytes().any(|byte| byte.is_ascii_uppercase()) && of(name).is_none();
    is_odd.then(|| of(&name.to_ascii_lowercase())).flatten()
}

/// Returns the name of a program without its directory.
#[must_use]
pub fn base(name: &str) -> &str {
    let slash = name.bytes().rposition(|b| b == b'/');
    slash.and_then(|at| name.get(at + 1..)).unwrap_or(name)
}

pub(crate) const FETCHED: &str = "runs code that it downloads or decodes";
pub(crate) const LEAKS: &str = "sends secrets or private files to another host";
pub(crate) const REMOTE: &str = "gives another host a shell here";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::collections::HashSet;

    use crate::facts::programs::{FAMILIES, exact, of};

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
}
