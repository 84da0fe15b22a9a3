//! The paths and programs that a caller with access to the host should look up.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::engine::guardrail::route::UNKNOWN;
use crate::engine::guardrail::site::{Bases, Operand, Sink, joined};
use crate::engine::guardrail::spelling::{Expansions, pieces};
use crate::engine::guardrail::walk::walk;
use crate::facts::call::Call;
use crate::facts::links::Sights;
use crate::facts::paths::{self, Directories};
use crate::facts::programs;
use crate::facts::tools::Kind;
use crate::facts::values::paths_of;
use crate::shell::{Word, WordKind};

/// Returns the paths and programs that a call may name, for a caller that can look up their targets
/// and pass them to [`crate::follow`].
#[must_use]
pub fn sights(call: &Call) -> Sights {
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let sights = Sights {
        files: paths_of(call).into_iter().filter(|path| path.starts_with('/')).collect(),
        cwd: call.cwd.clone(),
        home: call.home.clone(),
        ..Sights::default()
    };
    let mut collector = Collector { home: dirs.home, sights, seen: HashSet::new() };
    // The working directory may itself be a link.
    if let Some(cwd) = dirs.cwd {
        collector.path(cwd.to_owned());
    }
    for path in paths_of(call) {
        collector.path(path);
    }
    if call.kind() == Kind::Question {
        return collector.sights;
    }
    let scan = call.scan();
    let scan = scan.as_ref().map(|(text, scan)| (*text, scan));
    walk(call, scan, dirs, &mut collector);
    collector.sights
}

/// Limit on the paths that are looked up.
const MOST: usize = 4096;

/// Collects paths and programs.
struct Collector<'h> {
    home: Option<&'h str>,
    sights: Sights,
    seen: HashSet<String>,
}

impl Collector<'_> {
    fn path(&mut self, path: String) {
        // Without a folder nobody knows where a relative path begins, and it is not the root.
        let is_known = path.starts_with('/') && !path.contains(UNKNOWN);
        if !is_known || of_its_opener(&path) || path.len() > 4096 {
            return;
        }
        if self.seen.len() >= MOST {
            self.sights.is_cut = true;
        } else if self.seen.insert(path.clone()) {
            self.sights.paths.push(path);
        }
    }
}

/// Returns true for the kernel's links that refer to the process that opens them. Looked up here,
/// `/dev/stderr` would be a file of the daemon.
fn of_its_opener(path: &str) -> bool {
    const OWN: &[&str] =
        &["/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
    // Behind a link, `..` leads elsewhere than its text says.
    let plain = !path.split('/').any(|part| part == "..");
    let path = paths::clean(path, Directories::default());
    plain && OWN.iter().any(|own| paths::within(&path, own))
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
        self.sights.obeys_folder |= programs::obeys_folder(argv);
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

#[cfg(test)]
mod tests {
    use crate::engine::guardrail::sights::sights;
    use crate::facts::call::Call;

    #[test]
    fn links_of_the_process_that_opens_them_are_not_looked_up() {
        let call = Call {
            cwd: Some("/w".to_owned()),
            ..Call::shell(
                "echo x < notes > /dev/stderr; cat /dev/./fd/3 //dev/stdin /proc/self/fd/0 a/../b",
            )
        };
        assert_eq!(sights(&call).paths, ["/w", "/w/x", "/w/notes", "/w/a/../b"]);
    }
}
