//! Standard input and output as a transport, forgiving where a desktop client is sloppy and quick to end.

use rmcp::{
    RoleServer,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        async_rw::AsyncRwTransport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use tokio_util::sync::CancellationToken;

/// The transport. Lines that are no messages, or longer than 16 MiB, are passed over.
pub struct Stdio {
    inner: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    begun: bool,
    closed: CancellationToken,
}

impl Stdio {
    /// The transport, and a token that is cancelled when the client closes the bridge's standard input.
    pub fn new() -> (Self, CancellationToken) {
        let (read, write) = stdio_pipes();
        let closed = CancellationToken::new();
        (Self { inner: AsyncRwTransport::new(read, write), begun: false, closed: closed.clone() }, closed)
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.closed.cancel();
                return None;
            };
            // The server would end on a stray notification before the first request.
            if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                self.begun = true;
                return Some(message);
            }
            tracing::debug!("passed over a message that came before the first request");
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
