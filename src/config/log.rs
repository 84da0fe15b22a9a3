//! `[log]`: where the rows of the log are sent beside the store.

use super::section::{ConfigNode, Section, secret, text};
use super::values::path;
use countersign_tokens::secret::Secret;
use std::path::PathBuf;

/// Where the rows of the log are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// A file that they are appended to.
    pub file: Option<PathBuf>,
    /// A syslog receiver (RFC 5424).
    pub syslog: Option<SyslogAddress>,
    /// A web address that they are posted to.
    pub webhook: Option<LogWebhook>,
}

/// The address of a syslog receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyslogAddress {
    /// A host and port over UDP.
    Udp(String),
    /// A host and port over TCP.
    Tcp(String),
    /// A datagram socket on this machine, such as `/dev/log`.
    Unix(PathBuf),
}

/// A web address that rows are posted to, and the secret that signs each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogWebhook {
    /// The address.
    pub url: String,
    /// The secret.
    pub secret: Secret,
}

/// Reads the section; `resolve` makes a path absolute.
pub(super) fn read(mut section: Section<'_>, resolve: impl Fn(&str) -> PathBuf) -> LogSettings {
    let file = section.get("file", |node| path(node, resolve));
    let syslog = section.get("syslog", syslog);
    let key = section.get("webhook_secret", secret);
    let url = section.get("webhook", webhook);
    let webhook = match (url, key) {
        (Some(url), Some(secret)) => Some(LogWebhook { url, secret }),
        // Without a signature its receiver could be told anything by anybody.
        (Some(_), None) => {
            section.problem(
                "`webhook` needs `webhook_secret` too: a text that its receiver knows, which signs \
                 every request",
            );
            None
        }
        (None, _) => None,
    };
    section.finish();
    LogSettings { file, syslog, webhook }
}

fn syslog(node: &ConfigNode) -> Result<SyslogAddress, String> {
    const WANTED: &str = "must be \"udp://HOST:PORT\", \"tcp://HOST:PORT\" or \"unix:/dev/log\"";
    let text = text(node)?;
    let host = |rest: &str| {
        let port = rest.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        port.map(|_| rest.to_owned()).ok_or(WANTED.to_owned())
    };
    match text.split_once(':') {
        Some(("unix", path)) if path.starts_with('/') => Ok(SyslogAddress::Unix(path.into())),
        Some(("udp", rest)) if rest.starts_with("//") => {
            host(rest.trim_start_matches('/')).map(SyslogAddress::Udp)
        }
        Some(("tcp", rest)) if rest.starts_with("//") => {
            host(rest.trim_start_matches('/')).map(SyslogAddress::Tcp)
        }
        _ => Err(WANTED.to_owned()),
    }
}

fn webhook(node: &ConfigNode) -> Result<String, String> {
    let text = text(node)?;
    match reqwest::Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(text),
        _ => Err("must be a web address such as \"https://logs.example/countersign\"".to_owned()),
    }
}
