//! The identity provider that people sign in to the inbox through.

use crate::config::{ClaimSetting, OidcSettings, PublicUrl};
use countersign_inbox::{OidcClaim, OidcConfig};

/// What the inbox needs of it: the provider sends browsers back to the page for signing in.
pub(super) fn provider((oidc, public): (&OidcSettings, &PublicUrl)) -> OidcConfig {
    OidcConfig {
        issuer: oidc.issuer.clone(),
        client_id: oidc.client_id.clone(),
        client_secret: oidc.client_secret.as_ref().map(|secret| secret.reveal().to_owned()),
        redirect_uri: format!("{}/sign-in", public.origin),
        claim: match oidc.claim {
            ClaimSetting::Subject => OidcClaim::Subject,
            ClaimSetting::VerifiedEmail => OidcClaim::VerifiedEmail,
        },
        group: oidc.group.clone(),
        scopes: oidc.scopes.clone(),
        session: oidc.session,
        ca_file: oidc.ca_file.clone(),
    }
}

/// Asks the provider what every sign-in needs of it; returns how many keys it signs with. Nothing
/// of the client is sent.
///
/// # Errors
/// A sentence that says what is wrong.
pub async fn try_provider(oidc: &OidcSettings, public: &PublicUrl) -> Result<usize, String> {
    countersign_inbox::try_provider(provider((oidc, public))).await
}
