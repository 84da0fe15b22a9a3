//! The exit codes that scripts rely on.

use crate::client::ClientError;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// It did what it should; an ask was allowed.
    Good = 0,
    /// Something is broken.
    Fault = 1,
    /// The arguments make no sense; clap ends with the same.
    Usage = 2,
    /// An ask was denied.
    Denied = 3,
    /// No token, or one that is not good enough.
    Refused = 4,
    /// Nobody answered in time.
    Expired = 5,
    /// It still waits.
    Pending = 8,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl Exit {
    /// The code of an error.
    // FAIL-CLOSED: no error ends with 0.
    pub(super) fn of(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Refused(_)) => Self::Refused,
            _ if error.is::<super::token::NoToken>() => Self::Refused,
            _ if error.is::<Misused>() => Self::Usage,
            _ => Self::Fault,
        }
    }
}

/// Arguments that clap cannot tell to be wrong.
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
