//! Asks by the beginning of their id, as people type it.

use super::{Store, StoreError};
use sqlx::Row;

impl Store {
    /// Ids that start with `prefix`; at most 20, of which a reader may know fewer.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ids_like(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        // Programs give a whole id, which needs no look at all of them.
        let whole = sqlx::query("SELECT id FROM ask WHERE id = $1").bind(prefix);
        if !self.all(whole).await?.is_empty() {
            return Ok(vec![prefix.to_owned()]);
        }
        // `substr` instead of `LIKE`, in which a `%` or `_` of the prefix would be a wildcard.
        let like = sqlx::query("SELECT id FROM ask WHERE substr(id, 1, length($1)) = $1 LIMIT 20");
        let rows = self.all(like.bind(prefix)).await?;
        rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
    }
}
