//! Who and what a workspace consists of: agents, people, inboxes, tags.

use super::{constructors, shows, wire};
use crate::json::{self, Json};
use crate::{ActorId, ActorType, AgentId, AssignTo, MailboxId, Scope, TagId};

wire! {
    /// The agent behind an API key, and the key's scopes.
    ///
    /// ```
    /// # use shared_inbox::{Me, Scope};
    /// let me: Me = serde_json::from_str(r#"{"agent":{"id":"agt_1","name":"Billing bot"},"scopes":["read","draft"],"livemode":false}"#)?;
    /// assert!(me.allows(&Scope::Draft) && !me.allows(&Scope::Send));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Me {
        /// The agent that the key acts as.
        pub agent: Agent,
        /// The scopes of the key.
        pub scopes: Vec<Scope>,
        /// Whether the key works on live data; `false` for a test key. Older keys may not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "bool"))]
        pub livemode: Option<bool>,
    }

    /// The agent that a key acts as.
    pub struct Agent {
        /// The agent's id.
        pub id: AgentId,
        /// The key's name, under which its notes and drafts show.
        pub name: String,
    }

    /// The person or agent that a conversation is assigned to.
    pub struct Assignee {
        /// A person's or an agent's id.
        pub id: ActorId,
        /// The name to show.
        pub name: String,
        /// Person or agent.
        #[serde(rename = "type")]
        pub kind: ActorType,
    }

    /// The people and agents that a conversation can be assigned to.
    #[derive(Default)]
    pub struct Team {
        /// The people.
        pub people: Vec<TeamMember>,
        /// The agents.
        pub agents: Vec<TeamMember>,
    }

    /// A member of the team.
    ///
    /// ```
    /// use shared_inbox::{AssignTo, TeamMember};
    /// let anna: TeamMember = serde_json::from_str(r#"{"id":"user:usr_1","name":"Anna"}"#)?;
    /// // `thread.assign(&anna.id)` gives a conversation to her.
    /// assert_eq!(anna.id, AssignTo::User("usr_1".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct TeamMember {
        /// `user:usr_…` or `agent:agt_…`: what an assignment takes as it is.
        #[serde(deserialize_with = "AssignTo::read_open")]
        #[cfg_attr(feature = "__schemas", schemars(with = "String"))]
        pub id: AssignTo,
        /// The name to show.
        pub name: String,
    }

    /// An inbox.
    pub struct Mailbox {
        /// The inbox's id.
        pub id: MailboxId,
        /// Its address.
        pub address: String,
        /// Its name.
        pub name: String,
        /// The number of its open conversations, without the snoozed ones.
        pub open: u64,
        /// Fields that this version does not know.
        #[serde(flatten, deserialize_with = "json::rest")]
        #[cfg_attr(feature = "__schemas", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        pub extra: Json,
    }

    /// A tag.
    pub struct Tag {
        /// The tag's id.
        pub id: TagId,
        /// Its name.
        pub name: String,
        /// The number of conversations that have it.
        pub count: u64,
    }
}

constructors! {
    Me(agent: Agent, scopes: impl Into<Vec<Scope>>) { livemode: None };
    Agent(id: AgentId, name: impl Into<String>);
    Assignee(id: impl Into<ActorId>, name: impl Into<String>, kind: ActorType);
    TeamMember(id: impl Into<AssignTo>, name: impl Into<String>);
    Mailbox(id: MailboxId, address: impl Into<String>, name: impl Into<String>) { open: 0, extra: Json::default() };
    Tag(id: TagId, name: impl Into<String>, count: u64);
}

shows! {
    Me: agent scopes livemode;
    Agent: id;
    Assignee: id kind;
    Team: people agents;
    TeamMember: id;
    Mailbox: id open;
    Tag: id count;
}

impl Me {
    /// Returns whether the key has this scope.
    pub fn allows(&self, scope: &Scope) -> bool {
        self.scopes.contains(scope)
    }
}
