//! The web room: the HTTP API, JSON over the unix socket and TCP, other systems' wires on the same
//! server, and the inbox, which is a page on it.
//!
//! There are three handles: an agent's may open asks and read their answers; the approver's may
//! answer; the inbox's page reads, and answers as the inbox where that may.

mod asks;
mod authenticate;
pub mod connections;
mod connectonion;
mod digest;
mod error;
mod events;
mod executions;
mod grants;
mod handle;
mod health;
mod history;
mod inbox;
mod log;
mod mcp;
mod metrics;
mod molf;
mod nono;
mod parked;
mod people;
mod request;
mod rules;
mod sessions;
mod tokens;
mod turns;

pub use asks::view;
pub use error::ApiError;
pub use handle::{Handle, Keys, NamedAgent, Surface};
pub use inbox::{
    Inbox, InboxConfig, NtfyConfig, OidcClaim, OidcSettings, People, PublicUrl, PushConfig,
    PushShows, is_topic, try_provider,
};
pub use turns::LargeReplies;

use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    http::{Method, StatusCode},
    middleware,
    routing::{delete, get, post},
};
use countersign_domain::{
    Owner,
    wire::{ReloadReply, routes},
};
use countersign_gate::{Gate, ask::Ask};
use countersign_port::NamedAdapter;
use countersign_store::{LogSealer, Store};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::watch;

/// The largest request body, in bytes.
pub(crate) const LARGEST: usize = 1 << 20;

/// Puts a changed config in force; the error says what is wrong with it.
pub type Reload = Arc<dyn Fn() -> BoxFuture<'static, Result<ReloadReply, String>> + Send + Sync>;

/// The state that the routes share.
#[derive(Clone)]
pub struct Api {
    /// The core.
    pub gate: Arc<Gate>,
    /// The store, to read asks, grants, events and leases.
    pub store: Store,
    /// Seals the log.
    pub log: Arc<LogSealer>,
    /// The adapters, for the health routes.
    pub adapters: watch::Receiver<Arc<[NamedAdapter]>>,
    /// The tokens, as hashes.
    pub keys: Arc<Keys>,
    /// The leases of the adapters' accounts, by adapter; the holder leads.
    pub leases: watch::Receiver<BTreeMap<&'static str, String>>,
    /// Limits how many large replies exist at once.
    pub turns: LargeReplies,
    /// Renders an ask as people see it, without buttons.
    pub card: fn(&Ask) -> Value,
    /// The first line of an ask's card.
    pub title: fn(&Ask) -> String,
    /// Puts a changed config in force.
    pub reload: Reload,
    /// The version of the config file that is in force.
    pub config: watch::Receiver<Option<String>>,
    /// Whether the server of Codex is watched.
    pub codex: watch::Receiver<bool>,
    /// The inbox's address, without its token.
    pub inbox: String,
    /// Notices for people, such as a chat whose presses are not received.
    pub notices: fn(&[NamedAdapter]) -> Vec<String>,
}

/// The routes of the unix socket.
pub fn on_socket(api: Api) -> Router {
    routes_of(api, Surface::Socket)
}

/// The routes of the TCP listener: the API, and the inbox with what its page reads.
pub fn on_tcp(api: Api, inbox: &Inbox) -> Router {
    let read = inbox.guarded(page_routes().with_state(api.clone()));
    routes_of(api, Surface::Tcp).merge(inbox.router()).merge(read)
}

/// What the inbox's page reads: routes of the API under `/inbox/api`.
// SECURITY: they take no token, so they stand behind the guard of the page, which alone gives a
// request its handle.
fn page_routes() -> Router<Api> {
    Router::new()
        .route("/inbox/api/history", get(history::list))
        .route("/inbox/api/history/{id}", get(history::get))
        .route("/inbox/api/grants", get(grants::list))
        .route("/inbox/api/grants/{id}", delete(grants::revoke))
        .route("/inbox/api/rules/explain", post(rules::explain))
        .route("/inbox/api/approvers/explain", post(people::approvers))
        .route("/inbox/api/asks/{id}/approvers", get(people::approvers_of_ask))
        .route("/inbox/api/rules/try", post(rules::try_rule))
        .route("/inbox/api/rules/save", post(rules::save))
        .route("/inbox/api/sessions", get(sessions::list))
        .route("/inbox/api/status", get(health::readyz))
        .layer(Extension(Owner::by("inbox")))
}

/// The routes of the API on one surface.
fn routes_of(api: Api, surface: Surface) -> Router {
    let guarded = Router::new()
        .route(routes::CALLS, post(asks::submit))
        .route(routes::AHEAD, post(asks::ahead))
        .route(routes::ASKS, get(asks::list))
        .route(routes::ASK, get(asks::get))
        .route(routes::ANSWER, post(asks::answer))
        .route(routes::UNDO, post(asks::undo))
        .route(routes::CANCEL, post(asks::cancel))
        .route(routes::EXECUTION_TOKEN, get(executions::token))
        .route(routes::EXECUTIONS, post(executions::report))
        .route(routes::EVENTS, get(events::stream))
        .route(routes::PARKED_RUNS, get(parked::list))
        .route(routes::PARKED, post(parked::park).delete(parked::give_up))
        .route(routes::RESUME_RUN, post(parked::resume))
        .route(routes::TAKE, post(parked::take))
        .route(routes::PROCESS_ENDED, post(parked::ended))
        .route(routes::HISTORY, get(history::list))
        .route(routes::RECORD, get(history::get))
        .route(routes::DIGEST, get(digest::get))
        .route(routes::LOG, get(log::page))
        .route(routes::LOG_KEY, post(log::change_key))
        .route(routes::SESSIONS, get(sessions::list))
        .route(routes::SESSION, post(sessions::act))
        .route(routes::PAUSE, post(sessions::pause))
        .route(routes::RESUME, post(sessions::resume))
        .route(routes::RELOAD, post(health::reload))
        .route(routes::EXPLAIN, post(rules::explain))
        .route(routes::APPROVERS, post(people::approvers))
        .route(routes::ASK_APPROVERS, get(people::approvers_of_ask))
        .route(routes::TRIAL, post(rules::try_rule))
        .route(routes::PAIRINGS, post(people::begin_pairing))
        .route(routes::PAIRING, get(people::pairing))
        .route(routes::GRANTS, get(grants::list))
        .route(routes::GRANT, delete(grants::revoke))
        .route(routes::TOKENS, get(tokens::list).post(tokens::add))
        .route(routes::TOKEN, delete(tokens::revoke))
        .route(routes::ROTATE_TOKEN, post(tokens::rotate))
        .route(routes::RESUME_TOKEN, post(tokens::resume))
        .route(routes::PASSKEYS, get(people::passkeys))
        .route(routes::PASSKEY, delete(people::remove_passkey))
        .route(routes::NONO, post(nono::decide))
        .route(routes::MCP, post(mcp::receive).delete(mcp::end))
        .layer(Extension(Arc::new(mcp::WaitingTools::default())))
        .merge(connectonion::routes())
        .merge(molf::routes())
        // Inside the guard: without a token, an unknown route is 401 like any other.
        .route("/v1/{*rest}", axum::routing::any(no_such_route))
        .method_not_allowed_fallback(no_such_method)
        .route_layer(middleware::from_fn_with_state(
            (api.clone(), surface),
            authenticate::authenticate,
        ));
    guarded
        .route(routes::NONCE, get(authenticate::nonce))
        .route(routes::HEALTHZ, get(health::healthz))
        .route(routes::READYZ, get(health::readyz))
        .route(routes::METRICS, get(metrics::metrics))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(api)
}

async fn no_such_route() -> ApiError {
    ApiError::not_found("there is no such route; docs/api.md lists them all")
}

async fn no_such_method(method: Method) -> ApiError {
    let why = format!("this route takes no {method}; docs/api.md lists them all");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, why)
}
