//! The passkeys of people, as approvers list and remove them.

use crate::{Client, ClientError, PATIENCE};
use countersign_domain::wire::{PasskeyView, PasskeysPage, RemovedPasskeyReply};
use reqwest::Method;

impl Client {
    /// The passkeys of all people.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn passkeys(&self) -> Result<Vec<PasskeyView>, ClientError> {
        let PasskeysPage { passkeys } = self.get(&["v1", "passkeys"], &[]).await?;
        Ok(passkeys)
    }

    /// Removes a passkey.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn remove_passkey(&self, id: &str) -> Result<PasskeyView, ClientError> {
        let path = ["v1", "passkeys", id];
        let reply = self.transport.send(Method::DELETE, &path, &[], None, PATIENCE).await?;
        let RemovedPasskeyReply { removed } = self.transport.read(reply)?;
        Ok(removed)
    }
}
