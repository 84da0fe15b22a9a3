//! The settings of an identity provider.

use countersign_tokens::secret::Secret;
use std::{path::PathBuf, time::Duration};

/// An identity provider (OpenID Connect).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// Its issuer, exactly as its tokens name it.
    pub issuer: String,
    /// Under which it knows the inbox.
    pub client_id: String,
    /// The secret of that client; `None` for a public one.
    pub client_secret: Option<Secret>,
    /// What names a person.
    pub claim: ClaimSetting,
    /// The group that people have to be in.
    pub group: Option<String>,
    /// What is asked for besides `openid` and `email`.
    pub scopes: Vec<String>,
    /// How long a sign-in lasts.
    pub session: Duration,
    /// PEM file with one more certificate authority for its address.
    pub ca_file: Option<PathBuf>,
}

/// The claim that names a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClaimSetting {
    /// The provider's own lasting id of the person.
    #[default]
    Subject,
    /// Their mail address, if the provider has verified it.
    VerifiedEmail,
}
