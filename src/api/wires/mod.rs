//! What the plugins of other systems speak to a server, on the server of our own API.

mod connectonion;
mod molf;

use super::state::Api;
use axum::Router;

/// The routes of all wires.
pub(super) fn routes() -> Router<Api> {
    connectonion::routes().merge(molf::routes())
}
