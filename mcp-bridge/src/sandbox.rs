//! The demo inbox inside the bridge, so that a newcomer needs neither an account nor a server.

use shared_inbox::Client;
use shared_inbox_mock::MockServer;

/// The mock server in this process, with its demo workspace; it ends when this is dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sandbox = shared_inbox_mcp::sandbox::Sandbox::start().await?;
/// assert!(!sandbox.client().conversations().await?.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Sandbox {
    server: MockServer,
}

impl Sandbox {
    /// Starts it on a free port of this machine.
    pub async fn start() -> Result<Self, String> {
        match MockServer::builder().try_start().await {
            Ok(server) => Ok(Self { server }),
            Err(error) => Err(format!("the sandbox did not start: {error}")),
        }
    }

    /// A client for its demo workspace.
    pub fn client(&self) -> Client {
        self.server.client()
    }

    /// The page that shows a person what is in it, for a browser.
    pub fn page(&self) -> &str {
        &self.server.ready().console_url
    }
}
