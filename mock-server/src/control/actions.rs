//! What people do in the app, and what customers do.

use shared_inbox::BookingId;

use super::{Control, Controlled};
use crate::world::{
    Approval, Approved, Assignment, InboundMail, NewBooking, OutboxMail, Received, Snooze, Stop, Upload,
    Uploaded, Waiting,
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
        self.read(|world, _| world.outbox().to_vec())
    }
}
