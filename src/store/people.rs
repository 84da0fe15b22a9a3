//! People: their passkeys, and who is away or wants no messages for a while.

pub use countersign_domain::plan::AbsentPeople;

use super::{Store, StoreError, log};
use countersign_domain::By;
use serde_json::{Value, json};
use sqlx::{Row, any::AnyRow};

/// A passkey as its row has it. Bytes are in base64url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPasskey {
    /// Its short random id.
    pub id: String,
    /// The credential's id, which is that of one passkey.
    pub credential: String,
    /// The relying party's id for which it was made.
    pub host: String,
    /// The identity of its person, `PLATFORM:ID`.
    pub person: String,
    /// The name that its person had when it was added.
    pub owner: String,
    /// What its person calls it.
    pub name: String,
    /// By which the authenticator knows its person.
    pub handle: String,
    /// The public key, as a SubjectPublicKeyInfo.
    pub public_key: String,
    /// The COSE number of the key's algorithm.
    pub algorithm: i64,
    /// The signature counter at its latest use.
    pub counter: u32,
    /// Whether it may leave its device.
    pub backup_eligible: bool,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds.
    pub used_at: Option<i64>,
}

/// What became of adding a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum PasskeyStored {
    /// It is stored.
    Done,
    /// The credential is somebody's already.
    Taken,
    /// Its person has as many as they may have.
    TooMany,
}

/// What became of using a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum PasskeyUse {
    /// It is noted, and the log says who signed in.
    Done,
    /// Its counter did not rise, and the log says so.
    CounterRefused,
    /// It was removed.
    Gone,
}

/// Why a person gets no direct messages for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// They are away: somebody else is on duty for them.
    Away,
    /// They want quiet.
    Snoozed,
}

impl Store {
    /// All passkeys, by their owners.
    pub async fn passkeys(&self) -> Result<Vec<StoredPasskey>, StoreError> {
        let all = "SELECT * FROM passkey ORDER BY owner, created_at, id";
        self.all(sqlx::query(all)).await?.iter().map(passkey).collect()
    }

    /// The passkey with this credential id.
    pub async fn passkey_of(&self, credential: &str) -> Result<Option<StoredPasskey>, StoreError> {
        let one = sqlx::query("SELECT * FROM passkey WHERE credential = $1").bind(credential);
        self.maybe(one).await?.as_ref().map(passkey).transpose()
    }

    /// Adds a passkey, where its owner has fewer than so many.
    pub async fn add_passkey(
        &self,
        new: StoredPasskey,
        most: i64,
        by: &By,
    ) -> Result<PasskeyStored, StoreError> {
        let event = new.event(by);
        self.write(move |tx| {
            Box::pin(async move {
                let own = sqlx::query("SELECT count(*) AS own FROM passkey WHERE owner = $1");
                if tx.count(own.bind(new.owner.clone())).await? >= most {
                    return Ok(PasskeyStored::TooMany);
                }
                let insert = sqlx::query(
                    "INSERT INTO passkey (id, credential, host, person, owner, name, handle, \
                     public_key, algorithm, counter, backup_eligible, created_at) VALUES ($1, \
                     $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
                );
                let insert = insert.bind(new.id).bind(new.credential).bind(new.host);
                let insert = insert.bind(new.person).bind(new.owner).bind(new.name);
                let insert = insert.bind(new.handle).bind(new.public_key).bind(new.algorithm);
                let insert = insert.bind(i64::from(new.counter));
                let insert = insert.bind(i64::from(new.backup_eligible)).bind(new.created_at);
                if tx.run(insert).await? == 0 {
                    return Ok(PasskeyStored::Taken);
                }
                log::append(tx, new.created_at, "passkey_added", None, &event).await?;
                Ok(PasskeyStored::Done)
            })
        })
        .await
    }

    /// Notes that somebody signed in with a passkey, by the counter that it showed.
    ///
    /// # Errors
    /// When the store fails; then nobody may be let in.
    // INVARIANT: of two sign-ins with the same counter one is refused, at whatever daemons. A
    // passkey that does not count always shows zero.
    pub async fn use_passkey(
        &self,
        passkey: &StoredPasskey,
        counter: u32,
        by: &By,
        now: i64,
    ) -> Result<PasskeyUse, StoreError> {
        let id = passkey.id.clone();
        let event = passkey.event(by);
        let refused = json!({ "passkey": passkey.named(), "counter": counter });
        self.write(move |tx| {
            Box::pin(async move {
                let rise = sqlx::query(
                    "UPDATE passkey SET counter = $2, used_at = $3 WHERE id = $1 \
                     AND (counter < $2 OR (counter = 0 AND $2 = 0))",
                );
                let rise = rise.bind(id.clone()).bind(i64::from(counter)).bind(now);
                if tx.run(rise).await? == 1 {
                    log::append(tx, now, "signed_in", None, &event).await?;
                    return Ok(PasskeyUse::Done);
                }
                let one = sqlx::query("SELECT id FROM passkey WHERE id = $1").bind(&id);
                if tx.maybe(one).await?.is_none() {
                    return Ok(PasskeyUse::Gone);
                }
                log::append(tx, now, "passkey_refused", None, &refused).await?;
                Ok(PasskeyUse::CounterRefused)
            })
        })
        .await
    }

    /// Removes a passkey; `None` where there is none with this id.
    pub async fn remove_passkey(
        &self,
        id: &str,
        by: &By,
        now: i64,
    ) -> Result<Option<StoredPasskey>, StoreError> {
        let one = sqlx::query("SELECT * FROM passkey WHERE id = $1").bind(id.to_owned());
        let Some(found) = self.maybe(one).await? else { return Ok(None) };
        let found = passkey(&found)?;
        let id = found.id.clone();
        let event = found.event(by);
        let removed = self.write(move |tx| {
            Box::pin(async move {
                let delete = sqlx::query("DELETE FROM passkey WHERE id = $1").bind(id);
                if tx.run(delete).await? == 0 {
                    return Ok(false);
                }
                log::append(tx, now, "passkey_removed", None, &event).await?;
                Ok(true)
            })
        });
        Ok(removed.await?.then_some(found))
    }

    /// Who is not there now.
    pub async fn absent(&self, now: i64) -> Result<AbsentPeople, StoreError> {
        let query = sqlx::query("SELECT person, how FROM presence WHERE until_at > $1");
        let mut absent = AbsentPeople::default();
        for row in self.all(query.bind(now)).await? {
            let (person, how): (String, String) = (row.try_get("person")?, row.try_get("how")?);
            match how.as_str() {
                "away" => absent.away.insert(person),
                _ => absent.snoozed.insert(person),
            };
        }
        Ok(absent)
    }

    /// Notes that a person is not there until then.
    pub async fn set_absent(
        &self,
        person: &str,
        how: Absence,
        until: i64,
        now: i64,
    ) -> Result<(), StoreError> {
        let person = person.to_owned();
        self.change(move |tx| {
            Box::pin(async move {
                let set = sqlx::query(
                    "INSERT INTO presence (person, how, until_at) VALUES ($1, $2, $3) \
                     ON CONFLICT (person, how) DO UPDATE SET until_at = excluded.until_at",
                );
                tx.run(set.bind(person.clone()).bind(how.name()).bind(until)).await?;
                let data = json!({"person": person, "until": until});
                log::append(tx, now, how.name(), None, &data).await
            })
        })
        .await
    }

    /// Notes that a person is there again; whether they were not.
    pub async fn set_back(&self, person: &str, now: i64) -> Result<bool, StoreError> {
        let person = person.to_owned();
        self.change(move |tx| {
            Box::pin(async move {
                let back = sqlx::query("DELETE FROM presence WHERE person = $1 AND until_at > $2");
                if tx.run(back.bind(person.clone()).bind(now)).await? == 0 {
                    return Ok(false);
                }
                log::append(tx, now, "back", None, &json!({ "person": person })).await?;
                Ok(true)
            })
        })
        .await
    }
}

impl StoredPasskey {
    /// As the log names it.
    fn named(&self) -> Value {
        json!({ "id": self.id, "name": self.name, "owner": self.owner })
    }

    /// What somebody did with it.
    fn event(&self, by: &By) -> Value {
        json!({ "by": by, "passkey": self.named() })
    }
}

fn passkey(row: &AnyRow) -> Result<StoredPasskey, StoreError> {
    let counter = row.try_get::<i64, _>("counter")?;
    Ok(StoredPasskey {
        id: row.try_get("id")?,
        credential: row.try_get("credential")?,
        host: row.try_get("host")?,
        person: row.try_get("person")?,
        owner: row.try_get("owner")?,
        name: row.try_get("name")?,
        handle: row.try_get("handle")?,
        public_key: row.try_get("public_key")?,
        algorithm: row.try_get("algorithm")?,
        // FAIL-CLOSED: a counter that cannot have been stored lets nothing pass any more.
        counter: u32::try_from(counter).unwrap_or(u32::MAX),
        backup_eligible: row.try_get::<i64, _>("backup_eligible")? != 0,
        created_at: row.try_get("created_at")?,
        used_at: row.try_get("used_at")?,
    })
}

impl Absence {
    fn name(self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::Snoozed => "snoozed",
        }
    }
}

#[cfg(test)]
mod tests;
