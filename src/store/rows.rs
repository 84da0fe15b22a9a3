//! Rows of asks, and columns that hold JSON.

use super::StoreError;
use crate::ask::{Answer, Ask, Body, Decision, State, attached::AttachedDaemons};
use sqlx::{Row, any::AnyRow};

/// What [`ask`] reads of a row. No other table has columns of these names.
macro_rules! columns {
    () => {
        "id, body, digest, state, progress, version, attended, keepers, created_at, deadline_at, answer"
    };
}
pub(super) use columns;

/// Rows of asks, as [`ask`] reads them.
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", $crate::store::rows::columns!(), " FROM ask ", $rest)
    };
}
pub(super) use select;

/// The ask of this row.
// FAIL-CLOSED: a text that was changed on the disk is never shown: people would approve what does
// not run.
pub(super) fn ask(row: &AnyRow) -> Result<Ask, StoreError> {
    let damaged = |why: String| {
        let ask = row.try_get("id").unwrap_or_default();
        StoreError::DamagedAsk { ask, why }
    };
    match as_written(row) {
        Ok(ask) if ask.body.call.digest() == ask.digest => Ok(ask),
        Ok(_) => Err(damaged("its call is not the one that was handed in".to_owned())),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// The ask of this row, unless it does not read back: it hides and holds up no other.
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
    body.call.owner.clone_from(&body.owner);
    let state = if body.call.questions.is_empty() { state } else { as_answered(state) };
    let progress: String = row.try_get("progress")?;
    Ok(Ask {
        id: row.try_get("id")?,
        body,
        digest: row.try_get("digest")?,
        state,
        progress: read("progress", &progress)?,
        version: row.try_get("version")?,
        attended: row.try_get::<i64, _>("attended")? != 0,
        attached: AttachedDaemons::read(row.try_get("keepers")?),
        created_at: row.try_get("created_at")?,
        deadline_at: row.try_get("deadline_at")?,
    })
}

/// A column of JSON.
pub(super) fn read<T: serde::de::DeserializeOwned>(
    column: &'static str,
    json: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Unreadable { column, source })
}

/// A value as its column holds it.
pub(super) fn write<T: serde::Serialize>(
    column: &'static str,
    value: &T,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Unreadable { column, source })
}
