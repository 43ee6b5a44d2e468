//! Creates notes, replies and document requests, each once, however often the call is repeated.

use std::time::Instant;

use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::{Value, json};
use shared_inbox::{
    __spec::Operation,
    Ack, Certainty, Conversation, ConversationId, Error, ReplyResult, Response, TimelineItem,
    create::{self, Lookup},
    input::{AddNote, Reply, RequestDocuments},
};
use tokio::sync::OwnedMutexGuard;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{Sender, recent::CreateOutcome};
use crate::{
    digest::Digest,
    render::counted,
    server::{
        Connection,
        record::{self, Intent},
        results::{changed, error, failed, in_words, ok},
    },
};

#[derive(Clone)]
pub(in crate::server) struct Create {
    pub(super) id: ConversationId,
    pub(super) what: CreateInput,
}

#[derive(Clone, Serialize)]
#[serde(tag = "what")]
pub(super) enum CreateInput {
    Note(AddNote),
    Reply(Reply),
    Request(RequestDocuments),
}

impl Create {
    pub(in crate::server) fn note(id: ConversationId, note: AddNote) -> Self {
        Self { id, what: CreateInput::Note(note) }
    }

    /// Returns a digest that identifies this create.
    pub(super) fn digest(&self) -> Result<Digest, CallToolResult> {
        Digest::from_parts(&(&self.id, &self.what)).map_err(|e| failed(e.to_string()))
    }

    pub(super) fn sends(&self) -> bool {
        match &self.what {
            CreateInput::Note(_) => false,
            CreateInput::Reply(reply) => reply.send,
            CreateInput::Request(request) => request.send,
        }
    }

    pub(super) fn operation(&self) -> Operation {
        match self.what {
            CreateInput::Note(_) => Operation::AddNote,
            CreateInput::Reply(_) => Operation::Reply,
            CreateInput::Request(_) => Operation::RequestDocuments,
        }
    }
}

/// The slot of a create, held while it is being made.
pub(super) type CreateSlot = OwnedMutexGuard<CreateOutcome>;

impl Sender {
    /// Makes it, or gives the result of the same create a moment ago. `why` is why it is a draft, if it was meant to be
    /// sent.
    pub(in crate::server) async fn create(
        &self,
        connection: &Connection,
        create: &Create,
        why: Option<&str>,
    ) -> CallToolResult {
        let mut slot = match self.claim(connection, create, why).await {
            Ok(slot) => slot,
            Err(result) => return result,
        };
        self.make(connection, create, &mut slot, None, why).await
    }

    /// Claims the slot of a create. The error is the result of the same create a moment ago.
    pub(super) async fn claim(
        &self,
        connection: &Connection,
        create: &Create,
        why: Option<&str>,
    ) -> Result<CreateSlot, CallToolResult> {
        let client = &connection.client;
        let mut slot = self.recent.slot(create.digest()?, Instant::now()).await;
        let (at, answer) = match &*slot {
            CreateOutcome::None => return Ok(slot),
            CreateOutcome::Made(at, answer) => (*at, answer.clone()),
            CreateOutcome::Unknown(at, unconfirmed) => match client.find_unconfirmed(unconfirmed).await {
                Ok(Lookup::Found(item)) => (*at, seen(&item)),
                Ok(Lookup::NotFound) => {
                    *slot = CreateOutcome::None;
                    return Ok(slot);
                }
                _ => {
                    return Err(failed(
                        "The same call was made a moment ago, its response was lost, and it is still not clear whether it \
                         took effect. Nothing was done now: read the conversation and look at the end of its timeline.",
                    ));
                }
            },
        };
        let repeats = format!(
            "This repeats a call of {} ago, so nothing new was made. Change the text if a second one is meant.",
            counted(usize::try_from(at.elapsed().as_secs()).unwrap_or(usize::MAX), "second")
        );
        let added = why.map_or(repeats.clone(), |why| format!("{} {repeats}", a_draft(why)));
        // What was found out now need not be found out again.
        *slot = CreateOutcome::Made(at, answer.clone());
        Err(changed(&sentence(&create.what, &answer), answer, Some(&added)))
    }

    /// Makes it, and remembers the outcome. `seen` is the conversation as it was a moment ago, if it was read.
    pub(super) async fn make(
        &self,
        connection: &Connection,
        create: &Create,
        slot: &mut CreateOutcome,
        seen: Option<&Conversation>,
        why: Option<&str>,
    ) -> CallToolResult {
        let (_in_flight, intent) = match self.begin(create.sends()).await {
            Ok(begun) => begun,
            Err(result) => return result,
        };
        let end = |result: &CallToolResult, certain| intent.into_iter().for_each(|i| i.end(result, certain));
        let (answer, recovered) = match send(connection, create, slot, seen).await {
            Ok(made) => made,
            Err(e) => {
                let result = not_made(create, &e, why);
                end(&result, e.certainty() != Certainty::Unknown);
                return result;
            }
        };
        *slot = CreateOutcome::Made(Instant::now(), answer.clone());
        let lost = "The response was lost and the item was found in the conversation.";
        let added = [why.map(a_draft), recovered.then(|| lost.to_owned())];
        let added = added.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let result = changed(&sentence(&create.what, &answer), answer, (!added.is_empty()).then_some(&added));
        end(&result, true);
        result
    }

    /// Begins a create and writes its intent down. The error is why it must not begin.
    async fn begin(&self, sends: bool) -> Result<(TaskTrackerToken, Option<Intent>), CallToolResult> {
        let in_flight = self.creates.token();
        if self.creates.is_closed() {
            return Err(failed("Nothing was done: the bridge is being ended."));
        }
        let intent = match record::current() {
            Some(record) => record.intend(sends).await.map(Some),
            None => Ok(None),
        };
        let intent = match intent {
            Ok(intent) => intent,
            // With an audit every email must be recorded; a note or a draft reaches no customer.
            Err(_) if sends => {
                return Err(failed(
                    "Nothing was sent: the file of --audit cannot be written to, and an email that is not written down does not \
                     go out.",
                ));
            }
            Err(_) => None,
        };
        Ok((in_flight, intent))
    }
}

fn a_draft(why: &str) -> String {
    format!("It is a draft because {why}.")
}

fn not_made(create: &Create, e: &Error, why: Option<&str>) -> CallToolResult {
    // Not the error itself: a service's sentence may repeat what was written.
    let (status, certainty) = (e.status().map(|status| status.as_u16()), e.certainty());
    tracing::warn!(operation = ?create.operation(), status, ?certainty, "a create failed");
    match why {
        Some(why) => failed(format!(
            "Nothing was sent because {why}, and a draft could not be made either: {}",
            in_words(e)
        )),
        None => error(e),
    }
}

async fn send(
    connection: &Connection,
    create: &Create,
    slot: &mut CreateOutcome,
    seen: Option<&Conversation>,
) -> Result<(Value, bool), Error> {
    let thread = connection.client.conversation(&create.id);
    let value = |answer: &ReplyResult| serde_json::to_value(answer).unwrap_or_default();
    match create.what.clone() {
        CreateInput::Note(note) => {
            let created = follow(thread.add_note(note.body), seen, slot).await?;
            Ok((done(&created), created.recovered()))
        }
        CreateInput::Reply(reply) => {
            let call = thread.reply(reply.body.clone());
            let call = if reply.send { call.and_send() } else { call };
            let created = follow(call.input(reply), seen, slot).await?;
            Ok((value(&created), created.recovered()))
        }
        CreateInput::Request(request) => {
            let call = thread.request_documents(request.documents.clone());
            let call = if request.send { call.and_send() } else { call };
            let created = follow(call.input(request), seen, slot).await?;
            Ok((value(&created), created.recovered()))
        }
    }
}

/// Awaits a create. The client may cancel it at any moment, and then it may have taken effect all the same, so its outcome
/// is unknown until there is a result.
async fn follow<I: create::CreateInput>(
    call: create::CreateRequest<I>,
    seen: Option<&Conversation>,
    slot: &mut CreateOutcome,
) -> Result<Response<I::Output>, Error> {
    let call = match seen {
        Some(seen) => call.seen(seen),
        None => call,
    };
    *slot = CreateOutcome::Unknown(Instant::now(), call.unconfirmed());
    let result = call.await;
    if let Err(e) = &result {
        *slot = e
            .unconfirmed()
            .map_or(CreateOutcome::None, |u| CreateOutcome::Unknown(Instant::now(), u.clone()));
    }
    result
}

fn done(done: &Ack) -> Value {
    json!({ "ok": done.ok })
}

/// Returns the lost response, as far as the timeline shows it.
fn seen(item: &TimelineItem) -> Value {
    match item {
        TimelineItem::Message(m) => json!({ "messageId": m.id, "status": m.status }),
        _ => ok(),
    }
}

fn sentence(what: &CreateInput, answer: &Value) -> String {
    let text = |field| answer.get(field).and_then(Value::as_str);
    let message = text("messageId").unwrap_or_default();
    let request = text("requestId").map(|id| format!(" (document request {id})")).unwrap_or_default();
    match (what, text("status")) {
        (CreateInput::Note(_), _) => "The note was added; the customer does not see it.".into(),
        (_, Some("draft")) => {
            format!("Draft {message} was made{request}; a person must approve it before it is sent.")
        }
        (_, Some("scheduled")) => {
            let when = text("sendsAt").unwrap_or("the end of the undo window");
            format!("Email {message}{request} goes out at {when}; the team can stop it until then.")
        }
        (_, status) => {
            format!("Message {message}{request} was made, its status is {}.", status.unwrap_or("not known"))
        }
    }
}
