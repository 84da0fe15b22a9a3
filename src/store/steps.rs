//! Reminders at targets.

use super::{
    Fence, Store, StoreError,
    asks::{columns, whole},
};
use countersign_domain::Ask;
use sqlx::{Row, any::AnyRow};

/// A card of which its target has to be reminded.
#[derive(Debug)]
pub struct DueReminder {
    /// Which card.
    pub nonce: String,
    /// The message that it is in.
    pub message: String,
    /// How many reminders there should have been.
    pub reminders: i64,
    /// Its ask.
    pub ask: Ask,
}

/// How many are read at once.
const PAGE: i64 = 16;

pub(super) const DUE_REMINDERS: &str = concat!(
    "SELECT due.nonce, due.message AS posted_in, due.reminders, ",
    columns!(),
    " FROM (SELECT nonce, ask, reminders, coalesce(message, (SELECT message FROM bundle \
     WHERE bundle.nonce = card.bundle)) AS message FROM card WHERE adapter = $1 \
     AND target = $2 AND gone IS NULL AND reminded < reminders \
     AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4)) AS due \
     JOIN ask ON id = due.ask WHERE state = 'open' AND left_ms IS NULL \
     AND due.message IS NOT NULL ORDER BY created_at, id LIMIT $5"
);

impl Store {
    /// The cards at this target of which it has to be reminded, for as long as the one who asks
    /// leads.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_reminders(
        &self,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<Vec<DueReminder>, StoreError> {
        let query = sqlx::query(DUE_REMINDERS);
        let query = query.bind(adapter).bind(target).bind(&fence.name).bind(fence.epoch);
        let rows = self.all(query.bind(PAGE)).await?;
        let due = |row: &AnyRow| -> Result<Option<DueReminder>, StoreError> {
            let (nonce, message) = (row.try_get("nonce")?, row.try_get("posted_in")?);
            let reminders = row.try_get("reminders")?;
            Ok(whole(row).map(|ask| DueReminder { nonce, message, reminders, ask }))
        };
        rows.iter().filter_map(|row| due(row).transpose()).collect()
    }

    /// Notes that this card's reminders are sent, before they are; whether the one who says so
    /// leads and nobody has before.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: noted first, so that a crash may lose a reminder and never repeats one.
    pub async fn reminding(
        &self,
        nonce: &str,
        reminders: i64,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let noted = sqlx::query(
            "UPDATE card SET reminded = $2 WHERE nonce = $1 AND reminded < $2 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4)",
        );
        let noted = noted.bind(nonce.to_owned()).bind(reminders);
        Ok(self.execute(noted.bind(fence.name.clone()).bind(fence.epoch)).await? > 0)
    }

    /// Notes that this card's last reminder was not sent after all.
    ///
    /// # Errors
    /// When the store fails; then it is not sent again.
    pub async fn not_reminded(&self, nonce: &str, reminders: i64) -> Result<(), StoreError> {
        let noted =
            sqlx::query("UPDATE card SET reminded = $2 - 1 WHERE nonce = $1 AND reminded = $2");
        self.execute(noted.bind(nonce.to_owned()).bind(reminders)).await.map(drop)
    }
}
