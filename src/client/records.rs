//! What is kept, as the client reads it.

use crate::{Client, error::ClientError, events::Events};
use countersign_protocol::{AskRecord, HistoryPage, HistoryQuery};

impl Client {
    /// A page of closed asks, latest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage, ClientError> {
        let HistoryQuery { agent, session, folder, tool, person, verdict, rule, text, .. } = query;
        let HistoryQuery { since, until, before, limit, .. } = query;
        let fields = [
            ("agent", agent),
            ("session", session),
            ("folder", folder),
            ("tool", tool),
            ("person", person),
            ("verdict", verdict),
            ("rule", rule),
            ("text", text),
            ("since", since),
            ("until", until),
            ("before", before),
            ("limit", limit),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        self.get(&["v1", "history"], &given.collect::<Vec<_>>()).await
    }

    /// One ask in whole, open or closed.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn record(&self, id: &str) -> Result<AskRecord, ClientError> {
        self.get(&["v1", "history", id], &[]).await
    }

    /// The events after one, or the latest so many; with `follow` those that happen from then on,
    /// too.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] where neither the daemon's socket nor TLS proves
    /// who sends them.
    pub async fn events(
        &self,
        after: Option<i64>,
        latest: u32,
        follow: bool,
    ) -> Result<Events, ClientError> {
        let mut query = vec![("follow", follow.to_string())];
        if after.is_none() {
            query.push(("last", latest.to_string()));
        }
        let reply = self.transport.stream(&["v1", "events"], &query, after).await?;
        Ok(Events::new(self.transport.clone(), reply))
    }
}
