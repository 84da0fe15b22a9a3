//! Sends the rows of the log to a file, a syslog receiver and a web address.
//!
//! Rows are read from the store once they are signed, so nothing here can delay a call: a
//! destination that is down gets them later. Each row is sent at least once, in order; a daemon that
//! is told to stop repeats nothing in a file.

use crate::config::{LogSettings, LogWebhook, SyslogAddress};
use countersign_domain::log::{LogLine, LogRow};
use countersign_store::{LogPage, Store, StoreError};
use countersign_tokens::{clock, sha256_hex};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::{
    fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf, time::Duration,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpStream, UdpSocket, UnixDatagram},
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// How often it is looked for new rows.
const LOOK: Duration = Duration::from_secs(1);
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(60);
/// How often a destination is noted to be wanted.
const WANTED: Duration = Duration::from_secs(3_600);
/// How long this daemon sends for all that share the store, unless it says again that it does.
const LEASE: Duration = Duration::from_secs(150);
/// How long a request, or a connection with a page of rows, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest message to a syslog receiver, in bytes: more may not fit into a datagram.
const LARGEST: usize = 8_000;

/// A place that takes the rows of the log.
enum LogDestination {
    File(PathBuf),
    Syslog(SyslogAddress),
    Webhook(LogWebhook),
}

/// Sends the log to what the config names, until told to stop.
pub(super) async fn deliver(
    settings: LogSettings,
    store: Store,
    daemon: String,
    stop: CancellationToken,
) {
    let LogSettings { file, syslog, webhook } = settings;
    let destinations = [
        file.map(LogDestination::File),
        syslog.map(LogDestination::Syslog),
        webhook.map(LogDestination::Webhook),
    ];
    let mut tasks = JoinSet::new();
    for destination in destinations.into_iter().flatten() {
        let store = store.clone();
        let daemon = daemon.clone();
        let stop = stop.clone();
        let delivery = LogDelivery { destination, store, daemon, stop };
        tasks.spawn(async move { delivery.keep().await });
    }
    while tasks.join_next().await.is_some() {}
}

/// One destination and what it needs.
struct LogDelivery {
    destination: LogDestination,
    store: Store,
    daemon: String,
    stop: CancellationToken,
}

impl LogDelivery {
    /// Sends new rows until told to stop.
    async fn keep(&self) {
        let name = self.destination.name();
        let mut pause = LOOK;
        // Before anything is sent: what a slow destination has not taken is kept meanwhile.
        let mut wanted = self.store.note_log_tried(&name, None).await.ok().map(|()| Instant::now());
        while !self.stop.is_cancelled() {
            let failed = self.send_all(&name).await.err();
            pause = if failed.is_some() { (pause * 2).min(LONGEST) } else { LOOK };
            // What it has not taken is kept, as long as it is wanted.
            if failed.is_some() || wanted.is_none_or(|since| since.elapsed() > WANTED) {
                match self.store.note_log_tried(&name, failed.as_deref()).await {
                    Ok(()) => wanted = Some(Instant::now()),
                    Err(error) => tracing::debug!(%error, "that is noted later"),
                }
            }
            // Once it is noted: whoever hears this finds it in the store.
            if let Some(why) = failed {
                tracing::warn!(destination = name, why, "the log is sent there later");
            }
            self.stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }

    /// Sends what is new, if no other daemon does.
    async fn send_all(&self, name: &str) -> Result<(), String> {
        let failed = |error: StoreError| error.to_string();
        // A read first: a lease costs two commits, and mostly there is nothing new.
        if self.unsent(name).await?.is_none() {
            return Ok(());
        }
        let lease = format!("log/{name}");
        let Some(fence) =
            self.store.take_lease(&lease, &self.daemon, LEASE).await.map_err(failed)?
        else {
            return Ok(());
        };
        let sent = self.send_pages(name).await;
        self.store.release_lease(&fence).await.map_err(failed)?;
        sent
    }

    // INVARIANT: rows count as sent only once the destination has taken them.
    async fn send_pages(&self, name: &str) -> Result<(), String> {
        while !self.stop.is_cancelled()
            && let Some(page) = self.unsent(name).await?
        {
            let rows = page.lines.iter().filter_map(|line| match line {
                LogLine::Row(row, _) => Some(row.seq),
                LogLine::Checkpoint(_) => None,
            });
            let Some(last) = rows.max() else { return Ok(()) };
            let lines = &page.lines;
            let taken = match &self.destination {
                // Short, and never given up in the middle: what the file has is noted.
                LogDestination::File(path) => Some(append(path.clone(), lines).await),
                LogDestination::Syslog(address) => {
                    self.stop.run_until_cancelled(send_to_syslog(address, lines)).await
                }
                LogDestination::Webhook(webhook) => {
                    self.stop.run_until_cancelled(post(webhook, lines)).await
                }
            };
            let Some(taken) = taken else { return Ok(()) };
            taken?;
            let noted = self.store.note_log_sent(name, last).await;
            noted.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The next rows that are signed and not sent.
    async fn unsent(&self, name: &str) -> Result<Option<LogPage>, String> {
        let page = async { self.store.log_page(self.store.log_sent(name).await?, None).await };
        let page = page.await.map_err(|error: StoreError| error.to_string())?;
        Ok(page.filter(|page| !page.lines.is_empty()))
    }
}

impl LogDestination {
    /// The name under which it is remembered what it has taken; no secret is in it.
    fn name(&self) -> String {
        match self {
            Self::File(path) => format!("file {}", path.display()),
            Self::Syslog(SyslogAddress::Udp(host)) => format!("syslog udp {host}"),
            Self::Syslog(SyslogAddress::Tcp(host)) => format!("syslog tcp {host}"),
            Self::Syslog(SyslogAddress::Unix(path)) => format!("syslog {}", path.display()),
            // SECURITY: the address may contain a token in its path or query.
            Self::Webhook(webhook) => {
                let host = reqwest::Url::parse(&webhook.url).ok();
                let host = host.and_then(|url| url.host_str().map(str::to_owned));
                let digest = sha256_hex(webhook.url.as_bytes());
                let digest: String = digest.chars().take(8).collect();
                format!("webhook {} {digest}", host.unwrap_or_default())
            }
        }
    }
}

/// Appends these lines; they are on the disk afterwards.
async fn append(file: PathBuf, lines: &[LogLine]) -> Result<(), String> {
    let text: String = lines.iter().map(|line| format!("{}\n", line.line())).collect();
    let append = move || {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(file)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    let appended = tokio::task::spawn_blocking(append).await;
    appended.map_err(|error| error.to_string())?.map_err(|error: std::io::Error| error.to_string())
}

/// Sends these rows to a syslog receiver (RFC 5424).
async fn send_to_syslog(address: &SyslogAddress, lines: &[LogLine]) -> Result<(), String> {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let messages = lines.iter().filter_map(|line| match line {
        LogLine::Row(row, hash) => Some(message(&host, row, hash)),
        LogLine::Checkpoint(_) => None,
    });
    let messages: Vec<String> = messages.collect();
    let sent = timeout(PATIENCE, send_messages(address, &messages)).await;
    sent.map_err(|_| "it takes too long".to_owned())?.map_err(|error| error.to_string())
}

async fn send_messages(address: &SyslogAddress, messages: &[String]) -> std::io::Result<()> {
    match address {
        SyslogAddress::Udp(host) => {
            let socket = match tokio::net::lookup_host(host).await?.next() {
                Some(to) if to.is_ipv6() => UdpSocket::bind("[::]:0").await?,
                _ => UdpSocket::bind("0.0.0.0:0").await?,
            };
            socket.connect(host).await?;
            for message in messages {
                socket.send(message.as_bytes()).await?;
            }
        }
        SyslogAddress::Unix(path) => {
            let socket = UnixDatagram::unbound()?;
            socket.connect(path)?;
            for message in messages {
                socket.send(message.as_bytes()).await?;
            }
        }
        SyslogAddress::Tcp(host) => {
            let mut stream = TcpStream::connect(host).await?;
            for message in messages {
                // Octet counting (RFC 6587).
                let framed = format!("{} {message}", message.len());
                stream.write_all(framed.as_bytes()).await?;
            }
            stream.shutdown().await?;
        }
    }
    Ok(())
}

/// A row as a message of the facility "log audit".
fn message(host: &str, row: &LogRow, hash: &str) -> String {
    let LogRow { seq, at, kind, ask, data } = row;
    // A warning for what was refused, information for the rest.
    let warns = matches!(kind.as_str(), "ruled" | "refused" | "log_broken" | "log_key");
    let severity = if warns { 4 } else { 6 };
    let priority = 13 * 8 + severity;
    let at = clock::rfc3339(*at);
    let ask = ask.as_deref().unwrap_or("-");
    let plain = |text: &str| -> String {
        let graphic = text.chars().filter(char::is_ascii_graphic).take(200).collect::<String>();
        if graphic.is_empty() { "-".to_owned() } else { graphic }
    };
    let host = plain(host);
    let kind = plain(kind);
    let mut message = format!(
        "<{priority}>1 {at} {host} countersign {} {kind} [countersign@32473 seq=\"{seq}\" \
         ask=\"{ask}\" hash=\"{hash}\"] ",
        std::process::id()
    );
    let room = LARGEST.saturating_sub(message.len());
    message.push_str(data.get(..data.floor_char_boundary(room)).unwrap_or_default());
    if data.len() > room {
        message.push('…');
    }
    message
}

/// Posts these lines, signed with HMAC-SHA256. An answer other than 2xx is an error.
async fn post(webhook: &LogWebhook, lines: &[LogLine]) -> Result<(), String> {
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
    if status.is_success() { Ok(()) } else { Err(format!("it answers {status}")) }
}

/// HMAC-SHA256 of the time, a dot and the body, in hex. The time is signed, so that a receiver can
/// refuse a request that somebody repeats later.
fn signature(webhook: &LogWebhook, timestamp: &str, body: &str) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(webhook.secret.reveal().as_bytes()).ok()?;
    mac.update(format!("{timestamp}.").as_bytes());
    mac.update(body.as_bytes());
    Some(hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_tokens::secret::Secret;

    fn row(kind: &str, data: &str) -> LogRow {
        let ask = Some("k3f9".to_owned());
        LogRow { seq: 7, at: 1_766_743_200_123, kind: kind.to_owned(), ask, data: data.to_owned() }
    }

    #[test]
    fn a_row_is_a_message_of_rfc_5424() {
        let pid = std::process::id();
        let wanted = format!(
            "<110>1 {} mill countersign {pid} answered [countersign@32473 seq=\"7\" \
             ask=\"k3f9\" hash=\"ab\"] {{\"a\":1}}",
            clock::rfc3339(1_766_743_200_123)
        );
        assert_eq!(message("mill", &row("answered", "{\"a\":1}"), "ab"), wanted);
        assert!(message("a b\n", &row("ruled", ""), "").starts_with("<108>1 "));
        assert!(message("a b\n", &row("ruled", ""), "").contains(" ab countersign "));
    }

    #[test]
    fn a_long_row_is_cut_and_its_hash_is_not() {
        let long = message("mill", &row("ruled", &"ü".repeat(9_000)), &"0".repeat(64));
        assert!(long.len() <= LARGEST + 3 && long.ends_with('…'), "{}", long.len());
        assert!(long.contains(&"0".repeat(64)));
    }

    #[test]
    fn the_signature_is_that_of_other_implementations() {
        // printf '1.{}' | openssl dgst -sha256 -hmac key
        let webhook = LogWebhook { url: String::new(), secret: Secret::new("key") };
        let signed = signature(&webhook, "1", "{}").unwrap();
        assert_eq!(signed, "1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224");
        assert_ne!(signature(&webhook, "2", "{}").unwrap(), signed);
    }
}
