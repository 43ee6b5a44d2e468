//! What each side answered: the service's responses in the journal, the receivers' in the log of deliveries.

use axum::{http::StatusCode, response::IntoResponse, routing::post};
use serde_json::{Value, json};

use crate::kit::{Kit, text};

#[tokio::test]
async fn the_journal_keeps_the_response_that_a_client_received() {
    let kit = Kit::start().await;
    kit.live().get("/conversations?limit=x").await.error(400);
    kit.live().get("/me").await.expect(200);
    kit.api("rk_live_wrong").get("/me").await.error(401);
    let journal = kit.look("/requests").await;
    let [refused, me, unknown] = journal.as_array().expect("a list").as_slice() else { panic!("{journal}") };
    assert!(text(&refused["responseBody"]["error"]).starts_with("limit"), "{refused}");
    assert_eq!(refused["responseHeaders"]["content-type"], "application/json");
    let length = text(&refused["responseHeaders"]["content-length"]).parse::<usize>().expect("a number");
    assert_eq!(length, refused["responseBody"].to_string().len());
    assert!(me["responseBody"]["scopes"].is_array(), "{me}");
    assert!(me["responseHeaders"]["date"].is_string(), "{me}");
    assert_eq!(unknown["responseHeaders"]["www-authenticate"], "Bearer");
    let one = kit.look(&format!("/requests/{}", text(&refused["id"]))).await;
    assert_eq!(&one, refused);
}

#[tokio::test]
async fn the_journal_keeps_what_arrived_when_a_fault_changed_the_response() {
    let kit = Kit::start().await;
    for effect in [
        json!({ "status": 503, "when": "after", "headers": { "Retry-After": "2", "X-Colon": "a: b", "X-Empty": "" } }),
        json!({ "truncate": 7 }),
        json!({ "body": "<html>Bad gateway</html>" }),
        json!({ "drop": "after" }),
    ] {
        kit.act("/faults", json!({ "path": "/me", "effect": effect })).await;
    }
    for _ in 0..4 {
        let request = kit.http().get(format!("{}/me", kit.mock.base_url())).bearer_auth(kit.live().key());
        if let Ok(response) = request.send().await {
            let _ = response.bytes().await;
        }
    }
    let journal = kit.look("/requests").await;
    let headers = &journal[0]["responseHeaders"];
    assert_eq!(headers["retry-after"], "2");
    assert_eq!((&headers["x-colon"], &headers["x-empty"]), (&json!("a: b"), &json!("")));
    assert!(journal[0]["responseBody"]["error"].is_string());
    assert_eq!(text(&journal[1]["responseBody"]).len(), 7, "{}", journal[1]);
    let length: usize = text(&journal[1]["responseHeaders"]["content-length"]).parse().expect("a number");
    assert!(length > 7, "the length is that of the whole body");
    assert_eq!(journal[2]["responseBody"], "<html>Bad gateway</html>");
    assert_eq!(journal[2]["responseHeaders"]["content-type"], "text/html; charset=utf-8");
    assert_eq!((&journal[3]["responseBody"], &journal[3]["responseHeaders"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn keys_never_appear_in_a_response_of_the_journal() {
    let kit = Kit::start().await;
    let key = kit.live().key().to_owned();
    let mail =
        json!({ "to": kit.inbox().await, "from": "kim@customer.example", "text": format!("{key} leaked") });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let read = kit.live().get(&format!("/conversations/{id}")).await.expect(200);
    assert!(read.to_string().contains(&key), "the customer's words reach the app");
    let journal = kit.look("/requests").await;
    assert!(journal.to_string().contains("rk_(key) leaked"), "{journal}");
    assert!(!journal.to_string().contains(&key));
}

#[tokio::test]
async fn a_list_of_requests_can_leave_the_responses_out() {
    let kit = Kit::start().await;
    kit.live().get("/me").await.expect(200);
    let journal = kit.look("/requests?responses=false").await;
    assert_eq!((&journal[0]["responseBody"], &journal[0]["status"]), (&Value::Null, &json!(200)));
    kit.control("GET", "/requests?responses=perhaps", Value::Null).await.error(400);
}

#[tokio::test]
async fn a_request_names_the_customer_and_the_subject_of_its_conversation() {
    let kit = Kit::start().await;
    let mail = json!({ "to": kit.inbox().await, "from": "kim@customer.example", "name": "Kim Berg", "subject": "Lamp", "text": "Hello" });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    kit.live().act(&id, "notes", json!({ "body": "Seen" })).await;
    kit.live().get("/conversations/cnv_none").await.error(404);
    let journal = kit.look("/requests").await;
    let about = |it: &Value| [&it["conversationId"], &it["customer"], &it["subject"]].map(Value::clone);
    assert_eq!(about(&journal[0]), [json!(id), json!("Kim Berg"), json!("Lamp")]);
    assert_eq!(about(&journal[1]), [json!("cnv_none"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn a_delivery_keeps_what_the_receiver_answered_to_each_try() {
    let long = "x".repeat(5_000);
    let answer = |status: u16, body: String| async move {
        (StatusCode::from_u16(status).expect("a status"), [("x-reason", "no such order")], body)
            .into_response()
    };
    let secret = format!("whsec_{}", "a".repeat(40));
    let refused = format!("{{\"reason\":\"unknown order, {secret}\"}}");
    let routes = axum::Router::new()
        .route("/refuses", post(move || answer(422, refused.clone())))
        .route("/talks", post(move || answer(200, long.clone())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, routes).await });

    let kit = Kit::start().await;
    let mut tries = Vec::new();
    for path in ["refuses", "talks"] {
        let hook = kit.hook_with(json!({ "url": format!("http://{address}/{path}") })).await;
        let event = kit.send_test(&hook).await;
        let detail = kit.look(&format!("/webhooks/{}/deliveries/{event}", hook.id)).await;
        tries.push(detail["attempts"][0].clone());
        let listed = kit.deliveries(&hook).await;
        assert!(listed[0]["attempts"][0].get("responseBody").is_none(), "lists stay short");
        assert!(
            !kit.look("/state").await.to_string().contains("x-reason"),
            "the document is the world's alone"
        );
    }
    assert_eq!(tries[0]["status"], 422);
    assert_eq!(tries[0]["responseBody"], "{\"reason\":\"unknown order, whsec_(secret)\"}");
    assert_eq!(tries[0]["responseHeaders"]["x-reason"], "no such order");
    assert_eq!(tries[0]["responseCut"], false);
    assert_eq!(text(&tries[1]["responseBody"]).len(), 4_096);
    assert_eq!(tries[1]["responseCut"], true);
}

#[tokio::test]
async fn what_waits_and_what_led_to_it_name_the_customer_and_the_subject() {
    let kit = Kit::start().await;
    let mail = json!({ "to": kit.inbox().await, "from": "kim@customer.example", "name": "Kim Berg", "subject": "Lamp", "text": "It flickers." });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let draft = kit.live().act(&id, "replies", json!({ "body": "A new one\n\nis on its way." })).await;
    let waiting = kit.look("/approvals").await;
    assert_eq!((&waiting[0]["customer"], &waiting[0]["subject"]), (&json!("Kim Berg"), &json!("Lamp")));
    assert!(waiting[0]["draftedByName"].is_string(), "{waiting}");
    let line = kit.look(&format!("/traces/{}", text(&draft["messageId"]))).await;
    let step =
        |kind: &str| line["steps"].as_array().expect("steps").iter().find(|it| it["kind"] == kind).cloned();
    let request = step("request").expect("the request");
    assert_eq!((&request["method"], &request["status"]), (&json!("POST"), &json!(201)));
    assert_eq!(request["path"], format!("/api/v1/conversations/{id}/replies"));
    let message = step("message").expect("the message");
    assert_eq!(
        (&message["subject"], &message["excerpt"]),
        (&json!("Lamp"), &json!("A new one is on its way."))
    );
    let request = json!({ "documents": [{ "label": "Passport" }], "send": true });
    kit.live().act(&id, "document-requests", request).await;
    assert_eq!(kit.look("/document-requests").await[0]["customer"], "Kim Berg");
}

#[tokio::test]
async fn a_mail_of_the_outbox_is_shown_with_its_headers_and_its_source() {
    let kit = Kit::start().await;
    let mail = json!({ "to": kit.inbox().await, "from": "kim@customer.example", "subject": "Lamp\nBcc: all@customer.example", "text": "Hello" });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let reply = kit.live().act(&id, "replies", json!({ "body": "On its way.", "send": true })).await;
    let moved = kit.advance(600).await;
    assert_eq!(moved["fired"][0]["subject"], reply["messageId"], "a job that ran says what it was about");
    let sent = kit.look("/outbox/1").await;
    assert_eq!((&sent["to"], &sent["conversationId"]), (&json!("kim@customer.example"), &json!(id)));
    assert_eq!(
        sent["headers"]["Message-ID"],
        format!("<{}@shared-inbox.example>", text(&reply["messageId"]))
    );
    let source = text(&sent["source"]);
    assert!(
        source.contains("To: kim@customer.example\r\n") && source.ends_with("\r\n\r\nOn its way."),
        "{source}"
    );
    assert!(!source.contains("\nBcc:"), "{source}");
    for number in ["0", "2", "x"] {
        kit.control("GET", &format!("/outbox/{number}"), Value::Null).await.error(404);
    }
}
