//! The guardrail's result.

/// The guardrail's result for a call that it does not let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardrailHit {
    /// The call may reach something of the bridge's own: a person is asked, whatever allows it.
    Asks(String),
    /// The call reaches it.
    Denied(String),
}
