//! Execution tokens: a person approved exactly this call, and it may run once, until then.

use crate::log::{
    fields,
    key::{PublicKey, SigningKey},
};
use countersign_tokens::sha256_hex;
use std::{fmt, str::FromStr};

/// What a token's text begins with: its form and version.
const FORM: &str = "cst1";

/// An execution token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionToken {
    /// The ask that was approved.
    pub ask: String,
    /// What may run, as [`ExecutionToken::digest_of`] gives it.
    pub digest: String,
    /// Until when, in Unix seconds.
    pub expires: i64,
    signature: String,
}

/// Why a token lets nothing run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefusedToken {
    /// The text is not a token.
    #[error("this is not a valid execution token")]
    Unreadable,
    /// Somebody else signed it, or it was changed.
    #[error("this token was not signed with the key of that daemon, or was changed")]
    Signature,
    /// It is for something else.
    #[error("this token is for another call: other words, or another folder")]
    OtherCall,
    /// Its time is over.
    #[error("this token has expired; ask again")]
    Expired,
    /// It has been used.
    #[error("this token was used before; each lets a call run once")]
    Used,
    /// Somebody undid the approval.
    #[error("the approval behind this token was undone; ask again")]
    Undone,
    /// The agent that asked may not ask any more.
    #[error("the agent that asked for this may not any more: {0}")]
    Agent(&'static str),
    /// Everything is paused.
    #[error("everything is paused: nothing starts until it is resumed")]
    Paused,
}

impl ExecutionToken {
    /// The digest of a call: its tool, its arguments and the folder that it runs in.
    #[must_use]
    pub fn digest_of(tool: &str, args: &serde_json::Value, cwd: Option<&str>) -> String {
        let args = args.to_string();
        sha256_hex(&fields(&["countersign call 1", tool, &args, cwd.unwrap_or_default()]))
    }

    /// Signs a token.
    #[must_use]
    pub fn sign(key: &SigningKey, ask: &str, digest: &str, expires: i64) -> Self {
        let signature = key.sign(&signed(ask, digest, expires));
        Self { ask: ask.to_owned(), digest: digest.to_owned(), expires, signature }
    }

    /// Checks that this key signed it, for this call, and that its time is not over. Whether it was
    /// used is for somebody who remembers.
    ///
    /// # Errors
    /// [`RefusedToken`]
    // FAIL-CLOSED: every check has to pass, and the signature is the first.
    pub fn check(&self, key: &PublicKey, digest: &str, now: i64) -> Result<(), RefusedToken> {
        let signed = signed(&self.ask, &self.digest, self.expires);
        if !key.verifies(&signed, &self.signature) {
            return Err(RefusedToken::Signature);
        }
        if self.digest != digest {
            return Err(RefusedToken::OtherCall);
        }
        if self.expires <= now {
            return Err(RefusedToken::Expired);
        }
        Ok(())
    }

    /// The name under which a used token is remembered.
    #[must_use]
    pub fn name(&self) -> String {
        sha256_hex(self.to_string().as_bytes())
    }
}

fn signed(ask: &str, digest: &str, expires: i64) -> Vec<u8> {
    fields(&["countersign execution 1", ask, digest, &expires.to_string()])
}

impl fmt::Display for ExecutionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ask, digest, expires, signature } = self;
        write!(f, "{FORM}.{ask}.{expires}.{digest}.{signature}")
    }
}

impl FromStr for ExecutionToken {
    type Err = RefusedToken;

    fn from_str(text: &str) -> Result<Self, RefusedToken> {
        let parts: Vec<&str> = text.trim().split('.').collect();
        let [FORM, ask, expires, digest, signature] = parts.as_slice() else {
            return Err(RefusedToken::Unreadable);
        };
        let token = Self {
            ask: (*ask).to_owned(),
            digest: (*digest).to_owned(),
            expires: expires.parse().map_err(|_| RefusedToken::Unreadable)?,
            signature: (*signature).to_owned(),
        };
        // Only one spelling, so that a used token has no other name.
        if token.to_string() == text.trim() { Ok(token) } else { Err(RefusedToken::Unreadable) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    fn key() -> SigningKey {
        SigningKey::read(&SigningKey::generate().unwrap()).unwrap()
    }

    fn digest(command: &str, cwd: &str) -> String {
        ExecutionToken::digest_of("shell_exec", &json!({ "command": command }), Some(cwd))
    }

    #[test]
    fn a_token_lets_its_call_run_until_its_time_is_over() {
        let key = key();
        let call = digest("make deploy", "/srv");
        let token = ExecutionToken::sign(&key, "k3f9wq2c", &call, 1_000);
        let read: ExecutionToken = token.to_string().parse().unwrap();
        assert_eq!(read, token);
        let public = key.public();
        assert_eq!(read.check(&public, &call, 999), Ok(()));
        assert_eq!(read.check(&public, &call, 1_000), Err(RefusedToken::Expired));
        for other in [digest("make deploy ", "/srv"), digest("make deploy", "/")] {
            assert_eq!(read.check(&public, &other, 0), Err(RefusedToken::OtherCall));
        }
        let other = self::key().public();
        assert_eq!(read.check(&other, &call, 0), Err(RefusedToken::Signature));
    }

    #[test]
    fn no_changed_byte_of_a_token_lets_anything_run() {
        let key = key();
        let call = digest("make deploy", "/srv");
        let text = ExecutionToken::sign(&key, "k3f9wq2c", &call, 1_000).to_string();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
                let Ok(changed) = String::from_utf8(bytes) else { continue };
                let checked = changed
                    .parse::<ExecutionToken>()
                    .and_then(|token| token.check(&key.public(), &call, 0));
                assert!(checked.is_err(), "{changed}");
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let call = r#"18:countersign call 1,10:shell_exec,16:{"command":"ls"},4:/srv,"#;
        assert_eq!(digest("ls", "/srv"), sha256_hex(call.as_bytes()));
        let signed = signed("k3f9wq2c", "ab", 7);
        assert_eq!(signed, b"23:countersign execution 1,8:k3f9wq2c,2:ab,1:7,");
    }
}
