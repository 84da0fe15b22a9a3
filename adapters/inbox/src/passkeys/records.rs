//! What the inbox needs of the place where passkeys are stored.

use countersign_port::{Presser, async_trait};
use tokio::sync::watch;

/// A passkey. Bytes are written in base64url without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyRecord {
    /// A short random name, for people and commands.
    pub id: String,
    /// The credential's id.
    pub credential: String,
    /// The relying party's id for which it was made.
    pub host: String,
    /// Whose it is: the identity with which they were signed in.
    pub person: String,
    /// The name of that person then.
    pub owner: String,
    /// What its person calls it.
    pub name: String,
    /// What the authenticator knows its person by; random, so that it reveals nothing.
    pub handle: String,
    /// The public key, as a SubjectPublicKeyInfo in DER.
    pub public_key: String,
    /// The key's algorithm, by its COSE number.
    pub algorithm: i64,
    /// The signature counter at its latest use.
    pub counter: u32,
    /// Whether it may leave its device (flag BE), which never changes.
    pub backup_eligible: bool,
    /// Unix milliseconds.
    pub created_at: i64,
    /// When somebody last signed in with it; Unix milliseconds.
    pub used_at: Option<i64>,
}

/// Passkeys cannot be read or written just now; for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordsAway(pub String);

/// What became of adding a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum PasskeyAdded {
    /// It is stored.
    Done,
    /// Somebody has this credential already.
    Taken,
    /// Its person has as many as they may have.
    TooMany,
    /// Nobody with this identity may answer any more.
    Nobody,
}

/// What became of signing in with a passkey whose signature is right.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum PasskeySignIn {
    /// The person is let in, and the log says so.
    Done(Presser),
    /// Its counter did not rise: there may be a copy of it. The log says so.
    CounterRefused,
    /// It was removed meanwhile, or its person may not answer any more.
    Nobody,
}

/// The stored passkeys of everybody.
#[async_trait]
pub trait PasskeyRecords: Send + Sync {
    /// The passkeys of the person who is signed in under this id, by whatever identity they were
    /// added.
    async fn of_person(&self, person: &str) -> Result<Vec<PasskeyRecord>, RecordsAway>;

    /// The passkey with this credential id.
    async fn find(&self, credential: &str) -> Result<Option<PasskeyRecord>, RecordsAway>;

    /// Adds one.
    async fn add(&self, new: PasskeyRecord) -> Result<PasskeyAdded, RecordsAway>;

    /// Notes that it was used with this counter, and lets its person in.
    async fn sign_in(
        &self,
        passkey: &PasskeyRecord,
        counter: u32,
    ) -> Result<PasskeySignIn, RecordsAway>;

    /// Removes one of this person's own; `false` where they have no such passkey.
    async fn remove(&self, id: &str, presser: &Presser) -> Result<bool, RecordsAway>;

    /// Those of these ids that are stored.
    async fn stored(&self, ids: &[String]) -> Result<Vec<String>, RecordsAway>;

    /// Tells when one was removed here.
    fn removals(&self) -> watch::Receiver<u64>;
}
