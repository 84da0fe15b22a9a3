//! What is kept, as the client reads it.

use crate::{Client, PATIENCE, events::Events, transport::ClientError};
use countersign_domain::wire::{
    AskRecord, DigestReply, ExecutionReply, ExecutionRequest, HistoryPage, HistoryQuery,
    LogKeyChange, LogKeyReply, LogKeyRequest, LogReply, TokenReply,
};

impl Client {
    /// A page of closed asks, latest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage, ClientError> {
        let fields = serde_json::to_value(query).map_err(|why| self.transport.unreadable(why))?;
        let fields = fields.as_object().into_iter().flatten();
        let given = fields.filter_map(|(name, it)| Some((name.as_str(), it.as_str()?.to_owned())));
        self.get(&["v1", "history"], &given.collect::<Vec<_>>()).await
    }

    /// One ask in whole, open or closed.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn record(&self, id: &str) -> Result<AskRecord, ClientError> {
        self.get(&["v1", "history", id], &[]).await
    }

    /// What was asked since a time (RFC 3339), or in the last 7 days.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn digest(&self, since: Option<&str>) -> Result<DigestReply, ClientError> {
        let since: Vec<_> = since.map(|since| ("since", since.to_owned())).into_iter().collect();
        self.get(&["v1", "digest"], &since).await
    }

    /// The execution token of an approved ask.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Rejected`] where the ask has none.
    pub async fn execution_token(&self, id: &str) -> Result<TokenReply, ClientError> {
        self.get(&["v1", "asks", id, "token"], &[]).await
    }

    /// Reports that the call of this token starts, or with which exit code it ended.
    ///
    /// # Errors
    /// [`ClientError`]; a call that is to start may not run then.
    pub async fn report_execution(
        &self,
        token: &str,
        exit: Option<i32>,
    ) -> Result<ExecutionReply, ClientError> {
        let report = ExecutionRequest { token: token.to_owned(), exit };
        self.post(&["v1", "executions"], &[], &report, PATIENCE).await
    }

    /// A page of the log behind row `after`, up to row `until` or the newest checkpoint.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn log(
        &self,
        after: Option<i64>,
        until: Option<i64>,
    ) -> Result<LogReply, ClientError> {
        let fields = [("after", after), ("until", until)];
        let given = fields.into_iter().filter_map(|(name, row)| Some((name, row?.to_string())));
        self.get(&["v1", "log"], &given.collect::<Vec<_>>()).await
    }

    /// The events after one, or the latest so many; with `follow` those that happen from then on,
    /// too, and with `all` those that only the log shows.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] where neither the daemon's socket nor TLS proves
    /// who sends them.
    pub async fn events(
        &self,
        after: Option<i64>,
        latest: u32,
        follow: bool,
        all: bool,
    ) -> Result<Events, ClientError> {
        let mut query = vec![("follow", follow.to_string())];
        if all {
            query.push(("all", true.to_string()));
        }
        if after.is_none() {
            query.push(("last", latest.to_string()));
        }
        let reply = self.transport.stream(&["v1", "events"], &query, after).await?;
        Ok(Events::new(self.transport.clone(), reply))
    }

    /// Changes the key that signs the log.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn change_log_key(&self, change: LogKeyChange) -> Result<LogKeyReply, ClientError> {
        self.post(&["v1", "log", "key"], &[], &LogKeyRequest { change }, PATIENCE).await
    }
}
