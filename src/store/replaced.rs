//! The store that a backup replaces: what people revoked after the backup stays revoked.

use super::{StoreError, integrity, pause::pause_of};
use countersign_domain::pause::Pause;
use sqlx::{AnyConnection, Executor, Row};
use std::path::Path;

/// What was brought over from the store that a backup replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The grants that were revoked after the backup.
    pub revoked: u64,
    /// The agents' tokens that were revoked or rotated after the backup: revoked in both cases.
    pub tokens: u64,
    /// The passkeys that were removed after the backup.
    pub passkeys: u64,
    /// The asks that were open in the backup and closed after it.
    pub closed: u64,
    /// The pause that is on.
    pub paused: Option<Pause>,
}

/// Asks that were answered, expired or cancelled after the backup.
const CLOSED: &str = "\
    UPDATE ask SET state = o.state, version = o.version, answer = o.answer, \
        closed_at = o.closed_at, progress = o.progress, key = o.key, left_ms = NULL \
    FROM replaced.ask AS o WHERE o.id = ask.id AND ask.state = 'open' AND o.state <> 'open'";

/// What became of an answer after the backup: that its call was started, or that it was undone.
// SECURITY: a call that was approved before the backup and ran after it does not run once more.
const NOTED: &str = "\
    UPDATE ask SET answer = o.answer, version = o.version FROM replaced.ask AS o \
    WHERE o.id = ask.id AND ask.state <> 'open' AND o.state = ask.state \
        AND o.version > ask.version";

/// Their cards are redrawn where they were posted; one without a message is given up.
const CARDS: &str = "\
    UPDATE card SET message = o.message, shown = o.shown, wanted = o.wanted, bundle = NULL, \
        gone = CASE WHEN o.message IS NULL THEN coalesce(o.gone, 'restored') ELSE o.gone END \
    FROM replaced.card AS o WHERE o.nonce = card.nonce \
        AND card.ask IN (SELECT id FROM ask WHERE state <> 'open')";

const REVOKED: &str = "\
    UPDATE grants SET revoked_at = o.revoked_at, undo_until = NULL \
    FROM replaced.grants AS o WHERE o.id = grants.id \
        AND grants.revoked_at IS NULL AND o.revoked_at IS NOT NULL";

/// What people said in reviews after the backup asks on.
const REVIEWED: &str = "\
    INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, granted_by, created_at, \
        written) \
    SELECT id, ask, tool, pattern, scope, agent, session, granted_by, created_at, written \
    FROM replaced.grants WHERE scope = 'review' AND revoked_at IS NULL \
        AND id NOT IN (SELECT id FROM grants)";

/// What was spent of a budget stays spent.
const SPENT: &str = "\
    UPDATE grants SET spent_at = o.spent_at FROM replaced.grants AS o WHERE o.id = grants.id \
        AND grants.spent_at IS NULL AND o.spent_at IS NOT NULL";

/// A rotated token is revoked: which of the two stores has its newer secret is not known.
const TOKENS: &str = "\
    UPDATE agent_token SET revoked_at = coalesce(o.revoked_at, $1) \
    FROM replaced.agent_token AS o WHERE o.id = agent_token.id \
        AND agent_token.revoked_at IS NULL \
        AND (o.revoked_at IS NOT NULL OR o.hash <> agent_token.hash)";

const TOKEN_PAUSES: &str = "\
    UPDATE agent_token SET paused_at = o.paused_at, paused_why = o.paused_why, \
        pause_ask = o.pause_ask \
    FROM replaced.agent_token AS o WHERE o.id = agent_token.id \
        AND agent_token.paused_at IS NULL AND o.paused_at IS NOT NULL";

const REMOVED_PASSKEYS: &str = "\
    DELETE FROM passkey WHERE id NOT IN (SELECT id FROM replaced.passkey)";

/// A counter never falls: an assertion that was used is not used again.
const COUNTERS: &str = "\
    UPDATE passkey SET counter = max(passkey.counter, o.counter), used_at = o.used_at \
    FROM replaced.passkey AS o WHERE o.id = passkey.id";

/// Brings over into `restored` what the store in `file` knows and the backup does not.
// FAIL-CLOSED: a restored store approves nothing that a person has revoked since.
pub(super) async fn bring_over(
    restored: &mut AnyConnection,
    file: &Path,
    now: i64,
) -> Result<Since, StoreError> {
    // SQLite would silently discard the end of a damaged write-ahead log.
    integrity::check_log(file)?;
    let attach = sqlx::query("ATTACH DATABASE $1 AS replaced");
    attach.bind(file.to_string_lossy().into_owned()).execute(&mut *restored).await?;
    let sound = restored.fetch_one("PRAGMA replaced.quick_check(1)").await?;
    let sound: String = sound.try_get(0)?;
    if sound != "ok" {
        return Err(StoreError::Damaged(sound));
    }
    restored.execute("BEGIN IMMEDIATE").await?;
    restored.execute(NOTED).await?;
    let closed = restored.execute(CLOSED).await?.rows_affected();
    restored.execute(CARDS).await?;
    let revoked = restored.execute(REVOKED).await?.rows_affected();
    restored.execute(REVIEWED).await?;
    restored.execute(SPENT).await?;
    let tokens = tokens(restored, now).await?;
    let passkeys = passkeys(restored).await?;
    let paused = pause(restored).await?;
    restored.execute("COMMIT").await?;
    Ok(Since { revoked, tokens, passkeys, closed, paused })
}

async fn tokens(restored: &mut AnyConnection, now: i64) -> Result<u64, StoreError> {
    restored.execute(TOKEN_PAUSES).await?;
    Ok(sqlx::query(TOKENS).bind(now).execute(&mut *restored).await?.rows_affected())
}

async fn passkeys(restored: &mut AnyConnection) -> Result<u64, StoreError> {
    restored.execute(COUNTERS).await?;
    Ok(restored.execute(REMOVED_PASSKEYS).await?.rows_affected())
}

async fn pause(restored: &mut AnyConnection) -> Result<Option<Pause>, StoreError> {
    let row = "SELECT how, paused_by, since FROM replaced.pause WHERE id = 1";
    pause_of(&restored.fetch_one(row).await?)
}
