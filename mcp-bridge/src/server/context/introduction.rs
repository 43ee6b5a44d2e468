//! What a model should know from the start: the day, who it is, what it may do, and the inboxes. It comes with the first
//! result, because many clients show a model no instructions, and those that do may keep them for days.

use std::sync::atomic::Ordering;

use rmcp::{
    RoleServer,
    model::{CallToolResult, ContentBlock},
    service::RequestContext,
};
use serde_json::Value;
use shared_inbox::{Operation, Scope};

use crate::{
    consent::AskMethod,
    render::{SanitizeReport, clean, own, quoted},
    server::{Bridge, Connection, ReadPriority},
    settings::{SendPolicy, Structured},
};

/// How many inboxes are named.
const MAX_INBOXES: usize = 10;
/// How many of the team's skills are named.
const MAX_SKILLS: usize = 10;

impl Bridge {
    /// Adds the introduction to the first result that has room for it.
    pub(in crate::server) async fn introduce(
        &self,
        connection: &Connection,
        ctx: &RequestContext<RoleServer>,
        result: &mut CallToolResult,
    ) {
        if result.is_error == Some(true) || self.introduced.swap(true, Ordering::Relaxed) {
            return;
        }
        let text = self.introduction(connection, ctx).await;
        let size = |text: &str| text.chars().count();
        let words: usize =
            result.content.iter().filter_map(|block| block.as_text()).map(|block| size(&block.text)).sum();
        let json = result.structured_content.as_ref().map_or(0, |json| size(&json.to_string()));
        // A quotation mark becomes two characters in JSON.
        if words.max(json) + 2 * size(&text) > self.settings.max_chars {
            self.introduced.store(false, Ordering::Relaxed);
            return;
        }
        if let Some(Value::Object(fields)) = &mut result.structured_content
            && self.settings.structured == Structured::Safe
        {
            fields.insert("start".into(), text.clone().into());
        }
        // Some clients join the parts of a result without anything between them.
        result.content.push(ContentBlock::text(format!("\n{text}\n")));
    }

    async fn introduction(&self, connection: &Connection, ctx: &RequestContext<RoleServer>) -> String {
        let today =
            jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).strftime("%A, %Y-%m-%d").to_string();
        let scopes: Vec<_> = connection.scopes().iter().map(|scope| own(scope.as_str())).collect();
        let data = if connection.me.livemode == Some(false) { "in the sandbox" } else { "on live data" };
        let mut said = vec![
            format!("Today is {today} (UTC)."),
            format!(
                "You are the agent {} with the scopes {} {data}.",
                quoted(&connection.me.agent.name),
                scopes.join(", ")
            ),
            self.sending(connection, ctx).to_owned(),
        ];
        if self.settings.filter.hides(Operation::ListMailboxes, connection.scopes()).is_none()
            && let Ok(all) = self.inboxes.mailboxes(&connection.client, ReadPriority::Background).await
        {
            let mut shown: Vec<_> = all
                .iter()
                .take(MAX_INBOXES)
                .map(|m| format!("{} {} ({})", quoted(&m.name), own(&m.address), m.id))
                .collect();
            if all.len() > MAX_INBOXES {
                shown.push(format!("{} more", all.len() - MAX_INBOXES));
            }
            said.push(format!("Inboxes: {}.", shown.join(", ")));
        }
        // Each part is clean by itself, and two may make a link together.
        let mut said = clean(&said.join(" "), &mut SanitizeReport::default());
        if self.settings.skills.is_some() {
            let skills = self.all_skills().await;
            let shown = skills
                .iter()
                .skip(1)
                .take(MAX_SKILLS)
                .map(|skill| format!("{} ({})", skill.uri, own(skill.description())));
            said.push_str(&format!(" The team's rules: {}.", shown.collect::<Vec<_>>().join(", ")));
        }
        said
    }

    fn sending(&self, connection: &Connection, ctx: &RequestContext<RoleServer>) -> &'static str {
        let hidden = |operation| self.settings.filter.hides(operation, connection.scopes()).is_some();
        if hidden(Operation::Reply) && hidden(Operation::RequestDocuments) {
            return "You cannot write to customers.";
        }
        if !connection.scopes().contains(&Scope::Send) {
            return "You cannot send: replies are drafts that a person approves.";
        }
        match (self.settings.send, AskMethod::of(self.settings.ask, ctx.client_capabilities().as_ref())) {
            (SendPolicy::Never, _) => "Nothing is sent: replies are drafts that a person approves.",
            (SendPolicy::Allow, _) => {
                "Replies with `send` go out without a question, except where there is a risk."
            }
            (SendPolicy::Ask, Some(AskMethod::Browser)) => {
                "Replies with `send` go out after the person agreed on a page in their browser."
            }
            (SendPolicy::Ask, Some(_)) => {
                "Replies with `send` go out after the person at this client agreed."
            }
            (SendPolicy::Ask, None) => {
                "This client cannot ask a person, so replies with `send` become drafts that a person approves."
            }
        }
    }
}
