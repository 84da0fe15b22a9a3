//! The tokens of agents, as approvers make, list, rotate and revoke them.

use crate::{Client, ClientError, PATIENCE};
use countersign_domain::wire::{
    AddTokenRequest, NewTokenReply, ResumedAgentReply, RevokedTokenReply, RotateTokenRequest,
    TokenView, TokensPage,
};
use reqwest::Method;

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
        let reply = self.transport.send(Method::POST, &path, &[], None, PATIENCE).await?;
        let ResumedAgentReply { resumed } = self.transport.read(reply)?;
        Ok(resumed)
    }

    /// Revokes an agent's token.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn revoke_token(&self, name: &str) -> Result<TokenView, ClientError> {
        let path = ["v1", "tokens", name];
        let reply = self.transport.send(Method::DELETE, &path, &[], None, PATIENCE).await?;
        let RevokedTokenReply { revoked } = self.transport.read(reply)?;
        Ok(revoked)
    }
}
