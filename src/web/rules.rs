//! `/v1/rules/…`: explains a call by the rules in force, and tries a rule before it is saved; the
//! inbox's page saves it.

use crate::{
    Api,
    error::ApiError,
    grants,
    handle::Handle,
    request::{Body, JsonReply, Reply},
};
use axum::Json;
use countersign_domain::wire::{
    ExplainReply, ExplainRequest, ExplainedPart, GrantView, RuleVerdict, TrialChange, TrialReply,
    TrialRequest,
};
use countersign_gate::{
    RuleSaved, RuleTrial, TrialError, ask::Ask, call::Call, digests::rule_line,
};
use countersign_policy::{Rule, Verdict};
use countersign_store::HistoryRange;
use countersign_tokens::clock;

/// How many closed asks a rule is tried on.
const TRIED: usize = 500;
/// How many are held in memory at a time.
const AT_ONCE: usize = 50;
/// How many changes are listed.
const LISTED: usize = 100;
/// The longest tool or pattern, in bytes.
const LONGEST: usize = 2_000;

// SECURITY: for approvers: the rules tell an agent what it may do unseen.
pub(super) async fn explain(api: Api, handle: Handle, body: Body) -> JsonReply<ExplainReply> {
    seen_by(handle)?;
    let ExplainRequest { tool, args, cwd } = body.json()?;
    let call = Call { cwd, ..Call::new("countersign", "rules", &tool, args) };
    call.check().map_err(|wrong| ApiError::bad_request(wrong.0))?;
    let explained = api.gate.explain(&call).await?;
    let decision = explained.decision;
    let part = |part: countersign_policy::Part| ExplainedPart {
        command: part.command,
        verdict: word(part.verdict),
        words: part.words,
        rule: part.rule,
        reason: part.reason,
    };
    Ok(Json(ExplainReply {
        verdict: word(decision.verdict),
        rule: decision.rule,
        reason: decision.reason,
        critical: decision.critical,
        parts: explained.parts.into_iter().map(part).collect(),
        effects: decision.effects.iter().map(ToString::to_string).collect(),
        always: decision.always.iter().map(ToString::to_string).collect(),
    }))
}

pub(super) async fn try_rule(api: Api, handle: Handle, body: Body) -> JsonReply<TrialReply> {
    seen_by(handle)?;
    let rule = asked(body)?;
    let trial = api.gate.try_rules(std::slice::from_ref(&rule)).await?;
    // One at a time, with the large replies: a trial reads hundreds of bodies.
    let _turn = api.turns.take().await?;
    let mut reply =
        TrialReply { line: rule_line(&rule), calls: 0, changes: 0, changed: Vec::new() };
    let mut range = HistoryRange::default();
    while reply.calls < TRIED {
        let most = AT_ONCE.min(TRIED - reply.calls);
        let page = api.store.history(&range, most, |ask| seen(ask, api.title)).await?;
        for seen in &page.found {
            reply.calls += 1;
            note(&trial, seen, &mut reply).await;
        }
        match page.next {
            Some(next) => range.behind = Some(next),
            None => break,
        }
    }
    Ok(Json(reply))
}

/// Saves a rule for whoever is signed in at the page.
pub(super) async fn save(api: Api, handle: Handle, body: Body) -> JsonReply<GrantView> {
    match api.gate.save_rule(asked(body)?, handle.answerer()?).await? {
        RuleSaved::Saved(grant) => Ok(Json(grants::view(&grant))),
        RuleSaved::Refused(why) => Err(ApiError::unprocessable(why)),
        RuleSaved::NotAllowed(stranger) => Err(ApiError::forbidden(stranger.0)),
    }
}

/// The rule that a request is about.
fn asked(body: Body) -> Reply<Rule> {
    let TrialRequest { tool, pattern, verdict } = body.json()?;
    for (field, text) in [("tool", &tool), ("pattern", &pattern)] {
        if text.trim().is_empty() || text.len() > LONGEST {
            let why = format!("`{field}` must have between 1 and {LONGEST} bytes");
            return Err(ApiError::bad_request(why));
        }
    }
    Ok(Rule { tool, pattern, verdict: meant(verdict) })
}

/// What a trial needs of a closed ask.
struct SeenAsk {
    id: String,
    title: String,
    closed: i64,
    call: Call,
}

/// `None` for questions, which no rule answers.
fn seen(ask: &Ask, title: fn(&Ask) -> String) -> Option<SeenAsk> {
    let call = Some(&ask.body.call).filter(|call| call.questions.is_empty())?;
    Some(SeenAsk {
        id: ask.id.clone(),
        title: title(ask),
        closed: ask.answer()?.at,
        call: call.clone(),
    })
}

async fn note(trial: &RuleTrial, seen: &SeenAsk, reply: &mut TrialReply) {
    let tried = trial.of(&seen.call).await;
    if tried.before == tried.after {
        return;
    }
    reply.changes += 1;
    if reply.changed.len() < LISTED {
        reply.changed.push(TrialChange {
            ask: seen.id.clone(),
            title: seen.title.clone(),
            closed: clock::rfc3339(seen.closed),
            before: word(tried.before),
            after: word(tried.after),
            reason: tried.reason,
        });
    }
}

fn seen_by(handle: Handle) -> Result<(), ApiError> {
    if handle.sees_all() {
        Ok(())
    } else {
        Err(ApiError::forbidden("reading the rules needs the approver's token"))
    }
}

pub(super) fn word(verdict: Verdict) -> RuleVerdict {
    match verdict {
        Verdict::Allow => RuleVerdict::Allow,
        Verdict::Ask => RuleVerdict::Ask,
        Verdict::Deny => RuleVerdict::Deny,
    }
}

fn meant(verdict: RuleVerdict) -> Verdict {
    match verdict {
        RuleVerdict::Allow => Verdict::Allow,
        RuleVerdict::Ask => Verdict::Ask,
        RuleVerdict::Deny => Verdict::Deny,
    }
}

impl From<TrialError> for ApiError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Refused(why) => Self::unprocessable(why),
            TrialError::Failed(error) => error.into(),
        }
    }
}
