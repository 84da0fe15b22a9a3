//! Files that hold keys, tokens and passwords.

use std::borrow::Cow;

use super::clean::clean;
use super::directories::Directories;

/// Returns true for files with keys, tokens, passwords or histories.
#[must_use]
pub fn secret(path: &str, dirs: Directories<'_>) -> bool {
    let path = clean(path, dirs);
    let name = path.rsplit('/').next().unwrap_or(&path);
    let lower: Cow<'_, str> = match name.bytes().any(|b| b.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    };
    // Public keys and templates carry the same names but no secret.
    if lower.ends_with(".pub")
        || lower.ends_with(".example")
        || lower.ends_with(".sample")
        || lower.ends_with(".template")
        || lower.ends_with(".dist")
    {
        return false;
    }
    let key = lower.starts_with("id_rsa")
        || lower.starts_with("id_ed25519")
        || lower.starts_with("id_ecdsa")
        || lower.starts_with("id_dsa");
    let env = lower == ".env" || lower.starts_with(".env.") || lower.ends_with(".env");
    let kept = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ovpn", ".asc"]
        .iter()
        .any(|end| lower.ends_with(end));
    let named = names_a_secret(lower.as_bytes()) || lower.ends_with("_history");
    let known = matches!(
        name,
        ".netrc"
            | "_netrc"
            | ".pgpass"
            | ".git-credentials"
            | ".npmrc"
            | ".pypirc"
            | ".htpasswd"
            | ".my.cnf"
            | ".dockercfg"
            | "shadow"
            | "gshadow"
            | "sudoers"
            | "master.key"
            | ".token"
            | ".vault-token"
    );
    let kube = path.ends_with(".kube/config")
        || path.ends_with(".docker/config.json")
        || path.ends_with("gh/hosts.yml");
    let directory = || {
        path.split('/').any(|part| match part {
            ".gnupg" | ".aws" | ".azure" | "gcloud" => true,
            // These list hosts and hold no key.
            ".ssh" => !matches!(name, "config" | "known_hosts"),
            _ => false,
        })
    };
    key || env || kept || named || known || kube || directory()
}

/// Returns true when the name contains a word for a secret; one pass looks for all words.
fn names_a_secret(name: &[u8]) -> bool {
    let words: [&[u8]; 4] = [b"credential", b"secret", b"password", b"token"];
    name.iter().enumerate().any(|(at, first)| {
        matches!(first, b'c' | b's' | b'p' | b't')
            && name.get(at..).is_some_and(|rest| {
                words.iter().any(|word| {
                    // `token` alone is common in source code (`tokenizer.rs`); it counts in dot
                    // files only.
                    rest.starts_with(word) && (*first != b't' || name.starts_with(b"."))
                })
            })
    })
}
