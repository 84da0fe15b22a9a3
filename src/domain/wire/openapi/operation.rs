//! One request of the API, in the document's form.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// One request of the API.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: String,
    summary: &'static str,
    access: RouteAccess,
    query: Option<SchemaOf>,
    body: Option<SchemaOf>,
    /// Status, meaning, content type and schema.
    replies: Vec<(&'static str, &'static str, &'static str, SchemaOf)>,
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

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

const JSON: &str = "application/json";

/// The request of this method on this path.
pub(super) fn on(
    method: &'static str,
    path: &str,
    summary: &'static str,
    access: RouteAccess,
) -> Operation {
    Operation {
        method,
        path: path.to_owned(),
        summary,
        access,
        query: None,
        body: None,
        replies: Vec::new(),
    }
}

impl Operation {
    pub(super) fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    pub(super) fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// What a request that is served gets.
    pub(super) fn reply<T: JsonSchema>(self, meaning: &'static str) -> Self {
        self.status::<T>("200", meaning)
    }

    pub(super) fn status<T: JsonSchema>(self, status: &'static str, meaning: &'static str) -> Self {
        self.with((status, meaning, JSON, SchemaGenerator::subschema_for::<T>))
    }

    pub(super) fn stream<T: JsonSchema>(self, meaning: &'static str) -> Self {
        self.with(("200", meaning, "text/event-stream", SchemaGenerator::subschema_for::<T>))
    }

    pub(super) fn text(self, meaning: &'static str) -> Self {
        self.with(("200", meaning, "text/plain", |_| json_schema!({ "type": "string" })))
    }

    fn with(mut self, reply: (&'static str, &'static str, &'static str, SchemaOf)) -> Self {
        self.replies.push(reply);
        self
    }

    /// The operation in the document's form; its types are defined beside it.
    pub(super) fn described(&self, generator: &mut SchemaGenerator) -> Value {
        let parameters = self.parameters(generator);
        let body = self.body.map(
            |schema| json!({"required": true, "content": {JSON: {"schema": schema(generator)}}}),
        );
        let mut responses = Map::new();
        for (status, meaning, kind, schema) in &self.replies {
            let content = json!({*kind: {"schema": schema(generator)}});
            let reply = json!({"description": meaning, "content": content});
            responses.insert((*status).to_owned(), reply);
        }
        let error = json!({"$ref": "#/components/schemas/ErrorReply"});
        responses.insert(
            "default".to_owned(),
            json!({"description": "Refused; nothing changed", "content": {JSON: {"schema": error}}}),
        );
        let security = match self.access {
            RouteAccess::Anybody => json!([]),
            RouteAccess::Agent => json!([{"agent": []}, {"approver": []}]),
            RouteAccess::Approver => json!([{"approver": []}]),
        };
        let mut described = json!({
            "summary": self.summary,
            "security": security,
            "parameters": parameters,
            "responses": responses,
        });
        if let Some(described) = described.as_object_mut() {
            described.extend(body.map(|body| ("requestBody".to_owned(), body)));
        }
        described
    }

    fn parameters(&self, generator: &mut SchemaGenerator) -> Vec<Value> {
        let of_path = self.path.split('/').filter_map(|part| {
            let name = part.strip_prefix('{')?.strip_suffix('}')?;
            Some(json!({
                "name": name, "in": "path", "required": true, "schema": {"type": "string"},
            }))
        });
        let query = self.query.map(|schema| schema(generator));
        let query = query.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        let of_query = query.into_iter().flatten().map(
            |(name, schema)| json!({"name": name, "in": "query", "required": false, "schema": schema}),
        );
        of_path.chain(of_query).collect()
    }
}
