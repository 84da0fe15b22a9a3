//! Lists of asks, a page at a time. A row that does not read back is passed over.

use super::{
    Store, StoreError,
    rows::{ask, columns, select, whole},
};
use crate::ask::Ask;
use sqlx::Row;

/// Open asks, oldest first.
const OPEN: &str = concat!(
    "SELECT created_at AS place, ",
    columns!(),
    " FROM ask WHERE state = 'open' AND created_at >= $1 AND (created_at > $1 OR id > $2) \
     ORDER BY created_at, id LIMIT $3"
);
/// Asks of another state, newest first.
const CLOSED: &str = concat!(
    "SELECT closed_at AS place, ",
    columns!(),
    " FROM ask WHERE closed_at <= $1 AND (closed_at < $1 OR id < $2) AND state = $4 \
     ORDER BY closed_at DESC, id DESC LIMIT $3"
);

impl Store {
    /// The most asks on a page.
    pub const PAGE: usize = 500;

    /// A page of the asks in this state, oldest first while open, newest first otherwise: the first one,
    /// or the one behind this ask. It is the last one when it is not full.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn asks_in(&self, state: &str, after: Option<&Ask>) -> Result<Vec<Ask>, StoreError> {
        let open = state == "open";
        let mut place = match after {
            Some(ask) => (place(ask, state), ask.id.clone()),
            None => (if open { 0 } else { i64::MAX }, String::new()),
        };
        let mut asks = Vec::new();
        loop {
            let query = sqlx::query(if open { OPEN } else { CLOSED }).bind(place.0).bind(place.1);
            let query = query.bind(i64::try_from(Self::PAGE).unwrap_or(i64::MAX));
            let rows = self.all(if open { query } else { query.bind(state) }).await?;
            asks.extend(rows.iter().filter_map(whole));
            // INVARIANT: a page that is not full is the last one, whatever was passed over.
            match rows.last() {
                Some(last) if rows.len() == Self::PAGE && asks.len() < Self::PAGE => {
                    place = (last.try_get("place")?, last.try_get("id")?);
                }
                _ => break,
            }
        }
        asks.truncate(Self::PAGE);
        Ok(asks)
    }

    /// Looks at every ask in this state, in the same order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn each_ask_in(
        &self,
        state: &str,
        mut look: impl FnMut(&Ask) + Send,
    ) -> Result<(), StoreError> {
        let mut page = self.asks_in(state, None).await?;
        loop {
            page.iter().for_each(&mut look);
            match page.last() {
                Some(last) if page.len() == Self::PAGE => {
                    page = self.asks_in(state, Some(last)).await?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// How many asks are open.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count_open(&self) -> Result<i64, StoreError> {
        let open = "SELECT count(*) AS n FROM ask WHERE state = 'open'";
        Ok(self.one(sqlx::query(open)).await?.try_get("n")?)
    }

    /// Asks whose id begins so; at most two, enough to tell one from several.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn asks_like(&self, prefix: &str) -> Result<Vec<Ask>, StoreError> {
        let like = select!("WHERE substr(id, 1, length($1)) = $1 LIMIT 2");
        self.all(sqlx::query(like).bind(prefix)).await?.iter().map(ask).collect()
    }

    /// The open asks of one session.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_in_session(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Vec<Ask>, StoreError> {
        let open = sqlx::query(select!(
            "WHERE state = 'open' AND agent = $1 AND session = $2 ORDER BY created_at, id"
        ));
        Ok(self.all(open.bind(agent).bind(session)).await?.iter().filter_map(whole).collect())
    }
}

/// Where an ask stands in the list of a state. One that was open when it was listed may be closed by now.
fn place(ask: &Ask, state: &str) -> i64 {
    match ask.answer() {
        Some(answer) if state != "open" => answer.at,
        _ => ask.created_at,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        ask::Decision,
        store::{
            Closed, Inserted, NewAsk,
            engines::on_both,
            tests::{answered, new_ask},
        },
    };

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
            assert_eq!(first.len(), Store::PAGE);
            for id in &names {
                let ask = store.ask(id).await.unwrap().unwrap();
                let end = answered(Decision::Deny, ask.created_at);
                let Closed::Won(_) = store.close_ask(&ask, &end, &[]).await.unwrap() else {
                    panic!("{id} was closed before")
                };
            }
            assert!(store.asks_in("open", first.last()).await.unwrap().is_empty());
            names.reverse();
            assert_eq!(listed(&store, "answered").await, names);
            assert_eq!(store.count_open().await.unwrap(), 0);
        })
        .await;
    }

    async fn listed(store: &Store, state: &str) -> Vec<String> {
        let mut ids = Vec::new();
        store.each_ask_in(state, |ask| ids.push(ask.id.clone())).await.unwrap();
        ids
    }
}
