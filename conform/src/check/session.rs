//! What a check has in its hands: the service, a clock, its fixtures and, where there is one, the control API.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    check::kept::{MagicSends, Rich, Scene},
    clock::Clock,
    early_end::EarlyEnd,
    wire::control::{ControlApi, TestWorld, WorldClock},
    wire::http::{Api, Http},
    wire::pace::Pace,
    wire::receiver::Receiver,
    wire::reply::Reply,
};

/// A fixture that is made when the first check asks for it.
pub(crate) type Fixture<T> = OnceCell<Result<Arc<T>, EarlyEnd>>;

/// One caller of the service with what belongs to it.
#[derive(Debug)]
pub(crate) struct Session {
    http: Arc<Http>,
    api: Api,
    clock: Arc<dyn Clock>,
    /// Marks everything that this run creates.
    run: String,
    budget: u32,
    reads_only: bool,
    world: Option<TestWorld>,
    /// Conversations that the run has made.
    created: Arc<AtomicU32>,
    names: AtomicU32,
    pub(crate) rich: Fixture<Rich>,
    pub(crate) magic: Fixture<MagicSends>,
    pub(crate) scene: Fixture<Scene>,
}

/// What all sessions of a run have in common.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) http: Arc<Http>,
    pub(crate) run: String,
    pub(crate) budget: u32,
    pub(crate) reads_only: bool,
    pub(crate) created: Arc<AtomicU32>,
}

impl Session {
    /// With the key that was given, in real time or that of the caller.
    pub(crate) fn with_key(common: &Common, key: &str, clock: Arc<dyn Clock>) -> Self {
        Self::new(common, key, clock, None)
    }

    /// In a world of its own, whose clock moves when something waits.
    pub(crate) fn in_world(common: &Common, world: TestWorld) -> Self {
        let clock = Arc::new(WorldClock::new(world.control.clone()));
        let key = world.test_key.clone();
        Self::new(common, &key, clock, Some(world))
    }

    fn new(common: &Common, key: &str, clock: Arc<dyn Clock>, world: Option<TestWorld>) -> Self {
        let Common { http, run, budget, reads_only, created } = common.clone();
        let pace = Arc::new(Pace::new(budget, Arc::clone(&clock)));
        Self {
            api: Api::new(Arc::clone(&http), key, pace),
            http,
            clock,
            run,
            budget,
            reads_only,
            world,
            created,
            names: AtomicU32::new(0),
            rich: OnceCell::new(),
            magic: OnceCell::new(),
            scene: OnceCell::new(),
        }
    }

    /// Returns the service with the key of this session: a test key, or the one that may only read.
    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) fn reads_only(&self) -> bool {
        self.reads_only
    }

    /// Returns a word that nothing else has, with the run's mark in it.
    pub(crate) fn word(&self, what: &str) -> String {
        format!("{what}{}{}", self.run.replace('-', ""), self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns an address of a customer that nobody else has; the part before the `@` decides what the sandbox does.
    pub(crate) fn address(&self, local: &str) -> String {
        format!("{local}@{}.test", self.word("c"))
    }

    pub(crate) async fn wait(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// Returns a simulated mail, as it is answered.
    pub(crate) async fn inbound(&self, mut mail: Value) -> Result<Reply, EarlyEnd> {
        if mail.get("subject").is_none() {
            mail["subject"] = json!(format!("[{}] A question", self.run));
        }
        self.created.fetch_add(1, Ordering::Relaxed);
        self.api.post("/sandbox/inbound", &mail).await
    }

    /// Returns a new conversation in the sandbox with this customer.
    pub(crate) async fn conversation_with(&self, from: &str) -> Result<String, EarlyEnd> {
        let mail = json!({ "from": from, "name": "Conform", "text": "Where is my order?" });
        self.inbound(mail).await?.text_at("/conversationId")
    }

    /// Returns a new conversation in the sandbox.
    pub(crate) async fn conversation(&self) -> Result<String, EarlyEnd> {
        self.conversation_with(&self.address("customer")).await
    }

    /// Returns a whole conversation.
    pub(crate) async fn read(&self, id: &str) -> Result<Reply, EarlyEnd> {
        let reply = self.api.get(format!("/conversations/{id}")).await?;
        reply.done()?;
        Ok(reply)
    }

    /// Returns a call on a conversation of the sandbox.
    pub(crate) async fn act(&self, id: &str, what: &str, body: &Value) -> Result<Reply, EarlyEnd> {
        self.api.post(format!("/conversations/{id}/{what}"), body).await
    }

    // With the control API.

    pub(crate) fn world(&self) -> Result<&TestWorld, EarlyEnd> {
        self.world.as_ref().ok_or_else(|| EarlyEnd::not_tried("needs the control API"))
    }

    pub(crate) fn control(&self) -> Result<&ControlApi, EarlyEnd> {
        self.world().map(|world| &world.control)
    }

    fn caller(&self, key: &str) -> Api {
        let pace = Arc::new(Pace::new(self.budget, Arc::clone(&self.clock)));
        Api::new(Arc::clone(&self.http), key, pace)
    }

    /// Returns the service with the world's live key, which has all scopes.
    pub(crate) fn live(&self) -> Result<Api, EarlyEnd> {
        Ok(self.caller(&self.world()?.live_key))
    }

    /// Returns the service with a new key, and the id of its agent.
    pub(crate) async fn key(&self, key: Value) -> Result<(Api, String), EarlyEnd> {
        let made = self.control()?.post("/keys", key).await?;
        let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        Ok((self.caller(&text("key")), text("agentId")))
    }

    /// Returns a key with these scopes.
    pub(crate) async fn scoped(&self, scopes: &[&str], livemode: bool) -> Result<Api, EarlyEnd> {
        let key = json!({ "name": "Conform", "scopes": scopes, "livemode": livemode });
        Ok(self.key(key).await?.0)
    }

    /// Returns the address of the team's inbox.
    pub(crate) async fn inbox(&self) -> Result<String, EarlyEnd> {
        let inboxes = self.control()?.list("/mailboxes").await?;
        let team = inboxes.iter().find(|it| it["owner"].is_null() && it["sandbox"] == false);
        let address = team.and_then(|it| it["address"].as_str());
        address.map(str::to_owned).ok_or_else(|| EarlyEnd::not_tried("the world has no team inbox"))
    }

    /// Live mail to the team's inbox, or wherever `more` says.
    pub(crate) async fn mail(&self, more: Value) -> Result<Value, EarlyEnd> {
        let mut mail = json!({
            "to": self.inbox().await?, "from": "vera@customer.example", "name": "Vera",
            "subject": "A question", "text": "Where is my order?",
        });
        if let (Some(mail), Some(more)) = (mail.as_object_mut(), more.as_object()) {
            mail.extend(more.clone());
        }
        self.control()?.post("/inbound", mail).await
    }

    /// Returns a live conversation in the team's inbox.
    pub(crate) async fn live_conversation(&self) -> Result<String, EarlyEnd> {
        Ok(text(&self.mail(json!({})).await?["conversationId"]))
    }

    /// Returns the first person of the workspace.
    pub(crate) async fn person(&self) -> Result<String, EarlyEnd> {
        let people = self.control()?.list("/users").await?;
        Ok(people.first().map(|it| text(&it["id"])).unwrap_or_default())
    }

    /// Returns a webhook for this receiver; its id and secret.
    pub(crate) async fn hook(&self, receiver: &Receiver, more: Value) -> Result<(String, String), EarlyEnd> {
        let mut hook = json!({ "url": receiver.url(), "livemode": true, "scope": "team" });
        if let (Some(hook), Some(more)) = (hook.as_object_mut(), more.as_object()) {
            hook.extend(more.clone());
        }
        let made = self.control()?.post("/webhooks", hook).await?;
        Ok((text(&made["id"]), text(&made["secret"])))
    }

    /// Sends a test event, and waits until its first try is over.
    pub(crate) async fn test_event(&self, hook: &str) -> Result<(), EarlyEnd> {
        self.control()?.post(&format!("/webhooks/{hook}/test"), json!({})).await?;
        self.settle().await
    }

    /// Waits until every webhook try that is under way has ended.
    pub(crate) async fn settle(&self) -> Result<(), EarlyEnd> {
        self.control()?.advance(0).await
    }

    pub(crate) async fn advance(&self, seconds: u64) -> Result<(), EarlyEnd> {
        self.control()?.advance(seconds).await
    }
}

/// Returns the text of a JSON string, or nothing.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
