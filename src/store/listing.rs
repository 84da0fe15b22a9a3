//! Lists of asks, in pages. A row that cannot be read is skipped.

use super::{
    Store, StoreError,
    rows::{columns, whole},
};
use countersign_domain::Ask;
use sqlx::Row;

/// Open asks, oldest first.
const OPEN: &str = concat!(
    "SELECT created_at AS place, ",
    columns!(),
    " FROM ask WHERE state = 'open' AND created_at >= $1 AND (created_at > $1 OR id > $2) \
     ORDER BY created_at, id LIMIT $3"
);
/// Asks of another state, most recently closed first.
const CLOSED: &str = concat!(
    "SELECT closed_at AS place, ",
    columns!(),
    " FROM ask WHERE closed_at <= $1 AND (closed_at < $1 OR id < $2) AND state = $4 \
     ORDER BY closed_at DESC, id DESC LIMIT $3"
);

/// The sizes of a page's asks, read before the asks themselves.
const OPEN_SIZES: &str = "SELECT id, bytes FROM ask WHERE state = 'open' AND created_at >= $1 \
     AND (created_at > $1 OR id > $2) ORDER BY created_at, id LIMIT $3";
const CLOSED_SIZES: &str = "SELECT id, bytes FROM ask WHERE closed_at <= $1 \
     AND (closed_at < $1 OR id < $2) AND state = $4 ORDER BY closed_at DESC, id DESC LIMIT $3";

/// A page of asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The asks that could be read.
    pub asks: Vec<Ask>,
    /// The start of the next page; `None` on the last one.
    pub next: Option<ListCursor>,
}

/// A position in a list of asks: behind one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCursor {
    pub(super) at: i64,
    pub(super) id: String,
}

impl ListCursor {
    /// The position behind this ask in the list of this state. An ask that was open when it was
    /// listed may be closed by now.
    #[must_use]
    pub fn behind(ask: &Ask, state: &str) -> Self {
        let at = match ask.answer() {
            Some(answer) if state != "open" => answer.at,
            _ => ask.created_at,
        };
        Self { at, id: ask.id.clone() }
    }

    /// The id of the ask before the position.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Store {
    /// The largest number of asks on a page.
    pub const PAGE: usize = 500;
    /// The largest number of bytes of asks on a page, unless a single ask has more.
    pub const PAGE_BYTES: i64 = 1 << 20;

    /// A page of the asks in this state, from the start or from a position. Open asks are listed
    /// oldest first, others newest first.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: a page has a bounded size in memory, however large its asks are.
    pub async fn asks_in(
        &self,
        state: &str,
        from: Option<&ListCursor>,
    ) -> Result<Listed, StoreError> {
        let open = state == "open";
        let first = || ListCursor { at: if open { 0 } else { i64::MAX }, id: String::new() };
        let from = from.cloned().unwrap_or_else(first);
        let page = |all, sizes, most: usize| {
            let query =
                sqlx::query(if sizes { if open { OPEN_SIZES } else { CLOSED_SIZES } } else { all });
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let query = query.bind(from.at).bind(from.id.clone()).bind(most);
            if open { query } else { query.bind(state.to_owned()) }
        };
        let all = if open { OPEN } else { CLOSED };
        let found = self.all(page(all, true, Self::PAGE)).await?;
        let sizes =
            found.iter().map(|row| row.try_get("bytes")).collect::<Result<Vec<i64>, _>>()?;
        let fit = fitting(&sizes, Self::PAGE_BYTES);
        let rows = self.all(page(all, false, fit)).await?;
        // An ask that was closed between the two queries comes first in the second one, and pushes
        // the last of the first one out of it. Then there is a further page, though the sizes did
        // not show one.
        let (expected, last) = (fit.checked_sub(1).and_then(|at| found.get(at)), rows.last());
        let moved = match (expected, last) {
            (Some(expected), Some(last)) => {
                expected.try_get::<String, _>("id")? != last.try_get::<String, _>("id")?
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        // The filter on readable rows comes last: `next` depends on the rows, or a page that holds
        // only damaged asks would end the list.
        let more = moved || fit < sizes.len() || sizes.len() == Self::PAGE;
        let next = match rows.last().filter(|_| more) {
            Some(last) => Some(ListCursor { at: last.try_get("place")?, id: last.try_get("id")? }),
            None => None,
        };
        Ok(Listed { asks: rows.iter().filter_map(whole).collect(), next })
    }

    /// The ids of a page of open asks, oldest first, and the start of the next page.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_ids(
        &self,
        from: Option<&ListCursor>,
    ) -> Result<(Vec<String>, Option<ListCursor>), StoreError> {
        let query = sqlx::query(
            "SELECT id, created_at AS place FROM ask WHERE state = 'open' AND created_at >= $1 \
             AND (created_at > $1 OR id > $2) ORDER BY created_at, id LIMIT $3",
        );
        let query = query.bind(from.map_or(0, |place| place.at));
        let query = query.bind(from.map_or("", |place| &place.id));
        let rows = self.all(query.bind(i64::try_from(Self::PAGE).unwrap_or(i64::MAX))).await?;
        let ids = rows.iter().map(|row| row.try_get("id")).collect::<Result<Vec<_>, _>>()?;
        let next = match rows.last().filter(|_| rows.len() == Self::PAGE) {
            Some(last) => Some(ListCursor { at: last.try_get("place")?, id: last.try_get("id")? }),
            None => None,
        };
        Ok((ids, next))
    }

    /// Calls `look` for every ask in this state, in the order of the list.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn each_ask_in(
        &self,
        state: &str,
        mut look: impl FnMut(&Ask) + Send,
    ) -> Result<(), StoreError> {
        let mut from = None;
        loop {
            let Listed { asks, next } = self.asks_in(state, from.as_ref()).await?;
            asks.iter().for_each(&mut look);
            from = next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// The number of open asks.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count_open(&self) -> Result<i64, StoreError> {
        let open = "SELECT count(*) AS n FROM ask WHERE state = 'open'";
        Ok(self.one(sqlx::query(open)).await?.try_get("n")?)
    }

    /// The ids of the open asks of one session, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_in_session(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Vec<String>, StoreError> {
        let open = sqlx::query(
            "SELECT id FROM ask WHERE state = 'open' AND agent = $1 AND session = $2 \
             ORDER BY created_at, id",
        );
        let rows = self.all(open.bind(agent).bind(session)).await?;
        rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
    }
}

/// The number of asks that fit into `most` bytes; at least one, so that the list always advances.
pub(super) fn fitting(sizes: &[i64], most: i64) -> usize {
    let mut left = most;
    let fits = |size: &&i64| {
        left = left.saturating_sub(**size);
        left >= 0
    };
    sizes.iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Closed, Inserted, NewAsk,
        engines::on_both,
        tests::{answered, new_ask},
    };
    use countersign_domain::{Body, Decision, call::Call};
    use serde_json::json;

    #[tokio::test]
    async fn every_ask_of_a_state_stands_on_one_page_however_many_are_of_the_same_time() {
        on_both(async |store| {
            let count = Store::PAGE + 30;
            let mut names: Vec<_> = (0..count).map(|n| format!("ask{n:04}")).collect();
            for (n, id) in names.iter().enumerate() {
                let created_at = i64::try_from(n / 70).unwrap();
                let new = NewAsk { created_at, ..new_ask(id, None, None) };
                assert!(matches!(store.insert_ask(&new, &[]).await.unwrap(), Inserted::New(_)));
            }
            assert_eq!(listed(&store, "open").await, names);
            assert_eq!(store.count_open().await.unwrap(), i64::try_from(count).unwrap());
            let first = store.asks_in("open", None).await.unwrap();
            assert_eq!(first.asks.len(), Store::PAGE);
            for id in &names {
                let ask = store.ask(id).await.unwrap().unwrap();
                let end = answered(Decision::Deny, ask.created_at);
                let Closed::Won(_) = store.close_ask(&ask, &end, &[]).await.unwrap() else {
                    panic!("{id} was closed before")
                };
            }
            let rest = store.asks_in("open", first.next.as_ref()).await.unwrap();
            assert_eq!(rest, Listed { asks: Vec::new(), next: None });
            names.reverse();
            assert_eq!(listed(&store, "answered").await, names);
            assert_eq!(store.count_open().await.unwrap(), 0);
        })
        .await;
    }

    #[tokio::test]
    async fn a_page_of_large_asks_ends_before_it_is_too_large() {
        on_both(async |store| {
            let names: Vec<_> = (0..9).map(|n| format!("ask{n}")).collect();
            for (n, id) in names.iter().enumerate() {
                let new = new_ask(id, None, None);
                let large = match n % 3 {
                    0 => 300_000,
                    1 => 2_000_000,
                    _ => 10,
                };
                let call = Call::new("a", "s", "t", json!({"x": "y".repeat(large)}));
                let created_at = i64::try_from(n).unwrap();
                let (digest, body) = (call.digest(), Body::new(call, "no rule"));
                let new = NewAsk { created_at, digest, body, ..new };
                assert!(matches!(store.insert_ask(&new, &[]).await.unwrap(), Inserted::New(_)));
            }
            let (mut pages, mut from) = (Vec::new(), None);
            loop {
                let page = store.asks_in("open", from.as_ref()).await.unwrap();
                pages.push(page.asks.len());
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
            assert_eq!(pages, [1, 1, 2, 1, 2, 1, 1]);
            assert_eq!(listed(&store, "open").await, names);
        })
        .await;
    }

    #[test]
    fn one_that_is_larger_than_a_page_is_a_page() {
        assert_eq!([fitting(&[], 9), fitting(&[10, 1], 9), fitting(&[4, 5, 1], 9)], [1, 1, 2]);
    }

    async fn listed(store: &Store, state: &str) -> Vec<String> {
        let mut ids = Vec::new();
        store.each_ask_in(state, |ask| ids.push(ask.id.clone())).await.unwrap();
        ids
    }
}
