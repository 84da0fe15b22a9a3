//! Posts rows of the log to a web address, signed with HMAC-SHA256.

use crate::config::LogWebhook;
use countersign_domain::log::LogLine;
use countersign_tokens::clock;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::{fmt::Write, time::Duration};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Posts these lines; an answer other than 2xx is an error.
pub(super) async fn post(webhook: &LogWebhook, lines: &[LogLine]) -> Result<(), String> {
    let body: String = lines.iter().map(|line| format!("{}\n", line.line())).collect();
    let timestamp = (clock::now_ms() / 1_000).to_string();
    let signature = signature(webhook, &timestamp, &body).ok_or("the secret cannot be used")?;
    // The error of `reqwest` contains the address, which may contain a token.
    let said = |error: reqwest::Error| error.without_url().to_string();
    // SECURITY: no redirect is followed: it would send the log to somebody else.
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(said)?;
    let request = client
        .post(&webhook.url)
        .header("content-type", "application/jsonl")
        .header("x-countersign-timestamp", timestamp)
        .header("x-countersign-signature", format!("sha256={signature}"))
        .body(body);
    let status = request.send().await.map_err(said)?.status();
    match status.is_success() {
        true => Ok(()),
        false => Err(format!("it answers {status}")),
    }
}

/// HMAC-SHA256 of the time, a dot and the body, in hex. The time is signed, so that a receiver can
/// refuse a request that somebody repeats later.
fn signature(webhook: &LogWebhook, timestamp: &str, body: &str) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(webhook.secret.reveal().as_bytes()).ok()?;
    mac.update(format!("{timestamp}.").as_bytes());
    mac.update(body.as_bytes());
    let bytes = mac.finalize().into_bytes();
    Some(bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_tokens::secret::Secret;

    #[test]
    fn the_signature_is_that_of_other_implementations() {
        // printf '1.{}' | openssl dgst -sha256 -hmac key
        let webhook = LogWebhook { url: String::new(), secret: Secret::new("key") };
        let signed = signature(&webhook, "1", "{}").unwrap();
        assert_eq!(signed, "1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224");
        assert_ne!(signature(&webhook, "2", "{}").unwrap(), signed);
    }
}
