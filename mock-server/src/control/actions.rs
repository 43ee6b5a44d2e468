//! Calls that act as people, customers and the helpers of the app.

use shared_inbox::{BookingId, DocumentId, ReplyResult};

use super::Control;
use crate::world::{
    Approval, ApprovalResult, Assignment, BookingRecord, CreatedNote, DiscardDraft, DocumentReading,
    DocumentRequestEntry, HelperDraft, InboundMail, InboundResult, NewBooking, NewDocument, OutboxMail,
    QueuedDraft, Result, SentMail, Snooze, SortingResult, StatusChange, StopMessage, TagChange, TeamNote,
    TeamReply, Upload, UploadResult,
};

impl Control {
    /// Lets an email of a customer come in.
    ///
    /// # Errors
    ///
    /// 400 for bad input, 404 for an unknown conversation or inbox.
    pub async fn inbound(&self, mail: InboundMail) -> Result<InboundResult> {
        self.act("inbound", |world, now| world.inbound(mail, now))
    }

    /// Returns the drafts that wait for a person, oldest first.
    pub async fn approvals(&self) -> Vec<QueuedDraft> {
        self.read(|world, _| world.approvals())
    }

    /// Approves a draft as a person. The id of a conversation stands for its newest draft.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not a draft.
    pub async fn approve(&self, message: impl AsRef<str>, approval: Approval) -> Result<ApprovalResult> {
        self.act("approve", |world, now| world.approve(message.as_ref(), approval, now))
    }

    /// Stops a message in its undo window as a person; it is a draft again. The id of a conversation stands
    /// for its newest message in the undo window.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not waiting to go out.
    pub async fn stop(&self, message: impl AsRef<str>, stop: StopMessage) -> Result<()> {
        self.act("stop", |world, now| world.stop(message.as_ref(), stop, now))
    }

    /// Discards a draft as a person. The id of a conversation stands for its newest draft.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not a draft.
    pub async fn discard(&self, message: impl AsRef<str>, discard: DiscardDraft) -> Result<()> {
        self.act("discard", |world, now| world.discard(message.as_ref(), discard, now))
    }

    /// Lets an email bounce: one in its undo window fails when it leaves, one that was sent fails now.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message, 409 when it is neither sent nor about to be.
    pub async fn bounce(&self, message: impl AsRef<str>) -> Result<()> {
        self.act("bounce", |world, now| world.bounce(message.as_ref(), now))
    }

    /// Adds a note of someone on the team.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use shared_inbox::Status;
    /// use shared_inbox_mock::{MockServer, world::{SortingResult, StatusChange, TagChange, TeamNote, TeamReply}};
    ///
    /// let mock = MockServer::builder().manual_clock().start().await;
    /// let (inbox, control) = (mock.client(), mock.control());
    /// let id = inbox.conversations().await?[0].id.clone();
    /// control.add_note(&id, TeamNote::new("Called them back.")).await?;
    /// control.edit_tags(&id, TagChange::new().add("vip")).await?;
    /// control.sort(&id, SortingResult::new().topic("delivery")).await?;
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
    pub async fn add_note(&self, conversation: impl AsRef<str>, note: TeamNote) -> Result<CreatedNote> {
        self.act("notes", |world, now| world.note_by_team(conversation.as_ref(), note, now))
    }

    /// Sets the status as someone on the team.
    ///
    /// # Errors
    ///
    /// 400 for an unknown status, 404 for an unknown conversation or person.
    pub async fn set_status(&self, conversation: impl AsRef<str>, change: StatusChange) -> Result<()> {
        self.act("status", |world, now| world.set_status_by_team(conversation.as_ref(), change, now))
    }

    /// Adds and removes tags as someone on the team.
    ///
    /// # Errors
    ///
    /// 400 for names that are too many or too long, 404 for an unknown conversation or person.
    pub async fn edit_tags(&self, conversation: impl AsRef<str>, change: TagChange) -> Result<()> {
        self.act("tags", |world, now| world.tag_by_team(conversation.as_ref(), change, now))
    }

    /// Replies as someone on the team. It goes out when the undo window has passed; with `send` false it is a
    /// draft of theirs.
    ///
    /// # Errors
    ///
    /// 400 for a text that is too long, 404 for an unknown conversation or person.
    pub async fn reply(&self, conversation: impl AsRef<str>, reply: TeamReply) -> Result<ReplyResult> {
        self.act("replies", |world, now| world.reply_by_team(conversation.as_ref(), reply, now))
    }

    /// Writes a reply as the drafting helper; it waits for a person's approval.
    ///
    /// # Errors
    ///
    /// 400 for a text that is too long, 404 for an unknown conversation, 409 in the sandbox.
    pub async fn draft(&self, conversation: impl AsRef<str>, draft: HelperDraft) -> Result<ReplyResult> {
        self.act("drafts", |world, now| world.draft_by_helper(conversation.as_ref(), draft, now))
    }

    /// Sorts a conversation as the sorting helper. What is left out stays as it is.
    ///
    /// # Errors
    ///
    /// 400 for an unknown urgency, 404 for an unknown conversation, 409 in the sandbox.
    pub async fn sort(&self, conversation: impl AsRef<str>, found: SortingResult) -> Result<()> {
        self.act("sorting", |world, now| world.sort(conversation.as_ref(), found, now))
    }

    /// Reads a document as the document-reading helper. What is left out stays as it is.
    ///
    /// # Errors
    ///
    /// 400 for an unknown kind, 404 for an unknown document, 409 in the sandbox.
    pub async fn read_document(&self, document: impl AsRef<str>, found: DocumentReading) -> Result<()> {
        self.act("reading", |world, _| world.read_document(document.as_ref(), found))
    }

    /// Snoozes a conversation as a person, or ends its snooze.
    ///
    /// # Errors
    ///
    /// 404 for an unknown conversation.
    pub async fn snooze(&self, conversation: impl AsRef<str>, snooze: Snooze) -> Result<()> {
        self.act("snooze", |world, now| world.snooze(conversation.as_ref(), snooze, now))
    }

    /// Assigns a conversation to someone, or to nobody.
    ///
    /// # Errors
    ///
    /// 404 for an unknown conversation, 400 for someone who is not on the team or cannot see it.
    pub async fn assign(&self, conversation: impl AsRef<str>, to: Assignment) -> Result<()> {
        self.act("assign", |world, now| world.assign_by_person(conversation.as_ref(), to, now))
    }

    /// Uploads a requested document as a customer. The id of a conversation stands for its newest request.
    ///
    /// # Errors
    ///
    /// 404 for an unknown request, 400 for an item that it does not have.
    pub async fn upload(&self, request: impl AsRef<str>, upload: Upload) -> Result<UploadResult> {
        self.act("uploads", |world, now| world.upload(request.as_ref(), upload, now))
    }

    /// Puts a file into the library as a person: without a conversation, for those who see the inbox.
    ///
    /// # Errors
    ///
    /// 400 for an unknown kind or the sandbox, 404 for an unknown inbox.
    pub async fn file_document(&self, new: NewDocument) -> Result<DocumentId> {
        self.act("documents", |world, now| world.file_document(new, now))
    }

    /// Returns every document request, oldest first.
    pub async fn document_requests(&self) -> Vec<DocumentRequestEntry> {
        self.read(|world, _| world.document_requests())
    }

    /// Returns every booking, oldest first.
    pub async fn bookings(&self) -> Vec<BookingRecord> {
        self.read(|world, _| world.bookings().to_vec())
    }

    /// Books a time.
    ///
    /// # Errors
    ///
    /// 400 for bad times, 404 for an unknown host or conversation.
    pub async fn create_booking(&self, new: NewBooking) -> Result<BookingId> {
        self.act("bookings", |world, now| world.create_booking(new, now))
    }

    /// Cancels a booking.
    ///
    /// # Errors
    ///
    /// 404 for an unknown booking, 409 when it is cancelled already.
    pub async fn cancel_booking(&self, booking: impl AsRef<str>) -> Result<()> {
        self.act("bookings", |world, now| world.cancel_booking(booking.as_ref(), now))
    }

    /// Returns every email that was sent or failed to send.
    pub async fn outbox(&self) -> Vec<OutboxMail> {
        self.copy().0.outbox()
    }

    /// Returns one email of the outbox, by its number from 1, with its headers and its source.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn outbox_mail(&self, number: usize) -> Result<SentMail> {
        self.read(|world, _| world.outbox_mail(number))
    }
}
