//! Reading a request's body: all of it, but not more than a limit, and not for ever.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;

use crate::world::Refusal;

/// Enough for every input of the service, a mail's text and HTML included.
pub(crate) const SERVICE_LIMIT: usize = 4 << 20;
/// Enough for the document of a large world.
pub(crate) const DOCUMENT_LIMIT: usize = 1 << 30;
/// A client that has not sent its body by then has gone away, or means no good.
const PATIENCE: Duration = Duration::from_secs(30);

/// The whole body.
pub(crate) async fn read<B>(body: B, limit: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let too_large = || Refusal::new(413, format!("The body must be at most {limit} bytes."));
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::new(400, "The body could not be read.")),
        Err(_) => Err(Refusal::new(408, "The body did not arrive in time.")),
    }
}
