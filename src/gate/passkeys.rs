//! The passkeys of people, at the gate.

use super::{
    approvers::{Stranger, Who},
    ask::By,
    doors::InboxDoor,
    in_force::{INBOX, InForce},
    open_asks::OpenAsks,
};
use countersign_port::Presser;
use countersign_store::{PasskeyStored, PasskeyUse, StoreError, StoredPasskey};
use countersign_tokens::clock;
use std::sync::Arc;
use tokio::sync::watch;

/// How many passkeys a person may have.
const MOST: i64 = 20;

/// What became of removing a passkey.
#[derive(Debug)]
#[must_use]
pub enum PasskeyRemoval {
    /// It is removed, and who is signed in with it is signed out.
    Done(Box<StoredPasskey>),
    /// There is no such passkey.
    Unknown,
    /// Only approvers remove passkeys.
    NotAllowed(Stranger),
}

/// What became of signing in with a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ByPasskey {
    /// This person is let in.
    Done(Presser),
    /// Its counter did not rise.
    CounterRefused,
    /// It was removed, or its person may not answer any more.
    Nobody,
}

/// The passkeys of people.
#[derive(Debug)]
pub struct PersonPasskeys {
    open: Arc<OpenAsks>,
    in_force: Arc<InForce>,
    doors: Arc<InboxDoor>,
    /// Counts those that were removed here.
    removed: watch::Sender<u64>,
}

impl PersonPasskeys {
    pub(super) fn new(
        open: &Arc<OpenAsks>,
        in_force: &Arc<InForce>,
        doors: &Arc<InboxDoor>,
    ) -> Self {
        let (open, in_force, doors) = (open.clone(), in_force.clone(), doors.clone());
        Self { open, in_force, doors, removed: watch::Sender::new(0) }
    }

    /// All passkeys with whom they let in now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn all(&self) -> Result<Vec<(StoredPasskey, Option<Presser>)>, StoreError> {
        let all = self.open.store.passkeys().await?;
        let with = |passkey: StoredPasskey| {
            let presser = self.lets_in(&passkey);
            (passkey, presser)
        };
        Ok(all.into_iter().map(with).collect())
    }

    /// The passkeys of the person who is signed in under this id, by whatever identity they came.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn of_person(&self, person: &str) -> Result<Vec<StoredPasskey>, StoreError> {
        let Some(Presser { name, .. }) = self.doors.known(person) else { return Ok(Vec::new()) };
        let mut all = self.open.store.passkeys().await?;
        all.retain(|passkey| self.lets_in(passkey).is_some_and(|it| it.name == name));
        Ok(all)
    }

    /// The passkey with this credential id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(&self, credential: &str) -> Result<Option<StoredPasskey>, StoreError> {
        self.open.store.passkey_of(credential).await
    }

    /// Adds a passkey; `None` where its person may not answer any more.
    ///
    /// # Errors
    /// When the store fails; then it is not added.
    pub async fn add(&self, new: StoredPasskey) -> Result<Option<PasskeyStored>, StoreError> {
        let Some(by) = self.lets_in(&new).map(by) else { return Ok(None) };
        let added = self.open.store.add_passkey(new, MOST, &by).await?;
        if added == PasskeyStored::Done {
            tracing::info!(%by, "a passkey was added");
        }
        Ok(Some(added))
    }

    /// Lets the person of a passkey in whose signature is right, by the counter that it showed.
    ///
    /// # Errors
    /// When the store fails; then nobody is let in.
    pub async fn sign_in(
        &self,
        passkey: &StoredPasskey,
        counter: u32,
    ) -> Result<ByPasskey, StoreError> {
        let Some(presser) = self.lets_in(passkey) else { return Ok(ByPasskey::Nobody) };
        let (now, by) = (clock::now_ms(), by(presser.clone()));
        Ok(match self.open.store.use_passkey(passkey, counter, &by, now).await? {
            PasskeyUse::Done => ByPasskey::Done(presser),
            PasskeyUse::Gone => ByPasskey::Nobody,
            PasskeyUse::CounterRefused => {
                let (id, owner) = (&passkey.id, &passkey.owner);
                tracing::warn!(id, owner, "a passkey's counter did not rise: maybe a copy of it");
                ByPasskey::CounterRefused
            }
        })
    }

    /// Removes one of this person's own; `false` where they have no such passkey.
    ///
    /// # Errors
    /// When the store fails; then it is not removed.
    pub async fn remove_own(&self, id: &str, presser: &Presser) -> Result<bool, StoreError> {
        let own = self.of_person(&presser.id).await?;
        if !own.iter().any(|passkey| passkey.id == id) {
            return Ok(false);
        }
        Ok(self.remove_by(id, &by(presser.clone())).await?.is_some())
    }

    /// Removes anybody's passkey.
    ///
    /// # Errors
    /// When the store fails; then it is not removed.
    pub async fn remove(&self, id: &str, who: Who) -> Result<PasskeyRemoval, StoreError> {
        let by = match self.in_force.admit(who) {
            Ok(approver) => super::answer::person(&approver),
            Err(stranger) => return Ok(PasskeyRemoval::NotAllowed(stranger)),
        };
        let removed = self.remove_by(id, &by).await?;
        Ok(removed.map_or(PasskeyRemoval::Unknown, |it| PasskeyRemoval::Done(Box::new(it))))
    }

    /// Tells when one was removed here.
    #[must_use]
    pub fn removals(&self) -> watch::Receiver<u64> {
        self.removed.subscribe()
    }

    async fn remove_by(&self, id: &str, by: &By) -> Result<Option<StoredPasskey>, StoreError> {
        let removed = self.open.store.remove_passkey(id, by, clock::now_ms()).await?;
        if let Some(passkey) = &removed {
            tracing::warn!(id = passkey.id, owner = passkey.owner, %by, "a passkey was removed");
            self.removed.send_modify(|count| *count += 1);
        }
        Ok(removed)
    }

    /// Whom a passkey lets in, as the config has them now.
    // SECURITY: identities change hands, as a mail address does, and so do names. A passkey opens
    // nothing once either is another's.
    fn lets_in(&self, passkey: &StoredPasskey) -> Option<Presser> {
        self.doors.known(&passkey.person).filter(|presser| presser.name == passkey.owner)
    }
}

fn by(presser: Presser) -> By {
    By::Person { platform: INBOX.to_owned(), id: presser.id, name: presser.name }
}
