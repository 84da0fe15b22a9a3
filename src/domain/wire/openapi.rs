//! Describes the API for programs that do not link these types: an OpenAPI document and a JSON
//! Schema, generated from the types.

mod operation;

use crate::{
    parked::ParkedRun,
    wire::{
        AddTokenRequest, AheadQuery, AheadReply, AnswerReply, AnswerRequest, AnswerersReply,
        AnswerersRequest, AskRecord, AskView, AsksPage, AsksQuery, CallReply, CancelRequest,
        CancelledReply, DigestQuery, DigestReply, ErrorReply, EventView, EventsQuery,
        ExecutionReply, ExecutionRequest, ExplainReply, ExplainRequest, ForgottenView, GrantsPage,
        HistoryPage, HistoryQuery, LogKeyReply, LogKeyRequest, LogQuery, LogReply, ModeReply,
        ModeRequest, NewTokenReply, NonceReply, PairingReply, PairingRequest, PairingView,
        ParkReply, ParkedPage, PasskeysPage, PauseReply, PauseRequest, ProcessEnded, ReadyReply,
        ReloadReply, RemovedPasskeyReply, ResumeRunReply, ResumedAgentReply, RevokeReply,
        RevokedTokenReply, RotateTokenRequest, SandboxQuery, SessionRequest, SessionsPage,
        SubmitRequest, TakeQuery, TokenReply, TokensPage, TrialReply, TrialRequest, WaitQuery,
        routes,
    },
};
use operation::{Operation, RouteAccess, on};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The OpenAPI 3.1 document.
#[must_use]
pub fn document() -> Value {
    let mut generator = generator("/components/schemas");
    let mut paths = Map::new();
    for operation in operations() {
        let described = operation.described(&mut generator);
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(operation.method.to_owned(), described);
        }
    }
    generator.subschema_for::<ErrorReply>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "countersign",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents submit calls and read answers; approvers answer. docs/api.md \
                says what each request means.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "agent": {
                    "type": "http", "scheme": "bearer",
                    "description": "The agents' token. The unix socket needs none.",
                },
                "approver": {
                    "type": "http", "scheme": "bearer",
                    "description": "The approvers' token.",
                },
            },
        },
    })
}

/// The JSON Schema (2020-12) of every request and response, by name under `$defs`.
#[must_use]
pub fn json_schema() -> Value {
    let mut generator = generator("/$defs");
    operations().iter().for_each(|it| drop(it.described(&mut generator)));
    generator.subschema_for::<ErrorReply>();
    generator.subschema_for::<ForgottenView>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "countersign",
        "description": "Requests and responses of countersign's HTTP API.",
        "$defs": generator.take_definitions(true),
    })
}

fn generator(definitions: &str) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = definitions.to_owned().into();
        settings.meta_schema = None;
    });
    settings.into_generator()
}

fn operations() -> Vec<Operation> {
    use RouteAccess::{Agent, Anybody, Approver};
    let session = |act: &str| routes::SESSION.replace("{act}", act);
    vec![
        on("post", routes::CALLS, "Submit a call", Agent)
            .query::<WaitQuery>()
            .body::<SubmitRequest>()
            .reply::<CallReply>("The call is decided")
            .status::<CallReply>("202", "The call waits for a person"),
        on("post", routes::AHEAD, "Spend what was approved ahead", Agent)
            .query::<AheadQuery>()
            .body::<SubmitRequest>()
            .reply::<AheadReply>("Whether a person approved the call ahead"),
        on("get", routes::ASKS, "List asks", Agent)
            .query::<AsksQuery>()
            .reply::<AsksPage>("A page of asks"),
        on("get", routes::ASK, "Read an ask, or wait for it", Agent)
            .query::<WaitQuery>()
            .reply::<AskView>("The ask"),
        on("post", routes::ANSWER, "Answer an ask", Approver)
            .body::<AnswerRequest>()
            .reply::<AnswerReply>("What became of the answer"),
        on("post", routes::UNDO, "Undo an answer", Approver)
            .reply::<AnswerReply>("What became of it"),
        on("post", routes::CANCEL, "Cancel an ask", Agent)
            .body::<CancelRequest>()
            .reply::<AskView>("The ask"),
        on("get", routes::EXECUTION_TOKEN, "Get an execution token", Agent)
            .reply::<TokenReply>("It lets exactly the approved call run, once"),
        on("post", routes::EXECUTIONS, "Report an execution", Agent)
            .body::<ExecutionRequest>()
            .reply::<ExecutionReply>("It is noted; at a start, the call may run"),
        on("get", routes::EVENTS, "Follow what happens", Agent)
            .query::<EventsQuery>()
            .stream::<EventView>(
                "Server-sent events; the data of each is an EventView, in events named `ask` an \
             AskView, in events named `forgotten` a ForgottenView",
            ),
        on("get", routes::PARKED_RUNS, "List parked runs", Agent)
            .reply::<ParkedPage>("The runs that wait without a process"),
        on("post", routes::PARKED, "Park a run", Agent)
            .body::<ParkedRun>()
            .reply::<ParkReply>("Whether its process may end"),
        on("delete", routes::PARKED, "Give a parked run up", Agent)
            .reply::<ParkReply>("Its ask is cancelled; nobody resumes it"),
        on("post", routes::RESUME_RUN, "Resume a parked run", Agent)
            .reply::<ResumeRunReply>("The right to start it, for 30 seconds"),
        on("post", routes::TAKE, "Take a parked call's answer", Agent)
            .query::<TakeQuery>()
            .body::<SubmitRequest>()
            .reply::<CallReply>("The answer, which nobody else gets"),
        on("post", routes::PROCESS_ENDED, "Report a process's end", Agent)
            .body::<ProcessEnded>()
            .reply::<ParkReply>("Whether the run is still parked"),
        on("get", routes::HISTORY, "List closed asks", Agent)
            .query::<HistoryQuery>()
            .reply::<HistoryPage>("A page of closed asks"),
        on("get", routes::RECORD, "Read an ask in whole", Agent)
            .reply::<AskRecord>("The ask, its card and where it is shown"),
        on("get", routes::DIGEST, "Sum up what was asked", Approver)
            .query::<DigestQuery>()
            .reply::<DigestReply>("In figures, with rules that would save asks"),
        on("get", routes::LOG, "Export the log", Approver)
            .query::<LogQuery>()
            .reply::<LogReply>("A page of the log, as lines of an export"),
        on("post", routes::LOG_KEY, "Change the log's key", Approver)
            .body::<LogKeyRequest>()
            .reply::<LogKeyReply>("The key that signs from now on"),
        on("get", routes::SESSIONS, "List sessions", Approver)
            .reply::<SessionsPage>("The sessions that are known"),
        on("post", &session("mode"), "Set a session's mode", Approver)
            .body::<ModeRequest>()
            .reply::<ModeReply>("The mode that it has now"),
        on("post", &session("abort"), "Cancel a session's asks", Agent)
            .body::<SessionRequest>()
            .reply::<CancelledReply>("How many were cancelled"),
        on("post", &session("end"), "End a session", Agent)
            .body::<SessionRequest>()
            .reply::<CancelledReply>("How many asks were cancelled"),
        on("get", routes::GRANTS, "List grants", Agent).reply::<GrantsPage>("The grants in force"),
        on("delete", routes::GRANT, "Revoke a grant", Approver)
            .reply::<RevokeReply>("The grant that was revoked"),
        on("post", routes::EXPLAIN, "Explain a call", Approver)
            .body::<ExplainRequest>()
            .reply::<ExplainReply>("What would happen to it, and why"),
        on("post", routes::APPROVERS, "Who could answer", Approver)
            .body::<AnswerersRequest>()
            .reply::<AnswerersReply>("Who could answer the call, and why"),
        on("get", routes::ASK_APPROVERS, "Who can answer", Approver)
            .reply::<AnswerersReply>("Who can answer the ask, and why"),
        on("post", routes::TRIAL, "Try a rule", Approver)
            .body::<TrialRequest>()
            .reply::<TrialReply>("What it would have changed"),
        on("post", routes::PAUSE, "Pause everything", Approver)
            .body::<PauseRequest>()
            .reply::<PauseReply>("What happened"),
        on("post", routes::RESUME, "End the pause", Approver).reply::<PauseReply>("What happened"),
        on("post", routes::RELOAD, "Put a changed config in force", Approver)
            .reply::<ReloadReply>("What happened"),
        on("post", routes::PAIRINGS, "Begin a pairing", Approver)
            .body::<PairingRequest>()
            .reply::<PairingReply>("The code to send to the bot"),
        on("get", routes::PAIRING, "Read or await a pairing", Approver)
            .query::<WaitQuery>()
            .reply::<PairingView>("Who sent its code, and where"),
        on("get", routes::TOKENS, "List agents' tokens", Approver)
            .reply::<TokensPage>("The tokens, never themselves"),
        on("post", routes::TOKENS, "Make a token", Approver)
            .body::<AddTokenRequest>()
            .reply::<NewTokenReply>("The token, this one time"),
        on("post", routes::ROTATE_TOKEN, "Rotate a token", Approver)
            .body::<RotateTokenRequest>()
            .reply::<NewTokenReply>("The token, this one time"),
        on("post", routes::RESUME_TOKEN, "Resume an agent", Approver)
            .reply::<ResumedAgentReply>("The agent that was resumed"),
        on("delete", routes::TOKEN, "Revoke a token", Approver)
            .reply::<RevokedTokenReply>("The token that was revoked"),
        on("get", routes::PASSKEYS, "List people's passkeys", Approver)
            .reply::<PasskeysPage>("The passkeys, without their keys"),
        on("delete", routes::PASSKEY, "Remove a passkey", Approver)
            .reply::<RemovedPasskeyReply>("The passkey that was removed"),
        on("post", routes::NONO, "Decide for a sandbox (nono)", Agent)
            .query::<SandboxQuery>()
            .body::<Value>()
            .reply::<Value>("Granted or denied, in nono's words"),
        on("post", routes::MCP, "Send a message of MCP", Agent)
            .body::<Value>()
            .reply::<Value>("The reply, or a stream that ends with it"),
        on("delete", routes::MCP, "End a session of MCP", Agent)
            .status::<Value>("204", "It has ended"),
        on("get", routes::NONCE, "Get a nonce to show a token with", Anybody)
            .reply::<NonceReply>("The nonce"),
        on("get", routes::HEALTHZ, "Whether the process is alive", Anybody).text("It is"),
        on("get", routes::READYZ, "The daemon's state", Anybody)
            .reply::<ReadyReply>("It takes asks and receives presses")
            .status::<ReadyReply>("503", "It does not, for the reasons given"),
        on("get", routes::METRICS, "Counters for Prometheus", Anybody).text("The counters"),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reference_of_the_documents_leads_somewhere() {
        for (document, prefix) in
            [(document(), "#/components/schemas/"), (json_schema(), "#/$defs/")]
        {
            let text = document.to_string();
            let references: Vec<&str> = text
                .split("\"$ref\":\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .collect();
            assert!(references.len() > 20, "{}", references.len());
            for reference in references {
                assert!(reference.starts_with(prefix), "{reference}");
                let pointer = reference.trim_start_matches('#');
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
        }
    }

    // A call is read by daemons of other versions too, and its unknown fields are ignored.
    #[test]
    fn every_body_but_a_calls_refuses_fields_that_it_does_not_know() {
        let document = document();
        let all = |value: &Value| value.as_object().unwrap().clone().into_iter();
        let operations = all(&document["paths"]).flat_map(|(_, path)| all(&path));
        let body = |operation: &Value| {
            let body = operation.pointer("/requestBody/content/application~1json/schema/$ref")?;
            Some(body.as_str()?.trim_start_matches("#/components/schemas/").to_owned())
        };
        let bodies: BTreeSet<String> = operations.filter_map(|(_, it)| body(&it)).collect();
        let is_open = |name: &&String| {
            document["components"]["schemas"][&**name]["additionalProperties"] != json!(false)
        };
        assert_eq!(bodies.iter().filter(is_open).collect::<Vec<_>>(), ["SubmitRequest"]);
        assert!(bodies.len() > 10, "{bodies:?}");
    }
}
