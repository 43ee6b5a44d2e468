//! The operations as MCP tools: names, schemas, and words for a model.

use serde_json::{Value, json};

use super::{Method, Operation, Repeat, schema::object_schema};

/// An MCP tool, as both MCP servers of this project show it.
///
/// ```
/// use shared_inbox::Operation;
/// let tool = Operation::Reply.tool().expect("a reply is a tool");
/// assert_eq!(tool.name, "reply");
/// assert_eq!(tool.input_schema["required"], serde_json::json!(["id", "body"]));
/// assert!(!tool.read_only && !tool.idempotent && tool.open_world);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, when to use it, what it does not do.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured result.
    pub output_schema: Value,
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo what someone else did.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It may reach people outside the workspace.
    pub open_world: bool,
}

impl Operation {
    /// The operation as an MCP tool, if it is one.
    pub fn tool(self) -> Option<Tool> {
        let name = self.tool_name()?;
        let (title, description) = self.words();
        Some(Tool {
            name,
            title,
            description,
            input_schema: self.tool_input_schema(),
            output_schema: self.tool_output_schema(),
            read_only: self.method() == Method::Get,
            destructive: matches!(
                self,
                Operation::SetStatus | Operation::TagConversation | Operation::AssignConversation
            ),
            idempotent: self.repeat() == Repeat::Harmless,
            open_world: self.scope_when_sending().is_some(),
        })
    }

    /// Whether the answer is a list, which a tool gives as `{"items": […]}`.
    pub fn is_list(self) -> bool {
        use Operation::{ListConversations, ListMailboxes, ListTags, SearchDocuments};
        matches!(self, ListConversations | ListMailboxes | ListTags | SearchDocuments)
    }

    fn tool_input_schema(self) -> Value {
        let mut schema = object_schema(self.fields());
        if self.takes_conversation() {
            schema["properties"]["id"] = json!({
                "type": "string",
                "pattern": "^cnv_[0-9a-z]+$",
                "description": "The conversation's id, cnv_…, from list_conversations.",
            });
            let mut required = vec![Value::from("id")];
            required.extend(schema["required"].as_array().cloned().unwrap_or_default());
            schema["required"] = required.into();
        }
        schema
    }

    fn tool_output_schema(self) -> Value {
        let schema = self.output_schema();
        if self.is_list() {
            json!({ "type": "object", "properties": { "items": schema }, "required": ["items"] })
        } else {
            schema
        }
    }

    /// Title and description.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Operation::ListConversations => (
                "List conversations",
                "Lists customer conversations, newest first, as short summaries. Use it to see what needs work or to \
                 find a conversation by words, inbox, assignee or app reference. Gives open conversations unless \
                 `view` says otherwise, and at most `limit` of them; there is no next page, so narrow the list with \
                 the other arguments. It does not give the messages: read those with get_conversation.",
            ),
            Operation::GetConversation => (
                "Read a conversation",
                "Reads one conversation whole: its messages, internal notes and events, oldest first, and the team \
                 it can be assigned to. Use it before you answer, note or assign anything. Message texts come without \
                 quoted history and are cut after 8,000 characters. It does not mark anything as read.",
            ),
            Operation::AddNote => (
                "Add an internal note",
                "Adds a note to a conversation that the team sees and the customer never does. Use it to leave \
                 findings or to ask a teammate; @FirstName mentions a person. Each call makes a new note, so do not \
                 repeat a call that may have worked. It does not answer the customer.",
            ),
            Operation::SetStatus => (
                "Set the status",
                "Sets a conversation to open (the team has something to do), waiting (the customer has) or closed. \
                 Setting the status that it has changes nothing. It does not tell the customer.",
            ),
            Operation::TagConversation => (
                "Tag a conversation",
                "Adds tags to a conversation and takes tags away, up to ten of each. Names that do not exist are \
                 created, so look at list_tags first to use the team's own words. Repeating it changes nothing.",
            ),
            Operation::AssignConversation => (
                "Assign a conversation",
                "Gives a conversation to a person or an agent, to yourself (`me`) or to nobody (`none`). Ids of people \
                 and agents stand under `team` in get_conversation. It does not notify the customer.",
            ),
            Operation::Reply => (
                "Reply to the customer",
                "Writes a reply to the customer of a conversation. Without `send` it is a draft that a person \
                 approves: use that unless you were told to send. With `send: true` it is mailed when the undo window \
                 has passed. With `documents` an upload link and a checklist are added below your text, so do not \
                 write a link. Each call makes a new reply, so do not repeat a call that may have worked.",
            ),
            Operation::RequestDocuments => (
                "Ask for documents",
                "Asks the customer of a conversation for documents: a mail with a checklist and a private upload \
                 page, and reminders after 2, 4 and 7 days. Without `send` it is a draft that a person approves. Use it when \
                 papers are all you need; to answer a question in the same mail, use reply with `documents`. Each call \
                 makes a new request.",
            ),
            Operation::ListMailboxes => (
                "List inboxes",
                "Lists every inbox you can see, with its address and how many conversations are open in it. Use it to \
                 get the id that list_conversations takes as `mailbox`.",
            ),
            Operation::ListTags => (
                "List tags",
                "Lists every tag of the workspace with the number of conversations that have it. Use it before you \
                 tag, so that you do not make a second tag for the same thing.",
            ),
            Operation::SearchDocuments => (
                "Search documents",
                "Searches the document library (files that customers sent or uploaded), newest first, by words in \
                 title, file name or the data read out of them, and by kind. It gives that data and the conversation \
                 a document came with, not the file itself.",
            ),
            Operation::RecordSent => (
                "Record a mail the app sent",
                "Records an email that an app sent by itself, so that the customer's reply becomes a conversation \
                 with the app's reference. Give the Message-ID header that the mail went out with. Recording the same \
                 one again is safe. It does not send anything.",
            ),
            Operation::Me | Operation::SandboxInbound => ("", ""),
        }
    }
}
