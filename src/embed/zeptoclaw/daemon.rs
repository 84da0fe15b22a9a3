//! A countersign daemon as the one who asks.

use super::{ApprovalHandler, ApprovalRequest, ApprovalResponse};
use chrono::Utc;
use countersign_ask::{By, Decision, call::Call};
use countersign_client::{Client, ClientError, ClientSettings, Decided, Ending, Submitted};
use countersign_tokens::ids;
use std::{sync::Arc, time::Duration};

/// How long a connection may take to stand.
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
    /// A daemon and who asks it. Nothing is sent yet.
    ///
    /// # Errors
    /// When the client cannot be set up, such as by an unreadable certificate.
    pub fn new(
        settings: &ClientSettings,
        agent: impl Into<String>,
        session: impl Into<String>,
    ) -> Result<Self, ClientError> {
        let client = Client::new(settings, CONNECT)?;
        Ok(Self { client, agent: agent.into(), session: session.into() })
    }

    /// The handler that asks here.
    #[must_use]
    pub fn handler(self) -> ApprovalHandler {
        Arc::new(move |request| {
            let daemon = self.clone();
            Box::pin(async move { daemon.ask(request).await })
        })
    }

    /// Asks, and waits for the answer, over restarts of the daemon.
    // FAIL-CLOSED: whatever goes wrong on the way is a denial that says so.
    pub async fn ask(&self, request: ApprovalRequest) -> ApprovalResponse {
        let call = self.call(request);
        let decided = match self.client.submit(&call).await {
            Ok(Submitted::Decided(decided)) => Ok(*decided),
            Ok(Submitted::Ask(id)) => self.client.decided(&call, &id).await,
            Err(error) => Err(error),
        };
        decided.map_or_else(
            |error| ApprovalResponse::Denied(format!("Nobody could be asked: {error}.")),
            response,
        )
    }

    fn call(&self, request: ApprovalRequest) -> Call {
        let expires_in_s = request.seconds_left(Utc::now());
        Call {
            key: Some(ids::nonce()),
            // Whoever asks has held the call against its own gate already; ours may not wave it
            // through.
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
        (Decision::Answer, _) => {
            ApprovalResponse::Denied("A question was answered; nothing was approved.".to_owned())
        }
        (Decision::Deny, _) => ApprovalResponse::Denied(decided.reason),
    }
}
