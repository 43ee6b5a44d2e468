//! What the examples share: where they run.
#![forbid(unsafe_code)]

use std::{env, error::Error, time::Duration};

use shared_inbox::Client;
use shared_inbox_mock::MockServer;
use tokio::{task::JoinHandle, time::sleep};

/// What the examples give back.
pub type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The service that an example works with.
pub struct Service {
    /// The client.
    pub inbox: Client,
    /// The mock inside this process, unless the environment names a service.
    pub mock: Option<MockServer>,
    hurry: Option<JoinHandle<()>>,
}

impl Service {
    /// The service that `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` name; without them a mock inside this process,
    /// with a test key, so that the same code runs against a real sandbox.
    pub async fn connect() -> Result<Self> {
        if env::var_os("SHARED_INBOX_BASE_URL").is_some() {
            return Ok(Self { inbox: Client::from_env()?, mock: None, hurry: None });
        }
        let mock = MockServer::builder().empty().start().await;
        let inbox = mock.test_client();
        // Time in the mock runs twenty times as fast, so that nobody sits through an undo window.
        let control = mock.control().clone();
        let hurry = tokio::spawn(async move {
            loop {
                sleep(Duration::from_millis(50)).await;
                if control.advance(Duration::from_secs(1)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self { inbox, mock: Some(mock), hurry: Some(hurry) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(hurry) = &self.hurry {
            hurry.abort();
        }
    }
}

/// The Rust code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
