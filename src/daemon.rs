//! Wires everything, starts it, drains it, stops it.

mod accounts;
mod gate;
mod inherited;
mod leading;
mod listen;
mod ours;
mod store;
mod welcome;

pub(crate) use listen::token_file as inbox_token_file;

pub use gate::{approvers, rules_path};
pub use inherited::Inherited;
pub use ours::guardrail;

use crate::{
    api::{self, Api, Keys, Surface},
    bridge,
    config::Config,
    connections, digest,
    gate::Gate,
    ids,
    store::{Tail, private},
};
use accounts::Accounts;
use anyhow::{Context, Result};
use axum::middleware;
use countersign_port::CancellationToken;
use std::{fs, sync::Arc, time::Duration};
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
/// When it cannot start; the message says what is in the way and how to fix it.
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
    let local = listen::Inbox::new(state, address)?;
    let daemon = name(&config);
    let accounts = Accounts::new(&config, &local, &daemon, store.is_shared());
    let (all, audience) = (accounts.adapters(), accounts.audience());
    let gate = gate::open(&config, store.clone(), daemon, audience).await?;
    let tail = Tail::of_now(&store).await?;
    let keys = Keys::new(
        config.daemon.agent_token.as_ref().map(crate::secret::Token::hash),
        config.daemon.approver_token.as_ref().map(crate::secret::Token::hash),
    );
    let leases = accounts.leases().collect();
    let api = Api {
        gate: gate.clone(),
        store: store.clone(),
        adapters: all.clone(),
        keys: Arc::new(keys),
        leases: Arc::new(leases),
        turns: api::LargeReplies::default(),
        card: |ask| serde_json::json!(crate::bridge::card::picture(ask)),
        inbox: local.base(),
        notices: bridge::notices,
    };

    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let page = accounts.page.clone();
    for account in accounts.into_leading(&store) {
        tasks.spawn(account.lead(gate.clone(), stop.clone()));
    }
    let (told, stops) = (all.clone(), stop.clone());
    tasks.spawn(async move {
        let _ = stops.run_until_cancelled(bridge::tell_notices(told)).await;
    });
    spawn(&mut tasks, &gate, &stop, |gate, stop| async move { gate.reap(stop).await });
    spawn(&mut tasks, &gate, &stop, |gate, stop| async move { gate.forget(stop).await });
    spawn(&mut tasks, &gate, &stop, |gate, _| async move { gate.cancel_orphans().await });
    spawn(&mut tasks, &gate, &stop, |gate, stop| async move { gate.follow(tail, stop).await });
    let drain = CancellationToken::new();
    let mut servers = JoinSet::new();
    let on_socket = api::router(api.clone(), Surface::Socket);
    let page = page.layer(middleware::from_fn(connections::prove_by_inbox));
    let on_tcp = api::router(api, Surface::Tcp).merge(page);
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

/// This daemon's name for people, and for telling processes apart: where it runs, and a random end.
fn name(config: &Config) -> String {
    let state = config.daemon.state_dir.display().to_string();
    let place: String = digest::sha256_hex(state.as_bytes()).chars().take(4).collect();
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    format!("{host}-{place}.{}", ids::ask_id())
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
