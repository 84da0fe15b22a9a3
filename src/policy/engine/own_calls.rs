//! Calls of programs that the operator describes, anywhere in a text.

use std::borrow::Cow;

use crate::engine::critical::{self, CriticalMatch};
use crate::engine::part_decision::{PartDecision, quote};
use crate::facts::effects::{self, Effect};
use crate::facts::paths::{self, Directories};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::Access;
use crate::facts::programs::own::{OperatorProgram, OwnPrograms};
use crate::facts::wrappers::{Effort, Inner, base, unwrap};
use crate::facts::{obeyed, shorten};
use crate::rules::verdict::Verdict;
use crate::shell::{Command, RedirectOp, Scan, Via, Word, scan_as};

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;

/// One such call.
pub(crate) struct OwnCall<'c> {
    program: &'c OperatorProgram,
    argv: Vec<Word<'c>>,
}

/// Finds all such calls. What they run is added to the text as commands of their own, which need
/// rules too.
pub(crate) fn find<'c>(scan: &mut Scan<'c>, own: &'c OwnPrograms) -> Vec<OwnCall<'c>> {
    let mut calls = Vec::new();
    if own.is_empty() {
        return calls;
    }
    let mut run = Vec::new();
    for command in scan.commands.iter().filter(|command| command.via != Via::Guess) {
        let before = calls.len();
        let effort = Effort::of(&command.argv);
        walk(&command.argv, command, own, &effort, 0, &mut calls);
        for call in calls.iter().skip(before) {
            let args = call.argv.get(1..).unwrap_or_default();
            // Assignments and redirects belong to the outer command and are decided there.
            run.extend(call.program.inner(args).map(|inner| Command {
                argv: inner.to_vec(),
                assigns: Vec::new(),
                redirects: Vec::new(),
                ..command.clone()
            }));
        }
    }
    scan.commands.extend(run);
    calls
}

fn walk<'c>(
    argv: &[Word<'_>],
    command: &Command<'_>,
    own: &'c OwnPrograms,
    effort: &Effort,
    depth: u32,
    calls: &mut Vec<OwnCall<'c>>,
) {
    let Some((first, args)) = argv.split_first() else { return };
    if depth > MAX_DEPTH || !effort.spend(argv) {
        return;
    }
    if let Some(program) = first.literal().and_then(|path| own.of(base(path))) {
        // Offsets in an inner script mean nothing for the card, which shows the outer command.
        let at = command.argv.first().map_or(0..0, |word| word.span.clone());
        let word = |word: &Word<'_>| Word {
            text: Cow::Owned(word.text.to_string()),
            kind: word.kind,
            quoted: word.quoted,
            span: at.clone(),
        };
        calls.push(OwnCall { program, argv: argv.iter().map(word).collect() });
        if let Some(inner) = program.inner(args) {
            walk(inner, command, own, effort, depth + 1, calls);
        }
    }
    for inner in unwrap(argv).into_iter().flat_map(|found| found.inner) {
        match inner {
            Inner::Argv { argv, .. } => walk(argv, command, own, effort, depth + 1, calls),
            Inner::Script { text, dialect } => {
                let scan = scan_as(&text, dialect);
                for one in &scan.commands {
                    walk(&one.argv, command, own, effort, depth + 1, calls);
                }
            }
            Inner::Input(dialect) => {
                let here = |op| matches!(op, RedirectOp::HereDocument | RedirectOp::HereString);
                let body = command.redirects.iter().rev().find(|redirect| here(redirect.op));
                let scan = body.and_then(|r| r.target.literal()).map(|text| scan_as(text, dialect));
                for one in scan.iter().flat_map(|scan| &scan.commands) {
                    walk(&one.argv, command, own, effort, depth + 1, calls);
                }
            }
            Inner::File | Inner::Unknown => {}
        }
    }
}

impl OwnCall<'_> {
    fn args(&self) -> &[Word<'_>] {
        self.argv.get(1..).unwrap_or_default()
    }

    fn changed(&self) -> impl Iterator<Item = &Word<'_>> {
        let files = self.program.files(self.args()).into_iter();
        files.filter(|(access, _)| *access != Access::Read).map(|(_, word)| word)
    }

    /// Returns why the call is critical.
    pub(crate) fn critical(&self) -> Option<CriticalMatch> {
        let said = self.program.critical(&Arguments::new(self.args()));
        let reason = match said {
            Some(why) => Cow::Owned(why.to_owned()),
            None => Cow::Borrowed(self.changed().find_map(critical::target)?),
        };
        let span = self.argv.first().map_or(0..0, |word| word.span.clone());
        Some(CriticalMatch { reason, span })
    }

    /// Returns the effects of the call.
    pub(crate) fn effects(&self, dirs: Directories<'_>) -> Vec<Effect> {
        let files = self.program.files(self.args());
        effects::of_files(&files, &self.program.reaches, dirs)
    }

    /// Asks when the call changes a file outside the project, or one that others run or obey.
    fn reaches_out<'r>(&self, dirs: Directories<'_>) -> Option<PartDecision<'r>> {
        let out = self.changed().find(|word| match paths::of_word(word, dirs) {
            Some(path) => {
                !paths::sink(&path) && (paths::outside(&path, dirs) || obeyed::is_obeyed(&path))
            }
            None => true,
        })?;
        let what = shorten(&out.text, 60);
        Some(PartDecision::ask([&quote(&self.argv), " changes ", &what, "."].concat()))
    }
}

/// Returns the stricter of the decision and what is found about such calls.
pub(crate) fn hold<'r>(
    calls: &[OwnCall<'_>],
    dirs: Directories<'_>,
    part: PartDecision<'r>,
) -> PartDecision<'r> {
    // Only an allow can be held back.
    if part.verdict != Verdict::Allow {
        return part;
    }
    calls.iter().find_map(|call| call.reaches_out(dirs)).unwrap_or(part)
}
