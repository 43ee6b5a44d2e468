//! What the people and the helpers of the app do, by the control API; in both worlds, as REST and MCP show
//! it.

use serde_json::{Value, json};

use crate::{
    kit::{Api, Kit, text},
    mcp::{Era, Mcp},
};

/// A conversation in each world, with the key that sees it.
async fn both(kit: &Kit) -> [(Api, String); 2] {
    let live = kit.mail("kim@example.com", "Hello").await;
    [(kit.live(), live), (kit.sandbox(), kit.sandbox_mail("kim@customer.test").await)]
}

async fn post(kit: &Kit, conversation: &str, what: &str, body: Value) -> crate::kit::Reply {
    kit.control("POST", &format!("/conversations/{conversation}/{what}"), body).await
}

/// A webhook that nothing listens to: what it would be told stands in the world's document.
async fn listen(kit: &Kit) {
    for livemode in [true, false] {
        kit.act("/webhooks", json!({ "url": "http://127.0.0.1:9/", "livemode": livemode, "scope": "team" }))
            .await;
    }
}

/// The data of the events of one kind so far.
async fn event_data(kit: &Kit, kind: &str) -> Vec<Value> {
    let state = kit.look("/state").await;
    let log = state["webhooks"]["log"].as_object().expect("a log");
    let mut numbered: Vec<(u64, Value)> = log
        .iter()
        .filter(|(_, it)| it["event"]["type"] == kind)
        .map(|(number, it)| (number.parse().expect("a number"), it["event"]["data"].clone()))
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, data)| data).collect()
}

#[tokio::test]
async fn a_person_notes_tags_and_sets_the_status_under_their_name() {
    let kit = Kit::start().await;
    listen(&kit).await;
    let anna = kit.look("/users").await[0].clone();
    for (api, id) in both(&kit).await {
        let noted = post(&kit, &id, "notes", json!({ "body": "Called them, @Tom" })).await.expect(201);
        assert!(text(&noted["noteId"]).starts_with("not_"));
        let twice = json!({ "add": ["vip", "vip"], "remove": ["none"], "by": anna["id"] });
        post(&kit, &id, "tags", twice).await.expect(200);
        post(&kit, &id, "tags", json!({ "remove": ["vip"], "by": "system" })).await.expect(200);
        post(&kit, &id, "status", json!({ "status": "closed" })).await.expect(200);
        post(&kit, &id, "status", json!({ "status": "closed" })).await.expect(200);
        let timeline = api.timeline(&id).await;
        let name = text(&anna["name"]);
        assert_eq!((&timeline[1]["author"], &timeline[1]["id"]), (&json!(name), &noted["noteId"]));
        assert_eq!((&timeline[2]["event"], &timeline[2]["actor"]), (&json!("tags"), &json!(name)));
        assert_eq!(timeline[2]["data"], json!({ "added": ["vip"], "removed": [] }));
        assert_eq!(
            (&timeline[3]["data"]["removed"], &timeline[3]["actor"]),
            (&json!(["vip"]), &json!("Shared inbox"))
        );
        assert_eq!(timeline[4]["data"], json!({ "from": "open", "to": "closed" }));
        assert_eq!(timeline.len(), 5, "the same status again records nothing");
        let seen = Mcp::new(&kit, &api).tool(Era::Modern, "get_conversation", json!({ "id": id })).await;
        assert_eq!(seen["structuredContent"]["timeline"], json!(timeline), "a tool shows the same");
    }
    let turns = event_data(&kit, "turn.changed").await;
    assert_eq!(turns.iter().filter(|data| data["turn"] == "done").count(), 2, "{turns:?}");
}

#[tokio::test]
async fn a_person_who_replies_is_the_author_and_the_mail_goes_out_after_the_undo_window() {
    let kit = Kit::start().await;
    listen(&kit).await;
    let anna = kit.look("/users").await[0].clone();
    for ((api, id), window) in both(&kit).await.into_iter().zip([600, 5]) {
        let reply =
            post(&kit, &id, "replies", json!({ "body": "On its way.", "secure": true })).await.expect(201);
        assert_eq!(reply["status"], "scheduled");
        assert_eq!(api.timeline(&id).await[1]["from"]["name"], anna["name"]);
        kit.advance(window - 1).await;
        assert_eq!(api.timeline(&id).await[1]["status"], "scheduled");
        kit.advance(1).await;
        assert_eq!(api.timeline(&id).await[1]["status"], "sent");
        let sent = event_data(&kit, "message.sent").await.pop().expect("it was told");
        assert_eq!(sent["author"], json!({ "type": "user", "id": anna["id"] }));
        assert_eq!((&sent["secure"], &sent["message_id"]), (&json!(true), &reply["messageId"]));
    }
    let id = kit.mail("kim@example.com", "Hello").await;
    let asks = json!({ "body": "We need:", "documents": [{ "label": "Passport" }] });
    let reply = post(&kit, &id, "replies", asks).await.expect(201);
    let requests = kit.look("/document-requests").await;
    assert_eq!((&requests[0]["id"], &requests[0]["sentAt"]), (&reply["requestId"], &Value::Null));
    assert_eq!(
        (&requests[0]["conversationId"], &requests[0]["items"][0]["label"]),
        (&json!(id), &json!("Passport"))
    );
    kit.advance(600).await;
    let requests = kit.look("/document-requests").await;
    assert!(requests[0]["sentAt"].is_string() && text(&requests[0]["link"]).starts_with("https://"));
}

/// `drafted_by`, `approved_by` and `author` in every form that their types can hold.
#[tokio::test]
async fn drafts_of_people_agents_and_helpers_are_told_apart() {
    let kit = Kit::start().await;
    listen(&kit).await;
    let anna = text(&kit.look("/users").await[0]["id"]);
    let (robot, agent) = kit.key("Robot", &["draft"]).await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let drafts = [
        post(&kit, &id, "drafts", json!({ "body": "By a helper", "summary": "Answers" })).await.expect(201),
        post(&kit, &id, "replies", json!({ "body": "By a person", "send": false })).await.expect(201),
        robot.act(&id, "replies", json!({ "body": "By an agent" })).await,
        post(&kit, &id, "replies", json!({ "body": "By the service", "send": false, "by": "system" }))
            .await
            .expect(201),
    ];
    let queue = kit.list("/approvals").await;
    let drafted: Vec<&Value> = queue.iter().map(|it| &it["draftedBy"]).collect();
    assert_eq!(drafted, [&Value::Null, &json!(anna), &json!(agent), &Value::Null]);
    assert_eq!(queue[0]["summary"], "Answers");

    let approvers = [json!(anna), json!("system"), json!(agent), json!(anna)];
    for (draft, by) in drafts.iter().zip(approvers) {
        assert_eq!(draft["status"], "draft");
        let path = format!("/messages/{}/approve", text(&draft["messageId"]));
        kit.control("POST", &path, json!({ "by": by })).await.expect(200);
    }
    kit.advance(600).await;
    let approved = event_data(&kit, "draft.approved").await;
    let by: Vec<&Value> = approved.iter().map(|data| &data["drafted_by"]).collect();
    let nobody = json!({ "type": null, "id": null });
    assert_eq!(
        by,
        [&nobody, &json!({ "type": "user", "id": anna }), &json!({ "type": "agent", "id": agent }), &nobody]
    );
    let by: Vec<(&Value, &Value)> =
        approved.iter().map(|data| (&data["approved_by"]["type"], &data["approved_by"]["id"])).collect();
    assert_eq!(by[1], (&json!("system"), &Value::Null));
    assert_eq!((by[0].0, by[2].0), (&json!("user"), &json!("agent")));
    let sent = event_data(&kit, "message.sent").await;
    let authors: Vec<&Value> = sent.iter().map(|data| &data["author"]).collect();
    let helper = json!({ "type": "agent", "id": null });
    let (person, robot) = (json!({ "type": "user", "id": anna }), json!({ "type": "agent", "id": agent }));
    assert_eq!(authors, [&helper, &person, &robot, &Value::Null]);
}

#[tokio::test]
async fn the_service_itself_a_person_and_an_agent_assign() {
    let kit = Kit::start().await;
    listen(&kit).await;
    let anna = kit.look("/users").await[0].clone();
    let (_, agent) = kit.key("Robot", &["write"]).await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let to_anna = json!(format!("user:{}", text(&anna["id"])));
    let person = json!({ "id": anna["id"], "name": anna["name"], "type": "user" });
    for (to, by, assignee) in [
        (&to_anna, json!("system"), &person),
        (&json!("none"), json!(agent), &Value::Null),
        (&json!("me"), anna["id"].clone(), &person),
    ] {
        post(&kit, &id, "assign", json!({ "to": to, "by": by })).await.expect(200);
        assert_eq!(kit.live().conversation(&id).await["assignee"], *assignee, "{to} by {by}");
    }
    let by: Vec<Value> =
        event_data(&kit, "conversation.assigned").await.iter().map(|it| it["assigned_by"].clone()).collect();
    assert_eq!(by[0], json!({ "type": "system", "id": null, "name": "Shared inbox" }));
    assert_eq!((&by[1]["type"], &by[1]["id"]), (&json!("agent"), &json!(agent)));
    assert_eq!((&by[2]["type"], &by[2]["id"]), (&json!("user"), &anna["id"]));
    let actors: Vec<Value> =
        kit.live().timeline(&id).await[1..].iter().map(|it| it["actor"].clone()).collect();
    assert_eq!(actors, [json!("Shared inbox"), json!("Robot"), anna["name"].clone()]);
    let given: Vec<Value> =
        kit.live().timeline(&id).await[1..].iter().map(|it| it["data"]["assignee"].clone()).collect();
    assert_eq!(given, [person.clone(), Value::Null, person.clone()]);
    let error = post(&kit, &id, "assign", json!({ "to": "me", "by": "system" })).await.error(400);
    assert!(error.starts_with("to: "), "{error}");
    post(&kit, &id, "assign", json!({ "to": "user:usr_none" })).await.error(400);
    post(&kit, "cnv_none", "assign", json!({ "to": "none" })).await.error(404);
}

#[tokio::test]
async fn the_sorting_helper_sets_and_clears_what_it_finds_and_holds_scams() {
    let kit = Kit::start().await;
    listen(&kit).await;
    let [(live, id), (_, simulated)] = both(&kit).await;
    let found =
        json!({ "topic": "billing", "urgency": "high", "risk": "phishing", "riskReasons": ["New sender"] });
    post(&kit, &id, "sorting", found).await.expect(200);
    let read = live.conversation(&id).await;
    assert_eq!(
        (&read["topic"], &read["urgency"], &read["risk"]),
        (&json!("billing"), &json!("high"), &json!("phishing"))
    );
    post(&kit, &id, "sorting", json!({ "topic": null, "risk": null, "held": true })).await.expect(200);
    let read = live.conversation(&id).await;
    assert_eq!(
        (&read["topic"], &read["urgency"], &read["risk"]),
        (&Value::Null, &json!("high"), &Value::Null)
    );
    assert_eq!(read["riskReasons"], json!([]));
    assert_eq!(event_data(&kit, "scout.held").await.len(), 1);
    let error = post(&kit, &id, "sorting", json!({ "urgency": "soon" })).await.error(400);
    assert!(error.starts_with("urgency: "), "{error}");
    post(&kit, &id, "sorting", json!({ "riskReasons": ["a", "b", "c", "d"] })).await.error(400);
    for (what, body) in [("sorting", json!({ "topic": "x" })), ("drafts", json!({ "body": "x" }))] {
        let error = post(&kit, &simulated, what, body).await.error(409);
        assert!(error.contains("sandbox"), "{error}");
    }
}

#[tokio::test]
async fn a_draft_that_is_thrown_away_is_gone_with_all_that_belongs_to_it() {
    let kit = Kit::start().await;
    for (api, id) in both(&kit).await {
        let asks = json!({ "body": "Send us zebras", "documents": [{ "label": "Passport" }] });
        let draft = api.act(&id, "replies", asks).await;
        let kept = api.act(&id, "replies", json!({ "body": "Another one" })).await;
        let discard = async |message: &Value| {
            let path = format!("/messages/{}/discard", text(&message["messageId"]));
            kit.control("POST", &path, json!({})).await
        };
        discard(&draft).await.expect(200);
        let timeline = api.timeline(&id).await;
        let kinds: Vec<&Value> = timeline.iter().map(|it| &it["type"]).collect();
        assert_eq!(kinds, ["message", "message", "event"]);
        assert_eq!(
            (&timeline[1]["id"], &timeline[2]["event"]),
            (&kept["messageId"], &json!("draft-discarded"))
        );
        assert_eq!(timeline[2]["data"]["messageId"], draft["messageId"]);
        assert_eq!(api.listed("?q=zebras").await, [] as [&str; 0]);
        let list = api.get("/conversations").await.expect(200);
        assert_eq!((&list[0]["messageCount"], &list[0]["snippet"]), (&json!(2), &json!("Another one")));
        assert_eq!(kit.look("/document-requests").await, json!([]));
        discard(&draft).await.error(404);
        // What is left can still be found, and the document still fits together.
        let state = kit.look("/state").await;
        kit.control("PUT", "/state", state).await.expect(200);
        let sent = api.act(&id, "replies", json!({ "body": "For real", "send": true })).await;
        discard(&sent).await.error(409);
        discard(&kept).await.expect(200);
    }
}

#[tokio::test]
async fn a_mail_bounces_when_it_leaves_or_after_it_was_sent() {
    let kit = Kit::start().await;
    listen(&kit).await;
    for (api, id) in both(&kit).await {
        let send = json!({ "body": "Hi", "send": true });
        let first = api.act(&id, "replies", send.clone()).await;
        let bounce = |message: &Value| format!("/messages/{}/bounce", text(&message["messageId"]));
        kit.control("POST", &bounce(&first), Value::Null).await.expect(200);
        let before = event_data(&kit, "message.sent").await.len();
        kit.advance(600).await;
        let read = api.conversation(&id).await;
        assert_eq!((&read["timeline"][1]["status"], &read["status"]), (&json!("failed"), &json!("open")));
        assert_eq!(event_data(&kit, "message.sent").await.len(), before, "it never went out");

        let second = api.act(&id, "replies", send).await;
        kit.advance(600).await;
        assert_eq!(api.conversation(&id).await["status"], "waiting");
        kit.control("POST", &bounce(&second), Value::Null).await.expect(200);
        let read = api.conversation(&id).await;
        assert_eq!((&read["timeline"][2]["status"], &read["status"]), (&json!("failed"), &json!("open")));
        assert_eq!(read["timeline"][3]["event"], "bounced");
        let outbox = kit.list("/outbox").await;
        assert!(outbox.iter().all(|mail| mail["outcome"] == "failed"), "{outbox:?}");
        assert_eq!(event_data(&kit, "turn.changed").await.pop().expect("told")["turn"], "ours");
        kit.control("POST", &bounce(&second), Value::Null).await.error(409);
        let draft = api.act(&id, "replies", json!({ "body": "Hi" })).await;
        kit.control("POST", &bounce(&draft), Value::Null).await.error(409);
    }
    kit.control("POST", "/messages/msg_none/bounce", Value::Null).await.error(404);
}

#[tokio::test]
async fn what_the_team_does_is_held_to_the_services_limits_and_to_who_sees_what() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let tom = text(&kit.act("/users", json!({ "name": "Tom" })).await["id"]);
    kit.act("/mailboxes", json!({ "address": "tom@acme.example", "name": "Tom", "owner": tom })).await;
    let mail = json!({ "to": "tom@acme.example", "from": "kim@example.com", "text": "Hello" });
    let private = text(&kit.act("/inbound", mail).await["conversationId"]);
    let anna = text(&kit.look("/users").await[0]["id"]);
    let before = kit.look("/state").await;
    for (conversation, what, body, status, field) in [
        (&id, "notes", json!({ "body": "" }), 400, "body: "),
        (&id, "notes", json!({ "body": "x".repeat(10_001) }), 400, "body: "),
        (&id, "notes", json!({ "body": "x", "by": "anna" }), 400, "by: "),
        (&id, "notes", json!({ "body": "x", "by": "usr_none" }), 404, ""),
        (&id, "notes", json!({ "body": "x", "by": "agt_none" }), 404, ""),
        (&private, "notes", json!({ "body": "x", "by": anna }), 400, "by: "),
        (&id, "status", json!({ "status": "shut" }), 400, "status: "),
        (&id, "tags", json!({ "add": ["x".repeat(41)] }), 400, "add[0]: "),
        (&id, "replies", json!({ "body": "x".repeat(50_001) }), 400, "body: "),
        (
            &id,
            "replies",
            json!({ "body": "x", "documents": [{ "label": "x".repeat(121) }] }),
            400,
            "documents[0].label: ",
        ),
        (&id, "drafts", json!({ "body": "x", "summary": "x".repeat(501) }), 400, "summary: "),
        (&"cnv_none".to_owned(), "replies", json!({ "body": "x" }), 404, ""),
    ] {
        let error = post(&kit, conversation, what, body).await.error(status);
        assert!(error.starts_with(field), "{what}: {error}");
    }
    assert_eq!(kit.look("/state").await, before, "nothing happened");
    post(&kit, &private, "notes", json!({ "body": "Mine" })).await.expect(201);
    let owner = kit.look("/state").await["conversations"][1]["timeline"][1]["author"].clone();
    assert_eq!(owner, "Tom", "in a private inbox it is its owner");
}

#[tokio::test]
async fn the_clock_goes_to_a_time_and_to_the_next_job() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    kit.live().act(&id, "replies", json!({ "body": "Hi", "send": true })).await;
    let due = kit.look("/jobs").await[0]["dueAt"].clone();
    let moved = kit.act("/clock", json!({ "nextJob": true })).await;
    assert_eq!((&moved["now"], &moved["fired"][0]["job"]), (&due, &json!("send")));
    assert_eq!(
        kit.act("/clock", json!({ "nextJob": true })).await,
        json!({ "now": due, "fired": [] }),
        "there is none"
    );
    let later = shared_inbox::Timestamp::parse(due.as_str().expect("a time")).expect("a time")
        + std::time::Duration::from_secs(90);
    assert_eq!(kit.act("/clock", json!({ "to": later })).await["now"], json!(later));
    for (body, field) in [
        (json!({ "to": due }), "to: has passed"),
        (json!({ "advanceSeconds": 1, "nextJob": true }), "advanceSeconds: "),
        (json!({ "nextJob": false }), "nextJob: "),
        (json!({ "to": "soon" }), "to: "),
    ] {
        let error = kit.control("POST", "/clock", body).await.error(400);
        assert!(error.starts_with(field), "{error}");
    }
    assert_eq!(kit.look("/clock").await["now"], json!(later));
}

#[tokio::test]
async fn a_list_can_be_waited_for() {
    let kit = Kit::start().await;
    assert_eq!(kit.look("/requests?wait=0.05").await, json!([]), "nothing came");
    let api = kit.live();
    let url = format!("{}/requests?wait=30&least=2", kit.mock.control_url());
    let waiting = tokio::spawn(kit.http().get(url).send());
    api.get("/me").await.expect(200);
    api.get("/tags").await.expect(200);
    let found: Value = waiting.await.expect("no panic").expect("an answer").json().await.expect("JSON");
    assert_eq!(found.as_array().map(Vec::len), Some(2));
    let id = kit.mail("kim@example.com", "Hello").await;
    let url = format!("{}/approvals?wait=30", kit.mock.control_url());
    let waiting = tokio::spawn(kit.http().get(url).send());
    api.act(&id, "replies", json!({ "body": "Hi" })).await;
    let found: Value = waiting.await.expect("no panic").expect("an answer").json().await.expect("JSON");
    assert_eq!(found[0]["text"], "Hi");
    let error = kit.control("GET", "/outbox?wait=301", Value::Null).await.error(400);
    assert!(error.starts_with("wait: "), "{error}");
    kit.control("GET", "/outbox?wait=soon", Value::Null).await.error(400);
}

#[tokio::test]
async fn the_address_of_a_customer_stands_for_their_newest_conversation_in_the_control_api_alone() {
    let kit = Kit::start().await;
    let first = kit.mail("kim@example.com", "Hello").await;
    let newest = kit.mail("kim@example.com", "Another matter").await;
    assert_ne!(first, newest);
    let view = kit.look("/conversations/kim@example.com").await;
    assert_eq!(text(&view["id"]), newest);
    post(&kit, "kim@example.com", "notes", json!({ "body": "Called them." })).await.expect(201);
    assert_eq!(kit.live().timeline(&newest).await.len(), 2);
    let inbox = kit.inbox().await;
    let mail = json!({ "to": inbox, "from": "kim@example.com", "text": "Me again", "conversationId": "kim@example.com" });
    assert_eq!(text(&kit.act("/inbound", mail).await["conversationId"]), newest);
    post(&kit, "nobody@example.com", "notes", json!({ "body": "Hm." })).await.expect(404);
    kit.live().get("/conversations/kim@example.com").await.expect(404);
}

#[tokio::test]
async fn an_email_that_came_since_a_message_was_written_keeps_the_conversation_open() {
    let kit = Kit::start().await;
    let live = kit.live();
    for (from, send) in [("vera@customer.example", true), ("carl@customer.example", false)] {
        let id = kit.mail(from, "Where is my order?").await;
        let state = async || {
            let turns = kit.act(
                "/expect",
                json!({ "of": "events", "where": { "type": "turn.changed", "data.conversation_id": id } }),
            );
            let turn = turns.await["matches"].as_array().and_then(|all| all.last().cloned()).expect("a turn");
            let open = live.listed("?view=open").await.contains(&id);
            (text(&live.conversation(&id).await["status"]), text(&turn["data"]["turn"]), open)
        };
        let reply = live.act(&id, "replies", json!({ "body": "On its way.", "send": send })).await;
        let more = json!({ "to": kit.inbox().await, "from": from, "text": "And the other one?", "conversationId": id });
        kit.act("/inbound", more).await;
        if !send {
            kit.act(
                &format!("/messages/{}/approve", text(&reply["messageId"])),
                json!({ "body": "On its way!" }),
            )
            .await;
        }
        kit.advance(600).await;
        assert_eq!(live.timeline(&id).await[1]["status"], "sent");
        assert_eq!(state().await, ("open".to_owned(), "ours".to_owned(), true), "it is not answered");
        // A message that was written after all of them answers it.
        live.act(&id, "replies", json!({ "body": "That one too.", "send": true })).await;
        kit.advance(600).await;
        assert_eq!(state().await, ("waiting".to_owned(), "theirs".to_owned(), false));
    }
}
