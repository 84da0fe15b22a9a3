//! The daemons at which callers of an ask wait, and asks whose callers died with theirs.

use super::{
    Store, StoreError,
    lease::{DAEMON, ms},
};
use countersign_domain::{Ask, attached::AttachedDaemons};
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::time::Duration;

impl Store {
    /// Sets the daemons at which callers of an open ask wait, if they are as `seen` in its row;
    /// whether they were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_attached(
        &self,
        seen: &Ask,
        attached: &AttachedDaemons,
    ) -> Result<bool, StoreError> {
        let kept = sqlx::query(
            "UPDATE ask SET attached = $3 WHERE id = $1 AND attached = $2 AND state = 'open'",
        );
        let kept = kept.bind(seen.id.clone()).bind(seen.attached.to_string());
        Ok(self.execute(kept.bind(attached.to_string())).await? == 1)
    }

    /// A page of the open asks whose callers wait at daemons of which `me` is none and none was
    /// heard of for so long, by id, behind this one. It is the last one when it is empty.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn orphans(
        &self,
        me: &str,
        silence: Duration,
        after: &str,
    ) -> Result<Vec<(String, AttachedDaemons)>, StoreError> {
        let sql = format!(
            "SELECT id, attached FROM ask WHERE state = 'open' AND attended = 1 AND attached <> '' \
             AND replace(attached, '/' || $1 || '/', '') = attached AND id > $3 \
             AND NOT EXISTS (SELECT 1 FROM lease WHERE name = '{DAEMON}' || holder \
             AND until_at > {} - $2 AND replace(attached, '/' || holder || '/', '') <> attached) \
             ORDER BY id LIMIT 500",
            self.engine.dialect.now()
        );
        let orphans = sqlx::query(AssertSqlSafe(sql)).bind(me).bind(ms(silence)).bind(after);
        let rows = self.all(orphans).await?;
        let orphan = |row: &AnyRow| {
            Ok((row.try_get("id")?, AttachedDaemons::read(row.try_get("attached")?)))
        };
        rows.iter().map(orphan).collect()
    }
}
