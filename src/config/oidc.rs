//! `[oidc]`: the identity provider that people sign in to the inbox with.

use super::{
    section::{ConfigNode, Section, list, secret, text},
    values::{https, length, path},
};
use countersign_web::{OidcClaim, OidcSettings, PublicUrl};
use std::{path::PathBuf, time::Duration};

/// How long a sign-in lasts where the config does not say.
const SESSION: Duration = Duration::from_secs(12 * 60 * 60);

/// Reads the section, if it is written.
pub(super) fn read(
    mut section: Section<'_>,
    public: Option<&PublicUrl>,
    resolve: impl Fn(&str) -> PathBuf,
) -> Option<OidcSettings> {
    let issuer = section.need("issuer", "the address of your identity provider", |node| {
        // SECURITY: over plain http anybody on the way could sign in as anybody.
        https(node, "https://login.example.org")
    });
    let id = section.need("client_id", "your identity provider shows it", filled);
    let client_secret = section.get("client_secret", secret);
    let claim = section.get("claim", claim).unwrap_or_default();
    let group = section.get("group", filled);
    let scopes = section.get("scopes", |node| list(node)?.iter().map(scope).collect());
    let session = section.get("session", length).unwrap_or(SESSION);
    let ca_file = section.get("ca_file", |node| path(node, resolve));
    match public {
        None => section.problem(
            "needs `public_url` in [daemon]: the identity provider sends browsers back to it",
        ),
        // No page of the inbox lives under that name.
        Some(url) if url.host == "localhost" => {
            section.problem("needs a `public_url` in [daemon] with 127.0.0.1, not localhost");
        }
        Some(_) => {}
    }
    section.finish();
    let scopes = scopes.unwrap_or_default();
    let issuer = issuer?;
    let client_id = id?;
    Some(OidcSettings { issuer, client_id, client_secret, claim, group, scopes, session, ca_file })
}

fn claim(node: &ConfigNode) -> Result<OidcClaim, String> {
    match text(node)?.as_str() {
        "sub" => Ok(OidcClaim::Subject),
        "email" => Ok(OidcClaim::VerifiedEmail),
        // SECURITY: people choose other names themselves, and names change hands.
        _ => Err("must be \"sub\" or \"email\" (which counts where it is verified)".to_owned()),
    }
}

fn scope(node: &ConfigNode) -> Result<String, String> {
    let scope = text(node)?;
    let plain = !scope.is_empty() && scope.bytes().all(|b| b.is_ascii_graphic());
    plain.then_some(scope).ok_or_else(|| "must be scopes without spaces".to_owned())
}

fn filled(node: &ConfigNode) -> Result<String, String> {
    let text = text(node)?;
    if text.is_empty() { Err("is empty".to_owned()) } else { Ok(text) }
}

/// A person's id at the identity provider.
pub(super) fn id(node: &ConfigNode, claim: OidcClaim) -> Result<String, String> {
    let id = filled(node)?;
    match claim {
        OidcClaim::Subject => Ok(id),
        OidcClaim::VerifiedEmail if id.contains('@') => Ok(id.to_ascii_lowercase()),
        OidcClaim::VerifiedEmail => {
            Err("must be an email address, because [oidc] has claim = \"email\"".to_owned())
        }
    }
}
