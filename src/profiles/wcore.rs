//! The profile `wcore`: decides as wayland-core does.
//!
//! The stages are fixed: allow list, tools granted by name, mode, granted categories, granted
//! prefixes. A call that passes none of them asks. In the strict profile, a critical call and one
//! outside the workspace pass no stage but force, and a prefix must be accepted both by
//! wayland-core's text rules and by the scanner.

pub mod card;
mod config;
pub mod paths;
pub mod prefix;
pub mod question;
mod stage;

use countersign_policy::{
    call::Call, decision, decision::Decision, rules::Rule, tools::Kind, verdict::Verdict,
};

pub use crate::wcore::card::{DENIED_BY_HOST, TIMED_OUT, denied, reason, reason_of};
use crate::wcore::config::WcoreConfig;
pub use crate::wcore::config::{Category, ModeChange, ModeChangeSource, SessionMode, change};
pub use crate::wcore::stage::{ApprovalScope, RememberedApproval, asks_every_time};
use crate::wcore::stage::{Pass, Stage};
use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, OnDeny, OnDisconnect,
    PromptBehaviour, PromptChoice, System,
};

/// Seconds that an approval waits before it is denied.
pub const PATIENCE_S: u32 = 300;

/// wayland-core's rules with its own configuration.
#[derive(Clone, Debug, Default)]
pub struct Wcore {
    allow_list: Vec<String>,
    compat: bool,
}

/// Reads wayland-core's own configuration.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(text: Option<&str>, name: &str, compat: bool) -> Result<Box<dyn System>, String> {
    Wcore::read(text, name, compat).map(|wcore| Box::new(wcore) as Box<dyn System>)
}

impl Wcore {
    /// Reads wayland-core's own configuration.
    ///
    /// # Errors
    /// Sentences that name each mistake and its place.
    pub fn read(text: Option<&str>, name: &str, compat: bool) -> Result<Self, String> {
        let allow_list = WcoreConfig::read(text, name)?.tools.allow_list;
        Ok(Self { allow_list, compat })
    }

    /// Returns true when wayland-core's unsafe behaviour is enabled.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        self.compat
    }

    /// Sets what Always and Always-prefix would store.
    // INVARIANT: with the offered grants the same call is allowed.
    fn offer(&self, decision: &mut Decision, call: &Call, category: Category) {
        // Nothing is offered that no later call would accept.
        if asks_every_time(&call.tool)
            || call.kind() == Kind::Question
            || decision.critical && !self.compat
        {
            return;
        }
        decision.always = vec![Rule::allow(&call.tool, "*")];
        decision.prefix = match call.command() {
            Some(command) if self.compat => Some(prefix::infer_prefix(command))
                .filter(|prefix| !prefix.is_empty())
                .into_iter()
                .collect(),
            Some(command) if call.kind() == Kind::Shell => prefix::offers(command, category),
            _ => Vec::new(),
        };
    }
}

impl System for Wcore {
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String> {
        let mode = context.mode.map_or(Ok(SessionMode::Default), str::parse)?;
        let category = Category::of(call)?;
        let mut decision = decision::facts(call);
        let Self { allow_list, compat } = self;
        let stage =
            Stage { allow_list, compat: *compat, call, category, mode, grants: context.grants };
        // Force covers paths outside the workspace as well.
        if mode != SessionMode::Force
            && let Some(path) = paths::beyond(call, &context.grants.roots, !self.compat)
        {
            decision.reason = format!("{path} lies beyond the workspace.");
        } else if let Some(Pass { rule, reason }) = stage.pass(decision.critical) {
            decision.verdict = Verdict::Allow;
            decision.reason = reason;
            (decision.rule, decision.deciding_rule) = (Some(rule), None);
            // An allowed call has no card that would show them.
            decision.effects.clear();
        } else {
            self.offer(&mut decision, call, category);
        }
        Ok(decision)
    }

    fn prompt_behaviour(&self) -> PromptBehaviour {
        PromptBehaviour {
            choices: &[PromptChoice::Prefix, PromptChoice::Always],
            deny: OnDeny::GoOn,
            always: GrantLifetime::Session,
            timeout: DefaultTimeout::Deny(PATIENCE_S),
            cascade: false,
            on_disconnect: OnDisconnect::Deny,
        }
    }

    fn text_for_model(&self, _call: &Call, end: &CallEnd<'_>) -> Option<String> {
        reason(end).map(|reason| denied(&reason))
    }

    fn check_mode(&self, word: &str) -> Result<(), String> {
        word.parse::<SessionMode>().map(|_| ())
    }
}
