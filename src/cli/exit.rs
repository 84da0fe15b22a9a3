//! The exit codes that scripts rely on.

use countersign_client::ClientError;
use std::process::ExitCode;

/// The result of a command, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Success; an ask was allowed.
    Good = 0,
    /// A fault.
    Fault = 1,
    /// The arguments are invalid; clap exits with the same code.
    Usage = 2,
    /// An ask was denied.
    Denied = 3,
    /// The token is missing or insufficient.
    Refused = 4,
    /// Nobody answered in time.
    Expired = 5,
    /// The log or the token does not prove what it should.
    Unproven = 6,
    /// The ask is still open.
    Pending = 8,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl Exit {
    /// The exit code for an error.
    // FAIL-CLOSED: no error exits with 0.
    pub(super) fn of(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Refused(_)) => Self::Refused,
            _ if error.is::<super::context::NoToken>() => Self::Refused,
            _ if error.is::<Misused>() => Self::Usage,
            _ => Self::Fault,
        }
    }
}

/// Invalid arguments that clap cannot detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misused(pub(super) String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_ends_like_a_success() {
        let refused = ClientError::Refused("no".into());
        let rejected = ClientError::Rejected("no".into());
        let cases = [
            (anyhow::Error::from(refused), Exit::Refused),
            (rejected.into(), Exit::Fault),
            (Misused("x".into()).into(), Exit::Usage),
            (anyhow::anyhow!("x"), Exit::Fault),
        ];
        for (error, exit) in cases {
            assert_eq!(Exit::of(&error), exit, "{error}");
        }
    }
}
