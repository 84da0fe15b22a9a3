//! The tables and their migrations, in one SQL text for both engines.

use super::{StoreError, connection::SqlDialect};
use sqlx::{
    AnyConnection, AssertSqlSafe, Row, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

/// All steps in order. A released step is never edited: sqlx compares checksums of those applied.
const STEPS: [(i64, &str, &str); 33] = [
    (1, "start", include_str!("migrations/0001_start.sql")),
    (2, "pulse", include_str!("migrations/0002_pulse.sql")),
    (3, "lease", include_str!("migrations/0003_lease.sql")),
    (4, "session", include_str!("migrations/0004_session.sql")),
    (5, "keepers", include_str!("migrations/0005_keepers.sql")),
    (6, "open", include_str!("migrations/0006_open.sql")),
    (7, "deadline", include_str!("migrations/0007_deadline.sql")),
    (8, "meta", include_str!("migrations/0008_meta.sql")),
    (9, "owner", include_str!("migrations/0009_owner.sql")),
    (10, "delivery", include_str!("migrations/0010_delivery.sql")),
    (11, "bytes", include_str!("migrations/0011_bytes.sql")),
    (12, "forgotten", include_str!("migrations/0012_forgotten.sql")),
    (13, "owed_text", include_str!("migrations/0013_owed_text.sql")),
    (14, "turns", include_str!("migrations/0014_turns.sql")),
    (15, "pause", include_str!("migrations/0015_pause.sql")),
    (16, "bundle", include_str!("migrations/0016_bundle.sql")),
    (17, "undo", include_str!("migrations/0017_undo.sql")),
    (18, "uses", include_str!("migrations/0018_uses.sql")),
    (19, "votes", include_str!("migrations/0019_votes.sql")),
    (20, "routes", include_str!("migrations/0020_routes.sql")),
    (21, "log", include_str!("migrations/0021_log.sql")),
    (22, "agent_token", include_str!("migrations/0022_agent_token.sql")),
    (23, "steps", include_str!("migrations/0023_steps.sql")),
    (24, "presence", include_str!("migrations/0024_presence.sql")),
    (25, "log_sent", include_str!("migrations/0025_log_sent.sql")),
    (26, "budget", include_str!("migrations/0026_budget.sql")),
    (27, "digest", include_str!("migrations/0027_digest.sql")),
    (28, "threads", include_str!("migrations/0028_threads.sql")),
    (30, "token_scope", include_str!("migrations/0030_token_scope.sql")),
    (31, "review", include_str!("migrations/0031_review.sql")),
    (34, "passkey", include_str!("migrations/0034_passkey.sql")),
    (35, "looks", include_str!("migrations/0035_looks.sql")),
    (36, "log_proof", include_str!("migrations/0036_log_proof.sql")),
];

/// Brings the tables up to date. If they are, it runs no DDL, so that afterwards a read/write
/// database role suffices.
pub(super) async fn run(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
) -> Result<(), StoreError> {
    if is_up_to_date(connection).await {
        return Ok(());
    }
    apply(connection, dialect, STEPS.len()).await
}

/// Applies the first steps that are not applied yet.
async fn apply(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    steps: usize,
) -> Result<(), StoreError> {
    let steps = STEPS.iter().take(steps).map(|(version, name, sql)| {
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

/// Makes the tables of an earlier version.
#[cfg(test)]
pub(super) async fn up_to(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    step: usize,
) -> Result<(), StoreError> {
    apply(connection, dialect, step).await
}

/// The number of steps.
#[cfg(test)]
pub(super) const LATEST: usize = STEPS.len();

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use crate::{
        secret::Secret,
        store::{Database, Store, engines::Fresh},
    };
    use serde_json::Value;
    use sqlx::{AssertSqlSafe, Executor};

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
}
