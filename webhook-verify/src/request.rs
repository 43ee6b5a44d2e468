//! Requests of the `http` crate, with a body of any kind: hyper, a function platform, a Worker.

use std::error::Error;

use bytes::Bytes;
use http::Request;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::receiver::{Receiver, Rejection};
use crate::verified::{ParseError, Verified, VerifiedBody};

impl Receiver {
    /// Takes a request of any server that speaks `http` 1: headers are judged before anything of the body is read, then the
    /// body up to the limits. Respond to a [`Rejection`] with its status and an empty body.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::Full;
    /// use shared_inbox_webhooks::{Event, Receiver, Secret, Verifier};
    ///
    /// async fn hook<B>(receiver: &Receiver, request: Request<B>) -> Response<Full<Bytes>>
    /// where
    ///     B: http_body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    /// {
    ///     let status = match receiver.receive::<Event, B>(request).await {
    ///         Ok(event) => {
    ///             println!("{}", event.kind.event_type());
    ///             200
    ///         }
    ///         Err(rejection) => rejection.status(),
    ///     };
    ///     Response::builder().status(status).body(Full::default()).expect("a status and nothing else")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let receiver = Receiver::new(Verifier::new([Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?]));
    /// let forged = Request::post("/hook").body(Full::new(Bytes::from("{}")))?;
    /// assert_eq!(hook(&receiver, forged).await.status(), 400);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the request is not genuine, its body does not come or is too large, or is not of the expected shape.
    pub async fn receive<T, B>(&self, request: Request<B>) -> Result<Verified<T>, Rejection>
    where
        T: DeserializeOwned,
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let checked = self.check(&head.headers)?;
        let body = self.read(body).await?;
        self.parse(self.verify(checked, &body)?)
    }

    /// Like [`receive`](Self::receive), but leaves the body as it came: [`Verified::parse`] is for later.
    ///
    /// # Errors
    /// When the request is not genuine, or its body does not come or is too large.
    pub async fn receive_bytes<B>(&self, request: Request<B>) -> Result<Verified<Bytes>, Rejection>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        self.bytes(&head.headers, body).await
    }

    pub(crate) async fn bytes<B>(
        &self,
        headers: &http::HeaderMap,
        body: B,
    ) -> Result<Verified<Bytes>, Rejection>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let checked = self.check(headers)?;
        let body = self.read(body).await?;
        let matched = self.verify(checked, &body)?.matched_signature();
        Ok(Verified::new(matched, body.clone()))
    }

    async fn read<B>(&self, body: B) -> Result<Bytes, Rejection>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let limit = self.limit();
        // The length that the sender announced, which saves reading what would be thrown away.
        if !usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced <= limit) {
            return Err(self.reject(Rejection::TooLarge { limit }));
        }
        let whole = async {
            let whole = Limited::new(body, limit).collect().await;
            whole.map(http_body_util::Collected::to_bytes).map_err(|error| {
                // A layer around may have a limit of its own, wrapped in errors of its own.
                let mut causes =
                    std::iter::successors(Some(&*error as &dyn Error), |error| (*error).source());
                if causes.any(|cause| cause.is::<LengthLimitError>()) {
                    Rejection::TooLarge { limit }
                } else {
                    Rejection::Unreadable
                }
            })
        };
        self.in_time(whole).await.map_err(|rejection| self.reject(rejection))
    }
}

impl Verified<Bytes> {
    /// Reads the envelope, usually into an [`Event`](crate::Event), as [`VerifiedBody::parse`] does.
    ///
    /// # Errors
    /// When the body is not JSON, not of that shape, or has another id than the header `webhook-id`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Verified<T>, ParseError> {
        VerifiedBody::new(self.matched_signature(), self).parse()
    }
}
