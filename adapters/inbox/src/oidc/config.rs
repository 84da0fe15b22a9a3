//! What the identity provider is and what is taken from its ID tokens.

use std::{path::PathBuf, time::Duration};

/// An identity provider that people sign in with.
#[derive(Clone)]
pub struct OidcConfig {
    /// Its issuer, exactly as its tokens name it.
    pub issuer: String,
    /// Under which it knows this inbox.
    pub client_id: String,
    /// The secret of that client; `None` for a public client.
    pub client_secret: Option<String>,
    /// Where it sends browsers back to, exactly as it is registered there.
    pub redirect_uri: String,
    /// What names a person.
    pub claim: OidcClaim,
    /// The group that people have to be in, by the claim `groups`.
    pub group: Option<String>,
    /// What is asked for besides `openid`, and `email` where that claim is used.
    pub scopes: Vec<String>,
    /// How long a sign-in lasts.
    pub session: Duration,
    /// PEM file with one more certificate authority for its address.
    pub ca_file: Option<PathBuf>,
}

/// The claim that names a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OidcClaim {
    /// The provider's own lasting id of the person.
    #[default]
    Subject,
    /// Their mail address, if the provider has verified it.
    VerifiedEmail,
}
