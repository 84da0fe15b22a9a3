//! The decision on a call, and everything that a card shows about it: the way into the engine.

use serde::Serialize;

use crate::engine::agent_mode;
use crate::engine::always::{self, Width};
use crate::engine::critical::CriticalMatch;
use crate::engine::evaluation::{self, CallDecision, OwnCall, PartDecision};
use crate::engine::guardrail::{Guardrail, GuardrailHit};
use crate::facts::arguments;
use crate::facts::call::Call;
use crate::facts::effects::{self, Act, Effect};
use crate::facts::paths::Directories;
use crate::facts::tools::Kind;
use crate::facts::values::Values;
use crate::facts::wrappers::{self, Unwrapped};
use crate::rules::verdict::Verdict;
use crate::rules::{Rule, Rules};
use crate::shell::{Scan, Via};

/// A verdict with its rule and reason, without anything that only a card needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct BriefDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided, with its position.
    pub rule: Option<String>,
    /// That rule itself.
    #[serde(skip)]
    pub deciding_rule: Option<Rule>,
    /// The reason, as a sentence.
    pub reason: String,
    /// The call matches a critical pattern, which always needs a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools other than a shell.
    pub understood: bool,
}

impl From<Decision> for BriefDecision {
    fn from(from: Decision) -> Self {
        let Decision { verdict, rule, deciding_rule, reason, critical, understood, .. } = from;
        Self { verdict, rule, deciding_rule, reason, critical, understood }
    }
}

/// Decides a call.
pub fn decide(call: &Call, layers: &Layers<'_>, mode: Mode) -> Decision {
    decide_offering(call, layers, mode, |subject| Width::Harmless(subject.dirs))
}

/// Decides a call and offers rules for Always that are as wide as those of other systems.
pub fn decide_offering_families(call: &Call, layers: &Layers<'_>, mode: Mode) -> Decision {
    decide_offering(call, layers, mode, |_| Width::Family)
}

fn decide_offering<'c>(
    call: &'c Call,
    layers: &Layers<'c>,
    mode: Mode,
    width: impl FnOnce(&Subject<'c>) -> Width<'c>,
) -> Decision {
    let subject = Subject::new(call, layers);
    let decision = subject.decide(layers, mode);
    let asks = decision.part.verdict == Verdict::Ask;
    let ((always, always_from), exact) = if asks {
        (
            always::offers(&subject, &decision, layers, mode, width(&subject)),
            always::exact(&subject, &decision, layers, mode),
        )
    } else {
        Default::default()
    };
    Decision { always, always_from, exact, ..subject.describe(decision) }
}

/// Returns the same verdict, rule and reason without what only a card needs: for re-evaluating many
/// open asks, and for callers that need no card.
pub fn decide_briefly(call: &Call, layers: &Layers<'_>, mode: Mode) -> BriefDecision {
    let subject = Subject::new(call, layers);
    let CallDecision { part, critical, .. } = subject.decide(layers, mode);
    BriefDecision {
        verdict: part.verdict,
        rule: part.rule.map(|entry| String::from(&*entry.label)),
        deciding_rule: part.rule.map(|entry| entry.rule.clone()),
        reason: subject.sentence(part),
        critical: critical.is_some(),
        understood: subject.understood(),
    }
}

/// Returns the effects of a call.
pub fn effects(call: &Call, layers: &Layers<'_>) -> Vec<Effect> {
    let asked = CallDecision { part: PartDecision::ask(""), critical: None, guarded: false };
    Subject::new(call, layers).describe(asked).effects
}

/// Returns the facts of a call for a profile that decides on its own: what it would run, its
/// effects, whether it is critical. The verdict is an ask until the profile sets another.
pub fn facts(call: &Call) -> Decision {
    let none = Rules::default();
    let guardrail = Guardrail::default();
    let layers = Layers::new(&none, &none, &guardrail, 0);
    let subject = Subject::new(call, &layers);
    let decision = subject.decide(&layers, Mode::Default);
    let reason = match &decision.critical {
        Some(found) => found.sentence(),
        None => "No rule allows this (default: ask).".to_owned(),
    };
    subject.describe(CallDecision { part: PartDecision::ask(reason), ..decision })
}

/// Returns the guardrail's decision on a call, whatever else allows it.
pub fn guarded(call: &Call, guardrail: &Guardrail, now_ms: i64) -> Option<GuardrailHit> {
    let none = Rules::default();
    let layers = Layers::new(&none, &none, guardrail, now_ms);
    let subject = Subject::new(call, &layers);
    let reach = subject.reach(guardrail);
    if matches!(reach, Some(GuardrailHit::Denied(_))) || guardrail.denies.is_empty() {
        return reach;
    }
    let behind = subject.behind();
    // Only the operator's denies are evaluated; the profile decides about everything else.
    let denied = subject.vetoes(&layers, &behind).next();
    denied.map(|part| GuardrailHit::Denied(subject.sentence(part))).or(reach)
}

impl Subject<'_> {
    /// Decides the call.
    pub(crate) fn decide<'r>(&self, layers: &Layers<'r>, mode: Mode) -> CallDecision<'r> {
        let mut decision = self.evaluate(layers, mode);
        // Before the guardrail, which has the last word.
        if decision.part.verdict == Verdict::Allow
            && let Some(why) = agent_mode::holds(self.call)
        {
            let rule = decision.part.rule;
            let allowed = rule.map(|rule| format!(" The rule {} would allow it.", rule.label));
            decision.part =
                PartDecision { rule, ..PartDecision::ask(why + &allowed.unwrap_or_default()) };
        }
        self.guard(layers.guardrail, &mut decision);
        decision
    }

    /// Returns the reason of a decision, or a sentence that there is none.
    pub(super) fn sentence(&self, part: PartDecision<'_>) -> String {
        match (part.verdict, part.reason.is_empty()) {
            (Verdict::Allow, true) => match &self.scan {
                Some((_, scan)) if scan.commands.len() > 1 => "Rules allow every command.",
                _ => "A rule allows this.",
            }
            .to_owned(),
            (Verdict::Ask, true) => "No rule allows this (default: ask).".to_owned(),
            (Verdict::Deny, true) => "No rule allows this (default: deny).".to_owned(),
            (_, false) => part.reason.into_owned(),
        }
    }
}

impl Subject<'_> {
    // INVARIANT: applied last, so that no rule, grant or mode lifts it.
    pub(super) fn guard(&self, guardrail: &Guardrail, decision: &mut CallDecision<'_>) {
        match self.reach(guardrail) {
            Some(GuardrailHit::Denied(reason)) if decision.part.verdict != Verdict::Deny => {
                decision.part = PartDecision::deny(reason);
            }
            Some(GuardrailHit::Asks(reason)) if decision.part.verdict == Verdict::Allow => {
                // What a critical call does is worse than whose files are below it.
                let worst = decision.critical.as_ref().map(CriticalMatch::sentence);
                decision.part = PartDecision::ask(worst.unwrap_or(reason));
            }
            _ => {}
        }
    }

    /// Returns what the guardrail finds in the call.
    pub(super) fn reach(&self, guardrail: &Guardrail) -> Option<GuardrailHit> {
        let scan = self.scan.as_ref().map(|(text, scan)| (*text, scan));
        guardrail.reach(self.call, scan, self.dirs).or_else(|| {
            // FAIL-CLOSED: a link may lead around a deny for the file behind it.
            self.call.links.doubt().map(|why| GuardrailHit::Asks(why.to_owned()))
        })
    }
}

/// A verdict with everything behind it.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided, with its position: `shell_exec: "git *": allow
    /// (permissions.jsonc:12)`.
    pub rule: Option<String>,
    /// That rule itself, so that the grant behind a decision is known without reading `rule`;
    /// `None` where a profile decides by something else.
    #[serde(skip)]
    pub deciding_rule: Option<Rule>,
    /// The reason, as a sentence.
    pub reason: String,
    /// Every simple command of a shell text; a word that only the shell knows is `None`.
    pub commands: Vec<Vec<Option<String>>>,
    /// The values that rules were matched with.
    pub patterns: Vec<String>,
    /// The rules that Always would store; empty when Always is not offered.
    pub always: Vec<Rule>,
    /// The parts of the call that these rules come from, in order; empty for a call without parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub always_from: Vec<String>,
    /// The rules that "always, exactly this" would store; empty when it is not offered.
    pub exact: Vec<Rule>,
    /// The command prefixes that "always, commands that begin so" would store, for profiles that
    /// keep such grants; empty when it is not offered.
    pub prefix: Vec<String>,
    /// The call matches a critical pattern, which always needs a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools other than a shell.
    pub understood: bool,
    /// The effects of the call; determined for asks only.
    pub effects: Vec<Effect>,
    /// Lines that the call's own system shows a person about an ask; usually empty.
    pub prompt: Vec<String>,
}

impl Subject<'_> {
    fn describe(&self, decision: CallDecision<'_>) -> Decision {
        let CallDecision { part, critical, .. } = decision;
        let verdict = part.verdict;
        let rule = part.rule.map(|entry| String::from(&*entry.label));
        let deciding_rule = part.rule.map(|entry| entry.rule.clone());
        let reason = self.sentence(part);
        let mut decision = Decision {
            verdict,
            rule,
            deciding_rule,
            reason,
            commands: Vec::new(),
            patterns: Vec::new(),
            always: Vec::new(),
            always_from: Vec::new(),
            exact: Vec::new(),
            prefix: Vec::new(),
            critical: critical.is_some(),
            understood: self.understood(),
            effects: Vec::new(),
            prompt: Vec::new(),
        };
        self.facts(&mut decision);
        // First, because such arguments may change what the rest of the card says.
        if let (Verdict::Ask, Some(why)) = (decision.verdict, arguments::odd(self.call)) {
            decision.effects.insert(0, Effect::Unknown { why });
        }
        decision
    }

    fn facts(&self, decision: &mut Decision) {
        let Some((text, scan)) = &self.scan else {
            let act = match self.call.kind() {
                Kind::Read | Kind::Glob | Kind::Grep => Act::Read,
                Kind::Write | Kind::Edit => Act::Write,
                Kind::Fetch => Act::Fetch,
                _ => Act::Unknown,
            };
            // Leaves are all texts of an unknown tool, which no rule names one by one.
            let named = self.values.list.iter().filter(|value| !value.is_leaf);
            decision.patterns = named.map(|value| value.text.clone()).collect();
            if decision.verdict == Verdict::Ask {
                let (seen, beyond) = self.values.in_view();
                let named = seen.iter().filter(|value| !value.is_leaf);
                decision.effects = match self.call.kind() {
                    Kind::Edit => {
                        let accesses = named.map(|value| (value.access, &*value.text));
                        let more = !beyond.is_empty() || self.values.unread;
                        effects::of_edits(accesses, more, self.dirs)
                    }
                    _ => {
                        let texts: Vec<&str> = named.map(|value| &*value.text).collect();
                        effects::of_values(act, &texts, !beyond.is_empty(), self.dirs)
                    }
                };
            }
            return;
        };
        let mut written = Vec::with_capacity(scan.commands.len());
        let seen = scan.commands.iter().filter(|c| c.via != Via::Guess && !c.argv.is_empty());
        for command in seen {
            let argv = command.argv.iter().map(|word| word.literal().map(ToOwned::to_owned));
            decision.commands.push(argv.collect());
            let at = command.argv.first().map_or(0, |word| word.span.start);
            written.push((at, command.written_in(text).unwrap_or_default()));
        }
        // The scan lists a substitution's commands first; a person reads them in the order of the
        // text.
        written.sort_by_key(|(at, _)| *at);
        decision.patterns = written.into_iter().map(|(_, text)| text.to_owned()).collect();
        if decision.verdict == Verdict::Ask {
            decision.effects = effects::of_shell(scan, self.dirs);
            decision.effects.extend(self.own.iter().flat_map(|call| call.effects(self.dirs)));
        }
    }
}

/// The sets of rules that apply to a call, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The agent's own rules; a deny of theirs is a veto.
    pub agent: Option<&'a Rules>,
    /// The rules file.
    pub rules: &'a Rules,
    /// The grants that people gave while the daemon runs.
    pub grants: &'a Rules,
    /// The guardrail, which nothing lifts.
    pub guardrail: &'a Guardrail,
    /// The current time in milliseconds since 1970; expired rules do not match.
    pub now_ms: i64,
}

impl<'a> Layers<'a> {
    /// These rules and grants at this time, without rules of the agent's own.
    #[must_use]
    pub fn new(rules: &'a Rules, grants: &'a Rules, guardrail: &'a Guardrail, now_ms: i64) -> Self {
        Self { agent: None, rules, grants, guardrail, now_ms }
    }
}

/// The amount of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the rules decide.
    Default,
    /// Asks become allows, even critical ones. Denies, guardrails and questions stay. So do asks
    /// about unreadable texts while there are rules that they might break.
    Yolo,
}

/// A call with its text scanned.
pub(crate) struct Subject<'c> {
    pub(crate) call: &'c Call,
    pub(crate) dirs: Directories<'c>,
    pub(crate) scan: Option<(&'c str, Scan<'c>)>,
    /// Empty for a shell text.
    pub(crate) values: Values,
    /// Calls of programs that the operator describes.
    pub(crate) own: Vec<OwnCall<'c>>,
}

impl<'c> Subject<'c> {
    pub(crate) fn new(call: &'c Call, layers: &Layers<'c>) -> Self {
        let mut scan = call.scan();
        let values = if scan.is_some() { Values::default() } else { Values::of(call) };
        let own = match &mut scan {
            Some((_, scan)) => evaluation::find(scan, layers.rules.programs()),
            None => Vec::new(),
        };
        Self { call, dirs: directories(call, layers), scan, values, own }
    }

    /// Returns a part of the call's text as if it were the whole.
    pub(crate) fn part(&self, text: &'c str, alone: Scan<'c>) -> Self {
        let scan = Some((text, alone));
        let values = Values::default();
        Self { call: self.call, dirs: self.dirs, scan, values, own: Vec::new() }
    }

    /// Looks behind each of the commands.
    pub(super) fn behind(&self) -> Vec<Option<Unwrapped<'_, 'c>>> {
        match &self.scan {
            Some((_, scan)) => wrappers::behind(&scan.commands),
            None => Vec::new(),
        }
    }

    pub(super) fn understood(&self) -> bool {
        match &self.scan {
            Some((_, scan)) => scan.understood(),
            None => self.call.kind() != Kind::Shell && !self.values.missing && !self.values.unread,
        }
    }
}

fn directories<'p>(call: &'p Call, layers: &Layers<'p>) -> Directories<'p> {
    // For callers that name no home, the rules file's applies.
    let home = call.home.as_deref().or_else(|| layers.rules.home());
    Directories { cwd: call.cwd.as_deref(), home }
}

// Decides each command of a shell text alone.

/// One command of a shell text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The command.
    pub command: String,
    /// Its own verdict.
    pub verdict: Verdict,
    /// The words that the deciding rule names.
    pub words: Option<String>,
    /// The rule with its position.
    pub rule: Option<String>,
    /// The reason.
    pub reason: String,
}

/// Decides each command of a shell text alone; other calls have no parts.
#[must_use]
pub fn parts(call: &Call, layers: &Layers<'_>, mode: Mode) -> Vec<Part> {
    let subject = Subject::new(call, layers);
    let mut parts = Vec::new();
    if let (Some((text, scan)), Kind::Shell) = (&subject.scan, call.kind()) {
        for command in scan.commands.iter().filter(|c| c.via != Via::Guess && !c.argv.is_empty()) {
            let alone = Scan { commands: vec![command.clone()], ..Scan::default() };
            let part = subject.part(text, alone);
            let decided = part.decide(layers, mode).part;
            let words = decided.rule.map(|entry| {
                // A pattern may name more words than the command has.
                let named = entry.pattern.words().min(command.argv.len());
                always::spoken(command.argv.get(..named).unwrap_or_default())
            });
            parts.push(Part {
                command: always::spoken(&command.argv),
                verdict: decided.verdict,
                words: words.filter(|words| !words.is_empty()),
                rule: decided.rule.map(ToString::to_string),
                reason: decided.reason.into_owned(),
            });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use crate::engine::decision::*;

    #[test]
    fn a_critical_call_that_no_rule_names_says_what_is_critical_about_it() {
        let none = Rules::default();
        let guardrail = Guardrail::default();
        let layers =
            Layers { agent: None, rules: &none, grants: &none, guardrail: &guardrail, now_ms: 0 };
        let reason =
            |command: &str| decide_briefly(&Call::shell(command), &layers, Mode::Default).reason;
        let deletes = "This deletes what it finds in a root, a home or a system directory. It \
                       always needs a person.";
        assert_eq!(reason("find / -delete"), deletes);
        assert_eq!(reason("find -L / -delete"), deletes);
        assert_eq!(reason("make; find / -delete"), deletes);
        assert_eq!(
            reason("sudo rm -rf --no-preserve-root /"),
            "This deletes the whole system, as root. It always needs a person."
        );
        assert_eq!(reason("make"), "No rule allows `make` (default: ask).");
    }

    #[test]
    fn a_decision_carries_the_rule_or_grant_that_decided() {
        let make = Rule::allow("shell_exec", "make *");
        let grants_of = |rule: &Rule| Rules::from_grants(std::slice::from_ref(rule));
        let git = Rule { verdict: Verdict::Deny, ..Rule::allow("shell_exec", "git *") };
        let rules = grants_of(&git);
        let grants = grants_of(&make);
        let guardrail = Guardrail::default();
        let layers = Layers {
            agent: None,
            rules: &rules,
            grants: &grants,
            guardrail: &guardrail,
            now_ms: 0,
        };
        for (command, rule) in [("make all", Some(&make)), ("git push", Some(&git)), ("x y", None)]
        {
            let call = Call::shell(command);
            let whole = decide(&call, &layers, Mode::Default);
            let brief = decide_briefly(&call, &layers, Mode::Default);
            assert_eq!(
                (whole.deciding_rule.as_ref(), brief.deciding_rule.as_ref()),
                (rule, rule),
                "{command}"
            );
        }
    }
}
