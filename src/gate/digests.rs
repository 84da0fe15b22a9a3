//! Digests: what was asked in a time, how it was answered, and which rules would have saved asks.
//! Making one changes nothing.

mod candidates;
mod closed;
mod due;
mod kinds;
mod lines;
mod saving;
mod summary;

pub use kinds::{AskDigest, AskKind, DigestScope};
pub use lines::lines;
pub use saving::{CoveredCall, RuleSuggestion};
pub use summary::AskSummary;

use super::{Gate, SubmitError, ask::Ask, large};
use closed::ClosedAsk;
use countersign_policy::{Rule, tools::canonical};
use countersign_store::HistoryRange;
use saving::Suggester;
use std::collections::BTreeMap;

/// How many asks one digest looks at, and how many bytes their calls may have together.
const MOST: usize = 5_000;
const BYTES: usize = 32 << 20;
/// How many are read at a time.
const PAGE: usize = 200;
/// How many kinds of asks it names.
const KINDS: usize = 12;

impl Gate {
    /// What was asked in a time.
    ///
    /// # Errors
    /// When the policy cannot decide on a call, or the store fails.
    pub async fn digest(&self, scope: DigestScope<'_>) -> Result<AskDigest, SubmitError> {
        let (asks, is_complete) = self.closed_asks(&scope).await?;
        // What its readers are not told of still counts against a rule where people denied it.
        let told: Vec<&ClosedAsk> = asks.iter().filter(|ask| ask.is_told).collect();
        let mut groups: BTreeMap<KindKey, Vec<&ClosedAsk>> = BTreeMap::new();
        for ask in told.iter().copied() {
            groups.entry(key(ask)).or_default().push(ask);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, asks)| std::cmp::Reverse(asks.len()));
        let suggester = Suggester { trials: &self.trials, evaluator: &self.evaluator, all: &asks };
        let mut kinds = Vec::new();
        for ((rule, calls, _), asks) in groups.into_iter().take(KINDS) {
            let saving = suggester.suggest(&asks).await?;
            kinds.push(AskKind { rule, calls, asks: asks.len(), saving });
        }
        let (since, until) = (scope.since, scope.until);
        Ok(AskDigest { since, until, is_complete, summary: AskSummary::of(&told), kinds })
    }

    /// The latest asks of the time, and whether these are all.
    // INVARIANT: their number and their bytes are bounded, whatever the store holds.
    async fn closed_asks(
        &self,
        scope: &DigestScope<'_>,
    ) -> Result<(Vec<ClosedAsk>, bool), SubmitError> {
        let (since, until) = (Some(scope.since), Some(scope.until.saturating_sub(1)));
        let mut range = HistoryRange { since, until, ..HistoryRange::default() };
        let (mut asks, mut bytes) = (Vec::new(), 0_usize);
        loop {
            let look = |ask: &Ask| ClosedAsk::of(ask, (scope.title)(ask), (scope.tells)(ask));
            let page = self.open.store.history(&range, PAGE, look).await?;
            bytes += page.found.iter().map(|ask| large::bytes(&ask.call)).sum::<usize>();
            asks.extend(page.found);
            match page.next {
                None => return Ok((asks, true)),
                Some(_) if asks.len() >= MOST || bytes >= BYTES => return Ok((asks, false)),
                Some(next) => range.behind = Some(next),
            }
        }
    }
}

/// The rule that asked, what the calls have in common, and why no rule may save them.
type KindKey = (Option<String>, String, Option<&'static str>);

fn key(ask: &ClosedAsk) -> KindKey {
    let rules: Vec<String> = ask.always.iter().map(Rule::to_string).collect();
    let calls = match rules.as_slice() {
        [] if canonical(&ask.call.tool) == "shell_exec" => "shell".to_owned(),
        [] => ask.call.tool.clone(),
        rules => rules.join(" and "),
    };
    (ask.rule.clone(), calls, ask.never)
}
