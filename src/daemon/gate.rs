//! Builds the gate from the config.

use super::{guardrail::guardrail, listen};
use crate::config::{self, ApproverSettings, Config, Profile};
use anyhow::{Result, anyhow, bail};
use countersign_domain::LATE_YES_S;
use countersign_gate::{Audience, Choices, Gate, GateSettings, OnTimeout, Policy};
use countersign_people::approvers::{Approvers, Local};
use countersign_profiles::DefaultTimeout;
use countersign_store::Store;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Opens the gate with these choices.
///
/// # Errors
/// When a grant cannot be written to the rules file.
pub(super) async fn open(store: Store, choices: Choices) -> Result<Arc<Gate>> {
    let gate = Gate::new(store, choices);
    gate.write_pending_grants().await?;
    Ok(gate)
}

/// The choices in the config, for the daemon with this name. `kept` is a policy that it already
/// has, if that is to stay.
///
/// # Errors
/// A sentence with the fix, for a rules file or a mode.
pub(super) fn choices(
    config: &Config,
    daemon: &str,
    audience: Vec<Audience>,
    kept: Option<Arc<Policy>>,
) -> Result<Choices> {
    let home = etcetera::home_dir().ok().map(|home| home.display().to_string());
    let path = rules_path(config);
    // The file at the default path may be absent. A path in the config must exist, or the daemon
    // would decide without the operator's rules.
    if config.policy.rules.is_some() && !path.exists() {
        bail!("[policy] rules names {}, which does not exist", path.display());
    }
    let policy = match kept {
        Some(policy) => policy,
        None => Arc::new(policy(config, &path, home.clone())?),
    };
    let (timeout_ms, on_timeout) =
        patience(&config.policy, policy.system().prompt_behaviour().timeout);
    let late_yes = config.policy.late_yes.map(|it| u32::try_from(it.as_secs()));
    let late_yes_s = late_yes.transpose()?.unwrap_or(LATE_YES_S);
    let settings = GateSettings {
        timeout_ms,
        late_yes_s,
        on_timeout,
        mode: config.policy.mode.clone(),
        home,
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        daemon: daemon.to_owned(),
        inbox: listen::base(&config.daemon),
        limits: config.limits.open,
        keep_ms: i64::try_from(config.store.keep.as_millis()).unwrap_or(i64::MAX / 2),
    };
    let approvers = approvers(&config.approvers);
    let routes = config.routes.clone();
    let reviews = config.reviews.clone();
    Ok(Choices { policy, approvers, audience, routes, reviews, settings })
}

/// What keeps a daemon from starting with the rules and the mode of this config, if something does.
#[must_use]
pub fn rules_problem(config: &Config) -> Option<String> {
    choices(config, "", Vec::new(), None).err().map(|error| format!("{error:#}"))
}

/// The path of the rules file: the configured one, or `permissions.jsonc` beside the config.
#[must_use]
pub fn rules_path(config: &Config) -> PathBuf {
    let beside = || config.path.as_ref()?.parent().map(|folder| folder.join("permissions.jsonc"));
    let named = config.policy.rules.clone().or_else(beside);
    named.unwrap_or_else(|| config.daemon.state_dir.join("permissions.jsonc"))
}

/// The approvers. Local answering is on while nobody else may answer, unless it is configured.
#[must_use]
pub fn approvers(named: &ApproverSettings) -> Approvers {
    let chats = named.chats.clone();
    let people = named.people.clone();
    let rules = named.rules.clone();
    let approvers = Approvers { chats, people, rules, local: Local::Off };
    let on = named.inbox.unwrap_or(!approvers.anybody());
    Approvers { local: if on { Local::On } else { Local::Off }, ..approvers }
}

/// The policy of the configured profile.
fn policy(config: &Config, rules: &Path, home: Option<String>) -> Result<Policy> {
    let wanted = &config.policy;
    // Other profiles have a configuration of their own, which they read only if it is named.
    let own = matches!(wanted.profile, Profile::Standard | Profile::Molf);
    let file = (own || wanted.rules.is_some()).then_some(rules);
    let guardrail = guardrail(config, rules);
    let policy = Policy::open(wanted.profile, file, home, guardrail, wanted.compat);
    let policy = policy.map_err(anyhow::Error::msg)?;
    if let Some(mode) = &wanted.mode {
        let checked = policy.system().check_mode(mode);
        checked.map_err(|why| anyhow!("[policy] `mode`: {why} (profile {})", wanted.profile))?;
    }
    if wanted.compat {
        tracing::warn!(profile = %wanted.profile, "compat is on: the profile answers as its system \
            does, where that is unsafe too");
    }
    Ok(policy)
}

/// The deadline of asks and its effect: as configured, or as in the profile's system.
fn patience(wanted: &config::PolicySettings, system: DefaultTimeout) -> (i64, OnTimeout) {
    const ORDINARY: Duration = Duration::from_secs(300);
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let (timeout, on_timeout) = match (system, wanted.timeout) {
        (DefaultTimeout::Wait, None) => (ORDINARY, OnTimeout::Wait),
        (_, Some(timeout)) => (timeout, OnTimeout::Deny),
        // FAIL-CLOSED: silence approves only tools that the operator has named.
        (DefaultTimeout::Deny(after) | DefaultTimeout::Approve(after), None) => {
            (seconds(after), OnTimeout::Deny)
        }
    };
    let on_timeout = match &wanted.on_timeout {
        None => {
            if matches!(system, DefaultTimeout::Approve(_)) {
                tracing::warn!(
                    "the policy's file approves on timeout, but [policy] approve_on_timeout names \
                     no tools: timeouts deny"
                );
            }
            on_timeout
        }
        Some(chosen) => chosen.clone(),
    };
    (i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2), on_timeout)
}
