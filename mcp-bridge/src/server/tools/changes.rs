//! Changes of a conversation, and results that name what is so now.

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use shared_inbox::{
    __spec::read_arguments,
    AgentId, AssignTo, ConversationId, TeamMember, UserId,
    input::{AssignConversation, TagConversation},
};

use super::arguments::require_id_and_input;
use crate::{
    outcome::Failure,
    render::quoted,
    server::{
        Bridge, Connection,
        results::{changed, failed},
    },
};

/// How many teammates an error names.
const MAX_CANDIDATES: usize = 20;

/// Returns what changed about the tags of a conversation.
pub(super) fn tagged(id: &ConversationId, input: &TagConversation) -> CallToolResult {
    let names = |tags: &[String]| tags.iter().map(|tag| quoted(tag)).collect::<Vec<_>>().join(", ");
    let (added, removed) = (&input.add, &input.remove);
    let has = (!added.is_empty()).then(|| format!("has {}", names(added)));
    let lost = (!removed.is_empty()).then(|| format!("no longer has {}", names(removed)));
    let now = [has, lost].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    changed(&format!("{id} {now} now."), json!({ "ok": true, "added": added, "removed": removed }), None)
}

impl Bridge {
    /// Gives a conversation to someone, who may be named by their name.
    pub(in crate::server) async fn assign(
        &self,
        id: Result<ConversationId, String>,
        mut arguments: Value,
        connection: &Connection,
    ) -> Result<CallToolResult, Failure> {
        let mut named = None;
        let to = arguments.get("to").and_then(Value::as_str).filter(|to| !to.is_empty());
        if let (Ok(id), Some(to)) = (&id, to) {
            let to = match spelled(to) {
                Some(to) => to,
                None => {
                    let member = self.teammate(connection, id, to).await?;
                    named = Some(member.name);
                    member.id
                }
            };
            arguments["to"] = to.to_string().into();
        }
        let (id, input) = require_id_and_input(id, read_arguments::<AssignConversation>(arguments))?;
        self.inboxes.reader(&connection.client).admit(&id).await?;
        let done = connection.client.conversation(&id).assign(&input.to).await;
        self.inboxes.admitted(&id, done)?;
        let name = match &input.to {
            AssignTo::Me => Some(connection.me.agent.name.clone()),
            _ => named,
        };
        let assignee = match &input.to {
            AssignTo::Nobody => Value::Null,
            AssignTo::Me => json!({ "id": format!("agent:{}", connection.me.agent.id), "name": name }),
            to => json!({ "id": to, "name": name }),
        };
        let who = match (&input.to, &name) {
            (AssignTo::Nobody, _) => "nobody".to_owned(),
            (AssignTo::Me, Some(name)) => format!("you, the agent {}", quoted(name)),
            (_, Some(name)) => quoted(name),
            (to, None) => to.to_string(),
        };
        Ok(changed(
            &format!("{id} is assigned to {who} now."),
            json!({ "ok": true, "assignee": assignee }),
            None,
        ))
    }

    /// Returns the one on a conversation's team who is meant by a name.
    async fn teammate(
        &self,
        connection: &Connection,
        id: &ConversationId,
        name: &str,
    ) -> Result<TeamMember, Failure> {
        let team = self.inboxes.reader(&connection.client).conversation(id).await?.team;
        let all: Vec<_> = team.people.into_iter().chain(team.agents).collect();
        let named = matching(&all, name);
        let list = |some: &[&TeamMember]| {
            let one = |m: &&TeamMember| format!("{} ({})", quoted(&m.name), m.id);
            some.iter().take(MAX_CANDIDATES).map(one).collect::<Vec<_>>().join(", ")
        };
        match named[..] {
            [member] => Ok(member.clone()),
            [] => Err(failed(format!(
                "Nothing was done: nobody on the team is called {}. The team: {}.",
                quoted(name),
                list(&all.iter().collect::<Vec<_>>())
            ))),
            _ => Err(failed(format!(
                "Nothing was done: {} may be one of several. Call again with an id: {}.",
                quoted(name),
                list(&named)
            ))),
        }
    }
}

/// Returns whom a text names by an id, with or without its kind, or by a word of the service.
fn spelled(to: &str) -> Option<AssignTo> {
    let to = to.trim();
    let bare = || {
        let user = UserId::parse(to).ok().map(AssignTo::User);
        user.or_else(|| AgentId::parse(to).ok().map(AssignTo::Agent))
    };
    to.parse().ok().or_else(bare)
}

/// Returns the members with this name, or else with it as a part of their name.
fn matching<'a>(team: &'a [TeamMember], name: &str) -> Vec<&'a TeamMember> {
    let name = name.trim().trim_start_matches('@').to_lowercase();
    let whole: Vec<_> = team.iter().filter(|m| m.name.to_lowercase() == name).collect();
    if !whole.is_empty() {
        return whole;
    }
    let part = |m: &&TeamMember| m.name.to_lowercase().split_whitespace().any(|word| word == name);
    team.iter().filter(part).collect()
}
