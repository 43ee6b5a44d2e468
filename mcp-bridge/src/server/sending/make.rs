//! Makes notes, drafts and emails, each once, however often the call is repeated.

use std::time::Duration;

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use shared_inbox::{
    Certainty, Conversation, ConversationHandle, Error, ErrorKind, ReplyResult, TimelineItem, Timestamp,
    clock::BoxFuture,
    create::{self, Lookup, UnconfirmedCreate},
    input::{Reply, RequestDocuments},
    once::UnfinishedRecord,
};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{Create, Sender, create::CreateInput, sentences};
use crate::{
    consent::{Entry, Event, Owner, Permission},
    outcome::{Doubt, Failure, Made, Outcome},
    server::{
        Connection,
        record::{self, Intent},
        results::{failed, ok},
    },
};

impl Sender {
    /// Makes it, or gives the result of the same create a moment ago. `why` is why it is a draft, if it was
    /// meant to be sent.
    pub(in crate::server) async fn create(
        &self,
        connection: &Connection,
        create: &Create,
        why: Option<&str>,
    ) -> Result<CallToolResult, Failure> {
        sentences::result(create, &self.create_once(connection, create).await, why)
    }

    pub(super) async fn create_once(&self, connection: &Connection, create: &Create) -> Outcome {
        match self.claim(connection, create).await {
            Ok(owner) => self.make(connection, create, &owner, Permission::NotNeeded, None).await,
            Err(outcome) => outcome,
        }
    }

    /// Claims the entry of a create, after whoever is at it. The error is what became of the same create.
    pub(super) async fn claim(&self, connection: &Connection, create: &Create) -> Result<Owner, Outcome> {
        loop {
            match self.questions.enter(create.digest(), create.id.as_str()) {
                Entry::Busy(waiter) => _ = waiter.ended().await,
                entry => return self.settle(connection, create, entry).await,
            }
        }
    }

    /// Returns the owner of an entry in which there is nothing, or no longer. What may have been made is
    /// looked for first.
    pub(super) async fn settle(
        &self,
        connection: &Connection,
        create: &Create,
        entry: Entry,
    ) -> Result<Owner, Outcome> {
        let (owner, known) = match entry {
            Entry::Made(made) => return Err(Outcome::Made(made)),
            Entry::Refused => return Err(Outcome::Refused(failed(sentences::REFUSED))),
            Entry::Busy(_) => return Err(Outcome::Unknown(Doubt::AnotherCaller)),
            // What reaches no customer is looked for when it is made.
            Entry::New(owner) if !create.sends() => return Ok(owner),
            Entry::New(owner) => (owner, None),
            Entry::Unknown(owner, lost) => {
                let age = owner.age();
                (owner, Some((*lost, age)))
            }
        };
        let found: BoxFuture<'_, _> = Box::pin(look_up(connection, create, known));
        match found.await {
            None => Ok(owner.not_there()),
            Some(Outcome::Made(made)) => Err(owner.made(made)),
            Some(outcome) => Err(outcome),
        }
    }

    /// Makes it, and records what becomes of it. `conversation` is how it was a moment ago, if it was read.
    pub(super) async fn make(
        &self,
        connection: &Connection,
        create: &Create,
        owner: &Owner,
        permission: Permission<'_>,
        conversation: Option<&Conversation>,
    ) -> Outcome {
        let (in_flight, intent) = match self.begin(create.sends()).await {
            Ok(begun) => begun,
            Err(failure) => return Outcome::Refused(failure),
        };
        let thread = connection.client.conversation(&create.id);
        let key = connection.remembers.then(|| create.key(&connection.client));
        let made = Making { key, conversation, owner, permission };
        let reply_result = |answer: &ReplyResult| serde_json::to_value(answer).unwrap_or_default();
        let sent: BoxFuture<'_, _> = match create.input.clone() {
            CreateInput::Note(note) => {
                Box::pin(made.follow(thread.add_note(note.body), |done| json!({ "ok": done.ok })))
            }
            CreateInput::Reply(reply) => Box::pin(made.follow(reply_call(&thread, reply), reply_result)),
            CreateInput::Request(request) => {
                Box::pin(made.follow(request_call(&thread, request), reply_result))
            }
        };
        let outcome = match sent.await {
            Ok(outcome) => outcome,
            Err(error) => {
                // Not the error itself: a service's sentence may repeat what was written.
                let (status, certainty) = (error.status().map(|status| status.as_u16()), error.certainty());
                tracing::warn!(operation = ?create.operation(), status, ?certainty, "a create failed");
                if error.kind() == ErrorKind::OnceStore {
                    tracing::warn!("the state folder cannot be used: {error}");
                }
                match doubt(&error) {
                    None => Outcome::Refused(error.into()),
                    // The folder can be read, and nobody is at it.
                    Some(Doubt::StateFolder)
                        if certainty == Certainty::NotSent
                            && !may_be_made_by_another(connection, create).await =>
                    {
                        owner.step(Event::Retracted);
                        Outcome::Refused(failed(sentences::NOT_RECORDED))
                    }
                    Some(doubt) => Outcome::Unknown(doubt),
                }
            }
        };
        intent.into_iter().for_each(|intent| intent.end(&outcome));
        if connection.remembers {
            // A record of what was made, and is known, needs no words any more. The program waits for this
            // before it exits.
            let client = connection.client.clone();
            tokio::spawn(async move {
                _ = client.purge_once_records().await;
                drop(in_flight);
            });
        }
        outcome
    }

    /// Begins a create and writes its intent down. The error is why it must not begin.
    async fn begin(&self, sends: bool) -> Result<(TaskTrackerToken, Option<Intent>), Failure> {
        let in_flight = self.creates.token();
        if self.creates.is_closed() {
            return Err(failed("Nothing was done: the bridge is being ended."));
        }
        let intent = match record::current() {
            Some(record) => record.intend(sends).await.map(Some),
            None => Ok(None),
        };
        match intent {
            Ok(intent) => Ok((in_flight, intent)),
            // With an audit every email must be recorded; a note or a draft reaches no customer.
            Err(_) if sends => Err(failed(
                "Nothing was sent by this call: the file of --audit cannot be written to, and an email that is not written down does not \
                 go out.",
            )),
            Err(_) => Ok((in_flight, None)),
        }
    }
}

/// Returns what became of what may have been made so long ago, by this bridge (`known`) or by one that is
/// gone, and settles its record. `None`: it is not there.
async fn look_up(
    connection: &Connection,
    create: &Create,
    known: Option<(UnconfirmedCreate, Duration)>,
) -> Option<Outcome> {
    let record = unresolved_record(connection, create).await;
    // What the record says goes first: it is settled as it is now, and not if another bridge takes it over
    // meanwhile.
    let recorded = record.as_ref().and_then(|record| Some((record.unconfirmed()?, record.since())));
    let (lost, age) = match (recorded, known) {
        (Some((lost, _)), Some((_, age))) => (lost.clone(), age),
        (Some((lost, since)), None) => (lost.clone(), age_of(since)),
        (None, known) => known?,
    };
    match connection.client.find_unconfirmed(&lost).await {
        Ok(Lookup::Found(item)) => {
            if let (Some(record), Some(id)) = (record, item_id(&item)) {
                _ = record.created(id).await;
                _ = connection.client.purge_once_records().await;
            }
            Some(Outcome::Made(Made { age: Some(age), ..Made::new(response_in(&item), true) }))
        }
        Ok(Lookup::NotFound) => {
            // It may be of another summary, and would stand in the way of this one.
            if let Some(record) = record {
                _ = record.not_created().await;
            }
            None
        }
        _ => Some(Outcome::Unknown(Doubt::Before(age))),
    }
}

/// Returns the record of what may have been made, if no bridge is at it.
async fn unresolved_record(connection: &Connection, create: &Create) -> Option<UnfinishedRecord> {
    let key = create.key(&connection.client);
    let records = connection.client.once_records().await.ok()?;
    records.into_iter().find(|record| record.key() == key && !record.is_held())
}

/// Returns whether a bridge of this machine is making this, or may have made it.
pub(super) async fn may_be_made_by_another(connection: &Connection, create: &Create) -> bool {
    let key = create.key(&connection.client);
    match connection.client.once_records().await {
        Ok(records) => records.iter().any(|record| record.key() == key),
        // A folder that cannot be read may hold it.
        Err(_) => connection.remembers,
    }
}

/// Returns what to look for to learn whether this was made after the conversation was read.
pub(super) async fn to_look_for(
    connection: &Connection,
    create: &Create,
    conversation: &Conversation,
) -> Result<UnconfirmedCreate, Error> {
    let thread = connection.client.conversation(&create.id);
    match create.input.clone() {
        CreateInput::Note(note) => thread.add_note(note.body).seen(conversation).unconfirmed().await,
        CreateInput::Reply(reply) => reply_call(&thread, reply).seen(conversation).unconfirmed().await,
        CreateInput::Request(request) => {
            request_call(&thread, request).seen(conversation).unconfirmed().await
        }
    }
}

fn reply_call(thread: &ConversationHandle, reply: Reply) -> create::CreateRequest<Reply> {
    let call = thread.reply(reply.body.clone());
    let call = if reply.send { call.and_send() } else { call };
    call.input(reply)
}

fn request_call(
    thread: &ConversationHandle,
    request: RequestDocuments,
) -> create::CreateRequest<RequestDocuments> {
    let call = thread.request_documents(request.documents.clone());
    let call = if request.send { call.and_send() } else { call };
    call.input(request)
}

/// Returns why it is not known whether something was made, if it is not.
fn doubt(error: &Error) -> Option<Doubt> {
    match error.kind() {
        // Its record cannot be written, or one that an earlier call has left cannot be read.
        ErrorKind::OnceStore if error.unconfirmed().is_none() => Some(Doubt::StateFolder),
        _ if error.certainty() == Certainty::Unknown => Some(Doubt::Lost),
        // Another bridge is at it, or nobody can say whether one was.
        ErrorKind::OnceInProgress | ErrorKind::OnceKeyTaken | ErrorKind::OnceStore => {
            Some(Doubt::AnotherCaller)
        }
        _ => None,
    }
}

/// A create on its way.
struct Making<'a> {
    /// The key under which all bridges of this machine make it once, if they remember.
    key: Option<String>,
    conversation: Option<&'a Conversation>,
    owner: &'a Owner,
    permission: Permission<'a>,
}

impl Making<'_> {
    /// Awaits the create. The client may cancel it at any moment, and then it may have taken effect all the
    /// same, so its outcome is unknown until there is a result.
    async fn follow<I: create::CreateInput>(
        self,
        call: create::CreateRequest<I>,
        response: impl FnOnce(&I::Output) -> Value,
    ) -> Result<Outcome, Error> {
        let call = match self.conversation {
            Some(conversation) => call.seen(conversation),
            None => call,
        };
        if !self.owner.send(self.permission, call.unconfirmed().await?) {
            return Ok(Outcome::Refused(failed(sentences::CHANGED)));
        }
        let call = match self.key {
            Some(key) => call.once(key),
            None => call,
        };
        match call.await {
            Ok(created) => {
                let age = created.replayed().then_some(Duration::ZERO);
                Ok(self.owner.made(Made { age, ..Made::new(response(&created), created.recovered()) }))
            }
            Err(error) => record_failure(self.owner, error),
        }
    }
}

/// Records what a create that failed may have left. What was made already with another summary, by another
/// bridge or before a restart, is its outcome.
fn record_failure(owner: &Owner, error: Error) -> Result<Outcome, Error> {
    let record = error.once_record();
    if let Some((record, response)) = record.and_then(|record| Some((record, record.response()?))) {
        let age = Some(age_of(record.since()));
        return Ok(owner.made(Made { age, ..Made::new(response.clone(), false) }));
    }
    // What another bridge is making is looked for as its record says.
    match error.unconfirmed().or_else(|| record?.unconfirmed()) {
        Some(unconfirmed) => _ = owner.step(Event::Lost(unconfirmed.clone())),
        // What is looked for stays as it was before the request.
        None if doubt(&error).is_some() => {}
        None => _ = owner.step(Event::Retracted),
    }
    Err(error)
}

fn age_of(at: Timestamp) -> Duration {
    let seconds = Timestamp::now().as_secs().saturating_sub(at.as_secs());
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

fn item_id(item: &TimelineItem) -> Option<String> {
    let message = item.as_message().map(|message| message.id.to_string());
    message.or_else(|| item.as_note().map(|note| note.id.to_string()))
}

/// Returns the lost response, as far as the timeline shows it.
fn response_in(item: &TimelineItem) -> Value {
    match item {
        TimelineItem::Message(m) => json!({ "messageId": m.id, "status": m.status }),
        _ => ok(),
    }
}
