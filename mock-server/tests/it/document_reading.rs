//! What the document-reading helper finds, and files that a person puts into the library; as REST and MCP
//! show it.

use serde_json::{Value, json};

use crate::{
    kit::{Kit, text},
    mcp::{Era, Mcp},
};

/// The documents that a search finds, the same through REST and MCP.
async fn found(kit: &Kit, query: Value) -> Vec<Value> {
    let fields = query.as_object().expect("fields");
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
    let rest = kit.live().get(&format!("/documents?{}", pairs.join("&"))).await.expect(200);
    let called = Mcp::new(kit, &kit.live()).tool(Era::Modern, "search_documents", query).await;
    assert_eq!(called["structuredContent"]["items"], rest);
    rest.as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_mail_brings_files_with_all_that_the_helper_reads_in_them() {
    let kit = Kit::start().await;
    let fields = json!({ "vendor": "Lumen", "amount": 12.5, "currency": "EUR", "date": null, "dueDate": "2026-04-01", "reference": "R-77" });
    let mail = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "Here", "attachments": [
        { "filename": "scan.pdf", "contentType": "application/pdf", "size": 9, "title": "Lamp invoice", "kind": "invoice", "fields": fields },
        { "filename": "plain.pdf", "contentType": "application/pdf", "size": 9 },
    ] });
    let received = kit.act("/inbound", mail.clone()).await;
    let invoices = found(&kit, json!({ "kind": "invoice" })).await;
    assert_eq!(invoices.len(), 1);
    assert_eq!(
        (&invoices[0]["title"], &invoices[0]["filename"]),
        (&json!("Lamp invoice"), &json!("scan.pdf"))
    );
    assert_eq!((&invoices[0]["fields"], &invoices[0]["id"]), (&fields, &received["documentIds"][0]));
    assert_eq!(found(&kit, json!({ "q": "lumen" })).await, invoices, "words in its fields find it");
    let plain = found(&kit, json!({ "q": "plain" })).await;
    assert_eq!((&plain[0]["kind"], &plain[0]["fields"]), (&Value::Null, &json!({})));
    let message = kit.live().timeline(&text(&received["conversationId"])).await.remove(0);
    let attached = json!({ "filename": "scan.pdf", "contentType": "application/pdf", "size": 9 });
    assert_eq!(message["attachments"][0], attached, "the message has the file and nothing else");

    let mut unknown = mail;
    unknown["attachments"][1]["kind"] = json!("novel");
    let refused = kit.control("POST", "/inbound", unknown).await.error(400);
    assert!(refused.starts_with("attachments[1].kind"), "{refused}");
}

#[tokio::test]
async fn the_helper_reads_a_document_after_it_was_filed() {
    let kit = Kit::start().await;
    let mail = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "x",
        "attachments": [{ "filename": "scan.pdf", "contentType": "application/pdf", "size": 9 }] });
    let id = text(&kit.act("/inbound", mail).await["documentIds"][0]);
    let read = async |body: Value| kit.control("POST", &format!("/documents/{id}/reading"), body).await;
    read(json!({ "title": "March", "kind": "receipt", "fields": { "vendor": "Lumen" } })).await.expect(200);
    let receipts = found(&kit, json!({ "kind": "receipt", "q": "lumen" })).await;
    assert_eq!((&receipts[0]["title"], receipts.len()), (&json!("March"), 1));

    read(json!({ "kind": "statement" })).await.expect(200);
    assert_eq!(found(&kit, json!({ "kind": "receipt" })).await, Vec::<Value>::new());
    let statement = found(&kit, json!({ "kind": "statement" })).await.remove(0);
    assert_eq!(statement["fields"], json!({ "vendor": "Lumen" }), "what is left out stays");

    read(json!({ "kind": null, "fields": {} })).await.expect(200);
    assert_eq!(
        found(&kit, json!({ "q": "lumen" })).await,
        Vec::<Value>::new(),
        "what was read before is gone"
    );
    let unread = found(&kit, json!({ "q": "march" })).await.remove(0);
    assert_eq!((&unread["kind"], &unread["fields"]), (&Value::Null, &json!({})));

    assert!(read(json!({ "kind": "novel" })).await.error(400).starts_with("kind"));
    kit.control("POST", "/documents/doc_none/reading", json!({})).await.error(404);
    // A world that is written and read again finds the same.
    let state = kit.look("/state").await;
    kit.control("PUT", "/state", state).await.expect(200);
    assert_eq!(found(&kit, json!({ "q": "march" })).await, [unread]);
}

#[tokio::test]
async fn nothing_reads_documents_in_the_sandbox() {
    let kit = Kit::start().await;
    let id = kit.sandbox_mail("docs@customer.test").await;
    kit.sandbox().act(&id, "replies", json!({ "body": "Send it", "send": true })).await;
    kit.advance(60).await;
    let filed = kit.sandbox().get("/documents").await.expect(200)[0].clone();
    assert_eq!((&filed["kind"], &filed["fields"]), (&Value::Null, &json!({})));
    let path = format!("/documents/{}/reading", text(&filed["id"]));
    kit.control("POST", &path, json!({ "kind": "invoice" })).await.error(409);
    assert_eq!(kit.sandbox().get("/documents").await.expect(200)[0], filed);
}

#[tokio::test]
async fn a_person_files_a_document_without_a_conversation_for_those_who_see_the_inbox() {
    let kit = Kit::start().await;
    let inboxes = kit.list("/mailboxes").await;
    let inbox = |sandbox: bool| inboxes.iter().find(|it| it["sandbox"] == sandbox).expect("an inbox").clone();
    let anna = kit.look("/users").await[0]["id"].clone();
    let private =
        kit.act("/mailboxes", json!({ "address": "anna@acme.example", "name": "Anna", "owner": anna })).await;
    let file = |mailbox: &Value, filename: &str| json!({ "mailbox": mailbox["id"], "filename": filename, "kind": "contract" });
    let filed = kit.act("/documents", file(&inbox(false), "terms.pdf")).await;
    kit.act("/documents", file(&private, "salary.pdf")).await;
    let contracts = found(&kit, json!({ "kind": "contract" })).await;
    assert_eq!((&contracts[0]["id"], &contracts[0]["conversationId"]), (&filed["id"], &Value::Null));
    assert_eq!((contracts.len(), &contracts[0]["title"]), (1, &json!("terms.pdf")), "nobody else's");
    assert_eq!(kit.sandbox().get("/documents").await.expect(200), json!([]));

    for (wrong, named) in [(file(&inbox(true), "a.pdf"), "mailbox"), (file(&inbox(false), " "), "filename")] {
        assert!(kit.control("POST", "/documents", wrong).await.error(400).starts_with(named), "{named}");
    }
    kit.control("POST", "/documents", json!({ "mailbox": "mbx_none", "filename": "a.pdf" })).await.error(404);
}
