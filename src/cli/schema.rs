//! `countersign schema`: prints machine-readable descriptions of the HTTP API.

use super::{Exit, say};
use anyhow::Result;
use clap::ValueEnum;
use countersign_domain::wire::openapi;
use serde_json::Value;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The documents of this version are in docs/openapi.json and docs/schema.json too.")]
pub(super) struct SchemaArgs {
    /// Which description
    #[arg(value_enum, default_value = "openapi")]
    form: SchemaFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaFormat {
    /// The routes with their requests and responses, OpenAPI 3.1
    Openapi,
    /// The requests and responses alone, JSON Schema 2020-12
    JsonSchema,
}

pub(super) fn run(args: &SchemaArgs) -> Result<Exit> {
    say::json(&document(args.form))?;
    Ok(Exit::Good)
}

fn document(form: SchemaFormat) -> Value {
    match form {
        SchemaFormat::Openapi => openapi::document(),
        SchemaFormat::JsonSchema => openapi::json_schema(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn the_documents_in_docs_are_those_of_this_version() {
        for (file, form) in [
            ("docs/openapi.json", SchemaFormat::Openapi),
            ("docs/schema.json", SchemaFormat::JsonSchema),
        ] {
            let current = serde_json::to_string_pretty(&document(form)).unwrap() + "\n";
            // With `UPDATE_DOCS` set the test writes the files instead, as insta does.
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(file, &current).unwrap();
            }
            let there = std::fs::read_to_string(file).unwrap_or_default();
            assert!(
                there == current,
                "{file} is out of date; UPDATE_DOCS=1 cargo test brings it up"
            );
        }
    }
}
