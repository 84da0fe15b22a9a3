//! Where the daemons are, and what a client shows them.

use countersign_tokens::secret::Secret;
use std::{fmt, path::PathBuf};

/// What hook, ask and run talk to.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientSettings {
    /// Where the daemons are: any of them will do, and the first is tried first. Never empty.
    pub url: Vec<Server>,
    /// The agent token, for a daemon over HTTP.
    pub token: Option<Secret>,
    /// Plain http beyond this machine, asked for by name.
    pub insecure_http: bool,
    /// A PEM file with one more certificate authority to trust.
    pub ca_file: Option<PathBuf>,
}

/// Where a daemon is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Through its socket, as the same user.
    Unix(PathBuf),
    /// Over http or https.
    Http(reqwest::Url),
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Http(url) => f.write_str(url.as_str().trim_end_matches('/')),
        }
    }
}
