//! Every number of the service's rules, each written here and nowhere else.
//!
//! Lengths are counted in characters, not bytes.

use std::time::Duration;

/// Requests that one key may make in [`RATE_WINDOW`].
pub const REQUESTS_PER_MINUTE: u32 = 120;
/// The span over which requests are counted.
pub const RATE_WINDOW: Duration = Duration::from_secs(60);
/// Simulated mails in a minute, all test keys together.
pub const SANDBOX_INBOUND_PER_MINUTE: u32 = 120;
/// The smallest `limit` of a list.
pub const LIST_MIN: u32 = 1;
/// The largest `limit` of a list.
pub const LIST_MAX: u32 = 100;
/// How many items a list has by default.
pub const LIST_DEFAULT: u32 = 25;
/// Characters of a search.
pub const QUERY: usize = 200;
/// Characters of a note.
pub const NOTE_BODY: usize = 10_000;
/// Characters of a reply.
pub const REPLY_BODY: usize = 50_000;
/// Characters of the line for the approving person.
pub const REPLY_SUMMARY: usize = 500;
/// Characters of the text above a document request's checklist.
pub const REQUEST_MESSAGE: usize = 5_000;
/// Documents that one reply or request may name.
pub const DOCUMENTS: usize = 20;
/// Characters of a document's label.
pub const DOCUMENT_LABEL: usize = 120;
/// Characters of a document's description.
pub const DOCUMENT_DESCRIPTION: usize = 500;
/// Tags that one call may add, and that it may remove.
pub const TAGS_PER_CALL: usize = 10;
/// Characters of a tag's name.
pub const TAG_NAME: usize = 40;
/// Characters of the one to assign to.
pub const ASSIGN_TO: usize = 80;
/// Characters after which a message's text is cut in a read.
pub const MESSAGE_TEXT: usize = 8_000;
/// Reasons that a conversation gives for its risk.
pub const RISK_REASONS: usize = 3;
/// Characters of an app reference.
pub const REFERENCE: usize = 40;
/// How long a sent reply can still be stopped.
pub const UNDO_WINDOW: Duration = Duration::from_secs(600);
/// The same in the sandbox.
pub const SANDBOX_UNDO_WINDOW: Duration = Duration::from_secs(5);
/// When reminders of a document request go out, counted from the request.
pub const REMINDERS: [Duration; 3] =
    [Duration::from_secs(2 * 86_400), Duration::from_secs(4 * 86_400), Duration::from_secs(7 * 86_400)];
/// How long a webhook receiver may take to respond.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// How far a webhook's timestamp may be off.
pub const WEBHOOK_TOLERANCE: Duration = Duration::from_secs(300);
/// How long the old and the new secret both sign after a rotation.
pub const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 3_600);
/// How far back a webhook's delivery log goes.
pub const DELIVERY_LOG: Duration = Duration::from_secs(30 * 86_400);
/// Waits before the second and later tries of a webhook, each varying by [`WEBHOOK_JITTER`].
pub const WEBHOOK_RETRIES: [Duration; 8] = [
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(1_800),
    Duration::from_secs(3_600),
    Duration::from_secs(3 * 3_600),
    Duration::from_secs(6 * 3_600),
    Duration::from_secs(12 * 3_600),
];
/// The part by which a webhook's wait may be shorter or longer.
pub const WEBHOOK_JITTER: f64 = 0.2;
/// Failures over this long without one success pause a webhook.
pub const WEBHOOK_PAUSE_AFTER: Duration = Duration::from_secs(24 * 3_600);
/// How long recorded app mail waits for a reply.
pub const APP_MAIL_KEPT: Duration = Duration::from_secs(30 * 86_400);
/// Recorded app mails without a reply that a workspace holds; the oldest go first.
pub const APP_MAIL_PER_WORKSPACE: usize = 50_000;
/// Characters of an event's summary.
pub const EVENT_SUMMARY: usize = 200;
