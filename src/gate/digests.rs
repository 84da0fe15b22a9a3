//! Digests: what was asked in a time, how it was answered, and which rules would have saved asks.
//! Making one changes nothing.

mod saving;

pub use saving::rule_line;

use super::{
    Gate, SubmitError,
    ask::{Ask, By, Decision, State, plan::PlannedTarget},
    call::{Appeal, Call},
    evaluate::bytes,
    routes::{Moment, ScheduledDigest},
};
use countersign_domain::wire::{DigestKind, DigestPerson, DigestReply};
use countersign_policy::{Rule, tools::canonical};
use countersign_port::{ReplyPiece, brief, line};
use countersign_store::{HistoryRange, NewDigest};
use countersign_tokens::{clock, sha256_hex};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How many asks one digest looks at, and how many bytes their calls may have together.
const MOST: usize = 5_000;
const BYTES: usize = 32 << 20;
/// How many are read at a time.
const PAGE: usize = 200;
/// How many kinds of asks it names.
const KINDS: usize = 12;
/// How often it is looked whether one is due.
const LOOK: Duration = Duration::from_secs(1);
const CRITICAL: &str = "These calls are critical: they ask every time, whatever a rule says.";
const QUESTION: &str = "Questions are answered by people.";
const NO_CALL: &str = "No agent made this call.";
const ANSWER_RULE: &str = "An answer rule says who answers these calls.";
/// How many people and kinds are named.
const PEOPLE: usize = 5;
const MOST_ASKED: usize = 5;
/// How much of a text is shown; characters.
const SHORT: usize = 60;

/// What was asked in a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskDigest {
    /// In figures, and which were most.
    pub reply: DigestReply,
    /// The same as people read it in a chat.
    pub lines: Vec<Vec<ReplyPiece>>,
}

/// Whose asks a digest is about, and how they are titled.
pub struct DigestScope<'a> {
    /// From when on they were closed; Unix milliseconds.
    pub since: i64,
    /// Before when; Unix milliseconds.
    pub until: i64,
    /// Whether its readers may be told of an ask.
    pub tells: &'a (dyn Fn(&Ask) -> bool + Send + Sync),
    /// The first line of an ask's card.
    pub title: fn(&Ask) -> String,
}

/// How an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEnd {
    /// A person approved the call as it was submitted.
    Approved,
    /// A person approved another call in its place.
    Edited,
    /// A person answered its questions.
    Answered,
    /// A person denied it.
    Denied,
    /// Nobody answered in time.
    TimedOut,
    /// A rule or grant that came to cover it.
    ByRule,
    /// Its caller cancelled it.
    Cancelled,
}

/// These asks in figures.
fn figures(
    scope: &DigestScope<'_>,
    complete: bool,
    asks: &[&ClosedAsk],
    kinds: Vec<DigestKind>,
) -> DigestReply {
    let ended = |ends: &[AskEnd]| asks.iter().filter(|ask| ends.contains(&ask.end)).count();
    let by_people = asks.iter().filter(|ask| ask.is_by_people());
    let mut times: Vec<i64> = by_people.map(|ask| ask.open_ms).collect();
    times.sort_unstable();
    // Of several people who agree each counts.
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in asks.iter().flat_map(|ask| &ask.people) {
        *counts.entry(name).or_default() += 1;
    }
    let person = |(name, answers): (&str, _)| DigestPerson { name: name.to_owned(), answers };
    let mut people: Vec<_> = counts.into_iter().map(person).collect();
    people.sort_by_key(|person| std::cmp::Reverse(person.answers));
    DigestReply {
        since: clock::rfc3339(scope.since),
        until: clock::rfc3339(scope.until),
        complete,
        asks: asks.len(),
        approved: ended(&[AskEnd::Approved, AskEnd::Edited]),
        answered: ended(&[AskEnd::Answered]),
        denied: ended(&[AskEnd::Denied]),
        timed_out: ended(&[AskEnd::TimedOut]),
        by_rule: ended(&[AskEnd::ByRule]),
        cancelled: ended(&[AskEnd::Cancelled]),
        appeals: asks.iter().filter(|ask| ask.call.appeal.is_some() && ask.is_by_people()).count(),
        overruled: asks.iter().filter(|ask| ask.overrules()).count(),
        median_ms: nearest_rank(&times, 50),
        p90_ms: nearest_rank(&times, 90),
        people,
        kinds,
        lines: Vec::new(),
    }
}

impl Gate {
    /// What was asked in a time.
    ///
    /// # Errors
    /// When the policy cannot decide on a call, or the store fails.
    pub async fn digest(
        self: &Arc<Self>,
        scope: DigestScope<'_>,
    ) -> Result<AskDigest, SubmitError> {
        let (all, is_complete) = self.closed_asks(&scope).await?;
        // What its readers are not told of still counts against a rule where people denied it.
        let told: Vec<&ClosedAsk> = all.iter().filter(|ask| ask.is_told).collect();
        let mut groups: BTreeMap<KindKey, Vec<&ClosedAsk>> = BTreeMap::new();
        for ask in told.iter().copied() {
            groups.entry(key(ask)).or_default().push(ask);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, asks)| std::cmp::Reverse(asks.len()));
        let mut kinds = Vec::new();
        for ((rule, calls, _), asks) in groups.into_iter().take(KINDS) {
            let (suggestion, why_not) = match self.suggest(&all, &asks).await? {
                Ok(suggestion) => (Some(suggestion), None),
                Err(why) => (None, Some(why)),
            };
            let overruled = asks.iter().filter(|ask| ask.overrules()).count();
            kinds.push(DigestKind {
                rule,
                calls,
                asks: asks.len(),
                overruled,
                suggestion,
                why_not,
            });
        }
        let reply = figures(&scope, is_complete, &told, kinds);
        let lines = lines(&reply, scope.until.saturating_sub(scope.since));
        let plain = |line: &Vec<ReplyPiece>| line.iter().map(ReplyPiece::plain).collect();
        Ok(AskDigest {
            reply: DigestReply { lines: lines.iter().map(plain).collect(), ..reply },
            lines,
        })
    }

    /// The latest asks of the time, and whether these are all.
    // INVARIANT: their number and their bytes are bounded, whatever the store holds.
    async fn closed_asks(
        &self,
        scope: &DigestScope<'_>,
    ) -> Result<(Vec<ClosedAsk>, bool), SubmitError> {
        let since = Some(scope.since);
        let until = Some(scope.until.saturating_sub(1));
        let mut range = HistoryRange { since, until, ..HistoryRange::default() };
        let mut asks = Vec::new();
        let mut bytes = 0_usize;
        loop {
            let look = |ask: &Ask| ClosedAsk::of(ask, (scope.title)(ask), (scope.tells)(ask));
            let page = self.store.history(&range, PAGE, look).await?;
            bytes += page.found.iter().map(|ask| self::bytes(&ask.call)).sum::<usize>();
            asks.extend(page.found);
            match page.next {
                None => return Ok((asks, true)),
                Some(_) if asks.len() >= MOST || bytes >= BYTES => return Ok((asks, false)),
                Some(next) => range.behind = Some(next),
            }
        }
    }

    /// Makes digests when they are due until told to stop; `title` is the first line of a card.
    pub async fn make_digests(
        self: &Arc<Self>,
        title: fn(&Ask) -> String,
        stop: CancellationToken,
    ) {
        let mut made = None;
        while !stop.is_cancelled() {
            let choices = self.choices();
            if let Some(digest) = &choices.routes.digest
                && let Some((due, since)) = digest.time.latest(clock::now_ms())
                && made != Some(due)
            {
                match self.make_digest(digest, since, due, title).await {
                    Ok(()) => made = Some(due),
                    Err(error) => tracing::warn!(%error, "a digest is late"),
                }
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(LOOK)).await;
        }
    }

    // INVARIANT: of all daemons and all restarts one makes the digest of a time. What was due
    // before the first look is not made.
    async fn make_digest(
        self: &Arc<Self>,
        digest: &ScheduledDigest,
        since: i64,
        until: i64,
        title: fn(&Ask) -> String,
    ) -> Result<(), SubmitError> {
        let store = &self.store;
        let choices = self.choices();
        let mut new = Vec::new();
        match store.last_digest().await? {
            Some(last) if last >= until => return Ok(()),
            None => {}
            Some(_) => {
                let absent = store.absent(until).await?;
                let at = Moment { now_ms: until, absent: &absent };
                let routes = &choices.routes;
                for target in routes.digest_targets(&choices.approvers.people, digest, at) {
                    let PlannedTarget { adapter, target: place, .. } = &target;
                    let is_direct =
                        routes.direct.values().flatten().any(|it| it.is(adapter, place));
                    let tells = |ask: &Ask| is_direct || is_shown_at(ask, &target);
                    let scope = DigestScope { since, until, tells: &tells, title };
                    let content = json!(self.digest(scope).await?.lines).to_string();
                    let adapter = adapter.clone();
                    let target = place.clone();
                    new.push(NewDigest { adapter, target, content });
                }
            }
        }
        if store.add_digest(until, new).await? {
            tracing::info!(until = clock::rfc3339(until), "a digest was made");
            self.changed();
        }
        Ok(())
    }
}

/// The rule that asked, what the calls have in common, and why no rule may save them.
type KindKey = (Option<String>, String, Option<&'static str>);

fn key(ask: &ClosedAsk) -> KindKey {
    let rules: Vec<String> = ask.always.iter().map(Rule::to_string).collect();
    let calls = match rules.as_slice() {
        _ if ask.call.appeal.is_some() => ask.title.clone(),
        [] if canonical(&ask.call.tool) == "shell_exec" => "shell".to_owned(),
        [] => ask.call.tool.clone(),
        rules => rules.join(" and "),
    };
    (ask.rule.clone(), calls, ask.never)
}

/// Whether the ask was shown at this target.
// SECURITY: a request that a route shows elsewhere is not told in this chat.
fn is_shown_at(ask: &Ask, target: &PlannedTarget) -> bool {
    let plan = ask.body.plan.as_ref();
    plan.is_none_or(|plan| plan.shows_at(&target.adapter, &target.target))
}

/// A closed ask.
#[derive(Debug, Clone)]
struct ClosedAsk {
    end: AskEnd,
    /// How long it was open; milliseconds.
    open_ms: i64,
    /// Who decided, where people did.
    people: Vec<String>,
    /// The rule that asked.
    rule: Option<String>,
    /// What Always would have stored.
    always: Vec<Rule>,
    /// What Always would have stored for this very call.
    exact: Vec<Rule>,
    /// Why no rule may save it, whatever the rules are; `None` where one may.
    never: Option<&'static str>,
    call: Call,
    /// The same for calls of one tool with the same arguments in one folder, whoever made them.
    same: String,
    /// The first line of its card.
    title: String,
    /// Whether the readers of the digest may be told of it.
    is_told: bool,
}

impl ClosedAsk {
    /// What a digest needs of an ask; `None` for an open one and for a review.
    fn of(ask: &Ask, title: String, is_told: bool) -> Option<Self> {
        let body = &ask.body;
        let answer = ask.answer()?;
        // Its call was never kept waiting.
        if body.review.is_some() {
            return None;
        }
        let reasons = [
            (ask.is_question(), QUESTION),
            (body.is_no_call(), NO_CALL),
            (body.critical, CRITICAL),
            (!body.requirements.is_empty(), ANSWER_RULE),
        ];
        let never = reasons.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why);
        let by_person = matches!(answer.by, By::Person { .. });
        let names = answer.with.iter().chain([&answer.by]).filter_map(name);
        Some(Self {
            end: end(&ask.state, answer.decision, &answer.by),
            open_ms: answer.at.saturating_sub(ask.created_at).max(0),
            people: if by_person { names.collect() } else { Vec::new() },
            rule: body.call.appeal.as_ref().map(blocked_by).or_else(|| body.rule.clone()),
            always: body.always.clone(),
            exact: body.exact.clone(),
            never,
            call: body.call.clone(),
            same: same(&body.call),
            title,
            is_told,
        })
    }

    /// Whether people released what a machine had blocked.
    fn overrules(&self) -> bool {
        self.call.appeal.is_some() && self.end == AskEnd::Approved
    }

    /// Whether people decided.
    fn is_by_people(&self) -> bool {
        !self.people.is_empty()
    }
}

/// The machine, and its rule where its reason begins with one: `[Data Exfiltration] …`.
fn blocked_by(appeal: &Appeal) -> String {
    let Appeal { against, reason } = appeal;
    let rule = reason.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    rule.map_or_else(|| against.clone(), |(rule, _)| format!("{against} [{rule}]"))
}

fn same(call: &Call) -> String {
    let Call { tool, args, cwd, .. } = call;
    sha256_hex(json!([tool, args, cwd]).to_string().as_bytes())
}

fn end(state: &State, decision: Decision, by: &By) -> AskEnd {
    match (state, by, decision) {
        (State::Cancelled(_), ..) | (_, By::Caller, _) => AskEnd::Cancelled,
        // Silence that approves is no person's answer either.
        (_, By::Timeout | By::NoApprover, _) => AskEnd::TimedOut,
        (_, By::Policy { .. }, _) => AskEnd::ByRule,
        (_, By::Person { .. }, Decision::Approve) => AskEnd::Approved,
        (_, By::Person { .. }, Decision::Edit) => AskEnd::Edited,
        (_, By::Person { .. }, Decision::Answer) => AskEnd::Answered,
        (_, By::Person { .. }, Decision::Deny) => AskEnd::Denied,
    }
}

fn name(by: &By) -> Option<String> {
    match by {
        By::Person { name, .. } => Some(name.clone()),
        By::Policy { .. } | By::Timeout | By::NoApprover | By::Caller => None,
    }
}

/// The least value that so many of a hundred do not exceed.
fn nearest_rank(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = sorted.len().checked_mul(percent)?.div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// The digest in lines.
// SECURITY: what agents and people wrote is literal, and short.
fn lines(digest: &DigestReply, length_ms: i64) -> Vec<Vec<ReplyPiece>> {
    let span = clock::span(length_ms);
    let mut lines = vec![words(match digest.asks {
        0 => format!("Digest of {span}: nothing was asked."),
        1 => format!("Digest of {span}: 1 request."),
        many => format!("Digest of {span}: {many} requests."),
    })];
    if digest.asks == 0 {
        return lines;
    }
    if !digest.complete {
        lines.push(words("These are the latest; there were more."));
    }
    lines.push(words(ends(digest)));
    if digest.appeals > 0 {
        let DigestReply { appeals, overruled, .. } = digest;
        lines.push(words(format!(
            "Of {appeals} blocked by a machine, people released {overruled}."
        )));
    }
    if let (Some(median), Some(p90)) = (digest.median_ms, digest.p90_ms) {
        let median = clock::brief_span(median);
        let p90 = clock::brief_span(p90);
        let fast = format!("People answered half within {median} and 9 of 10 within {p90}.");
        lines.push(words(fast));
    }
    if !digest.people.is_empty() {
        lines.push(people(digest));
    }
    let most = digest.kinds.iter().take(MOST_ASKED).filter(|kind| kind.asks > 1);
    let most: Vec<_> = most.flat_map(kind).collect();
    if !most.is_empty() {
        lines.push(words("Asked most:"));
        lines.extend(most);
    }
    if digest.kinds.iter().any(|kind| kind.suggestion.is_some()) {
        lines.push(words("`countersign suggest` says which calls such a rule covers."));
    }
    lines
}

/// `40 approved, 2 denied, 1 not answered in time.`
fn ends(digest: &DigestReply) -> String {
    let counts = [
        (digest.approved, "approved"),
        (digest.answered, "answered"),
        (digest.denied, "denied"),
        (digest.timed_out, "not answered in time"),
        (digest.by_rule, "covered by a rule meanwhile"),
        (digest.cancelled, "cancelled"),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some.map(|(count, how)| format!("{count} {how}")).collect();
    format!("{}.", some.join(", "))
}

/// `Answers: Ana 30, Ben 8.`
fn people(digest: &DigestReply) -> Vec<ReplyPiece> {
    let mut pieces = vec![ReplyPiece::Words("Answers: ".to_owned())];
    for (at, DigestPerson { name, answers }) in digest.people.iter().take(PEOPLE).enumerate() {
        let before = if at == 0 { "" } else { ", " };
        pieces.push(ReplyPiece::Words(before.to_owned()));
        pieces.push(literal(name));
        pieces.push(ReplyPiece::Words(format!(" {answers}")));
    }
    let end = match digest.people.len().checked_sub(PEOPLE) {
        None | Some(0) => ".".to_owned(),
        Some(more) => format!(" and {more} more."),
    };
    pieces.push(ReplyPiece::Words(end));
    pieces
}

fn kind(kind: &DigestKind) -> Vec<Vec<ReplyPiece>> {
    let mut first = vec![ReplyPiece::Words(format!("{} × ", kind.asks)), literal(&kind.calls)];
    if kind.overruled > 0 {
        first.push(ReplyPiece::Words(format!(", {} released", kind.overruled)));
    }
    let mut lines = vec![first];
    if let Some(found) = &kind.suggestion {
        let rules = saving::rules_of(found);
        let rule = &rules.join(" and ");
        let rule = if *rule == kind.calls {
            vec![]
        } else {
            vec![ReplyPiece::Words(": ".to_owned()), literal(rule)]
        };
        let what = match rules.len() {
            1 => "   a rule would have saved ".to_owned(),
            many => format!("   {many} rules would have saved "),
        };
        let mut pieces = vec![ReplyPiece::Words(what)];
        pieces.push(ReplyPiece::Words(found.saves.to_string()));
        pieces.extend(rule);
        lines.push(pieces);
    }
    lines
}

fn words(text: impl Into<String>) -> Vec<ReplyPiece> {
    vec![ReplyPiece::Words(text.into())]
}

fn literal(text: &str) -> ReplyPiece {
    ReplyPiece::Literal(brief(&line(text), SHORT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_and_a_tenth_are_times_that_somebody_really_took() {
        assert_eq!(nearest_rank(&[], 50), None);
        assert_eq!(nearest_rank(&[7], 50), Some(7));
        assert_eq!(nearest_rank(&[7], 90), Some(7));
        let ten: Vec<i64> = (1..=10).collect();
        assert_eq!((nearest_rank(&ten, 50), nearest_rank(&ten, 90)), (Some(5), Some(9)));
        assert_eq!(nearest_rank(&[1, 2, 3], 50), Some(2));
    }
}
