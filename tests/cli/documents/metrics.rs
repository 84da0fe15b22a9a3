//! The dashboard for Grafana, held to the metrics that the daemon has.

use std::{collections::BTreeSet, fs};

/// The names that begin with `countersign_` in a text, behind these words.
fn names(text: &str, before: &str) -> BTreeSet<String> {
    let begin = format!("{before}countersign_");
    let parts = text.split(&begin).skip(1);
    let name = |part: &str| -> String {
        part.chars().take_while(|char| char.is_ascii_lowercase() || *char == '_').collect()
    };
    parts.map(name).collect()
}

#[test]
fn the_dashboard_shows_every_metric_of_the_daemon_and_no_other() {
    let dashboard = fs::read_to_string("docs/grafana.json").unwrap();
    let read: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    assert_eq!(read["panels"].as_array().unwrap().len(), 10);
    let metrics = names(&fs::read_to_string("src/web/metrics.rs").unwrap(), "\"");
    assert!(metrics.len() > 5, "{metrics:?}");
    assert_eq!(names(&dashboard, ""), metrics);
}
