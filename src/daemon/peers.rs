//! Tells the inbox who is at the other end of a connection.

use axum::{extract::Request, middleware::Next, response::Response};
use countersign_inbox::PeerAddress;
use countersign_web::connections::PeerNetwork;

/// Adds the peer's address to a request, as the inbox reads it.
pub(super) async fn of_inbox(mut request: Request, next: Next) -> Response {
    if let Some(PeerNetwork(address)) = request.extensions().get().copied() {
        request.extensions_mut().insert(PeerAddress(address));
    }
    next.run(request).await
}
