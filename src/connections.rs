//! HTTP/1 on a listener, with bounds: how many connections there are, how many of one peer, and how
//! long each may take for what it sends and reads.
//!
//! A connection that has shown a valid token is *proven*. When there are too many, those that have
//! shown none make way first, the oldest first; then proven ones between two requests. A proven
//! connection whose request is under way, such as a held one or a stream, never makes way.

mod bodies;
mod files;
mod peer;
mod slow_reader;
mod table;

pub use bodies::KeptUntilWritten;
pub(crate) use files::as_far_as_files_reach;
pub use table::{Connection, ConnectionLimits};

use axum::{Router, body::Body, middleware::Next, serve::Listener};
use futures::FutureExt;
use hyper::{Request, Response, StatusCode, server::conn::http1, service};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use peer::Peered;
use slow_reader::Bounded;
use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};
use table::{Seat, Table};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long the head of a request may take, from the start of the connection or the end of the last
/// response on: so an idle connection ends after this time too.
const HEAD: Duration = Duration::from_secs(30);

/// The error of a connection for which there is no room.
const FULL: &str = "too many connections are in use here, so this one is closed; try again, or \
    raise [limits] connections and connections_per_peer";

/// Serves until `drain`; then what is under way is served to its end.
pub(crate) async fn serve<L>(
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
            // What the socket does not take at once is not waited for.
            let _ = io.write_all(full().as_bytes()).now_or_never();
            continue;
        };
        tasks.spawn(attend(io, router.clone(), seat, drain.clone()));
    }
    tasks.close();
    tasks.wait().await;
}

/// Serves one connection until it ends, breaks a time limit or has to make way.
async fn attend<I>(io: I, router: Router, seat: Seat, drain: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (connection, made_way) = (seat.connection(), seat.made_way());
    let router = TowerToHyperService::new(router);
    let service =
        service::service_fn(move |request| answer(router.clone(), connection.clone(), request));
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
            () = drain.cancelled(), if !draining => {
                draining = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers one request, which is under way until the last of its response is written.
async fn answer(
    router: TowerToHyperService<Router>,
    connection: Arc<Connection>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Body>, Infallible> {
    let under_way = connection.begin();
    let mut request = request.map(bodies::in_time);
    request.extensions_mut().insert(connection);
    let response = service::Service::call(&router, request).await?;
    Ok(match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            under_way.until_it_ends();
            response
        }
        _ => bodies::under_way(response, under_way),
    })
}

/// For the inbox, which checks its own key: who gets cards or presses a button has shown it.
pub(crate) async fn prove_by_inbox(request: axum::extract::Request, next: Next) -> Response<Body> {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let keyed = matches!(request.uri().path(), "/inbox/events" | "/inbox/press");
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
