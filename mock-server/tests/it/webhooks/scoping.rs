//! Who hears what: team, private, live, test, subscribed kinds, the plan.

use serde_json::{Value, json};

use super::{kit::Mock, receiver::Receiver};

#[tokio::test]
async fn team_and_private_webhooks_hear_their_own_inboxes_and_nothing_else() {
    let mock = Mock::start().await;
    let anna = mock.user().await;
    let ben = mock.post("/users", json!({ "name": "Ben" })).await["id"].as_str().unwrap().to_owned();
    for (address, owner) in [("anna@acme.example", &anna), ("ben@acme.example", &ben)] {
        mock.post("/mailboxes", json!({ "address": address, "name": address, "owner": owner })).await;
    }
    let (team, annas, bens) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    mock.hook(&team).await;
    // The owner of a team webhook hears nothing of their private inbox through it.
    let owned = Receiver::start().await;
    mock.hook_with(&owned, json!({ "owner": anna })).await;
    mock.hook_with(&annas, json!({ "scope": "private", "owner": anna })).await;
    mock.hook_with(&bens, json!({ "scope": "private", "owner": ben })).await;

    let counts = || [team.count(), owned.count(), annas.count(), bens.count()];
    let to_team = mock.mail(json!({})).await["conversationId"].clone();
    mock.settle().await;
    assert_eq!(counts(), [1, 1, 0, 0], "a team inbox");
    let to_anna = mock.mail(json!({ "to": "anna@acme.example" })).await["conversationId"].clone();
    mock.settle().await;
    assert_eq!(counts(), [1, 1, 1, 0], "Anna's private inbox");
    let to_ben = mock.mail(json!({ "to": "ben@acme.example" })).await["conversationId"].clone();
    mock.settle().await;
    assert_eq!(counts(), [1, 1, 1, 1], "Ben's private inbox");

    let conversation = |receiver: &Receiver| receiver.got()[0].json()["data"]["conversation_id"].clone();
    assert_eq!(conversation(&team), to_team);
    assert_eq!(conversation(&annas), to_anna);
    assert_eq!(conversation(&bens), to_ben);

    let booking = |conversation: Value| {
        json!({
            "hostUserId": anna, "startsAt": "2027-03-01T09:30:00Z", "endsAt": "2027-03-01T10:00:00Z",
            "conversationId": conversation,
        })
    };
    mock.post("/bookings", booking(Value::Null)).await;
    mock.settle().await;
    assert_eq!(counts(), [2, 2, 1, 1], "a booking outside a conversation is the workspace's");
    mock.post("/bookings", booking(to_anna)).await;
    mock.settle().await;
    assert_eq!(counts(), [2, 2, 2, 1], "a booking in a private conversation is not");
}

#[tokio::test]
async fn a_new_private_inbox_of_the_owner_is_heard_too() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let anna = mock.user().await;
    mock.hook_with(&receiver, json!({ "scope": "private", "owner": anna })).await;
    let mailbox = json!({ "address": "anna@acme.example", "name": "Anna", "owner": anna });
    mock.post("/mailboxes", mailbox).await;
    mock.mail(json!({ "to": "anna@acme.example" })).await;
    mock.settle().await;
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn live_events_go_to_live_webhooks_and_sandbox_events_to_test_webhooks() {
    let (mock, live, test) = (Mock::start().await, Receiver::start().await, Receiver::start().await);
    let live_hook = mock.hook(&live).await;
    let test_hook = mock.hook_with(&test, json!({ "livemode": false })).await;
    mock.mail(json!({})).await;
    mock.settle().await;
    assert_eq!((live.count(), test.count()), (1, 0));
    let mail = json!({ "from": "someone@shop.test", "text": "Hello" });
    mock.test("POST", "/sandbox/inbound", mail).await;
    mock.settle().await;
    assert_eq!((live.count(), test.count()), (1, 1));
    assert_eq!(live.got()[0].json()["livemode"], true);
    assert_eq!(test.got()[0].json()["livemode"], false);
    // A test event says which of the two its webhook is.
    mock.send_test(&live_hook).await;
    mock.send_test(&test_hook).await;
    assert_eq!(live.of_kind("webhook.test")[0]["livemode"], true);
    assert_eq!(test.of_kind("webhook.test")[0]["livemode"], false);
}

#[tokio::test]
async fn only_subscribed_kinds_are_sent_and_a_test_event_always() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let events = json!(["client.replied", "booking.created"]);
    let hook = mock.hook_with(&receiver, json!({ "events": events })).await;
    let conversation = mock.conversation().await;
    mock.mail(json!({ "conversationId": conversation })).await;
    mock.live("POST", &format!("/conversations/{conversation}/assign"), json!({ "to": "me" })).await;
    mock.settle().await;
    assert_eq!(receiver.kinds(), ["client.replied"]);
    mock.send_test(&hook).await;
    assert_eq!(receiver.kinds(), ["client.replied", "webhook.test"]);
    assert_eq!(mock.get("/webhooks").await[0]["events"], events);
}

#[tokio::test]
async fn a_test_event_goes_to_its_webhook_alone() {
    let (mock, one, other) = (Mock::start().await, Receiver::start().await, Receiver::start().await);
    let hook = mock.hook(&one).await;
    mock.hook(&other).await;
    mock.send_test(&hook).await;
    assert_eq!((one.count(), other.count()), (1, 0));
}

#[tokio::test]
async fn on_the_free_plan_nothing_is_sent() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.mail(json!({})).await;
    mock.settle().await;
    assert_eq!(receiver.count(), 1);
    mock.control("PUT", "/plan", Some(json!({ "plan": "free" }))).await;
    mock.mail(json!({})).await;
    mock.advance(super::kit::hours(48)).await;
    assert_eq!(receiver.count(), 1, "neither a new event nor one that was queued");
    let log = mock.deliveries(&hook).await;
    assert_eq!(log.len(), 1);
    assert_eq!((&log[0]["outcome"], &log[0]["nextTryAt"]), (&json!("failed"), &json!(null)));
    let (status, answer) = mock.control("POST", &format!("/webhooks/{}/test", hook.id), None).await;
    assert_eq!(status, 409);
    assert!(answer["error"].as_str().unwrap().contains("plan"));

    mock.control("PUT", "/plan", Some(json!({ "plan": "pro" }))).await;
    mock.mail(json!({})).await;
    mock.settle().await;
    assert_eq!(receiver.count(), 2);
}

#[tokio::test]
async fn a_webhook_that_makes_no_sense_is_refused_with_every_problem() {
    let mock = Mock::start().await;
    let anna = mock.user().await;
    let post = async |body: Value| {
        let (status, answer) = mock.control("POST", "/webhooks", Some(body)).await;
        (status, answer["error"].as_str().unwrap_or_default().to_owned())
    };
    let good = "http://127.0.0.1:9/hook";
    let (status, error) =
        post(json!({ "url": good, "livemode": true, "scope": "private", "events": ["moon.rose"] })).await;
    assert_eq!(status, 400);
    assert!(error.starts_with("owner: ") && error.contains("; events[0]: "), "{error}");
    assert_eq!(post(json!({ "url": good, "livemode": true, "scope": "team", "events": [] })).await.0, 400);
    assert_eq!(post(json!({ "url": good, "livemode": true, "scope": "everyone" })).await.0, 400);
    assert_eq!(post(json!({ "url": good, "scope": "team" })).await.0, 400);
    assert_eq!(post(json!({ "livemode": true, "scope": "team" })).await.0, 400);
    let (status, _) =
        post(json!({ "url": good, "livemode": true, "scope": "private", "owner": "usr_nobody" })).await;
    assert_eq!(status, 404);
    let long = format!("{good}/{}", "x".repeat(2_100));
    assert_eq!(post(json!({ "url": long, "livemode": true, "scope": "team" })).await.0, 400);
    assert_eq!(mock.get("/webhooks").await, json!([]));
    let private = json!({ "url": good, "livemode": true, "scope": "private", "owner": anna });
    assert_eq!(post(private).await.0, 201);
}
