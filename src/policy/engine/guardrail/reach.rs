//! What the guardrail says.

/// What the guardrail says of a call that it does not let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It may come to something of the bridge's own: a person is asked, whatever allows it.
    Asks(String),
    /// It does.
    Denied(String),
}
