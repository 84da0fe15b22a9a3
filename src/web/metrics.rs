//! What is measured: for Prometheus (`GET /metrics`), and for collectors of OpenTelemetry.

use super::{error::ApiError, state::Api};
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use countersign_port::{NamedAdapter, Receiving};
use countersign_store::{LateCards, SHOWN_WITHIN_MS, Store, StoreError};
use countersign_tokens::clock;
use std::{collections::BTreeMap, fmt::Write, sync::Arc};
use tokio::sync::watch;

/// Something that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name for Prometheus.
    pub name: &'static str,
    /// Its name in OpenTelemetry.
    pub otel_name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Its unit in OpenTelemetry.
    pub unit: &'static str,
    /// Whether it only grows.
    pub kind: MetricKind,
    /// What its values are told apart by.
    pub label: Option<&'static str>,
}

/// How a metric changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Up and down.
    Gauge,
    /// Up.
    Counter,
}

/// A metric as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// Which.
    pub metric: Metric,
    /// Its values, each with that of the label.
    pub values: Vec<(String, i64)>,
}

/// Measures a daemon and its store.
#[derive(Clone)]
pub struct Meter {
    /// The store.
    pub store: Store,
    /// The adapters.
    pub adapters: watch::Receiver<Arc<[NamedAdapter]>>,
    /// The leases of the adapters' accounts, by adapter.
    pub leases: watch::Receiver<BTreeMap<&'static str, String>>,
    /// The daemon's name.
    pub daemon: String,
}

/// All metrics, in the order in which they are told.
const METRICS: [Metric; 11] = [
    Metric {
        name: "countersign_asks_open",
        otel_name: "countersign.asks.open",
        help: "Asks that wait for a person.",
        unit: "{ask}",
        kind: MetricKind::Gauge,
        label: None,
    },
    Metric {
        name: "countersign_paused",
        otel_name: "countersign.paused",
        help: "Whether everything is paused.",
        unit: "1",
        kind: MetricKind::Gauge,
        label: None,
    },
    Metric {
        name: "countersign_events_total",
        otel_name: "countersign.events",
        help: "What happened, by kind.",
        unit: "{event}",
        kind: MetricKind::Counter,
        label: Some("kind"),
    },
    Metric {
        name: "countersign_adapter_up",
        otel_name: "countersign.adapter.up",
        help: "Whether the adapter receives presses.",
        unit: "1",
        kind: MetricKind::Gauge,
        label: Some(ADAPTER),
    },
    Metric {
        name: "countersign_cards_late",
        otel_name: "countersign.cards.late",
        help: "Open asks that wait to be shown for longer than they should.",
        unit: "{ask}",
        kind: MetricKind::Gauge,
        label: Some(ADAPTER),
    },
    Metric {
        name: "countersign_cards_late_seconds",
        otel_name: "countersign.cards.late.age",
        help: "How long the oldest of them has waited.",
        unit: "s",
        kind: MetricKind::Gauge,
        label: Some(ADAPTER),
    },
    Metric {
        name: "countersign_leading",
        otel_name: "countersign.leading",
        help: "Whether this daemon receives for the adapter's account.",
        unit: "1",
        kind: MetricKind::Gauge,
        label: Some(ADAPTER),
    },
    Metric {
        name: "countersign_log_broken",
        otel_name: "countersign.log.broken",
        help: "Whether somebody else wrote to the log, and no approver has accepted that.",
        unit: "1",
        kind: MetricKind::Gauge,
        label: None,
    },
    Metric {
        name: "countersign_log_undelivered",
        otel_name: "countersign.log.undelivered",
        help: "Rows of the log that a destination has not taken.",
        unit: "{row}",
        kind: MetricKind::Gauge,
        label: Some("destination"),
    },
    Metric {
        name: "countersign_log_lost",
        otel_name: "countersign.log.lost",
        help: "Rows of the log that were deleted before a destination took them.",
        unit: "{row}",
        kind: MetricKind::Gauge,
        label: Some("destination"),
    },
    Metric {
        name: "countersign_clock_ahead_seconds",
        otel_name: "countersign.clock.ahead",
        help: "How far this machine's clock is ahead of the database's.",
        unit: "s",
        kind: MetricKind::Gauge,
        label: None,
    },
];
const ADAPTER: &str = "adapter";

impl Meter {
    /// Every metric as it is now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn measure(&self) -> Result<Vec<Measured>, StoreError> {
        let one = |value: i64| vec![(String::new(), value)];
        let open = one(self.store.count_open().await?);
        let paused = one(i64::from(self.store.pause().await?.is_some()));
        let events = self.store.event_counts().await?;
        let now = clock::now_ms();
        let late = self.store.late_cards(now - SHOWN_WITHIN_MS).await.unwrap_or_default();
        let leaders = self.store.leaders().await.unwrap_or_default();
        let adapters = self.adapters.borrow().clone();
        let each = |value: &dyn Fn(&NamedAdapter) -> i64| -> Vec<(String, i64)> {
            adapters.iter().map(|adapter| (adapter.name.to_owned(), value(adapter))).collect()
        };
        let of = |adapter: &NamedAdapter| -> Vec<&LateCards> {
            late.iter().filter(|late| late.adapter == adapter.name).collect()
        };
        let cards = |it: &NamedAdapter| of(it).iter().map(|late| late.cards).sum::<u64>();
        let oldest = |it: &NamedAdapter| of(it).iter().map(|late| now - late.since).max();
        let leads = |lease: &String| {
            leaders.iter().any(|leader| leader.lease == *lease && leader.holder == self.daemon)
        };
        let destinations = self.store.log_destinations().await.unwrap_or_default();
        let leases = self.leases.borrow().clone();
        let leading = leases.iter();
        let leading =
            leading.map(|(adapter, lease)| ((*adapter).to_owned(), i64::from(leads(lease))));
        let values = [
            open,
            paused,
            events.into_iter().collect(),
            each(&|it| i64::from(it.signals().receiving() == Receiving::Listening)),
            each(&|it| i64::try_from(cards(it)).unwrap_or(i64::MAX)),
            each(&|it| oldest(it).unwrap_or_default() / 1000),
            leading.collect(),
            one(i64::from(self.store.log_broken().is_some())),
            destinations.iter().map(|it| (it.name.clone(), it.waiting)).collect(),
            destinations.iter().map(|it| (it.name.clone(), it.lost)).collect(),
            one(self.store.clock_ahead().await? / 1000),
        ];
        let all = METRICS.into_iter().zip(values);
        Ok(all.map(|(metric, values)| Measured { metric, values }).collect())
    }
}

/// Metrics in Prometheus' text format.
pub(super) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let meter = Meter {
        store: api.store.clone(),
        adapters: api.adapters.clone(),
        leases: api.leases.clone(),
        daemon: api.gate.daemon().to_owned(),
    };
    let text = prometheus(&meter.measure().await?);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

fn prometheus(all: &[Measured]) -> String {
    let mut text = String::new();
    for Measured { metric: Metric { name, help, kind, label, .. }, values } in all {
        let kind = match kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
        };
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (of, value) in values {
            let _ = match label {
                Some(label) => {
                    let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                    writeln!(text, "{name}{{{label}=\"{of}\"}} {value}")
                }
                None => writeln!(text, "{name} {value}"),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_told_with_its_help_its_type_and_a_line_for_each_value() {
        let [open, _, events, ..] = METRICS;
        let all = [
            Measured { metric: open, values: vec![(String::new(), 3)] },
            Measured { metric: events, values: vec![("asked".into(), 5), ("voted".into(), 1)] },
        ];
        assert_eq!(
            prometheus(&all),
            "# HELP countersign_asks_open Asks that wait for a person.\n\
             # TYPE countersign_asks_open gauge\n\
             countersign_asks_open 3\n\
             # HELP countersign_events_total What happened, by kind.\n\
             # TYPE countersign_events_total counter\n\
             countersign_events_total{kind=\"asked\"} 5\n\
             countersign_events_total{kind=\"voted\"} 1\n"
        );
    }
}
