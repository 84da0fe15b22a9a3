//! The ruling on a call: guardrails, layers, rules, the strictest of all its parts.

use std::cell::Cell;

use serde::Serialize;

use crate::engine::agent_mode;
use crate::engine::always;
use crate::engine::critical::{self, CriticalFinding};
use crate::engine::files;
use crate::engine::finding::{Finding, shorten};
use crate::engine::guardrail::{Guardrail, Reach};
use crate::engine::judge::{self, Care, Files, Judge};
use crate::engine::stack::Stack;
use crate::facts::arguments;
use crate::facts::call::{Call, Kind};
use crate::facts::effects::{self, Act, Effect};
use crate::facts::paths::{self, Directories};
use crate::facts::values::{self, Value, Values};
use crate::facts::wrappers::{self, Unwrapped};
use crate::rules::verdict::Verdict;
use crate::rules::{Rule, Rules};
use crate::shell::{self, Scan, Via};

/// A verdict with all that stands behind it.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct Ruling {
    /// What happens to the call.
    pub verdict: Verdict,
    /// The rule that decided, with its place: `shell_exec: "git *": allow (permissions.jsonc:12)`.
    pub rule: Option<String>,
    /// Why, as a sentence.
    pub reason: String,
    /// Every simple command of a shell text; words that only the shell will know are `None`.
    pub commands: Vec<Vec<Option<String>>>,
    /// The values that rules were matched against.
    pub patterns: Vec<String>,
    /// The rules that Always would store; empty when it is not offered.
    pub always: Vec<Rule>,
    /// The rules that "always, exactly this" would store; empty when it is not offered.
    pub exact: Vec<Rule>,
    /// What "always, commands that begin so" would store: beginnings of commands, for profiles that
    /// keep such grants; empty when it is not offered.
    pub prefix: Vec<String>,
    /// One of the patterns that always want a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools that are no shell.
    pub understood: bool,
    /// What the call touches; worked out for asks only.
    pub effects: Vec<Effect>,
    /// What its own system shows a person about an ask, line by line; empty for most.
    pub prompt: Vec<String>,
}

/// The sets of rules that bear on a call, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The rules of the agent itself; its deny is a veto.
    pub agent: Option<&'a Rules>,
    /// The rules file.
    pub rules: &'a Rules,
    /// What people granted while the daemon runs.
    pub grants: &'a Rules,
    /// What nothing can lift.
    pub guardrail: &'a Guardrail,
    /// Now, in milliseconds since 1970; rules that have expired by then do not match.
    pub now_ms: i64,
}

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the rules say.
    Default,
    /// Asks become allows, critical ones too. Denies, guardrails and questions stay, and so do asks
    /// about what cannot be read while there are rules that it might break.
    Yolo,
}

/// A verdict with the rule and the reason behind it, and nothing for a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Outcome {
    /// What happens to the call.
    pub verdict: Verdict,
    /// The rule that decided, with its place.
    pub rule: Option<String>,
    /// Why, as a sentence.
    pub reason: String,
    /// One of the patterns that always want a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools that are no shell.
    pub understood: bool,
}

/// Rules on a call.
pub fn rule(call: &Call, layers: &Layers<'_>, mode: Mode) -> Ruling {
    let subject = Subject::new(call, layers);
    let decision = subject.decide(layers, mode);
    let asks = decision.finding.verdict == Verdict::Ask;
    let (always, exact) = match asks {
        true => (
            always::offers(&subject, &decision, layers, mode),
            always::exact(&subject, &decision, layers, mode),
        ),
        false => (Vec::new(), Vec::new()),
    };
    Ruling { always, exact, ..subject.describe(decision) }
}

/// The same verdict, rule and reason without what only a card needs: for a cascade over many open
/// asks, and for whoever only wants to know.
pub fn decide(call: &Call, layers: &Layers<'_>, mode: Mode) -> Outcome {
    let subject = Subject::new(call, layers);
    let Decision { finding, critical, .. } = subject.decide(layers, mode);
    Outcome {
        verdict: finding.verdict,
        rule: finding.rule.map(|entry| String::from(&*entry.label)),
        reason: subject.sentence(finding),
        critical: critical.is_some(),
        understood: subject.understood(),
    }
}

/// What a call touches.
pub fn effects(call: &Call, layers: &Layers<'_>) -> Vec<Effect> {
    let asked = Decision { finding: Finding::ask(""), critical: None, guarded: false };
    Subject::new(call, layers).describe(asked).effects
}

/// The verdict alone; what cascades and checks of stored rules need.
pub(crate) fn verdict(subject: &Subject<'_>, layers: &Layers<'_>, mode: Mode) -> Verdict {
    subject.decide(layers, mode).finding.verdict
}

/// A call's own facts for a profile that rules by itself: what it would run, what it touches,
/// whether it is critical. It is an ask until the profile says otherwise.
pub fn facts(call: &Call) -> Ruling {
    let (none, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &none, grants: &none, guardrail: &guardrail, now_ms: 0 };
    let subject = Subject::new(call, &layers);
    let decision = subject.decide(&layers, Mode::Default);
    let reason = match &decision.critical {
        Some(found) => format!("This {}; that always wants a person.", found.reason),
        None => "Nothing allows it.".to_owned(),
    };
    subject.describe(Decision { finding: Finding::ask(reason), ..decision })
}

/// What the guardrail says of a call, whatever else allows it.
pub fn guarded(call: &Call, guardrail: &Guardrail, now_ms: i64) -> Option<Reach> {
    let none = Rules::default();
    let layers = Layers { agent: None, rules: &none, grants: &none, guardrail, now_ms };
    let subject = Subject::new(call, &layers);
    let reach = subject.reach(guardrail);
    if matches!(reach, Some(Reach::Denied(_))) || guardrail.denies.is_empty() {
        return reach;
    }
    let behind = subject.behind();
    let denied = subject.vetoes(&layers, &behind).next();
    denied.map(|finding| Reach::Denied(subject.sentence(finding))).or(reach)
}

fn dirs<'p>(call: &'p Call, layers: &Layers<'p>) -> Directories<'p> {
    let home = call.home.as_deref().or_else(|| layers.rules.home());
    Directories { cwd: call.cwd.as_deref(), home }
}

/// A call with its text read.
pub(crate) struct Subject<'c> {
    pub(crate) call: &'c Call,
    pub(crate) dirs: Directories<'c>,
    pub(crate) scan: Option<(&'c str, Scan<'c>)>,
    /// None for a shell text.
    pub(crate) values: Values,
}

/// What was found about a whole call.
pub(crate) struct Decision<'r> {
    pub(crate) finding: Finding<'r>,
    pub(crate) critical: Option<CriticalFinding>,
    /// A rule forbids or asks about some calls of the tool.
    guarded: bool,
}

impl<'c> Subject<'c> {
    pub(crate) fn new(call: &'c Call, layers: &Layers<'c>) -> Self {
        let scan = match (call.kind(), call.command()) {
            (Kind::Shell, Some(text)) => Some((text, shell::scan(text))),
            _ => None,
        };
        let values = if scan.is_some() { Values::default() } else { Values::of(call) };
        Self { call, dirs: dirs(call, layers), scan, values }
    }

    /// A part of the call's text, as if it stood alone.
    pub(crate) fn part(&self, text: &'c str, alone: Scan<'c>) -> Self {
        let scan = Some((text, alone));
        Self { call: self.call, dirs: self.dirs, scan, values: Values::default() }
    }

    pub(crate) fn decide<'r>(&self, layers: &Layers<'r>, mode: Mode) -> Decision<'r> {
        let behind = self.behind();
        let critical = match &self.scan {
            Some((_, scan)) => critical::among(scan, &behind),
            None => {
                let call = self.call;
                files::critical(call.kind(), &self.values, &call.resolved, self.dirs)
            }
        };
        let own = [layers.rules, layers.grants];
        let with_agent = layers.agent.map(|agent| [agent, layers.rules, layers.grants]);
        let all: &[&'r Rules] = with_agent.as_ref().map_or(&own, |all| all);
        let (finding, guarded) = self.weigh(all, layers.now_ms, &behind);
        let finding = self.vetoes(layers, &behind).fold(finding, |finding, veto| {
            if veto.verdict > finding.verdict { veto } else { finding }
        });
        let finding = match &critical {
            Some(found) if finding.verdict == Verdict::Allow => {
                Finding::ask(format!("This {}; that always wants a person.", found.reason))
            }
            _ => finding,
        };
        let finding = match self.reads_through_a_link(all) {
            Some(path) if finding.verdict == Verdict::Allow => Finding::ask(format!(
                "{} is a link out of the project, or to a secret.",
                shorten(path, 80)
            )),
            _ => finding,
        };
        let finding = match keys::odd(self.call) {
            Some(odd) if finding.verdict != Verdict::Deny => {
                Finding { rule: finding.rule, ..Finding::blind(odd) }
            }
            _ => finding,
        };
        let mut decision = Decision { finding, critical, guarded };
        self.questions_ask(&mut decision);
        if mode == Mode::Yolo {
            self.loosen(&mut decision);
        }
        if decision.finding.verdict == Verdict::Allow
            && let Some(why) = agent_mode::holds(self.call)
        {
            let rule = decision.finding.rule;
            let allowed = rule.map(|rule| format!(" The rule {} allows it otherwise.", rule.label));
            decision.finding = Finding { rule, ..Finding::ask(why + &allowed.unwrap_or_default()) };
        }
        self.guard(layers.guardrail, &mut decision);
        decision
    }

    // INVARIANT: last of all, so that no rule, grant or mode lifts it.
    fn guard(&self, guardrail: &Guardrail, decision: &mut Decision<'_>) {
        match self.reach(guardrail) {
            Some(Reach::Denied(reason)) if decision.finding.verdict != Verdict::Deny => {
                decision.finding = Finding::deny(reason);
            }
            Some(Reach::Asks(reason)) if decision.finding.verdict == Verdict::Allow => {
                decision.finding = Finding::ask(reason);
            }
            _ => {}
        }
    }

    /// What of the bridge's own the call reaches.
    fn reach(&self, guardrail: &Guardrail) -> Option<Reach> {
        let scan = self.scan.as_ref().map(|(text, scan)| (*text, scan));
        guardrail.reach(self.call, scan, self.dirs).or_else(|| {
            // FAIL-CLOSED: a deny for the file behind it may be walked around.
            self.call.links.doubt().map(|why| Reach::Asks(why.to_owned()))
        })
    }

    /// What runs behind each of the commands.
    fn behind(&self) -> Vec<Option<Unwrapped<'_, 'c>>> {
        match &self.scan {
            Some((_, scan)) => wrappers::behind(&scan.commands),
            None => Vec::new(),
        }
    }

    /// Denies of the operator and of the agent's own rules, each seen alone: nothing lifts them.
    fn vetoes<'r>(
        &self,
        layers: &Layers<'r>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> impl Iterator<Item = Finding<'r>> {
        let operator = Some(&layers.guardrail.denies).filter(|denies| !denies.is_empty());
        operator.into_iter().chain(layers.agent).filter_map(|alone| {
            let (finding, _) = self.weigh(&[alone], layers.now_ms, behind);
            (finding.verdict == Verdict::Deny).then_some(finding)
        })
    }

    /// A path of a shell text that lies in the project and leads out of it, where rules allow what
    /// only reads there. What other tools name is among their values.
    fn reads_through_a_link(&self, all: &[&Rules]) -> Option<&'c str> {
        self.scan.as_ref().filter(|_| all.iter().any(|rules| rules.allows_reading()))?;
        let cwd = self.dirs.cwd?;
        let real = self.call.links.places(cwd);
        self.call.links.leaving(|path| {
            let inside = !paths::outside(path, self.dirs)
                || real.iter().any(|real| paths::within(path, real));
            inside && !paths::secret(path, self.dirs)
        })
    }

    // INVARIANT: no rule answers a question for a person.
    fn questions_ask(&self, decision: &mut Decision<'_>) {
        if self.call.kind() == Kind::Question && decision.finding.verdict == Verdict::Allow {
            decision.finding = Finding::ask("A question is answered by a person.");
        }
    }

    fn loosen(&self, decision: &mut Decision<'_>) {
        let unread = decision.finding.blind && decision.guarded;
        if decision.finding.verdict == Verdict::Ask && self.call.kind() != Kind::Question && !unread
        {
            let asked = &decision.finding;
            let reason = format!("Yolo mode allows what would ask: {}", asked.reason).into();
            decision.finding = Finding { reason, ..Finding::allow(asked.rule) };
        }
    }

    /// The finding of one set of layers, and whether its rules guard some calls of the tool.
    fn weigh<'r>(
        &self,
        layers: &[&'r Rules],
        now_ms: i64,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> (Finding<'r>, bool) {
        let stack = Stack::new(&self.call.tool, self.call.canonical_tool(), now_ms, layers);
        let guarded = stack.guarded();
        let finding = match &self.scan {
            Some((text, scan)) => {
                let judge = Judge {
                    care: Cell::new(Care::Reasons),
                    commands: stack,
                    files: Files::new(layers, now_ms),
                    dirs: self.dirs,
                };
                judge.text(text, scan, behind)
            }
            None => self.values(&stack),
        };
        (finding, guarded)
    }

    fn values<'r>(&self, stack: &Stack<'r>) -> Finding<'r> {
        let tool = &self.call.tool;
        let every = || {
            let hit = stack.every_search(self.call.kind(), self.dirs);
            Finding::of(hit, || format!("Every call of {tool}"))
        };
        let (seen, beyond) = self.values.in_view();
        let found = seen
            .iter()
            .map(|value| self.value(stack, value))
            .chain((!beyond.is_empty()).then(|| self.unseen(stack, beyond)))
            .reduce(Finding::max)
            .unwrap_or_else(every);
        // FAIL-CLOSED: a shell call without its text, a file tool without its path.
        if self.values.missing || self.call.kind() == Kind::Shell {
            return found.max(Finding::blind(format!(
                "{tool} came without the argument that its rules look at, or with a wrong one."
            )));
        }
        found
    }

    fn value<'r>(&self, stack: &Stack<'r>, value: &Value) -> Finding<'r> {
        let hit = stack.value(self.call.kind(), value, self.dirs);
        let path = value.is_path.then_some(&*value.text);
        let beyond =
            path.and_then(|path| files::beyond_every_path(self.call.kind(), &hit, path, self.dirs));
        let what = || format!("{} of {}", self.call.tool, shorten(&value.text, 80));
        let found = match (beyond, hit.entry) {
            (Some(why), Some(entry)) => Finding {
                rule: Some(entry),
                ..Finding::ask(format!("{} goes beyond the rule {}: {why}.", what(), entry.label))
            },
            _ => Finding::of(hit, what),
        };
        if value.is_alias() {
            let odd = "The path is another name that the kernel gives some file.";
            return found.max(Finding::blind(odd));
        }
        found
    }

    /// Values that rules do not look at, because there are too many or they are too long.
    fn unseen<'r>(&self, stack: &Stack<'r>, beyond: &[Value]) -> Finding<'r> {
        let hit = stack.unseen();
        let tool = &self.call.tool;
        match hit.verdict {
            // Where an allow depends on a path, each path has to be looked at.
            Verdict::Allow if beyond.iter().all(|value| !value.is_path) => {
                Finding::allow(hit.entry)
            }
            Verdict::Deny => Finding::of(hit, || format!("Every call of {tool}")),
            Verdict::Allow | Verdict::Ask => Finding::blind(format!(
                "{tool} names more than rules look at, which is {}.",
                values::LIMIT
            )),
        }
    }

    fn sentence(&self, finding: Finding<'_>) -> String {
        match (finding.verdict, finding.reason.is_empty()) {
            (Verdict::Allow, true) => match &self.scan {
                Some((_, scan)) if scan.commands.len() > 1 => "Every command is covered.",
                _ => "Covered.",
            }
            .to_owned(),
            (_, true) => "Nothing allows it.".to_owned(),
            (_, false) => finding.reason.into_owned(),
        }
    }

    fn understood(&self) -> bool {
        match &self.scan {
            Some((_, scan)) => scan.understood(),
            None => self.call.kind() != Kind::Shell && !self.values.missing,
        }
    }

    fn describe(&self, decision: Decision<'_>) -> Ruling {
        let Decision { finding, critical, .. } = decision;
        let (verdict, rule) =
            (finding.verdict, finding.rule.map(|entry| String::from(&*entry.label)));
        let reason = self.sentence(finding);
        let mut ruling = Ruling {
            verdict,
            rule,
            reason,
            commands: Vec::new(),
            patterns: Vec::new(),
            always: Vec::new(),
            exact: Vec::new(),
            prefix: Vec::new(),
            critical: critical.is_some(),
            understood: self.understood(),
            effects: Vec::new(),
            prompt: Vec::new(),
        };
        self.facts(&mut ruling);
        if let (Verdict::Ask, Some(why)) = (ruling.verdict, keys::odd(self.call)) {
            ruling.effects.insert(0, Effect::Unknown { why });
        }
        ruling
    }

    fn facts(&self, ruling: &mut Ruling) {
        let Some((text, scan)) = &self.scan else {
            let act = match self.call.kind() {
                Kind::Read | Kind::Glob | Kind::Grep => Act::Read,
                Kind::Write | Kind::Edit => Act::Write,
                Kind::Fetch => Act::Fetch,
                _ => Act::Unknown,
            };
            let named = self.values.list.iter().filter(|value| !value.is_leaf);
            ruling.patterns = named.map(|value| value.text.clone()).collect();
            if ruling.verdict == Verdict::Ask {
                let (seen, beyond) = self.values.in_view();
                let named = seen.iter().filter(|value| !value.is_leaf);
                let texts: Vec<&str> = named.map(|value| &*value.text).collect();
                ruling.effects = effects::of_values(act, &texts, !beyond.is_empty(), self.dirs);
            }
            return;
        };
        let mut written = Vec::with_capacity(scan.commands.len());
        let seen = scan.commands.iter().filter(|c| c.via != Via::Guess && !c.argv.is_empty());
        for command in seen {
            let argv = command.argv.iter().map(|word| word.literal().map(ToOwned::to_owned));
            ruling.commands.push(argv.collect());
            let at = command.argv.first().map_or(0, |word| word.span.start);
            written.push((at, judge::slice(text, command).unwrap_or_default()));
        }
        written.sort_by_key(|(at, _)| *at);
        ruling.patterns = written.into_iter().map(|(_, text)| text.to_owned()).collect();
        if ruling.verdict == Verdict::Ask {
            ruling.effects = effects::of_shell(scan, self.dirs);
        }
    }
}
