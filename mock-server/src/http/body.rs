//! Reading a request's body: all of it, but not more than a limit, and not for ever.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::world::{Refusal, Result};

/// Enough for every input of the service, a mail's text and HTML included.
pub(crate) const SERVICE_LIMIT: usize = 4 << 20;
/// Enough for the document of a large world.
pub(crate) const DOCUMENT_LIMIT: usize = 1 << 30;
/// So much room is made before a body comes that says its length: growing to it would copy it again and again, and leave
/// as much free memory behind.
const MAX_RESERVED: u64 = 128 << 20;
/// How many times the limit is read and thrown away, so that a client that is still sending hears the response.
const MAX_DRAINED: usize = 4;

/// The whole body. A client that has not sent it when the patience ends has gone away, or means no good.
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
