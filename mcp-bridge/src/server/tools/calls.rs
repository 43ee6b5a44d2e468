//! Calls of tools: arguments in, an operation of the service, a result out.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, CallToolResponse},
    service::RequestContext,
};
use serde_json::{Value, json};
use shared_inbox::{
    __spec::{Operation, read_arguments},
    ConversationId, Problem, Scope, View,
    input::{
        AddNote, ListConversations, RecordSent, Reply, RequestDocuments, SearchDocuments, SetStatus,
        TagConversation,
    },
};

use super::{
    arguments::{self, require_id_and_input},
    changes::tagged,
};
use crate::{
    outcome::Failure,
    render::{self, Rendered},
    server::{
        Bridge, Connection,
        results::{changed, failed, ok},
        sending::Create,
        tools,
        trace::traced,
    },
};

/// Every view: what `view: "any"` lists.
const ALL_VIEWS: [View; 4] = [View::Open, View::Waiting, View::Snoozed, View::Closed];

impl Bridge {
    pub(in crate::server) async fn call(
        &self,
        operation: Operation,
        request: CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Failure> {
        let connection = &traced(&self.connector.get().await.map_err(failed)?, ctx);
        if let Some(why) = self.settings.filter.hides(operation, connection.scopes()) {
            return Err(failed(format!("The tool {} is not available: {why}.", request.name)));
        }
        let arguments = request.arguments.clone().unwrap_or_default();
        if let Some(schema) = tools::input_schema(operation)
            && let Some(why) = arguments::unknown(schema, &arguments)
        {
            return Err(failed(why));
        }
        let arguments = Value::Object(arguments);
        let mut result = match operation {
            _ if *operation.scope() == Scope::Read => {
                self.done(self.read(operation, arguments, connection).await?)
            }
            Operation::RecordSent => {
                let input = read_arguments::<RecordSent>(arguments)?;
                let call = connection.client.record_sent(
                    input.message_id.clone(),
                    input.reference.clone(),
                    input.to.clone(),
                    input.subject.clone(),
                );
                call.input(input).await?;
                changed("Recorded.", ok(), None)
            }
            _ => match self.in_conversation(operation, arguments, connection, &request, ctx).await? {
                CallToolResponse::Complete(result) => result,
                question => return Ok(question),
            },
        };
        self.introduce(connection, ctx, &mut result).await;
        Ok(result.into())
    }

    /// Returns what an operation that changes nothing shows, as a tool or as a resource.
    pub(in crate::server) async fn read(
        &self,
        operation: Operation,
        mut arguments: Value,
        connection: &Connection,
    ) -> Result<Rendered, Failure> {
        let (inboxes, style) = (self.inboxes.reader(&connection.client), self.style());
        Ok(match operation {
            Operation::ListConversations => {
                let views = views(&mut arguments);
                let input = read_arguments::<ListConversations>(arguments)?;
                let (all, more) = inboxes.conversations(input, views).await?;
                render::conversations(&style.more(more), &all)
            }
            Operation::GetConversation => {
                let items = tools::items(&arguments).map_err(|why| Problem::new(tools::ITEMS, why).into());
                let (id, items) = require_id_and_input(conversation_id(&arguments), items)?;
                let c = inboxes.conversation(&id).await?;
                render::conversation(&style, &c, items)
            }
            Operation::SearchDocuments => {
                let input = read_arguments::<SearchDocuments>(arguments)?;
                let (all, more, unseen) = inboxes.documents(input).await?;
                render::documents(&style.more(more), &all, unseen)
            }
            Operation::ListMailboxes => render::mailboxes(&style, &inboxes.mailboxes().await?),
            Operation::ListTags => render::tags(&style, &inboxes.tags().await?),
            _ => return Err(cannot_run(operation)),
        })
    }

    async fn in_conversation(
        &self,
        operation: Operation,
        arguments: Value,
        connection: &Arc<Connection>,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Failure> {
        let id = conversation_id(&arguments);
        let thread = |id: &ConversationId| connection.client.conversation(id);
        let inboxes = self.inboxes.reader(&connection.client);
        let result = match operation {
            Operation::SetStatus => {
                let (id, input) = require_id_and_input(id, read_arguments::<SetStatus>(arguments))?;
                inboxes.admit(&id).await?;
                let status = input.status.clone();
                let done = thread(&id).set_status(status.clone()).await;
                self.inboxes.admitted(&id, done)?;
                changed(&format!("{id} is {status} now."), json!({ "ok": true, "status": status }), None)
            }
            Operation::TagConversation => {
                let (id, input) = require_id_and_input(id, read_arguments::<TagConversation>(arguments))?;
                if input.add.is_empty() && input.remove.is_empty() {
                    return Err(failed("Nothing was done: name the tags in `add` or `remove`."));
                }
                inboxes.admit(&id).await?;
                let done = thread(&id).edit_tags().input(input.clone()).await;
                self.inboxes.admitted(&id, done)?;
                tagged(&id, &input)
            }
            Operation::AssignConversation => self.assign(id, arguments, connection).await?,
            Operation::AddNote => {
                let (id, input) = require_id_and_input(id, read_arguments::<AddNote>(arguments))?;
                inboxes.admit(&id).await?;
                self.sender.create(connection, &Create::note(id, input), None).await?
            }
            Operation::Reply => {
                let (id, input) = require_id_and_input(id, read_arguments::<Reply>(arguments))?;
                let mail = Create::reply(id, input);
                return self.sender.mail(connection, inboxes, mail, request, ctx).await;
            }
            Operation::RequestDocuments => {
                let (id, input) = require_id_and_input(id, read_arguments::<RequestDocuments>(arguments))?;
                let mail = Create::request(id, input);
                return self.sender.mail(connection, inboxes, mail, request, ctx).await;
            }
            _ => return Err(cannot_run(operation)),
        };
        Ok(result.into())
    }
}

/// The catalogue may grow before the bridge does.
fn cannot_run(operation: Operation) -> Failure {
    failed(format!("This version of the bridge cannot run {}.", operation.tool_name().unwrap_or_default()))
}

/// Returns the views to list one by one when every status is requested.
fn views(arguments: &mut Value) -> &'static [View] {
    if arguments.get("view").is_none_or(|view| view != tools::ANY) {
        return &[];
    }
    let of_reference =
        arguments.get("reference").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    // With a reference the service lists every status itself.
    arguments["view"] = if of_reference { "all".into() } else { Value::Null };
    if of_reference { &[] } else { &ALL_VIEWS }
}

pub(in crate::server) fn conversation_id(arguments: &Value) -> Result<ConversationId, String> {
    match arguments.get("id") {
        None | Some(Value::Null) => Err("is required".into()),
        Some(Value::String(id)) => id.parse().map_err(|e: shared_inbox::InvalidId| e.to_string()),
        Some(_) => Err("must be a string".into()),
    }
}
