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
