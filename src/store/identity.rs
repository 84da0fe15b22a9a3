//! The store's own id, created with the store. It distinguishes daemons that use one bot with
//! different stores.

use super::StoreError;
use countersign_tokens::ids;
use sqlx::{AnyConnection, Row};

/// Reads the id, or creates one if there is none yet.
// Runs on the connection that opens the store: a pooled one would stay idle afterwards, and be dead
// once the server restarts.
pub(super) async fn identify(connection: &mut AnyConnection) -> Result<String, StoreError> {
    if let Some(id) = known(connection).await? {
        return Ok(id);
    }
    // Several daemons may start at once on a new database; the id that is committed first wins, so
    // each reads it back instead of returning its own.
    sqlx::query("INSERT INTO meta (name, value) VALUES ('store_id', $1) ON CONFLICT DO NOTHING")
        .bind(ids::ask_id())
        .execute(&mut *connection)
        .await?;
    Ok(known(connection).await?.ok_or(sqlx::Error::RowNotFound)?)
}

async fn known(connection: &mut AnyConnection) -> Result<Option<String>, StoreError> {
    let row = sqlx::query("SELECT value FROM meta WHERE name = 'store_id'");
    let row = row.fetch_optional(&mut *connection).await?;
    Ok(row.map(|row| row.try_get("value")).transpose()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use crate::{Store, engines::Fresh};
    use futures::future::join_all;

    #[tokio::test]
    async fn a_store_keeps_its_id_and_no_other_store_has_it() {
        let (one, two) = (Fresh::sqlite(), Fresh::sqlite());
        let first = Store::open(&one.database).await.unwrap();
        let id = first.id().to_owned();
        assert_eq!(id.len(), 8);
        assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{id}");
        first.close().await;
        drop(first);
        assert_eq!(Store::open(&one.database).await.unwrap().id(), id);
        assert_ne!(Store::open(&two.database).await.unwrap().id(), id);
    }

    #[tokio::test]
    async fn daemons_that_start_at_once_on_a_new_database_agree_on_its_id() {
        let Some(fresh) = Fresh::postgres().await else { return };
        Store::open(&fresh.database).await.unwrap().close().await;
        let stores = join_all((0..4).map(|_| Store::open(&fresh.database))).await;
        let stores: Vec<_> = stores.into_iter().map(Result::unwrap).collect();
        let first = stores.iter().map(Store::id).next().unwrap().to_owned();
        assert!(stores.iter().all(|store| store.id() == first));
        join_all(stores.iter().map(Store::close)).await;
        fresh.drop().await;
    }
}
