//! Wires everything, starts it, drains it, stops it.

mod adapters;
mod inherited;
mod leading;
mod listen;
mod ours;
mod store;
mod welcome;

pub(crate) use listen::token_file as inbox_token_file;

pub use inherited::Inherited;

use crate::{
    api::{self, Api, Keys, Surface},
    bridge::{self, Adapters},
    config::{self, Approvers as Named, Config, OnTimeout as Timeout, Profile},
    connections, digest,
    gate::{
        Audience, Gate, OnTimeout, Policy, Settings,
        approvers::{Approvers, Local},
    },
    ids,
    store::{Store, Tail, private},
};
use anyhow::{Context, Result, bail};
use axum::middleware;
use countersign_port::{CancellationToken, NamedAdapter};
use countersign_profiles::DefaultTimeout;
use leading::Account;
pub use ours::guardrail;
use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};

/// How long open requests may take to end when the daemon stops.
const DRAIN: Duration = Duration::from_secs(2);
/// How long everything else may take, the outbox included.
const LAST: Duration = Duration::from_secs(6);

/// The signal for a file that became too large; Linux and macOS agree on its number.
const SIGXFSZ: i32 = 25;

/// What `serve` was asked for beyond the config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServeOptions {
    /// Open a first ask, so that a newcomer has something to press.
    pub demo: bool,
    /// Whatever store is found is the store from now on, or a fresh one where there is none.
    pub new_store: bool,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot start; the message says what is in the way and how to mend it.
pub async fn run(
    mut config: Config,
    options: ServeOptions,
    mut inherited: Inherited,
) -> Result<()> {
    let state = &config.daemon.state_dir;
    private::own_folder(state).map_err(anyhow::Error::msg)?;
    // Bound first: a second daemon must not touch the store of the one that runs.
    let passed = inherited.unix(&config.daemon.socket)?;
    let socket_is_passed = passed.is_some();
    let socket = match passed {
        Some(socket) => socket,
        None => listen::unix(&config.daemon.socket).await?,
    };
    let tcp = match inherited.tcp(config.daemon.listen)? {
        Some(tcp) => tcp,
        None => listen::tcp(config.daemon.listen).await?,
    };
    let address = tcp.local_addr().context("the HTTP listener has no address")?;
    // Port 0 took a free one; that is the address that agents must not reach for.
    config.daemon.listen = address;

    let store = store::open(&config, options.new_store).await?;
    let gate = gate(&config, &store).await?;
    let tail = Tail::of_now(&store).await?;
    let local = listen::Inbox::new(state, address)?;
    let adapters::Adapters { all, inbox } = adapters::build(&config, &local);
    let accounts = accounts(&config, &gate, &store, &all);
    let keys = Keys::new(
        config.daemon.agent_token.as_ref().map(crate::secret::Token::hash),
        config.daemon.approver_token.as_ref().map(crate::secret::Token::hash),
    );
    let leases = accounts.iter().map(|at| (at.adapter.name, at.lease.clone())).collect();
    let api = Api {
        gate: gate.clone(),
        store: store.clone(),
        adapters: all.clone().into(),
        keys: Arc::new(keys),
        leases: Arc::new(leases),
        turns: api::Turns::default(),
        card: |ask| serde_json::json!(crate::bridge::card::picture(ask)),
        inbox: local.base(),
        notices: bridge::notices,
    };

    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    for account in accounts {
        tasks.spawn(account.lead(gate.clone(), stop.clone()));
    }
    let (told, stops) = (all.clone().into(), stop.clone());
    tasks.spawn(async move {
        let _ = stops.run_until_cancelled(bridge::tell_notices(told)).await;
    });
    spawn(&mut tasks, &gate, &stop, |gate, stop| async move { gate.reap(stop).await });
    spawn(&mut tasks, &gate, &stop, |gate, stop| async move { gate.forget(stop).await });
    spawn(&mut tasks, &gate, &stop, |gate, _| async move { gate.reunite().await });
    spawn(&mut tasks, &gate, &stop, |gate, stop| async move { gate.follow(tail, stop).await });
    let drain = CancellationToken::new();
    let mut servers = JoinSet::new();
    let on_socket = api::router(api.clone(), Surface::Socket);
    let inbox = inbox.layer(middleware::from_fn(connections::prove_by_inbox));
    let on_tcp = api::router(api, Surface::Tcp).merge(inbox);
    // Each has its own connections, so that neither takes the other's.
    let limits = connections::as_far_as_files_reach(config.limits.connections);
    servers.spawn(connections::serve(socket, on_socket, limits, drain.clone()));
    servers.spawn(connections::serve(tcp, on_tcp, limits, drain.clone()));

    // Before "ready" is said: whoever reads it may say stop at once.
    let told_to_stop = told_to_stop()?;
    welcome::greet(&config, &local, &all, address);
    if options.demo {
        tasks.spawn(welcome::demo(gate.clone(), local.url()));
    }
    told_to_stop.await;

    tracing::info!("stopping; open asks stay open and are taken up again at the next start");
    gate.stop();
    // Whoever hands in a call meanwhile is told to come back. No press is taken any more; what was
    // decided is still shown, and the leases are given back.
    stop.cancel();
    let stopped = tokio::time::timeout(LAST, async { while tasks.join_next().await.is_some() {} });
    if stopped.await.is_err() {
        tasks.abort_all();
    }
    drain.cancel();
    let drained =
        tokio::time::timeout(DRAIN, async { while servers.join_next().await.is_some() {} });
    if drained.await.is_err() {
        servers.abort_all();
    }
    store.close().await;
    if !socket_is_passed {
        let _ = fs::remove_file(&config.daemon.socket);
    }
    Ok(())
}

async fn gate(config: &Config, store: &Store) -> Result<Arc<Gate>> {
    let home = etcetera::home_dir().ok().map(|home| home.display().to_string());
    let path = rules_path(config);
    if config.policy.rules.is_some() && !path.exists() {
        bail!("[policy] rules names {}, and there is no such file", path.display());
    }
    let policy = policy(config, &path, home.clone())?;
    let (timeout_ms, on_timeout) =
        patience(&config.policy, policy.system().prompt_behaviour().timeout);
    let settings = Settings {
        timeout_ms,
        on_timeout,
        mode: config.policy.mode.clone(),
        home,
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        daemon: name(config),
        limits: config.limits.open,
        keep_ms: i64::try_from(config.store.keep.as_millis()).unwrap_or(i64::MAX / 2),
    };
    let approvers = approvers(&config.approvers);
    let audience = audience(config, &inbox_target(store, &settings.daemon));
    let gate = Gate::new(store.clone(), policy, approvers, audience, settings);
    gate.write_pending_grants().await?;
    Ok(gate)
}

/// The policy of the configured profile.
fn policy(config: &Config, rules: &Path, home: Option<String>) -> Result<Policy> {
    let wanted = &config.policy;
    let own = matches!(wanted.profile, Profile::Standard | Profile::Molf);
    let file = (own || wanted.rules.is_some()).then_some(rules);
    let guardrail = guardrail(config, rules);
    let policy = Policy::open(wanted.profile, file, home, guardrail, wanted.compat);
    let policy = policy.map_err(anyhow::Error::msg)?;
    if let Some(mode) = &wanted.mode
        && !policy.system().has_mode(mode)
    {
        bail!("[policy] `mode` \"{mode}\" is no mode of the profile {}", wanted.profile);
    }
    if wanted.compat {
        tracing::warn!(profile = %wanted.profile, "compat is on: the profile answers as its system \
            does, where that is unsafe too");
    }
    Ok(policy)
}

/// How long a person has, and what happens then: as configured, else as in the profile's system.
fn patience(wanted: &config::Policy, system: DefaultTimeout) -> (i64, OnTimeout) {
    const ORDINARY: Duration = Duration::from_secs(300);
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let (timeout, on_timeout) = match (system, wanted.timeout) {
        (DefaultTimeout::Wait, None) => (ORDINARY, OnTimeout::Wait),
        (_, Some(timeout)) => (timeout, OnTimeout::Deny),
        // FAIL-CLOSED: silence approves only where the operator has named the tools.
        (DefaultTimeout::Deny(after) | DefaultTimeout::Approve(after), None) => {
            (seconds(after), OnTimeout::Deny)
        }
    };
    let on_timeout = match &wanted.on_timeout {
        None => {
            if matches!(system, DefaultTimeout::Approve(_)) {
                tracing::warn!(
                    "the policy's file wants silence to approve, and [policy] \
                    approve_on_timeout names no tools: silence denies"
                );
            }
            on_timeout
        }
        Some(Timeout::Deny) => OnTimeout::Deny,
        Some(Timeout::Wait) => OnTimeout::Wait,
        Some(Timeout::Approve(tools)) => OnTimeout::Approve(tools.clone()),
    };
    (i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2), on_timeout)
}

/// The rules file: the one that is named, or `permissions.jsonc` beside the config.
#[must_use]
pub fn rules_path(config: &Config) -> PathBuf {
    let beside = || config.path.as_ref()?.parent().map(|folder| folder.join("permissions.jsonc"));
    let named = config.policy.rules.clone().or_else(beside);
    named.unwrap_or_else(|| config.daemon.state_dir.join("permissions.jsonc"))
}

/// Who may answer. Local answering is on until a chat approver is there, unless it is named.
#[must_use]
pub fn approvers(named: &Named) -> Approvers {
    let approvers = Approvers {
        telegram: named.telegram.clone(),
        discord: named.discord.clone(),
        discord_roles: named.discord_roles.clone(),
        local: Local::Off,
    };
    let on = named.inbox.unwrap_or(!approvers.has_chat_approver());
    Approvers { local: if on { Local::On } else { Local::Off }, ..approvers }
}

/// This daemon's name for people, and for telling processes apart: where it runs, and a random end.
fn name(config: &Config) -> String {
    let state = config.daemon.state_dir.display().to_string();
    let place: String = digest::sha256_hex(state.as_bytes()).chars().take(4).collect();
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    format!("{host}-{place}.{}", ids::ask_id())
}

/// The inbox is each daemon's own, and so are its cards.
fn inbox_target(store: &Store, daemon: &str) -> String {
    match store.is_shared() {
        true => format!("inbox@{daemon}"),
        false => "inbox".to_owned(),
    }
}

fn audience(config: &Config, inbox: &str) -> Vec<Audience> {
    let at = |adapter: &str, target: String| Audience { adapter: adapter.to_owned(), target };
    let telegram = config.telegram.iter().flat_map(|telegram| &telegram.targets).map(|target| {
        let topic = target.topic.map(|topic| format!("/{topic}")).unwrap_or_default();
        at("telegram", format!("{}{topic}", target.chat))
    });
    let discord = config.discord.iter().flat_map(|discord| &discord.targets);
    let discord = discord.map(|target| at("discord", target.channel.clone()));
    let mut audience = vec![at("inbox", inbox.to_owned())];
    audience.extend(telegram.filter(|_| cfg!(feature = "telegram")));
    audience.extend(discord.filter(|_| cfg!(feature = "discord")));
    audience
}

/// The accounts that this daemon may lead.
fn accounts(
    config: &Config,
    gate: &Gate,
    store: &Store,
    adapters: &[NamedAdapter],
) -> Vec<Account> {
    let audience = audience(config, &inbox_target(store, gate.daemon()));
    let all: Adapters = adapters.into();
    let account = |adapter: &NamedAdapter| {
        let name = adapter.name;
        let token = match name {
            "telegram" => config.telegram.as_ref().map(|telegram| telegram.token.reveal()),
            "discord" => config.discord.as_ref().map(|discord| discord.token.reveal()),
            _ => None,
        };
        let own = || leading::own_lease(gate.daemon());
        let here = audience.iter().filter(|place| place.adapter == name);
        Account {
            adapter: adapter.clone(),
            adapters: all.clone(),
            lease: token.map_or_else(own, |token| leading::lease(name, token)),
            targets: here.map(|place| place.target.clone()).collect(),
            store: store.clone(),
        }
    };
    adapters.iter().map(account).collect()
}

fn spawn<F: Future<Output = ()> + Send + 'static>(
    tasks: &mut JoinSet<()>,
    gate: &Arc<Gate>,
    stop: &CancellationToken,
    task: impl FnOnce(Arc<Gate>, CancellationToken) -> F,
) {
    tasks.spawn(task(gate.clone(), stop.clone()));
}

fn told_to_stop() -> Result<impl Future<Output = ()>> {
    // A limit on the size of files is a full disk, not a reason to die. Heard once, never fatal.
    let _heard = signal(SignalKind::from_raw(SIGXFSZ)).context("cannot listen for SIGXFSZ")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Makes a folder that only this user can enter, unless it is there.
pub(crate) fn private_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot make the folder {}", path.display()))
}
