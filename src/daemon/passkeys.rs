//! Where the inbox finds passkeys: at the gate.

use countersign_gate::{ByPasskey, Gate};
use countersign_inbox::{PasskeyAdded, PasskeyRecord, PasskeyRecords, PasskeySignIn, RecordsAway};
use countersign_port::{Presser, async_trait};
use countersign_store::{PasskeyStored, StoreError, StoredPasskey};
use std::sync::Arc;
use tokio::sync::watch;

/// The passkeys of this gate.
pub(super) struct GatePasskeys(pub(super) Arc<Gate>);

#[async_trait]
impl PasskeyRecords for GatePasskeys {
    async fn of_person(&self, person: &str) -> Result<Vec<PasskeyRecord>, RecordsAway> {
        let all = self.0.passkeys_of(person).await.map_err(away)?;
        Ok(all.into_iter().map(record).collect())
    }

    async fn find(&self, credential: &str) -> Result<Option<PasskeyRecord>, RecordsAway> {
        Ok(self.0.passkey(credential).await.map_err(away)?.map(record))
    }

    async fn add(&self, new: PasskeyRecord) -> Result<PasskeyAdded, RecordsAway> {
        Ok(match self.0.add_passkey(stored(new)).await.map_err(away)? {
            Some(PasskeyStored::Done) => PasskeyAdded::Done,
            Some(PasskeyStored::Taken) => PasskeyAdded::Taken,
            Some(PasskeyStored::TooMany) => PasskeyAdded::TooMany,
            None => PasskeyAdded::Nobody,
        })
    }

    async fn sign_in(
        &self,
        passkey: &PasskeyRecord,
        counter: u32,
    ) -> Result<PasskeySignIn, RecordsAway> {
        let passkey = stored(passkey.clone());
        Ok(match self.0.sign_in_by_passkey(&passkey, counter).await.map_err(away)? {
            ByPasskey::Done(presser) => PasskeySignIn::Done(presser),
            ByPasskey::CounterRefused => PasskeySignIn::CounterRefused,
            ByPasskey::Nobody => PasskeySignIn::Nobody,
        })
    }

    async fn remove(&self, id: &str, presser: &Presser) -> Result<bool, RecordsAway> {
        self.0.remove_own_passkey(id, presser).await.map_err(away)
    }

    async fn stored(&self, ids: &[String]) -> Result<Vec<String>, RecordsAway> {
        let all = self.0.passkeys().await.map_err(away)?;
        Ok(all.into_iter().map(|(it, _)| it.id).filter(|id| ids.contains(id)).collect())
    }

    fn removals(&self) -> watch::Receiver<u64> {
        self.0.passkey_removals()
    }
}

fn away(error: StoreError) -> RecordsAway {
    RecordsAway(error.to_string())
}

fn record(passkey: StoredPasskey) -> PasskeyRecord {
    PasskeyRecord {
        id: passkey.id,
        credential: passkey.credential,
        host: passkey.host,
        person: passkey.person,
        owner: passkey.owner,
        name: passkey.name,
        handle: passkey.handle,
        public_key: passkey.public_key,
        algorithm: passkey.algorithm,
        counter: passkey.counter,
        backup_eligible: passkey.backup_eligible,
        created_at: passkey.created_at,
        used_at: passkey.used_at,
    }
}

fn stored(record: PasskeyRecord) -> StoredPasskey {
    StoredPasskey {
        id: record.id,
        credential: record.credential,
        host: record.host,
        person: record.person,
        owner: record.owner,
        name: record.name,
        handle: record.handle,
        public_key: record.public_key,
        algorithm: record.algorithm,
        counter: record.counter,
        backup_eligible: record.backup_eligible,
        created_at: record.created_at,
        used_at: record.used_at,
    }
}
