//! The record of a call while it runs, and its lines in the audit.
//!
//! A call is one line when it ends. A create is two lines with the same `call`: the intent before the request
//! is sent, and the outcome after it, so that whatever reaches a customer has a line, whenever the program
//! ends.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{
    RoleServer,
    model::{CallToolResponse, CallToolResult},
    service::RequestContext,
};
use shared_inbox::{
    __spec::{Idempotency, Operation},
    ConversationId, Timestamp,
    clock::Clock,
};

use crate::{
    audit::{Audit, AuditOutcome, AuditRecord},
    consent::{AskMethod, Consent, secret},
    outcome::{Failure, FailureKind, Outcome},
    stdio::QueueWait,
};

tokio::task_local! {
    static CURRENT: Arc<CallRecord>;
}

pub(super) fn current() -> Option<Arc<CallRecord>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Notes who agreed to what the current call creates.
pub(super) fn note(consent: Consent) {
    if let Some(record) = current() {
        record.lock().consent = Some(consent);
    }
}

pub(super) struct CallRecord {
    audit: Option<Arc<Audit>>,
    clock: Arc<dyn Clock>,
    /// Joins the lines of one call.
    call: String,
    client: Option<String>,
    tool: &'static str,
    conversation: Option<String>,
    /// How long it was queued before it began.
    queued: Duration,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    consent: Option<Consent>,
    /// How a person is being asked.
    asking: Option<AskMethod>,
    /// How many creates are under way.
    creating: usize,
    /// The last line of what it created, which stands for the call.
    created: Option<AuditOutcome>,
    ended: bool,
}

impl CallRecord {
    /// Begins the record of a call. `named` is what may be the id of a conversation.
    pub(super) fn begin(
        audit: Option<&Arc<Audit>>,
        clock: &Arc<dyn Clock>,
        ctx: &RequestContext<RoleServer>,
        tool: &'static str,
        named: Option<&str>,
    ) -> Arc<Self> {
        // Anything else could be text.
        let conversation = named.and_then(|id| id.parse::<ConversationId>().ok()).map(|id| id.to_string());
        Arc::new(Self {
            audit: audit.cloned(),
            clock: clock.clone(),
            call: audit.and_then(|_| secret().ok()).map(|id| id[..16].to_owned()).unwrap_or_default(),
            client: client_name(ctx),
            tool,
            conversation,
            queued: ctx.extensions.get::<QueueWait>().copied().unwrap_or_default().0,
            begun: clock.now(),
            state: Mutex::default(),
        })
    }

    /// Runs the call, or what continues after it, under this record.
    pub(super) async fn scope<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        CURRENT.scope(self.clone(), call).await
    }

    /// Returns how long the client waits by now.
    pub(super) fn age(&self) -> Duration {
        self.queued + self.took()
    }

    fn took(&self) -> Duration {
        self.clock.now().saturating_duration_since(self.begun)
    }

    pub(super) fn ask(&self, method: AskMethod) {
        self.lock().asking = Some(method);
    }

    pub(super) fn asking(&self) -> Option<AskMethod> {
        self.lock().asking
    }

    /// Returns whether something is being created, which must not be dropped midway.
    pub(super) fn is_creating(&self) -> bool {
        self.lock().creating > 0
    }

    /// Writes the intent of a create, before its request leaves; that of an email is on the disk by then.
    ///
    /// # Errors
    ///
    /// When the line cannot be written.
    pub(super) async fn intend(self: &Arc<Self>, sends: bool) -> std::io::Result<Intent> {
        self.write(AuditOutcome::Intent, None)?;
        self.lock().creating += 1;
        self.lock().created = Some(AuditOutcome::Intent);
        // From here on the call is a create, which is not dropped when the client goes.
        let mut intent = Intent { record: self.clone(), ended: false };
        if let Some(audit) = self.audit.clone().filter(|_| sends) {
            // A disk may take long, and everything else runs on this thread.
            let synced = tokio::task::spawn_blocking(move || audit.sync()).await;
            if let Err(error) = synced.map_err(std::io::Error::other).and_then(|synced| synced) {
                intent.ended = true;
                self.lock().created = None;
                return Err(error);
            }
        }
        Ok(intent)
    }

    /// Records how a tool's call ended, unless the lines of its create stand for it. The error is why it has
    /// no result.
    pub(super) fn end(&self, ended: Result<&Result<CallToolResponse, Failure>, AuditOutcome>) {
        let asked = matches!(self.lock().consent, Some(Consent::Open(_)));
        let (outcome, result) = match ended {
            Ok(Ok(CallToolResponse::Complete(result))) => {
                // What a create names was made by another call.
                let outcome = if self.creates() { AuditOutcome::Repeat } else { AuditOutcome::Done };
                (outcome, Some(result))
            }
            Ok(Ok(CallToolResponse::InputRequired(_))) => (AuditOutcome::Asked, None),
            Ok(Ok(_)) => (AuditOutcome::Done, None),
            // The question stays open after the call.
            Ok(Err(_)) if asked => (AuditOutcome::Asked, None),
            Ok(Err(failure)) => (AuditOutcome::of_failure(failure.kind == FailureKind::Unknown), None),
            Err(why) => (why, None),
        };
        self.end_with(outcome, result);
    }

    pub(super) fn end_read<T, E>(&self, ended: &Result<T, E>) {
        self.end_with(if ended.is_ok() { AuditOutcome::Done } else { AuditOutcome::Failed }, None);
    }

    /// Writes down what came of a question after its call had ended.
    pub(super) fn end_late(&self, result: &Result<CallToolResult, Failure>) {
        let outcome = match result {
            // What it names was made by another call, or by another bridge.
            Ok(_) => AuditOutcome::Repeat,
            Err(failure) => AuditOutcome::of_failure(failure.kind == FailureKind::Unknown),
        };
        self.write_unless_created(outcome, result.as_ref().ok());
    }

    /// Returns whether the tool is one that makes something new each time.
    fn creates(&self) -> bool {
        Operation::from_tool_name(self.tool)
            .is_some_and(|operation| operation.idempotency() != Idempotency::Harmless)
    }

    fn end_with(&self, outcome: AuditOutcome, result: Option<&CallToolResult>) {
        self.lock().ended = true;
        self.write_unless_created(outcome, result);
    }

    /// Writes a line, unless those of a create stand for it. Where this bridge was refused and another one
    /// may have made it, its fate is unknown all the same.
    fn write_unless_created(&self, outcome: AuditOutcome, result: Option<&CallToolResult>) {
        let created = self.lock().created;
        let is_unclear = created == Some(AuditOutcome::Failed) && outcome == AuditOutcome::Unknown;
        if created.is_none() || is_unclear {
            _ = self.write(outcome, result.and_then(message_of));
        }
    }

    fn write(&self, outcome: AuditOutcome, message: Option<&str>) -> std::io::Result<()> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let (asked, answer) = self.lock().consent.map_or((None, None), Consent::names);
        audit.write(&AuditRecord {
            at: Timestamp::now(),
            call: &self.call,
            client: self.client.as_deref(),
            tool: self.tool,
            conversation: self.conversation.as_deref(),
            message,
            outcome: outcome.name(),
            asked,
            answer,
            ms: (outcome != AuditOutcome::Intent)
                .then(|| u64::try_from(self.took().as_millis()).unwrap_or(u64::MAX)),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallRecord {
    /// The program ended in the middle of the call.
    fn drop(&mut self) {
        if !self.lock().ended {
            self.end_with(AuditOutcome::CutOff, None);
        }
    }
}

/// A create that is under way. Dropped midway, its outcome is unknown, and that is written down.
pub(super) struct Intent {
    record: Arc<CallRecord>,
    ended: bool,
}

impl Intent {
    /// Writes down what became of the create.
    pub(super) fn end(mut self, outcome: &Outcome) {
        let (outcome, message) = match outcome {
            Outcome::Made(made) if made.age.is_some() => (AuditOutcome::Repeat, made.text("messageId")),
            Outcome::Made(made) => (AuditOutcome::of_status(made.text("status")), made.text("messageId")),
            Outcome::Refused(_) => (AuditOutcome::Failed, None),
            Outcome::Unknown(_) => (AuditOutcome::Unknown, None),
        };
        _ = self.record.write(outcome, message);
        self.record.lock().created = Some(outcome);
        self.ended = true;
    }
}

impl Drop for Intent {
    fn drop(&mut self) {
        self.record.lock().creating -= 1;
        if !self.ended {
            _ = self.record.write(AuditOutcome::Unknown, None);
        }
    }
}

/// Returns the message that a result names.
fn message_of(result: &CallToolResult) -> Option<&str> {
    result.structured_content.as_ref()?.get("messageId")?.as_str()
}

/// Returns the client's name, without unusual characters.
pub(super) fn client_name(ctx: &RequestContext<RoleServer>) -> Option<String> {
    let plain = |c: &char| c.is_ascii_alphanumeric() || " .-_/".contains(*c);
    ctx.client_info().map(|client| client.name.chars().filter(plain).take(60).collect())
}
