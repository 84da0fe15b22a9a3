//! What a person does through the client: lists open asks, answers them, revokes grants, pauses.

use crate::{Client, ClientError, HELD, PATIENCE, wait_query};
use countersign_domain::wire::{
    AddTokenRequest, AnswerReply, AnswerRequest, AskView, AsksPage, GrantView, GrantsPage,
    NewTokenReply, PairingReply, PairingRequest, PairingView, PasskeyView, PasskeysPage,
    PauseReply, PauseRequest, ReloadReply, RemovedPasskeyReply, ResumedAgentReply, RevokeReply,
    RevokedTokenReply, RotateTokenRequest, TokenView, TokensPage,
};
use reqwest::Method;
use serde_json::Value;

impl Client {
    /// The open asks, oldest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn pending(&self) -> Result<Vec<AskView>, ClientError> {
        self.open_asks(vec![("state", "open".to_owned())]).await
    }

    /// The open asks with the cards that people see, oldest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn cards(&self) -> Result<Vec<AskView>, ClientError> {
        self.open_asks(vec![("state", "open".to_owned()), ("card", "true".to_owned())]).await
    }

    async fn open_asks(
        &self,
        mut query: Vec<(&'static str, String)>,
    ) -> Result<Vec<AskView>, ClientError> {
        let mut all = Vec::new();
        let first = query.len();
        loop {
            let AsksPage { asks, next } = self.get(&["v1", "asks"], &query).await?;
            all.extend(asks);
            let Some(next) = next else { return Ok(all) };
            query.truncate(first);
            query.push(("after", next));
        }
    }

    /// Answers an ask.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn answer(
        &self,
        id: &str,
        answer: &AnswerRequest,
    ) -> Result<AnswerReply, ClientError> {
        self.post(&["v1", "asks", id, "answer"], &[], answer, PATIENCE).await
    }

    /// Undoes an answer: revokes what it stored.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn undo(&self, id: &str) -> Result<AnswerReply, ClientError> {
        self.post(&["v1", "asks", id, "undo"], &[], &Value::Null, PATIENCE).await
    }

    /// The grants in force.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn grants(&self) -> Result<Vec<GrantView>, ClientError> {
        let GrantsPage { grants } = self.get(&["v1", "grants"], &[]).await?;
        Ok(grants)
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn revoke(&self, id: &str) -> Result<GrantView, ClientError> {
        let RevokeReply { revoked } = self.delete(&["v1", "grants", id]).await?;
        Ok(revoked)
    }

    /// Pauses everything.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn pause(&self, request: &PauseRequest) -> Result<PauseReply, ClientError> {
        self.post(&["v1", "pause"], &[], request, PATIENCE).await
    }

    /// Ends the pause.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn resume(&self) -> Result<PauseReply, ClientError> {
        self.post(&["v1", "resume"], &[], &Value::Null, PATIENCE).await
    }

    /// Begins a pairing on a chat platform.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn begin_pairing(&self, platform: &str) -> Result<PairingReply, ClientError> {
        let request = PairingRequest { platform: platform.to_owned() };
        self.post(&["v1", "pairings"], &[], &request, PATIENCE).await
    }

    /// A pairing, once somebody has sent its code or a while has passed.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn pairing(&self, id: &str) -> Result<PairingView, ClientError> {
        let path = ["v1", "pairings", id];
        let query = wait_query(HELD);
        let patience = HELD + PATIENCE;
        self.transport.send(Method::GET, &path, &query, None, patience).await
    }

    /// Puts the daemon's changed config in force.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Rejected`] says what is wrong with the config.
    pub async fn reload(&self) -> Result<ReloadReply, ClientError> {
        self.post(&["v1", "reload"], &[], &Value::Null, PATIENCE).await
    }
}

impl Client {
    /// The tokens of agents, by name; those that were revoked, too.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn tokens(&self) -> Result<Vec<TokenView>, ClientError> {
        let TokensPage { tokens } = self.get(&["v1", "tokens"], &[]).await?;
        Ok(tokens)
    }

    /// Makes a token for an agent.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn add_token(&self, new: &AddTokenRequest) -> Result<NewTokenReply, ClientError> {
        self.post(&["v1", "tokens"], &[], new, PATIENCE).await
    }

    /// Gives an agent another token.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn rotate_token(
        &self,
        name: &str,
        overlap_s: u64,
    ) -> Result<NewTokenReply, ClientError> {
        let request = RotateTokenRequest { overlap_s };
        self.post(&["v1", "tokens", name, "rotate"], &[], &request, PATIENCE).await
    }

    /// Resumes an agent that a limit has paused.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn resume_agent(&self, name: &str) -> Result<TokenView, ClientError> {
        let path = ["v1", "tokens", name, "resume"];
        let ResumedAgentReply { resumed } =
            self.transport.send(Method::POST, &path, &[], None, PATIENCE).await?;
        Ok(resumed)
    }

    /// Revokes an agent's token.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn revoke_token(&self, name: &str) -> Result<TokenView, ClientError> {
        let RevokedTokenReply { revoked } = self.delete(&["v1", "tokens", name]).await?;
        Ok(revoked)
    }
}

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
        let RemovedPasskeyReply { removed } = self.delete(&["v1", "passkeys", id]).await?;
        Ok(removed)
    }
}
