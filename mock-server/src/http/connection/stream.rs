//! The bytes of one connection: times out when a client reads nothing, detects when a response is written,
//! and replaces hyper's own error responses by the service's.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::SeqCst},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

use crate::http::response;

/// How much is read and discarded after a refusal, and for how long, so that a client that is still sending
/// receives it.
const MAX_DRAINED: usize = 1 << 20;
const LINGER_TIMEOUT: Duration = Duration::from_millis(200);

/// The activity of one connection.
#[derive(Default)]
pub(super) struct Activity(AtomicU8);

const IDLE: u8 = 0;
/// A request is under way.
const BUSY: u8 = 1;
/// Its response is being written.
const RESPONDING: u8 = 2;

impl Activity {
    /// Marks the begin of a request.
    pub(super) fn begin(&self) {
        self.0.store(BUSY, SeqCst);
    }

    /// Marks that the response is ready to be written.
    pub(super) fn respond(&self) {
        self.0.store(RESPONDING, SeqCst);
    }

    /// Marks that the response is written.
    fn finish_response(&self) {
        let _ = self.0.compare_exchange(RESPONDING, IDLE, SeqCst, SeqCst);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.0.load(SeqCst) == IDLE
    }
}

pub(super) struct Stream {
    stream: TcpStream,
    client_timeout: Duration,
    activity: Arc<Activity>,
    stalled: Option<Pin<Box<Sleep>>>,
    /// The response that replaces what hyper wrote.
    instead: Bytes,
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
}

impl Stream {
    pub(super) fn new(stream: TcpStream, client_timeout: Duration, activity: Arc<Activity>) -> Self {
        Self { stream, client_timeout, activity, stalled: None, instead: Bytes::new(), lingering: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let client_timeout = self.client_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(client_timeout)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Replaces hyper's own response to a request that it could not read. Returns whether it did.
    fn refuse(&mut self, said: &[u8]) -> bool {
        let refused = self.activity.is_idle();
        if refused && self.lingering.is_none() {
            let status = said.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
            self.instead = response::unreadable(status.and_then(|status| status.parse().ok()).unwrap_or(400));
            self.lingering = Some((Box::pin(tokio::time::sleep(LINGER_TIMEOUT)), 0));
        }
        refused
    }

    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.instead.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(cx, &self.instead);
            let written = ready!(self.watch(cx, written))?;
            self.instead.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Discards what the client still sends, for a while.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some((until, drained)) = &mut self.lingering else { return Poll::Ready(()) };
        let mut buffer = [0; 8_192];
        while *drained < MAX_DRAINED {
            let mut read = ReadBuf::new(&mut buffer);
            match Pin::new(&mut self.stream).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => *drained += read.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return until.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.refuse(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.refuse(bufs.first().map_or(&[], |first| first)) {
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.activity.finish_response();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        ready!(self.poll_linger(cx));
        Poll::Ready(Ok(()))
    }
}

/// Keeps a connection busy until it is dropped, together with the body of a stream.
pub(super) struct BusyGuard(pub(super) Arc<Activity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.respond();
    }
}
