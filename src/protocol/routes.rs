//! The routes' paths, as the router takes them and the description lists them.

/// Calls are submitted here.
pub const CALLS: &str = "/v1/calls";
/// Asks are listed here.
pub const ASKS: &str = "/v1/asks";
/// One ask.
pub const ASK: &str = "/v1/asks/{id}";
/// An answer to an ask.
pub const ANSWER: &str = "/v1/asks/{id}/answer";
/// An ask is taken back.
pub const CANCEL: &str = "/v1/asks/{id}/cancel";
/// What happens, as server-sent events.
pub const EVENTS: &str = "/v1/events";
/// A session: `mode`, `abort` or `end`.
pub const SESSION: &str = "/v1/sessions/{id}/{act}";
/// Grants are listed here.
pub const GRANTS: &str = "/v1/grants";
/// One grant.
pub const GRANT: &str = "/v1/grants/{id}";
/// Nonces are made here.
pub const NONCE: &str = "/v1/nonce";
/// Whether the process is alive.
pub const HEALTHZ: &str = "/healthz";
/// The daemon's state.
pub const READYZ: &str = "/readyz";
/// Counters for Prometheus.
pub const METRICS: &str = "/metrics";
