//! What is measured, for Prometheus and other collectors (`GET /metrics`).

use crate::{Api, request::Reply};
use axum::{http::header, response::IntoResponse};
use countersign_port::{NamedAdapter, Receiving};
use countersign_store::{LateCards, SHOWN_WITHIN_MS, StoreError};
use countersign_tokens::clock;
use std::fmt::Write;

/// Metrics in Prometheus' text format.
pub(super) async fn metrics(api: Api) -> Reply {
    let text = prometheus(&measure(&api).await?);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// A metric as it is now.
struct Metric {
    name: &'static str,
    help: &'static str,
    values: Values,
}

enum Values {
    One(i64),
    /// The name of a label, and a value for each of its values.
    By(&'static str, Vec<(String, i64)>),
}

/// Every metric as it is now, in the order in which they are told.
async fn measure(api: &Api) -> Result<[Metric; 11], StoreError> {
    let store = &api.store;
    let now = clock::now_ms();
    let late = store.late_cards(now - SHOWN_WITHIN_MS).await.unwrap_or_default();
    let leaders = store.leaders().await.unwrap_or_default();
    let destinations = store.log_destinations().await.unwrap_or_default();
    let adapters = api.adapters.borrow().clone();
    let by_adapter = |value: &dyn Fn(&NamedAdapter) -> i64| -> Vec<_> {
        adapters.iter().map(|adapter| (adapter.name.to_owned(), value(adapter))).collect()
    };
    let late_of = |adapter: &NamedAdapter| -> Vec<&LateCards> {
        late.iter().filter(|late| late.adapter == adapter.name).collect()
    };
    let cards = |it: &NamedAdapter| late_of(it).iter().map(|late| late.cards).sum::<u64>();
    let oldest = |it: &NamedAdapter| late_of(it).iter().map(|late| now - late.since).max();
    let leads = |lease: &String| {
        leaders.iter().any(|leader| leader.lease == *lease && leader.holder == api.gate.daemon())
    };
    let leases = api.leases.borrow().clone();
    let leading = leases.iter();
    let leading = leading.map(|(adapter, lease)| ((*adapter).to_owned(), i64::from(leads(lease))));
    Ok([
        metric("countersign_asks_open", "Asks that wait for a person.")
            .one(store.count_open().await?),
        metric("countersign_paused", "Whether everything is paused.")
            .one(i64::from(store.pause().await?.is_some())),
        metric("countersign_events_total", "What happened, by kind.")
            .by("kind", store.event_counts().await?.into_iter().collect()),
        metric("countersign_adapter_up", "Whether the adapter receives presses.").by(
            "adapter",
            by_adapter(&|it| i64::from(it.signals().receiving() == Receiving::Listening)),
        ),
        metric(
            "countersign_cards_late",
            "Open asks that wait to be shown for longer than they should.",
        )
        .by("adapter", by_adapter(&|it| i64::try_from(cards(it)).unwrap_or(i64::MAX))),
        metric("countersign_cards_late_seconds", "How long the oldest of them has waited.")
            .by("adapter", by_adapter(&|it| oldest(it).unwrap_or_default() / 1000)),
        metric("countersign_leading", "Whether this daemon receives for the adapter's account.")
            .by("adapter", leading.collect()),
        metric(
            "countersign_log_broken",
            "Whether somebody else wrote to the log, and no approver has accepted that.",
        )
        .one(i64::from(store.log_broken().is_some())),
        metric("countersign_log_undelivered", "Rows of the log that a destination has not taken.")
            .by(
                "destination",
                destinations.iter().map(|it| (it.name.clone(), it.waiting)).collect(),
            ),
        metric(
            "countersign_log_lost",
            "Rows of the log that were deleted before a destination took them.",
        )
        .by("destination", destinations.iter().map(|it| (it.name.clone(), it.lost)).collect()),
        metric(
            "countersign_clock_ahead_seconds",
            "How far this machine's clock is ahead of the database's.",
        )
        .one(store.clock_ahead().await? / 1000),
    ])
}

fn metric(name: &'static str, help: &'static str) -> Metric {
    Metric { name, help, values: Values::One(0) }
}

impl Metric {
    fn one(self, value: i64) -> Self {
        Self { values: Values::One(value), ..self }
    }

    fn by(self, label: &'static str, values: Vec<(String, i64)>) -> Self {
        Self { values: Values::By(label, values), ..self }
    }
}

fn prometheus(all: &[Metric]) -> String {
    let mut text = String::new();
    for Metric { name, help, values } in all {
        // Prometheus names what only grows `…_total`.
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        match values {
            Values::One(value) => {
                let _ = writeln!(text, "{name} {value}");
            }
            Values::By(label, values) => {
                for (of, value) in values {
                    let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                    let _ = writeln!(text, "{name}{{{label}=\"{of}\"}} {value}");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_told_with_its_help_its_type_and_a_line_for_each_value() {
        let kinds = vec![("asked".into(), 5), ("voted".into(), 1)];
        let all = [
            Metric {
                name: "countersign_asks_open",
                help: "Asks that wait for a person.",
                values: Values::One(3),
            },
            Metric {
                name: "countersign_events_total",
                help: "What happened, by kind.",
                values: Values::By("kind", kinds),
            },
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
