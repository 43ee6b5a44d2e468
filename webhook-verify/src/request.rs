//! Requests of the `http` crate, with a body of any kind: hyper, a function platform, a Worker.

use std::error::Error;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body::Body;
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::receiver::{Receiver, Rejection};
use crate::verified::{Verified, VerifiedBody};

type BoxError = Box<dyn Error + Send + Sync>;

impl<E> Receiver<E> {
    /// Takes a request of any server that speaks `http` 1: headers are judged before anything of the body is
    /// read, then the body up to the limits. Respond to a [`Rejection`] with its status and an empty body.
    ///
    /// # Errors
    /// When the request is not genuine, its body does not come or is too large, or is not of the expected
    /// shape.
    pub async fn receive<T, B>(&self, request: Request<B>) -> Result<Verified<T, E>, Rejection>
    where
        T: DeserializeOwned,
        B: Body<Error: Into<BoxError>>,
    {
        let (head, body) = request.into_parts();
        let checked = self.check(&head.headers)?;
        self.verify(checked, &self.read(body).await?, VerifiedBody::parse_from)
    }

    /// Like [`receive`](Self::receive), but takes the headers alone, and leaves the body as it came:
    /// [`Verified::parse`] is for later.
    ///
    /// # Errors
    /// When the request is not genuine, or its body does not come or is too large.
    pub async fn receive_bytes<B: Body<Error: Into<BoxError>>>(
        &self,
        headers: &HeaderMap,
        body: B,
    ) -> Result<Verified<Bytes, E>, Rejection> {
        let checked = self.check(headers)?;
        let body = self.read(body).await?;
        self.verify(checked, &body, |verified, origin| {
            Ok(Verified::new(verified.matched_signature(), origin, body.clone()))
        })
    }

    async fn read<B: Body<Error: Into<BoxError>>>(&self, body: B) -> Result<Bytes, Rejection> {
        let limit = self.limit();
        // The length that the sender announced, which saves reading what would be thrown away.
        if !usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced <= limit) {
            return Err(self.reject(Rejection::TooLarge { limit }));
        }
        let whole = async {
            Limited::new(body, limit).collect().await.map(Collected::to_bytes).map_err(|error| {
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
