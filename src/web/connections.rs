//! Serves HTTP/1 on a listener with limits on the number of connections, in total and per peer, and
//! on the time that each may take to send and read.
//!
//! A connection that has authenticated is *proven*. When all places are taken, unproven connections
//! are closed first, the oldest first; then proven ones without a request. A proven connection with
//! a request in progress, such as a wait or a stream, is never closed for another.

mod bodies;
mod files;
mod peer;
mod slow_reader;
mod table;

pub use bodies::KeptUntilWritten;
pub use files::as_far_as_files_reach;
pub use table::{Connection, ConnectionLimits};

use axum::{Router, body::Body, middleware::Next, serve::Listener};
use futures::FutureExt;
use hyper::{Request, Response, StatusCode, server::conn::http1, service};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
pub use peer::{Peer, Peered};
use slow_reader::Bounded;
use std::{convert::Infallible, net::IpAddr, pin::pin, sync::Arc, time::Duration};
use table::{Seat, Table};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The time limit for the head of a request, counted from the start of the connection or the end of
/// the last response. An idle connection is closed after it, too.
const HEAD: Duration = Duration::from_secs(30);

/// The address of a request's peer, among the request's extensions. A process has no address.
#[derive(Debug, Clone, Copy)]
pub struct PeerNetwork(pub IpAddr);

/// The error for a connection that finds no free place.
const FULL: &str = "too many connections are in use here, so this one is closed; try again, or \
    raise [limits] connections and connections_per_peer";

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
    let (table, tasks) = (Table::new(limits), TaskTracker::new());
    while let Some((mut io, _)) = drain.run_until_cancelled(listener.accept()).await {
        let Some(seat) = table.seat(io.peer()) else {
            tracing::warn!(peer = ?io.peer(), "no room for another connection");
            // Written without waiting: a peer that does not read must not delay other connections.
            let _ = io.write_all(full().as_bytes()).now_or_never();
            continue;
        };
        let peer = io.peer();
        tasks.spawn(attend(io, peer, (router.clone(), seat), drain.clone()));
    }
    tasks.close();
    tasks.wait().await;
}

/// Serves one connection until it ends, exceeds a time limit or is closed for another.
async fn attend<I>(io: I, peer: Peer, (router, seat): (Router, Seat), drain: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (connection, made_way) = (seat.connection(), seat.made_way());
    let router = TowerToHyperService::new(router);
    let service = service::service_fn(move |request| {
        answer(router.clone(), (connection.clone(), peer), request)
    });
    let io = TokioIo::new(Bounded::new(io, seat));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let mut served = pin!(server.serve_connection(io, service).with_upgrades());
    let mut draining = false;
    loop {
        tokio::select! {
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = made_way.cancelled() => return,
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

/// Answers one request, which counts as in progress until the end of its response is written.
async fn answer(
    router: TowerToHyperService<Router>,
    (connection, peer): (Arc<Connection>, Peer),
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Body>, Infallible> {
    let under_way = connection.begin();
    let mut request = request.map(bodies::in_time);
    request.extensions_mut().insert(connection);
    if let Peer::Address(address) = peer {
        request.extensions_mut().insert(PeerNetwork(address));
    }
    let response = service::Service::call(&router, request).await?;
    Ok(match response.status() {
        // An upgraded connection has no response body whose end we see; it stays in progress for
        // good.
        StatusCode::SWITCHING_PROTOCOLS => {
            under_way.until_it_ends();
            response
        }
        _ => bodies::under_way(response, under_way),
    })
}

/// Marks connections of the inbox as proven. The inbox checks its own key: a page that gets cards
/// or presses a button has sent it.
pub async fn prove_by_inbox(request: axum::extract::Request, next: Next) -> Response<Body> {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let path = request.uri().path();
    let keyed = matches!(path, "/inbox/events" | "/inbox/press") || path.starts_with("/inbox/api/");
    let response = next.run(request).await;
    if let Some(connection) = connection.filter(|_| keyed && response.status().is_success()) {
        connection.mark_proven();
    }
    response
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
