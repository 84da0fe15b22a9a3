//! Parked runs, as the client handles them.

use crate::{Client, ClientError, Decided, HELD, OUTAGE, PATIENCE, Submitted, submission};
use countersign_domain::{
    call::Call,
    parked::ParkedRun,
    wire::{CallReply, ParkReply, ParkedPage, ParkedView, ProcessEnded, ResumeRunReply},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pause before a daemon that is away is asked again.
const AGAIN: Duration = Duration::from_secs(2);

impl Client {
    /// Parks the run whose call waits for this ask, also across a restart of the daemon.
    ///
    /// # Errors
    /// [`ClientError`]; it may be parked then, if the connection was lost.
    pub async fn park(&self, ask: &str, run: &ParkedRun) -> Result<ParkReply, ClientError> {
        self.post_patiently(&["v1", "parked", ask], &[], run).await
    }

    /// The parked runs, longest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn parked(&self) -> Result<Vec<ParkedView>, ClientError> {
        let ParkedPage { parked } = self.get(&["v1", "parked"], &[]).await?;
        Ok(parked)
    }

    /// The right to resume the run that waits for this ask.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Rejected`] says why not, or why not now.
    pub async fn resume_run(&self, ask: &str) -> Result<ResumeRunReply, ClientError> {
        self.post(&["v1", "parked", ask, "resume"], &[], &Value::Null, PATIENCE).await
    }

    /// Takes the answer of a parked call, for the run that was resumed under this number, also
    /// across a restart of the daemon: what was taken is given again to the same run.
    ///
    /// # Errors
    /// [`ClientError`]; then nothing is decided, and the run stays parked.
    pub async fn take_answer(
        &self,
        ask: &str,
        epoch: i64,
        call: &Call,
    ) -> Result<Decided, ClientError> {
        let body = submission(call);
        let path = ["v1", "parked", ask, "take"];
        let query = [("epoch", epoch.to_string())];
        let reply: CallReply = self.post_patiently(&path, &query, &body).await?;
        match Submitted::read(reply, call) {
            Ok(Submitted::Decided(decided)) => Ok(*decided),
            Ok(Submitted::Ask(_)) => Err(self.transport.unreadable("an open ask")),
            Err(why) => Err(self.transport.unreadable(why)),
        }
    }

    /// Reports that the process of a parked run has ended; whether the run is parked still.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn process_ended(
        &self,
        ask: &str,
        ended: &ProcessEnded,
    ) -> Result<bool, ClientError> {
        let path = ["v1", "parked", ask, "ended"];
        let reply: ParkReply = self.post(&path, &[], ended, PATIENCE).await?;
        Ok(reply.parked)
    }

    /// Gives a parked run up, and cancels its ask.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn drop_parked(&self, ask: &str) -> Result<(), ClientError> {
        self.delete::<Value>(&["v1", "parked", ask]).await.map(drop)
    }

    /// Posts again while the daemon is away.
    async fn post_patiently<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let since = Instant::now();
        loop {
            match self.post(path, query, body, PATIENCE).await {
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. })
                    if since.elapsed() < OUTAGE =>
                {
                    sleep(AGAIN).await;
                }
                reply => return reply,
            }
        }
    }

    /// Waits until this ask is closed, for days where it has to, also without a daemon.
    ///
    /// # Errors
    /// [`ClientError`], except for a daemon that is away.
    pub async fn closed(&self, ask: &str) -> Result<Decided, ClientError> {
        loop {
            match self.wait(ask, HELD).await {
                Ok(Some(decided)) => return Ok(decided),
                Ok(None) => {}
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. }) => {
                    sleep(AGAIN).await;
                }
                Err(other) => return Err(other),
            }
        }
    }
}
