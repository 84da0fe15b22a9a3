//! `/v1/parked`: runs that wait without a process are parked, listed, resumed and given up.
//!
//! SECURITY: a run is resumed by the agent that parked it, or by an approver: its words start a
//! program, and its answer lets a call run.

use crate::{
    Api,
    asks::{find, owned, reply, view, with_card},
    error::ApiError,
    handle::AskReader,
    request::{Body, JsonReply, Params, Reply},
};
use axum::{Extension, Json, extract::Path, response::IntoResponse};
use countersign_domain::{
    Owner,
    parked::ParkedRun,
    wire::{
        CallReply, CallVerdict, ParkReply, ParkedPage, ParkedView, ProcessEnded, ResumeRunReply,
        TakeQuery,
    },
};
use countersign_gate::{ParkedRunOutcome, RunResumption, TakenAnswer, ask::Ask};
use countersign_store::Parked;
use countersign_tokens::clock;

pub(super) async fn list(api: Api, reader: AskReader) -> Reply {
    let turn = api.turns.take().await?;
    let now = clock::now_ms();
    let runs = api.gate.parked_runs().await?.into_iter();
    let runs = runs.filter(|(_, ask)| reader.may_read(ask));
    let parked = runs.map(|(parked, ask)| parked_view(&api, parked, &ask, now)).collect();
    Ok(turn.held_by(&ParkedPage { parked }))
}

#[expect(clippy::cast_precision_loss, reason = "no run costs billions of dollars")]
fn parked_view(api: &Api, parked: Parked, ask: &Ask, now: i64) -> ParkedView {
    ParkedView {
        ask: with_card(api, ask, view(ask)),
        run: parked.run.without_words(),
        cost_usd: parked.cost.map(|cost| cost as f64 / MILLIONTHS),
        since: clock::rfc3339(parked.parked_at),
        resuming: parked.until_at > now,
    }
}

/// The parts of a dollar in which costs are stored.
const MILLIONTHS: f64 = 1_000_000.0;

pub(super) async fn park(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
    body: Body,
) -> JsonReply<ParkReply> {
    let run: ParkedRun = body.json()?;
    let ask = own(&api, &id, &reader).await?;
    Ok(Json(match api.gate.park(&ask.id, &run).await? {
        ParkedRunOutcome::Parked => ParkReply { parked: true, reason: None },
        ParkedRunOutcome::Closed => ParkReply { parked: false, reason: None },
        ParkedRunOutcome::Refused(why) => ParkReply { parked: false, reason: Some(why) },
    }))
}

pub(super) async fn resume(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
) -> JsonReply<ResumeRunReply> {
    let ask = own(&api, &id, &reader).await?;
    match api.gate.resume_run(&ask.id).await? {
        RunResumption::Granted(epoch, run) => Ok(Json(ResumeRunReply { epoch, run })),
        RunResumption::NotNow(why) => Err(ApiError::conflict(format!("`{}`: {why}", ask.id))),
        RunResumption::NotParked => Err(not_parked(&ask.id)),
    }
}

pub(super) async fn take(
    api: Api,
    Extension(owner): Extension<Owner>,
    reader: AskReader,
    Path(id): Path<String>,
    query: Params<TakeQuery>,
    body: Body,
) -> Reply {
    let TakeQuery { epoch } = query.read()?;
    let call = owned(&api, &owner, body).await?;
    let ask = own(&api, &id, &reader).await?;
    Ok(match api.gate.take_answer(&ask.id, epoch, call).await? {
        TakenAnswer::Answered(ask) => reply(&api, &ask),
        TakenAnswer::Denied(reason) => Json(denial(reason)).into_response(),
        TakenAnswer::StillParked(why) => ApiError::conflict(why).into_response(),
    })
}

fn denial(reason: String) -> CallReply {
    CallReply {
        verdict: CallVerdict::Deny,
        reason: Some(reason),
        rule: None,
        ask: None,
        state: None,
        answer: None,
        message: None,
    }
}

pub(super) async fn ended(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
    body: Body,
) -> JsonReply<ParkReply> {
    let ProcessEnded { epoch, put_off, cost_usd } = body.json()?;
    let ask = own(&api, &id, &reader).await?;
    let cost = cost_usd.and_then(millionths);
    let parked = api.store.process_ended(&ask.id, epoch, put_off, cost).await?;
    Ok(Json(ParkReply { parked, reason: None }))
}

#[expect(clippy::cast_possible_truncation, reason = "it is far within its range")]
fn millionths(dollars: f64) -> Option<i64> {
    let cost = (dollars * MILLIONTHS).round();
    (0.0..1e15).contains(&cost).then_some(cost as i64)
}

pub(super) async fn give_up(
    api: Api,
    reader: AskReader,
    Path(id): Path<String>,
) -> JsonReply<ParkReply> {
    let ask = own(&api, &id, &reader).await?;
    if api.gate.drop_parked(&ask.id).await? {
        Ok(Json(ParkReply { parked: false, reason: None }))
    } else {
        Err(not_parked(&ask.id))
    }
}

async fn own(api: &Api, id: &str, reader: &AskReader) -> Result<Ask, ApiError> {
    let ask = find(api, id, reader).await?;
    if reader.may_cancel(&ask) {
        Ok(ask)
    } else {
        Err(ApiError::forbidden("an agent's run is for that agent alone"))
    }
}

fn not_parked(id: &str) -> ApiError {
    ApiError::not_found(format!("no parked run waits for `{id}`, or it goes on already"))
}
