//! A server whose port is bound, before it serves.

use std::sync::Arc;

use tokio::{net::TcpListener, sync::watch};

use crate::{
    control::Control,
    http::{self, ServerState, connection::Phase},
    ready::Ready,
};

/// A server that listens and does not serve yet; made by
/// [`MockServerBuilder::bind`](crate::MockServerBuilder::bind).
///
/// For a program that says where it listens, and then serves on its own runtime until something ends it. In a
/// test, [`MockServer`](crate::MockServer) is simpler.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::MockServer;
///
/// let server = MockServer::builder().bind()?;
/// println!("listening on {}", server.ready().base_url);
/// server.serve_until(async { /* Ctrl-C */ }).await;
/// # Ok(())
/// # }
/// ```
pub struct BoundServer {
    pub(crate) app: Arc<ServerState>,
    pub(crate) listener: TcpListener,
    pub(crate) phase: watch::Sender<Phase>,
}

redacted_debug!(BoundServer { listener });

impl BoundServer {
    /// Returns the addresses and keys.
    pub fn ready(&self) -> Ready {
        self.app.control().ready()
    }

    /// Returns the control of the main world.
    pub fn control(&self) -> Control {
        self.app.control()
    }

    /// Serves until `end` completes, and then waits for the responses of requests under way.
    pub async fn serve_until(self, end: impl Future<Output = ()>) {
        let mut serving = http::serve(self.app, self.listener);
        tokio::select! {
            () = &mut serving => return,
            () = end => {}
        }
        self.phase.send_replace(Phase::Ending);
        serving.await;
    }
}
