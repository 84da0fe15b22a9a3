//! How often grants were used.

use super::{Store, StoreError};
use sqlx::Row;
use std::collections::HashMap;

/// The use of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantUse {
    /// How many calls it let run.
    pub used: u64,
    /// When the last one was; Unix milliseconds.
    pub last_at: i64,
    /// The last one in short.
    pub last_call: String,
}

impl Store {
    /// Adds to the uses of grants, by their ids.
    ///
    /// # Errors
    /// When the store fails; then nothing is added.
    pub async fn add_grant_uses(&self, uses: Vec<(String, GrantUse)>) -> Result<(), StoreError> {
        if uses.is_empty() {
            return Ok(());
        }
        self.write(move |tx| {
            Box::pin(async move {
                for (id, GrantUse { used, last_at, last_call }) in uses {
                    let add = sqlx::query(
                        "UPDATE grants SET used = used + $2, last_used_at = $3, last_call = $4 \
                         WHERE id = $1",
                    );
                    let add = add.bind(id).bind(i64::try_from(used).unwrap_or(i64::MAX));
                    add.bind(last_at).bind(last_call).execute(&mut **tx).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// The uses of the grants that were used and are not revoked, by their ids.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn grant_uses(&self) -> Result<HashMap<String, GrantUse>, StoreError> {
        let used = "SELECT id, used, last_used_at, last_call FROM grants \
             WHERE used > 0 AND revoked_at IS NULL";
        let rows = self.all(sqlx::query(used)).await?;
        let one = |row: &sqlx::any::AnyRow| {
            let used = u64::try_from(row.try_get::<i64, _>("used")?).unwrap_or_default();
            let (last_at, last_call) = (row.try_get("last_used_at")?, row.try_get("last_call")?);
            Ok((row.try_get("id")?, GrantUse { used, last_at, last_call }))
        };
        rows.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::engines::on_both;

    fn uses(used: u64, last_at: i64, last_call: &str) -> GrantUse {
        GrantUse { used, last_at, last_call: last_call.to_owned() }
    }

    #[tokio::test]
    async fn uses_add_up_and_are_forgotten_with_their_grant() {
        on_both(async |store| {
            for id in ["one", "two"] {
                let new = "INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, \
                     granted_by, created_at, written) \
                     VALUES ($1, 'a', 'Bash', '*', 'always', 'a', 's', \
                     '{\"kind\":\"timeout\"}', 1, 1)";
                store.execute(sqlx::query(new).bind(id)).await.unwrap();
            }
            assert_eq!(store.grant_uses().await.unwrap(), HashMap::new());
            let none = ("none".to_owned(), uses(1, 1, ""));
            let first = vec![("one".to_owned(), uses(2, 10, "ls")), none];
            store.add_grant_uses(first).await.unwrap();
            store.add_grant_uses(vec![("one".to_owned(), uses(3, 20, "ls src"))]).await.unwrap();
            store.add_grant_uses(vec![("two".to_owned(), uses(1, 30, "pwd"))]).await.unwrap();
            let two = ("two".to_owned(), uses(1, 30, "pwd"));
            let all = [("one".to_owned(), uses(5, 20, "ls src")), two];
            assert_eq!(store.grant_uses().await.unwrap(), HashMap::from(all.clone()));
            store.revoke_grant("two", None, 40).await.unwrap();
            let [one, _] = all;
            assert_eq!(store.grant_uses().await.unwrap(), HashMap::from([one]));
        })
        .await;
    }
}
