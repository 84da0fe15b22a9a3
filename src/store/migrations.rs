//! The shape of the tables, one text for both engines.

use super::{StoreError, engine::Dialect};
use sqlx::{
    AnyConnection, AssertSqlSafe, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

/// Every step, in order. A step that was released is never edited.
const STEPS: [(i64, &str, &str); 6] = [
    (1, "start", include_str!("migrations/0001_start.sql")),
    (2, "pulse", include_str!("migrations/0002_pulse.sql")),
    (3, "lease", include_str!("migrations/0003_lease.sql")),
    (4, "session", include_str!("migrations/0004_session.sql")),
    (5, "keepers", include_str!("migrations/0005_keepers.sql")),
    (6, "open", include_str!("migrations/0006_open.sql")),
];

/// Brings the tables up to date.
pub(super) async fn run(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<(), StoreError> {
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
