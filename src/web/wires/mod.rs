//! The protocols that other systems' plugins speak to a server, on our own server.

mod connectonion;
mod molf;

use super::state::Api;
use axum::Router;

/// The routes of all wires.
pub(super) fn routes() -> Router<Api> {
    connectonion::routes().merge(molf::routes())
}
