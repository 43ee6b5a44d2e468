//! Calls that act as people, customers and the helpers of the app.

use schemars::JsonSchema;
use serde::Serialize;
use shared_inbox::{BookingId, DocumentId, ReplyResult};

use super::{
    Control,
    call::{Json, get},
    calls::calls,
    input::PathId,
};
use crate::world::{
    Approval, Approved, Assignment, BookingRecord, Discard, HelperDraft, InboundMail, NewBooking,
    NewDocument, NoteAdded, OutboxMail, Reading, Received, RequestEntry, Result, SentMail, Snooze, Sorting,
    StatusChange, Stop, TagChange, TeamNote, TeamReply, Upload, Uploaded, Waiting,
};

calls! {
    post "/inbound" "inbound" "A customer's mail comes in"
        about "`to` is an inbox's address, with or without a plus tag. It joins a conversation of that inbox, or starts \
               one. `held` is the sorting helper holding it as a likely scam."
        errors "400 for bad input, 404 for an unknown conversation or inbox."
    fn inbound(body mail: InboundMail) -> Received as Created {
        |it| it.act("inbound", |world, now| world.inbound(mail, now))
    }

    list "/approvals" "list_approvals" "The drafts that wait for a person, oldest first"
    fn approvals() -> Waiting as Json { |it| it.read(|world, _| world.approvals()) }

    post "/messages/{id}/approve" "approve" "A person approves a draft"
        about "The id of a conversation stands for its newest draft."
        conflict "It is not a draft, or one of the sandbox, where nobody approves."
        errors "404 for an unknown message or person, 409 when it is not a draft."
    fn approve(id message, body approval: Approval) -> Approved as Json {
        |it| it.act("approve", |world, now| world.approve(message.as_ref(), approval, now))
    }

    post "/messages/{id}/stop" "stop" "A person stops a message in its undo window"
        about "It is a draft again. The id of a conversation stands for its newest message in the undo window."
        conflict "It is not waiting to go out."
        errors "404 for an unknown message or person, 409 when it is not waiting to go out."
    fn stop(id message, body stop: Stop) -> () as Ack {
        |it| it.act("stop", |world, now| world.stop(message.as_ref(), stop, now))
    }

    post "/messages/{id}/discard" "discard" "A person throws a draft away"
        about "It is gone from the timeline, with its document request; a `draft-discarded` event stays. The \
               id of a conversation stands for its newest draft."
        conflict "It is not a draft."
        errors "404 for an unknown message or person, 409 when it is not a draft."
    fn discard(id message, body discard: Discard) -> () as Ack {
        |it| it.act("discard", |world, now| world.discard(message.as_ref(), discard, now))
    }

    post "/messages/{id}/bounce" "bounce" "A mail comes back"
        about "One in its undo window fails when it leaves. One that was sent fails now: a `bounced` event is recorded, \
               and it is the team's turn again."
        conflict "It was not sent and is not about to be."
        errors "404 for an unknown message, 409 when it is neither sent nor about to be."
    fn bounce(id message) -> () as Ack {
        |it| it.act("bounce", |world, now| world.bounce(message.as_ref(), now))
    }

    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use shared_inbox::Status;
    /// use shared_inbox_mock::{MockServer, Sorting, StatusChange, TagChange, TeamNote, TeamReply};
    ///
    /// let mock = MockServer::builder().manual_clock().start().await;
    /// let (inbox, control) = (mock.client(), mock.control());
    /// let id = inbox.conversations().await?[0].id.clone();
    /// control.add_note(&id, TeamNote::new("Called them back.")).await?;
    /// control.edit_tags(&id, TagChange::new().add("vip")).await?;
    /// control.sort(&id, Sorting::new().topic("delivery")).await?;
    /// control.reply(&id, TeamReply::new("On its way.")).await?;
    /// control.set_status(&id, StatusChange::new(Status::Closed)).await?;
    /// assert_eq!(inbox.conversation(&id).get().await?.topic.as_deref(), Some("delivery"));
    /// # Ok(())
    /// # }
    /// ```
    post "/conversations/{id}/notes" "add_note" "Someone on the team writes a note"
        errors "400 for a note that is empty or too long, 404 for an unknown conversation or person."
    fn add_note(id conversation, body note: TeamNote) -> NoteAdded as Created {
        |it| it.act("notes", |world, now| world.note_by_team(conversation.as_ref(), note, now))
    }

    post "/conversations/{id}/status" "set_status" "Someone on the team sets the status"
        errors "400 for an unknown status, 404 for an unknown conversation or person."
    fn set_status(id conversation, body change: StatusChange) -> () as Ack {
        |it| it.act("status", |world, now| world.set_status_by_team(conversation.as_ref(), change, now))
    }

    post "/conversations/{id}/tags" "edit_tags" "Someone on the team adds and removes tags"
        errors "400 for names that are too many or too long, 404 for an unknown conversation or person."
    fn edit_tags(id conversation, body change: TagChange) -> () as Ack {
        |it| it.act("tags", |world, now| world.tag_by_team(conversation.as_ref(), change, now))
    }

    post "/conversations/{id}/replies" "reply" "Someone on the team replies"
        about "It goes out when the undo window has passed; with `send` false it is a draft of theirs."
        errors "400 for a text that is too long, 404 for an unknown conversation or person."
    fn reply(id conversation, body reply: TeamReply) -> ReplyResult as Created {
        |it| it.act("replies", |world, now| world.reply_by_team(conversation.as_ref(), reply, now))
    }

    post "/conversations/{id}/drafts" "draft" "The drafting helper writes a reply"
        about "It waits for a person's approval."
        conflict "The helpers do not run in the sandbox."
        errors "400 for a text that is too long, 404 for an unknown conversation, 409 in the sandbox."
    fn draft(id conversation, body draft: HelperDraft) -> ReplyResult as Created {
        |it| it.act("drafts", |world, now| world.draft_by_helper(conversation.as_ref(), draft, now))
    }

    post "/conversations/{id}/sorting" "sort" "The sorting helper looks at a conversation"
        about "What is left out stays as it is; null takes it away."
        conflict "The helpers do not run in the sandbox."
        errors "400 for an unknown urgency, 404 for an unknown conversation, 409 in the sandbox."
    fn sort(id conversation, body found: Sorting) -> () as Ack {
        |it| it.act("sorting", |world, now| world.sort(conversation.as_ref(), found, now))
    }

    post "/documents/{id}/reading" "read_document" "The document-reading helper looks at a document"
        about "What is left out stays as it is; a kind of null takes it away."
        conflict "The helpers do not run in the sandbox."
        errors "400 for an unknown kind, 404 for an unknown document, 409 in the sandbox."
    fn read_document(id document, body found: Reading) -> () as Ack {
        |it| it.act("reading", |world, _| world.read_document(document.as_ref(), found))
    }

    post "/conversations/{id}/snooze" "snooze" "A person snoozes a conversation, or ends its snooze"
        errors "404 for an unknown conversation."
    fn snooze(id conversation, body snooze: Snooze) -> () as Ack {
        |it| it.act("snooze", |world, now| world.snooze(conversation.as_ref(), snooze, now))
    }

    post "/conversations/{id}/assign" "assign" "Gives a conversation to someone, or to nobody"
        errors "404 for an unknown conversation, 400 for someone who is not on the team or cannot see it."
    fn assign(id conversation, body to: Assignment) -> () as Ack {
        |it| it.act("assign", |world, now| world.assign_by_person(conversation.as_ref(), to, now))
    }

    post "/document-requests/{id}/uploads" "upload" "A customer uploads a requested document"
        conflict "The request is a draft: the customer has no upload link yet."
        errors "404 for an unknown request, 400 for an item that it does not have."
    fn upload(id request, body upload: Upload) -> Uploaded as Created {
        |it| it.act("uploads", |world, now| world.upload(request.as_ref(), upload, now))
    }

    post "/documents" "file_document" "A person puts a file into the library"
        about "Without a conversation, for those who see the inbox."
        errors "400 for an unknown kind or the sandbox, 404 for an unknown inbox."
    fn file_document(body new: NewDocument) -> DocumentId as Created(|id| DocumentFiled { id }) {
        |it| it.act("documents", |world, now| world.file_document(new, now))
    }

    list "/document-requests" "list_document_requests" "Every document request, oldest first"
    fn document_requests() -> RequestEntry as Json { |it| it.read(|world, _| world.document_requests()) }

    list "/bookings" "list_bookings" "Every booking, oldest first"
    fn bookings() -> BookingRecord as Json { |it| it.read(|world, _| world.bookings().to_vec()) }

    post "/bookings" "create_booking" "Someone books a time"
        errors "400 for bad times, 404 for an unknown host or conversation."
    fn create_booking(body new: NewBooking) -> BookingId as Created(|id| Booked { id }) {
        |it| it.act("bookings", |world, now| world.create_booking(new, now))
    }

    post "/bookings/{id}/cancel" "cancel_booking" "A booking is cancelled"
        conflict "It is cancelled already."
        errors "404 for an unknown booking, 409 when it is cancelled already."
    fn cancel_booking(id booking) -> () as Ack {
        |it| it.act("bookings", |world, now| world.cancel_booking(booking.as_ref(), now))
    }

    list "/outbox" "list_outbox" "Every mail that left or was meant to"
    fn outbox() -> OutboxMail as Json { |it| it.copy().0.outbox() }

    ; also [
        get("/outbox/{number}", "get_outbox_mail", "One mail of the outbox", |it: Control, PathId(number)| async move {
            it.outbox_mail(number.parse().unwrap_or(0)).await.map(Json)
        })
        .about("By its number in the outbox, from 1, with its headers and its source."),
    ]
}

impl Control {
    /// Returns one email of the outbox, by its number from 1, with its headers and its source.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn outbox_mail(&self, number: usize) -> Result<SentMail> {
        self.read(|world, _| world.outbox_mail(number))
    }
}

/// A document that was filed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FiledDocument")]
struct DocumentFiled {
    /// Its id.
    id: DocumentId,
}

/// A booking that was made.
#[derive(Serialize, JsonSchema)]
struct Booked {
    /// Its id.
    id: BookingId,
}
