//! What several checks look at, made once.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    check::kept::{MagicSend, MagicSends, Rich, Scene, inbound, timeline},
    check::session::{Session, text},
    early_end::EarlyEnd,
    rule::Found,
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
    pub(crate) async fn rich(self: &Arc<Self>) -> Result<Arc<Rich>, EarlyEnd> {
        self.rich.get_or_init(|| self.make_rich()).await.clone()
    }

    async fn make_rich(&self) -> Result<Arc<Rich>, EarlyEnd> {
        if self.reads_only() {
            return self.find_rich().await;
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
        Ok(Arc::new(Rich { list, read: self.read(&id).await? }))
    }

    /// Looks for a conversation that is there already.
    async fn find_rich(&self) -> Result<Arc<Rich>, EarlyEnd> {
        for view in ["open", "waiting", "closed", "snoozed"] {
            let list = self.api().get(format!("/conversations?view={view}&limit=100")).await?;
            let longest = list.list()?.iter().max_by_key(|it| it["messageCount"].as_u64()).cloned();
            if let Some(id) = longest.as_ref().and_then(|it| it["id"].as_str()) {
                return Ok(Arc::new(Rich { read: self.read(id).await?, list }));
            }
        }
        Err(EarlyEnd::not_tried("there is no conversation to look at"))
    }

    /// Returns the entries of a list of conversations.
    pub(crate) async fn summaries(self: Arc<Self>) -> Result<Found, EarlyEnd> {
        let rich = self.rich().await?;
        Ok(Found { items: rich.list.list()?.clone(), reply: rich.list.clone() })
    }

    /// Returns a conversation as it is read.
    pub(crate) async fn whole(self: Arc<Self>) -> Result<Found, EarlyEnd> {
        let rich = self.rich().await?;
        Ok(Found { items: vec![rich.read.done()?.clone()], reply: rich.read.clone() })
    }

    /// Returns the items of a timeline that are of this type.
    pub(crate) async fn items(self: Arc<Self>, kind: &'static str) -> Result<Found, EarlyEnd> {
        let rich = self.rich().await?;
        let items = timeline(&rich.read)?.into_iter().filter(|it| it["type"] == kind).collect();
        Ok(Found { items, reply: rich.read.clone() })
    }

    /// Returns the entries of a list at this path.
    pub(crate) async fn listed(self: Arc<Self>, path: &'static str) -> Result<Found, EarlyEnd> {
        if !self.reads_only() {
            self.rich().await?;
        }
        let reply = self.api().get(path).await?;
        Ok(Found { items: reply.list()?.clone(), reply })
    }

    /// Returns the documents that there are; in the sandbox, one that was sent in.
    pub(crate) async fn documents(self: Arc<Self>) -> Result<Found, EarlyEnd> {
        if !self.reads_only() && self.may_send().await? {
            self.magic().await?;
        }
        self.listed("/documents?limit=100").await
    }

    async fn may_send(&self) -> Result<bool, EarlyEnd> {
        let me = self.api().get("/me").await?;
        Ok(me.done()?["scopes"].as_array().is_none_or(|scopes| scopes.contains(&json!("send"))))
    }

    pub(crate) async fn magic(self: &Arc<Self>) -> Result<Arc<MagicSends>, EarlyEnd> {
        self.magic.get_or_init(|| self.make_magic()).await.clone()
    }

    async fn make_magic(&self) -> Result<Arc<MagicSends>, EarlyEnd> {
        let mut sends = Vec::new();
        for local in LOCALS {
            let address = self.address(local);
            let conversation = self.conversation_with(&address).await?;
            let sent = self.act(&conversation, "replies", &json!({ "body": "Hello", "send": true })).await?;
            let message = sent.text_at("/messageId")?;
            let read = sent.clone();
            sends.push(MagicSend { local, conversation, message, address, sent, read });
        }
        // Five seconds until it leaves, about five more until somebody writes back.
        self.wait(Duration::from_secs(15)).await;
        for send in &mut sends {
            let answers = matches!(send.local, "reply+case7" | "docs" | "ooo");
            for _ in 0..6 {
                send.read = self.read(&send.conversation).await?;
                let settled = !answers || inbound(&send.read)? > 1;
                if settled && !matches!(send.status()?.as_str(), "scheduled" | "sending") {
                    break;
                }
                self.wait(Duration::from_secs(5)).await;
            }
        }
        Ok(Arc::new(MagicSends { sends }))
    }

    pub(crate) async fn scene(self: &Arc<Self>) -> Result<Arc<Scene>, EarlyEnd> {
        self.scene.get_or_init(|| self.make_scene()).await.clone()
    }

    /// Lets everything happen that a webhook tells of.
    async fn make_scene(&self) -> Result<Arc<Scene>, EarlyEnd> {
        let (control, live) = (self.control()?, self.live()?);
        let receiver = Receiver::start(Answer::Status(200)).await?;
        let (hook, secret) = self.hook(&receiver, json!({})).await?;
        let person = self.person().await?;
        let words: Vec<String> = ["mail", "note", "reply", "file"].iter().map(|it| self.word(it)).collect();
        let mail = self.mail(json!({ "subject": words[0], "text": words[0] })).await?;
        let id = text(&mail["conversationId"]);
        let attached =
            json!([{ "filename": format!("{}.pdf", words[3]), "contentType": "application/pdf", "size": 7 }]);
        self.mail(json!({ "conversationId": id, "text": words[0], "attachments": attached })).await?;
        let on = |rest: &str| format!("/conversations/{id}/{rest}");
        live.post(on("notes"), &json!({ "body": words[1] })).await?;
        live.post(on("assign"), &json!({ "to": "me" })).await?;
        live.post(on("assign"), &json!({ "to": "none" })).await?;
        let draft = live.post(on("replies"), &json!({ "body": words[2], "summary": words[2] })).await?;
        let approve = format!("/messages/{}/approve", draft.text_at("/messageId")?);
        control.post(&approve, json!({ "by": person })).await?;
        self.advance(600).await?;
        let asked = json!({ "documents": [{ "label": "Passport" }], "send": true });
        let asked = live.post(on("document-requests"), &asked).await?;
        self.advance(600).await?;
        // Optional in the answer; without it nobody can upload here.
        if let Some(request) = asked.done()?["requestId"].as_str() {
            let upload = json!({ "item": 0, "filename": format!("{}.pdf", words[3]) });
            control.post(&format!("/document-requests/{request}/uploads"), upload).await?;
        }
        live.post(on("status"), &json!({ "status": "closed" })).await?;
        let times = json!({
            "hostUserId": person, "startsAt": "2036-03-01T09:30:00.000Z", "endsAt": "2036-03-01T10:00:00.000Z",
        });
        let booking = text(&control.post("/bookings", times).await?["id"]);
        control.post(&format!("/bookings/{booking}/cancel"), json!({})).await?;
        self.mail(json!({ "from": "thief@scam.example", "held": true, "risk": "phishing" })).await?;
        self.test_event(&hook).await?;
        control.delete(&format!("/webhooks/{hook}")).await?;
        Ok(Arc::new(Scene { got: receiver.got(), secret, words }))
    }

    /// Returns the events of one kind, or of all kinds when it is empty.
    pub(crate) async fn events_of(
        self: Arc<Self>,
        kind: &'static str,
        part: &'static str,
    ) -> Result<Found, EarlyEnd> {
        let scene = self.scene().await?;
        let events = scene.got.iter().filter(|it| kind.is_empty() || it.kind() == kind);
        let items: Vec<Value> = events
            .map(ReceivedWebhook::event)
            .map(|event| if part.is_empty() { event } else { event[part].clone() })
            .collect();
        let request = format!("webhook {}", if kind.is_empty() { "of any kind" } else { kind });
        if items.is_empty() {
            let kinds: Vec<String> = scene.got.iter().map(ReceivedWebhook::kind).collect();
            return Err(EarlyEnd::differs(request, format!("a `{kind}` event"), kinds.join(", ")));
        }
        let reply = Reply::new(request, 200, Default::default(), String::new(), false);
        Ok(Found { reply, items })
    }
}
