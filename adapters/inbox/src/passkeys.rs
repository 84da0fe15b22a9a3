//! Passkeys (WebAuthn Level 3): a person who has signed in once adds one, and signs in with it
//! alone from then on.
//
// There is no attestation, and no CBOR is read: browsers hand out the public key and the
// authenticator's data apart from the attestation. The page that hands them over is our own. One
// that lies can give away its own person's account at most, as it could without passkeys.

mod authenticator_data;
mod ceremonies;
mod client_data;
mod own_routes;
mod public_key;
mod records;
mod removed;
mod routes;
mod verify;

pub(crate) use own_routes::own_routes;
pub use records::{PasskeyAdded, PasskeyRecord, PasskeyRecords, PasskeySignIn, RecordsAway};
pub(crate) use removed::end_removed;
pub(crate) use routes::routes;

use crate::counted::LogNowAndThen;
use ceremonies::Ceremonies;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use verify::RelyingParty;

/// Where passkeys of the inbox work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyConfig {
    /// The relying party's id: the host of the origin.
    pub host: String,
    /// The origin of the page, exactly as browsers write it.
    pub origin: String,
}

/// The passkeys of one inbox.
pub(crate) struct Passkeys {
    party: RelyingParty,
    ceremonies: Mutex<Ceremonies>,
    records: OnceLock<Arc<dyn PasskeyRecords>>,
    refused: LogNowAndThen,
}

impl Passkeys {
    pub(crate) fn new(config: PasskeyConfig) -> Self {
        let PasskeyConfig { host, origin } = config;
        let (ceremonies, records, refused) = Default::default();
        Self { party: RelyingParty { host, origin }, ceremonies, records, refused }
    }

    /// Says where passkeys are stored; the first time counts.
    pub(crate) fn keep_in(&self, records: Arc<dyn PasskeyRecords>) {
        let _ = self.records.set(records);
    }

    /// The origin at which they work.
    pub(crate) fn origin(&self) -> &str {
        &self.party.origin
    }

    fn records(&self) -> Option<&Arc<dyn PasskeyRecords>> {
        self.records.get()
    }

    fn ceremonies(&self) -> MutexGuard<'_, Ceremonies> {
        // Nothing that is done under the lock can panic halfway.
        self.ceremonies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
