//! Every operation as it goes over the wire, and what surrounds it.

use crate::support::{conversation_id, key, responding};
use serde_json::{Value, json};
use shared_inbox::input::DocumentItem;
use shared_inbox::{
    AssignTo, Assigned, Certainty, ClientBuilder, DocumentKind, Reference, Scope, Status, View,
    create::Verification,
};
use wiremock::{MockServer, Request, ResponseTemplate};

/// A service that says yes to everything.
async fn service(scopes: &'static [&'static str]) -> (MockServer, ClientBuilder) {
    responding(move |request: &Request| {
        let body = match request.url.path().trim_start_matches("/api/v1") {
            "/me" => json!({"agent": {"id": "agt_1", "name": "Bot"}, "scopes": scopes, "livemode": false}),
            "/conversations/cnv_1" => json!({
                "id": "cnv_1", "subject": "Refund", "status": "open", "contact": {"name": null, "email": null},
                "mailbox": "help@example.com", "lastMessageAt": "2026-03-01T09:30:00.000Z", "assignee": null,
                "tags": [], "topic": null, "urgency": null, "risk": null, "riskReasons": [], "snoozedUntil": null,
                "timeline": [], "team": {"people": [], "agents": []}}),
            path if path.ends_with("/replies") || path.ends_with("/document-requests") => {
                json!({"messageId": "msg_1", "status": "draft", "requestId": "req_1"})
            }
            "/sandbox/inbound" => json!({"conversationId": "cnv_7", "messageId": "msg_1"}),
            "/openapi.json" => json!({"openapi": "3.1.0"}),
            "/conversations" | "/mailboxes" | "/tags" | "/documents" => json!([]),
            _ => json!({"ok": true}),
        };
        ResponseTemplate::new(200).set_body_json(body)
    })
    .await
}

const ALL: &[&str] = &["read", "write", "draft", "send", "record"];

async fn sent(server: &MockServer) -> Vec<(String, Value)> {
    let requests = server.received_requests().await.unwrap();
    let line = |request: &Request| {
        let query = request.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = request.url.path().trim_start_matches("/api/v1");
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        (format!("{} {path}{query}", request.method), body)
    };
    requests.iter().map(line).collect()
}

#[tokio::test]
async fn every_operation_sends_what_the_service_expects() {
    let (server, builder) = service(ALL).await;
    let inbox = builder.verification(Verification::Never).build().unwrap();
    let thread = inbox.conversation(&conversation_id());

    assert_eq!(inbox.me().await.unwrap().agent.name, "Bot");
    inbox.conversations().await.unwrap();
    let list = inbox.conversations().view(View::Waiting).mailbox(&"mbx_1".parse().unwrap()).search("a b&c");
    list.assigned(Assigned::Unassigned).limit(50).await.unwrap();
    inbox.conversations().view(View::All).reference("order-1042").await.unwrap();
    assert_eq!(thread.get().await.unwrap().id, conversation_id());
    assert!(thread.add_note("Refund is approved, @Anna").await.unwrap().ok);
    thread.set_status(Status::Closed).await.unwrap();
    thread.edit_tags().add("refund").remove("new").await.unwrap();
    thread.assign(AssignTo::Me).await.unwrap();
    let reply = thread
        .reply("On its way.")
        .summary("Confirms")
        .document(DocumentItem::new("Passport"))
        .await
        .unwrap();
    assert_eq!((reply.message_id.as_str(), reply.recovered()), ("msg_1", false));
    thread.reply("On its way.").and_send().await.unwrap();
    let documents = [DocumentItem::new("Passport").description("Both sides").nice_to_have()];
    let request =
        thread.request_documents(documents).message("Please").due_date("2026-04-01".parse().unwrap());
    assert_eq!(request.await.unwrap().request_id.as_ref().unwrap().as_str(), "req_1");
    inbox.mailboxes().await.unwrap();
    inbox.tags().await.unwrap();
    inbox.documents().search("acme").kind(DocumentKind::Invoice).limit(5).await.unwrap();
    let reference = Reference::parse("order-1042").unwrap();
    inbox
        .record_sent("<1@shop.example>", reference, ["kim@example.com"], "Your order")
        .text("Hi")
        .await
        .unwrap();
    let inbound = inbox.sandbox_inbound("kim@customer.test", "Hello").name("Kim").subject("Order");
    assert_eq!(inbound.on(&conversation_id()).await.unwrap().conversation_id.as_str(), "cnv_7");
    assert_eq!(inbox.openapi().await.unwrap()["openapi"], "3.1.0");

    let passport = json!({"label": "Passport", "required": true});
    let optional = json!({"label": "Passport", "description": "Both sides", "required": false});
    let expected = [
        ("GET /me", Value::Null),
        ("GET /conversations", Value::Null),
        ("GET /conversations?assigned=unassigned&limit=50&mailbox=mbx_1&q=a+b%26c&view=waiting", Value::Null),
        ("GET /conversations?reference=order-1042&view=all", Value::Null),
        ("GET /conversations/cnv_1", Value::Null),
        ("POST /conversations/cnv_1/notes", json!({"body": "Refund is approved, @Anna"})),
        ("POST /conversations/cnv_1/status", json!({"status": "closed"})),
        ("POST /conversations/cnv_1/tags", json!({"add": ["refund"], "remove": ["new"]})),
        ("POST /conversations/cnv_1/assign", json!({"to": "me"})),
        (
            "POST /conversations/cnv_1/replies",
            json!({"body": "On its way.", "send": false, "summary": "Confirms", "documents": [passport]}),
        ),
        ("POST /conversations/cnv_1/replies", json!({"body": "On its way.", "send": true})),
        (
            "POST /conversations/cnv_1/document-requests",
            json!({"documents": [optional], "message": "Please", "dueDate": "2026-04-01", "send": false}),
        ),
        ("GET /mailboxes", Value::Null),
        ("GET /tags", Value::Null),
        ("GET /documents?kind=invoice&limit=5&q=acme", Value::Null),
        (
            "POST /app-mail",
            json!({"messageId": "<1@shop.example>", "reference": "order-1042", "to": ["kim@example.com"],
                   "subject": "Your order", "text": "Hi"}),
        ),
        (
            "POST /sandbox/inbound",
            json!({"from": "kim@customer.test", "name": "Kim", "subject": "Order", "text": "Hello",
                   "conversationId": "cnv_1"}),
        ),
        ("GET /openapi.json", Value::Null),
    ];
    let sent = sent(&server).await;
    assert_eq!(sent.len(), expected.len());
    for ((line, body), (expected_line, expected_body)) in sent.iter().zip(&expected) {
        assert_eq!((line.as_str(), body), (*expected_line, expected_body));
    }
}

#[tokio::test]
async fn requests_carry_the_key_the_agent_and_json() {
    let (server, builder) = service(ALL).await;
    let inbox = builder.user_agent("refund-bot/1.4").build().unwrap();
    inbox.conversation(&conversation_id()).set_status(Status::Open).await.unwrap();
    let requests = server.received_requests().await.unwrap();
    let header = |name: &str| requests[0].headers[name].to_str().unwrap();
    assert_eq!(header("authorization"), format!("Bearer {}", key()));
    assert!(header("user-agent").starts_with("refund-bot/1.4 shared-inbox-rust/"));
    assert_eq!((header("accept"), header("content-type")), ("application/json", "application/json"));
}

#[tokio::test]
async fn a_whole_input_can_be_given_but_its_send_is_not_taken() {
    let (server, builder) = service(ALL).await;
    let inbox = builder.verification(Verification::Never).build().unwrap();
    let thread = inbox.conversation(&conversation_id());
    let mut reply = shared_inbox::input::Reply::new("Hello");
    reply.send = true;
    thread.reply("").input(reply.clone()).await.unwrap();
    thread.reply("").input(reply).and_send().await.unwrap();
    let sends: Vec<_> = sent(&server).await.into_iter().map(|(_, body)| body["send"].clone()).collect();
    assert_eq!(sends, [json!(false), json!(true)]);
}

#[tokio::test]
async fn a_raw_call_reaches_endpoints_that_are_not_known_yet() {
    let (server, builder) = service(ALL).await;
    let inbox = builder.build().unwrap();
    let call =
        inbox.raw(http::Method::PUT, "/webhooks/whk_1").query("dry run", true).body(&json!({"state": "on"}));
    let answer = call.repeatable().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.json::<Value>().unwrap(), json!({"ok": true}));
    assert_eq!(
        sent(&server).await,
        [("PUT /webhooks/whk_1?dry+run=true".to_owned(), json!({"state": "on"}))]
    );
}

#[tokio::test]
async fn scopes_are_asked_for_once() {
    let (server, builder) = service(&["read", "draft"]).await;
    let inbox = builder.build().unwrap();
    let other = inbox.clone();
    let (a, b) = tokio::join!(inbox.scopes(), other.scopes());
    assert_eq!(a.unwrap(), [Scope::Read, Scope::Draft]);
    assert_eq!(b.unwrap(), inbox.scopes().await.unwrap());
    assert_eq!(sent(&server).await.len(), 1);
}

#[tokio::test]
async fn a_call_that_the_key_cannot_make_fails_before_it_is_sent_if_wished() {
    let (server, builder) = service(&["read", "draft"]).await;
    let inbox = builder.check_scopes().build().unwrap();
    let thread = inbox.conversation(&conversation_id());
    for (error, scope) in [
        (thread.reply("Hello").and_send().await.unwrap_err(), Scope::Send),
        (thread.add_note("Hello").await.unwrap_err(), Scope::Write),
        (thread.set_status(Status::Open).await.unwrap_err(), Scope::Write),
    ] {
        assert!(error.is_forbidden());
        assert_eq!((error.scope(), error.certainty()), (Some(&scope), Certainty::NotSent));
        assert!(error.to_string().contains(&format!("`{scope}`")), "{error}");
    }
    assert_eq!(sent(&server).await.len(), 1, "GET /me and nothing else");
    thread.reply("Hello").await.unwrap();
}

#[test]
fn everything_public_can_be_shared_by_threads_and_every_future_can_move_between_them() {
    use shared_inbox::{clock::*, create::*, follow::*, once::*, rate_limit::*, raw::*, retry::*, *};
    fn shared<T: Send + Sync + 'static>() {}
    fn moves<T: Send>(_: &T) {}
    shared::<(
        Client,
        ClientBuilder,
        ConversationHandle,
        ApiKey,
        Error,
        LimitError,
        RetryPolicy,
        MemoryLimiter,
        Permit,
        TokioClock,
    )>();
    shared::<(
        Request<(), Me>,
        Request<input::ListConversations, Vec<ConversationSummary>>,
        RawRequest,
        RawResponse,
    )>();
    shared::<(CreateRequest<input::Reply>, Response<ReplyResult>, UnconfirmedCreate, Lookup)>();
    shared::<(Wait, Wait<ConversationSummary>, Change, Gap, Conversation, Problems)>();
    shared::<(FileStore, MemoryStore, OnceRecord, UnfinishedRecord, OnceStoreError)>();
    shared::<(std::sync::Arc<dyn OnceStore>, std::sync::Arc<dyn RateLimiter>, std::sync::Arc<dyn Clock>)>();
    // Compiled, not run.
    let _ = |inbox: &Client,
             thread: &ConversationHandle,
             unconfirmed: &UnconfirmedCreate,
             [one, other]: [UnfinishedRecord; 2],
             limiter: &MemoryLimiter| {
        moves(&inbox.tags().into_future());
        moves(&thread.add_note("").into_future());
        moves(&thread.wait_for_reply(&"msg_1".parse().unwrap()).into_future());
        moves(&inbox.raw(http::Method::GET, "/x").into_future());
        moves(&inbox.changes());
        moves(&inbox.changes().next());
        moves(&inbox.scopes());
        moves(&inbox.openapi());
        moves(&inbox.find_unconfirmed(unconfirmed));
        moves(&thread.add_note("").unconfirmed());
        moves(&thread.add_note("").once("").into_future());
        moves(&inbox.once_records());
        moves(&inbox.purge_once_records());
        moves(&(one.created("msg_1"), other.not_created()));
        moves(&limiter.acquire(AcquireRequest::new(Priority::Bulk)));
    };
}
