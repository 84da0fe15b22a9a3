//! The reply to a request that cannot be served: a status and a sentence.

use axum::{
    Json,
    extract::rejection::{BytesRejection, QueryRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use countersign_domain::wire::ErrorReply;
use countersign_gate::{ApproverError, SubmitError, TooMuch};
use countersign_store::StoreError;

/// `Retry-After` in seconds, when a service is unavailable.
pub(super) const COME_BACK: &str = "2";

/// A refused request. It changes nothing and grants nothing.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    sentence: String,
    /// The value of `Retry-After`, in seconds.
    retry_after: Option<String>,
}

impl ApiError {
    /// An error with this status and sentence.
    #[must_use]
    pub fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        let unavailable = status == StatusCode::SERVICE_UNAVAILABLE;
        let retry_after = unavailable.then(|| COME_BACK.to_owned());
        Self { status, sentence: sentence.into(), retry_after }
    }

    /// The agent or session is over a limit; the reply names when to try again.
    fn too_much(TooMuch { why, after }: TooMuch) -> Self {
        let seconds = after.as_secs_f64().ceil().max(1.0);
        let retry_after = Some(format!("{seconds:.0}"));
        Self { status: StatusCode::TOO_MANY_REQUESTS, sentence: why, retry_after }
    }

    /// The request is invalid.
    #[must_use]
    pub fn bad_request(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }

    /// The named thing does not exist.
    #[must_use]
    pub fn not_found(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, sentence)
    }

    /// The request is understood, and cannot be served as it is.
    #[must_use]
    pub fn unprocessable(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    }

    /// It does not go with what is there.
    #[must_use]
    pub fn conflict(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, sentence)
    }

    /// It can be served later; the reply names when to try again.
    #[must_use]
    pub fn unavailable(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    }

    /// It was not served, and a retry does not help.
    #[must_use]
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, sentence)
    }

    /// Nobody knows who this is.
    #[must_use]
    pub fn unauthorized(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, sentence)
    }

    /// The handle does not permit this.
    #[must_use]
    pub fn forbidden(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, sentence)
    }
}

impl From<ApproverError> for ApiError {
    fn from(error: ApproverError) -> Self {
        match error {
            ApproverError::NotAllowed(stranger) => Self::forbidden(stranger.0),
            ApproverError::Store(error) => error.into(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorReply { error: self.sentence })).into_response();
        if self.status == StatusCode::PAYLOAD_TOO_LARGE {
            // The rest of the body is not read, so the connection cannot be used for another
            // request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let when = self.retry_after.and_then(|when| HeaderValue::try_from(when).ok());
        if let Some(when) = when {
            response.headers_mut().insert(header::RETRY_AFTER, when);
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a request failed");
        if error.is_of_a_row() {
            // 500 and not 503: a retry does not help.
            return Self::failed(format!("{error}; nothing may run"));
        }
        let sentence = match error {
            StoreError::Uncertain(_) => {
                "the connection to the store was lost, so it is unknown whether this was stored; \
                 repeat it, with the same key, to see"
            }
            _ => {
                "the store does not work at the moment; nothing was changed, and nothing may run. \
                 Try again; `countersign doctor` says what is wrong"
            }
        };
        Self::unavailable(sentence)
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Malformed(malformed) => Self::bad_request(malformed.0),
            SubmitError::KeyTaken(_) => Self::conflict(error.to_string()),
            SubmitError::NotThisAgent(why) => Self::forbidden(why),
            SubmitError::Stopping => Self::unavailable(error.to_string()),
            SubmitError::Unruled(why) => Self::unprocessable(why),
            SubmitError::TooMuch(too_much) => Self::too_much(too_much),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::new(rejection.status(), "the request is larger than 1 MiB");
        }
        Self::new(rejection.status(), "the request's body could not be read")
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        let text = rejection.body_text();
        let why = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        Self::bad_request(format!("invalid query: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_of_a_damaged_ask_is_told_so_and_not_to_try_again() {
        let ask = "k3f9".to_owned();
        let why = "it is not valid JSON".to_owned();
        let error = StoreError::DamagedAsk { ask, why };
        let sentence = format!("{error}; nothing may run");
        let response = ApiError::from(error);
        assert_eq!(response.sentence, sentence);
        let response = response.into_response();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers().get(header::RETRY_AFTER), None);
    }
}
