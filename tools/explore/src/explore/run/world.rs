//! A world of the mock server, driven through its control API.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::Timestamp;
use shared_inbox_mock::{
    Control, MockServer, MockServerBuilder, NewWorld, Ready, clock::ClockMode, faults::ControlCall,
    journal::RequestFilter,
};

use crate::explore::{
    error::{ExploreError, Result},
    json::text,
};

/// How often a world is asked for what has not come yet.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(3);

/// The server that holds the worlds.
pub(crate) struct Server(MockServer);

impl Server {
    pub(crate) async fn start() -> Result<Self> {
        Self::build(MockServer::builder().behind_gateways()).await
    }

    /// Starts a server without a rate limit, whose control API needs a token.
    pub(crate) async fn guarded(token: &str) -> Result<Self> {
        Self::build(MockServer::builder().no_rate_limit().control_token(token)).await
    }

    async fn build(builder: MockServerBuilder) -> Result<Self> {
        let mock = builder.manual_clock().empty().try_start().await;
        mock.map(Self).map_err(|error| ExploreError::Mock(error.to_string()))
    }

    /// Returns a new world that begins like this, with a key of these scopes.
    pub(crate) async fn world_from(&self, start: NewWorld, scopes: &[String]) -> Result<WorldHandle> {
        let main = self.0.control().clone();
        let control = main.create_world(start.clock(ClockMode::Manual)).await?;
        let inbox = control.mailboxes().await?.first().map(|inbox| inbox.address.clone());
        let person = control.users().await.first().map(|user| user.id.to_string());
        let mut world = WorldHandle {
            main,
            control,
            key: String::new(),
            agent: String::new(),
            inbox: inbox.unwrap_or_default(),
            person: person.unwrap_or_default(),
        };
        let key = json!({ "name": KEY_NAME, "scopes": scopes, "livemode": true });
        let key = world.post("/keys", key).await?;
        (world.key, world.agent) = (text(&key["key"]), text(&key["agentId"]));
        Ok(world)
    }
}

/// The name of the app's key, and so of its notes' author.
pub(crate) const KEY_NAME: &str = "app";

/// A world of the server, with what the app and the steps need of it.
#[derive(Clone)]
pub(crate) struct WorldHandle {
    main: Control,
    pub(crate) control: Control,
    pub(crate) key: String,
    /// The app's agent.
    pub(crate) agent: String,
    /// The address of the team inbox.
    pub(crate) inbox: String,
    /// Someone on the team.
    pub(crate) person: String,
}

impl WorldHandle {
    /// Makes a `POST` of the control API.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value> {
        Ok(self.control.call(&ControlCall::post(path, body)).await?)
    }

    /// Returns its addresses, with the key of the app.
    pub(crate) fn ready(&self) -> Ready {
        let mut ready = self.control.ready();
        ready.keys.live.clone_from(&self.key);
        ready
    }

    pub(crate) async fn count_requests(&self) -> Result<usize> {
        let filter = RequestFilter::default().without_responses();
        Ok(self.control.find_requests(filter, Default::default()).await?.total)
    }

    /// Returns every conversation, the oldest first.
    pub(crate) async fn conversations(&self) -> Result<Vec<Value>> {
        let listed = self.control.conversations(Default::default(), Default::default()).await?;
        let mut views = Vec::new();
        for entry in listed.items.iter().rev() {
            views.push(json!(self.control.conversation(entry.summary.id.as_str()).await?));
        }
        Ok(views)
    }

    /// Returns whether something is due that customers or the app would see.
    pub(crate) async fn has_jobs(&self) -> bool {
        let jobs = self.control.jobs().await;
        jobs.iter().any(|job| matches!(job.job.as_str(), "send" | "reminder" | "wake" | "webhook-attempt"))
    }

    pub(crate) async fn now(&self) -> Timestamp {
        self.control.clock().await.now
    }

    /// Ends the world.
    pub(crate) async fn end(self) {
        let _ = self.main.delete_world(self.control.ready().id.unwrap_or_default()).await;
    }
}
