//! What the handlers of the API take of a request, and what they return.

use crate::{Api, error::ApiError, handle::Handle};
use axum::{
    Json,
    body::Bytes,
    extract::{
        FromRequest, FromRequestParts, Query, Request,
        rejection::{BytesRejection, JsonRejection, QueryRejection},
    },
    http::request::Parts,
    response::Response,
};
use countersign_domain::exact_json;
use countersign_people::approvers::Who;
use serde::de::DeserializeOwned;
use std::convert::Infallible;

/// What a handler returns.
pub(super) type Reply<T = Response> = Result<T, ApiError>;

/// The same as JSON.
pub(super) type JsonReply<T> = Reply<Json<T>>;

/// A request's body, read whole. What is wrong with it is said when the handler asks for it: who may
/// not do something is told that first.
pub(super) struct Body(Result<Bytes, BytesRejection>);

/// A request's query; as [`Body`].
pub(super) struct Params<T>(Result<Query<T>, QueryRejection>);

/// A body that a page of the inbox sends as JSON.
pub(super) type Sent<T> = Result<Json<T>, JsonRejection>;

/// Who answers with a handle that may.
// SECURITY: an agent's handle never answers, on any surface.
pub(super) struct Answering(pub(super) Who);

impl Body {
    pub(super) fn bytes(self) -> Reply<Bytes> {
        Ok(self.0?)
    }

    /// The JSON of the body; the sentence names the error and its position.
    ///
    /// # Errors
    /// 400 with that sentence.
    pub(super) fn json<T: DeserializeOwned>(self) -> Reply<T> {
        json(&self.0?)
    }

    /// The same, where a body may be left out.
    pub(super) fn json_or_default<T: DeserializeOwned + Default>(self) -> Reply<T> {
        let body = self.0?;
        if body.is_empty() { Ok(T::default()) } else { json(&body) }
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Reply<T> {
    exact_json::object_from_slice(body).map_err(|error| unreadable(&error))
}

/// 400 for a body that cannot be parsed.
pub(super) fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::bad_request(format!("invalid body: {error}"))
}

/// What a page of the inbox has sent; a sentence for what cannot be that.
pub(super) fn sent<T>(body: Sent<T>, invalid: &str) -> Reply<T> {
    body.map(|Json(it)| it).map_err(|_| ApiError::unprocessable(invalid))
}

impl<T> Params<T> {
    pub(super) fn read(self) -> Reply<T> {
        Ok(self.0?.0)
    }
}

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Infallible> {
        Ok(Self(Bytes::from_request(request, state).await))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(Query::from_request_parts(parts, state).await))
    }
}

impl FromRequestParts<Api> for Api {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, api: &Api) -> Result<Self, Infallible> {
        Ok(api.clone())
    }
}

// FAIL-CLOSED: a route outside the guard has no handle, and its requests fail.
impl<S: Sync> FromRequestParts<S> for Handle {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Reply<Self> {
        let handle = parts.extensions.get().cloned();
        handle.ok_or_else(|| ApiError::unauthorized("a token is needed"))
    }
}

impl<S: Sync> FromRequestParts<S> for Answering {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Reply<Self> {
        Handle::from_request_parts(parts, state).await?.answerer().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{http::StatusCode, response::IntoResponse};

    #[tokio::test]
    async fn a_request_that_no_guard_has_seen_is_refused() {
        let (mut parts, ()) = Request::new(()).into_parts();
        let refused = [
            Handle::from_request_parts(&mut parts, &()).await.err(),
            Answering::from_request_parts(&mut parts, &()).await.err(),
        ];
        for refusal in refused {
            let status = refusal.map(|it| it.into_response().status());
            assert_eq!(status, Some(StatusCode::UNAUTHORIZED));
        }
    }
}
