//! A world in a test's hand: calls by key, and a clock that moves when the test says so.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::{__spec::Operation, AgentId, Timestamp};
use shared_inbox_mock::{
    InboundMail, LIVE_KEY, NewKey, Refusal, TEST_KEY,
    world::{CallInput, InboundResult, KeyHash, World},
};

/// A Sunday in November.
pub(crate) const START: i64 = 1_794_700_800_000;

pub(crate) struct Kit {
    pub(crate) world: World,
    pub(crate) now: Timestamp,
    pub(crate) live: AgentId,
    pub(crate) test: AgentId,
}

impl Kit {
    pub(crate) fn new() -> Self {
        let now = Timestamp::from_millis(START);
        let mut world = World::empty();
        world.set_rate_limit(None);
        let agent = |key| world.authenticate(&KeyHash::from_key(key)).expect("a fixed key");
        Self { live: agent(LIVE_KEY), test: agent(TEST_KEY), now, world }
    }

    pub(crate) fn key(&mut self, new: NewKey) -> AgentId {
        self.world.create_key(new).expect("a good key").agent_id
    }

    /// Moves the clock on; gives the kinds of jobs that ran.
    pub(crate) fn advance(&mut self, seconds: u64) -> Vec<String> {
        let until = self.now + Duration::from_secs(seconds);
        let mut ran = Vec::new();
        while let Some(fired) = self.world.run_due(until) {
            assert!(fired.job().at <= until);
            ran.push(fired.job().job.clone());
        }
        self.now = until;
        ran
    }

    pub(crate) fn post(
        &mut self,
        agent: &AgentId,
        op: Operation,
        id: &str,
        body: Value,
    ) -> Result<Value, Refusal> {
        let id = op.takes_conversation().then_some(id);
        let answer = self.world.call(agent, op, id, CallInput::Body(Some(body)), self.now)?;
        assert_eq!(answer.status, op.success());
        Ok(serde_json::from_slice(&answer.body).expect("an answer is JSON"))
    }

    pub(crate) fn get(
        &mut self,
        agent: &AgentId,
        op: Operation,
        id: Option<&str>,
        query: &[(&str, &str)],
    ) -> Result<Value, Refusal> {
        let pairs: Vec<(String, String)> =
            query.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let answer = self.world.call(agent, op, id, CallInput::Query(&pairs), self.now)?;
        assert_eq!(answer.status, 200);
        Ok(serde_json::from_slice(&answer.body).expect("an answer is JSON"))
    }

    pub(crate) fn read(&mut self, agent: &AgentId, id: &str) -> Value {
        self.get(agent, Operation::GetConversation, Some(id), &[]).expect("a conversation that can be read")
    }

    pub(crate) fn list(&mut self, agent: &AgentId, query: &[(&str, &str)]) -> Vec<Value> {
        let list = self.get(agent, Operation::ListConversations, None, query).expect("a list");
        list.as_array().expect("an array").clone()
    }

    pub(crate) fn ids(&mut self, agent: &AgentId, query: &[(&str, &str)]) -> Vec<String> {
        let id = |item: &Value| item["id"].as_str().expect("an id").to_owned();
        self.list(agent, query).iter().map(id).collect()
    }

    pub(crate) fn inbound(&mut self, mail: InboundMail) -> InboundResult {
        self.world.inbound(mail, self.now).expect("a good mail")
    }

    /// A mail from Kim that starts a conversation in the team inbox; gives its id.
    pub(crate) fn mail(&mut self, text: &str) -> String {
        self.inbound(InboundMail::new("help@acme.example", "kim@example.com", text))
            .conversation_id
            .to_string()
    }

    /// A simulated mail that starts a conversation in the sandbox; gives its id.
    pub(crate) fn sandbox_mail(&mut self, from: &str, text: &str) -> String {
        let test = self.test.clone();
        let body = json!({ "from": from, "text": text });
        let receipt = self.post(&test, Operation::SandboxInbound, "", body).expect("a good mail");
        receipt["conversationId"].as_str().expect("an id").to_owned()
    }
}

/// The world of a document.
pub(crate) fn restore_world(document: &Value) -> World {
    let mut world: World = serde_json::from_value(document.clone()).expect("a good document");
    world.prepare().expect("a good world");
    world
}
