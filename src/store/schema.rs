//! The tables and their migrations, in one SQL text for both engines; and tables of a newer
//! countersign, to which a daemon of this version writes nothing more.

use super::{Store, StoreError, engine::SqlDialect};
use sqlx::{
    AnyConnection, AssertSqlSafe, Row, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// All steps in order. A released step is never edited: sqlx compares checksums of those applied.
const STEPS: [(i64, &str, &str); 1] = [(1, "schema", include_str!("schema.sql"))];

/// Brings the tables up to date. If they are, it runs no DDL, so that afterwards a read/write
/// database role suffices.
pub(super) async fn run(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
) -> Result<(), StoreError> {
    if is_up_to_date(connection).await {
        return Ok(());
    }
    let steps = STEPS.iter().map(|(version, name, sql)| {
        let sql = AssertSqlSafe(dialect.spell(sql)).into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, sql, false)
    });
    match Migrator::with_migrations(steps.collect()).run(connection).await {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(step)) => Err(StoreError::Newer(step)),
        Err(error) => Err(StoreError::Migrate(error)),
    }
}

/// Returns whether exactly these steps were applied. If that cannot be read, none were.
async fn is_up_to_date(connection: &mut AnyConnection) -> bool {
    let taken = sqlx::query("SELECT version FROM _sqlx_migrations WHERE success ORDER BY version");
    let Ok(taken) = taken.fetch_all(connection).await else { return false };
    let taken = taken.iter().map(|row| row.try_get::<i64, _>("version").ok());
    taken.eq(STEPS.iter().map(|(version, ..)| Some(*version)))
}

/// The newest step that this version knows.
pub(super) fn latest() -> i64 {
    STEPS.last().map_or(0, |(version, ..)| *version)
}

/// The pause between two looks at the tables.
const LOOK: Duration = Duration::from_secs(2);

impl Store {
    /// Looks at the tables again and again, until `stop` is cancelled.
    pub async fn watch_tables(self, stop: CancellationToken) {
        // An SQLite file has one daemon, so nobody else changes its tables.
        while self.is_shared() && !stop.is_cancelled() {
            if let Err(error) = self.check_tables().await {
                tracing::debug!(%error, "the version of the tables is not known");
            }
            let _ = stop.run_until_cancelled(sleep(LOOK)).await;
        }
    }

    /// Reads which step the tables are at. If this version does not know it, every later write
    /// fails.
    // FAIL-CLOSED: an earlier daemon does not know what a newer one stored, such as a rule that
    // needs two approvals, so it answers nothing. Its leases run out, and a newer one leads.
    pub(super) async fn check_tables(&self) -> Result<(), StoreError> {
        let row =
            self.one(sqlx::query("SELECT MAX(version) AS step FROM _sqlx_migrations")).await?;
        let step: i64 = row.try_get("step")?;
        if step > latest() {
            // Only the first is kept: one is enough.
            let _ = self.newer.set(step);
        }
        Ok(())
    }

    /// Returns an error once a newer countersign has changed the tables.
    pub(super) fn knows_its_tables(&self) -> Result<(), StoreError> {
        match self.newer.get() {
            None => Ok(()),
            Some(step) => Err(StoreError::Outdated { step: *step, known: latest() }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::latest;
    use crate::{
        Database, Store, StoreError,
        testkit::engines::{Fresh, on_both},
    };
    use countersign_tokens::secret::Secret;
    use serde_json::Value;
    use sqlx::{AssertSqlSafe, Executor};

    /// A step that this version does not know.
    const NEWER: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, \
                         execution_time) SELECT 9999, 'newer', success, checksum, 0 \
                         FROM _sqlx_migrations WHERE version = 1";

    #[tokio::test]
    async fn a_user_who_may_only_read_and_write_starts_on_tables_that_are_up_to_date() {
        let Some(fresh) = Fresh::postgres().await else { return };
        let owner = Store::open(&fresh.database).await.unwrap();
        let url = fresh.database.url().clone();
        let schema = url.rsplit("options[search_path]=").next().unwrap();
        let writer = format!("{schema}_writer");
        let grants = format!(
            "CREATE ROLE {writer}; GRANT USAGE ON SCHEMA {schema} TO {writer}; GRANT SELECT, \
             INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {writer}"
        );
        let mut server = owner.engine.another().await.unwrap();
        server.execute(sqlx::raw_sql(AssertSqlSafe(grants))).await.unwrap();
        let as_writer = Database::Postgres(Secret::new(format!("{url}&options[role]={writer}")));
        let store = Store::open(&as_writer).await.unwrap();
        store.note(1, "written", None, &Value::Null).await.unwrap();
        store.close().await;
        let gone = format!("DROP OWNED BY {writer}; DROP ROLE {writer}");
        server.execute(sqlx::raw_sql(AssertSqlSafe(gone))).await.unwrap();
        owner.close().await;
        fresh.drop().await;
    }

    #[tokio::test]
    async fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
        for fresh in [Some(Fresh::sqlite()), Fresh::postgres().await].into_iter().flatten() {
            let store = Store::open(&fresh.database).await.unwrap();
            store.execute(sqlx::query(NEWER)).await.unwrap();
            store.close().await;
            drop(store);
            let error = Store::open(&fresh.database).await.unwrap_err();
            assert!(matches!(error, StoreError::Newer(9999)), "{error}");
            let said = "the store was written by a newer countersign (its tables are at step 9999); \
                        start that version, or put a backup of this version in its place";
            assert_eq!(error.to_string(), said);
            fresh.drop().await;
        }
    }

    #[tokio::test]
    async fn a_daemon_whose_tables_a_newer_one_changed_reads_on_and_writes_nothing_more() {
        on_both(async |store| {
            store.check_tables().await.unwrap();
            assert_eq!(store.probe().await, None);
            store.execute(sqlx::query(NEWER)).await.unwrap();
            store.check_tables().await.unwrap();
            let trouble = store.probe().await.unwrap();
            let says = format!(
                "a newer countersign has changed the tables (step 9999; this daemon knows {}), so this \
                 one writes nothing more",
                latest()
            );
            assert_eq!(trouble.says, says);
            assert_eq!(trouble.fix, "update this daemon too, and restart it");
            let length = std::time::Duration::from_secs(9);
            let leads = store.take_lease("bot", "one", length).await;
            assert!(matches!(leads, Err(StoreError::Outdated { step: 9999, .. })), "{leads:?}");
            assert_eq!(store.count_open().await.unwrap(), 0);
        })
        .await;
    }
}
