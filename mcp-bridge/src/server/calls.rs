//! Calls of tools: arguments in, an operation of the service, a result out.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult},
    service::RequestContext,
};
use serde_json::{Value, json};
use shared_inbox::{
    ConversationId, Input, Operation, Problem, Problems,
    input::{
        AddNote, AssignConversation, ListConversations, RecordSent, Reply, RequestDocuments, SearchDocuments,
        SetStatus, TagConversation,
    },
};

use super::{
    Bridge, Linked, Pace,
    answer::{changed, denied, error, failed},
    mail::{Create, Mail},
    tools,
};
use crate::render;

impl Bridge {
    pub(super) async fn call(
        &self,
        operation: Operation,
        request: CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, CallToolResult> {
        let linked = &self.link.get().await.map_err(failed)?;
        if let Some(why) = self.filter.hides(operation, linked.scopes()) {
            return Err(failed(format!("The tool {} is not available: {why}.", request.name)));
        }
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let client = &linked.client;
        let result = match operation {
            Operation::ListConversations => {
                let input = read::<ListConversations>(arguments)?;
                let all = self.inboxes.conversations(client, input, Pace::Asked).await.map_err(denied)?;
                self.done(render::conversations(&self.style(), &all))
            }
            Operation::SearchDocuments => {
                let input = read::<SearchDocuments>(arguments)?;
                let (all, unseen) = self.inboxes.documents(client, input).await.map_err(denied)?;
                self.done(render::documents(&self.style(), &all, unseen))
            }
            Operation::ListMailboxes => {
                let all = self.inboxes.mailboxes(client, Pace::Asked).await.map_err(denied)?;
                self.done(render::mailboxes(&self.style(), &all))
            }
            Operation::ListTags => {
                self.done(render::tags(&self.style(), &client.tags().await.map_err(|e| error(&e))?))
            }
            Operation::RecordSent => {
                let input = read::<RecordSent>(arguments)?;
                let call = client.record_sent(
                    input.message_id.clone(),
                    input.reference.clone(),
                    input.to.clone(),
                    input.subject.clone(),
                );
                call.input(input).await.map_err(|e| error(&e))?;
                changed("Recorded.", ok(), None)
            }
            _ => return self.in_conversation(operation, arguments, linked, &request, ctx).await,
        };
        Ok(result.into())
    }

    async fn in_conversation(
        &self,
        operation: Operation,
        arguments: Value,
        linked: &Arc<Linked>,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, CallToolResult> {
        let id = conversation_id(&arguments);
        let thread = |id: &ConversationId| linked.client.conversation(id);
        let admit = async |id: &ConversationId| self.inboxes.admit(&linked.client, id).await.map_err(denied);
        let result = match operation {
            Operation::GetConversation => {
                let items = tools::items(&arguments).map_err(|why| Problem::new(tools::ITEMS, why).into());
                let (id, items) = with(id, items)?;
                let c = self.inboxes.conversation(&linked.client, &id, Pace::Asked).await.map_err(denied)?;
                self.done(render::conversation(&self.style(), &c, items))
            }
            Operation::SetStatus => {
                let (id, input) = with(id, SetStatus::read_arguments(arguments))?;
                admit(&id).await?;
                let status = input.status.clone();
                thread(&id).set_status(status.clone()).await.map_err(|e| error(&e))?;
                changed(&format!("{id} is {status} now."), ok(), None)
            }
            Operation::TagConversation => {
                let (id, input) = with(id, TagConversation::read_arguments(arguments))?;
                admit(&id).await?;
                thread(&id).edit_tags().input(input).await.map_err(|e| error(&e))?;
                changed(&format!("The tags of {id} are set."), ok(), None)
            }
            Operation::AssignConversation => {
                let (id, input) = with(id, AssignConversation::read_arguments(arguments))?;
                admit(&id).await?;
                thread(&id).assign(input.to).await.map_err(|e| error(&e))?;
                changed(&format!("{id} is assigned."), ok(), None)
            }
            Operation::AddNote => {
                let (id, input) = with(id, AddNote::read_arguments(arguments))?;
                admit(&id).await?;
                self.mailroom.create(linked, &Create::note(id, input), None).await
            }
            Operation::Reply => {
                let (id, input) = with(id, Reply::read_arguments(arguments))?;
                admit(&id).await?;
                return self.mailroom.mail(linked, Mail::reply(id, input), request, ctx).await;
            }
            Operation::RequestDocuments => {
                let (id, input) = with(id, RequestDocuments::read_arguments(arguments))?;
                admit(&id).await?;
                return self.mailroom.mail(linked, Mail::request(id, input), request, ctx).await;
            }
            // The catalogue may grow before the bridge does.
            _ => failed(format!("This version of the bridge cannot run {}.", request.name)),
        };
        Ok(result.into())
    }
}

/// The answer of an operation that has nothing more to say.
pub(super) fn ok() -> Value {
    json!({ "ok": true })
}

fn read<I: Input>(arguments: Value) -> Result<I, CallToolResult> {
    I::read_arguments(arguments).map_err(|problems| failed(wrong(&problems)))
}

fn conversation_id(arguments: &Value) -> Result<ConversationId, String> {
    match arguments.get("id") {
        None | Some(Value::Null) => Err("is required".into()),
        Some(Value::String(id)) => id.parse().map_err(|e: shared_inbox::InvalidId| e.to_string()),
        Some(_) => Err("must be a string".into()),
    }
}

/// Both, or everything that is wrong with either.
fn with<T>(
    id: Result<ConversationId, String>,
    input: Result<T, Problems>,
) -> Result<(ConversationId, T), CallToolResult> {
    let mut problems = Problems::default();
    match (id, input) {
        (Ok(id), Ok(input)) => return Ok((id, input)),
        (id, input) => {
            if let Err(message) = id {
                problems.push("id", message);
            }
            if let Err(more) = input {
                more.iter().for_each(|problem| problems.push(&problem.field, &problem.message));
            }
        }
    }
    Err(failed(wrong(&problems)))
}

fn wrong(problems: &Problems) -> String {
    format!("The arguments are not right, nothing was done. {problems}.")
}
