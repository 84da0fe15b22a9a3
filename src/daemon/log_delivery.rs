//! Sends the rows of the log to a file, a syslog receiver, a web address and a collector.
//!
//! Rows are read from the store once they are signed, so nothing here can delay a call: a
//! destination that is down gets them later. Each row is sent at least once, in order.

mod file;
mod otlp;
mod syslog;
mod webhook;

use crate::config::{LogSettings, LogWebhook, OtelSettings, SyslogAddress};
use countersign_domain::log::LogLine;
use countersign_store::{LogPage, Store, StoreError};
use countersign_web::Meter;
use std::{path::PathBuf, time::Duration};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

/// How often it is looked for new rows.
const LOOK: Duration = Duration::from_secs(1);
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(60);
/// How often a destination is noted to be wanted.
const WANTED: Duration = Duration::from_secs(3_600);
/// How long this daemon sends for all that share the store, unless it says again that it does.
const LEASE: Duration = Duration::from_secs(150);

/// A place that takes the rows of the log.
enum LogDestination {
    File(PathBuf),
    Syslog(SyslogAddress),
    Webhook(Box<LogWebhook>),
    Collector(OtelSettings),
}

/// Sends the log to what the config names, until told to stop.
pub(super) async fn deliver(
    (settings, otel): (LogSettings, Option<OtelSettings>),
    meter: Meter,
    stop: CancellationToken,
) {
    let Meter { store, daemon, .. } = meter.clone();
    let LogSettings { file, syslog, webhook } = settings;
    let destinations = [
        file.map(LogDestination::File),
        syslog.map(LogDestination::Syslog),
        webhook.map(|webhook| LogDestination::Webhook(Box::new(webhook))),
        otel.clone().map(LogDestination::Collector),
    ];
    let mut tasks = JoinSet::new();
    if let Some(otel) = otel {
        let metrics = otlp::keep_metrics(otel, meter);
        let stop = stop.clone();
        tasks.spawn(async move { stop.run_until_cancelled(metrics).await });
    }
    for destination in destinations.into_iter().flatten() {
        let delivery = LogDelivery { destination, store: store.clone(), daemon: daemon.clone() };
        let stop = stop.clone();
        tasks.spawn(async move { stop.run_until_cancelled(delivery.keep()).await });
    }
    while tasks.join_next().await.is_some() {}
}

/// Checks that a collector takes what it is sent.
///
/// # Errors
/// Why it does not.
pub async fn try_collector(settings: &OtelSettings) -> Result<(), String> {
    otlp::try_out(settings).await
}

/// One destination and what it needs.
struct LogDelivery {
    destination: LogDestination,
    store: Store,
    daemon: String,
}

impl LogDelivery {
    /// Sends new rows for as long as it is polled.
    async fn keep(&self) {
        let (name, mut pause) = (self.destination.name(), LOOK);
        // Before anything is sent: what a slow destination has not taken is kept meanwhile.
        let mut wanted = self.store.note_log_tried(&name, None).await.ok().map(|()| Instant::now());
        loop {
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
            tokio::time::sleep(pause).await;
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
        let sent = self.store.log_sent(name).await.map_err(|error| error.to_string())?;
        while let Some(page) = self.unsent(name).await? {
            let rows = page.lines.iter().filter_map(|line| match line {
                LogLine::Row(row, _) => Some(row.seq),
                LogLine::Checkpoint(_) => None,
            });
            let Some(last) = rows.max() else { return Ok(()) };
            match &self.destination {
                LogDestination::File(path) => file::append(path.clone(), &page.lines).await?,
                LogDestination::Syslog(address) => syslog::send(address, &page.lines).await?,
                LogDestination::Webhook(webhook) => webhook::post(webhook, &page.lines).await?,
                LogDestination::Collector(otel) => {
                    // What was there before the collector was is not missed.
                    let first = sent <= page.header.forgotten;
                    otlp::send(otel, &self.store, &self.daemon, &page.lines, first).await?;
                }
            }
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
            // An address may contain a token in its path or query.
            Self::Webhook(webhook) => named("webhook", &webhook.url),
            Self::Collector(otel) => named("collector", &otel.endpoint),
        }
    }
}

/// The name of a web address: its host, and enough of a digest.
fn named(kind: &str, url: &str) -> String {
    let host = reqwest::Url::parse(url).ok();
    let host = host.and_then(|url| url.host_str().map(str::to_owned));
    let digest: String =
        countersign_tokens::digest::sha256_hex(url.as_bytes()).chars().take(8).collect();
    format!("{kind} {} {digest}", host.unwrap_or_default())
}
