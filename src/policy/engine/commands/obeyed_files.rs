//! Files that others run or obey, among those that a command writes.

use crate::engine::commands::behind::inner;
use crate::engine::commands::judge::Judge;
use crate::engine::part_decision::PartDecision;
use crate::facts::access::{self, Access};
use crate::facts::programs::description::Files::Transfer;
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::facts::wrappers::{Unwrapped, base};
use crate::facts::{obeyed, programs};
use crate::shell::{Command, Word};

impl<'r> Judge<'r, '_> {
    /// Asks when a command writes, or gives permissions to, a file that others run or obey. No rule
    /// for the command covers such a file.
    pub(super) fn obeyed_files(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
    ) -> PartDecision<'r> {
        let all = std::iter::once(&*command.argv).chain(inner(behind));
        let mut paths = all.flat_map(written).filter(|path| obeyed::is_obeyed(path));
        // A rule that names the file without a wildcard covers it.
        let unnamed = |path: &String| {
            let value = Value { text: path.clone(), is_path: true, is_leaf: false, access: None };
            !self.files.writes().value(Kind::Write, &value, self.dirs).names_a_file()
        };
        match paths.find(unnamed) {
            Some(path) => self.obeyed(&path),
            None => PartDecision::allow(None),
        }
    }

    pub(super) fn obeyed(&self, path: &str) -> PartDecision<'r> {
        self.ask(|| obeyed::sentence(path))
    }
}

/// Returns the paths that a command writes or gives permissions to. A file copied into a folder
/// counts under its name there.
pub(crate) fn written(argv: &[Word<'_>]) -> Vec<String> {
    let all = access::of_command(argv);
    let text = |word: &Word<'_>| word.text.strip_prefix("of=").unwrap_or(&word.text).to_owned();
    let targets: Vec<String> = all
        .iter()
        .filter(|(access, _)| matches!(access, Access::Write | Access::Rights))
        .map(|(_, word)| text(word))
        .collect();
    let sources = all.iter().filter(|(access, _)| matches!(access, Access::Read | Access::Move));
    let (Some(to), Some(name)) = (targets.first(), argv.first()) else { return targets };
    let program = programs::exact(base(&name.text));
    if !program.is_some_and(|program| matches!(program.files, Transfer(_))) {
        return targets;
    }
    // `cp evil.js .husky` writes `.husky/evil.js`; `cp Makefile sub` writes `sub/Makefile`.
    let within = sources.map(|(_, word)| format!("{to}/{}", base(&word.text)));
    let within: Vec<String> = within.collect();
    targets.into_iter().chain(within).collect()
}
