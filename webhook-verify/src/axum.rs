//! For axum: the extractor, and answers without a body.

use std::error::Error;

use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::receiver::{Receiver, Rejection, Webhook};
use crate::replay::{Once, OnceError};

impl<S, T> FromRequest<S> for Webhook<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
    Receiver: FromRef<S>,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let receiver = Receiver::from_ref(state);
        let (head, body) = request.into_parts();
        let checked = receiver.check(&head.headers)?;
        let body = read(body, receiver.limit()).await.map_err(|error| receiver.refuse(error, None, None))?;
        receiver.finish(checked, body.as_ref())
    }
}

async fn read(body: Body, limit: usize) -> Result<impl AsRef<[u8]> + Send, Rejection> {
    // The length that the sender announced, which saves reading what would be thrown away.
    if usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced <= limit) {
        Limited::new(body, limit).collect().await.map(|whole| whole.to_bytes()).map_err(|error| {
            // A layer around the router may have a limit of its own, wrapped in errors of its own.
            let mut causes = std::iter::successors(Some(&*error as &dyn Error), |error| (*error).source());
            if causes.any(|cause| cause.is::<LengthLimitError>()) {
                Rejection::TooLarge { limit }
            } else {
                Rejection::Unreadable
            }
        })
    } else {
        Err(Rejection::TooLarge { limit })
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        bare(self.status())
    }
}

impl<T, G> IntoResponse for Once<T, G> {
    fn into_response(self) -> Response {
        bare(self.status())
    }
}

impl<E, G> IntoResponse for OnceError<E, G> {
    fn into_response(self) -> Response {
        bare(self.status())
    }
}

fn bare(status: u16) -> Response {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}
