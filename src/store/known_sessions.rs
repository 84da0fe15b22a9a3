//! The sessions that the store knows of.

use super::{Store, StoreError};
use sqlx::{Row, any::AnyRow};
use std::collections::BTreeMap;

/// How many of the latest closed asks are looked at for their sessions.
const CLOSED: i64 = 500;
/// How many sessions with a mode of their own are looked at.
const MODES: i64 = 500;
/// How many open asks of a session are named.
const OPEN: i64 = 100;

/// A session that the store knows of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSession {
    /// Its agent.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// Its own mode, if it has one.
    pub mode: Option<String>,
    /// The number of its open asks.
    pub open: u64,
    /// The ids of these, oldest first; not all where they are many.
    pub asks: Vec<String>,
    /// One of its latest asks, where one is known.
    pub latest: Option<String>,
    /// When it last did something; Unix milliseconds.
    pub last_seen: i64,
}

/// Sessions by agent and name.
type SessionsByName = BTreeMap<(String, String), KnownSession>;

impl Store {
    /// The largest number of sessions that are listed.
    pub const SESSIONS: usize = 100;

    /// The sessions with open asks, with a mode of their own, and those of the latest closed asks,
    /// latest seen first; and whether there are more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn known_sessions(&self) -> Result<(Vec<KnownSession>, bool), StoreError> {
        let mut known = SessionsByName::new();
        let open = "SELECT agent, session, count(*) AS asks, max(created_at) AS at FROM ask \
             WHERE state = 'open' AND reviewed IS NULL GROUP BY agent, session";
        for row in self.all(sqlx::query(open)).await? {
            let asks: i64 = row.try_get("asks")?;
            seen(&mut known, &row)?.open = u64::try_from(asks).unwrap_or_default();
        }
        let closed = "SELECT agent, session, id, closed_at AS at FROM ask \
             WHERE closed_at IS NOT NULL AND reviewed IS NULL \
             ORDER BY closed_at DESC, id DESC LIMIT $1";
        for row in self.all(sqlx::query(closed).bind(CLOSED)).await? {
            let id = row.try_get("id")?;
            seen(&mut known, &row)?.latest.get_or_insert(id);
        }
        let modes = "SELECT agent, session, mode, changed_at AS at FROM session \
             ORDER BY changed_at DESC, agent, session LIMIT $1";
        for row in self.all(sqlx::query(modes).bind(MODES)).await? {
            seen(&mut known, &row)?.mode = Some(row.try_get("mode")?);
        }
        let mut known: Vec<KnownSession> = known.into_values().collect();
        known.sort_by_key(|session| std::cmp::Reverse(session.last_seen));
        let more = known.len() > Self::SESSIONS;
        known.truncate(Self::SESSIONS);
        for session in known.iter_mut().filter(|session| session.open > 0) {
            self.name_open(session).await?;
        }
        Ok((known, more))
    }

    async fn name_open(&self, of: &mut KnownSession) -> Result<(), StoreError> {
        let open = "SELECT id FROM ask WHERE state = 'open' AND agent = $1 AND session = $2 \
             ORDER BY created_at, id LIMIT $3";
        let open = sqlx::query(open).bind(of.agent.clone()).bind(of.session.clone()).bind(OPEN);
        let rows = self.all(open).await?;
        of.asks = rows.iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?;
        of.latest = of.asks.last().cloned().or(of.latest.take());
        Ok(())
    }
}

/// The session of a row, which it was seen in.
fn seen<'k>(
    known: &'k mut SessionsByName,
    row: &AnyRow,
) -> Result<&'k mut KnownSession, StoreError> {
    let (agent, session): (String, String) = (row.try_get("agent")?, row.try_get("session")?);
    let entry = known.entry((agent.clone(), session.clone()));
    let entry = entry.or_insert_with(|| KnownSession { agent, session, ..Default::default() });
    entry.last_seen = entry.last_seen.max(row.try_get("at")?);
    Ok(entry)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Closed, NewAsk,
        engines::on_both,
        tests::{answered, new_ask_in},
    };
    use countersign_domain::Decision;

    async fn ask(store: &Store, id: &str, session: &str, created_at: i64) {
        let new = NewAsk { created_at, ..new_ask_in(session, id) };
        store.insert_ask(&new, &[]).await.unwrap();
    }

    fn known(session: &str, last_seen: i64) -> KnownSession {
        let (agent, session) = ("a".to_owned(), session.to_owned());
        KnownSession { agent, session, last_seen, ..KnownSession::default() }
    }

    #[tokio::test]
    async fn a_session_is_known_by_what_is_open_in_it_by_its_mode_and_by_what_it_asked_last() {
        on_both(async |store| {
            ask(&store, "one", "busy", 10).await;
            ask(&store, "two", "busy", 40).await;
            ask(&store, "old", "over", 5).await;
            let old = store.ask("old").await.unwrap().unwrap();
            let end = answered(Decision::Deny, 20);
            assert!(matches!(store.close_ask(&old, &end, &[]).await.unwrap(), Closed::Won(_)));
            store.set_session_mode("a", "busy", "yolo", 15).await.unwrap();
            store.set_session_mode("a", "quiet", "plan", 30).await.unwrap();
            let busy = KnownSession {
                mode: Some("yolo".to_owned()),
                open: 2,
                asks: vec!["one".to_owned(), "two".to_owned()],
                latest: Some("two".to_owned()),
                ..known("busy", 40)
            };
            let quiet = KnownSession { mode: Some("plan".to_owned()), ..known("quiet", 30) };
            let over = KnownSession { latest: Some("old".to_owned()), ..known("over", 20) };
            assert_eq!(store.known_sessions().await.unwrap(), (vec![busy, quiet, over], false));
        })
        .await;
    }

    #[tokio::test]
    async fn the_list_of_sessions_ends_with_the_latest_seen_and_says_that_there_are_more() {
        on_both(async |store| {
            for n in 0..=Store::SESSIONS {
                let at = i64::try_from(n).unwrap();
                store.set_session_mode("a", &format!("s{n}"), "plan", at).await.unwrap();
            }
            let (sessions, more) = store.known_sessions().await.unwrap();
            assert_eq!((sessions.len(), more), (Store::SESSIONS, true));
            let (first, last) = (sessions.first().unwrap(), sessions.last().unwrap());
            assert_eq!((first.session.as_str(), last.session.as_str()), ("s100", "s1"));
        })
        .await;
    }
}
