//! Reads a request's body, up to a limit and a timeout.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::world::{Refusal, Result};

/// Enough for every input of the service, an email's text and HTML included.
pub(crate) const SERVICE_LIMIT: usize = 4 << 20;
/// Enough for the document of a large world.
pub(crate) const DOCUMENT_LIMIT: usize = 1 << 30;
/// The largest buffer that is reserved for a body with a known length. Growing to that size would copy the
/// body many times.
const MAX_RESERVED: u64 = 128 << 20;
/// How many times the limit is read and discarded, so that a client that is still sending receives the
/// response.
const MAX_DRAINED: usize = 4;

/// Reads the whole body, for at most the client timeout.
pub(crate) async fn read<B>(body: B, limit: usize, client_timeout: Duration) -> Result<Bytes>
where
    B: Body<Data = Bytes>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    match tokio::time::timeout(client_timeout, collect(body, limit)).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::new(408, "The body did not arrive in time.")),
    }
}

async fn collect<B: Body<Data = Bytes>>(body: B, limit: usize) -> Result<Bytes> {
    let mut body = std::pin::pin!(body);
    let room = usize::try_from(body.size_hint().lower().min(MAX_RESERVED)).unwrap_or_default();
    let (mut whole, mut seen) = (BytesMut::with_capacity(room.min(limit)), 0);
    while let Some(frame) = body.frame().await {
        let data = frame
            .map_err(|_| Refusal::new(400, "The body could not be read."))?
            .into_data()
            .unwrap_or_default();
        seen += data.len();
        if seen > limit.saturating_mul(MAX_DRAINED) {
            break;
        }
        if seen <= limit {
            whole.extend_from_slice(&data);
        }
    }
    if seen > limit {
        return Err(Refusal::new(413, format!("The body must be at most {limit} bytes.")));
    }
    Ok(whole.freeze())
}
