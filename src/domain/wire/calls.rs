//! `POST /v1/calls`.

use crate::wire::{
    asks::{AnswerView, AskState},
    verdict::CallVerdict,
};
use crate::{call::Call, exact_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl SubmitRequest {
    /// Parses the body of a request. Unknown fields are ignored.
    ///
    /// # Errors
    /// The mistake and its position.
    // The call is parsed on its own: with `flatten`, serde loses the position of a mistake.
    pub fn from_json(body: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct SessionSecretField {
            session_secret: Option<String>,
        }
        let call = exact_json::from_slice(body)?;
        let SessionSecretField { session_secret } = serde_json::from_slice(body)?;
        Ok(Self { call, session_secret })
    }
}
