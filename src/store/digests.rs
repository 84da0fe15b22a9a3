//! Digests: that each is made once, and sent once at each of its targets.

use super::{Fence, Store, StoreError};
use sqlx::Row;

/// A digest for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDigest {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
    /// What it says, as its maker wrote it down.
    pub content: String,
}

/// A digest that has to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueDigest {
    /// When it was due; Unix milliseconds.
    pub due_at: i64,
    /// What it says, as its maker wrote it down.
    pub content: String,
}

/// What became of an attempt to send a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestTry {
    /// It was sent, or is given up.
    Over,
    /// It has to be sent again.
    Again,
}

impl Store {
    /// When the last digest was due that was made; Unix milliseconds.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn last_digest(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.one(sqlx::query("SELECT max(due_at) AS at FROM digest")).await?.try_get("at")?)
    }

    /// Adds the digest that was due then, for these targets, in place of all earlier ones. False:
    /// it was made already.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: of all daemons that make the digest of a time one adds it: its row without a
    // target decides.
    pub async fn add_digest(
        &self,
        due_at: i64,
        digests: Vec<NewDigest>,
    ) -> Result<bool, StoreError> {
        let added = self.write(move |tx| {
            Box::pin(async move {
                let insert = "INSERT INTO digest (due_at, adapter, target, content, sent) \
                              VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING";
                let first = sqlx::query(insert).bind(due_at).bind("").bind("").bind("[]");
                if first.execute(&mut **tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                let earlier = sqlx::query("DELETE FROM digest WHERE due_at < $1").bind(due_at);
                earlier.execute(&mut **tx).await?;
                for NewDigest { adapter, target, content } in &digests {
                    let row = sqlx::query(insert).bind(due_at).bind(adapter).bind(target);
                    row.bind(content).execute(&mut **tx).await?;
                }
                Ok(true)
            })
        });
        let added = added.await?;
        self.tell();
        Ok(added)
    }

    /// The digest that has to be sent at this target, for as long as the one who asks leads.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_digest(
        &self,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<Option<DueDigest>, StoreError> {
        let query = sqlx::query(
            "SELECT due_at, content FROM digest WHERE adapter = $1 AND target = $2 \
             AND sent <> 1 AND sent <> -$4 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4) \
             ORDER BY due_at DESC LIMIT 1",
        );
        let query = query.bind(adapter).bind(target).bind(&fence.name).bind(fence.epoch);
        let Some(row) = self.maybe(query).await? else { return Ok(None) };
        Ok(Some(DueDigest { due_at: row.try_get("due_at")?, content: row.try_get("content")? }))
    }

    /// Notes that this digest is being sent here; whether the one who says so leads and has not
    /// begun before.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: the column holds 1 once it is sent, and before that the negative epoch of the
    // leader that began. The same leader begins once, so a store that fails makes no flood; the
    // next leader sends what an earlier one did not finish, so a crash may repeat a digest and
    // never loses one.
    pub async fn digest_sending(
        &self,
        due_at: i64,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let noted = sqlx::query(
            "UPDATE digest SET sent = -$5 WHERE due_at = $1 AND adapter = $2 AND target = $3 \
             AND sent <> 1 AND sent <> -$5 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND epoch = $5)",
        );
        let noted = noted.bind(due_at).bind(adapter.to_owned()).bind(target.to_owned());
        Ok(self.execute(noted.bind(fence.name.clone()).bind(fence.epoch)).await? > 0)
    }

    /// Notes that this digest was sent here, or that it has to be sent again.
    ///
    /// # Errors
    /// When the store fails; then the next leader sends it again.
    pub async fn digest_tried(
        &self,
        due_at: i64,
        adapter: &str,
        target: &str,
        tried: DigestTry,
    ) -> Result<(), StoreError> {
        let sent = match tried {
            DigestTry::Over => 1_i64,
            DigestTry::Again => 0,
        };
        let noted = sqlx::query(
            "UPDATE digest SET sent = $4 WHERE due_at = $1 AND adapter = $2 AND target = $3 \
             AND sent <> 1",
        );
        let noted = noted.bind(due_at).bind(adapter.to_owned()).bind(target.to_owned());
        self.execute(noted.bind(sent)).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::engines::on_both;
    use std::time::Duration;

    #[tokio::test]
    async fn a_digest_is_made_once_and_sent_once_by_the_daemon_that_leads() {
        on_both(async |store| {
            let length = Duration::from_secs(60);
            let leads = store.take_lease("chat", "one", length).await.unwrap().unwrap();
            let here = || NewDigest {
                adapter: "chat".to_owned(),
                target: "7".to_owned(),
                content: "[]".to_owned(),
            };
            assert_eq!(store.last_digest().await.unwrap(), None);
            assert!(store.add_digest(10, vec![]).await.unwrap());
            assert!(store.add_digest(20, vec![here()]).await.unwrap());
            assert!(!store.add_digest(20, vec![here()]).await.unwrap(), "another daemon");
            assert_eq!(store.last_digest().await.unwrap(), Some(20));
            let due = || store.due_digest("chat", "7", &leads);
            let wanted = DueDigest { due_at: 20, content: "[]".to_owned() };
            assert_eq!(due().await.unwrap(), Some(wanted.clone()));
            assert_eq!(store.due_digest("chat", "8", &leads).await.unwrap(), None);
            let old = Fence { name: "chat".to_owned(), epoch: leads.epoch - 1 };
            assert!(!store.digest_sending(20, "chat", "7", &old).await.unwrap());
            assert!(store.digest_sending(20, "chat", "7", &leads).await.unwrap());
            assert!(!store.digest_sending(20, "chat", "7", &leads).await.unwrap());
            assert_eq!(due().await.unwrap(), None);
            store.digest_tried(20, "chat", "7", DigestTry::Again).await.unwrap();
            assert_eq!(due().await.unwrap(), Some(wanted.clone()));
            // The next leader sends what this one began, and no leader what was sent.
            assert!(store.digest_sending(20, "chat", "7", &leads).await.unwrap());
            store.release_lease(&leads).await.unwrap();
            let next = store.take_lease("chat", "two", length).await.unwrap().unwrap();
            assert_eq!(due().await.unwrap(), None, "it leads no more");
            let due = || store.due_digest("chat", "7", &next);
            assert_eq!(due().await.unwrap(), Some(wanted));
            assert!(!store.digest_sending(20, "chat", "7", &leads).await.unwrap());
            assert!(store.digest_sending(20, "chat", "7", &next).await.unwrap());
            store.digest_tried(20, "chat", "7", DigestTry::Over).await.unwrap();
            store.digest_tried(20, "chat", "7", DigestTry::Again).await.unwrap();
            assert_eq!(due().await.unwrap(), None, "it was sent");
            assert!(!store.digest_sending(20, "chat", "7", &next).await.unwrap());
            assert!(store.add_digest(25, vec![here()]).await.unwrap());
            assert!(store.add_digest(30, vec![]).await.unwrap());
            assert_eq!(due().await.unwrap(), None, "what was not sent in time is not sent later");
        })
        .await;
    }
}
