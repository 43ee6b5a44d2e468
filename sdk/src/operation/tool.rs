//! The operations as MCP tools: names, schemas, and words for a model.
#![allow(missing_docs, reason = "internal: reached through `__spec` alone")]

use serde_json::{Value, json};

use super::{Idempotency, Method, Operation, schema::object_schema};

/// An MCP tool, as both MCP servers of this project show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub input_schema: Value,
    /// The JSON Schema of its structured result, in outline: the names of its fields and their types.
    pub output_schema: Value,
    pub read_only: bool,
    /// It may undo what someone else did.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It may reach people outside the workspace.
    pub open_world: bool,
}

impl Operation {
    /// Returns the operation as an MCP tool, if it is one.
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
            idempotent: self.idempotency() == Idempotency::Harmless,
            open_world: self.scope_when_sending().is_some(),
        })
    }

    fn tool_input_schema(self) -> Value {
        let mut schema = object_schema(self.fields());
        if self.takes_conversation() {
            schema["properties"]["id"] = json!({
                "type": "string",
                "pattern": "^cnv_[0-9a-z]+$",
                "description": "cnv_…, from list_conversations.",
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
            let items = json!({ "type": "array", "items": outline(&schema["items"]) });
            json!({ "type": "object", "properties": { "items": items }, "required": ["items"] })
        } else {
            outline(&schema)
        }
    }

    /// Title and description.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Operation::ListConversations => (
                "List conversations",
                "Lists customer conversations, newest first, as short summaries without their messages (read those with \
                 get_conversation). Open ones unless `view` says otherwise. There is no next page: narrow the list with \
                 the other arguments.",
            ),
            Operation::GetConversation => (
                "Read a conversation",
                "Reads one conversation: messages, internal notes and events, oldest first, and the team it can be \
                 assigned to. Use it before you answer, note or assign. Message texts come without quoted history, cut \
                 after 8,000 characters.",
            ),
            Operation::AddNote => (
                "Add an internal note",
                "Adds a note that the team sees and the customer never does; @FirstName mentions a person. \
                 Each call makes another note: after a failure or a timeout, look at the conversation first.",
            ),
            Operation::SetStatus => (
                "Set the status",
                "Sets a conversation to open (the team has something to do), waiting (the customer has) or closed. The \
                 customer is not notified.",
            ),
            Operation::TagConversation => (
                "Tag a conversation",
                "Adds and removes tags, up to ten of each. Unknown names are created, so look at list_tags first.",
            ),
            Operation::AssignConversation => (
                "Assign a conversation",
                "Assigns a conversation to a person or an agent on its team, to yourself (`me`) or to nobody (`none`). \
                 get_conversation lists the team.",
            ),
            Operation::Reply => (
                "Reply to the customer",
                "Writes a reply to the customer. Without `send` it is a draft that a person approves: use that unless \
                 you were told to send. With `documents` an upload link is added: do not write one. Each call makes \
                 another reply: after a failure or a timeout, look at the conversation first.",
            ),
            Operation::RequestDocuments => (
                "Ask for documents",
                "Asks the customer for documents: an email with a checklist and a private upload page, and reminders \
                 after 2, 4 and 7 days. Without `send` it is a draft that a person approves. Each call makes another request: \
                 after a failure or a timeout, look at the conversation first.",
            ),
            Operation::ListMailboxes => (
                "List inboxes",
                "Lists the inboxes you can see, with address and number of open conversations. list_conversations takes an \
                 id from here as `mailbox`.",
            ),
            Operation::ListTags => (
                "List tags",
                "Lists every tag with its number of conversations. Look here before you tag, to use the team's own \
                 words.",
            ),
            Operation::SearchDocuments => (
                "Search documents",
                "Searches files that customers sent or uploaded, newest first, by words in title, file name or the data \
                 read out of them, and by kind. Gives that data and the conversation, not the file itself.",
            ),
            Operation::RecordSent => (
                "Record an email the app sent",
                "Records an email that an app sent by itself, so that the customer's reply becomes a conversation with the \
                 app's reference. Recording the same one again is safe. It sends nothing.",
            ),
            Operation::Me | Operation::SandboxInbound => ("", ""),
        }
    }
}

/// Returns the names and types of an object's fields. A list of tools is read by models, which pay for every
/// word of it; the whole schema is that of [`Operation::output_schema`].
fn outline(schema: &Value) -> Value {
    let typed = |of: &Value| of.get("type").map_or_else(|| json!({}), |kind| json!({ "type": kind }));
    let mut out = typed(schema);
    if let Some(fields) = schema["properties"].as_object() {
        out["properties"] = fields.iter().map(|(name, field)| (name.clone(), typed(field))).collect();
    }
    out
}
