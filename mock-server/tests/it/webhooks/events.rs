//! The ten kinds of event: when each happens, and exactly what is in it.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use super::{
    kit::{Mock, minutes, seconds},
    receiver::Receiver,
};

/// The fields of `data` besides `summary` and `url`.
fn fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "ask.completed" => &["ask_id", "kind", "conversation_id"],
        "client.replied" => &["conversation_id", "message_id", "mailbox_id", "secure"],
        "conversation.assigned" => &["conversation_id", "assignee", "assigned_by"],
        "turn.changed" => &["conversation_id", "turn", "previous", "assignee"],
        "draft.approved" => &["conversation_id", "message_id", "drafted_by", "approved_by", "edited"],
        "message.sent" => &["conversation_id", "message_id", "mailbox_id", "author", "secure"],
        "booking.created" | "booking.cancelled" => {
            &["booking_id", "booking_type_id", "host_user_id", "conversation_id", "starts_at", "ends_at"]
        }
        "scout.held" => &["conversation_id"],
        "webhook.test" => &["endpoint_id"],
        _ => panic!("an event of an unknown kind: {kind}"),
    }
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The envelope and the set of fields; the values are looked at where the event is made.
fn check_shape(event: &Value, optional: &[&str]) {
    let envelope = ["id", "type", "version", "created_at", "workspace", "livemode", "data"];
    assert_eq!(keys(event), envelope.into_iter().collect(), "{event}");
    assert!(event["id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!(event["version"], 1);
    assert!(event["workspace"].as_str().unwrap().starts_with("wsp_"));
    let kind = event["type"].as_str().unwrap();
    let mut expected: BTreeSet<&str> = fields(kind).iter().copied().chain(["summary"]).collect();
    let data = &event["data"];
    expected.extend(optional.iter().filter(|name| data.get(**name).is_some()));
    if data["conversation_id"].is_string() {
        expected.insert("url");
        let (url, id) = (data["url"].as_str().unwrap(), data["conversation_id"].as_str().unwrap());
        assert!(url.starts_with("https://") && url.ends_with(id), "{url}");
    }
    assert_eq!(keys(data), expected, "{kind}");
    let summary = data["summary"].as_str().unwrap();
    assert!(!summary.is_empty() && summary.chars().count() <= 200 && !summary.contains('\n'), "{summary}");
}

struct Scene {
    mock: Mock,
    receiver: Receiver,
    conversation: String,
    mailbox: String,
    user: String,
    agent: String,
    seen: usize,
}

impl Scene {
    /// A conversation that a customer began before the webhook was there.
    async fn new() -> Self {
        let (mock, receiver) = (Mock::start().await, Receiver::start().await);
        let conversation = mock.conversation().await;
        let mailboxes = mock.get("/mailboxes").await;
        let help = mailboxes.as_array().unwrap().iter().find(|it| it["sandbox"] == false).unwrap();
        let mailbox = help["id"].as_str().unwrap().to_owned();
        let user = mock.user().await;
        let agent = mock.live("GET", "/me", Value::Null).await["agent"]["id"].as_str().unwrap().to_owned();
        mock.hook(&receiver).await;
        Self { mock, receiver, conversation, mailbox, user, agent, seen: 0 }
    }

    fn path(&self, rest: &str) -> String {
        format!("/conversations/{}/{rest}", self.conversation)
    }

    /// The events that have come in since the last look, each checked for its shape.
    async fn fresh(&mut self) -> Vec<Value> {
        self.mock.settle().await;
        let got = self.receiver.got();
        let fresh: Vec<Value> = got[self.seen..].iter().map(super::receiver::Got::json).collect();
        self.seen = got.len();
        let now = self.mock.now().await;
        for (event, request) in fresh.iter().zip(&got[got.len() - fresh.len()..]) {
            check_shape(event, &["reference"]);
            self.mock.kit.document().check_event(event);
            assert_eq!(request.id(), event["id"]);
            assert_eq!(event["livemode"], true);
            assert!(seconds(&event["created_at"]) <= now);
        }
        fresh
    }

    /// The only event that came in, without what every event has.
    async fn one(&mut self, kind: &str) -> Value {
        let mut fresh = self.fresh().await;
        assert_eq!(fresh.iter().map(|it| it["type"].as_str().unwrap()).collect::<Vec<_>>(), [kind]);
        let mut data = fresh.remove(0)["data"].take();
        data.as_object_mut().unwrap().retain(|key, _| key != "summary" && key != "url");
        data
    }
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn kinds(events: &[Value]) -> BTreeSet<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn client_replied_comes_for_mail_that_joins_a_conversation_and_not_for_the_first_or_an_automatic_one() {
    let mut it = Scene::new().await;
    let mail = it.mock.mail(json!({ "conversationId": it.conversation, "secure": true })).await;
    let events = it.fresh().await;
    let replied = of_kind(&events, "client.replied");
    assert_eq!(replied.len(), 1);
    let data = &replied[0]["data"];
    assert_eq!(data["conversation_id"], it.conversation.as_str());
    assert_eq!(data["message_id"], mail["messageId"]);
    assert_eq!(data["mailbox_id"], it.mailbox.as_str());
    assert_eq!(data["secure"], true);
    assert!(data.get("reference").is_none());

    it.mock.mail(json!({ "conversationId": it.conversation, "autoReply": true })).await;
    assert!(of_kind(&it.fresh().await, "client.replied").is_empty(), "an out-of-office reply");
    it.mock.mail(json!({ "from": "new@customer.example" })).await;
    assert!(of_kind(&it.fresh().await, "client.replied").is_empty(), "the first mail of a conversation");
}

#[tokio::test]
async fn client_replied_carries_the_reference_of_app_mail() {
    let mut it = Scene::new().await;
    let recorded = json!({
        "messageId": "<order-1042-c0ffee@shop.example>", "reference": "Order-1042", "to": ["vera@customer.example"],
        "subject": "Your order",
    });
    it.mock.live("POST", "/app-mail", recorded).await;
    it.mock.mail(json!({ "inReplyTo": "<order-1042-c0ffee@shop.example>" })).await;
    let events = it.fresh().await;
    let replied = of_kind(&events, "client.replied");
    assert_eq!(replied.len(), 1, "a reply to recorded app mail starts a conversation and is one");
    assert_eq!(replied[0]["data"]["reference"], "order-1042");
}

#[tokio::test]
async fn conversation_assigned_says_who_has_it_and_who_gave_it() {
    let mut it = Scene::new().await;
    it.mock.live("POST", &it.path("assign"), json!({ "to": format!("user:{}", it.user) })).await;
    let data = it.one("conversation.assigned").await;
    assert_eq!(
        data,
        json!({
            "conversation_id": it.conversation,
            "assignee": { "type": "user", "id": it.user, "name": "Anna Berg" },
            "assigned_by": { "type": "agent", "id": it.agent, "name": data["assigned_by"]["name"] },
        })
    );
    it.mock.post(&it.path("assign"), json!({ "to": "none", "by": it.user })).await;
    let data = it.one("conversation.assigned").await;
    assert_eq!(data["assignee"], json!(null));
    assert_eq!(data["assigned_by"], json!({ "type": "user", "id": it.user, "name": "Anna Berg" }));
}

#[tokio::test]
async fn turn_changed_follows_the_conversation_and_is_silent_when_the_turn_stays() {
    let mut it = Scene::new().await;
    it.mock.live("POST", &it.path("assign"), json!({ "to": "me" })).await;
    it.fresh().await;
    it.mock.live("POST", &it.path("status"), json!({ "status": "closed" })).await;
    let data = it.one("turn.changed").await;
    assert_eq!(data["conversation_id"], it.conversation.as_str());
    assert_eq!((&data["turn"], &data["previous"]), (&json!("done"), &json!("ours")));
    assert_eq!((&data["assignee"]["type"], &data["assignee"]["id"]), (&json!("agent"), &json!(it.agent)));

    it.mock.live("POST", &it.path("status"), json!({ "status": "closed" })).await;
    assert!(it.fresh().await.is_empty(), "the same status again changes nothing");
    it.mock.live("POST", &it.path("status"), json!({ "status": "open" })).await;
    let data = it.one("turn.changed").await;
    assert_eq!((&data["turn"], &data["previous"]), (&json!("ours"), &json!("done")));

    it.mock.mail(json!({ "from": "new@customer.example" })).await;
    let data = it.one("turn.changed").await;
    assert_eq!((&data["turn"], &data["previous"]), (&json!("ours"), &json!(null)), "the first turn of all");
    assert_eq!(data["assignee"], json!(null));
}

#[tokio::test]
async fn draft_approved_then_message_sent_when_the_undo_window_has_passed() {
    let mut it = Scene::new().await;
    let draft = it.mock.live("POST", &it.path("replies"), json!({ "body": "It is on its way." })).await;
    let message = draft["messageId"].as_str().unwrap().to_owned();
    assert!(it.fresh().await.is_empty(), "a draft is no event");
    it.mock
        .post(&format!("/messages/{message}/approve"), json!({ "by": it.user, "body": "It is here." }))
        .await;
    let data = it.one("draft.approved").await;
    assert_eq!(
        data,
        json!({
            "conversation_id": it.conversation, "message_id": message,
            "drafted_by": { "type": "agent", "id": it.agent },
            "approved_by": { "type": "user", "id": it.user, "name": "Anna Berg" },
            "edited": true,
        })
    );

    let left = it.mock.now().await + 600.0;
    it.mock.advance(Duration::from_secs(599)).await;
    assert!(it.fresh().await.is_empty(), "still in the undo window");
    it.mock.advance(Duration::from_secs(1)).await;
    let events = it.fresh().await;
    assert_eq!(kinds(&events), ["message.sent", "turn.changed"].into());
    let sent = of_kind(&events, "message.sent")[0];
    assert_eq!(seconds(&sent["created_at"]), left);
    let mut data = sent["data"].clone();
    data.as_object_mut().unwrap().retain(|key, _| key != "summary" && key != "url");
    assert_eq!(
        data,
        json!({
            "conversation_id": it.conversation, "message_id": message, "mailbox_id": it.mailbox,
            "author": { "type": "agent", "id": it.agent }, "secure": false,
        })
    );
    let turn = of_kind(&events, "turn.changed")[0];
    assert_eq!((&turn["data"]["turn"], &turn["data"]["previous"]), (&json!("theirs"), &json!("ours")));
}

#[tokio::test]
async fn an_unchanged_draft_is_approved_without_edited_and_a_stopped_send_sends_nothing() {
    let mut it = Scene::new().await;
    let draft = it.mock.live("POST", &it.path("replies"), json!({ "body": "It is on its way." })).await;
    let message = draft["messageId"].as_str().unwrap().to_owned();
    it.mock.post(&format!("/messages/{message}/approve"), json!({ "by": it.user })).await;
    assert_eq!(it.one("draft.approved").await["edited"], false);
    it.mock.post(&format!("/messages/{message}/stop"), json!({})).await;
    it.mock.advance(minutes(30)).await;
    assert!(it.fresh().await.is_empty());
}

#[tokio::test]
async fn ask_completed_comes_with_the_last_required_document() {
    let mut it = Scene::new().await;
    let asked = json!({
        "documents": [{ "label": "Passport" }, { "label": "Photo", "required": false }, { "label": "Bill" }],
        "send": true,
    });
    let asked = it.mock.live("POST", &it.path("document-requests"), asked).await;
    let request = asked["requestId"].as_str().unwrap().to_owned();
    it.mock.advance(minutes(10)).await;
    it.fresh().await;
    let upload = |item: usize| json!({ "item": item, "filename": format!("scan-{item}.pdf") });
    it.mock.post(&format!("/document-requests/{request}/uploads"), upload(0)).await;
    assert!(of_kind(&it.fresh().await, "ask.completed").is_empty());
    it.mock.post(&format!("/document-requests/{request}/uploads"), upload(2)).await;
    let events = it.fresh().await;
    let done = of_kind(&events, "ask.completed");
    assert_eq!(done.len(), 1);
    let data = &done[0]["data"];
    assert_eq!((&data["ask_id"], &data["kind"]), (&json!(request), &json!("documents")));
    assert_eq!(data["conversation_id"], it.conversation.as_str());
}

#[tokio::test]
async fn bookings_are_told_when_made_and_when_cancelled() {
    let mut it = Scene::new().await;
    let (starts, ends) = ("2027-03-01T09:30:00.000Z", "2027-03-01T10:00:00.000Z");
    let booking = json!({ "hostUserId": it.user, "startsAt": starts, "endsAt": ends });
    let made = it.mock.post("/bookings", booking).await;
    let user = it.user.clone();
    let expected = |data: &Value| {
        json!({
            "booking_id": made["id"], "booking_type_id": data["booking_type_id"], "host_user_id": user,
            "conversation_id": null, "starts_at": starts, "ends_at": ends,
        })
    };
    let data = it.one("booking.created").await;
    assert!(data["booking_type_id"].as_str().unwrap().starts_with("bkt_"));
    assert_eq!(data, expected(&data));
    it.mock.post(&format!("/bookings/{}/cancel", made["id"].as_str().unwrap()), json!({})).await;
    let data = it.one("booking.cancelled").await;
    assert_eq!(data, expected(&data));

    let inside = json!({ "hostUserId": it.user, "startsAt": starts, "endsAt": ends, "conversationId": it.conversation });
    it.mock.post("/bookings", inside).await;
    assert_eq!(it.one("booking.created").await["conversation_id"], it.conversation.as_str());
}

#[tokio::test]
async fn scout_held_comes_for_mail_that_was_held() {
    let mut it = Scene::new().await;
    let mail = it.mock.mail(json!({ "from": "thief@scam.example", "held": true, "risk": "phishing" })).await;
    let events = it.fresh().await;
    let held = of_kind(&events, "scout.held");
    assert_eq!(held.len(), 1);
    assert_eq!(held[0]["data"]["conversation_id"], mail["conversationId"]);
}

#[tokio::test]
async fn a_test_event_names_its_webhook() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    let event = mock.send_test(&hook).await;
    let got = receiver.got()[0].json();
    check_shape(&got, &[]);
    assert_eq!((&got["id"], &got["type"]), (&json!(event), &json!("webhook.test")));
    assert_eq!(got["data"]["endpoint_id"], hook.id.as_str());
    assert_eq!(seconds(&got["created_at"]), mock.now().await);
}

#[tokio::test]
async fn the_sandbox_tells_of_simulated_mail_and_not_of_bounces() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    mock.hook_with(&receiver, json!({ "livemode": false })).await;
    let inbound = |from: &str| json!({ "from": from, "text": "Hello" });
    let bounced = mock.test("POST", "/sandbox/inbound", inbound("bounce@shop.test")).await;
    let answered = mock.test("POST", "/sandbox/inbound", inbound("reply@shop.test")).await;
    mock.settle().await;
    for conversation in [&bounced, &answered] {
        let path = format!("/conversations/{}/replies", conversation["conversationId"].as_str().unwrap());
        mock.test("POST", &path, json!({ "body": "Thank you", "send": true })).await;
    }
    mock.advance(minutes(1)).await;
    let sent = receiver.of_kind("message.sent");
    assert_eq!(sent.len(), 1, "the bounced one was not sent");
    assert_eq!(sent[0]["data"]["conversation_id"], answered["conversationId"]);
    assert_eq!(sent[0]["livemode"], false);
    let replied = receiver.of_kind("client.replied");
    assert_eq!(replied.len(), 1);
    assert_eq!(replied[0]["data"]["conversation_id"], answered["conversationId"]);
}

/// Every text that people, customers and helpers can put in, marked; none may come out.
#[tokio::test]
async fn no_event_holds_a_word_of_a_mail_a_note_or_a_file_name() {
    const MARK: &str = "zebra";
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    mock.hook(&receiver).await;
    let user = mock.user().await;
    let marked = |more: Value| {
        let mut mail = json!({
            "from": format!("{MARK}@customer.example"), "name": format!("{MARK} name"), "subject": format!("{MARK} subject"),
            "text": format!("{MARK} text"), "topic": format!("{MARK} topic"), "risk": format!("{MARK} risk"),
            "riskReasons": [format!("{MARK} reason")],
            "attachments": [{ "filename": format!("{MARK}.pdf"), "contentType": "application/pdf", "size": 9 }],
        });
        mail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        mail
    };
    let mail = mock.mail(marked(json!({ "held": true }))).await;
    let id = mail["conversationId"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/conversations/{id}/{rest}");
    mock.mail(marked(json!({ "conversationId": id }))).await;
    mock.live("POST", &path("notes"), json!({ "body": format!("{MARK} note") })).await;
    mock.live("POST", &path("tags"), json!({ "add": [format!("{MARK} tag")] })).await;
    mock.live("POST", &path("assign"), json!({ "to": "me" })).await;
    let reply = json!({ "body": format!("{MARK} reply"), "summary": format!("{MARK} summary") });
    let draft = mock.live("POST", &path("replies"), reply).await;
    let message = draft["messageId"].as_str().unwrap();
    mock.post(
        &format!("/messages/{message}/approve"),
        json!({ "by": user, "body": format!("{MARK} edited") }),
    )
    .await;
    let asked = json!({
        "documents": [{ "label": format!("{MARK} label"), "description": format!("{MARK} description") }],
        "message": format!("{MARK} message"), "send": true,
    });
    let asked = mock.live("POST", &path("document-requests"), asked).await;
    mock.advance(minutes(10)).await;
    let upload = json!({
        "item": 0, "filename": format!("{MARK}-upload.pdf"), "kind": "invoice",
        "fields": { "vendor": format!("{MARK} vendor"), "reference": format!("{MARK} ref") },
    });
    mock.post(&format!("/document-requests/{}/uploads", asked["requestId"].as_str().unwrap()), upload).await;
    let booking = json!({
        "hostUserId": user, "startsAt": "2027-03-01T09:30:00Z", "endsAt": "2027-03-01T10:00:00Z", "conversationId": id,
    });
    let booking = mock.post("/bookings", booking).await;
    mock.post(&format!("/bookings/{}/cancel", booking["id"].as_str().unwrap()), json!({})).await;
    mock.live("POST", &path("status"), json!({ "status": "closed" })).await;
    mock.settle().await;

    let events: Vec<Value> = receiver.got().iter().map(super::receiver::Got::json).collect();
    let all = [
        "ask.completed",
        "booking.cancelled",
        "booking.created",
        "client.replied",
        "conversation.assigned",
        "draft.approved",
        "message.sent",
        "scout.held",
        "turn.changed",
    ];
    assert_eq!(kinds(&events), all.into(), "all but the test event were there to be looked at");
    for request in receiver.got() {
        check_shape(&request.json(), &[]);
        let text = String::from_utf8(request.body.to_vec()).unwrap().to_lowercase();
        assert!(!text.contains(MARK), "{text}");
        for value in request.headers.values() {
            assert!(!value.to_str().unwrap().to_lowercase().contains(MARK));
        }
    }
}
