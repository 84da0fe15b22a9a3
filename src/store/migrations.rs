//! The shape of the tables, one text for both engines.

use super::{StoreError, engine::Dialect};
use sqlx::{
    AnyConnection, AssertSqlSafe, SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

/// Every step, in order. A step that was released is never edited.
const STEPS: [(i64, &str, &str); 1] = [(1, "start", include_str!("migrations/0001_start.sql"))];

/// Brings the tables up to date.
pub(super) async fn run(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<(), StoreError> {
    let steps = STEPS.iter().map(|(version, name, sql)| {
        let sql = AssertSqlSafe(dialect.spell(sql)).into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, sql, false)
    });
    Ok(Migrator::with_migrations(steps.collect()).run(connection).await?)
}
