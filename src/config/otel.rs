//! `[otel]`: the collector that gets traces and metrics.

use super::section::{ConfigNode, Section, text};
use std::path::PathBuf;

/// The collector that gets traces and metrics (OpenTelemetry, OTLP over HTTP).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtelSettings {
    /// Its address, without `/v1/traces`.
    pub endpoint: String,
    /// A file with the headers of every request, such as a token: `Name: value` in each line.
    pub headers_file: Option<PathBuf>,
}

/// Reads the section; `resolve` makes a path absolute.
pub(super) fn read(
    mut section: Section<'_>,
    resolve: impl Fn(&str) -> PathBuf,
) -> Option<OtelSettings> {
    let endpoint = section.get("endpoint", endpoint);
    let headers_file = section.get("headers_file", |node| text(node).map(|text| resolve(&text)));
    if !section.has("endpoint") && headers_file.is_some() {
        section.problem("has `headers_file` without `endpoint`");
    }
    section.finish();
    Some(OtelSettings { endpoint: endpoint?, headers_file })
}

fn endpoint(node: &ConfigNode) -> Result<String, String> {
    let text = text(node)?;
    match reqwest::Url::parse(&text) {
        Ok(url)
            if matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.query().is_none() =>
        {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("wants the address of a collector such as \"http://127.0.0.1:4318\"".to_owned()),
    }
}
