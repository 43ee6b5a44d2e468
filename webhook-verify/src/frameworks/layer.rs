//! For tower: a layer that lets genuine requests through and rejects all others.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use derive_where::derive_where;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;

use crate::endpoint::SoleEndpoint;
use crate::receiver::Receiver;

/// A layer that passes genuine requests on and rejects all others with a bare status.
///
/// The body is passed on unchanged, and the request's extensions hold a `Verified<Bytes>`, or a
/// `Verified<Bytes, E>` where the receiver is that of one of [several endpoints](crate::Endpoint).
#[derive_where(Clone, Debug)]
pub struct VerifyLayer<E = SoleEndpoint> {
    receiver: Receiver<E>,
}

impl<E> VerifyLayer<E> {
    /// Returns a layer with the settings of this receiver.
    #[must_use]
    pub fn new(receiver: Receiver<E>) -> Self {
        Self { receiver }
    }
}

impl<S, E> Layer<S> for VerifyLayer<E> {
    type Service = VerifyService<S, E>;

    fn layer(&self, inner: S) -> VerifyService<S, E> {
        VerifyService { receiver: self.receiver.clone(), inner }
    }
}

/// A service behind a [`VerifyLayer`]: it sees genuine requests only.
#[derive_where(Clone, Debug; S)]
pub struct VerifyService<S, E = SoleEndpoint> {
    receiver: Receiver<E>,
    inner: S,
}

impl<S, E, B, R> Service<Request<B>> for VerifyService<S, E>
where
    E: 'static,
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready; the clone takes its place.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let receiver = self.receiver.clone();
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            match receiver.receive_bytes(&head.headers, body).await {
                Ok(verified) => {
                    let body = Full::new((*verified).clone());
                    head.extensions.insert(verified);
                    inner.call(Request::from_parts(head, body)).await
                }
                Err(rejection) => {
                    let mut response = Response::new(R::default());
                    *response.status_mut() =
                        StatusCode::from_u16(rejection.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    Ok(response)
                }
            }
        })
    }
}
