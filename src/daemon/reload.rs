//! Takes a changed config while the daemon runs, and notes in the log which config and which rules
//! are in force.
//!
//! Open asks and waiting callers are rows and waiters, which no config holds: they stay. What the
//! config decides is put in force in two steps, both prepared before the first: the gate's choices,
//! all at once, and then the chat accounts that changed.

use super::{accounts::Accounts, agents::AgentWatches, gate, guardrail::backups};
use crate::config::{Config, DaemonSettings};
use anyhow::{Result, anyhow};
use countersign_domain::wire::ReloadReply;
use countersign_gate::{Choices, Gate};
use countersign_port::CancellationToken;
use countersign_store::{LogSealer, Store, StoreError};
use countersign_tokens::{clock, sha256_hex};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::{Mutex, watch};

/// Puts changed configs in force.
pub(super) struct Reloader {
    /// The config as it was at the start: what cannot change is compared with it.
    started: Config,
    /// What is in force instead of the file's, because it cannot change.
    fixed: DaemonSettings,
    gate: Arc<Gate>,
    log: Arc<LogSealer>,
    running: Mutex<Running>,
    version: watch::Sender<Option<String>>,
    codex: watch::Sender<bool>,
    stop: CancellationToken,
}

/// What a reload replaces.
struct Running {
    config: Config,
    accounts: Accounts,
    watches: AgentWatches,
    /// The copies of the config that the guardrail in force protects.
    backups: Vec<PathBuf>,
}

impl Reloader {
    /// `started` is the config as it was read; `fixed` is what this daemon really listens on.
    pub(super) fn new(
        started: Config,
        fixed: DaemonSettings,
        (gate, log): (Arc<Gate>, Arc<LogSealer>),
        accounts: Accounts,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let version = watch::Sender::new(started.version.clone());
        let config = Config { daemon: fixed.clone(), ..started.clone() };
        let backups = backups_of(&config);
        let codex = watch::Sender::new(false);
        let watches = AgentWatches::new(&config.daemon, codex.clone());
        let running = Mutex::new(Running { config, accounts, watches, backups });
        Arc::new(Self { started, fixed, gate, log, running, version, codex, stop })
    }

    /// Serves the accounts of the config from now on.
    pub(super) async fn serve(&self) {
        let Running { config, accounts, watches, .. } = &mut *self.running.lock().await;
        accounts.serve(&config.chats, &self.gate, &self.stop);
        watches.watch(&config.agents, &self.stop);
    }

    /// The version of the config file that is in force, as it changes.
    pub(super) fn version(&self) -> watch::Receiver<Option<String>> {
        self.version.subscribe()
    }

    /// Whether the server of Codex is watched, as it changes.
    pub(super) fn codex(&self) -> watch::Receiver<bool> {
        self.codex.subscribe()
    }

    /// The rules file that is in force.
    pub(super) async fn rules_path(&self) -> PathBuf {
        gate::rules_path(&self.running.lock().await.config)
    }

    /// Reads the config again and puts it in force; the error says what is wrong with it, and then
    /// everything stays as it is.
    pub(super) async fn reload(self: Arc<Self>) -> Result<ReloadReply, String> {
        let log = self.log.clone();
        // A task of its own: a caller that leaves does not leave half a reload behind.
        let reloading = tokio::spawn(async move { self.replace().await });
        let reloaded = reloading.await.unwrap_or_else(|error| Err(anyhow!(error)));
        let key = log.look_again().await;
        match reloaded {
            Ok(mut reply) => {
                if let Some(problem) = key {
                    reply.message.push_str(&format!(" But {}: {}.", problem.says, problem.fix));
                }
                tracing::info!(message = reply.message, "the config was reloaded");
                Ok(reply)
            }
            Err(error) => {
                let why = format!("{error:#}");
                tracing::error!(why, "the config was not reloaded; the earlier one stays in force");
                Err(why)
            }
        }
    }

    /// Waits until all accounts and watches have ended.
    pub(super) async fn ended(&self) {
        let mut running = self.running.lock().await;
        running.watches.ended().await;
        running.accounts.ended().await;
    }

    // FAIL-CLOSED: everything that can fail happens before anything is replaced.
    async fn replace(&self) -> Result<ReloadReply> {
        let mut running = self.running.lock().await;
        let wanted = running.config.again()?;
        let restart = needs_restart(&self.started, &wanted);
        let config = self.with_fixed(wanted);
        let backups = backups_of(&config);
        let choices = self.choices(&running, &config, &backups)?;
        config.report_left_out();
        self.gate.adopt(choices).await;
        running.accounts.inbox.people_changed();
        // Afterwards, so that a new target finds every ask that has no card there yet.
        if !self.stop.is_cancelled() {
            running.accounts.serve(&config.chats, &self.gate, &self.stop);
            running.watches.watch(&config.agents, &self.stop);
        }
        self.version.send_replace(config.version.clone());
        running.backups = backups;
        running.config = config;
        Ok(ReloadReply { message: message(&restart), restart })
    }

    fn choices(&self, running: &Running, config: &Config, backups: &[PathBuf]) -> Result<Choices> {
        // Its rules file is read again whenever it changes, and its last good rules are worth
        // keeping. The guardrail in it follows from the same keys, and from what is fixed.
        let same = config.policy == running.config.policy
            && config.path == running.config.path
            && backups == running.backups
            && gate::rules_path(config) == gate::rules_path(&running.config);
        let kept = same.then(|| self.gate.choices().policy.clone());
        let audience = running.accounts.audience(&config.chats);
        gate::choices(config, self.gate.daemon(), audience, kept)
    }

    /// The config with what cannot change as it is in force.
    fn with_fixed(&self, wanted: Config) -> Config {
        let mut config = Config { daemon: self.fixed.clone(), ..wanted };
        config.store.database = self.started.store.database.clone();
        config.limits.connections = self.started.limits.connections;
        config
    }
}

/// The copies of a config, which hold tokens as it does.
// SECURITY: a copy that was made since is protected from the next reload on, wherever it is.
fn backups_of(config: &Config) -> Vec<PathBuf> {
    let mut copies = config.path.as_deref().map(backups).unwrap_or_default();
    copies.sort();
    copies
}

/// The keys whose change takes effect at the next start only.
fn needs_restart(started: &Config, wanted: &Config) -> Vec<String> {
    let before = &started.daemon;
    let after = &wanted.daemon;
    let limits = started.limits.connections;
    let wanted_limits = wanted.limits.connections;
    let changed = [
        ("daemon.socket", before.socket != after.socket),
        ("daemon.listen", before.listen != after.listen),
        ("daemon.public_url", before.public_url != after.public_url),
        ("daemon.allowed_hosts", before.allowed_hosts != after.allowed_hosts),
        ("daemon.passkeys", before.passkeys != after.passkeys),
        ("daemon.push", before.push != after.push),
        ("daemon.state_dir", before.state_dir != after.state_dir),
        ("daemon.agent_token", before.agent_token != after.agent_token),
        ("daemon.approver_token", before.approver_token != after.approver_token),
        ("store.url", started.store.database != wanted.store.database),
        ("log", started.log != wanted.log),
        ("oidc", started.oidc != wanted.oidc),
        ("ntfy", started.ntfy != wanted.ntfy),
        ("limits.connections", limits.connections != wanted_limits.connections),
        ("limits.connections_per_peer", limits.per_peer != wanted_limits.per_peer),
    ];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key.to_owned()).collect()
}

fn message(restart: &[String]) -> String {
    match restart {
        [] => "The daemon runs with this config now.".to_owned(),
        keys => format!(
            "The daemon runs with this config now. Restart the daemon for: {}.",
            keys.join(", ")
        ),
    }
}

/// How often it is looked whether they changed.
const LOOK: Duration = Duration::from_secs(1);

/// Notes in the log what is in force.
pub(super) struct InForceLog {
    pub(super) store: Store,
    pub(super) gate: Arc<Gate>,
    pub(super) reloader: Arc<Reloader>,
}

impl InForceLog {
    /// Notes it at the start and after each change, until told to stop.
    pub(super) async fn keep(self, stop: CancellationToken) {
        let mut config = Value::Null;
        let mut rules = Value::Null;
        while !stop.is_cancelled() {
            let noted = async {
                self.note("config", &mut config, self.config()).await?;
                self.note("rules", &mut rules, self.rules().await).await
            };
            if let Err(error) = noted.await {
                tracing::debug!(%error, "what is in force is noted in the log later");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(LOOK)).await;
        }
    }

    async fn note(&self, kind: &str, last: &mut Value, now: Value) -> Result<(), StoreError> {
        if *last == now {
            return Ok(());
        }
        self.store.note(clock::now_ms(), kind, None, &now).await?;
        *last = now;
        Ok(())
    }

    fn config(&self) -> Value {
        let version = self.reloader.version().borrow().clone();
        json!({"daemon": self.gate.daemon(), "version": version,
            "program": env!("CARGO_PKG_VERSION")})
    }

    /// The rules file as it is, and why the last good one is in force instead, if it is.
    async fn rules(&self) -> Value {
        let file = self.reloader.rules_path().await;
        let digest = tokio::fs::read(&file).await.ok().map(|bytes| sha256_hex(&bytes));
        json!({"daemon": self.gate.daemon(), "file": file, "digest": digest,
            "problem": self.gate.choices().policy.problem()})
    }
}
