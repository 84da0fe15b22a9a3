//! Builds all parts of the daemon, starts them, and stops them.

mod accounts;
mod agents;
mod gate;
mod guardrail;
mod leading;
mod listen;
mod log_delivery;
mod reload;
mod store;
mod welcome;

pub(crate) use listen::token_file as inbox_token_file;

pub use gate::{approvers, rules_path, rules_problem};
pub use guardrail::guardrail;
pub use listen::Inherited;

use crate::config::Config;
use accounts::Accounts;
use anyhow::{Context, Result};
use countersign_bridge as bridge;
use countersign_gate::Gate;
use countersign_port::CancellationToken;
use countersign_store::{CLOCK_MS, LogSealer, Store, Tail, private};
use countersign_tokens::{ids, sha256_hex};
use countersign_web::{Api, Keys, connections};
use futures::FutureExt as _;
use reload::InForceLog;
use reload::Reloader;
use std::{fs, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};

/// The time for requests in progress to end when the daemon stops.
const DRAIN: Duration = Duration::from_secs(2);
/// The time for all tasks to end, the outbox included.
const LAST: Duration = Duration::from_secs(6);

/// The signal for exceeding the limit on file size; it has the same number on Linux and macOS.
const SIGXFSZ: i32 = 25;

/// Options of `serve` beyond the config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServeOptions {
    /// Opens a first ask, so that a new user has a button to press.
    pub demo: bool,
    /// Accepts the store that is found, or creates one if there is none.
    pub new_store: bool,
    /// Prints the inbox's address without the token that opens it.
    pub no_link: bool,
}

/// Runs the daemon until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot start; the message names the cause and the fix.
pub async fn run(
    mut config: Config,
    options: ServeOptions,
    mut inherited: Inherited,
) -> Result<()> {
    let state = &config.daemon.state_dir;
    private::own_folder(state).map_err(anyhow::Error::msg)?;
    // Bound before the store is opened: a second daemon must fail here, not at the store of the
    // first.
    let socket = inherited.unix_or_bind(&config.daemon.socket).await?;
    let tcp = inherited.tcp_or_bind(config.daemon.listen).await?;
    let address = tcp.listener.local_addr().context("the HTTP listener has no address")?;
    let started = config.clone();
    // Port 0 took a free port; the guardrail protects the actual address.
    config.daemon.listen = address;

    let (store, log) = open_store(&config, options.new_store).await?;
    let local = listen::InboxAddress::new(&config.daemon, &tcp)?;
    let daemon = name(&config);
    let accounts = Accounts::new(
        &local,
        (&config.daemon, config.oidc.as_ref(), config.ntfy.as_ref()),
        &daemon,
        &store,
    );
    config.report_left_out();
    let choices = gate::choices(&config, &daemon, accounts.audience(&config.chats), None)?;
    let gate = gate::open(store.clone(), choices).await?;
    // Taken before any task runs, so that no event of theirs is missed.
    let tail = Tail::of_now(&store).await?;
    let keys = Keys::new(
        config.daemon.agent_token.as_ref().map(countersign_tokens::secret::Token::hash),
        config.daemon.approver_token.as_ref().map(countersign_tokens::secret::Token::hash),
    );
    let stop = CancellationToken::new();
    let all = accounts.adapters();
    let leases = accounts.leases();
    let inbox = accounts.inbox.clone();
    inbox.serve_people_of(gate.clone());
    gate.ask_roles_of(Arc::new(bridge::AdapterRoles(all.clone())));
    let fixed = config.daemon.clone();
    let reloader =
        Reloader::new(started, fixed, (gate.clone(), log.clone()), accounts, stop.clone());
    reloader.serve().await;
    let api = Api {
        gate: gate.clone(),
        store: store.clone(),
        log: log.clone(),
        adapters: all.clone(),
        keys: Arc::new(keys),
        leases,
        turns: countersign_web::LargeReplies::default(),
        card: |ask| serde_json::json!(countersign_bridge::card::picture(ask)),
        title: bridge::card::title,
        reload: reload_by(&reloader),
        config: reloader.version(),
        codex: reloader.codex(),
        inbox: local.base(),
        notices: bridge::notices,
    };

    let mut tasks = JoinSet::new();
    keep_gate(&mut tasks, &gate, tail, &stop);
    keep_store(&mut tasks, &store, &log, &gate, &stop);
    let told = bridge::tell_notices(all.clone(), gate.clone(), store.clone());
    tasks.spawn(stop.clone().run_until_cancelled_owned(told).map(|_| ()));
    let in_force =
        InForceLog { store: store.clone(), gate: gate.clone(), reloader: reloader.clone() };
    tasks.spawn(in_force.keep(stop.clone()));
    let settings = config.log.clone();
    let to_send = store.clone();
    tasks.spawn(log_delivery::deliver(settings, to_send, daemon.clone(), stop.clone()));
    let drain = CancellationToken::new();
    let mut servers = JoinSet::new();
    let on_socket = countersign_web::on_socket(api.clone());
    let on_tcp = countersign_web::on_tcp(api, &inbox);
    // Each listener has its own limits, so that requests on one cannot exhaust the other.
    let limits = connections::as_far_as_files_reach(config.limits.connections);
    servers.spawn(connections::serve(socket.listener, on_socket, limits, drain.clone()));
    servers.spawn(connections::serve(tcp.listener, on_tcp, limits, drain.clone()));

    // Registered before "ready" is printed: a script may send SIGTERM as soon as it reads that
    // line.
    let told_to_stop = told_to_stop()?;
    tasks.spawn(reload_on_signal(&reloader, &stop)?);
    welcome::inbox_listens(&inbox).await;
    let link = welcome::link(&local, options.no_link);
    welcome::greet(&config, &local, &all.borrow(), address, &link);
    if options.demo {
        tasks.spawn(welcome::demo(gate.clone(), link));
    }
    told_to_stop.await;

    let running = Running { gate, store, log, reloader, tasks, servers, stop, drain };
    running.end().await;
    // A passed socket belongs to the service manager, which keeps listening on it for the next
    // start.
    if !socket.is_passed {
        let _ = fs::remove_file(&config.daemon.socket);
    }
    Ok(())
}

/// What runs until the daemon is told to stop.
struct Running {
    gate: Arc<Gate>,
    store: Store,
    log: Arc<LogSealer>,
    reloader: Arc<Reloader>,
    tasks: JoinSet<()>,
    servers: JoinSet<()>,
    /// Ends the tasks.
    stop: CancellationToken,
    /// Ends the servers.
    drain: CancellationToken,
}

impl Running {
    async fn end(mut self) {
        tracing::info!("stopping; open asks stay open and are taken up again at the next start");
        self.gate.stop();
        // A caller that submits now gets an error and tries again later. No press is accepted any
        // more; the outbox still shows the decisions made so far, and the leases are released.
        self.stop.cancel();
        let stopped = tokio::time::timeout(LAST, async {
            self.reloader.ended().await;
            while self.tasks.join_next().await.is_some() {}
        });
        if stopped.await.is_err() {
            self.tasks.abort_all();
        }
        // The servers stop last, so that waiting callers still get their replies.
        self.drain.cancel();
        let drained = tokio::time::timeout(DRAIN, async {
            while self.servers.join_next().await.is_some() {}
        });
        if drained.await.is_err() {
            self.servers.abort_all();
        }
        if let Err(error) = self.log.seal().await {
            tracing::warn!(%error, "the newest events are sealed at the next start");
        }
        self.store.close().await;
    }
}

async fn open_store(config: &Config, anew: bool) -> Result<(Store, Arc<LogSealer>)> {
    let store = store::open(config, anew).await?;
    if let Ok(ahead) = store.clock_ahead().await
        && ahead.abs() > CLOCK_MS
        && store.is_shared()
    {
        tracing::warn!(
            ahead_ms = ahead,
            "this machine's clock is wrong or the database's is; \
            deadlines go by the database's"
        );
    }
    let log = Arc::new(LogSealer::open(store.clone(), &config.daemon.state_dir)?);
    log.check_known().await?;
    log.check_key().await?;
    Ok((store, log))
}

/// Starts what the gate does without being asked.
fn keep_gate(tasks: &mut JoinSet<()>, gate: &Arc<Gate>, tail: Tail, stop: &CancellationToken) {
    spawn(tasks, gate, stop, |gate, stop| async move { gate.reap(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.take_steps(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.end_undo_windows(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.forget(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move {
        gate.make_digests(bridge::card::title, stop).await;
    });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.cancel_ended(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.uses.keep_written(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.allowed.keep_written(stop).await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.show_reviews(stop).await });
    spawn(tasks, gate, stop, |gate, _| async move { gate.cancel_orphans().await });
    spawn(tasks, gate, stop, |gate, stop| async move { gate.follow(tail, stop).await });
}

/// Starts what keeps the store and its log as they should be.
fn keep_store(
    tasks: &mut JoinSet<()>,
    store: &Store,
    log: &Arc<LogSealer>,
    gate: &Arc<Gate>,
    stop: &CancellationToken,
) {
    let log = log.clone();
    let gate = gate.clone();
    let stops = stop.clone();
    tasks.spawn(async move { log.keep_sealed(|| gate.choices().settings.keep_ms, stops).await });
    tasks.spawn(store.clone().watch_tables(stop.clone()));
    tasks.spawn(store.clone().keep_time(stop.clone()));
}

/// This daemon's name, for people and to distinguish processes: its host, a hash of its state
/// folder, and a random part for each start.
fn name(config: &Config) -> String {
    let state = config.daemon.state_dir.display().to_string();
    let place: String = sha256_hex(state.as_bytes()).chars().take(4).collect();
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

fn reload_by(reloader: &Arc<Reloader>) -> countersign_web::Reload {
    let reloader = reloader.clone();
    Arc::new(move || reloader.clone().reload().boxed())
}

/// Reloads the config at every SIGHUP, until `stop` is cancelled.
fn reload_on_signal(
    reloader: &Arc<Reloader>,
    stop: &CancellationToken,
) -> Result<impl Future<Output = ()> + use<>> {
    let mut hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let reloader = reloader.clone();
    let stop = stop.clone();
    Ok(async move {
        while let Some(Some(())) = stop.run_until_cancelled(hangup.recv()).await {
            // Logged there; nobody else is to be told.
            let _ = reloader.clone().reload().await;
        }
    })
}

fn told_to_stop() -> Result<impl Future<Output = ()>> {
    // Exceeding the limit on file size has to be a write error like a full disk; by default the
    // signal ends the process. tokio keeps its handler after `_heard` is dropped.
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
