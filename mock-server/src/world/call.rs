//! The fourteen operations of the service, for REST and MCP alike, and the order of their checks.

use serde::Serialize;
use serde_json::{Map, Value};
use shared_inbox::{
    __spec::{Operation, read_arguments, read_query},
    AgentId, Me, Problems, Scope, Timestamp,
    input::{
        AddNote, AssignConversation, Input, ListConversations, RecordSent, Reply, RequestDocuments,
        SandboxInbound, SearchDocuments, SetStatus, TagConversation,
    },
};

use super::{Refusal, Result, ServiceResponse, World, people::Plan};

/// The input of a call.
#[non_exhaustive]
pub enum CallInput<'a> {
    /// The pairs of a query string.
    Query(&'a [(String, String)]),
    /// A JSON body, or none.
    Body(Option<Value>),
    /// The arguments of an MCP tool, with the conversation's id unless that is passed separately.
    Tool(Map<String, Value>),
    /// An unreadable input, which is refused when the input is checked.
    Refused(Refusal),
}

impl CallInput<'_> {
    /// Returns whether the call would send an email, before the input is checked.
    fn sends(&self) -> bool {
        let send = match self {
            CallInput::Body(Some(body)) => body.get("send"),
            CallInput::Tool(arguments) => arguments.get("send"),
            _ => None,
        };
        send == Some(&Value::Bool(true))
    }

    fn read<I: Input>(self) -> Result<I> {
        Ok(match self {
            CallInput::Query(pairs) => read_query::<I>(pairs)?,
            CallInput::Body(body) => I::read(body.unwrap_or_else(|| Value::Object(Map::new())))?,
            CallInput::Tool(arguments) => read_arguments::<I>(Value::Object(arguments))?,
            CallInput::Refused(refusal) => return Err(refusal),
        })
    }

    /// Returns the id of the conversation, from the path or from the arguments of a tool.
    fn take_id(&mut self, path: Option<&str>) -> Result<String, Problems> {
        let wrong = |message: &str| shared_inbox::Problem::new("id", message).into();
        match (path, self) {
            (Some(id), _) => Ok(id.to_owned()),
            (None, CallInput::Tool(arguments)) => match arguments.remove("id") {
                Some(Value::String(id)) => Ok(id),
                Some(_) => Err(wrong("must be a string")),
                None => Err(wrong("is required")),
            },
            (None, _) => Err(wrong("is required")),
        }
    }
}

/// The response to a change that creates nothing.
#[derive(Serialize)]
struct Acknowledgement {
    ok: bool,
}

/// Checks the input of an operation that takes none.
fn nothing(input: CallInput<'_>) -> Result<()> {
    if let CallInput::Refused(refusal) = input { Err(refusal) } else { Ok(()) }
}

impl World {
    /// Performs an operation of the service for an agent.
    ///
    /// ```
    /// use shared_inbox::Timestamp;
    /// use shared_inbox_mock::{LIVE_KEY, world::{CallInput, KeyHash, Operation, World}};
    ///
    /// let now = Timestamp::from_millis(1_800_000_000_000);
    /// let mut world = World::demo(now);
    /// let agent = world.authenticate(&KeyHash::from_key(LIVE_KEY)).expect("the fixed key");
    /// let query = [("q".to_owned(), "broken".to_owned())];
    /// let response = world.call(&agent, Operation::ListConversations, None, CallInput::Query(&query), now)?;
    /// assert_eq!(response.status, 200);
    /// # Ok::<(), shared_inbox_mock::Refusal>(())
    /// ```
    ///
    /// The order of checks: plan, rate limit, scope, input, conversation. Nothing takes effect before all
    /// have passed.
    pub fn call(
        &mut self,
        agent: &AgentId,
        op: Operation,
        id: Option<&str>,
        input: CallInput<'_>,
        now: Timestamp,
    ) -> Result<ServiceResponse> {
        self.check_limits(agent, now)?;
        self.perform(agent, op, id, input, now)
    }

    /// Checks the plan and the rate limit of a request, and counts it.
    pub(crate) fn check_limits(&mut self, agent: &AgentId, now: Timestamp) -> Result<()> {
        self.key_of(agent)?;
        if self.workspace.plan == Plan::Free {
            return Err(Refusal::new(
                403,
                "The API is available on the Pro and Team plans; upgrade the workspace.",
            ));
        }
        self.limits.count_call(agent, now)
    }

    /// Performs an operation of a request within its limits: scope, input, conversation, effect.
    pub(crate) fn perform(
        &mut self,
        agent: &AgentId,
        op: Operation,
        id: Option<&str>,
        mut input: CallInput<'_>,
        now: Timestamp,
    ) -> Result<ServiceResponse> {
        let key = self.key_of(agent)?;
        if op == Operation::SandboxInbound && !self.keys[key].livemode {
            self.limits.check_inbound(now)?;
        }
        self.check_scope(key, op, input.sends())?;

        if !op.takes_conversation() {
            return match op {
                Operation::Me => {
                    nothing(input)?;
                    let key = &self.keys[key];
                    let agent = shared_inbox::Agent::new(key.agent_id.clone(), &key.name);
                    let mut me = Me::new(agent, key.scopes.clone());
                    me.livemode = Some(key.livemode);
                    ServiceResponse::json(200, &me)
                }
                Operation::ListConversations => self.list(key, &input.read::<ListConversations>()?),
                Operation::ListMailboxes => nothing(input).and_then(|()| self.list_mailboxes(key)),
                Operation::ListTags => nothing(input).and_then(|()| self.list_tags(key)),
                Operation::SearchDocuments => self.search_documents(key, &input.read::<SearchDocuments>()?),
                Operation::RecordSent => {
                    let mail = input.read::<RecordSent>()?;
                    self.record_sent(self.keys[key].livemode, mail, now);
                    ServiceResponse::json(201, &Acknowledgement { ok: true })
                }
                Operation::SandboxInbound => {
                    let receipt = self.sandbox_inbound(key, input.read::<SandboxInbound>()?, now)?;
                    ServiceResponse::json(201, &receipt)
                }
                _ => Err(Refusal::new(404, "There is no such operation.")),
            };
        }

        let id = input.take_id(id);
        match op {
            Operation::GetConversation => {
                let (at, ()) = self.locate(key, id, nothing(input))?;
                self.read_conversation(at)
            }
            Operation::AddNote => {
                let (at, note) = self.locate(key, id, input.read::<AddNote>())?;
                self.add_note(at, self.agent_of(key).as_ref(), note, now);
                ServiceResponse::json(201, &Acknowledgement { ok: true })
            }
            Operation::SetStatus => {
                let (at, change) = self.locate(key, id, input.read::<SetStatus>())?;
                self.set_status(at, self.agent_of(key).as_ref(), change.status, now);
                ServiceResponse::json(200, &Acknowledgement { ok: true })
            }
            Operation::TagConversation => {
                let (at, change) = self.locate(key, id, input.read::<TagConversation>())?;
                self.tag(at, self.agent_of(key).as_ref(), change, now);
                ServiceResponse::json(200, &Acknowledgement { ok: true })
            }
            Operation::AssignConversation => {
                let (at, change) = self.locate(key, id, input.read::<AssignConversation>())?;
                self.assign(at, change.to, self.agent_of(key).as_ref(), now)?;
                ServiceResponse::json(200, &Acknowledgement { ok: true })
            }
            Operation::Reply => {
                let (at, reply) = self.locate(key, id, input.read::<Reply>())?;
                ServiceResponse::json(201, &self.reply(at, self.agent_of(key), reply, now))
            }
            Operation::RequestDocuments => {
                let (at, request) = self.locate(key, id, input.read::<RequestDocuments>())?;
                ServiceResponse::json(201, &self.request_documents(at, self.agent_of(key), request, now))
            }
            _ => Err(Refusal::new(404, "There is no such operation.")),
        }
    }

    /// Returns the conversation with this id, and the input. Problems of the id come before those of the
    /// input.
    fn locate<I>(&self, key: usize, id: Result<String, Problems>, input: Result<I>) -> Result<(usize, I)> {
        match (id, input) {
            (Ok(id), Ok(input)) => Ok((self.conversation_for(key, &id)?, input)),
            (Err(problems), Ok(_)) => Err(problems.into()),
            (Ok(_), Err(refusal)) => Err(refusal),
            (Err(problems), Err(refusal)) => {
                Err(Refusal::new(400, format!("{problems}; {}", refusal.message)))
            }
        }
    }

    fn key_of(&self, agent: &AgentId) -> Result<usize> {
        let key = self.index.agents.get(agent).copied().filter(|key| !self.keys[*key].revoked);
        key.ok_or_else(|| Refusal::new(401, "This key is not valid; use one that was not revoked."))
    }

    fn check_scope(&self, key: usize, op: Operation, sends: bool) -> Result<()> {
        let key = &self.keys[key];
        let scope: &Scope = op.scope_when_sending().filter(|_| sends).unwrap_or(op.scope());
        if !key.scopes.contains(scope) {
            return Err(Refusal::scope(scope));
        }
        if op == Operation::SandboxInbound && key.livemode {
            return Err(Refusal::new(403, "Simulated mail is for the sandbox: use a test key."));
        }
        Ok(())
    }
}
