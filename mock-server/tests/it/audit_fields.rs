//! Every answer of the service and of the control API, field by field: what is there, what is null, what is left out.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kit::{Kit, text};

/// The names of an object's fields, in order.
#[track_caller]
fn fields(value: &Value) -> String {
    let names: BTreeSet<&str> = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"))
        .keys()
        .map(String::as_str)
        .collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// The object has all these fields; the control API may have more.
#[track_caller]
fn has(value: &Value, names: &str) {
    let there = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    names.split(' ').for_each(|name| assert!(there.contains_key(name), "{name} is missing: {value}"));
}

const READ: &str = "assignee contact id lastMessageAt mailbox risk riskReasons snoozedUntil status subject tags team \
                    timeline topic urgency";

#[tokio::test]
async fn a_read_has_exactly_its_fields_and_so_has_every_item() {
    let kit = Kit::start().await;
    let to = kit.inbox().await;
    let mail = json!({
        "to": to, "from": "vera@customer.example", "name": "Vera", "subject": "Parcel", "text": "Where is it?",
        "attachments": [{ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 }],
        "topic": "delivery", "urgency": "high", "risk": "phishing", "riskReasons": ["a", "b", "c", "d"],
    });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let live = kit.live();
    live.post(&format!("/conversations/{id}/notes"), json!({ "body": "Look" })).await.expect(201);
    live.post(&format!("/conversations/{id}/status"), json!({ "status": "waiting" })).await.expect(200);
    live.post(&format!("/conversations/{id}/replies"), json!({ "body": "Soon" })).await.expect(201);
    let read = live.conversation(&id).await;
    assert_eq!(fields(&read), READ);
    assert_eq!(read["contact"], json!({ "name": "Vera", "email": "vera@customer.example" }));
    assert_eq!(
        (&read["topic"], &read["urgency"], &read["risk"]),
        (&json!("delivery"), &json!("high"), &json!("phishing"))
    );
    assert_eq!(read["riskReasons"], json!(["a", "b", "c"]), "three at the most");
    assert_eq!((&read["assignee"], &read["snoozedUntil"]), (&Value::Null, &Value::Null));

    let [came, note, event, reply] = read["timeline"].as_array().expect("a timeline").as_slice() else {
        panic!("{}", read["timeline"])
    };
    let message = "at attachments direction from id status text type";
    assert_eq!((fields(came).as_str(), fields(reply).as_str()), (message, message));
    assert_eq!((&came["direction"], &came["status"]), (&json!("inbound"), &Value::Null));
    assert_eq!(
        came["attachments"],
        json!([{ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 }])
    );
    assert_eq!(came["from"], json!({ "name": "Vera", "email": "vera@customer.example" }));
    assert_eq!((&reply["direction"], &reply["status"]), (&json!("outbound"), &json!("draft")));
    assert_eq!(reply["from"]["email"], json!(to));
    assert_eq!(fields(note), "at author body id type");
    assert_eq!(fields(event), "actor at data event type");
    assert_eq!(event["data"], json!({ "from": "open", "to": "waiting" }));

    let team = &read["team"];
    assert_eq!(fields(team), "agents people");
    for (kind, prefix) in [("people", "user:usr_"), ("agents", "agent:agt_")] {
        for member in team[kind].as_array().expect("a list") {
            assert_eq!(fields(member), "id name");
            assert!(text(&member["id"]).starts_with(prefix), "{member}");
        }
    }
}

#[tokio::test]
async fn lists_have_items_with_exactly_their_fields() {
    let kit = Kit::start().await;
    let live = kit.live();
    let to = kit.inbox().await;
    let mail = json!({
        "to": to, "from": "vera@customer.example", "text": "Hi",
        "attachments": [{ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 }],
    });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    live.post(&format!("/conversations/{id}/tags"), json!({ "add": ["vip"] })).await.expect(200);
    live.post(&format!("/conversations/{id}/assign"), json!({ "to": "me" })).await.expect(200);
    let me = live.get("/me").await.expect(200);
    assert_eq!((fields(&me).as_str(), fields(&me["agent"]).as_str()), ("agent livemode scopes", "id name"));
    assert_eq!(me["scopes"], json!(["read", "write", "draft", "send", "record"]));
    assert_eq!(
        (&me["livemode"], &kit.sandbox().get("/me").await.expect(200)["livemode"]),
        (&json!(true), &json!(false))
    );
    let first = |list: Value| list.as_array().expect("a list")[0].clone();
    let summary = first(live.get("/conversations").await.expect(200));
    assert_eq!(
        summary["assignee"],
        json!({ "id": me["agent"]["id"], "name": me["agent"]["name"], "type": "agent" })
    );
    assert_eq!(fields(&first(live.get("/mailboxes").await.expect(200))), "address id name open");
    let tag = first(live.get("/tags").await.expect(200));
    assert_eq!(
        (fields(&tag).as_str(), &tag["name"], &tag["count"]),
        ("count id name", &json!("vip"), &json!(1))
    );
    let document = first(live.get("/documents").await.expect(200));
    assert_eq!(fields(&document), "conversationId createdAt fields filename id kind title");
    assert_eq!(
        (&document["kind"], &document["fields"], &document["conversationId"]),
        (&Value::Null, &json!({}), &json!(id))
    );
}

#[tokio::test]
async fn what_is_made_answers_201_and_what_is_changed_200_each_with_its_fields() {
    let kit = Kit::start().await;
    let live = kit.live();
    let id = kit.mail("vera@customer.example", "Hi").await;
    let ok = json!({ "ok": true });
    let path = |rest: &str| format!("/conversations/{id}/{rest}");
    for (rest, body, status) in [
        ("notes", json!({ "body": "x" }), 201),
        ("status", json!({ "status": "closed" }), 200),
        ("tags", json!({ "add": ["a"] }), 200),
        ("assign", json!({ "to": "none" }), 200),
    ] {
        assert_eq!(live.post(&path(rest), body).await.expect(status), ok, "{rest}");
    }
    let sent = json!({ "messageId": "a@x", "reference": "A-1", "to": ["a@x.example"], "subject": "s" });
    assert_eq!(live.post("/app-mail", sent).await.expect(201), ok);
    let documents = json!([{ "label": "Passport" }]);
    for (rest, body, names, state) in [
        ("replies", json!({ "body": "x" }), "messageId note status", "draft"),
        ("replies", json!({ "body": "x", "send": true }), "messageId note sendsAt status", "scheduled"),
        (
            "replies",
            json!({ "body": "x", "documents": documents }),
            "messageId note requestId status",
            "draft",
        ),
        ("document-requests", json!({ "documents": documents }), "messageId note requestId status", "draft"),
        (
            "document-requests",
            json!({ "documents": documents, "send": true }),
            "messageId note requestId sendsAt status",
            "scheduled",
        ),
    ] {
        let made = live.post(&path(rest), body).await.expect(201);
        assert_eq!((fields(&made).as_str(), made["status"].as_str()), (names, Some(state)), "{rest}");
        assert!(text(&made["messageId"]).starts_with("msg_"));
        assert!(made["requestId"].as_str().is_none_or(|request| request.starts_with("req_")));
    }
    let simulated =
        kit.sandbox().post("/sandbox/inbound", json!({ "from": "a@x.test", "text": "x" })).await.expect(201);
    assert_eq!(fields(&simulated), "conversationId messageId");
}

#[tokio::test]
async fn reference_and_app_sent_are_there_only_where_there_is_one() {
    let kit = Kit::start().await;
    let live = kit.live();
    let plain = kit.mail("vera@customer.example", "Hi").await;
    let tagged = kit.inbox().await.replace('@', "+Order-7@");
    let mail = json!({ "to": tagged, "from": "olga@customer.example", "text": "About my order" });
    let referred = text(&kit.act("/inbound", mail).await["conversationId"]);
    let sent = json!({
        "messageId": "<m1@app.example>", "reference": "Inv-8", "to": ["carl@customer.example"], "subject": "Invoice",
    });
    live.post("/app-mail", sent).await.expect(201);
    let answer = json!({
        "to": kit.inbox().await, "from": "carl@customer.example", "text": "Paid", "inReplyTo": "<m1@app.example>",
    });
    let answered = text(&kit.act("/inbound", answer).await["conversationId"]);

    assert_eq!(fields(&live.conversation(&plain).await), READ);
    let read = live.conversation(&referred).await;
    assert_eq!(read["reference"], "order-7", "lower case");
    assert!(read.get("appSent").is_none());
    let read = live.conversation(&answered).await;
    assert_eq!(read["reference"], "inv-8");
    has(&read["appSent"], "messageId reference to subject");
    let list = live.get("/conversations").await.expect(200);
    for summary in list.as_array().expect("a list") {
        let expected = if summary["id"] == json!(plain) { None } else { Some(()) };
        assert_eq!(summary.get("reference").map(drop), expected, "{summary}");
    }
    for spelling in ["order-7", "ORDER-7"] {
        assert_eq!(live.listed(&format!("?view=all&reference={spelling}")).await, [referred.as_str()]);
    }
}

#[tokio::test]
async fn answers_of_the_control_api_have_the_fields_that_programs_count_on() {
    let kit = Kit::start().await;
    let user = kit.act("/users", json!({ "name": "Ben" })).await;
    has(&user, "id");
    let owner = text(&user["id"]);
    has(
        &kit.act("/mailboxes", json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner })).await,
        "id address name open",
    );
    has(
        &kit.act("/keys", json!({ "name": "K", "scopes": ["send"], "livemode": true, "createdBy": owner }))
            .await,
        "key agentId",
    );
    let first = |list: Value| list.as_array().expect("a list")[0].clone();
    let last = |list: Value| list.as_array().expect("a list").last().expect("an item").clone();
    has(&first(kit.look("/users").await), "id name");
    has(&first(kit.look("/mailboxes").await), "id address name open owner sandbox");
    let key = last(kit.look("/keys").await);
    has(&key, "agentId name scopes livemode createdBy revoked");
    assert_eq!(
        (&key["scopes"], &key["createdBy"]),
        (&json!(["read", "send"]), &json!(owner)),
        "read comes with any other"
    );

    let came = kit
        .act("/inbound", json!({ "to": kit.inbox().await, "from": "v@customer.example", "text": "Hi" }))
        .await;
    has(&came, "conversationId messageId documentIds created");
    let id = text(&came["conversationId"]);
    let reply = json!({ "body": "Soon", "summary": "Says soon" });
    let draft = kit.live().post(&format!("/conversations/{id}/replies"), reply).await.expect(201);
    let waiting = first(kit.look("/approvals").await);
    has(&waiting, "messageId conversationId draftedBy summary text at");
    assert_eq!((&waiting["summary"], &waiting["text"]), (&json!("Says soon"), &json!("Soon")));
    has(
        &kit.act(&format!("/messages/{}/approve", text(&draft["messageId"])), json!({})).await,
        "status sendsAt",
    );
    has(&first(kit.look("/jobs").await), "dueAt job subject");
    let moved = kit.advance(600).await;
    has(&moved, "now fired");
    has(&first(moved["fired"].clone()), "at job");
    let mail = first(kit.look("/outbox").await);
    has(&mail, "at kind messageId to subject text outcome");
    assert_eq!(
        (&mail["kind"], &mail["outcome"], &mail["to"]),
        (&json!("reply"), &json!("sent"), &json!("v@customer.example"))
    );
    has(
        &last(kit.look("/requests").await),
        "at transport method path query tool agentId status durationMs requestBody",
    );
    assert_eq!(fields(&kit.look("/clock").await), "mode now");
    has(&kit.look("/health").await, "status version");

    let hook = json!({ "url": "http://127.0.0.1:9/in", "livemode": true, "scope": "team" });
    let hook = kit.act("/webhooks", hook).await;
    has(&hook, "id secret");
    let hook = text(&hook["id"]);
    has(&first(kit.look("/webhooks").await), "id url livemode scope owner events state");
    let tested = kit.control("POST", &format!("/webhooks/{hook}/test"), Value::Null).await.expect(202);
    has(&tested, "eventId");
    kit.advance(0).await;
    let delivery = first(kit.look(&format!("/webhooks/{hook}/deliveries")).await);
    has(&delivery, "eventId type createdAt outcome nextTryAt tries");
    has(&first(delivery["tries"].clone()), "at status error durationMs");
    assert_eq!(first(delivery["tries"].clone())["status"], Value::Null, "nobody listens there");
    let again = format!("/webhooks/{hook}/deliveries/{}/redeliver", text(&tested["eventId"]));
    assert_eq!(kit.control("POST", &again, Value::Null).await.status, 202);
    has(&kit.act(&format!("/webhooks/{hook}/rotate"), Value::Null).await, "secret");
    let rule = kit.act("/faults", json!({ "effect": { "drop": "after" }, "path": "/tags" })).await;
    has(&rule, "id");
    has(&first(kit.look("/faults").await), "id path skip times probability effect fired");
    let world = kit.control("POST", "/worlds", json!({ "empty": true })).await.expect(201);
    has(&world, "base_url mcp_url control_url console_url keys");
    has(&world["keys"], "live test");
}
