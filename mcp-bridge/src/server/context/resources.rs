//! Resources: the inbox as things to attach, for clients whose people pick context by hand.
//!
//! They carry the same fenced text as the tools, and a filter that hides a tool closes its resource too.

use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use shared_inbox::{__spec::Operation, ConversationId, MailboxId};

use super::skills;
use crate::{
    outcome::{Failure, FailureKind},
    render,
    server::{
        Bridge, Connection, ReadPriority,
        inboxes::{self, Denied},
        results::{denied, failed, invalid},
        tools,
    },
};

const TEXT: &str = "text/plain";
pub(in crate::server) const CONVERSATION: &str = "inbox://conversations/{id}";
const ITEMS: &str = "inbox://conversations/{id}/items/{range}";
pub(in crate::server) const OF_MAILBOX: &str = "inbox://mailboxes/{mailbox}/conversations";

enum ResourceUri {
    Me,
    Mailboxes,
    Tags,
    Conversations(Option<MailboxId>),
    Conversation(ConversationId),
    Items(ConversationId, std::ops::Range<usize>),
}

impl ResourceUri {
    fn parse(uri: &str) -> Option<Self> {
        let path: Vec<_> = uri.strip_prefix("inbox://")?.split('/').collect();
        Some(match path[..] {
            ["me"] => Self::Me,
            ["mailboxes"] => Self::Mailboxes,
            ["tags"] => Self::Tags,
            ["conversations"] => Self::Conversations(None),
            ["mailboxes", id, "conversations"] => Self::Conversations(Some(id.parse().ok()?)),
            ["conversations", id] => Self::Conversation(id.parse().ok()?),
            ["conversations", id, "items", range] => Self::Items(id.parse().ok()?, tools::range(range)?),
            _ => return None,
        })
    }

    fn operation(&self) -> Operation {
        match self {
            Self::Me => Operation::Me,
            Self::Mailboxes => Operation::ListMailboxes,
            Self::Tags => Operation::ListTags,
            Self::Conversations(_) => Operation::ListConversations,
            Self::Conversation(_) | Self::Items(..) => Operation::GetConversation,
        }
    }
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
        let resource = ResourceUri::parse(uri).ok_or_else(|| {
            let said = "There is no such resource; see resources/list and resources/templates/list.";
            Failure::new(FailureKind::NotFound, said)
        })?;
        let text = self.read(&resource).await?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
    }

    /// Returns the text of a conversation, for a prompt to attach.
    pub(in crate::server) async fn conversation_text(&self, id: &ConversationId) -> Result<String, Failure> {
        self.read(&ResourceUri::Conversation(id.clone())).await
    }

    async fn read(&self, resource: &ResourceUri) -> Result<String, Failure> {
        let connection = self.connector.get().await.map_err(failed)?;
        let operation = resource.operation();
        if operation != Operation::Me
            && let Some(why) = self.settings.filter.hides(operation, connection.scopes())
        {
            return Err(invalid(format!("This resource is not available: {why}.")));
        }
        self.text(resource, &connection).await.map_err(denied)
    }

    async fn text(&self, resource: &ResourceUri, connection: &Connection) -> Result<String, Denied> {
        let (client, style) = (&connection.client, self.style());
        let rendered = match resource {
            ResourceUri::Me => return Ok(self.about(connection)),
            ResourceUri::Mailboxes => {
                render::mailboxes(&style, &self.inboxes.mailboxes(client, ReadPriority::Requested).await?)
            }
            ResourceUri::Tags => render::tags(&style, &client.tags().await?),
            ResourceUri::Conversations(mailbox) => {
                let input = inboxes::list(mailbox.clone(), None);
                let (all, more) =
                    self.inboxes.conversations(client, input, &[], ReadPriority::Requested).await?;
                render::conversations(&style.more(more), &all)
            }
            ResourceUri::Conversation(id) => render::conversation(
                &style,
                &self.inboxes.conversation(client, id, ReadPriority::Requested).await?,
                None,
            ),
            ResourceUri::Items(id, part) => {
                let c = self.inboxes.conversation(client, id, ReadPriority::Requested).await?;
                render::conversation(&style, &c, Some(part.clone()))
            }
        };
        Ok(rendered.text)
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
