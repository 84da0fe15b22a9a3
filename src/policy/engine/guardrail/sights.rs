//! What of a call somebody should look at who can see the host.

use std::borrow::Cow;
use std::collections::HashSet;

use super::judge::joined;
use super::route::UNKNOWN;
use super::site::{Bases, Operand, Sink};
use super::spelling::{Expansions, pieces};
use crate::facts::links::Sights;
use crate::shell::{Word, WordKind};

/// More paths than this are not looked at one by one.
const MOST: usize = 4096;

/// Collects paths and programs.
pub(super) struct Collector<'h> {
    pub(super) home: Option<&'h str>,
    pub(super) sights: Sights,
    pub(super) seen: HashSet<String>,
}

impl Collector<'_> {
    pub(super) fn path(&mut self, path: String) {
        // The kernel's links mean the process that opens them.
        if path.contains(UNKNOWN) || path.starts_with("/proc/self") || path.len() > 4096 {
            return;
        }
        if self.seen.len() >= MOST {
            self.sights.is_cut = true;
        } else if self.seen.insert(path.clone()) {
            self.sights.paths.push(path);
        }
    }
}

impl Sink for Collector<'_> {
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>) {
        for operand in operands {
            let expansions = Expansions { home: self.home, variables: operand.is_dynamic };
            for piece in pieces(operand.text) {
                for spelling in expansions.of(piece) {
                    let root = [Cow::Borrowed("/")];
                    let rooted = spelling.text.starts_with('/');
                    for base in if rooted { &root[..] } else { &bases.sure } {
                        self.path(joined(base, &spelling.text));
                    }
                }
            }
            if self.is_done() {
                return;
            }
        }
    }

    fn text(&mut self, _text: &str, _bases: &Bases<'_>) {}

    fn command(&mut self, argv: &[Word<'_>]) {
        let Some(first) = argv.first() else { return };
        if !matches!(first.kind, WordKind::Literal | WordKind::Home) {
            return;
        }
        let name = &*first.text;
        if self.sights.programs.len() < 256
            && !self.sights.programs.iter().any(|known| known == name)
        {
            self.sights.programs.push(name.to_owned());
        }
    }

    fn is_done(&self) -> bool {
        self.sights.is_cut
    }
}
