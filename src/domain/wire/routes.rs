//! The paths of the routes, for the router and the API's description.

/// Submits a call.
pub const CALLS: &str = "/v1/calls";
/// Says whether a person approved a call ahead, such as its retry, and spends that.
pub const AHEAD: &str = "/v1/calls/ahead";
/// Lists asks.
pub const ASKS: &str = "/v1/asks";
/// One ask.
pub const ASK: &str = "/v1/asks/{id}";
/// Answers an ask.
pub const ANSWER: &str = "/v1/asks/{id}/answer";
/// Undoes the answer to an ask: revokes what it stored.
pub const UNDO: &str = "/v1/asks/{id}/undo";
/// Cancels an ask.
pub const CANCEL: &str = "/v1/asks/{id}/cancel";
/// The execution token of an approved ask.
pub const EXECUTION_TOKEN: &str = "/v1/asks/{id}/token";
/// Reports that an approved call starts, or has ended.
pub const EXECUTIONS: &str = "/v1/executions";
/// Lists parked runs.
pub const PARKED_RUNS: &str = "/v1/parked";
/// Parks the run whose call waits for this ask, or gives it up.
pub const PARKED: &str = "/v1/parked/{id}";
/// Gives the right to resume a parked run.
pub const RESUME_RUN: &str = "/v1/parked/{id}/resume";
/// Takes the answer of a parked call for the run that was resumed.
pub const TAKE: &str = "/v1/parked/{id}/take";
/// Reports that the process of a parked run has ended.
pub const PROCESS_ENDED: &str = "/v1/parked/{id}/ended";
/// Lists closed asks.
pub const HISTORY: &str = "/v1/history";
/// One ask in whole.
pub const RECORD: &str = "/v1/history/{id}";
/// What was asked in a time, in figures.
pub const DIGEST: &str = "/v1/digest";
/// The event log as server-sent events.
pub const EVENTS: &str = "/v1/events";
/// The log that proves itself.
pub const LOG: &str = "/v1/log";
/// The key that signs the log.
pub const LOG_KEY: &str = "/v1/log/key";
/// Lists sessions.
pub const SESSIONS: &str = "/v1/sessions";
/// A session: `mode`, `abort` or `end`.
pub const SESSION: &str = "/v1/sessions/{id}/{act}";
/// Lists grants.
pub const GRANTS: &str = "/v1/grants";
/// One grant.
pub const GRANT: &str = "/v1/grants/{id}";
/// Explains a call by the rules in force.
pub const EXPLAIN: &str = "/v1/rules/explain";
/// Says who could answer a call.
pub const APPROVERS: &str = "/v1/approvers/explain";
/// Says who can answer an ask.
pub const ASK_APPROVERS: &str = "/v1/asks/{id}/approvers";
/// Tries a rule on the latest closed asks.
pub const TRIAL: &str = "/v1/rules/try";
/// Everything is paused.
pub const PAUSE: &str = "/v1/pause";
/// A pause ends.
pub const RESUME: &str = "/v1/resume";
/// Puts a changed config in force.
pub const RELOAD: &str = "/v1/reload";
/// Begins a pairing.
pub const PAIRINGS: &str = "/v1/pairings";
/// A pairing.
pub const PAIRING: &str = "/v1/pairings/{id}";
/// The tokens of agents.
pub const TOKENS: &str = "/v1/tokens";
/// An agent's token.
pub const TOKEN: &str = "/v1/tokens/{name}";
/// Gives an agent another token.
pub const ROTATE_TOKEN: &str = "/v1/tokens/{name}/rotate";
/// Resumes an agent that a limit has paused.
pub const RESUME_TOKEN: &str = "/v1/tokens/{name}/resume";
/// The passkeys of people.
pub const PASSKEYS: &str = "/v1/passkeys";
/// A passkey.
pub const PASSKEY: &str = "/v1/passkeys/{id}";
/// Asks of nono, a sandbox.
pub const NONO: &str = "/v1/nono";
/// Messages of MCP.
pub const MCP: &str = "/mcp";
/// Makes a nonce.
pub const NONCE: &str = "/v1/nonce";
/// Replies while the process runs.
pub const HEALTHZ: &str = "/healthz";
/// The daemon's state.
pub const READYZ: &str = "/readyz";
/// Metrics for Prometheus.
pub const METRICS: &str = "/metrics";
