//! ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), checked before anything in them counts.
//! Pure; time is an argument.

use super::{
    config::{OidcClaim, OidcConfig},
    keys::{Algorithm, ProviderKeys},
};
use crate::session::same;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// How far the provider's clock may be from ours, in seconds.
const SKEW: f64 = 60.0;
/// The longest name of a person, in bytes; that of `sub` in the specification.
const LONGEST: usize = 255;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: TokenAudience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    email: Option<String>,
    email_verified: Option<serde_json::Value>,
    groups: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenAudience {
    One(String),
    Several(Vec<String>),
}

/// Why nobody is let in by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRefusal {
    /// It is not a token for this sign-in; for the log.
    Invalid(&'static str),
    /// It is, and the person cannot be let in by it; for them.
    Person(&'static str),
}

/// Who a token says that somebody is, by the configured claim.
// FAIL-CLOSED: every check has to succeed; a claim of another type or a missing one fails.
pub(super) fn person(
    config: &OidcConfig,
    keys: &ProviderKeys,
    token: &str,
    (nonce, now): (&str, i64),
) -> Result<String, TokenRefusal> {
    let claims = verified(keys, token).map_err(TokenRefusal::Invalid)?;
    claims.check(config, nonce, now).map_err(TokenRefusal::Invalid)?;
    claims.person(config).map_err(TokenRefusal::Person)
}

fn verified(keys: &ProviderKeys, token: &str) -> Result<Claims, &'static str> {
    let (signed, signature) = token.rsplit_once('.').ok_or("it is no token")?;
    let (header, claims) = signed.split_once('.').ok_or("it is no token")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "it is no token")?;
    let header: Header = part(header).ok_or("it has no header")?;
    // RFC 7515, section 4.1.11: what is critical and not understood makes it invalid.
    if header.rest.contains_key("crit") {
        return Err("it has a critical extension");
    }
    let algorithm = Algorithm::read(&header.alg).ok_or("its algorithm is not accepted")?;
    keys.verify((algorithm, header.kid.as_deref()), signed.as_bytes(), &signature)?;
    part(claims).ok_or("its claims are not whole")
}

fn part<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

impl Claims {
    #[allow(
        clippy::cast_precision_loss,
        reason = "times in seconds are exact for 285 million years"
    )]
    fn check(&self, config: &OidcConfig, nonce: &str, now: i64) -> Result<(), &'static str> {
        let now = now as f64;
        if self.iss != config.issuer {
            return Err("it is of another issuer");
        }
        let (ours, alone) = match &self.aud {
            TokenAudience::One(one) => (*one == config.client_id, true),
            TokenAudience::Several(all) => (all.contains(&config.client_id), all.len() == 1),
        };
        if !ours {
            return Err("it is for another client");
        }
        match self.azp.as_deref() {
            None if alone => {}
            Some(azp) if azp == config.client_id => {}
            _ => return Err("it was issued to another client"),
        }
        if now >= self.exp + SKEW {
            return Err("it has expired");
        }
        if self.iat > now + SKEW || self.nbf.is_some_and(|nbf| nbf > now + SKEW) {
            return Err("it is not valid yet");
        }
        match self.nonce.as_deref() {
            Some(given) if same(nonce, given) => Ok(()),
            _ => Err("it is of another sign-in (nonce)"),
        }
    }

    fn person(&self, config: &OidcConfig) -> Result<String, &'static str> {
        if let Some(wanted) = &config.group {
            let groups = self.groups.as_ref().and_then(|groups| groups.as_array());
            if !groups.is_some_and(|groups| groups.iter().any(|group| *group == **wanted)) {
                return Err("Your account is not in the group that may sign in here.");
            }
        }
        let name = match config.claim {
            OidcClaim::Subject => self.sub.clone(),
            OidcClaim::VerifiedEmail => {
                // SECURITY: anybody can write down an address; only a verified one is theirs.
                if self.email_verified != Some(serde_json::Value::Bool(true)) {
                    return Err(
                        "Your mail address is not verified there, so it names nobody here.",
                    );
                }
                self.email.as_deref().unwrap_or_default().to_ascii_lowercase()
            }
        };
        let fits = (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control);
        fits.then_some(name).ok_or("Your account there has no id that could be used here.")
    }
}

#[cfg(test)]
mod tests;
