//! Rows of asks, and columns of JSON.

use super::StoreError;
use countersign_domain::{
    Answer, Ask, Body, Decision, State, StoppedClock, attached::AttachedDaemons, step::widen,
};
use sqlx::{Row, any::AnyRow};

/// The columns that [`ask`] reads. No other table has columns of these names.
// A macro and no constant: `concat!` takes literals only, and sqlx wants static SQL.
macro_rules! columns {
    () => {
        "id, body, digest, state, progress, votes, steps_done, version, attended, attached, \
         created_at, deadline_at, left_ms, answer"
    };
}
pub(super) use columns;

/// A query of the rows that [`ask`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", $crate::rows::columns!(), " FROM ask ", $rest)
    };
}
pub(super) use select;

/// Reads the ask of a row.
// FAIL-CLOSED: a call that was changed on the disk is never shown: people would approve something
// other than what runs.
pub(super) fn ask(row: &AnyRow) -> Result<Ask, StoreError> {
    let damaged = |why: String| {
        let ask = row.try_get("id").unwrap_or_default();
        StoreError::DamagedAsk { ask, why }
    };
    match as_written(row) {
        Ok(ask) if ask.body.call.digest() == ask.digest => Ok(ask),
        Ok(_) => Err(damaged("its call is not the one that was submitted".to_owned())),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// Reads the ask of a row, or skips a damaged one with a warning, so that it does not block others.
pub(super) fn whole(row: &AnyRow) -> Option<Ask> {
    ask(row).inspect_err(|error| tracing::warn!(%error, "an ask is passed over")).ok()
}

/// Versions before `Decision::Answer` wrote the answers to a question as an approval.
fn as_answered(state: State) -> State {
    match state {
        State::Answered(answer) if answer.decision == Decision::Approve => {
            State::Answered(Answer { decision: Decision::Answer, scope: None, ..answer })
        }
        other => other,
    }
}

fn as_written(row: &AnyRow) -> Result<Ask, StoreError> {
    let answer: Option<String> = row.try_get("answer")?;
    let answer: Option<Answer> = answer.map(|json| read("answer", &json)).transpose()?;
    let state: String = row.try_get("state")?;
    let state = match (state.as_str(), answer) {
        ("open", None) => State::Open,
        ("answered", Some(answer)) => State::Answered(answer),
        ("expired", Some(answer)) => State::Expired(answer),
        ("cancelled", Some(answer)) => State::Cancelled(answer),
        _ => return Err(sqlx::Error::Decode(format!("state `{state}`").into()).into()),
    };
    let body: String = row.try_get("body")?;
    let mut body = read::<Body>("body", &body)?;
    // The owner is stored beside the call, because the digest of the call does not cover it.
    body.call.owner.clone_from(&body.owner);
    let state = if body.call.questions.is_empty() { state } else { as_answered(state) };
    let steps_done: i64 = row.try_get("steps_done")?;
    let steps_done = usize::try_from(steps_done).unwrap_or(usize::MAX);
    let done = steps_done.min(body.steps.len());
    widen(&mut body.requirements, body.steps.get(..done).unwrap_or_default());
    let progress: String = row.try_get("progress")?;
    let votes: Option<String> = row.try_get("votes")?;
    let votes = votes.map(|json| read("votes", &json)).transpose()?.unwrap_or_default();
    Ok(Ask {
        id: row.try_get("id")?,
        body,
        digest: row.try_get("digest")?,
        state,
        progress: read("progress", &progress)?,
        steps_done,
        votes,
        version: row.try_get("version")?,
        attended: row.try_get::<i64, _>("attended")? != 0,
        attached: AttachedDaemons::read(row.try_get("attached")?),
        created_at: row.try_get("created_at")?,
        deadline_at: row.try_get("deadline_at")?,
        stopped: stopped(row.try_get("left_ms")?),
    })
}

/// What is left of a stopped deadline, as its column has it.
fn stopped(left_ms: Option<i64>) -> Option<StoppedClock> {
    left_ms.map(|left| StoppedClock { left_ms: (left >= 0).then_some(left) })
}

/// Parses a column of JSON.
pub(super) fn read<T: serde::de::DeserializeOwned>(
    column: &'static str,
    json: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Unreadable { column, source })
}

/// Serializes a value for its column.
pub(super) fn write<T: serde::Serialize>(
    column: &'static str,
    value: &T,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Unreadable { column, source })
}
