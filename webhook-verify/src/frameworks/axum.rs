//! For axum: the extractor, and responses without a body.

use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use serde::de::DeserializeOwned;

use crate::receiver::{Receiver, Rejection, Webhook};
use crate::replay::{HandleError, Handled};

impl<S, T, E> FromRequest<S> for Webhook<T, E>
where
    S: Send + Sync,
    T: DeserializeOwned,
    E: 'static,
    Receiver<E>: FromRef<S>,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        Receiver::<E>::from_ref(state).receive(request).await.map(Webhook)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        bare(self.status())
    }
}

impl<T> IntoResponse for Handled<T> {
    fn into_response(self) -> Response {
        bare(self.status())
    }
}

impl<E> IntoResponse for HandleError<E> {
    fn into_response(self) -> Response {
        bare(self.status())
    }
}

fn bare(status: u16) -> Response {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}
