//! What people do in the app, and what customers do.

use shared_inbox::{BookingId, DocumentId, ReplyResult};

use super::{Control, Controlled};
use crate::world::{
    Approval, Approved, Assignment, BookingRecord, Discard, HelperDraft, InboundMail, NewBooking,
    NewDocument, NoteAdded, OutboxMail, Reading, Received, RequestEntry, SentMail, Snooze, Sorting,
    StatusChange, Stop, TagChange, TeamNote, TeamReply, Upload, Uploaded, Waiting,
};

impl Control {
    /// A customer's mail comes in.
    ///
    /// # Errors
    ///
    /// 400 for bad input, 404 for an unknown conversation or inbox.
    pub async fn inbound(&self, mail: InboundMail) -> Controlled<Received> {
        self.act("inbound", |world, now| world.inbound(mail, now))
    }

    /// A person approves a draft.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not a draft.
    pub async fn approve(&self, message: impl AsRef<str>, approval: Approval) -> Controlled<Approved> {
        self.act("approve", |world, now| world.approve(message.as_ref(), approval, now))
    }

    /// A person stops a message in its undo window.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not waiting to go out.
    pub async fn stop(&self, message: impl AsRef<str>, stop: Stop) -> Controlled<()> {
        self.act("stop", |world, now| world.stop(message.as_ref(), stop, now))
    }

    /// A person throws a draft away.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not a draft.
    pub async fn discard(&self, message: impl AsRef<str>, discard: Discard) -> Controlled<()> {
        self.act("discard", |world, now| world.discard(message.as_ref(), discard, now))
    }

    /// A mail comes back: at once if it was sent, else when it leaves.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message, 409 when it is neither sent nor about to be.
    pub async fn bounce(&self, message: impl AsRef<str>) -> Controlled<()> {
        self.act("bounce", |world, now| world.bounce(message.as_ref(), now))
    }

    /// Someone on the team writes a note.
    ///
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
    ///
    /// # Errors
    ///
    /// 400 for a note that is empty or too long, 404 for an unknown conversation or person.
    pub async fn add_note(&self, conversation: impl AsRef<str>, note: TeamNote) -> Controlled<NoteAdded> {
        self.act("notes", |world, now| world.note_by_team(conversation.as_ref(), note, now))
    }

    /// Someone on the team sets the status.
    ///
    /// # Errors
    ///
    /// 400 for an unknown status, 404 for an unknown conversation or person.
    pub async fn set_status(&self, conversation: impl AsRef<str>, change: StatusChange) -> Controlled<()> {
        self.act("status", |world, now| world.set_status_by_team(conversation.as_ref(), change, now))
    }

    /// Someone on the team adds tags and takes tags away.
    ///
    /// # Errors
    ///
    /// 400 for names that are too many or too long, 404 for an unknown conversation or person.
    pub async fn edit_tags(&self, conversation: impl AsRef<str>, change: TagChange) -> Controlled<()> {
        self.act("tags", |world, now| world.tag_by_team(conversation.as_ref(), change, now))
    }

    /// Someone on the team replies; it goes out when the undo window has passed.
    ///
    /// # Errors
    ///
    /// 400 for a text that is too long, 404 for an unknown conversation or person.
    pub async fn reply(&self, conversation: impl AsRef<str>, reply: TeamReply) -> Controlled<ReplyResult> {
        self.act("replies", |world, now| world.reply_by_team(conversation.as_ref(), reply, now))
    }

    /// The drafting helper writes a reply, which waits for a person.
    ///
    /// # Errors
    ///
    /// 400 for a text that is too long, 404 for an unknown conversation, 409 in the sandbox.
    pub async fn draft(&self, conversation: impl AsRef<str>, draft: HelperDraft) -> Controlled<ReplyResult> {
        self.act("drafts", |world, now| world.draft_by_helper(conversation.as_ref(), draft, now))
    }

    /// The sorting helper looks at a conversation.
    ///
    /// # Errors
    ///
    /// 400 for an unknown urgency, 404 for an unknown conversation, 409 in the sandbox.
    pub async fn sort(&self, conversation: impl AsRef<str>, found: Sorting) -> Controlled<()> {
        self.act("sorting", |world, now| world.sort(conversation.as_ref(), found, now))
    }

    /// The document-reading helper looks at a document.
    ///
    /// # Errors
    ///
    /// 400 for an unknown kind, 404 for an unknown document, 409 in the sandbox.
    pub async fn read_document(&self, document: impl AsRef<str>, found: Reading) -> Controlled<()> {
        self.act("reading", |world, _| world.read_document(document.as_ref(), found))
    }

    /// A person puts a file into the library, without a conversation.
    ///
    /// # Errors
    ///
    /// 400 for an unknown kind or the sandbox, 404 for an unknown inbox.
    pub async fn file_document(&self, new: NewDocument) -> Controlled<DocumentId> {
        self.act("documents", |world, now| world.file_document(new, now))
    }

    /// Every document request, oldest first.
    pub async fn document_requests(&self) -> Vec<RequestEntry> {
        self.read(|world, _| world.document_requests())
    }

    /// Every booking, oldest first.
    pub async fn bookings(&self) -> Vec<BookingRecord> {
        self.read(|world, _| world.bookings().to_vec())
    }

    /// The drafts that wait for a person, oldest first.
    pub async fn approvals(&self) -> Vec<Waiting> {
        self.read(|world, _| world.approvals())
    }

    /// A person snoozes a conversation, or ends its snooze.
    ///
    /// # Errors
    ///
    /// 404 for an unknown conversation.
    pub async fn snooze(&self, conversation: impl AsRef<str>, snooze: Snooze) -> Controlled<()> {
        self.act("snooze", |world, now| world.snooze(conversation.as_ref(), snooze, now))
    }

    /// A person gives a conversation to someone.
    ///
    /// # Errors
    ///
    /// 404 for an unknown conversation, 400 for someone who is not on the team or cannot see it.
    pub async fn assign(&self, conversation: impl AsRef<str>, to: Assignment) -> Controlled<()> {
        self.act("assign", |world, now| world.assign_by_person(conversation.as_ref(), to, now))
    }

    /// A customer uploads a document that was asked for.
    ///
    /// # Errors
    ///
    /// 404 for an unknown request, 400 for an item that it does not have.
    pub async fn upload(&self, request: impl AsRef<str>, upload: Upload) -> Controlled<Uploaded> {
        self.act("uploads", |world, now| world.upload(request.as_ref(), upload, now))
    }

    /// Someone books a time.
    ///
    /// # Errors
    ///
    /// 400 for bad times, 404 for an unknown host or conversation.
    pub async fn create_booking(&self, new: NewBooking) -> Controlled<BookingId> {
        self.act("bookings", |world, now| world.create_booking(new, now))
    }

    /// A booking is cancelled.
    ///
    /// # Errors
    ///
    /// 404 for an unknown booking, 409 when it is cancelled already.
    pub async fn cancel_booking(&self, booking: impl AsRef<str>) -> Controlled<()> {
        self.act("bookings", |world, now| world.cancel_booking(booking.as_ref(), now))
    }

    /// Every mail that left or was meant to.
    pub async fn outbox(&self) -> Vec<OutboxMail> {
        self.copy().0.outbox()
    }

    /// One mail of the outbox, by its number there, from 1; with its headers and its source.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn outbox_mail(&self, number: usize) -> Controlled<SentMail> {
        self.read(|world, _| world.outbox_mail(number))
    }
}
