//! The gate, which decides which calls need approval.

use chrono::{DateTime, TimeDelta, Utc};
use countersign_profiles::zeptoclaw::{
    config::{ApprovalConfig, DANGEROUS},
    ending,
    policy::ApprovalPolicy,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Checks calls against a policy.
#[derive(Clone, Debug)]
pub struct ApprovalGate {
    enabled: bool,
    policy: ApprovalPolicy,
    auto_approve_timeout_secs: u64,
}

impl ApprovalGate {
    /// The gate for a configuration. `RequireForDangerous` becomes `RequireForTools` with the
    /// configuration's list.
    #[must_use]
    pub fn new(config: ApprovalConfig) -> Self {
        Self {
            enabled: config.enabled,
            policy: ApprovalPolicy::of(&config),
            auto_approve_timeout_secs: config.auto_approve_timeout_secs,
        }
    }

    /// Returns whether a tool needs approval; always `false` while the gate is disabled.
    #[must_use]
    pub fn requires_approval(&self, tool_name: &str) -> bool {
        self.enabled && self.policy.requires(tool_name)
    }

    /// The question for a terminal or a chat.
    #[must_use]
    pub fn format_approval_request(&self, tool_name: &str, args: &Value) -> String {
        ending::prompt(tool_name, args)
    }

    /// Creates a request for a call, with the current time.
    #[must_use]
    pub fn create_request(&self, tool_name: &str, args: &Value) -> ApprovalRequest {
        ApprovalRequest::new(tool_name.to_owned(), args.clone(), self.auto_approve_timeout_secs)
    }

    /// The tools that are dangerous by default.
    #[must_use]
    pub fn default_dangerous_tools() -> Vec<String> {
        DANGEROUS.map(str::to_owned).into()
    }

    /// The effective policy.
    #[must_use]
    pub fn policy(&self) -> &ApprovalPolicy {
        &self.policy
    }

    /// Returns whether the gate is enabled.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }
}

/// A request for approval of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub arguments: Value,
    /// The time of the request.
    pub timestamp: DateTime<Utc>,
    /// The time at which silence approves; `None` waits without end. A daemon also requires the
    /// tool to be in its own list.
    pub auto_approve_at: Option<DateTime<Utc>>,
}

impl ApprovalRequest {
    /// A request with the current time; with 0 seconds silence never approves.
    #[must_use]
    pub fn new(tool_name: String, arguments: Value, auto_approve_timeout_secs: u64) -> Self {
        Self::made_at(Utc::now(), tool_name, arguments, auto_approve_timeout_secs)
    }

    /// Returns whether the deadline has passed.
    #[must_use]
    pub fn is_auto_approved(&self) -> bool {
        self.is_auto_approved_at(Utc::now())
    }

    // FAIL-CLOSED: a deadline beyond the calendar never comes.
    fn made_at(now: DateTime<Utc>, tool_name: String, arguments: Value, seconds: u64) -> Self {
        let span = i64::try_from(seconds).ok().and_then(TimeDelta::try_seconds);
        let at = span.filter(|span| !span.is_zero()).and_then(|span| now.checked_add_signed(span));
        Self { tool_name, arguments, timestamp: now, auto_approve_at: at }
    }

    fn is_auto_approved_at(&self, now: DateTime<Utc>) -> bool {
        self.auto_approve_at.is_some_and(|at| now >= at)
    }

    /// The whole seconds left, rounded up; `None` if silence never approves.
    pub(super) fn seconds_left(&self, now: DateTime<Utc>) -> Option<u64> {
        // At least 1 ms, so that a request past its deadline still gives the daemon one second.
        let left = self.auto_approve_at?.signed_duration_since(now).num_milliseconds().max(1);
        u64::try_from(left).ok().map(|left| left.div_ceil(1000))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{ApprovalConfig, ApprovalGate};
    use serde_json::json;

    const RECORDED: &str = include_str!("../../../tests/vectors/004-zeptoclaw/requests.jsonl");

    #[test]
    fn requests_keep_the_systems_clock() {
        let now = Utc::now();
        for row in RECORDED.lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            let seconds = row["timeout"].as_u64().unwrap();
            let request = if row["via"] == "gate" {
                let config =
                    ApprovalConfig { auto_approve_timeout_secs: seconds, ..Default::default() };
                ApprovalGate::new(config).create_request("shell", &json!({}))
            } else {
                ApprovalRequest::made_at(now, "shell".into(), json!({}), seconds)
            };
            let deadline = request.auto_approve_at.map(|at| (at - request.timestamp).num_seconds());
            if let Some(after) = row.get("deadline_after_secs") {
                assert_eq!(json!(deadline), *after, "{row}");
            }
            if let Some(has) = row.get("has_deadline") {
                assert_eq!(json!(deadline.is_some()), *has, "{row}");
            }
            if let Some(auto) = row.get("auto_now") {
                assert_eq!(json!(request.is_auto_approved()), *auto, "{row}");
            }
            if let Some(elapsed) = row.get("elapsed").and_then(Value::as_f64) {
                let after = TimeDelta::try_milliseconds((elapsed * 1000.0) as i64).unwrap();
                let auto = request.is_auto_approved_at(request.timestamp + after);
                assert_eq!(json!(auto), row["auto"], "{row}");
            }
        }
    }

    #[test]
    fn a_deadline_beyond_the_calendar_never_comes() {
        let request = ApprovalRequest::new("shell".into(), json!({}), u64::MAX);
        assert_eq!(request.auto_approve_at, None);
        assert!(!request.is_auto_approved());
    }

    #[test]
    fn a_request_reads_back_as_it_was_written() {
        let request = ApprovalRequest::new("shell".into(), json!({"command": "ls"}), 60);
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<ApprovalRequest>(&text).unwrap(), request);
        assert_eq!(request.seconds_left(request.timestamp), Some(60));
    }
}
