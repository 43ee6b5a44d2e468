//! Bookings of a time with someone on the team.

use serde::{Deserialize, Serialize};
use shared_inbox::{BookingId, BookingTypeId, ConversationId, Timestamp, UserId};

use crate::world::{Refusal, Result, StepKind, World, id_with_suffix};

/// A booking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct BookingRecord {
    /// Its id.
    pub id: BookingId,
    /// The booking type.
    pub booking_type_id: BookingTypeId,
    /// The host.
    pub host_user_id: UserId,
    /// The conversation that it belongs to.
    pub conversation_id: Option<ConversationId>,
    /// When it starts.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// Whether it was cancelled.
    #[serde(default)]
    pub cancelled: bool,
}

/// A booking to create.
///
/// ```
/// use shared_inbox_mock::world::NewBooking;
/// let booking =
///     NewBooking::new("usr_anna".parse()?, "2026-12-01T09:00:00Z".parse()?, "2026-12-01T09:30:00Z".parse()?);
/// assert!(booking.conversation_id.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NewBooking {
    /// The host.
    pub host_user_id: UserId,
    /// When it starts.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// The booking type.
    pub booking_type_id: Option<BookingTypeId>,
    /// The conversation that it belongs to.
    pub conversation_id: Option<ConversationId>,
}

impl NewBooking {
    /// Returns a booking outside any conversation.
    pub fn new(host_user_id: UserId, starts_at: Timestamp, ends_at: Timestamp) -> Self {
        Self { host_user_id, starts_at, ends_at, booking_type_id: None, conversation_id: None }
    }

    setters! {
        /// Makes it part of a conversation.
        conversation(conversation: ConversationId) => conversation_id = Some(conversation);
    }
}

impl World {
    /// Returns all bookings, oldest first.
    pub fn bookings(&self) -> &[BookingRecord] {
        &self.bookings
    }

    /// Creates a booking.
    pub fn create_booking(&mut self, new: NewBooking, now: Timestamp) -> Result<BookingId> {
        if new.ends_at <= new.starts_at {
            return Err(Refusal::field("endsAt", "must lie behind startsAt"));
        }
        self.user(&new.host_user_id)?;
        if let Some(conversation) = &new.conversation_id {
            self.conversation(conversation.as_str())?;
        }
        let id: BookingId = self.ids.next_id();
        self.bookings.push(BookingRecord {
            id: id.clone(),
            booking_type_id: new.booking_type_id.unwrap_or_else(|| id_with_suffix("meeting")),
            host_user_id: new.host_user_id,
            conversation_id: new.conversation_id,
            starts_at: new.starts_at,
            ends_at: new.ends_at,
            cancelled: false,
        });
        self.record_step(StepKind::Booking, id.as_str(), "made", None, now);
        self.emit_booking(self.bookings.len() - 1, now);
        Ok(id)
    }

    /// Cancels a booking.
    pub fn cancel_booking(&mut self, id: &str, now: Timestamp) -> Result<()> {
        let at = self.bookings.iter().position(|booking| booking.id.as_str() == id);
        let at = at.ok_or_else(|| Refusal::no_such("booking"))?;
        if self.bookings[at].cancelled {
            return Err(Refusal::conflict("This booking is cancelled already."));
        }
        self.bookings[at].cancelled = true;
        self.record_step(StepKind::Booking, id, "cancelled", None, now);
        self.emit_booking(at, now);
        Ok(())
    }
}
