//! Completions: what can be typed for an argument of a prompt or a resource. Without an answer from the
//! service there are none, and none either when the rate limit is used up: a client must not be kept from
//! typing, nor a call from being made because somebody typed. A filter that hides a tool closes its
//! completions too.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use shared_inbox::{__spec::Operation, ConversationId, ConversationSummary, input::ListConversations};

use crate::{
    outcome::Failure,
    render,
    server::{Bridge, inboxes::InboxReader},
};

impl Bridge {
    pub(in crate::server) async fn completions(&self, request: &CompleteRequestParams) -> CompleteResult {
        let Ok(connection) = self.connector.get().await else { return CompleteResult::default() };
        let inboxes = self.inboxes.reader(&connection.client).in_background();
        let typed = request.argument.value.to_lowercase();
        let in_prompt = matches!(request.r#ref, Reference::Prompt(_));
        let shown = |operation| self.settings.filter.hides(operation, connection.scopes()).is_none();
        let found = match request.argument.name.as_str() {
            "mailbox" if shown(Operation::ListMailboxes) => mailboxes(inboxes, &typed, in_prompt).await,
            "tag" if shown(Operation::ListTags) => tags(inboxes, &typed).await,
            "teammate" if shown(Operation::GetConversation) => {
                let named =
                    request.context.as_ref().and_then(|c| c.get_argument("conversation")?.parse().ok());
                teammates(inboxes, &typed, named).await
            }
            "conversation" | "id" if shown(Operation::ListConversations) => ids(inboxes, &typed).await,
            _ => Ok(Vec::new()),
        };
        let mut values = found.unwrap_or_default();
        values.retain(|value| is_what_it_looks_like(value));
        let total = values.len();
        values.truncate(CompletionInfo::MAX_VALUES);
        let more = values.len() < total;
        CompletionInfo::with_pagination(values, u32::try_from(total).ok(), more)
            .map(CompleteResult::new)
            .unwrap_or_default()
    }
}

type Found = Result<Vec<String>, Failure>;

/// Returns inboxes by address in a prompt, by id in a resource.
async fn mailboxes(inboxes: InboxReader<'_>, typed: &str, in_prompt: bool) -> Found {
    let all = inboxes.mailboxes().await?.into_iter();
    let fits = all.filter(|m| has(typed, &[m.id.as_str(), &m.name, &m.address]));
    Ok(fits.map(|m| if in_prompt { m.address } else { m.id.to_string() }).collect())
}

async fn conversations(
    inboxes: InboxReader<'_>,
    limit: Option<u32>,
) -> Result<Vec<ConversationSummary>, Failure> {
    let mut input = ListConversations::default();
    input.limit = limit;
    Ok(inboxes.conversations(input, &[]).await?.0)
}

/// Returns the names on the team of a conversation: the one that was named, or else the newest.
async fn teammates(inboxes: InboxReader<'_>, typed: &str, named: Option<ConversationId>) -> Found {
    let id = match named {
        Some(id) => id,
        None => match conversations(inboxes, Some(1)).await?.into_iter().next() {
            Some(newest) => newest.id,
            None => return Ok(Vec::new()),
        },
    };
    let team = inboxes.conversation(&id).await?.team;
    let all = team.people.into_iter().chain(team.agents);
    Ok(all.filter(|m| has(typed, &[&m.id.to_string(), &m.name])).map(|m| m.name).collect())
}

async fn ids(inboxes: InboxReader<'_>, typed: &str) -> Found {
    let all = conversations(inboxes, None).await?.into_iter();
    Ok(all.filter(|c| has(typed, &[c.id.as_str(), &c.subject])).map(|c| c.id.to_string()).collect())
}

async fn tags(inboxes: InboxReader<'_>, typed: &str) -> Found {
    let mut all = inboxes.tags().await?;
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    Ok(all.into_iter().filter(|t| has(typed, &[&t.name])).map(|t| t.name).collect())
}

fn has(typed: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| text.to_lowercase().contains(typed))
}

/// Returns whether a name can be offered. One with something hidden in it, or an endless one, would go into a
/// prompt as it is, and a cleaned one would be another name.
fn is_what_it_looks_like(value: &str) -> bool {
    render::own(value) == value
}
