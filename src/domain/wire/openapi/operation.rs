//! One request of the API, in the document's form.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// One request of the API.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: String,
    summary: &'static str,
    access: RouteAccess,
    query: Option<Schema>,
    body: Option<Schema>,
    /// Status, meaning, content type and schema.
    replies: Vec<(&'static str, &'static str, &'static str, Schema)>,
}

/// The access that a request needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteAccess {
    /// None.
    Anybody,
    /// An agent's or an approver's token.
    Agent,
    /// An approver's token.
    Approver,
}

const JSON: &str = "application/json";

impl Operation {
    pub(super) fn new(
        method: &'static str,
        path: impl Into<String>,
        summary: &'static str,
        access: RouteAccess,
    ) -> Self {
        let (query, body, replies) = (None, None, Vec::new());
        Self { method, path: path.into(), summary, access, query, body, replies }
    }

    pub(super) fn query<T: JsonSchema>(self, generator: &mut SchemaGenerator) -> Self {
        Self { query: Some(T::json_schema(generator)), ..self }
    }

    pub(super) fn body<T: JsonSchema>(self, generator: &mut SchemaGenerator) -> Self {
        Self { body: Some(generator.subschema_for::<T>()), ..self }
    }

    pub(super) fn reply<T: JsonSchema>(
        mut self,
        generator: &mut SchemaGenerator,
        status: &'static str,
        meaning: &'static str,
    ) -> Self {
        self.replies.push((status, meaning, JSON, generator.subschema_for::<T>()));
        self
    }

    pub(super) fn stream(mut self, schema: Schema, meaning: &'static str) -> Self {
        self.replies.push(("200", meaning, "text/event-stream", schema));
        self
    }

    pub(super) fn text(mut self, schema: Schema, meaning: &'static str) -> Self {
        self.replies.push(("200", meaning, "text/plain", schema));
        self
    }
}

/// The operation in the document's form.
pub(super) fn described(operation: &Operation, error: &Schema) -> Value {
    let mut responses: Map<String, Value> = operation
        .replies
        .iter()
        .map(|(status, meaning, kind, schema)| {
            let reply = json!({"description": meaning, "content": {*kind: {"schema": schema}}});
            ((*status).to_owned(), reply)
        })
        .collect();
    responses.insert(
        "default".to_owned(),
        json!({"description": "Refused; nothing changed", "content": {JSON: {"schema": error}}}),
    );
    let security = match operation.access {
        RouteAccess::Anybody => json!([]),
        RouteAccess::Agent => json!([{"agent": []}, {"approver": []}]),
        RouteAccess::Approver => json!([{"approver": []}]),
    };
    let mut described = json!({
        "summary": operation.summary,
        "security": security,
        "parameters": parameters(operation),
        "responses": responses,
    });
    if let (Some(body), Some(described)) = (&operation.body, described.as_object_mut()) {
        let body = json!({"required": true, "content": {JSON: {"schema": body}}});
        described.insert("requestBody".to_owned(), body);
    }
    described
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let of_path = operation.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({
            "name": name, "in": "path", "required": true, "schema": {"type": "string"},
        }))
    });
    let query = operation.query.as_ref().and_then(|schema| schema.get("properties")?.as_object());
    let of_query = query.into_iter().flatten().map(
        |(name, schema)| json!({"name": name, "in": "query", "required": false, "schema": schema}),
    );
    of_path.chain(of_query).collect()
}
