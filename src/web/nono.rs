//! `POST /v1/nono`: the approval webhook of nono, a sandbox. What it would allow is a call here, and
//! the reply grants or denies it. nono denies by itself on every status but 2xx.

use crate::{
    Api,
    asks::reason,
    request::{Body, JsonReply, Params},
};
use axum::{Extension, Json};
use countersign_domain::{Owner, exact_json, wire::SandboxQuery};
use countersign_gate::{
    SubmitOutcome,
    ask::{Ask, Decision},
    call::Call,
};
use countersign_policy::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a person has where the webhook's address says nothing, in seconds: nono waits for a
/// minute by default, and the rest is for the way.
const WAIT_S: u64 = 55;

/// How much later nono gets its answer than the ask ends, so that it says that nobody answered in time.
const GRACE: Duration = Duration::from_secs(1);

/// The longest wait, in seconds: a day.
const LONGEST_S: u64 = 86_400;

/// The fields that every request has.
const COMMON: [&str; 4] = ["request_id", "session_id", "child_pid", "reason"];

/// The reply, as nono reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum NonoReply {
    Granted,
    Denied { reason: String },
}

impl NonoReply {
    fn denied(reason: impl Into<String>) -> Self {
        Self::Denied { reason: reason.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NonoBody {
    backend: String,
    request: Map<String, Value>,
}

#[derive(Deserialize)]
struct NonoOrigin {
    request_id: String,
    session_id: String,
    child_pid: u32,
    #[serde(default)]
    reason: Option<String>,
}

/// What the sandbox would allow.
// FAIL-CLOSED: a field that is not known here may widen it, and is refused.
#[derive(Deserialize)]
#[serde(tag = "capability_type", rename_all = "snake_case", deny_unknown_fields)]
enum Capability {
    #[serde(rename = "capability")]
    Path {
        path: String,
        access: PathAccess,
    },
    Network {
        host: String,
        port: u16,
        protocol: String,
        resolved_ips: Vec<String>,
    },
    Endpoint {
        route_id: String,
        upstream: String,
        method: String,
        path: String,
        rule_label: String,
    },
    Command {
        command: String,
        args: Vec<String>,
        caller: String,
        intercept_rule: String,
    },
}

#[derive(Clone, Copy, Deserialize)]
enum PathAccess {
    Read,
    Write,
    ReadWrite,
}

/// Grants only what a rule or a person allows within the wait.
// FAIL-CLOSED: every other way out of here is a denial.
pub(super) async fn decide(
    api: Api,
    Extension(owner): Extension<Owner>,
    query: Params<SandboxQuery>,
    body: Body,
) -> JsonReply<NonoReply> {
    let query = query.read()?;
    let body = body.bytes()?;
    let wait = query.wait.unwrap_or(WAIT_S).clamp(1, LONGEST_S);
    let call = match read(&body) {
        Ok(call) => Call { waits_s: Some(wait), owner: Some(owner), ..call },
        Err(why) => return Ok(Json(NonoReply::denied(why))),
    };
    let submitted = match api.gate.submit(call.clone(), true).await {
        Ok(submitted) => submitted,
        Err(error) => return Ok(Json(NonoReply::denied(error.to_string()))),
    };
    let (ask, caller) = match submitted {
        SubmitOutcome::Ruled(ruling) => {
            return Ok(Json(match ruling.verdict {
                Verdict::Allow => NonoReply::Granted,
                Verdict::Ask | Verdict::Deny => {
                    let message = api.gate.text_for_denial(&call, &ruling);
                    NonoReply::denied(message.unwrap_or_else(|| ruling.reason.clone()))
                }
            }));
        }
        SubmitOutcome::Asked(ask, caller) => (ask, caller),
    };
    let Some(mut caller) = caller else { return Ok(Json(reply(&ask))) };
    let id = ask.id.clone();
    drop(ask);
    // If nono goes away, `caller` is dropped, which cancels the ask.
    let waited = caller.wait(Duration::from_secs(wait) + GRACE).await?;
    let ended = match waited {
        // In a pause no deadline runs, and nono's does.
        Some(ask) if ask.is_open() => api.gate.cancel(&id, "nono waits no longer").await?,
        ended => ended,
    };
    Ok(Json(ended.map_or_else(|| NonoReply::denied("its ask is gone"), |ask| reply(&ask))))
}

fn reply(ask: &Ask) -> NonoReply {
    match ask.answer() {
        None => NonoReply::denied("nobody answered in time"),
        Some(answer) => match answer.decision {
            Decision::Approve => NonoReply::Granted,
            Decision::Deny | Decision::Answer | Decision::Edit => {
                NonoReply::denied(reason(ask, answer))
            }
        },
    }
}

/// Reads a request of nono as a call. It has no key: nono's ids are not unique.
///
/// # Errors
/// A sentence, which denies it.
fn read(body: &[u8]) -> Result<Call, String> {
    let unreadable = |error: serde_json::Error| format!("nono's request cannot be read: {error}");
    let NonoBody { backend, mut request } =
        exact_json::object_from_slice(body).map_err(unreadable)?;
    let common: Map<_, _> = COMMON.iter().filter_map(|key| request.remove_entry(*key)).collect();
    let origin = NonoOrigin::deserialize(Value::from(common)).map_err(unreadable)?;
    let capability = Capability::deserialize(Value::from(request)).map_err(unreadable)?;
    let (tool, args, rule) = capability.call()?;
    let NonoOrigin { request_id, session_id, child_pid, reason } = origin;
    let meta = json!({"backend": backend, "request_id": request_id, "child_pid": child_pid,
        "rule": rule});
    let call = Call::new("nono", &session_id, tool, args);
    Ok(Call { reason: reason.filter(|it| !it.trim().is_empty()), meta: Some(meta), ..call })
}

impl Capability {
    /// The tool and the arguments under which rules know it, and nono's rule that wants approval.
    fn call(self) -> Result<(&'static str, Value, Option<String>), String> {
        Ok(match self {
            Self::Path { path, access } => {
                let tool = match access {
                    PathAccess::Read => "read_file",
                    PathAccess::Write => "write_file",
                    PathAccess::ReadWrite => "edit_file",
                };
                (tool, json!({"path": path}), None)
            }
            Self::Network { host, port, protocol, resolved_ips } => {
                let title = format!("connect to {host}:{port} ({protocol})");
                let args = json!({"title": title, "host": host, "port": port, "protocol": protocol,
                    "resolved_ips": resolved_ips});
                ("nono_network", args, None)
            }
            Self::Endpoint { route_id, upstream, method, path, rule_label } => {
                let address =
                    format!("{}/{}", upstream.trim_end_matches('/'), path.trim_start_matches('/'));
                let args = json!({"title": format!("{method} {address}"), "method": method,
                    "upstream": upstream, "path": path, "route_id": route_id});
                ("nono_endpoint", args, Some(rule_label))
            }
            Self::Command { command, args, caller, intercept_rule } => (
                "exec",
                json!({"command": argv(command, args)?}),
                Some(format!("{intercept_rule} (from {caller})")),
            ),
        })
    }
}

/// The command with its arguments.
// SECURITY: the caller chooses the first argument, which names the program and is not what runs.
fn argv(command: String, args: Vec<String>) -> Result<Vec<String>, String> {
    let mut args = args.into_iter();
    let named = args.next().ok_or("nono's request names no arguments, not even the command")?;
    if named.rsplit('/').next() != Some(command.as_str()) {
        return Err("nono's request names another command than its first argument".to_owned());
    }
    Ok([command].into_iter().chain(args).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;

    fn body(mut request: Value) -> Vec<u8> {
        for (key, value) in
            [("request_id", json!("r")), ("session_id", json!("s")), ("child_pid", json!(7))]
        {
            request[key] = value;
        }
        request["reason"] = json!("to push");
        json!({"backend": "phone", "request": request}).to_string().into_bytes()
    }

    fn network() -> Value {
        json!({"capability_type": "network", "host": "api.github.com", "port": 443,
            "protocol": "tcp", "resolved_ips": ["140.82.121.6"]})
    }

    #[test]
    fn each_capability_is_a_call_that_rules_and_people_know() {
        let path =
            |access: &str| json!({"capability_type": "capability", "path": "/p", "access": access});
        let endpoint = json!({"capability_type": "endpoint", "route_id": "github",
            "upstream": "https://api.github.com/", "method": "POST", "path": "/repos",
            "rule_label": "POST *"});
        let command = json!({"capability_type": "command", "command": "git",
            "args": ["/usr/bin/git", "push"], "caller": "session", "intercept_rule": "git push"});
        for (request, tool, args, rule) in [
            (path("Read"), "read_file", json!({"path": "/p"}), Value::Null),
            (path("Write"), "write_file", json!({"path": "/p"}), Value::Null),
            (path("ReadWrite"), "edit_file", json!({"path": "/p"}), Value::Null),
            (
                network(),
                "nono_network",
                json!({"title": "connect to api.github.com:443 (tcp)", "host": "api.github.com",
                    "port": 443, "protocol": "tcp", "resolved_ips": ["140.82.121.6"]}),
                Value::Null,
            ),
            (
                endpoint,
                "nono_endpoint",
                json!({"title": "POST https://api.github.com/repos", "method": "POST",
                    "upstream": "https://api.github.com/", "path": "/repos", "route_id": "github"}),
                json!("POST *"),
            ),
            (
                command,
                "exec",
                json!({"command": ["git", "push"]}),
                json!("git push (from session)"),
            ),
        ] {
            let call = read(&body(request)).unwrap();
            let meta = json!({"backend": "phone", "request_id": "r", "child_pid": 7, "rule": rule});
            let expected = Call {
                reason: Some("to push".into()),
                meta: Some(meta),
                ..Call::new("nono", "s", tool, args)
            };
            assert_eq!(call, expected);
        }
    }

    #[test]
    fn whatever_is_not_known_in_whole_is_denied() {
        let with = |key: &str, value: Value| {
            let mut request = network();
            request[key] = value;
            body(request)
        };
        let command = |args: Value| {
            body(json!({"capability_type": "command", "command": "git", "args": args,
                "caller": "session", "intercept_rule": "r"}))
        };
        for unreadable in [
            b"{}".to_vec(),
            b"[]".to_vec(),
            json!({"backend": "b", "request": network()}).to_string().into_bytes(),
            json!(["b", network()]).to_string().into_bytes(),
            with("also", json!("everything")),
            with("port", json!("443")),
            with("port", json!(70_000)),
            with("capability_type", json!("unheard")),
            with("capability_type", Value::Null),
            body(json!({"capability_type": "capability", "path": "/p", "access": "Execute"})),
            command(json!([])),
            command(json!(["sh", "-c", "git"])),
        ] {
            assert!(read(&unreadable).is_err(), "{}", String::from_utf8_lossy(&unreadable));
        }
    }

    #[test]
    fn the_reply_is_in_nonos_words() {
        assert_eq!(json!(NonoReply::Granted), json!({"decision": "granted"}));
        let denied = json!({"decision": "denied", "reason": "no"});
        assert_eq!(json!(NonoReply::denied("no")), denied);
    }
}
