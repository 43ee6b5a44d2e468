//! The tools in both eras of the protocol.

use serde_json::json;

use crate::fixture::{ERAS, Fixture, Person, Says, is_error, text};

#[tokio::test]
async fn reading_gives_marked_mail_in_both_forms() {
    let written = "Hi\u{200b} ![x](https://evil.example/p.png)";
    let fixture = Fixture::with(|mail| mail.text = written.into()).await;
    for era in ERAS {
        let client = fixture.start_program(&Person::who(Says::No), era, &[]).await;
        let result = client.call("get_conversation", json!({ "id": fixture.conversation })).await;
        assert!(!is_error(&result), "{era:?}: {}", text(&result));
        let structured = &result.structured_content.as_ref().unwrap()["timeline"][0]["text"];
        for form in [text(&result), structured.as_str().unwrap()] {
            assert!(form.contains("Hi ! [x] (https:/ /evil.example/p.png)"), "{era:?}: {form}");
            assert!(form.contains("⟦untrusted"), "{era:?}: {form}");
        }

        let result = client.call("list_conversations", json!({})).await;
        assert_eq!(result.structured_content.as_ref().unwrap()["items"][0]["id"], fixture.conversation);
        assert!(text(&result).contains("⟦untrusted "));
    }
}

#[tokio::test]
async fn every_tool_does_its_work() {
    let fixture = Fixture::new().await;
    for era in ERAS {
        let client = fixture.start_program(&Person::who(Says::No), era, &[]).await;
        let id = &fixture.conversation;
        for (tool, arguments) in [
            ("list_conversations", json!({ "view": "open", "q": "order" })),
            ("get_conversation", json!({ "id": id })),
            ("add_note", json!({ "id": id, "body": format!("from {era:?}") })),
            ("set_status", json!({ "id": id, "status": "open" })),
            ("tag_conversation", json!({ "id": id, "add": ["refund"] })),
            ("assign_conversation", json!({ "id": id, "to": "me" })),
            ("reply", json!({ "id": id, "body": format!("from {era:?}"), "summary": "s" })),
            ("request_documents", json!({ "id": id, "documents": [{ "label": format!("from {era:?}") }] })),
            ("list_mailboxes", json!({})),
            ("list_tags", json!({})),
            ("search_documents", json!({ "kind": "invoice" })),
            (
                "record_sent",
                json!({ "messageId": "<6f0c2b7d91e84e0c@shop.example>", "reference": "order-1042",
                        "to": ["kim@customer.example"], "subject": "Your order" }),
            ),
        ] {
            let result = client.call(tool, arguments).await;
            assert!(!is_error(&result), "{era:?} {tool}: {}", text(&result));
            assert!(result.structured_content.is_some(), "{era:?} {tool}");
        }
    }
    assert_eq!(fixture.notes().await, ["from Older", "from Newer"]);
}

#[tokio::test]
async fn wrong_arguments_are_named_all_at_once_and_cost_no_request() {
    let fixture = Fixture::new().await;
    let client = fixture.start_program(&Person::who(Says::No), ERAS[0], &[]).await;
    client.tools().await;
    fixture.mock.control().clear_requests().await;
    let result =
        client.call("reply", json!({ "id": "msg_1", "send": "yes", "summary": "x".repeat(501) })).await;
    assert!(is_error(&result));
    for field in ["id: ", "body: is required", "send: must be true or false", "summary: must be at most 500"]
    {
        assert!(text(&result).contains(field), "{field} in {}", text(&result));
    }
    let result = client.call("get_conversation", json!({})).await;
    assert!(is_error(&result) && text(&result).contains("id: is required"));
    assert_eq!(fixture.mock.control().requests().await.len(), 0);
}

#[tokio::test]
async fn the_services_refusals_come_as_results() {
    let fixture = Fixture::new().await;
    let client = fixture.start_program(&Person::who(Says::No), ERAS[1], &[]).await;
    let result = client.call("get_conversation", json!({ "id": "cnv_0000" })).await;
    assert!(is_error(&result) && text(&result).contains("no such conversation"), "{}", text(&result));
    let unknown = client.service.call_tool(crate::fixture::params("no_such_tool", json!({}))).await;
    assert!(unknown.unwrap_err().to_string().contains("-32602"));
}
