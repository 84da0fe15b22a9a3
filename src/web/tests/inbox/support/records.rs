//! What the daemon keeps, as its routes behind the inbox's guard tell it.

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// The records, and which of them were asked for.
pub struct Records {
    pub grants: Mutex<Vec<Value>>,
    /// The filters of each request of the history.
    pub filters: Mutex<Vec<BTreeMap<String, String>>>,
    /// Why nothing can be revoked here.
    pub refuses: Mutex<Option<&'static str>>,
}

impl Default for Records {
    fn default() -> Self {
        let filters = Mutex::default();
        let refuses = Mutex::default();
        Self { grants: Mutex::new(grants()), filters, refuses }
    }
}

/// The routes of the contract.
pub fn routes(records: Arc<Records>) -> Router {
    Router::new()
        .route("/inbox/api/history", routing::get(history))
        .route("/inbox/api/history/{id}", routing::get(one))
        .route("/inbox/api/grants", routing::get(all))
        .route("/inbox/api/grants/{id}", routing::delete(revoke))
        .route("/inbox/api/rules/explain", routing::post(async || Json(explained())))
        .route("/inbox/api/approvers/explain", routing::post(answerers))
        .route("/inbox/api/asks/{id}/approvers", routing::get(async || Json(could("push"))))
        .route("/inbox/api/rules/try", routing::post(async || Json(tried())))
        .route("/inbox/api/rules/save", routing::post(save))
        .route("/inbox/api/sessions", routing::get(async || Json(sessions())))
        .route(
            "/inbox/api/status",
            routing::get(async || (StatusCode::SERVICE_UNAVAILABLE, Json(status()))),
        )
        .with_state(records)
}

/// Two a page of five.
async fn history(
    State(records): State<Arc<Records>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    records.filters.lock().unwrap().push(query.clone());
    if query.get("rule").is_some_and(|rule| rule == "(") {
        let error = json!({ "error": "`rule` is not a rule." });
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(error)).into_response();
    }
    let from: usize = query.get("before").map_or(0, |before| before.parse().unwrap());
    let fits = |ask: &Value| {
        let same = |name: &str| query.get(name).is_none_or(|value| ask[name] == **value);
        same("agent") && same("verdict")
    };
    let fitting: Vec<Value> = (0..5).map(ask).filter(fits).collect();
    let page: Vec<&Value> = fitting.iter().skip(from).take(2).collect();
    let next = (fitting.len() > from + 2).then(|| (from + 2).to_string());
    Json(json!({ "asks": page, "scanned": 2, "next": next })).into_response()
}

fn ask(number: usize) -> Value {
    let verdicts = ["allow", "deny", "expired", "allow", "cancelled"];
    let person = json!({ "kind": "person", "platform": "telegram", "id": "42", "name": "Ana" });
    let mut ask = json!({
        "id": format!("k3f{number}"), "created": "2026-11-22T10:00:00.000Z",
        "closed": "2026-11-22T10:00:41.120Z",
        "agent": if number == 1 { "codex" } else { "claude-code" }, "session": "s9",
        "host": "mill", "cwd": "/home/ana/shop", "tool": "Bash",
        "title": format!("git push <b>{number}</b>"), "critical": number == 2,
        "verdict": verdicts[number], "by": person, "through": "telegram",
        "reason": "approved by Ana (telegram)",
    });
    if number == 0 {
        ask["stored"] = json!(["shell: git push *"]);
        ask["undone_by"] = person;
    }
    if number == 1 {
        ask["note"] = json!("Not on a Friday");
    }
    ask
}

async fn one(Path(id): Path<String>) -> Response {
    let Some(number) = id.strip_prefix("k3f").and_then(|number| number.parse().ok()) else {
        let error = json!({ "error": format!("There is no ask `{id}`.") });
        return (StatusCode::NOT_FOUND, Json(error)).into_response();
    };
    let mut whole = ask(number);
    whole["state"] = json!("answered");
    whole["why"] = json!("no rule allows it");
    whole["digest"] = json!("9f86d081884c7d65");
    whole["call"] = json!({ "agent": "claude-code", "args": { "command": "git push <b>" } });
    whole["answer"] = json!({ "decision": "approve", "scope": "always", "by": whole["by"] });
    whole["card"] = json!({
        "id": "", "ask": id, "revision": 2, "tone": "approved", "title": whole["title"],
        "origin": "claude-code · shop on mill", "buttons": [], "deadline": null,
        "blocks": [
            { "kind": "outcome", "text": "Ana, 10:00 UTC · stored: git push *" },
            { "kind": "details", "blocks": [{ "kind": "quote", "label": "", "text": "Ship it" }] },
        ],
    });
    whole["deliveries"] = json!([
        { "adapter": "telegram", "target": "-1001", "shown": true },
        { "adapter": "discord", "target": "77", "shown": false, "held": "the bot may not write" },
    ]);
    Json(whole).into_response()
}

async fn all(State(records): State<Arc<Records>>) -> Response {
    Json(json!({ "grants": *records.grants.lock().unwrap() })).into_response()
}

async fn revoke(State(records): State<Arc<Records>>, Path(id): Path<String>) -> Response {
    if let Some(why) = *records.refuses.lock().unwrap() {
        return (StatusCode::FORBIDDEN, Json(json!({ "error": why }))).into_response();
    }
    let mut grants = records.grants.lock().unwrap();
    let at = grants.iter().position(|grant| grant["id"] == *id).unwrap();
    Json(json!({ "revoked": grants.remove(at) })).into_response()
}

fn grants() -> Vec<Value> {
    let by = json!({ "kind": "person", "platform": "discord", "id": "7", "name": "Ben" });
    vec![
        json!({
            "id": "g1", "scope": "session", "agent": "claude-code", "session": "s9", "by": by,
            "rule": "shell: git push *", "created_at": "2026-11-22T10:00:00Z", "used": 3,
            "last_used_at": "2026-11-22T10:05:00Z", "last_call": "git push origin main",
        }),
        json!({
            "id": "g2", "scope": "always", "by": by, "rule": "edit: src/**",
            "created_at": "2026-11-21T10:00:00Z",
        }),
    ]
}

fn explained() -> Value {
    json!({
        "verdict": "ask", "critical": false, "reason": "No rule allows this (default: ask).",
        "rule": "shell_exec: \"*\": ask (permissions.jsonc:27)",
        "effects": ["pushes to origin main"], "always": ["shell: git push origin main"],
        "parts": [
            { "command": "git add -A", "verdict": "allow", "words": "git add -A",
              "rule": "shell_exec: \"git add *\": allow (permissions.jsonc:9)",
              "reason": "allowed" },
            { "command": "git push origin main", "verdict": "ask", "words": "git push origin main",
              "rule": "shell_exec: \"*\": ask (permissions.jsonc:27)",
              "reason": "no rule allows it" },
        ],
    })
}

/// As the daemon says who could answer a call; `ls` is allowed.
async fn answerers(Json(call): Json<Value>) -> Response {
    if call["host"] == "" {
        let error = json!({ "error": "`host` is empty" });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    }
    if call["args"]["command"] == "ls" {
        let none: [Value; 0] = [];
        return Json(json!({ "verdict": "allow", "reason": "a rule allows it", "required": none,
            "people": none, "problems": none, "shown": none }))
        .into_response();
    }
    Json(could(call["agent"].as_str().unwrap_or("nobody"))).into_response()
}

fn could(rule: &str) -> Value {
    let required = format!("{rule}: 2 approvals of ops; 1 denial denies; not the one who asks.");
    json!({
        "verdict": "ask", "reason": "no rule allows it", "required": [required],
        "people": [
            { "who": "Ana (telegram, token)", "counts": "yes", "why": "away" },
            { "who": "Ben <b> (discord)", "counts": "no",
              "why": "Only members of ops may answer this." },
            { "who": "ops", "counts": "by_role", "why": "everyone with its role in the chat" },
        ],
        "problems": ["Nobody can approve this now: push needs 2 people and 1 can. Name more \
                      people, or say whose machine asks ([[people]] hosts)."],
        "shown": ["push: shown at room (telegram).",
                  "After 10 minutes without an answer: members of leads may answer too."],
    })
}

fn tried() -> Value {
    json!({
        "line": "\"shell_exec\": { \"cargo build *\": \"allow\" }", "calls": 212, "changes": 2,
        "changed": [
            { "ask": "k3f0", "title": "cargo build --release", "before": "ask", "after": "allow",
              "closed": "2026-11-22T10:00:41.120Z", "reason": "a rule allows it" },
            { "ask": "k3f1", "title": "cargo build --workspace --all-targets", "before": "ask",
              "after": "allow", "closed": "2026-11-22T09:00:41.120Z",
              "reason": "a rule allows it" },
        ],
    })
}

/// As the daemon refuses what is too wide.
async fn save(State(records): State<Arc<Records>>, Json(rule): Json<Value>) -> Response {
    if rule["pattern"] == "cargo *" {
        let error = json!({ "error": "That is wider than Always goes. Name more of the command, or \
            add the line to the rules file." });
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(error)).into_response();
    }
    let by = json!({ "kind": "person", "platform": "inbox", "id": "chat:Ana", "name": "Ana" });
    let grant = json!({ "id": "g9", "scope": "always", "by": by, "agent": "the Rules page",
        "rule": format!("shell: {}", rule["pattern"].as_str().unwrap()),
        "created_at": "2026-11-22T10:00:00Z" });
    records.grants.lock().unwrap().push(grant.clone());
    Json(grant).into_response()
}

fn sessions() -> Value {
    json!({ "more": false, "sessions": [
        { "agent": "claude-code", "session": "s9", "host": "mill", "cwd": "/home/ana/shop",
          "mode": "yolo", "open": 2, "asks": ["a7f3", "zz99"],
          "last_seen": "2026-11-22T10:05:00Z" },
        { "agent": "codex", "session": "c1", "open": 0, "asks": [] },
    ] })
}

fn status() -> Value {
    json!({
        "version": "0.1.0", "store": { "problem": "The disk is full.", "fix": "Free some space." },
        "rules": "up", "log_key": { "problem": "log.key is gone", "fix": "put it back." },
        "daemon": "mill-1f.k3", "shared": false, "stopping": false,
        "adapters": {
            "telegram": { "state": "up", "leader": { "holder": "mill-1f.k3", "epoch": 4 } },
            "discord": { "state": "down", "detail": "the token was refused" },
        },
        "problems": ["Presses in discord are not received."],
        "late": [{ "adapter": "telegram", "target": "-1001", "cards": 3,
                   "since": "2026-11-22T10:05:00Z" }],
        "waiting": { "asks": 4, "oldest": "2026-11-22T10:00:00Z", "callers": 3 },
    })
}
