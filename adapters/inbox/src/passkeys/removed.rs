//! Ends what somebody is shown and told who signed in with a passkey that was removed meanwhile,
//! here or at another daemon of the store.

use super::{PasskeyRecords, Passkeys};
use crate::{push::Push, shared::InboxState};
use std::{future, time::Duration};

/// How often it is looked for passkeys that were removed elsewhere.
const LOOK: Duration = Duration::from_secs(5);

/// Goes on for ever.
pub(crate) async fn end_removed(inbox: &InboxState) {
    let Some(records) = inbox.passkeys.as_ref().and_then(Passkeys::records) else {
        return future::pending().await;
    };
    let mut removals = records.removals();
    loop {
        keep_stored(inbox, records.as_ref()).await;
        tokio::select! {
            Ok(()) = removals.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn keep_stored(inbox: &InboxState, records: &dyn PasskeyRecords) {
    let pushed = inbox.push.iter().flat_map(Push::passkeys);
    let used: Vec<_> = inbox.sign_ins.passkeys().into_iter().chain(pushed).collect();
    if used.is_empty() {
        return;
    }
    match records.stored(&used).await {
        Ok(stored) => {
            // Somebody may have signed in with another one meanwhile.
            let gone: Vec<_> = used.into_iter().filter(|id| !stored.contains(id)).collect();
            inbox.sign_ins.end_passkeys(&gone);
            inbox.push.iter().for_each(|push| push.end_passkeys(&gone));
        }
        // Without its store this daemon takes no answers either.
        Err(away) => tracing::debug!(why = away.0, "passkeys cannot be read just now"),
    }
}
