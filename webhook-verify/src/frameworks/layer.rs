//! For tower: a layer that lets genuine requests through and rejects all others.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;

use crate::receiver::Receiver;

/// A layer that passes genuine requests on and rejects all others with a bare status.
///
/// The body is passed on unchanged, and the request's extensions hold a `Verified<Bytes>`.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use shared_inbox_webhooks::{Event, Receiver, Secret, Verified, Verifier, VerifyLayer};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// async fn hook(request: Request<Full<Bytes>>) -> Result<Response<String>, std::convert::Infallible> {
///     let verified = request.extensions().get::<Verified<Bytes>>().expect("the layer is in front");
///     Ok(Response::new(match verified.parse::<Event>() {
///         Ok(event) => event.kind.event_type().to_owned(),
///         Err(error) => error.to_string(),
///     }))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let receiver = Receiver::new(Verifier::new([Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?]));
/// let service = ServiceBuilder::new().layer(VerifyLayer::new(receiver)).service(service_fn(hook));
/// let unsigned = Request::post("/hook").body(Full::new(Bytes::from("{}")))?;
/// assert_eq!(service.oneshot(unsigned).await?.status(), 400);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct VerifyLayer {
    receiver: Receiver,
}

impl VerifyLayer {
    /// Returns a layer with the settings of this receiver.
    #[must_use]
    pub fn new(receiver: Receiver) -> Self {
        Self { receiver }
    }
}

impl<S> Layer<S> for VerifyLayer {
    type Service = VerifyService<S>;

    fn layer(&self, inner: S) -> VerifyService<S> {
        VerifyService { receiver: self.receiver.clone(), inner }
    }
}

/// A service behind a [`VerifyLayer`]: it sees genuine requests only.
#[derive(Clone, Debug)]
pub struct VerifyService<S> {
    receiver: Receiver,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for VerifyService<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
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
            match receiver.bytes(&head.headers, body).await {
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
