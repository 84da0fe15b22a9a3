//! The HTTP API as its documents describe it, held to the routes that the server has.

use super::generated;
use countersign::protocol::openapi;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// Methods and paths.
type Routes = BTreeSet<(String, String)>;

#[test]
fn the_documents_of_the_api_are_those_of_this_version() {
    let openapi = openapi::document();
    for (file, document) in
        [("docs/openapi.json", &openapi), ("docs/schema.json", &openapi::json_schema())]
    {
        generated::whole(file, &(serde_json::to_string_pretty(document).unwrap() + "\n"));
    }
    let paths = openapi["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, it)| (method, path, it))
    });
    let row = |(method, path, it): (&String, &String, &Value)| {
        let handles = it["security"].as_array().unwrap();
        let handle = match handles.first().and_then(|first| first.as_object()) {
            Some(first) => first.keys().next().unwrap(),
            None => "none",
        };
        let summary = it["summary"].as_str().unwrap();
        format!("- `{} {path}` ({handle}): {summary}", method.to_uppercase())
    };
    let rows: Vec<_> = routes.map(row).collect();
    generated::parts("docs/api.md", |_| rows.join("\n"));
}

#[test]
fn the_openapi_document_names_the_routes_of_the_server_and_no_other() {
    let served = served();
    assert!(served.len() > 10, "the router has {} routes", served.len());
    assert_eq!(described_routes(&openapi::document()), served);
}

fn described_routes(document: &Value) -> Routes {
    let paths = document["paths"].as_object().unwrap();
    let methods = |path: &String, item: &Value| {
        let methods = item.as_object().unwrap().keys().cloned();
        methods.map(|method| (method, with_act(path))).collect::<Vec<_>>()
    };
    paths.iter().flat_map(|(path, item)| methods(path, item)).collect()
}

/// The document lists the acts of a session one by one; the router has a single route for them.
fn with_act(path: &str) -> String {
    match path.strip_prefix("/v1/sessions/{id}/") {
        Some(act) if !act.contains('/') => "/v1/sessions/{id}/{act}".to_owned(),
        _ => path.to_owned(),
    }
}

/// `.route(routes::NAME, method(…))` in the API's router; a route of several methods has them
/// chained with dots.
fn served() -> Routes {
    let paths = constants(&fs::read_to_string("src/domain/wire/routes.rs").unwrap());
    let router = fs::read_to_string("src/web/lib.rs").unwrap();
    let mut served = Routes::new();
    for route in router.split(".route(routes::").skip(1) {
        let (name, rest) = route.split_once(',').unwrap();
        let handlers = rest.split(".route(").next().unwrap().split(';').next().unwrap();
        for method in ["get", "post", "put", "delete", "patch"] {
            let begins = |handler: &str| handler.trim_start().starts_with(&format!("{method}("));
            if handlers.split(").").any(begins) {
                served.insert((method.to_owned(), paths[name].clone()));
            }
        }
    }
    served
}

/// The text constants of a file.
fn constants(text: &str) -> BTreeMap<String, String> {
    let constants = text.lines().filter_map(|line| line.strip_prefix("pub const "));
    let pairs = constants.filter_map(|line| line.split_once(": &str = \""));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_end_matches("\";").to_owned())).collect()
}
