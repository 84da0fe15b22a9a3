//! `/v1/calls` and `/v1/asks`: an agent submits a call; asks are listed, read, awaited, answered and
//! cancelled.

use crate::{
    Api,
    error::ApiError,
    handle::{AskReader, Handle},
    request::{Answering, Body, JsonReply, Params, Reply, unreadable},
};
use axum::{
    Extension, Json,
    extract::Path,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_domain::{
    Owner,
    call::Call,
    wire::{
        AheadQuery, AheadReply, AnswerReply, AnswerRequest, AnswerView, AskState, AskView,
        AsksPage, AsksQuery, CallReply, CallVerdict, CancelReason, CancelRequest, EditView,
        OverruledView, RequirementView, ReviewView, SubmitRequest, WaitQuery,
    },
};
use countersign_gate::{
    Gate, SubmitOutcome, Take, Told,
    ask::{
        self, Answer, Ask, Decision, Overruled, Scope, edit::ProposedEdit,
        requirement::Requirement, review::CallReview, votes::Vote,
    },
};
use countersign_people::{
    answer::{Action, EditStep, TextPurpose},
    approvers::Who,
};
use countersign_policy::{self as policy, Verdict};
use countersign_profiles::OnDeny;
use countersign_store::{ListCursor, Listed};
use countersign_tokens::clock;
use std::time::Duration;

pub(super) async fn list(api: Api, reader: AskReader, query: Params<AsksQuery>) -> Reply {
    let query = query.read()?;
    let state = query.state.as_deref().unwrap_or("open");
    if !["open", "answered", "expired", "cancelled"].contains(&state) {
        return Err(ApiError::bad_request(format!(
            "`{state}` is not a valid state; use open, answered, expired or cancelled"
        )));
    }
    let after = match &query.after {
        // No ask is read through it, so it may be the last of a page without any of the reader's.
        Some(id) => Some(api.store.ask(id).await?.ok_or_else(|| no_such(id))?),
        None => None,
    };
    let after = after.map(|ask| ListCursor::behind(&ask, state));
    // The turn is taken before the read, so that the asks of only so many replies are in memory at
    // once.
    let turn = api.turns.take().await?;
    let Listed { asks, next } = api.store.asks_in(state, after.as_ref()).await?;
    let one = |ask: &Ask| if query.card { with_card(&api, ask, view(ask)) } else { view(ask) };
    let asks = asks.iter().filter(|ask| reader.may_read(ask)).map(one).collect();
    let next = next.map(|next| next.id().to_owned());
    Ok(turn.held_by(&AsksPage { asks, next }))
}

pub(super) async fn get(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
    query: Params<WaitQuery>,
) -> Reply {
    let query = query.read()?;
    let (id, is_caller) = {
        // No ask is held while its answer is awaited.
        let _turn = api.turns.take().await?;
        let ask = find(&api, &id, &reader).await?;
        (ask.id.clone(), reader.is_caller_of(&ask))
    };
    if !longest(&query).is_zero() {
        // An agent that waits here counts as its ask's caller; who only watches does not.
        // `leave` is reached only if the wait ends by itself: if the client disconnects, `caller`
        // is dropped, which cancels the ask after a grace time.
        let waited = if is_caller {
            let mut caller = api.gate.attach(&id);
            let waited = caller.wait(longest(&query)).await;
            caller.leave();
            waited
        } else {
            api.gate.wait(&id, longest(&query)).await
        };
        waited?;
    }
    let turn = api.turns.take().await?;
    let ask = api.store.ask(&id).await?.ok_or_else(|| no_such(&id))?;
    let view = view_for_agent(&api.gate, &ask);
    let view = if query.card { with_card(&api, &ask, view) } else { view };
    Ok(turn.held_by(&view))
}

/// Adds the card that people see to the ask.
pub(super) fn with_card(api: &Api, ask: &Ask, view: AskView) -> AskView {
    AskView { card: Some((api.card)(ask)), ..view }
}

pub(super) async fn answer(
    api: Api,
    handle: Handle,
    reader: AskReader,
    Path(id): Path<String>,
    body: Body,
) -> Reply {
    let who = handle.answerer()?;
    let given = body.json()?;
    let ask = find(&api, &id, &reader).await?;
    let action = action(given, &ask)?;
    act(&api, ask, who, action).await
}

pub(super) async fn undo(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
    Answering(who): Answering,
) -> Reply {
    let ask = find(&api, &id, &reader).await?;
    act(&api, ask, who, Action::Undo).await
}

/// What an approver does to an ask, and what becomes of it.
async fn act(api: &Api, ask: Ask, who: Who, action: Action) -> Reply {
    let reply = api.gate.answer(ask.clone(), who, action).await;
    let status = match reply.told {
        // A late or repeated answer is 200 with `applied: false`: the request was valid, and the
        // reply shows who answered.
        Told::Applied | Told::Noted | Told::Voted | Told::TextWanted => StatusCode::OK,
        Told::Already | Told::Expired | Told::Cancelled => StatusCode::OK,
        Told::NotAllowed => StatusCode::FORBIDDEN,
        Told::Unknown => StatusCode::NOT_FOUND,
        Told::Unfit => StatusCode::UNPROCESSABLE_ENTITY,
        Told::Fault => StatusCode::SERVICE_UNAVAILABLE,
    };
    if !status.is_success() {
        return Err(ApiError::new(status, reply.sentence));
    }
    let ask = reply.ask.unwrap_or(ask);
    let reply = AnswerReply {
        applied: reply.told == Told::Applied,
        state: state(&ask.state),
        by: ask.answer().map(|answer| answer.by.clone()),
        message: reply.sentence,
        edit: ask.progress.edit.as_ref().filter(|_| ask.is_open()).map(edit_view),
    };
    Ok(Json(reply).into_response())
}

pub(super) async fn cancel(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
    body: Body,
) -> JsonReply<AskView> {
    let given: CancelRequest = body.json_or_default()?;
    let reason = given.reason.map(|word| word.parse::<CancelReason>()).transpose();
    let reason = reason.map_err(ApiError::bad_request)?;
    let ask = find(&api, &id, &reader).await?;
    if !reader.may_cancel(&ask) {
        return Err(ApiError::forbidden("an agent cancels only what it asked itself"));
    }
    let now = match reason {
        Some(CancelReason::AnsweredElsewhere) => api.gate.answered_elsewhere(&ask.id).await?,
        Some(CancelReason::SessionEnded) => api.gate.cancel(&ask.id, "its session ended").await?,
        Some(CancelReason::Refused) => {
            api.gate.refused(&ask.id, given.why.as_deref().unwrap_or_default()).await?
        }
        None | Some(CancelReason::Aborted) => {
            api.gate.cancel(&ask.id, "the agent that asked went away").await?
        }
    };
    let ask = now.unwrap_or(ask);
    Ok(Json(view(&ask)))
}

/// The action that an answer requests.
fn action(given: AnswerRequest, ask: &Ask) -> Result<Action, ApiError> {
    belongs_together(&given).map_err(ApiError::bad_request)?;
    let action = match (given.decision, given.answers) {
        (Decision::Deny, _) => denial(given.stop, given.explain, given.skip)
            .map(|then| Action::Deny { reason: given.reason, then }),
        (Decision::Edit, _) => edit(given.edit, given.digest, ask),
        (Decision::Approve | Decision::Answer, Some(answers)) => Ok(Action::Answers(answers)),
        (Decision::Answer, None) => Err("`answer` needs `answers`, by the questions' texts"),
        (Decision::Approve, None) => {
            let scope = given.scope.unwrap_or(Scope::Once);
            approval(scope, given.next_try, given.rules, given.reason)
        }
    };
    action.map_err(ApiError::bad_request)
}

/// Refuses fields that say nothing beside the decision.
fn belongs_together(given: &AnswerRequest) -> Result<(), &'static str> {
    let decision = given.decision;
    let of_edit = given.edit.is_some() || given.digest.is_some();
    let of_denial = given.stop || given.explain || given.skip;
    let approves_call = decision == Decision::Approve && given.answers.is_none();
    let pairs = [
        (of_edit, decision == Decision::Edit, "`edit` and `digest` belong to the decision `edit`"),
        (given.next_try, approves_call, "`next_try` belongs to an approval of a call"),
        (given.rules.is_some(), approves_call, "`rules` belongs to an approval of a call"),
        (of_denial, decision == Decision::Deny, "`stop`, `explain` and `skip` belong to a denial"),
        (
            given.answers.is_some(),
            matches!(decision, Decision::Approve | Decision::Answer),
            "`answers` belongs to an approval of a question",
        ),
        // It would look like a rule for later calls, which only the rules file can hold.
        (
            lasts(given.scope),
            decision != Decision::Deny,
            "a denial has no scope; it is for this call only",
        ),
    ];
    let misplaced = pairs.into_iter().find(|(is_given, belongs, _)| *is_given && !belongs);
    misplaced.map_or(Ok(()), |(_, _, why)| Err(why))
}

fn denial(stop: bool, explain: bool, skip: bool) -> Result<Option<OnDeny>, &'static str> {
    match (stop, explain, skip) {
        (false, false, false) => Ok(None),
        (true, false, false) => Ok(Some(OnDeny::Stop)),
        (false, true, false) => Ok(Some(OnDeny::Explain)),
        (false, false, true) => Ok(Some(OnDeny::GoOn)),
        _ => Err("`stop`, `explain` and `skip` exclude each other"),
    }
}

fn edit(text: Option<String>, digest: Option<String>, ask: &Ask) -> Result<Action, &'static str> {
    match (text, digest) {
        (Some(text), None) => Ok(Action::Words { wanted: TextPurpose::Edit, text: Some(text) }),
        (None, Some(digest)) => {
            let edit = ask.progress.edit.as_ref().filter(|edit| edit.digest == digest);
            // Naming the digest of a critical one is the second step.
            Ok(Action::Edit { nth: edit.map_or(0, |edit| edit.nth), step: EditStep::Confirm })
        }
        _ => Err("`edit` proposes a text, and then `digest` approves it; give one of them"),
    }
}

fn approval(
    scope: Scope,
    next_try: bool,
    rules: Option<Vec<usize>>,
    reason: Option<String>,
) -> Result<Action, &'static str> {
    if next_try {
        let alone = scope == Scope::Once && rules.is_none() && reason.is_none();
        let why = "`next_try` approves one try, without `scope`, `rules` or `reason`";
        return if alone { Ok(Action::ApproveNext) } else { Err(why) };
    }
    if let Some(places) = rules {
        if scope != Scope::Always || reason.is_some() {
            return Err("`rules` belongs to the scope `always`, alone");
        }
        let places: Option<Vec<_>> = places.iter().map(|at| at.checked_sub(1)).collect();
        return places.map(Action::ApproveParts).ok_or("the places of `rules` are counted from 1");
    }
    match reason.filter(|note| !note.trim().is_empty()) {
        None => Ok(Action::Approve { scope }),
        Some(_) if scope != Scope::Once => {
            Err("a note (`reason`) goes with an approval of this call alone")
        }
        note => Ok(Action::Words { wanted: TextPurpose::Note, text: note }),
    }
}

/// Whether a scope covers more than one call.
fn lasts(scope: Option<Scope>) -> bool {
    scope.is_some_and(|scope| scope != Scope::Once)
}

/// The ask with this id, or the only one whose id starts with it, of those that this reader may
/// read.
// SECURITY: to who may not read an ask, it does not exist.
pub(super) async fn find(api: &Api, id: &str, reader: &AskReader) -> Result<Ask, ApiError> {
    let ids = api.store.ids_like(id).await?;
    // A whole id means itself, even if a longer one starts with it.
    let ids = if ids.iter().any(|found| found == id) { vec![id.to_owned()] } else { ids };
    let mut found = Vec::new();
    for id in &ids {
        // A row that cannot be read is an error where it is the only one that may be meant.
        match api.store.ask(id).await {
            Ok(ask) => found.extend(ask.filter(|ask| reader.may_read(ask))),
            Err(error) if ids.len() == 1 => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "an ask is passed over"),
        }
    }
    match (found.pop(), found.len()) {
        (Some(found), 0) if id.len() >= 3 => Ok(found),
        (Some(_), 1..) => {
            Err(ApiError::bad_request(format!("`{id}` matches several asks; type more of the id")))
        }
        _ => Err(no_such(id)),
    }
}

pub(super) fn no_such(id: &str) -> ApiError {
    ApiError::not_found(format!("there is no ask `{id}`"))
}

// `POST /v1/calls`: an agent submits a call.

pub(super) async fn submit(
    api: Api,
    Extension(owner): Extension<Owner>,
    query: Params<WaitQuery>,
    body: Body,
) -> Reply {
    let query = query.read()?;
    let call = owned(&api, &owner, body).await?;
    let longest = longest(&query);
    let (ask, caller) = match api.gate.submit(call.clone(), !longest.is_zero()).await? {
        SubmitOutcome::Ruled(ruling) => {
            let message = api.gate.text_for_denial(&call, &ruling);
            return Ok(Json(decided(&ruling, message)).into_response());
        }
        SubmitOutcome::Asked(ask, caller) => (ask, caller),
    };
    // No wait was requested, so nobody is attached and the open ask is returned at once.
    let Some(mut caller) = caller else { return Ok(reply(&api, &ask)) };
    let id = std::mem::take(&mut { ask }.id);
    let waited = caller.wait(longest).await;
    // An error is a response too: the caller submits again with the same key, so this is no cancel.
    caller.leave();
    let ask = waited?.ok_or_else(|| ApiError::not_found(format!("there is no ask `{id}`")))?;
    Ok(reply(&api, &ask))
}

pub(super) async fn ahead(
    api: Api,
    Extension(owner): Extension<Owner>,
    query: Params<AheadQuery>,
    body: Body,
) -> JsonReply<AheadReply> {
    let query = query.read()?;
    let call = owned(&api, &owner, body).await?;
    let take = if query.spend { Take::Spend } else { Take::Look };
    let approved = api.gate.approved_ahead(call, take).await?;
    Ok(Json(AheadReply { approved }))
}

/// Reads a submitted call, and whose it is.
pub(super) async fn owned(api: &Api, owner: &Owner, body: Body) -> Reply<Call> {
    let body = body.bytes()?;
    // A large body is parsed outside the runtime's workers, so that it does not delay other
    // requests.
    let read = api.gate.beside(body.len(), || read(&body)).await;
    let SubmitRequest { mut call, session_secret } = read?;
    // The handle's owner, narrowed by the session's secret: without the secret, any process with
    // the agent's token could use the session's grants.
    call.owner = Some(session_secret.map_or(owner.clone(), |secret| owner.clone().with(&secret)));
    Ok(call)
}

/// Parses a submitted call. Its session's secret limits that session's grants to holders of it.
fn read(body: &[u8]) -> Result<SubmitRequest, ApiError> {
    let request = SubmitRequest::from_json(body).map_err(|error| unreadable(&error))?;
    let count = request.session_secret.as_ref().map_or(16, |secret| secret.chars().count());
    if (16..=200).contains(&count) {
        Ok(request)
    } else {
        Err(ApiError::bad_request(format!(
            "`session_secret` has {count} characters; it is a random text of 16 to 200, the same \
             for every call of a session"
        )))
    }
}

pub(super) fn reply(api: &Api, ask: &Ask) -> Response {
    let status = if ask.is_open() { StatusCode::ACCEPTED } else { StatusCode::OK };
    (status, Json(asked(&api.gate, ask))).into_response()
}

// Asks and decisions in the API's types.

/// The ask. `verdict` and `reason` are set once it is closed.
#[must_use]
pub fn view(ask: &Ask) -> AskView {
    let body = &ask.body;
    let answer = ask.answer();
    AskView {
        id: ask.id.clone(),
        state: state(&ask.state),
        call: body.call.clone(),
        digest: ask.digest.clone(),
        why: body.why.clone(),
        created: clock::rfc3339(ask.created_at),
        deadline: ask.deadline_at.map(clock::rfc3339),
        meta: body.call.meta.clone(),
        always: body.always.iter().map(ToString::to_string).collect(),
        effects: body.effects.clone(),
        verdict: answer.map(verdict),
        reason: answer.map(|answer| reason(ask, answer)),
        edit: ask.progress.edit.as_ref().filter(|_| ask.is_open()).map(edit_view),
        needs: body.requirements.iter().map(|it| requirement_view(it, &ask.votes)).collect(),
        answer: answer.map(answer_view),
        message: None,
        card: None,
        review: body.review.as_deref().map(review_view),
    }
}

/// The call that an ask reviews.
fn review_view(review: &CallReview) -> ReviewView {
    ReviewView {
        agent: review.agent.clone(),
        session: review.session.clone(),
        at: clock::rfc3339(review.at),
        through: review.through.clone(),
        tightens: review.tightening.promise(),
    }
}

/// The ask with the text for the agent's model.
pub(super) fn view_for_agent(gate: &Gate, ask: &Ask) -> AskView {
    AskView { message: gate.text_for_model(ask), ..view(ask) }
}

/// The reply to a call that policy decided.
pub(super) fn decided(ruling: &policy::Decision, message: Option<String>) -> CallReply {
    let verdict = match ruling.verdict {
        Verdict::Allow => CallVerdict::Allow,
        Verdict::Ask => CallVerdict::Ask,
        Verdict::Deny => CallVerdict::Deny,
    };
    CallReply {
        verdict,
        reason: Some(ruling.reason.clone()),
        rule: ruling.rule.clone(),
        ask: None,
        state: None,
        answer: None,
        message,
    }
}

/// The reply to a call that became an ask.
pub(super) fn asked(gate: &Gate, ask: &Ask) -> CallReply {
    let answer = ask.answer();
    CallReply {
        verdict: answer.map_or(CallVerdict::Ask, verdict),
        reason: answer.map(|answer| reason(ask, answer)),
        rule: None,
        ask: Some(ask.id.clone()),
        state: Some(state(&ask.state)),
        answer: answer.map(answer_view),
        message: answer.and_then(|_| gate.text_for_model(ask)),
    }
}

pub(super) fn state(state: &ask::State) -> AskState {
    match state {
        ask::State::Open => AskState::Open,
        ask::State::Answered(_) => AskState::Answered,
        ask::State::Expired(_) => AskState::Expired,
        ask::State::Cancelled(_) => AskState::Cancelled,
    }
}

/// Names who decided, for the agent; "the user" appears only if a user decided.
pub(super) fn reason(ask: &Ask, answer: &Answer) -> String {
    let why = answer.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    match (&ask.state, answer.decision) {
        (ask::State::Expired(_), _) if ask.body.review.is_some() => "nobody reviewed it".to_owned(),
        (ask::State::Answered(_), decision) if ask.body.review.is_some() => {
            let said = if decision == Decision::Deny { "should have asked" } else { "fine" };
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            format!("{said}, says {}{why}", answer.deciders())
        }
        (ask::State::Expired(_), _) if ask.takes_next_try() => {
            let ended = why.unwrap_or("nobody answered in time");
            format!("{ended}; a person may still approve the next try of exactly this call")
        }
        (ask::State::Expired(_), _) => why.unwrap_or("nobody answered in time").to_owned(),
        (ask::State::Cancelled(_), _) => format!("cancelled: {}", why.unwrap_or("its caller left")),
        (_, Decision::Approve | Decision::Edit) if answer.overruled.is_some() => {
            let blocked = answer.overruled.as_ref().map(|it| it.verdict.sentence("it"));
            format!("approved by {}, but {}", answer.deciders(), blocked.unwrap_or_default())
        }
        (_, Decision::Answer) => format!("answered by {}", answer.deciders()),
        (_, Decision::Edit) => format!("approved with a change by {}", answer.deciders()),
        (_, Decision::Approve) => match why {
            Some(note) => format!("approved by {}: {note}", answer.deciders()),
            None => format!("approved by {}", answer.deciders()),
        },
        (_, Decision::Deny) => match why {
            Some(why) => format!("denied by {}: {why}", answer.deciders()),
            None => format!("denied by {}", answer.deciders()),
        },
    }
}

fn verdict(answer: &Answer) -> CallVerdict {
    match answer.decision {
        Decision::Approve => CallVerdict::Allow,
        // SECURITY: never `allow`, so that no client takes the answer to a question for permission
        // to run.
        Decision::Answer => CallVerdict::Answered,
        // SECURITY: nor is a changed call allowed as it was submitted.
        Decision::Edit => CallVerdict::Edited,
        Decision::Deny => CallVerdict::Deny,
    }
}

pub(super) fn edit_view(edit: &ProposedEdit) -> EditView {
    let ProposedEdit { args, digest, by, effects, critical, .. } = edit.clone();
    EditView { args, digest, by, effects, critical }
}

fn answer_view(answer: &Answer) -> AnswerView {
    AnswerView {
        decision: answer.decision,
        scope: answer.scope,
        reason: answer.reason.clone(),
        stop: answer.then == OnDeny::Stop,
        explain: answer.then == OnDeny::Explain,
        answers: answer.answers.clone(),
        updated_input: answer.updated.as_ref().map(|updated| updated.args.clone()),
        updated_digest: answer.updated.as_ref().map(|updated| updated.digest.clone()),
        by: answer.by.clone(),
        with: answer.with.clone(),
        at: clock::rfc3339(answer.at),
        overtaken: answer.overtaken_at.map(clock::rfc3339),
        overruled: overruled_view(answer),
    }
}

/// The machine that blocked an approved call.
pub(super) fn overruled_view(answer: &Answer) -> Option<OverruledView> {
    let Overruled { at, verdict } = answer.overruled.clone()?;
    Some(OverruledView { at: clock::rfc3339(at), by: verdict.against, reason: verdict.reason })
}

/// Whose answers an ask needs, and who has voted.
fn requirement_view(requirement: &Requirement, votes: &[Vote]) -> RequirementView {
    let tally = requirement.tally(votes);
    let names = |votes: &[&Vote]| votes.iter().map(|vote| vote.name()).collect();
    RequirementView {
        rule: requirement.rule.clone(),
        group: requirement.group.clone(),
        approvals: requirement.needed(),
        approved: names(&tally.approved),
        denials: requirement.denials(),
        denied: names(&tally.denied),
    }
}

// `?wait=S`: the time that a request waits for the answer of its ask.

/// The longest wait of one request, in seconds. Clients repeat the request.
const LONGEST_WAIT: u64 = 60;

/// The wait that a request asks for, limited.
pub(super) fn longest(query: &WaitQuery) -> Duration {
    Duration::from_secs(query.wait.unwrap_or(0).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::json;

    #[test]
    fn what_says_nothing_beside_the_decision_is_refused() {
        let answers = json!({"Which store?": "SQLite"});
        for (given, refused) in [
            (json!({"decision": "approve"}), None),
            (json!({"decision": "approve", "scope": "always", "rules": [1]}), None),
            (json!({"decision": "approve", "next_try": true}), None),
            (json!({"decision": "approve", "answers": answers}), None),
            (json!({"decision": "answer", "answers": answers}), None),
            (json!({"decision": "edit", "edit": "ls"}), None),
            (json!({"decision": "deny", "reason": "no", "stop": true}), None),
            (json!({"decision": "deny", "scope": "once"}), None),
            (json!({"decision": "approve", "edit": "ls"}), Some("belong to the decision `edit`")),
            (json!({"decision": "deny", "digest": "00"}), Some("belong to the decision `edit`")),
            (
                json!({"decision": "deny", "next_try": true}),
                Some("belongs to an approval of a call"),
            ),
            (json!({"decision": "deny", "rules": []}), Some("belongs to an approval of a call")),
            (
                json!({"decision": "approve", "answers": answers, "rules": [1]}),
                Some("belongs to an approval of a call"),
            ),
            (json!({"decision": "approve", "stop": true}), Some("belong to a denial")),
            (json!({"decision": "edit", "edit": "ls", "skip": true}), Some("belong to a denial")),
            (json!({"decision": "deny", "answers": answers}), Some("an approval of a question")),
            (json!({"decision": "edit", "answers": answers}), Some("an approval of a question")),
            (json!({"decision": "deny", "scope": "always"}), Some("a denial has no scope")),
        ] {
            let said = belongs_together(&serde_json::from_value(given.clone()).unwrap()).err();
            let as_wanted = match (said, refused) {
                (Some(said), Some(refused)) => said.contains(refused),
                (said, refused) => said == refused,
            };
            assert!(as_wanted, "{given}: {said:?}");
        }
    }

    #[test]
    fn an_approval_takes_one_of_a_scope_rules_a_note_and_the_next_try() {
        let note = || Some("use the cache".to_owned());
        let once = Ok(Action::Approve { scope: Scope::Once });
        assert_eq!(approval(Scope::Once, false, None, Some(" ".to_owned())), once);
        let noted = Ok(Action::Words { wanted: TextPurpose::Note, text: note() });
        assert_eq!(approval(Scope::Once, false, None, note()), noted);
        let parts = Ok(Action::ApproveParts(vec![0, 2]));
        assert_eq!(approval(Scope::Always, false, Some(vec![1, 3]), None), parts);
        assert_eq!(approval(Scope::Once, true, None, None), Ok(Action::ApproveNext));
        for (scope, next_try, rules, reason) in [
            (Scope::Always, false, None, note()),
            (Scope::Once, false, Some(vec![1]), None),
            (Scope::Always, false, Some(vec![1]), note()),
            (Scope::Always, false, Some(vec![0]), None),
            (Scope::Always, true, None, None),
            (Scope::Once, true, Some(vec![1]), None),
            (Scope::Once, true, None, note()),
        ] {
            let given = format!("{scope:?} {next_try} {rules:?} {reason:?}");
            assert!(approval(scope, next_try, rules, reason).is_err(), "{given}");
        }
    }
}
