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
use operation::{Operation, RouteAccess, described};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The OpenAPI 3.1 document.
#[must_use]
pub fn document() -> Value {
    let mut generator = generator("/components/schemas");
    let operations = operations(&mut generator);
    let error = generator.subschema_for::<ErrorReply>();
    let mut paths = Map::new();
    for operation in &operations {
        let item = paths.entry(operation.path.clone()).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(operation.method.to_owned(), described(operation, &error));
        }
    }
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
    operations(&mut generator);
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

fn operations(generator: &mut SchemaGenerator) -> Vec<Operation> {
    let session = |act: &str| routes::SESSION.replace("{act}", act);
    let text = |_: &mut SchemaGenerator| schemars::json_schema!({ "type": "string" });
    vec![
        Operation::new("post", routes::CALLS, "Submit a call", RouteAccess::Agent)
            .query::<WaitQuery>(generator)
            .body::<SubmitRequest>(generator)
            .reply::<CallReply>(generator, "200", "The call is decided")
            .reply::<CallReply>(generator, "202", "The call waits for a person"),
        Operation::new("post", routes::AHEAD, "Spend what was approved ahead", RouteAccess::Agent)
            .query::<AheadQuery>(generator)
            .body::<SubmitRequest>(generator)
            .reply::<AheadReply>(generator, "200", "Whether a person approved the call ahead"),
        Operation::new("get", routes::ASKS, "List asks", RouteAccess::Agent)
            .query::<AsksQuery>(generator)
            .reply::<AsksPage>(generator, "200", "A page of asks"),
        Operation::new("get", routes::ASK, "Read an ask, or wait for it", RouteAccess::Agent)
            .query::<WaitQuery>(generator)
            .reply::<AskView>(generator, "200", "The ask"),
        Operation::new("post", routes::ANSWER, "Answer an ask", RouteAccess::Approver)
            .body::<AnswerRequest>(generator)
            .reply::<AnswerReply>(generator, "200", "What became of the answer"),
        Operation::new("post", routes::UNDO, "Undo an answer", RouteAccess::Approver)
            .reply::<AnswerReply>(generator, "200", "What became of it"),
        Operation::new("post", routes::CANCEL, "Cancel an ask", RouteAccess::Agent)
            .body::<CancelRequest>(generator)
            .reply::<AskView>(generator, "200", "The ask"),
        Operation::new(
            "get",
            routes::EXECUTION_TOKEN,
            "Get an execution token",
            RouteAccess::Agent,
        )
        .reply::<TokenReply>(
            generator,
            "200",
            "It lets exactly the approved call run, once",
        ),
        Operation::new("post", routes::EXECUTIONS, "Report an execution", RouteAccess::Agent)
            .body::<ExecutionRequest>(generator)
            .reply::<ExecutionReply>(generator, "200", "It is noted; at a start, the call may run"),
        Operation::new("get", routes::EVENTS, "Follow what happens", RouteAccess::Agent)
            .query::<EventsQuery>(generator)
            .stream(
                generator.subschema_for::<EventView>(),
                "Server-sent events; the data of each is an EventView, in events named `ask` an \
             AskView, in events named `forgotten` a ForgottenView",
            ),
        Operation::new("get", routes::PARKED_RUNS, "List parked runs", RouteAccess::Agent)
            .reply::<ParkedPage>(generator, "200", "The runs that wait without a process"),
        Operation::new("post", routes::PARKED, "Park a run", RouteAccess::Agent)
            .body::<ParkedRun>(generator)
            .reply::<ParkReply>(generator, "200", "Whether its process may end"),
        Operation::new("delete", routes::PARKED, "Give a parked run up", RouteAccess::Agent)
            .reply::<ParkReply>(generator, "200", "Its ask is cancelled; nobody resumes it"),
        Operation::new("post", routes::RESUME_RUN, "Resume a parked run", RouteAccess::Agent)
            .reply::<ResumeRunReply>(generator, "200", "The right to start it, for 30 seconds"),
        Operation::new("post", routes::TAKE, "Take a parked call's answer", RouteAccess::Agent)
            .query::<TakeQuery>(generator)
            .body::<SubmitRequest>(generator)
            .reply::<CallReply>(generator, "200", "The answer, which nobody else gets"),
        Operation::new("post", routes::PROCESS_ENDED, "Report a process's end", RouteAccess::Agent)
            .body::<ProcessEnded>(generator)
            .reply::<ParkReply>(generator, "200", "Whether the run is still parked"),
        Operation::new("get", routes::HISTORY, "List closed asks", RouteAccess::Agent)
            .query::<HistoryQuery>(generator)
            .reply::<HistoryPage>(generator, "200", "A page of closed asks"),
        Operation::new("get", routes::RECORD, "Read an ask in whole", RouteAccess::Agent)
            .reply::<AskRecord>(generator, "200", "The ask, its card and where it is shown"),
        Operation::new("get", routes::DIGEST, "Sum up what was asked", RouteAccess::Approver)
            .query::<DigestQuery>(generator)
            .reply::<DigestReply>(generator, "200", "In figures, with rules that would save asks"),
        Operation::new("get", routes::LOG, "Export the log", RouteAccess::Approver)
            .query::<LogQuery>(generator)
            .reply::<LogReply>(generator, "200", "A page of the log, as lines of an export"),
        Operation::new("post", routes::LOG_KEY, "Change the log's key", RouteAccess::Approver)
            .body::<LogKeyRequest>(generator)
            .reply::<LogKeyReply>(generator, "200", "The key that signs from now on"),
        Operation::new("get", routes::SESSIONS, "List sessions", RouteAccess::Approver)
            .reply::<SessionsPage>(generator, "200", "The sessions that are known"),
        Operation::new("post", session("mode"), "Set a session's mode", RouteAccess::Approver)
            .body::<ModeRequest>(generator)
            .reply::<ModeReply>(generator, "200", "The mode that it has now"),
        Operation::new("post", session("abort"), "Cancel a session's asks", RouteAccess::Agent)
            .body::<SessionRequest>(generator)
            .reply::<CancelledReply>(generator, "200", "How many were cancelled"),
        Operation::new("post", session("end"), "End a session", RouteAccess::Agent)
            .body::<SessionRequest>(generator)
            .reply::<CancelledReply>(generator, "200", "How many asks were cancelled"),
        Operation::new("get", routes::GRANTS, "List grants", RouteAccess::Agent)
            .reply::<GrantsPage>(generator, "200", "The grants in force"),
        Operation::new("delete", routes::GRANT, "Revoke a grant", RouteAccess::Approver)
            .reply::<RevokeReply>(generator, "200", "The grant that was revoked"),
        Operation::new("post", routes::EXPLAIN, "Explain a call", RouteAccess::Approver)
            .body::<ExplainRequest>(generator)
            .reply::<ExplainReply>(generator, "200", "What would happen to it, and why"),
        Operation::new("post", routes::APPROVERS, "Who could answer", RouteAccess::Approver)
            .body::<AnswerersRequest>(generator)
            .reply::<AnswerersReply>(generator, "200", "Who could answer the call, and why"),
        Operation::new("get", routes::ASK_APPROVERS, "Who can answer", RouteAccess::Approver)
            .reply::<AnswerersReply>(generator, "200", "Who can answer the ask, and why"),
        Operation::new("post", routes::TRIAL, "Try a rule", RouteAccess::Approver)
            .body::<TrialRequest>(generator)
            .reply::<TrialReply>(generator, "200", "What it would have changed"),
        Operation::new("post", routes::PAUSE, "Pause everything", RouteAccess::Approver)
            .body::<PauseRequest>(generator)
            .reply::<PauseReply>(generator, "200", "What happened"),
        Operation::new("post", routes::RESUME, "End the pause", RouteAccess::Approver)
            .reply::<PauseReply>(generator, "200", "What happened"),
        Operation::new(
            "post",
            routes::RELOAD,
            "Put a changed config in force",
            RouteAccess::Approver,
        )
        .reply::<ReloadReply>(generator, "200", "What happened"),
        Operation::new("post", routes::PAIRINGS, "Begin a pairing", RouteAccess::Approver)
            .body::<PairingRequest>(generator)
            .reply::<PairingReply>(generator, "200", "The code to send to the bot"),
        Operation::new("get", routes::PAIRING, "Read or await a pairing", RouteAccess::Approver)
            .query::<WaitQuery>(generator)
            .reply::<PairingView>(generator, "200", "Who sent its code, and where"),
        Operation::new("get", routes::TOKENS, "List agents' tokens", RouteAccess::Approver)
            .reply::<TokensPage>(generator, "200", "The tokens, never themselves"),
        Operation::new("post", routes::TOKENS, "Make a token", RouteAccess::Approver)
            .body::<AddTokenRequest>(generator)
            .reply::<NewTokenReply>(generator, "200", "The token, this one time"),
        Operation::new("post", routes::ROTATE_TOKEN, "Rotate a token", RouteAccess::Approver)
            .body::<RotateTokenRequest>(generator)
            .reply::<NewTokenReply>(generator, "200", "The token, this one time"),
        Operation::new("post", routes::RESUME_TOKEN, "Resume an agent", RouteAccess::Approver)
            .reply::<ResumedAgentReply>(generator, "200", "The agent that was resumed"),
        Operation::new("delete", routes::TOKEN, "Revoke a token", RouteAccess::Approver)
            .reply::<RevokedTokenReply>(generator, "200", "The token that was revoked"),
        Operation::new("get", routes::PASSKEYS, "List people's passkeys", RouteAccess::Approver)
            .reply::<PasskeysPage>(generator, "200", "The passkeys, without their keys"),
        Operation::new("delete", routes::PASSKEY, "Remove a passkey", RouteAccess::Approver)
            .reply::<RemovedPasskeyReply>(generator, "200", "The passkey that was removed"),
        Operation::new("post", routes::NONO, "Decide for a sandbox (nono)", RouteAccess::Agent)
            .query::<SandboxQuery>(generator)
            .body::<Value>(generator)
            .reply::<Value>(generator, "200", "Granted or denied, in nono's words"),
        Operation::new("post", routes::MCP, "Send a message of MCP", RouteAccess::Agent)
            .body::<Value>(generator)
            .reply::<Value>(generator, "200", "The reply, or a stream that ends with it"),
        Operation::new("delete", routes::MCP, "End a session of MCP", RouteAccess::Agent)
            .reply::<Value>(generator, "204", "It has ended"),
        Operation::new(
            "get",
            routes::NONCE,
            "Get a nonce to show a token with",
            RouteAccess::Anybody,
        )
        .reply::<NonceReply>(generator, "200", "The nonce"),
        Operation::new(
            "get",
            routes::HEALTHZ,
            "Whether the process is alive",
            RouteAccess::Anybody,
        )
        .text(text(generator), "It is"),
        Operation::new("get", routes::READYZ, "The daemon's state", RouteAccess::Anybody)
            .reply::<ReadyReply>(generator, "200", "It takes asks and receives presses")
            .reply::<ReadyReply>(generator, "503", "It does not, for the reasons given"),
        Operation::new("get", routes::METRICS, "Counters for Prometheus", RouteAccess::Anybody)
            .text(text(generator), "The counters"),
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
