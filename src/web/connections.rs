//! Serves HTTP/1 on a listener with limits on the number of connections, in total and per peer, and
//! on the time that each may take to send and read.
//!
//! A connection that has authenticated is *proven* and never closed for another. One that has shown
//! nothing makes way, the oldest first, when a newcomer finds no free place.

mod bodies;

pub use bodies::KeptUntilWritten;

use axum::{Router, body::Body, serve::Listener};
use countersign_port::locked;
use futures::FutureExt;
use hyper::{Request, Response, server::conn::http1, service};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    net::IpAddr,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The time limit for the head of a request, counted from the start of the connection or the end of
/// the last response. An idle connection is closed after it, too.
const HEAD: Duration = Duration::from_secs(30);
/// The time in which a peer must read something of what is written to it.
// Otherwise neither the buffer nor the place would come free.
const STALLED: Duration = Duration::from_secs(30);
/// The open files that are no connections: the store, chats, rules files.
const OTHERS: u64 = 200;
/// The error for a connection that finds no free place.
const FULL: &str = "too many connections are in use here, so this one is closed; try again, or \
    raise [limits] connections and connections_per_peer";

/// The largest number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// In total.
    pub connections: usize,
    /// For one address, or for one process at the socket.
    pub per_peer: usize,
}

/// The connection of a request, among the request's extensions. Its place is free once this is
/// dropped.
#[derive(Debug)]
pub struct Connection {
    places: Arc<Places>,
    number: u64,
    peer: Peer,
    /// Cancelled when it has to make way.
    makes_way: CancellationToken,
}

/// The unit in which connections are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// An address; all loopback addresses count as one, and so does an IPv6 network of 64 bits.
    Address(IpAddr),
    /// A process on this machine.
    Process(Option<i32>),
}

/// A stream that knows its peer.
pub trait Peered {
    /// The other end.
    fn peer(&self) -> Peer;
}

/// The address of a request's peer, among the request's extensions. A process has no address.
#[derive(Debug, Clone, Copy)]
pub struct PeerNetwork(pub IpAddr);

/// Serves connections until `drain` is cancelled, then finishes the requests in progress.
pub async fn serve<L>(
    mut listener: L,
    router: Router,
    limits: ConnectionLimits,
    drain: CancellationToken,
) where
    L: Listener,
    L::Io: Peered,
{
    let places = Arc::new(Places { limits, taken: Mutex::default() });
    let tasks = TaskTracker::new();
    while let Some((mut io, _)) = drain.run_until_cancelled(listener.accept()).await {
        let peer = io.peer();
        let Some(connection) = places.take(peer) else {
            tracing::warn!(?peer, "no room for another connection");
            // Written without waiting: a peer that does not read must not delay other connections.
            let _ = io.write_all(full().as_bytes()).now_or_never();
            continue;
        };
        tasks.spawn(attend(io, Arc::new(connection), router.clone(), drain.clone()));
    }
    tasks.close();
    tasks.wait().await;
}

/// Raises the limit on open files for two listeners with these limits. Returns lower limits if the
/// system allows fewer: connections must not take the files that the store and the chats need.
pub fn as_far_as_files_reach(wanted: ConnectionLimits) -> ConnectionLimits {
    let needed = u64::try_from(wanted.connections).unwrap_or(u64::MAX / 4) * 2 + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` means no limit.
    let now = current.unwrap_or(u64::MAX);
    let most = maximum.unwrap_or(u64::MAX);
    if now >= needed {
        return wanted;
    }
    let more = Rlimit { current: Some(needed.min(most)), maximum };
    let now = if setrlimit(Resource::Nofile, more).is_ok() { needed.min(most) } else { now };
    let fit = fitting(wanted, now);
    if fit != wanted {
        tracing::warn!(
            wanted.connections,
            fit.connections,
            files = now,
            "this process may not open enough files for [limits] connections; raise its limit \
             (LimitNOFILE in systemd, ulimit -Hn in a shell)"
        );
    }
    fit
}

impl Connection {
    /// Records that the connection has authenticated: it makes way for nobody.
    pub fn mark_proven(&self) {
        locked(&self.places.taken).newcomers.remove(&self.number);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut taken = locked(&self.places.taken);
        taken.newcomers.remove(&self.number);
        // The place of one that made way is another's already.
        if !self.makes_way.is_cancelled() {
            taken.free(self.peer);
        }
    }
}

/// The places for the connections of one listener.
#[derive(Debug)]
struct Places {
    limits: ConnectionLimits,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// How many each peer has.
    peers: HashMap<Peer, usize>,
    /// Those that have shown nothing yet, the oldest first.
    newcomers: BTreeMap<u64, (Peer, CancellationToken)>,
}

impl Places {
    /// Takes a place for a new connection; `None` if none is free and nobody makes way.
    fn take(self: &Arc<Self>, peer: Peer) -> Option<Connection> {
        let mut taken = locked(&self.taken);
        // A peer with its full share closes one of its own connections, so that it cannot displace
        // others.
        if taken.peers.get(&peer).is_some_and(|own| *own >= self.limits.per_peer) {
            taken.make_way(|newcomer| newcomer == peer)?;
        } else if taken.peers.values().sum::<usize>() >= self.limits.connections {
            taken.make_way(|_| true)?;
        }
        let number = taken.next;
        let makes_way = CancellationToken::new();
        taken.next += 1;
        *taken.peers.entry(peer).or_default() += 1;
        taken.newcomers.insert(number, (peer, makes_way.clone()));
        Some(Connection { places: self.clone(), number, peer, makes_way })
    }
}

impl Taken {
    /// Closes the oldest of these connections that has shown nothing, if there is one.
    // SECURITY: a connection without a token never displaces one with a token.
    fn make_way(&mut self, among: impl Fn(Peer) -> bool) -> Option<()> {
        let mut newcomers = self.newcomers.iter();
        let oldest = newcomers.find(|(_, (peer, _))| among(*peer)).map(|(number, _)| *number)?;
        let (peer, makes_way) = self.newcomers.remove(&oldest)?;
        makes_way.cancel();
        self.free(peer);
        Some(())
    }

    fn free(&mut self, peer: Peer) {
        if let Some(own) = self.peers.get_mut(&peer) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                self.peers.remove(&peer);
            }
        }
    }
}

impl Peered for TcpStream {
    fn peer(&self) -> Peer {
        // A peer that has disconnected already is counted under this address.
        let gone = IpAddr::from([0, 0, 0, 0]);
        Peer::Address(self.peer_addr().map_or(gone, |address| network(address.ip())))
    }
}

impl Peered for UnixStream {
    fn peer(&self) -> Peer {
        // The process and not the user: only one user can open the socket, and one runaway agent
        // must not use up the places of the others.
        Peer::Process(self.peer_cred().ok().and_then(|peer| peer.pid()))
    }
}

/// The range from which one peer can choose its address: a single IPv6 host owns a whole /64.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address if address.is_loopback() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        address => address,
    }
}

/// Serves one connection until it ends, exceeds a time limit or makes way for another.
async fn attend<I>(io: I, connection: Arc<Connection>, router: Router, drain: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Send + 'static,
{
    let makes_way = connection.makes_way.clone();
    let router = TowerToHyperService::new(router);
    let service =
        service::service_fn(move |request| answer(router.clone(), connection.clone(), request));
    // Reads are not limited here: head and body of a request have time limits of their own.
    let mut io = TimeoutStream::new(io);
    io.set_write_timeout(Some(STALLED));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let served = server.serve_connection(TokioIo::new(Box::pin(io)), service).with_upgrades();
    let mut served = pin!(served);
    let mut draining = false;
    loop {
        tokio::select! {
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = makes_way.cancelled() => return,
            // `if !draining`: a cancelled token is ready at once each time, and would keep this
            // loop busy.
            () = drain.cancelled(), if !draining => {
                draining = true;
                // Finishes the request in progress and accepts no further one.
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn answer(
    router: TowerToHyperService<Router>,
    connection: Arc<Connection>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Body>, Infallible> {
    let mut request = request.map(bodies::in_time);
    if let Peer::Address(address) = connection.peer {
        request.extensions_mut().insert(PeerNetwork(address));
    }
    request.extensions_mut().insert(connection);
    Ok(bodies::kept(service::Service::call(&router, request).await?))
}

fn fitting(wanted: ConnectionLimits, files: u64) -> ConnectionLimits {
    let room = usize::try_from(files.saturating_sub(OTHERS) / 2).unwrap_or(usize::MAX).max(8);
    ConnectionLimits {
        connections: wanted.connections.min(room),
        per_peer: wanted.per_peer.min(room),
    }
}

fn full() -> String {
    let body = serde_json::json!({ "error": FULL }).to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 2\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests;
