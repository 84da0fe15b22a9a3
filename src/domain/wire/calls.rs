//! Calls, what becomes of them, and what is run of them.

use crate::{
    call::Call,
    exact_json,
    parked::ParkedRun,
    wire::asks::{AnswerView, AskState, AskView},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// `POST /v1/calls`.

/// A call that an agent submits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SubmitRequest {
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// A random text of 16 to 200 characters, the same for every call of a session: what is granted
    /// to the session covers only calls with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_secret: Option<String>,
}

/// What comes back from a submitted call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReply {
    /// Only `allow` lets a call run.
    pub verdict: CallVerdict,
    /// Who decided and why, in one sentence; absent while the ask is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that decided, where nobody was asked and there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The ask's id, where a person is or was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// The ask's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AskState>,
    /// The answer of a closed ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
    /// The text for the agent's model, where its system has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether what was approved ahead is spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AheadQuery {
    /// The call runs now; without it, it is only looked.
    #[serde(default)]
    pub spend: bool,
}

/// How long a sandbox waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxQuery {
    /// How long a person has, in seconds; 55 where it is absent.
    #[serde(default)]
    pub wait: Option<u64>,
}

/// Whether a person approved a call ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AheadReply {
    /// Who approved it, in one sentence; absent where nobody did, which decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
}

impl SubmitRequest {
    /// Parses the body of a request. Unknown fields are ignored, so that an agent's side of a newer
    /// version can still ask.
    ///
    /// # Errors
    /// The mistake and its position.
    // The call is parsed on its own: with `flatten`, serde loses the position of a mistake.
    pub fn from_json(body: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct SessionSecretField {
            session_secret: Option<String>,
        }
        let call = exact_json::object_from_slice(body)?;
        let SessionSecretField { session_secret } = serde_json::from_slice(body)?;
        Ok(Self { call, session_secret })
    }
}

// What becomes of a call.

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[must_use]
pub enum CallVerdict {
    /// The call may run.
    Allow,
    /// It waits for a person.
    Ask,
    /// It may not run.
    Deny,
    /// The call may run with `answer.updated_input` in the place of its arguments, and only so.
    Edited,
    /// A question has its answers. Nothing may run because of that.
    Answered,
}

// `/v1/asks/{id}/token` and `/v1/executions`: execution bound to the answer.

/// A token for an approved call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenReply {
    /// The execution token: exactly this call may run, once.
    pub token: String,
    /// Until when it may start, RFC 3339.
    pub expires: String,
}

/// A report that the call of a token starts now, or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionRequest {
    /// The execution token.
    pub token: String,
    /// The exit code, where the call has ended; absent where it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

/// What was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionReply {
    /// The ask whose call it is.
    pub ask: String,
}

// `/v1/parked`: runs that wait without a process.

/// What became of a run that was to be parked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParkReply {
    /// Only then may its process end.
    pub parked: bool,
    /// Why it is not parked although its call still waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A parked run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedView {
    /// The call that runs next if it is approved, with what became of it so far.
    pub ask: AskView,
    /// Where it was; without the words that start it.
    pub run: ParkedRun,
    /// What the session has cost so far, in US dollars, where its agent told that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Since when, RFC 3339.
    pub since: String,
    /// Whether somebody is about to resume it.
    pub resuming: bool,
}

/// The parked runs, longest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedPage {
    /// They.
    pub parked: Vec<ParkedView>,
}

/// The right to resume a parked run, for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumeRunReply {
    /// Its number: what an earlier one still tries is refused.
    pub epoch: i64,
    /// What starts it.
    pub run: ParkedRun,
}

/// Who takes the answer of a parked call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeQuery {
    /// The number with which the run was resumed.
    pub epoch: i64,
}

/// A report that the process of a parked run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessEnded {
    /// The number with which it was resumed; 0 for the one that parked it.
    pub epoch: i64,
    /// Whether it put its call off, which so did not run, whatever it took.
    #[serde(default)]
    pub put_off: bool,
    /// What the session has cost so far, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
