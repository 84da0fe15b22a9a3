//! Who is away or wants no messages for a while.

pub use countersign_domain::plan::AbsentPeople;

use super::{Store, StoreError, events};
use serde_json::json;
use sqlx::{Row, any::AnyRow};

/// Why a person gets no direct messages for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// They are away: somebody else is on duty for them.
    Away,
    /// They want quiet.
    Snoozed,
}

impl Absence {
    fn name(self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::Snoozed => "snoozed",
        }
    }
}

impl Store {
    /// Who is not there now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn absent(&self, now: i64) -> Result<AbsentPeople, StoreError> {
        let query = sqlx::query("SELECT person, how FROM presence WHERE until_at > $1");
        let mut absent = AbsentPeople::default();
        for row in self.all(query.bind(now)).await? {
            let (person, how) = read(&row)?;
            match how.as_str() {
                "away" => absent.away.insert(person),
                _ => absent.snoozed.insert(person),
            };
        }
        Ok(absent)
    }

    /// Notes that a person is not there until then.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn set_absent(
        &self,
        person: &str,
        how: Absence,
        until: i64,
        now: i64,
    ) -> Result<(), StoreError> {
        let person = person.to_owned();
        let set = self.write(move |tx| {
            Box::pin(async move {
                let set = sqlx::query(
                    "INSERT INTO presence (person, how, until_at) VALUES ($1, $2, $3) \
                     ON CONFLICT (person, how) DO UPDATE SET until_at = excluded.until_at",
                );
                set.bind(person.clone()).bind(how.name()).bind(until).execute(&mut **tx).await?;
                let data = json!({"person": person, "until": until});
                events::append(tx, now, how.name(), None, &data).await
            })
        });
        set.await?;
        self.tell();
        Ok(())
    }

    /// Notes that a person is there again; whether they were not.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn set_back(&self, person: &str, now: i64) -> Result<bool, StoreError> {
        let person = person.to_owned();
        let back = self.write(move |tx| {
            Box::pin(async move {
                let back = sqlx::query("DELETE FROM presence WHERE person = $1 AND until_at > $2");
                let back = back.bind(person.clone()).bind(now).execute(&mut **tx).await?;
                if back.rows_affected() == 0 {
                    return Ok(false);
                }
                events::append(tx, now, "back", None, &json!({ "person": person })).await?;
                Ok(true)
            })
        });
        let back = back.await?;
        self.tell();
        Ok(back)
    }
}

fn read(row: &AnyRow) -> Result<(String, String), StoreError> {
    Ok((row.try_get("person")?, row.try_get("how")?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::engines::on_both;

    #[tokio::test]
    async fn a_person_is_away_until_their_time_is_over_or_they_are_back() {
        on_both(async |store| {
            store.set_absent("Ana", Absence::Away, 100, 0).await.unwrap();
            store.set_absent("Ana", Absence::Snoozed, 50, 0).await.unwrap();
            store.set_absent("Ben", Absence::Snoozed, 20, 0).await.unwrap();
            let names = async |now| {
                let AbsentPeople { away, snoozed } = store.absent(now).await.unwrap();
                (Vec::from_iter(away).join(" "), Vec::from_iter(snoozed).join(" "))
            };
            assert_eq!(names(10).await, ("Ana".to_owned(), "Ana Ben".to_owned()));
            assert_eq!(names(20).await, ("Ana".to_owned(), "Ana".to_owned()));
            assert_eq!(names(100).await, (String::new(), String::new()));
            store.set_absent("Ben", Absence::Snoozed, 90, 30).await.unwrap();
            assert!(store.set_back("Ana", 40).await.unwrap());
            assert!(!store.set_back("Ana", 40).await.unwrap());
            assert_eq!(names(40).await, (String::new(), "Ben".to_owned()));
        })
        .await;
    }
}
