//! State shared by the checks of a run: the service, a clock, its fixtures and, where there is one, the
//! control API.

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
    check::fixture_types::{MagicSends, PopulatedConversation, WebhookScenario},
    clock::Clock,
    rule_abort::RuleAbort,
    wire::control::{ControlApi, TestWorld, WorldClock},
    wire::http::{Api, Http, LastExchange},
    wire::pace::Pace,
    wire::receiver::Receiver,
    wire::reply::Reply,
};

/// A fixture that is made when the first check asks for it.
pub(crate) type Fixture<T> = OnceCell<Result<Arc<T>, RuleAbort>>;

/// One caller of the service with what belongs to it.
#[derive(Debug)]
pub(crate) struct Session {
    http: Arc<Http>,
    api: Api,
    clock: Arc<dyn Clock>,
    /// The same clock, where it is that of a world.
    world_clock: Option<Arc<WorldClock>>,
    last: LastExchange,
    /// Marks everything that this run creates.
    run: String,
    budget: u32,
    reads_only: bool,
    world: Option<TestWorld>,
    /// Conversations that the run has made.
    created: Arc<AtomicU32>,
    names: AtomicU32,
    pub(crate) populated_conversation: Fixture<PopulatedConversation>,
    pub(crate) magic: Fixture<MagicSends>,
    pub(crate) webhook_scenario: Fixture<WebhookScenario>,
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
        Self::new(common, key, clock, None, None)
    }

    /// In a world of its own, whose clock moves when something waits.
    pub(crate) fn in_world(common: &Common, world: TestWorld) -> Self {
        let clock = Arc::new(WorldClock::new(world.control.clone()));
        let key = world.test_key.clone();
        Self::new(common, &key, Arc::<WorldClock>::clone(&clock), Some(clock), Some(world))
    }

    fn new(
        common: &Common,
        key: &str,
        clock: Arc<dyn Clock>,
        world_clock: Option<Arc<WorldClock>>,
        world: Option<TestWorld>,
    ) -> Self {
        let Common { http, run, budget, reads_only, created } = common.clone();
        let pace = Arc::new(Pace::new(budget, Arc::clone(&clock)));
        let last = LastExchange::default();
        Self {
            api: Api::new(Arc::clone(&http), key, pace, last.clone()),
            http,
            clock,
            world_clock,
            last,
            run,
            budget,
            reads_only,
            world,
            created,
            names: AtomicU32::new(0),
            populated_conversation: OnceCell::new(),
            magic: OnceCell::new(),
            webhook_scenario: OnceCell::new(),
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

    /// Returns an address of a customer that nobody else has; the part before the `@` decides what the
    /// sandbox does.
    pub(crate) fn address(&self, local: &str) -> String {
        format!("{local}@{}.test", self.word("c"))
    }

    /// Waits, by moving the clock of the world where there is one.
    pub(crate) async fn wait(&self, time: Duration) -> Result<(), RuleAbort> {
        let before = self.clock_failures().len();
        self.clock.sleep(time).await;
        self.clock_failures().into_iter().nth(before).map_or(Ok(()), Err)
    }

    /// Returns the waits that failed so far.
    pub(crate) fn clock_failures(&self) -> Vec<RuleAbort> {
        self.world_clock.as_ref().map(|clock| clock.failures()).unwrap_or_default()
    }

    /// Returns the calls of the control API since the last time this was asked.
    pub(crate) fn take_control_calls(&self) -> Vec<String> {
        self.world.iter().flat_map(|world| world.control.take_calls()).collect()
    }

    /// Returns the last request and its response, for a report of a check that had no end.
    pub(crate) fn take_last_exchange(&self) -> Option<(String, String)> {
        self.last.take()
    }

    /// Returns a simulated mail, as it is answered.
    pub(crate) async fn inbound(&self, mut mail: Value) -> Result<Reply, RuleAbort> {
        if mail.get("subject").is_none() {
            mail["subject"] = json!(format!("[{}] A question", self.run));
        }
        self.created.fetch_add(1, Ordering::Relaxed);
        self.api.post("/sandbox/inbound", &mail).await
    }

    /// Returns a new conversation in the sandbox with this customer.
    pub(crate) async fn conversation_with(&self, from: &str) -> Result<String, RuleAbort> {
        let mail = json!({ "from": from, "name": "Conform", "text": "Where is my order?" });
        self.inbound(mail).await?.text_at("/conversationId")
    }

    /// Returns a new conversation in the sandbox.
    pub(crate) async fn conversation(&self) -> Result<String, RuleAbort> {
        self.conversation_with(&self.address("customer")).await
    }

    /// Returns a whole conversation.
    pub(crate) async fn read(&self, id: &str) -> Result<Reply, RuleAbort> {
        let reply = self.api.get(format!("/conversations/{id}")).await?;
        reply.done()?;
        Ok(reply)
    }

    /// Returns a call on a conversation of the sandbox.
    pub(crate) async fn act(&self, id: &str, what: &str, body: &Value) -> Result<Reply, RuleAbort> {
        self.api.post(format!("/conversations/{id}/{what}"), body).await
    }

    // With the control API.

    pub(crate) fn world(&self) -> Result<&TestWorld, RuleAbort> {
        self.world.as_ref().ok_or_else(|| RuleAbort::left_out("needs the control API"))
    }

    pub(crate) fn control(&self) -> Result<&ControlApi, RuleAbort> {
        self.world().map(|world| &world.control)
    }

    fn caller(&self, key: &str) -> Api {
        let pace = Arc::new(Pace::new(self.budget, Arc::clone(&self.clock)));
        Api::new(Arc::clone(&self.http), key, pace, self.last.clone())
    }

    /// Returns the service with the world's live key, which has all scopes.
    pub(crate) fn live(&self) -> Result<Api, RuleAbort> {
        Ok(self.caller(&self.world()?.live_key))
    }

    /// Returns the service with a new key, and the id of its agent.
    pub(crate) async fn key(&self, key: Value) -> Result<(Api, String), RuleAbort> {
        let made = self.control()?.post("/keys", key).await?;
        match (made["key"].as_str(), made["agentId"].as_str()) {
            (Some(key), Some(agent)) => Ok((self.caller(key), agent.to_owned())),
            _ => Err(RuleAbort::failed(
                "the control API's response to POST /keys has no `key` or no `agentId`",
            )),
        }
    }

    /// Returns a key with these scopes.
    pub(crate) async fn scoped(&self, scopes: &[&str], livemode: bool) -> Result<Api, RuleAbort> {
        let key = json!({ "name": "Conform", "scopes": scopes, "livemode": livemode });
        Ok(self.key(key).await?.0)
    }

    /// Returns the address of the team's inbox.
    pub(crate) async fn inbox(&self) -> Result<String, RuleAbort> {
        let inboxes = self.control()?.list("/mailboxes").await?;
        let team = inboxes.iter().find(|it| it["owner"].is_null() && it["sandbox"] == false);
        let address = team.and_then(|it| it["address"].as_str());
        address
            .map(str::to_owned)
            .ok_or_else(|| RuleAbort::failed("GET /mailboxes of the control API shows no team inbox"))
    }

    /// Live mail to the team's inbox, or wherever `more` says.
    pub(crate) async fn mail(&self, more: Value) -> Result<Value, RuleAbort> {
        let mut mail = json!({
            "to": self.inbox().await?, "from": "vera@customer.example", "name": "Vera",
            "subject": "A question", "text": "Where is my order?",
        });
        if let (Some(mail), Some(more)) = (mail.as_object_mut(), more.as_object()) {
            mail.extend(more.clone());
        }
        let filed = self.control()?.post("/inbound", mail).await?;
        match filed["conversationId"].is_string() && filed["messageId"].is_string() {
            true => Ok(filed),
            false => Err(RuleAbort::failed(
                "the control API's response to POST /inbound has no `conversationId` or no `messageId`",
            )),
        }
    }

    /// Returns a live conversation in the team's inbox.
    pub(crate) async fn live_conversation(&self) -> Result<String, RuleAbort> {
        Ok(text(&self.mail(json!({})).await?["conversationId"]))
    }

    /// Returns the first person of the workspace.
    pub(crate) async fn person(&self) -> Result<String, RuleAbort> {
        let people = self.control()?.list("/users").await?;
        let person = people.first().and_then(|it| it["id"].as_str()).map(str::to_owned);
        person.ok_or_else(|| RuleAbort::failed("GET /users of the control API shows nobody"))
    }

    /// Returns a webhook for this receiver; its id and secret.
    pub(crate) async fn hook(&self, receiver: &Receiver, more: Value) -> Result<(String, String), RuleAbort> {
        let mut hook = json!({ "url": receiver.url(), "livemode": true, "scope": "team" });
        if let (Some(hook), Some(more)) = (hook.as_object_mut(), more.as_object()) {
            hook.extend(more.clone());
        }
        let made = self.control()?.post("/webhooks", hook).await?;
        match (made["id"].as_str(), made["secret"].as_str()) {
            (Some(id), Some(secret)) => Ok((id.to_owned(), secret.to_owned())),
            _ => Err(RuleAbort::failed(
                "the control API's response to POST /webhooks has no `id` or no `secret`",
            )),
        }
    }

    /// Sends a test event, and waits until its first try is over.
    pub(crate) async fn test_event(&self, hook: &str) -> Result<(), RuleAbort> {
        self.control()?.post(&format!("/webhooks/{hook}/test"), json!({})).await?;
        self.settle().await
    }

    /// Waits until every webhook try that is under way has ended.
    pub(crate) async fn settle(&self) -> Result<(), RuleAbort> {
        self.control()?.advance(0).await
    }

    pub(crate) async fn advance(&self, seconds: u64) -> Result<(), RuleAbort> {
        self.control()?.advance(seconds).await
    }
}

/// Returns the text of a JSON string, or nothing.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
