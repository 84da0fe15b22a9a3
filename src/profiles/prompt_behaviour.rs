//! How a system treats an ask and its answers.

use serde::{Deserialize, Serialize};

/// How a system treats an ask and its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptBehaviour {
    /// What people are offered beside Approve and Deny, in the order of the buttons.
    pub choices: &'static [PromptChoice],
    /// What a plain Deny does beside denying.
    pub deny: OnDeny,
    /// How long what Always remembers lasts.
    pub always: GrantLifetime,
    /// How long a person has where nothing is configured.
    pub timeout: DefaultTimeout,
    /// Whether a new grant resolves the session's other open asks.
    pub cascade: bool,
    /// What becomes of the open asks of an agent or worker whose connection ends.
    pub on_disconnect: OnDisconnect,
}

/// An answer that a card may offer beside Approve and Deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptChoice {
    /// Approve, and remember for the session what `Decision::always` names.
    Session,
    /// Approve, and remember it for ten minutes or for a day.
    Timed,
    /// Approve, and remember for [`PromptBehaviour::always`] what `Decision::always` names.
    Always,
    /// Approve, and remember what `Decision::prefix` names.
    Prefix,
    /// Approve, and remember what `Decision::exact` names.
    Exact,
    /// Deny this call only; the agent goes on.
    Skip,
    /// Deny, and end the agent's turn and the rest of the batch.
    DenyAndStop,
    /// Deny, and have the agent explain itself in plain words instead of trying again.
    DenyAndExplain,
}

/// What a denial does beside denying.
///
/// On the wire two flags, `stop` and `explain`, of which none or one is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Flags", into = "Flags")]
pub enum OnDeny {
    /// The agent goes on with something else.
    #[default]
    GoOn,
    /// The agent's turn ends; the rest of the batch is denied too.
    Stop,
    /// The agent explains itself and does not try again.
    Explain,
}

/// How long something remembered lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantLifetime {
    /// Until the session ends.
    Session,
    /// Until it is revoked.
    Durable,
}

/// How long a person has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultTimeout {
    /// For ever.
    Wait,
    /// So many seconds; then it is denied.
    Deny(u32),
    /// So many seconds; then it is approved, for the tools that the operator has named.
    Approve(u32),
}

/// What becomes of open asks when whoever asked goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisconnect {
    /// They are denied.
    Deny,
    /// They are cancelled.
    Cancel,
    /// They wait for it to come back.
    Keep,
}

/// [`OnDeny`] as the wire has it.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Flags {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stop: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    explain: bool,
}

impl From<OnDeny> for Flags {
    fn from(then: OnDeny) -> Self {
        Self { stop: then == OnDeny::Stop, explain: then == OnDeny::Explain }
    }
}

impl TryFrom<Flags> for OnDeny {
    type Error = &'static str;

    fn try_from(flags: Flags) -> Result<Self, Self::Error> {
        match (flags.stop, flags.explain) {
            (false, false) => Ok(Self::GoOn),
            (true, false) => Ok(Self::Stop),
            (false, true) => Ok(Self::Explain),
            (true, true) => Err("`stop` and `explain` exclude each other"),
        }
    }
}
