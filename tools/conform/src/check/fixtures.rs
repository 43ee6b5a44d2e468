//! What several checks look at, made once.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    check::fixture_types::{
        Found, MagicSend, MagicSends, PopulatedConversation, WebhookScenario, inbound, timeline,
    },
    check::session::{Session, text},
    rule_abort::RuleAbort,
    wire::receiver::{Answer, ReceivedWebhook, Receiver},
    wire::reply::Reply,
};

/// The local parts of magic addresses, and one that is none.
pub(crate) const LOCALS: [&str; 10] = [
    "delivered",
    "bounce",
    "complaint",
    "reply+case7",
    "docs",
    "ooo",
    "somebody",
    "bounce+tag",
    "replyto",
    "BOUNCE",
];

impl Session {
    pub(crate) async fn populated_conversation(
        self: &Arc<Self>,
    ) -> Result<Arc<PopulatedConversation>, RuleAbort> {
        self.populated_conversation.get_or_init(|| self.populate_conversation()).await.clone()
    }

    async fn populate_conversation(&self) -> Result<Arc<PopulatedConversation>, RuleAbort> {
        if self.reads_only() {
            return self.find_populated_conversation().await;
        }
        self.conversation().await?;
        let id = self.conversation().await?;
        self.act(&id, "notes", &json!({ "body": "A note" })).await?;
        self.act(&id, "tags", &json!({ "add": [self.word("tag")] })).await?;
        self.act(&id, "assign", &json!({ "to": "me" })).await?;
        self.act(&id, "status", &json!({ "status": "waiting" })).await?;
        self.act(&id, "status", &json!({ "status": "open" })).await?;
        self.act(&id, "replies", &json!({ "body": "A draft" })).await?;
        let list = self.api().get("/conversations?limit=100").await?;
        Ok(Arc::new(PopulatedConversation { list, read: self.read(&id).await? }))
    }

    /// Looks for a conversation that is there already.
    async fn find_populated_conversation(&self) -> Result<Arc<PopulatedConversation>, RuleAbort> {
        for view in ["open", "waiting", "closed", "snoozed"] {
            let list = self.api().get(format!("/conversations?view={view}&limit=100")).await?;
            let longest = list.list()?.iter().max_by_key(|it| it["messageCount"].as_u64()).cloned();
            if let Some(id) = longest.as_ref().and_then(|it| it["id"].as_str()) {
                return Ok(Arc::new(PopulatedConversation { read: self.read(id).await?, list }));
            }
        }
        Err(RuleAbort::left_out("there is no conversation to look at, and none may be made"))
    }

    /// Returns the entries of a list of conversations.
    pub(crate) async fn summaries(self: Arc<Self>) -> Result<Found, RuleAbort> {
        let populated = self.populated_conversation().await?;
        Ok(Found { items: populated.list.list()?.clone(), reply: populated.list.clone() })
    }

    /// Returns a conversation as it is read.
    pub(crate) async fn whole(self: Arc<Self>) -> Result<Found, RuleAbort> {
        let populated = self.populated_conversation().await?;
        Ok(Found { items: vec![populated.read.done()?.clone()], reply: populated.read.clone() })
    }

    /// Returns the items of a timeline that are of this type.
    pub(crate) async fn items(self: Arc<Self>, kind: &'static str) -> Result<Found, RuleAbort> {
        let populated = self.populated_conversation().await?;
        let items = timeline(&populated.read)?.into_iter().filter(|it| it["type"] == kind).collect();
        Ok(Found { items, reply: populated.read.clone() })
    }

    /// Returns the entries of a list at this path.
    pub(crate) async fn listed(self: Arc<Self>, path: &'static str) -> Result<Found, RuleAbort> {
        if !self.reads_only() {
            self.populated_conversation().await?;
        }
        let reply = self.api().get(path).await?;
        Ok(Found { items: reply.list()?.clone(), reply })
    }

    /// Returns the documents that there are; in the sandbox, one that was sent in.
    pub(crate) async fn documents(self: Arc<Self>) -> Result<Found, RuleAbort> {
        let may_send = !self.reads_only() && self.may_send().await?;
        if may_send {
            self.magic().await?;
        }
        let documents = self.listed("/documents?limit=100").await?;
        match documents.items.is_empty() && !may_send {
            true => Err(RuleAbort::left_out("there is no document to look at, and none may be sent for")),
            false => Ok(documents),
        }
    }

    async fn may_send(&self) -> Result<bool, RuleAbort> {
        let me = self.api().get("/me").await?;
        Ok(me.done()?["scopes"].as_array().is_none_or(|scopes| scopes.contains(&json!("send"))))
    }

    pub(crate) async fn magic(self: &Arc<Self>) -> Result<Arc<MagicSends>, RuleAbort> {
        self.magic.get_or_init(|| self.make_magic()).await.clone()
    }

    async fn make_magic(&self) -> Result<Arc<MagicSends>, RuleAbort> {
        let mut sends = Vec::new();
        for local in LOCALS {
            let address = self.address(local);
            let conversation = self.conversation_with(&address).await?;
            let sent = self.act(&conversation, "replies", &json!({ "body": "Hello", "send": true })).await?;
            let message = sent.text_at("/messageId")?;
            sends.push(MagicSend { local, conversation, message, address, read: sent });
        }
        // Five seconds until it leaves, about five more until somebody writes back.
        self.wait(Duration::from_secs(15)).await?;
        for send in &mut sends {
            let answers = matches!(send.local, "reply+case7" | "docs" | "ooo");
            for _ in 0..6 {
                send.read = self.read(&send.conversation).await?;
                let settled = !answers || inbound(&send.read)? > 1;
                if settled && !matches!(send.status()?.as_str(), "scheduled" | "sending") {
                    break;
                }
                self.wait(Duration::from_secs(5)).await?;
            }
        }
        Ok(Arc::new(MagicSends { sends }))
    }

    pub(crate) async fn webhook_scenario(self: &Arc<Self>) -> Result<Arc<WebhookScenario>, RuleAbort> {
        let scenario = self.webhook_scenario.get_or_init(|| self.play_webhook_scenario()).await.clone()?;
        self.control()?.note_calls(&scenario.control_calls);
        Ok(scenario)
    }

    /// Lets everything happen that a webhook tells of.
    async fn play_webhook_scenario(&self) -> Result<Arc<WebhookScenario>, RuleAbort> {
        let (control, live) = (self.control()?, self.live()?);
        let receiver = Receiver::start(Answer::Status(200)).await?;
        let (hook, secret) = self.hook(&receiver, json!({})).await?;
        let person = self.person().await?;
        let words = ["mail", "note", "reply", "file"].map(|it| self.word(it));
        let [mail_text, note, reply, file] = &words;
        let mail = self.mail(json!({ "subject": mail_text, "text": mail_text })).await?;
        let id = text(&mail["conversationId"]);
        let attached =
            json!([{ "filename": format!("{file}.pdf"), "contentType": "application/pdf", "size": 7 }]);
        self.mail(json!({ "conversationId": id, "text": mail_text, "attachments": attached })).await?;
        let on = |rest: &str| format!("/conversations/{id}/{rest}");
        live.post(on("notes"), &json!({ "body": note })).await?;
        live.post(on("assign"), &json!({ "to": "me" })).await?;
        live.post(on("assign"), &json!({ "to": "none" })).await?;
        let draft = live.post(on("replies"), &json!({ "body": reply, "summary": reply })).await?;
        let approve = format!("/messages/{}/approve", draft.text_at("/messageId")?);
        control.post(&approve, json!({ "by": person })).await?;
        self.advance(600).await?;
        let asked = json!({ "documents": [{ "label": "Passport" }], "send": true });
        let asked = live.post(on("document-requests"), &asked).await?;
        self.advance(600).await?;
        // Optional in the answer; without it nobody can upload here.
        if let Some(request) = asked.done()?["requestId"].as_str() {
            let upload = json!({ "item": 0, "filename": format!("{file}.pdf") });
            control.post(&format!("/document-requests/{request}/uploads"), upload).await?;
        }
        live.post(on("status"), &json!({ "status": "closed" })).await?;
        let times = json!({
            "hostUserId": person, "startsAt": "2036-03-01T09:30:00.000Z", "endsAt": "2036-03-01T10:00:00.000Z",
        });
        let booking = control.post_for("/bookings", times, "id").await?;
        control.post(&format!("/bookings/{booking}/cancel"), json!({})).await?;
        self.mail(json!({ "from": "thief@scam.example", "held": true, "risk": "phishing" })).await?;
        self.test_event(&hook).await?;
        control.delete(&format!("/webhooks/{hook}")).await?;
        let control_calls = control.take_calls();
        Ok(Arc::new(WebhookScenario { got: receiver.got(), secret, words: words.to_vec(), control_calls }))
    }

    /// Returns the events of one kind, or of all kinds when it is empty.
    pub(crate) async fn events_of(
        self: Arc<Self>,
        kind: &'static str,
        part: &'static str,
    ) -> Result<Found, RuleAbort> {
        let scenario = self.webhook_scenario().await?;
        let events = scenario.got.iter().filter(|it| kind.is_empty() || it.kind() == kind);
        let items: Vec<Value> = events
            .map(ReceivedWebhook::event)
            .map(|event| if part.is_empty() { event } else { event[part].clone() })
            .collect();
        let request = format!("webhook {}", if kind.is_empty() { "of any kind" } else { kind });
        if items.is_empty() {
            let kinds: Vec<String> = scenario.got.iter().map(ReceivedWebhook::kind).collect();
            return Err(RuleAbort::differs(request, format!("a `{kind}` event"), kinds.join(", ")));
        }
        let reply = Reply::new(request, 200, Default::default(), String::new(), false);
        Ok(Found { reply, items })
    }
}
