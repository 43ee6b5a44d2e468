//! A service of a few lines that puts the same words into every field of every answer.

use std::{sync::Arc, time::Duration};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::AbortHandle};

/// Every answer of the service.
pub(super) struct Service {
    /// Wherever a customer can influence what stands there.
    pub(super) words: String,
    /// Wherever the team or the service itself chooses the words.
    pub(super) team: String,
}

impl Service {
    /// The same words wherever there is room for words.
    pub(super) fn saying(words: String) -> Self {
        Self { team: words.clone(), words }
    }

    pub(super) fn conversation(&self) -> Value {
        let (w, t, at) = (&self.words, &self.team, "2026-03-01T09:30:00.000Z");
        let mut all = self.summary();
        all["riskReasons"] = json!([w, w, w, w]);
        all["snoozedUntil"] = at.into();
        all["appSent"] = json!({ "subject": w, t: { t: [w] } });
        all["team"] =
            json!({ "people": [{ "id": t, "name": t }], "agents": [{ "id": "agent:agt_1", "name": t }] });
        all["timeline"] = json!([
            { "type": "message", "id": "msg_1", "at": at, "direction": t, "status": t, "text": w,
              "from": { "name": w, "email": w }, "attachments": [{ "filename": w, "contentType": w, "size": 1 }] },
            { "type": "note", "id": "not_1", "at": at, "author": t, "body": w },
            { "type": "event", "at": at, "actor": w, "event": t, "data": { t: w, "list": [w, { t: w }], "assignee": { "name": t } } },
            { "type": t, t: w },
        ]);
        all
    }

    pub(super) fn summary(&self) -> Value {
        let (w, t) = (&self.words, &self.team);
        json!({ "id": "cnv_1", "subject": w, "snippet": w, "status": t, "contact": { "name": w, "email": w }, "mailbox": t,
                "lastMessageAt": "2026-03-01T09:30:00.000Z", "messageCount": 1,
                "assignee": { "id": "usr_1", "name": t, "type": t }, "tags": [t, t], "topic": w, "urgency": w, "risk": t,
                "reference": w })
    }

    pub(super) fn document(&self) -> Value {
        let w = &self.words;
        json!({ "id": "doc_1", "title": w, "filename": w, "kind": w, "conversationId": "cnv_1",
                "createdAt": "2026-03-01T09:30:00.000Z",
                "fields": { "vendor": w, "amount": 1.5, "currency": w, "date": w, "dueDate": w, "reference": w } })
    }

    pub(super) fn mailbox(&self) -> Value {
        let (w, t) = (&self.words, &self.team);
        json!({ "id": "mbx_1", "name": t, "address": t, "open": 1, t: w, "more": { t: [w] } })
    }

    pub(super) fn tag(&self) -> Value {
        json!({ "id": "tag_1", "name": self.team, "count": 1 })
    }

    /// Status and body for a request.
    fn answer(&self, method: &str, path: &str) -> (u16, Value) {
        let w = &self.team;
        match (method, path.trim_start_matches("/api/v1")) {
            ("GET", "/me") => {
                let scopes = ["read", "write", "draft", "send", "record"];
                (200, json!({ "agent": { "id": "agt_1", "name": w }, "scopes": scopes, "livemode": true }))
            }
            ("GET", "/conversations") => (200, json!([self.summary()])),
            ("GET", "/conversations/cnv_1") => (200, self.conversation()),
            ("GET", "/mailboxes") => (200, json!([self.mailbox()])),
            ("GET", "/tags") => (200, json!([self.tag(), { "id": "tag_2", "name": "fine", "count": 1 }])),
            ("GET", "/documents") => (200, json!([self.document()])),
            ("POST", "/conversations/cnv_1/replies" | "/conversations/cnv_1/document-requests") => {
                (201, json!({ "messageId": "msg_9", "status": w, "note": w }))
            }
            ("POST", "/conversations/cnv_1/notes") => (201, json!({ "ok": true })),
            _ => (400, json!({ "error": w })),
        }
    }

    /// Serves it on a port of this machine. Gives a client for it, and what ends it.
    pub(super) async fn start(self) -> (shared_inbox::Client, AbortHandle) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let service = Arc::new(self);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = Arc::clone(&service);
                let respond = service_fn(move |request: Request<Incoming>| {
                    let (status, body) = service.answer(request.method().as_str(), request.uri().path());
                    let response =
                        Response::builder().status(status).header("content-type", "application/json");
                    std::future::ready(response.body(body.to_string()))
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), respond));
            }
        });
        let key = format!("rk_live_{}", "a".repeat(48));
        let client =
            shared_inbox::Client::builder(url, key).visibility_timeout(Duration::ZERO).build().unwrap();
        (client, serving.abort_handle())
    }
}
