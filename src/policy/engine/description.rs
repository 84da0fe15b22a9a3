//! A decision with everything that a card shows about it.

use serde::Serialize;

use crate::engine::evaluation::CallDecision;
use crate::engine::subject::Subject;
use crate::facts::arguments;
use crate::facts::effects::{self, Act, Effect};
use crate::facts::tools::Kind;
use crate::rules::Rule;
use crate::rules::verdict::Verdict;
use crate::shell::Via;

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
    pub(super) fn describe(&self, decision: CallDecision<'_>) -> Decision {
        let CallDecision { part, critical, .. } = decision;
        let (verdict, rule) = (part.verdict, part.rule.map(|entry| String::from(&*entry.label)));
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
