//! What the examples share: where they run.
#![forbid(unsafe_code)]

use std::{env, error::Error, time::Duration};

use shared_inbox::{Client, ClientBuilder};
use shared_inbox_mock::{
    CreateWebhook, InboundMail, MockServer,
    webhooks::{CreatedWebhook, DeliveryFilter},
};
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
    /// The service that `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` name; without them a mock inside
    /// this process, with a test key, so that the same code runs against a real sandbox.
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

/// A mock whose events come to one address, for the examples that receive.
pub struct Sender {
    mock: MockServer,
    webhook: CreatedWebhook,
}

impl Sender {
    /// A mock with a webhook for this address. The secret is shown once, as on the webhook's page.
    pub async fn to(url: String) -> Result<Self> {
        let mock = MockServer::builder().manual_clock().start().await;
        let new = CreateWebhook::new(url).events(["client.replied"]);
        let webhook = mock.control().create_webhook(new).await?;
        Ok(Self { mock, webhook })
    }

    /// A client of the mock.
    pub fn client(&self) -> ClientBuilder {
        Client::builder(self.mock.base_url(), self.mock.live_key())
    }

    /// The webhook's secret.
    pub fn secret(&self) -> &str {
        &self.webhook.secret
    }

    /// A customer replies, and then somebody presses "redeliver": the same event again, signed anew. Says how
    /// each try was answered.
    pub async fn send_twice(&self) -> Result<()> {
        let control = self.mock.control();
        let inboxes = self.mock.client().mailboxes().await?;
        let address = &inboxes.first().ok_or("the demo has an inbox")?.address;
        let first =
            control.inbound(InboundMail::new(address, "kim@example.com", "Where is my order?")).await?;
        let again = InboundMail::new(address, "kim@example.com", "Hello?").on(&first.conversation_id);
        control.inbound(again).await?;
        control.advance(Duration::ZERO).await?; // returns when what was sent has been answered
        let id = self.webhook.id.as_str();
        let log = control.deliveries(id, DeliveryFilter::default()).await?;
        control.redeliver(id, log[0].event_id.as_str()).await?;
        control.advance(Duration::ZERO).await?;
        let log = control.deliveries(id, DeliveryFilter::default()).await?;
        for (number, attempt) in log[0].attempts.iter().enumerate() {
            println!("try {}: answered with {}", number + 1, attempt.status.unwrap_or_default());
        }
        Ok(())
    }
}

/// The Rust code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
