//! `/v1/history`: closed asks, and one ask in whole.

use crate::{
    Api,
    asks::{self, reason, view},
    error::ApiError,
    handle::AskReader,
    request::Reply,
};
use axum::extract::{Path, Query, rejection::QueryRejection};
use countersign_domain::wire::{
    AskRecord, AskView, HistoryEntry, HistoryPage, HistoryQuery, HistoryVerdict,
};
use countersign_gate::ask::{Answer, Ask, By, Decision, State};
use countersign_store::{Found, HistoryRange, ListCursor};
use countersign_tokens::clock;
use serde_json::Value;

/// Lists closed asks: approvers see all, agents those of their own handle.
pub(super) async fn list(
    api: Api,
    reader: AskReader,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Reply {
    let query =
        query.map_err(|wrong| ApiError::unprocessable(format!("the query is wrong: {wrong}")))?.0;
    let filter = Filter::read(query).map_err(ApiError::unprocessable)?;
    let turn = api.turns.take().await?;
    let look = |ask: &Ask| {
        if !reader.may_read(ask) {
            return None;
        }
        entry(ask, (api.title)(ask)).filter(|entry| filter.fits(ask, entry))
    };
    let page = api.store.history(&filter.range, filter.limit, look).await?;
    let Found { found, scanned, next } = page;
    let next = next.map(|next| next.written());
    Ok(turn.held_by(&HistoryPage { asks: found, scanned, next }))
}

/// One ask in whole, open or closed.
pub(super) async fn get(api: Api, reader: AskReader, Path(id): Path<String>) -> Reply {
    let turn = api.turns.take().await?;
    let ask = asks::find(&api, &id, &reader).await?;
    let deliveries = api.store.deliveries(&ask.id).await?;
    let answer = ask.answer();
    Ok(turn.held_by(&AskRecord {
        ask: AskView { card: Some((api.card)(&ask)), ..view(&ask) },
        closed: answer.map(|answer| clock::rfc3339(answer.at)),
        critical: ask.body.critical,
        through: answer.and_then(through),
        stored: answer.map(|answer| ask.body.stored(answer)).unwrap_or_default(),
        undone_by: answer.and_then(undone_by),
        deliveries,
    }))
}

/// A closed ask in short; `None` for an open one.
fn entry(ask: &Ask, title: String) -> Option<HistoryEntry> {
    let call = &ask.body.call;
    let answer = ask.answer()?;
    Some(HistoryEntry {
        id: ask.id.clone(),
        created: clock::rfc3339(ask.created_at),
        closed: clock::rfc3339(answer.at),
        agent: call.agent.clone(),
        session: call.session.clone(),
        host: call.host.clone(),
        cwd: call.cwd.clone(),
        tool: call.tool.clone(),
        title,
        critical: ask.body.critical,
        verdict: verdict(&ask.state, answer),
        decision: answer.decision,
        scope: answer.scope,
        by: answer.by.clone(),
        with: answer.with.clone(),
        through: through(answer),
        reason: reason(ask, answer),
        note: answer.reason.clone().filter(|_| matches!(answer.by, By::Person { .. })),
        stored: ask.body.stored(answer),
        overruled: asks::overruled_view(answer),
        undone_by: undone_by(answer),
    })
}

fn verdict(state: &State, answer: &Answer) -> HistoryVerdict {
    match (state, answer.decision) {
        (State::Cancelled(_), _) => HistoryVerdict::Cancelled,
        (_, Decision::Approve | Decision::Answer | Decision::Edit) => HistoryVerdict::Allow,
        (State::Expired(_), Decision::Deny) => HistoryVerdict::Expired,
        (State::Open | State::Answered(_), Decision::Deny) => HistoryVerdict::Deny,
    }
}

fn through(answer: &Answer) -> Option<String> {
    match &answer.by {
        By::Person { platform, .. } => Some(platform.clone()),
        By::Policy { .. } | By::Timeout | By::NoApprover | By::Caller => None,
    }
}

fn undone_by(answer: &Answer) -> Option<By> {
    answer.stored.undone.as_ref().map(|undone| undone.by.clone())
}

// What a reader of the history looks for.

/// How many asks a page has, where the query does not say.
const USUAL: usize = 50;
/// How many it may ask for.
const MOST: usize = 200;

/// What a reader looks for.
#[derive(Debug)]
pub(super) struct Filter {
    /// The part of it that the store looks at.
    pub(super) range: HistoryRange,
    /// How many asks the page has at most.
    pub(super) limit: usize,
    verdict: Option<HistoryVerdict>,
    folder: Option<String>,
    tool: Option<String>,
    /// These three in small letters.
    person: Option<String>,
    rule: Option<String>,
    text: Option<String>,
}

impl Filter {
    /// Reads a query.
    ///
    /// # Errors
    /// A sentence that names the field whose value is wrong.
    // FAIL-CLOSED: a value that is not understood is refused; without it the list would be another.
    pub(super) fn read(query: HistoryQuery) -> Result<Self, String> {
        let verdict = query.verdict.as_deref().map(str::parse::<HistoryVerdict>).transpose();
        let verdict = verdict.map_err(|wrong| format!("`verdict`: {wrong}"))?;
        let state = match verdict {
            Some(HistoryVerdict::Cancelled) => Some("cancelled"),
            Some(HistoryVerdict::Expired) => Some("expired"),
            Some(HistoryVerdict::Deny) => Some("answered"),
            // Silence approves too, in the state `expired`.
            Some(HistoryVerdict::Allow) | None => None,
        };
        let range = HistoryRange {
            agent: named("agent", query.agent)?,
            session: named("session", query.session)?,
            state,
            since: time("since", query.since)?,
            until: time("until", query.until)?,
            behind: position(query.before)?,
        };
        Ok(Self {
            range,
            limit: limit(query.limit)?,
            verdict,
            folder: named("folder", query.folder)?,
            tool: named("tool", query.tool)?,
            person: named("person", query.person)?.map(|part| part.to_lowercase()),
            rule: named("rule", query.rule)?.map(|part| part.to_lowercase()),
            text: named("text", query.text)?.map(|part| part.to_lowercase()),
        })
    }

    /// Whether a closed ask is what is looked for.
    pub(super) fn fits(&self, ask: &Ask, entry: &HistoryEntry) -> bool {
        let all = |filter: &Option<String>, fits: &dyn Fn(&str) -> bool| {
            filter.as_deref().is_none_or(fits)
        };
        self.verdict.is_none_or(|verdict| verdict == entry.verdict)
            && all(&self.folder, &|folder| is_in(entry.cwd.as_deref().unwrap_or_default(), folder))
            && all(&self.tool, &|tool| entry.tool.eq_ignore_ascii_case(tool))
            && all(&self.person, &|part| is_by(&entry.by, part))
            && all(&self.rule, &|part| has_rule(ask, entry, part))
            && all(&self.text, &|part| says(ask, entry, part))
    }
}

/// A value, which may not be empty.
fn named(field: &str, value: Option<String>) -> Result<Option<String>, String> {
    match value {
        Some(value) if value.trim().is_empty() => {
            Err(format!("`{field}` is empty; leave it out to look for any"))
        }
        value => Ok(value),
    }
}

pub(super) fn time(field: &str, value: Option<String>) -> Result<Option<i64>, String> {
    let read = |text: String| {
        clock::from_rfc3339(&text).ok_or_else(|| {
            format!("`{field}` is not a valid time; use RFC 3339, such as 2026-11-22T18:00:00Z")
        })
    };
    value.map(read).transpose()
}

fn position(value: Option<String>) -> Result<Option<ListCursor>, String> {
    let read = |text: String| {
        ListCursor::read(&text)
            .ok_or_else(|| "`before` is not a valid position; use the `next` of a page".to_owned())
    };
    value.map(read).transpose()
}

fn limit(value: Option<String>) -> Result<usize, String> {
    let Some(text) = value else { return Ok(USUAL) };
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("`limit` is a number from 1 to {MOST}"))
}

/// Whether a folder is this one or lies in it. A name without a `/` at its start is the end of one.
fn is_in(folder: &str, wanted: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let wanted = wanted.trim_end_matches('/');
    let ends_there = |rest: &str| rest.is_empty() || rest.starts_with('/');
    if wanted.starts_with('/') || wanted.is_empty() {
        folder.strip_prefix(wanted).is_some_and(ends_there)
    } else {
        folder.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/'))
    }
}

fn is_by(by: &By, part: &str) -> bool {
    match by {
        By::Person { id, name, .. } => {
            id.eq_ignore_ascii_case(part) || name.to_lowercase().contains(part)
        }
        By::Policy { .. } | By::Timeout | By::NoApprover | By::Caller => false,
    }
}

fn has_rule(ask: &Ask, entry: &HistoryEntry, part: &str) -> bool {
    let asked = ask.body.rule.iter();
    asked.chain(&entry.stored).any(|rule| rule.to_lowercase().contains(part))
}

fn says(ask: &Ask, entry: &HistoryEntry, part: &str) -> bool {
    let call = &ask.body.call;
    let texts = [call.reason.as_ref(), call.description.as_ref(), entry.note.as_ref()];
    let own = [&entry.title, &entry.reason, &entry.tool, &ask.body.why];
    own.into_iter()
        .chain(texts.into_iter().flatten())
        .chain(entry.cwd.as_ref())
        .any(|text| text.to_lowercase().contains(part))
        || holds(&call.args, part)
}

/// Whether a text within the arguments has this part.
// No deeper than arguments may be: the gate takes no others.
fn holds(value: &Value, part: &str) -> bool {
    match value {
        Value::String(text) => text.to_lowercase().contains(part),
        Value::Array(list) => list.iter().any(|value| holds(value, part)),
        Value::Object(map) => map.values().any(|value| holds(value, part)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn a_folder_is_found_by_its_path_by_one_above_it_and_by_the_end_of_its_name() {
        let shop = "/home/ana/shop";
        for wanted in [shop, "/home/ana/shop/", "/home/ana", "/", "shop", "ana/shop"] {
            assert!(is_in(shop, wanted), "{wanted}");
        }
        for wanted in ["/home/ana/sho", "/home/an", "hop", "ana", "/shop", "/home/ana/shop/src"] {
            assert!(!is_in(shop, wanted), "{wanted}");
        }
        assert!(!is_in("", "shop") && !is_in("", "/home"));
    }

    #[test]
    fn a_value_that_is_not_understood_is_refused_by_the_name_of_its_field() {
        let some = |text: &str| Some(text.to_owned());
        let query = HistoryQuery::default;
        let cases = [
            (
                HistoryQuery { verdict: some("maybe"), ..query() },
                "`verdict`: `maybe` is not a valid verdict",
            ),
            (HistoryQuery { since: some("yesterday"), ..query() }, "`since` is not a valid time"),
            (HistoryQuery { until: some("12:00"), ..query() }, "`until` is not a valid time"),
            (
                HistoryQuery { before: some("page 2"), ..query() },
                "`before` is not a valid position",
            ),
            (HistoryQuery { limit: some("0"), ..query() }, "`limit` is a number from 1 to 200"),
            (HistoryQuery { limit: some("201"), ..query() }, "`limit` is a number from 1 to 200"),
            (HistoryQuery { limit: some("ten"), ..query() }, "`limit` is a number from 1 to 200"),
            (HistoryQuery { agent: some(""), ..query() }, "`agent` is empty"),
            (HistoryQuery { text: some(" "), ..query() }, "`text` is empty"),
        ];
        for (query, says) in cases {
            let refused = Filter::read(query).unwrap_err();
            assert!(refused.starts_with(says), "{refused}");
        }
        assert_eq!(Filter::read(query()).unwrap().limit, USUAL);
    }

    #[test]
    fn a_text_is_found_in_every_text_of_the_arguments_and_in_no_name_of_them() {
        let args =
            serde_json::json!({"command": "git push", "list": [{"deep": "Deploy.SH"}], "n": 7});
        assert!(holds(&args, "push") && holds(&args, "deploy.sh"));
        assert!(!holds(&args, "command") && !holds(&args, "7"));
    }
}
