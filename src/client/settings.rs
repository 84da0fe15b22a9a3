//! The addresses of the daemons, and the client's credentials.

use countersign_tokens::secret::Secret;
use std::{fmt, path::PathBuf};

/// The settings of the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientSettings {
    /// The daemons, tried in this order; any of them can serve a request. Never empty.
    pub url: Vec<Server>,
    /// The agent token, for a daemon over HTTP.
    pub token: Option<Secret>,
    /// Allows plain http to another machine; off unless the config sets it.
    pub insecure_http: bool,
    /// A PEM file with an additional certificate authority.
    pub ca_file: Option<PathBuf>,
}

/// The address of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Its unix socket, as the same user.
    Unix(PathBuf),
    /// HTTP or HTTPS.
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
