//! Resources: the inbox as things to attach, for clients whose people pick context by hand.
//!
//! They carry the same fenced text as the tools, and a filter that hides a tool closes its resource too.

use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Value, json};
use shared_inbox::{__spec::Operation, ConversationId, MailboxId};

use super::skills;
use crate::{
    outcome::{Failure, FailureKind},
    render,
    server::{
        Bridge, Connection,
        results::{failed, invalid},
        tools,
    },
};

const TEXT: &str = "text/plain";
pub(in crate::server) const CONVERSATION: &str = "inbox://conversations/{id}";
const ITEMS: &str = "inbox://conversations/{id}/items/{range}";
pub(in crate::server) const OF_MAILBOX: &str = "inbox://mailboxes/{mailbox}/conversations";

/// Returns the operation that reads a resource, and its arguments.
fn parse(uri: &str) -> Option<(Operation, Value)> {
    let path: Vec<_> = uri.strip_prefix("inbox://")?.split('/').collect();
    let is_conversation = |id: &str| id.parse::<ConversationId>().is_ok();
    Some(match path[..] {
        ["me"] => (Operation::Me, json!({})),
        ["mailboxes"] => (Operation::ListMailboxes, json!({})),
        ["tags"] => (Operation::ListTags, json!({})),
        ["conversations"] => (Operation::ListConversations, json!({})),
        ["mailboxes", id, "conversations"] if id.parse::<MailboxId>().is_ok() => {
            (Operation::ListConversations, json!({ "mailbox": id }))
        }
        ["conversations", id] if is_conversation(id) => (Operation::GetConversation, json!({ "id": id })),
        ["conversations", id, "items", items] if is_conversation(id) && tools::range(items).is_some() => {
            (Operation::GetConversation, json!({ "id": id, "items": items }))
        }
        _ => return None,
    })
}

/// Returns the resources with a fixed address.
pub(in crate::server) fn list() -> ListResourcesResult {
    let resource = |name: &str, title: &str, about: &str| {
        Resource::new(format!("inbox://{name}"), name)
            .with_title(title)
            .with_description(about)
            .with_mime_type(TEXT)
    };
    ListResourcesResult::with_all_items(vec![
        resource("me", "Whose key this is", "The agent that the bridge acts as, and what its key may do."),
        resource("mailboxes", "Inboxes", "Every inbox you can see, with the number of open conversations."),
        resource("tags", "Tags", "Every tag of the workspace, with the number of conversations."),
        resource("conversations", "Open conversations", "The newest open conversations, as short summaries."),
    ])
}

/// Returns the resources whose address has parts to fill in.
pub(in crate::server) fn templates() -> ListResourceTemplatesResult {
    let template = |uri: &str, name: &str, title: &str, about: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(about).with_mime_type(TEXT)
    };
    ListResourceTemplatesResult::with_all_items(vec![
        template(
            CONVERSATION,
            "conversation",
            "A conversation",
            "Its messages, notes and events, oldest first.",
        ),
        template(
            ITEMS,
            "conversation-items",
            "A part of a conversation",
            "Items of a long conversation by number, such as 1-20.",
        ),
        template(
            OF_MAILBOX,
            "mailbox-conversations",
            "Open conversations of an inbox",
            "The newest open conversations of one inbox, as short summaries.",
        ),
    ])
}

impl Bridge {
    pub(in crate::server) async fn resource(&self, uri: &str) -> Result<ReadResourceResult, Failure> {
        if uri.starts_with(skills::SCHEME) {
            return self.skill_file(uri).await;
        }
        let (operation, arguments) = parse(uri).ok_or_else(|| {
            let said = "There is no such resource; see resources/list and resources/templates/list.";
            Failure::new(FailureKind::NotFound, said)
        })?;
        let text = self.text(operation, arguments).await?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
    }

    /// Returns the text of what an operation reads, for a resource or for a prompt to attach.
    pub(in crate::server) async fn text(
        &self,
        operation: Operation,
        arguments: Value,
    ) -> Result<String, Failure> {
        let connection = self.connector.get().await.map_err(failed)?;
        if operation == Operation::Me {
            return Ok(self.about(&connection));
        }
        if let Some(why) = self.settings.filter.hides(operation, connection.scopes()) {
            return Err(invalid(format!("This resource is not available: {why}.")));
        }
        Ok(self.read(operation, arguments, &connection).await?.text)
    }

    fn about(&self, connection: &Connection) -> String {
        let me = &connection.me;
        let scopes: Vec<_> = me.scopes.iter().map(|scope| render::quoted(scope.as_str())).collect();
        format!(
            "Agent {} ({}), on {}. Scopes: {}.\n",
            render::quoted(&me.agent.name),
            me.agent.id,
            self.settings.access.data(me),
            scopes.join(", ")
        )
    }
}
