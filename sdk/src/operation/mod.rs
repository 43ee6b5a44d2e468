//! The catalogue: the fourteen operations of the service, each with everything that is fixed about it.
//!
//! The client takes its retry rule from here, a server its scope checks, an MCP server its tools.

#[cfg(feature = "__schemas")]
mod schema;
#[cfg(feature = "__schemas")]
mod tool;

#[cfg(feature = "__schemas")]
pub use schema::answers;
#[cfg(feature = "__schemas")]
pub use tool::Tool;

use crate::{
    ConversationId, Scope,
    input::rule::Field,
    input::{
        AddNote, AssignConversation, Input, ListConversations, RecordSent, Reply, RequestDocuments,
        SandboxInbound, SearchDocuments, SetStatus, TagConversation,
    },
};

/// The two methods that the service uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Reads.
    Get,
    /// Changes something.
    Post,
}

impl Method {
    /// Returns the method in capitals.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// The effect of making the same request twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Idempotency {
    /// Nothing: the second changes nothing more.
    Harmless,
    /// A second item, but the conversation's timeline shows whether the first one arrived.
    Verify,
    /// A second item, and nothing to look it up by.
    Never,
}

struct Entry {
    method: Method,
    path: &'static str,
    scope: &'static Scope,
    scope_when_sending: Option<&'static Scope>,
    tool: Option<&'static str>,
    repeat: Idempotency,
    fields: &'static [Field],
    success: u16,
}

const fn get(path: &'static str, tool: Option<&'static str>, fields: &'static [Field]) -> Entry {
    Entry {
        method: Method::Get,
        path,
        scope: &Scope::Read,
        scope_when_sending: None,
        tool,
        repeat: Idempotency::Harmless,
        fields,
        success: 200,
    }
}

/// A change that can be repeated.
const fn change(path: &'static str, tool: &'static str, fields: &'static [Field]) -> Entry {
    let (method, scope) = (Method::Post, &Scope::Write);
    Entry { method, scope, path, tool: Some(tool), fields, ..get("", None, &[]) }
}

/// A reply of some kind, which makes a draft or emails the customer.
const fn reply(path: &'static str, tool: &'static str, fields: &'static [Field]) -> Entry {
    let (scope, scope_when_sending) = (&Scope::Draft, Some(&Scope::Send));
    Entry {
        scope,
        scope_when_sending,
        repeat: Idempotency::Verify,
        success: 201,
        ..change(path, tool, fields)
    }
}

macro_rules! operations {
    ($(#[$attr:meta])* pub enum Operation { $($(#[$doc:meta])* $name:ident = $entry:expr;)* }) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Operation {
            $($(#[$doc])* $name,)*
        }

        impl Operation {
            /// All operations that this version knows.
            pub const KNOWN: &'static [Operation] = &[$(Operation::$name),*];

            fn entry(self) -> &'static Entry {
                match self {
                    $(Operation::$name => {
                        static ENTRY: Entry = $entry;
                        &ENTRY
                    })*
                }
            }
        }
    };
}

operations! {
    /// An operation of the service.
    pub enum Operation {
        /// Read the identity and the scopes of the key.
        Me = get("/me", None, &[]);
        /// List conversations.
        ListConversations = get("/conversations", Some("list_conversations"), ListConversations::FIELDS);
        /// Read one conversation.
        GetConversation = get("/conversations/{id}", Some("get_conversation"), &[]);
        /// Add an internal note.
        AddNote = Entry {
            repeat: Idempotency::Verify,
            success: 201,
            ..change("/conversations/{id}/notes", "add_note", AddNote::FIELDS)
        };
        /// Change the status.
        SetStatus = change("/conversations/{id}/status", "set_status", SetStatus::FIELDS);
        /// Add and remove tags.
        TagConversation = change("/conversations/{id}/tags", "tag_conversation", TagConversation::FIELDS);
        /// Assign a conversation to someone.
        AssignConversation =
            change("/conversations/{id}/assign", "assign_conversation", AssignConversation::FIELDS);
        /// Draft or send a reply.
        Reply = reply("/conversations/{id}/replies", "reply", Reply::FIELDS);
        /// Draft or send a request for documents.
        RequestDocuments =
            reply("/conversations/{id}/document-requests", "request_documents", RequestDocuments::FIELDS);
        /// List the inboxes.
        ListMailboxes = get("/mailboxes", Some("list_mailboxes"), &[]);
        /// List the tags.
        ListTags = get("/tags", Some("list_tags"), &[]);
        /// Search the document library.
        SearchDocuments = get("/documents", Some("search_documents"), SearchDocuments::FIELDS);
        /// Record an email that the app sent.
        RecordSent =
            Entry { scope: &Scope::Record, success: 201, ..change("/app-mail", "record_sent", RecordSent::FIELDS) };
        /// Simulate an incoming email in the sandbox.
        SandboxInbound = Entry {
            tool: None,
            repeat: Idempotency::Never,
            success: 201,
            ..change("/sandbox/inbound", "", SandboxInbound::FIELDS)
        };
    }
}

impl Operation {
    /// Returns the HTTP method.
    pub fn method(self) -> Method {
        self.entry().method
    }

    /// Returns the path behind the base URL, with `{id}` where a conversation's id belongs.
    pub fn path(self) -> &'static str {
        self.entry().path
    }

    /// Returns the path for one conversation.
    pub fn path_for(self, id: &ConversationId) -> String {
        self.path().replace("{id}", id.as_str())
    }

    /// Returns whether it is about one conversation.
    pub fn takes_conversation(self) -> bool {
        self.path().contains("{id}")
    }

    /// Returns the scope that it needs.
    pub fn scope(self) -> &'static Scope {
        self.entry().scope
    }

    /// Returns the scope that it needs instead when it emails the customer, if it can.
    pub fn scope_when_sending(self) -> Option<&'static Scope> {
        self.entry().scope_when_sending
    }

    /// Returns whether a key with these scopes can use it in any way.
    pub fn is_allowed_by(self, scopes: &[Scope]) -> bool {
        let entry = self.entry();
        scopes.iter().any(|scope| scope == entry.scope || Some(scope) == entry.scope_when_sending)
    }

    /// Returns its name as an MCP tool, if it is one.
    pub fn tool_name(self) -> Option<&'static str> {
        self.entry().tool
    }

    /// Returns the operation behind an MCP tool.
    pub fn from_tool_name(name: &str) -> Option<Operation> {
        Self::KNOWN.iter().copied().find(|op| op.tool_name() == Some(name))
    }

    /// Returns what it means to make the same request twice.
    pub fn idempotency(self) -> Idempotency {
        self.entry().repeat
    }

    /// Returns whether the response is a list, which a tool gives as `{"items": […]}`.
    pub fn is_list(self) -> bool {
        use Operation::{ListConversations, ListMailboxes, ListTags, SearchDocuments};
        matches!(self, ListConversations | ListMailboxes | ListTags | SearchDocuments)
    }

    /// Returns the fields of its query or body, and their rules.
    #[doc(hidden)]
    pub fn fields(self) -> &'static [Field] {
        self.entry().fields
    }

    /// Returns the status of a success.
    pub fn success(self) -> u16 {
        self.entry().success
    }
}
