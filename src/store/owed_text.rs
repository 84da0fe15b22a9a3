//! Texts that people have been asked for and have not sent yet. They are stored, so that a reply
//! still counts after a restart.

use super::{Store, StoreError};
use sqlx::Row;

/// A text that a person was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedText {
    /// The adapter's name.
    pub adapter: String,
    /// The message with the pressed button.
    pub message: String,
    /// The person, by the platform's id.
    pub presser: String,
    /// The button's token.
    pub token: String,
    /// The ask's id.
    pub ask: String,
}

impl Store {
    /// Records that a person was asked for a text. It replaces what they owed at this message
    /// before.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn owe_text(&self, owed: &OwedText) -> Result<(), StoreError> {
        let OwedText { adapter, message, presser, token, ask } = owed.clone();
        let statement = sqlx::query(
            "INSERT INTO owed_text (adapter, message, presser, token, ask) \
             VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (adapter, message, presser) DO UPDATE SET token = $4, ask = $5",
        );
        let statement = statement.bind(adapter).bind(message).bind(presser);
        self.execute(statement.bind(token).bind(ask)).await.map(drop)
    }

    /// The token of the button whose text this person owes at this message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn owed_text(
        &self,
        adapter: &str,
        message: &str,
        presser: &str,
    ) -> Result<Option<String>, StoreError> {
        let query = sqlx::query(
            "SELECT token FROM owed_text WHERE adapter = $1 AND message = $2 AND presser = $3",
        );
        let row = self.maybe(query.bind(adapter).bind(message).bind(presser)).await?;
        row.map(|row| Ok(row.try_get("token")?)).transpose()
    }

    /// Removes the text that this button asked for: what the person writes next is no answer. The
    /// token must match, so that a late reply to an earlier button leaves the newer one owed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn text_given(
        &self,
        adapter: &str,
        message: &str,
        presser: &str,
        token: &str,
    ) -> Result<(), StoreError> {
        let statement = sqlx::query(
            "DELETE FROM owed_text \
             WHERE adapter = $1 AND message = $2 AND presser = $3 AND token = $4",
        );
        let statement = statement.bind(adapter.to_owned()).bind(message.to_owned());
        let statement = statement.bind(presser.to_owned()).bind(token.to_owned());
        self.execute(statement).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::engines::on_both;

    fn owed(presser: &str, token: &str) -> OwedText {
        OwedText {
            adapter: "chat".to_owned(),
            message: "7".to_owned(),
            presser: presser.to_owned(),
            token: token.to_owned(),
            ask: "a7f3".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_text_is_owed_by_the_one_who_was_asked_for_what_they_pressed_last_until_they_give_it()
    {
        on_both(async |store| {
            for owed in [owed("ana", "one"), owed("ben", "other"), owed("ana", "two")] {
                store.owe_text(&owed).await.unwrap();
            }
            let of = async |presser| store.owed_text("chat", "7", presser).await.unwrap();
            assert_eq!(of("ana").await.as_deref(), Some("two"));
            assert_eq!(of("cid").await, None);
            assert_eq!(store.owed_text("chat", "8", "ana").await.unwrap(), None);
            assert_eq!(store.owed_text("other", "7", "ana").await.unwrap(), None);
            // The text of an earlier button leaves the later one owed.
            store.text_given("chat", "7", "ana", "one").await.unwrap();
            assert_eq!(of("ana").await.as_deref(), Some("two"));
            store.text_given("chat", "7", "ana", "two").await.unwrap();
            assert_eq!((of("ana").await, of("ben").await.as_deref()), (None, Some("other")));
        })
        .await;
    }
}
