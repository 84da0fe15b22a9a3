//! Asks people through a countersign daemon.

use super::{ApprovalHandler, ApprovalRequest, ApprovalResponse};
use chrono::Utc;
use countersign_client::{
    By, Call, Client, ClientError, ClientSettings, Decided, Decision, Ending, ids,
};
use std::{sync::Arc, time::Duration};

/// The connection timeout.
const CONNECT: Duration = Duration::from_secs(5);

/// Asks people through a daemon whose profile is `zeptoclaw`.
///
/// ```no_run
/// # use countersign_zeptoclaw::{ClientError, ToolCall};
/// # async fn example(call: ToolCall) -> Result<(), ClientError> {
/// use countersign_zeptoclaw::{
///     AgentMode, ApprovalConfig, ApprovalGate, Approvals, Channel, ClientSettings, Daemon,
///     ModePolicy, CallOutcome, Server,
/// };
///
/// let settings = ClientSettings {
///     url: vec![Server::Unix("/run/user/1000/countersign/countersign.sock".into())],
///     token: None,
///     insecure_http: false,
///     ca_file: None,
/// };
/// let approvals = Approvals {
///     mode: ModePolicy::new(AgentMode::Assistant),
///     gate: ApprovalGate::new(ApprovalConfig::careful()),
///     handler: Some(Daemon::new(&settings, "zeptoclaw", "session 1")?.handler()),
/// };
/// match approvals.decide(&call, Channel::Remote).await {
///     CallOutcome::Run => println!("it runs"),
///     CallOutcome::Skip(words) => println!("the model reads: {words}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Daemon {
    client: Client,
    agent: String,
    session: String,
}

impl Daemon {
    /// A daemon, with the agent and session of its calls. Nothing is sent yet.
    ///
    /// # Errors
    /// When the client cannot be set up, for example because of an unreadable certificate.
    pub fn new(
        settings: &ClientSettings,
        agent: impl Into<String>,
        session: impl Into<String>,
    ) -> Result<Self, ClientError> {
        let client = Client::new(settings, CONNECT)?;
        Ok(Self { client, agent: agent.into(), session: session.into() })
    }

    /// A handler that asks through this daemon.
    #[must_use]
    pub fn handler(self) -> ApprovalHandler {
        Arc::new(move |request| {
            let daemon = self.clone();
            Box::pin(async move { daemon.ask(request).await })
        })
    }

    /// Asks and waits for the answer, also across restarts of the daemon.
    // FAIL-CLOSED: every error is a denial that states the error.
    pub async fn ask(&self, request: ApprovalRequest) -> ApprovalResponse {
        let decided = self.client.submit_and_wait(&self.call(request)).await;
        decided.map_or_else(
            |error| ApprovalResponse::Denied(format!("Nobody could be asked: {error}.")),
            response,
        )
    }

    fn call(&self, request: ApprovalRequest) -> Call {
        let expires_in_s = request.seconds_left(Utc::now());
        Call {
            key: Some(ids::nonce()),
            // The embedder has checked the call against its own gate already, and the daemon's
            // policy must not allow it without a person.
            overrides: Some(true.into()),
            expires_in_s,
            ..Call::new(&self.agent, &self.session, request.tool_name, request.arguments)
        }
    }
}

fn response(decided: Decided) -> ApprovalResponse {
    match (decided.decision, &decided.ending) {
        (Decision::Approve, _) => ApprovalResponse::Approved,
        (Decision::Deny, Ending::Expired) => ApprovalResponse::TimedOut,
        (Decision::Deny, Ending::Answered(answer)) if matches!(answer.by, By::Timeout) => {
            ApprovalResponse::TimedOut
        }
        // The answer to a question lets nothing run.
        (Decision::Answer, _) => {
            ApprovalResponse::Denied("A question was answered; nothing was approved.".to_owned())
        }
        (Decision::Edit, _) => ApprovalResponse::Denied("The call was changed.".to_owned()),
        (Decision::Deny, _) => ApprovalResponse::Denied(decided.reason),
    }
}
