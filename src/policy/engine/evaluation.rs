//! Evaluates the layers of rules for a call: the strictest of all its parts.

use std::borrow::Cow;

use crate::engine::commands::Judge;
use crate::engine::critical::{self, CriticalMatch};
use crate::engine::decision::{Layers, Mode, Subject};
use crate::engine::files;
use crate::engine::stack::{Hit, Stack};
use crate::facts::effects::{self, Effect};
use crate::facts::paths::{self, Directories};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::Access;
use crate::facts::programs::own::{OperatorProgram, OwnPrograms};
use crate::facts::tools::Kind;
use crate::facts::values::{self, Value};
use crate::facts::wrappers::{Effort, Inner, Unwrapped, base, unwrap};
use crate::facts::{arguments, obeyed, shorten};
use crate::rules::verdict::Verdict;
use crate::rules::{RuleEntry, Rules};
use crate::shell::{Command, Scan, Via, Word, scan_as};

/// The decision on a whole call.
pub(crate) struct CallDecision<'r> {
    pub(crate) part: PartDecision<'r>,
    pub(crate) critical: Option<CriticalMatch>,
    /// A rule denies or asks for some calls of the tool.
    pub(super) guarded: bool,
}

impl<'c> Subject<'c> {
    /// Evaluates the rules, before the agent's mode and the guardrail.
    pub(super) fn evaluate<'r>(&self, layers: &Layers<'r>, mode: Mode) -> CallDecision<'r> {
        let behind = self.behind();
        let critical = match &self.scan {
            // The operator's words on a program say more than ours on any.
            Some((_, scan)) => {
                let own = self.own.iter().find_map(|call| call.critical());
                own.or_else(|| critical::among(scan, &behind))
            }
            None => {
                let call = self.call;
                files::critical(call.kind(), &self.values, &call.resolved, self.dirs)
            }
        };
        let own = [layers.rules, layers.grants];
        let with_agent = layers.agent.map(|agent| [agent, layers.rules, layers.grants]);
        let all: &[&'r Rules] = with_agent.as_ref().map_or(&own, |all| all);
        let (part, guarded) = self.weigh(all, layers, &behind);
        let part = self
            .vetoes(layers, &behind)
            .fold(part, |part, veto| if veto.verdict > part.verdict { veto } else { part });
        let part = hold(&self.own, self.dirs, part);
        // Each check below can turn an allow into an ask; a deny always stays.
        let part = match &critical {
            Some(found) if part.verdict == Verdict::Allow => PartDecision::ask(found.sentence()),
            // Why no rule allows it tells a person nothing about the danger, and nor does the first
            // thing that asks, such as another user.
            Some(found)
                if part.by_default || part.verdict == Verdict::Ask && part.rule.is_none() =>
            {
                PartDecision { reason: found.sentence().into(), by_default: false, ..part }
            }
            _ => part,
        };
        let part = match self.reads_through_a_link(all) {
            Some(path) if part.verdict == Verdict::Allow => PartDecision::ask(format!(
                "{} is a link to a secret or out of the project folder.",
                shorten(path, 80)
            )),
            _ => part,
        };
        let part = match arguments::odd(self.call) {
            Some(odd) if part.verdict != Verdict::Deny => {
                PartDecision { rule: part.rule, ..PartDecision::blind(odd) }
            }
            _ => part,
        };
        let mut decision = CallDecision { part, critical, guarded };
        self.questions_ask(&mut decision);
        // Last, so that the reason can name the ask that was lifted.
        if mode == Mode::Yolo {
            self.loosen(&mut decision);
        }
        decision
    }

    /// Iterates over the denies of the operator and of the agent's own rules. Each layer is
    /// evaluated alone, so that nothing lifts its denies.
    pub(super) fn vetoes<'r>(
        &self,
        layers: &Layers<'r>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> impl Iterator<Item = PartDecision<'r>> {
        let operator = Some(&layers.guardrail.denies).filter(|denies| !denies.is_empty());
        operator.into_iter().chain(layers.agent).filter_map(|alone| {
            let (part, _) = self.weigh(&[alone], layers, behind);
            (part.verdict == Verdict::Deny).then_some(part)
        })
    }

    /// Returns a path of a shell text that is in the project but leads out of it, when rules allow
    /// reading there. The paths of other tools are among their values.
    fn reads_through_a_link(&self, all: &[&Rules]) -> Option<&'c str> {
        self.scan.as_ref().filter(|_| all.iter().any(|rules| rules.allows_reading()))?;
        let cwd = self.dirs.cwd?;
        let real = self.call.links.places(cwd);
        // The working directory may itself be a link; both spellings are inside.
        let inside = |path: &str| {
            !paths::outside(path, self.dirs) || real.iter().any(|real| paths::within(path, real))
        };
        // SECURITY: what has the name of a secret itself can be listed, so it may not leave either.
        let is_away = |path: &str, place: &str| {
            let secret = |path| paths::secret(path, self.dirs);
            !inside(place) || secret(place) && !secret(path)
        };
        self.call.links.leaving(inside, is_away)
    }

    // INVARIANT: no rule answers a question for a person.
    fn questions_ask(&self, decision: &mut CallDecision<'_>) {
        if self.call.kind() == Kind::Question && decision.part.verdict == Verdict::Allow {
            decision.part = PartDecision::ask("A question is answered by a person.");
        }
    }

    fn loosen(&self, decision: &mut CallDecision<'_>) {
        // Yolo lifts asks, but not an ask for a text that nobody could read while some rule guards
        // a part of the tool: it may hide just that part.
        let unread = decision.part.blind && decision.guarded;
        if decision.part.verdict == Verdict::Ask && self.call.kind() != Kind::Question && !unread {
            let reason = "Allowed: yolo mode is on (your rules would ask).".into();
            decision.part = PartDecision { reason, ..PartDecision::allow(decision.part.rule) };
        }
    }

    /// Returns the verdict of the rules alone: a critical call is covered by a rule, too.
    pub(super) fn covered(&self, layers: &Layers<'_>) -> Verdict {
        let (part, _) = self.weigh(&[layers.rules], layers, &self.behind());
        let part = hold(&self.own, self.dirs, part);
        match arguments::odd(self.call) {
            Some(_) => part.verdict.max(Verdict::Ask),
            None => part.verdict,
        }
    }

    /// Returns the decision of a set of layers, and whether its rules guard some calls of the tool.
    fn weigh<'r>(
        &self,
        all: &[&'r Rules],
        layers: &Layers<'r>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> (PartDecision<'r>, bool) {
        let now_ms = layers.now_ms;
        let own = layers.rules.programs();
        let stack = Stack::new(&self.call.tool, self.call.canonical_tool(), now_ms, all);
        let stack = stack.with_own(own);
        let guarded = stack.guarded();
        let part = match &self.scan {
            Some((text, scan)) => {
                let judge = Judge::new(stack, all, now_ms, self.dirs, &self.call.links);
                judge.text(text, scan, behind)
            }
            None if arguments::views(self.call) => {
                // An editing tool that views a file reads it.
                let reads = Stack::new("read_file", "read_file", now_ms, all);
                let read = self.values(&reads);
                let part = self.values(&stack);
                if read.verdict == Verdict::Deny && read.rule.is_some() { read } else { part }
            }
            None => self.values(&stack),
        };
        (part, guarded)
    }
}

/// A verdict on a part of a call.
#[derive(Clone, Debug)]
pub(crate) struct PartDecision<'r> {
    pub(crate) verdict: Verdict,
    pub(crate) rule: Option<&'r RuleEntry>,
    /// A sentence; empty for an allow.
    pub(crate) reason: Cow<'static, str>,
    /// The ask is due to something that could not be read.
    pub(crate) blind: bool,
    /// Nothing but the default asks, so that any other reason says more.
    pub(super) by_default: bool,
}

impl<'r> PartDecision<'r> {
    pub(crate) fn allow(rule: Option<&'r RuleEntry>) -> Self {
        Self { verdict: Verdict::Allow, rule, ..Self::ask("") }
    }

    pub(crate) fn ask(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            verdict: Verdict::Ask,
            rule: None,
            reason: reason.into(),
            blind: false,
            by_default: false,
        }
    }

    pub(crate) fn blind(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { blind: true, ..Self::ask(reason) }
    }

    pub(crate) fn deny(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { verdict: Verdict::Deny, ..Self::ask(reason) }
    }

    /// Creates the decision of the winning rule about `subject`.
    pub(crate) fn of(hit: Hit<'r>, subject: impl FnOnce() -> String) -> Self {
        let reason = match (hit.verdict, hit.entry, hit.maybe) {
            (Verdict::Allow, entry, _) => return Self::allow(entry),
            (Verdict::Ask, _, Some(maybe)) => {
                let known = ": one of its words is only known when it runs.";
                ["The rule ", &maybe.label, " may ask for ", &subject(), known].concat()
            }
            (Verdict::Ask, Some(entry), None) if !entry.pattern.is_all() => {
                ["The rule ", &entry.label, " asks for ", &subject(), "."].concat()
            }
            // A rule for everything is the default of its file; the card names it in its details.
            (Verdict::Ask, ..) => ["No rule allows ", &subject(), " (default: ask)."].concat(),
            (Verdict::Deny, Some(entry), _) => {
                ["The rule ", &entry.label, " denies ", &subject(), "."].concat()
            }
            (Verdict::Deny, None, _) => {
                ["No rule allows ", &subject(), " (default: deny)."].concat()
            }
        };
        // An ask names the rule that may match, because that is what the person has to judge.
        let rule = match hit.verdict {
            Verdict::Ask => hit.maybe.or(hit.entry),
            _ => hit.entry,
        };
        let named = hit.maybe.is_some() || hit.entry.is_some_and(|it| !it.pattern.is_all());
        let by_default = hit.verdict == Verdict::Ask && !named;
        Self { verdict: hit.verdict, rule, by_default, ..Self::ask(reason) }
    }

    /// Returns the stricter of the two, the first when they are equal.
    pub(crate) fn max(self, other: Self) -> Self {
        // Kept from either: yolo must not lift an ask whose other half could not be read.
        let blind = self.blind || other.blind;
        let worse = if other.verdict > self.verdict { other } else { self };
        Self { blind, ..worse }
    }
}

/// Quotes a command in a sentence: its words, shortened to fit.
pub(super) fn quote(argv: &[Word<'_>]) -> String {
    const MOST: usize = 60;
    let mut text = String::with_capacity(MOST * 2);
    text.push('`');
    for (at, word) in argv.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&word.text);
        if text.len() > MOST {
            break;
        }
    }
    if text.len() > MOST || text.contains('\n') {
        text = shorten(&text, MOST);
    }
    text.push('`');
    text
}

// Decides a call other than a shell's by each of its values.

impl Subject<'_> {
    /// Returns the strictest decision on any value.
    pub(super) fn values<'r>(&self, stack: &Stack<'r>) -> PartDecision<'r> {
        let tool = &self.call.tool;
        let every = || {
            let hit = stack.every_search(self.call.kind(), self.dirs);
            PartDecision::of(hit, || tool.clone())
        };
        let (seen, beyond) = self.values.in_view();
        let found = seen
            .iter()
            .map(|value| self.value(stack, value))
            .chain((!beyond.is_empty()).then(|| self.unseen(stack, beyond)))
            .reduce(PartDecision::max)
            .unwrap_or_else(every);
        // FAIL-CLOSED: a patch that is not understood may change any file.
        if self.values.unread {
            let why = "cannot be read exactly; it may change other files";
            return PartDecision::blind(format!("The patch of {tool} {why}.")).max(found);
        }
        // FAIL-CLOSED: a shell call without its text, or a file tool without its path.
        if self.values.missing || self.call.kind() == Kind::Shell {
            return found.max(PartDecision::blind(format!(
                "{tool} has no valid argument for its rules to check."
            )));
        }
        found
    }

    fn value<'r>(&self, stack: &Stack<'r>, value: &Value) -> PartDecision<'r> {
        let hit = stack.value(self.call.kind(), value, self.dirs);
        let paths = if value.is_path { value.readings(self.dirs) } else { Vec::new() };
        let beyond = paths
            .iter()
            .find_map(|path| files::beyond_every_path(self.call.kind(), &hit, path, self.dirs));
        let what = || format!("{} on {}", self.call.tool, shorten(&value.text, 80));
        let found = match (beyond, hit.entry) {
            (Some(why), Some(entry)) => PartDecision {
                rule: Some(entry),
                ..PartDecision::ask(format!("{why} The rule {} does not cover it.", entry.label))
            },
            _ => PartDecision::of(hit, what),
        };
        // `/proc/self/root/etc/passwd` is `/etc/passwd`, which no pattern can see.
        if value.is_alias(self.dirs) {
            let odd = "The path is an alias of the kernel for another file.";
            return found.max(PartDecision::blind(odd));
        }
        found
    }

    /// Decides the values that rules do not look at, because there are too many or they are too
    /// long.
    fn unseen<'r>(&self, stack: &Stack<'r>, beyond: &[Value]) -> PartDecision<'r> {
        let hit = stack.unseen();
        let tool = &self.call.tool;
        match hit.verdict {
            // When an allow depends on a path, every path has to be looked at.
            Verdict::Allow if beyond.iter().all(|value| !value.is_path) => {
                PartDecision::allow(hit.entry)
            }
            Verdict::Deny => PartDecision::of(hit, || tool.clone()),
            Verdict::Allow | Verdict::Ask => PartDecision::blind(format!(
                "{tool} names more than rules check, which is {}.",
                values::LIMIT
            )),
        }
    }
}

// Calls of programs that the operator describes, anywhere in a text.

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;

/// One such call.
pub(crate) struct OwnCall<'c> {
    program: &'c OperatorProgram,
    argv: Vec<Word<'c>>,
}

/// Finds all such calls. What they run is added to the text as commands of their own, which need
/// rules too.
pub(super) fn find<'c>(scan: &mut Scan<'c>, own: &'c OwnPrograms) -> Vec<OwnCall<'c>> {
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
                let scan = command.here_text().map(|text| scan_as(text, dialect));
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
fn hold<'r>(
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
