//! What a check has in its hands: the service, a clock, its fixtures and, where there is one, the control API.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use shared_inbox::retry::Clock;
use tokio::sync::OnceCell;

use super::{
    control::{Control, World, WorldClock},
    http::{Api, Http},
    kept::{MagicSends, Rich, Scene},
    pace::Pace,
    receiver::Receiver,
    reply::Reply,
    stop::Stop,
};

/// A fixture that is made when the first check asks for it.
pub(super) type Fixture<T> = OnceCell<Result<Arc<T>, Stop>>;

/// One caller of the service with what belongs to it.
#[derive(Debug)]
pub(super) struct Session {
    http: Arc<Http>,
    api: Api,
    clock: Arc<dyn Clock>,
    /// Marks everything that this run creates.
    run: String,
    budget: u32,
    reads_only: bool,
    world: Option<World>,
    /// Conversations that the run has made.
    created: Arc<AtomicU32>,
    names: AtomicU32,
    pub(super) rich: Fixture<Rich>,
    pub(super) magic: Fixture<MagicSends>,
    pub(super) scene: Fixture<Scene>,
}

/// What all sessions of a run have in common.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub(super) http: Arc<Http>,
    pub(super) run: String,
    pub(super) budget: u32,
    pub(super) reads_only: bool,
    pub(super) created: Arc<AtomicU32>,
}

impl Session {
    /// With the key that was given, in real time or that of the caller.
    pub(super) fn with_key(common: &Common, key: &str, clock: Arc<dyn Clock>) -> Self {
        Self::new(common, key, clock, None)
    }

    /// In a world of its own, whose clock moves when something waits.
    pub(super) fn in_world(common: &Common, world: World) -> Self {
        let clock = Arc::new(WorldClock::new(world.control.clone()));
        let key = world.test_key.clone();
        Self::new(common, &key, clock, Some(world))
    }

    fn new(common: &Common, key: &str, clock: Arc<dyn Clock>, world: Option<World>) -> Self {
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

    /// The service with the key of this session: a test key, or the one that may only read.
    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    pub(super) fn reads_only(&self) -> bool {
        self.reads_only
    }

    /// A word that nothing else has, with the run's mark in it.
    pub(super) fn word(&self, what: &str) -> String {
        format!("{what}{}{}", self.run.replace('-', ""), self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// An address of a customer that nobody else has; the part before the `@` decides what the sandbox does.
    pub(super) fn address(&self, local: &str) -> String {
        format!("{local}@{}.test", self.word("c"))
    }

    pub(super) async fn wait(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// A simulated mail, as it is answered.
    pub(super) async fn inbound(&self, mut mail: Value) -> Result<Reply, Stop> {
        if mail.get("subject").is_none() {
            mail["subject"] = json!(format!("[{}] A question", self.run));
        }
        self.created.fetch_add(1, Ordering::Relaxed);
        self.api.post("/sandbox/inbound", &mail).await
    }

    /// A new conversation in the sandbox with this customer.
    pub(super) async fn conversation_with(&self, from: &str) -> Result<String, Stop> {
        let mail = json!({ "from": from, "name": "Conform", "text": "Where is my order?" });
        self.inbound(mail).await?.text_at("/conversationId")
    }

    /// A new conversation in the sandbox.
    pub(super) async fn conversation(&self) -> Result<String, Stop> {
        self.conversation_with(&self.address("customer")).await
    }

    /// A whole conversation.
    pub(super) async fn read(&self, id: &str) -> Result<Reply, Stop> {
        let reply = self.api.get(format!("/conversations/{id}")).await?;
        reply.done()?;
        Ok(reply)
    }

    /// A call on a conversation of the sandbox.
    pub(super) async fn act(&self, id: &str, what: &str, body: &Value) -> Result<Reply, Stop> {
        self.api.post(format!("/conversations/{id}/{what}"), body).await
    }

    // With the control API.

    pub(super) fn world(&self) -> Result<&World, Stop> {
        self.world.as_ref().ok_or_else(|| Stop::not_tried("needs the control API"))
    }

    pub(super) fn control(&self) -> Result<&Control, Stop> {
        self.world().map(|world| &world.control)
    }

    fn caller(&self, key: &str) -> Api {
        let pace = Arc::new(Pace::new(self.budget, Arc::clone(&self.clock)));
        Api::new(Arc::clone(&self.http), key, pace)
    }

    /// The service with the world's live key, which has all scopes.
    pub(super) fn live(&self) -> Result<Api, Stop> {
        Ok(self.caller(&self.world()?.live_key))
    }

    /// The service with a new key, and the id of its agent.
    pub(super) async fn key(&self, key: Value) -> Result<(Api, String), Stop> {
        let made = self.control()?.post("/keys", key).await?;
        let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        Ok((self.caller(&text("key")), text("agentId")))
    }

    /// A key with these scopes.
    pub(super) async fn scoped(&self, scopes: &[&str], livemode: bool) -> Result<Api, Stop> {
        let key = json!({ "name": "Conform", "scopes": scopes, "livemode": livemode });
        Ok(self.key(key).await?.0)
    }

    /// The address of the team's inbox.
    pub(super) async fn inbox(&self) -> Result<String, Stop> {
        let inboxes = self.control()?.list("/mailboxes").await?;
        let team = inboxes.iter().find(|it| it["owner"].is_null() && it["sandbox"] == false);
        let address = team.and_then(|it| it["address"].as_str());
        address.map(str::to_owned).ok_or_else(|| Stop::not_tried("the world has no team inbox"))
    }

    /// Live mail to the team's inbox, or wherever `more` says.
    pub(super) async fn mail(&self, more: Value) -> Result<Value, Stop> {
        let mut mail = json!({
            "to": self.inbox().await?, "from": "vera@customer.example", "name": "Vera",
            "subject": "A question", "text": "Where is my order?",
        });
        if let (Some(mail), Some(more)) = (mail.as_object_mut(), more.as_object()) {
            mail.extend(more.clone());
        }
        self.control()?.post("/inbound", mail).await
    }

    /// A live conversation in the team's inbox.
    pub(super) async fn live_conversation(&self) -> Result<String, Stop> {
        Ok(text(&self.mail(json!({})).await?["conversationId"]))
    }

    /// The first person of the workspace.
    pub(super) async fn person(&self) -> Result<String, Stop> {
        let people = self.control()?.list("/users").await?;
        Ok(people.first().map(|it| text(&it["id"])).unwrap_or_default())
    }

    /// A webhook for this receiver; its id and secret.
    pub(super) async fn hook(&self, receiver: &Receiver, more: Value) -> Result<(String, String), Stop> {
        let mut hook = json!({ "url": receiver.url(), "livemode": true, "scope": "team" });
        if let (Some(hook), Some(more)) = (hook.as_object_mut(), more.as_object()) {
            hook.extend(more.clone());
        }
        let made = self.control()?.post("/webhooks", hook).await?;
        Ok((text(&made["id"]), text(&made["secret"])))
    }

    /// Sends a test event, and waits until its first try is over.
    pub(super) async fn test_event(&self, hook: &str) -> Result<(), Stop> {
        self.control()?.post(&format!("/webhooks/{hook}/test"), json!({})).await?;
        self.settle().await
    }

    /// Waits until every webhook try that is under way has ended.
    pub(super) async fn settle(&self) -> Result<(), Stop> {
        self.control()?.advance(0).await
    }

    pub(super) async fn advance(&self, seconds: u64) -> Result<(), Stop> {
        self.control()?.advance(seconds).await
    }
}

/// The text of a JSON string, or nothing.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
