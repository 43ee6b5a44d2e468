//! What is written down of each call, where calls are to be written down.

use std::{sync::Arc, time::Instant};

use rmcp::{RoleServer, model::CallToolResponse, service::RequestContext};
use shared_inbox::{Clock, ConversationId};

use super::watch::Ended;
use crate::audit::{Audit, Line, Trail, outcome};

/// A call that is being made.
pub(super) struct Record {
    audit: Arc<Audit>,
    client: Option<String>,
    tool: &'static str,
    conversation: Option<String>,
    begun: Instant,
    trail: Arc<Trail>,
}

impl Record {
    /// Begins to note what becomes of a call. `named` is what may be the id of a conversation.
    pub(super) fn begin(
        audit: Option<&Arc<Audit>>,
        clock: &dyn Clock,
        ctx: &mut RequestContext<RoleServer>,
        tool: &'static str,
        named: Option<&str>,
    ) -> Option<Self> {
        let audit = audit?.clone();
        let trail = Arc::new(Trail::default());
        ctx.extensions.insert(trail.clone());
        let plain = |c: &char| c.is_ascii_alphanumeric() || " .-_/".contains(*c);
        let client = ctx.client_info().map(|client| client.name.chars().filter(plain).take(60).collect());
        // Anything else could be words.
        let conversation = named.and_then(|id| id.parse::<ConversationId>().ok()).map(|id| id.to_string());
        Some(Self { audit, client, tool, conversation, begun: clock.now(), trail })
    }

    /// Writes down how a tool's call ended.
    pub(super) fn end(self, clock: &dyn Clock, ended: &Result<CallToolResponse, Ended>) {
        let how = match ended {
            Ok(response) => outcome(response),
            Err(ended) => ended.name(),
        };
        let line = Line::new(self.tool, how, self.trail.consent());
        let line = match ended {
            Ok(CallToolResponse::Complete(result)) => line.about(result),
            _ => line,
        };
        self.write(clock, line);
    }

    /// Writes down how something else was read.
    pub(super) fn end_read<T, E>(self, clock: &dyn Clock, ended: &Result<T, E>) {
        let line = Line::new(self.tool, if ended.is_ok() { "done" } else { "failed" }, None);
        self.write(clock, line);
    }

    fn write(&self, clock: &dyn Clock, mut line: Line<'_>) {
        line.client = self.client.clone();
        line.conversation = self.conversation.clone();
        line.ms = u64::try_from(clock.now().saturating_duration_since(self.begun).as_millis()).ok();
        self.audit.write(&line);
    }
}
