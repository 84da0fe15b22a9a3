//! A system's treatment of asks and their answers.

use serde::{Deserialize, Serialize};

/// A system's treatment of asks and their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptBehaviour {
    /// The choices besides Approve and Deny, in the order of the buttons.
    pub choices: &'static [PromptChoice],
    /// The effect of a plain Deny besides denying.
    pub deny: OnDeny,
    /// The lifetime of what Always remembers.
    pub always: GrantLifetime,
    /// The time that a person has, unless configured.
    pub timeout: DefaultTimeout,
    /// True when a new grant resolves the session's other open asks.
    pub cascade: bool,
    /// The treatment of open asks when the connection of their agent or worker ends.
    pub on_disconnect: OnDisconnect,
}

/// An answer that a card may offer besides Approve and Deny.
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

/// The effect of a denial besides denying.
///
/// On the wire these are two flags, `stop` and `explain`, of which at most one is set.
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

/// The lifetime of a remembered approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantLifetime {
    /// Until the session ends.
    Session,
    /// Until it is revoked.
    Durable,
}

/// The time that a person has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultTimeout {
    /// No limit.
    Wait,
    /// This number of seconds; then the call is denied.
    Deny(u32),
    /// This number of seconds; then the call is approved, for the tools that the operator has
    /// named.
    Approve(u32),
}

/// The treatment of open asks when their caller disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisconnect {
    /// They are denied.
    Deny,
    /// They are cancelled.
    Cancel,
    /// They wait for the caller to come back.
    Keep,
}

/// [`OnDeny`] on the wire.
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
