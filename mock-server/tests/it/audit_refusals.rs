//! Refusals: which one comes, what it says, and that nothing was done.

use serde_json::{Value, json};

use crate::kit::{Api, Kit, Reply, text};

/// Every operation with input that is right, and the scope that it needs.
fn calls(id: &str) -> Vec<(String, Option<Value>, &'static str)> {
    let on = |rest: &str| format!("/conversations/{id}/{rest}");
    let documents = json!([{ "label": "x" }]);
    vec![
        ("/me".into(), None, "read"),
        ("/conversations".into(), None, "read"),
        (format!("/conversations/{id}"), None, "read"),
        (on("notes"), Some(json!({ "body": "x" })), "write"),
        (on("status"), Some(json!({ "status": "open" })), "write"),
        (on("tags"), Some(json!({ "add": ["x"] })), "write"),
        (on("assign"), Some(json!({ "to": "me" })), "write"),
        (on("replies"), Some(json!({ "body": "x" })), "draft"),
        (on("replies"), Some(json!({ "body": "x", "send": false })), "draft"),
        (on("replies"), Some(json!({ "body": "x", "send": true })), "send"),
        (on("document-requests"), Some(json!({ "documents": documents })), "draft"),
        (on("document-requests"), Some(json!({ "documents": documents, "send": true })), "send"),
        ("/mailboxes".into(), None, "read"),
        ("/tags".into(), None, "read"),
        ("/documents".into(), None, "read"),
        (
            "/app-mail".into(),
            Some(json!({ "messageId": "a@x", "reference": "a1", "to": ["a@x.example"], "subject": "s" })),
            "record",
        ),
        ("/sandbox/inbound".into(), Some(json!({ "from": "a@x.test", "text": "x" })), "write"),
    ]
}

async fn call(api: &Api, path: &str, body: Option<Value>) -> Reply {
    match body {
        Some(body) => api.post(path, body).await,
        None => api.get(path).await,
    }
}

#[tokio::test]
async fn every_operation_asks_every_set_of_scopes_for_exactly_its_own() {
    const SCOPES: [&str; 5] = ["read", "write", "draft", "send", "record"];
    let kit = Kit::start().await;
    let live = kit.mail("vera@customer.example", "Hi").await;
    let simulated = json!({ "from": "a@x.test", "text": "x" });
    let simulated =
        text(&kit.sandbox().post("/sandbox/inbound", simulated).await.expect(201)["conversationId"]);
    for set in 1_u32..32 {
        let scopes: Vec<&str> =
            SCOPES.iter().enumerate().filter(|(i, _)| set & (1 << i) != 0).map(|(_, scope)| *scope).collect();
        for livemode in [true, false] {
            let new = json!({ "name": "K", "scopes": scopes, "livemode": livemode });
            let api = kit.api(&text(&kit.act("/keys", new).await["key"]));
            for (path, body, needed) in calls(if livemode { &live } else { &simulated }) {
                let reply = call(&api, &path, body.clone()).await;
                let about = format!("{scopes:?} {livemode} {path} {body:?}: {}", reply.text);
                if needed != "read" && !scopes.contains(&needed) {
                    assert!(reply.error(403).contains(&format!("`{needed}`")), "{about}");
                } else if livemode && path == "/sandbox/inbound" {
                    reply.error(403);
                } else {
                    assert!((200..=201).contains(&reply.status), "{about}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_conversation_that_may_not_be_seen_answers_to_the_byte_like_one_that_never_was() {
    let kit = Kit::start().await;
    let owner = text(&kit.act("/users", json!({ "name": "Ben" })).await["id"]);
    kit.act("/mailboxes", json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner })).await;
    let mail = json!({ "to": "ben@acme.example", "from": "v@customer.example", "text": "Between us" });
    let private = text(&kit.act("/inbound", mail).await["conversationId"]);
    let team = kit.mail("vera@customer.example", "Hi").await;
    let simulated = json!({ "from": "a@x.test", "text": "x" });
    let simulated =
        text(&kit.sandbox().post("/sandbox/inbound", simulated).await.expect(201)["conversationId"]);
    let before = kit.look("/state").await;
    let shown = |reply: &Reply| {
        let headers: Vec<_> = reply.headers.iter().filter(|(name, _)| *name != "date").collect();
        format!("{} {headers:?} {}", reply.status, reply.text)
    };
    for (api, hidden) in [(kit.live(), [&private, &simulated]), (kit.sandbox(), [&private, &team])] {
        let never = calls("cnv_neverwas");
        for id in hidden.map(String::as_str).into_iter().chain(["cnv_Never", "msg_1", "x", "%00", "cnv_"]) {
            for ((path, body, _), (other, _, _)) in calls(id).into_iter().zip(&never) {
                if &path == other {
                    continue;
                }
                let reply = call(&api, &path, body.clone()).await;
                reply.error(404);
                assert_eq!(shown(&reply), shown(&call(&api, other, body).await), "{path}");
            }
        }
    }
    assert_eq!(kit.look("/state").await, before, "nothing happened");
}

#[tokio::test]
async fn another_persons_inbox_is_in_no_list_and_no_search() {
    let kit = Kit::start().await;
    let owner = text(&kit.act("/users", json!({ "name": "Ben" })).await["id"]);
    let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
    let inbox = text(&kit.act("/mailboxes", inbox).await["id"]);
    let mail = json!({
        "to": "ben+ref1@acme.example", "from": "v@customer.example", "text": "Between us: xyzzy",
        "attachments": [{ "filename": "xyzzy.pdf", "contentType": "application/pdf", "size": 1 }],
    });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let new = json!({ "name": "Ben's", "scopes": ["write"], "livemode": true, "createdBy": owner });
    let own = kit.api(&text(&kit.act("/keys", new).await["key"]));
    own.post(&format!("/conversations/{id}/tags"), json!({ "add": ["xyzzy"] })).await.expect(200);
    let lists = [
        "/conversations".to_owned(),
        "/conversations?q=xyzzy".into(),
        format!("/conversations?mailbox={inbox}"),
        "/conversations?view=all&reference=ref1".into(),
        "/documents".into(),
        "/documents?q=xyzzy".into(),
    ];
    for path in &lists {
        assert_eq!(own.get(path).await.expect(200).as_array().expect("a list").len(), 1, "{path}");
        for api in [kit.live(), kit.sandbox()] {
            assert_eq!(api.get(path).await.expect(200), json!([]), "{path}");
        }
    }
    for path in ["/mailboxes", "/tags"] {
        assert!(own.get(path).await.text.contains(if path == "/tags" { "xyzzy" } else { &inbox }));
        for api in [kit.live(), kit.sandbox()] {
            let text = api.get(path).await.text;
            assert!(!text.contains("xyzzy") && !text.contains(&inbox), "{path}: {text}");
        }
    }
}

/// The fields that a 400 names, one for each problem.
#[track_caller]
fn named(reply: &Reply) -> Vec<String> {
    let sentence = reply.error(400);
    let field = |problem: &str| {
        let (field, what) = problem.trim().split_once(": ").unwrap_or_else(|| panic!("no field: {sentence}"));
        assert!(!what.is_empty() && !field.contains(' '), "{sentence}");
        field.to_owned()
    };
    sentence.split(';').map(field).collect()
}

#[tokio::test]
async fn a_400_names_every_problem_each_behind_its_field() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    let live = kit.live();
    let before = kit.look("/state").await;
    let long = |n: usize| "x".repeat(n);
    let cases = [
        ("notes", json!({}), "body"),
        ("notes", json!({ "body": "" }), "body"),
        ("notes", json!({ "body": long(10_001) }), "body"),
        ("notes", json!({ "body": null }), "body"),
        ("notes", json!(["x"]), "body"),
        ("status", json!({}), "status"),
        ("status", json!({ "status": "snoozed" }), "status"),
        ("status", json!({ "status": "Open" }), "status"),
        ("tags", json!({ "add": "x", "remove": {} }), "add remove"),
        ("tags", json!({ "add": ["", long(41), 1], "remove": [null] }), "add[0] add[1] add[2] remove[0]"),
        ("tags", json!({ "add": vec!["x"; 11], "remove": vec!["x"; 11] }), "add remove"),
        ("assign", json!({}), "to"),
        ("assign", json!({ "to": long(81) }), "to"),
        ("assign", json!({ "to": "anna" }), "to"),
        ("assign", json!({ "to": "user:usr_nobody" }), "to"),
        ("assign", json!({ "to": "agent:agt_nobody" }), "to"),
        ("assign", json!({ "to": "usr_nobody" }), "to"),
        ("replies", json!({}), "body"),
        (
            "replies",
            json!({ "body": long(50_001), "send": "yes", "summary": long(501), "documents": vec![json!({}); 21] }),
            "body send summary documents",
        ),
        (
            "replies",
            json!({ "body": "x", "documents": [{ "label": long(121), "description": long(501), "required": 1 }, {}, 5] }),
            "documents[0].label documents[0].description documents[0].required documents[1].label documents[2]",
        ),
        ("document-requests", json!({}), "documents"),
        (
            "document-requests",
            json!({ "documents": vec![json!({ "label": "x" }); 21], "message": long(5_001), "dueDate": "2026-02-30", "send": 1 }),
            "documents message dueDate send",
        ),
        ("document-requests", json!({ "documents": [{ "label": "x" }], "dueDate": "2026-2-3" }), "dueDate"),
        (
            "document-requests",
            json!({ "documents": [{ "label": "x" }], "dueDate": "2026-02-03T00:00:00Z" }),
            "dueDate",
        ),
    ];
    for (rest, body, expected) in cases {
        let reply = live.post(&format!("/conversations/{id}/{rest}"), body.clone()).await;
        assert_eq!(named(&reply).join(" "), expected, "{rest}: {}", reply.text);
        if !body.to_string().contains("nobody") {
            let unknown = live.post(&format!("/conversations/cnv_none/{rest}"), body).await;
            assert_eq!(unknown.text, reply.text, "the input is looked at before the conversation");
        }
    }
    let mail = json!({ "messageId": "", "reference": "word", "to": ["x", 1], "text": 1, "html": [] });
    assert_eq!(
        named(&live.post("/app-mail", mail).await).join(" "),
        "messageId reference to[0] to[1] subject text html"
    );
    let mail = json!({ "from": "vera@customer.example", "name": 1, "subject": 2, "conversationId": 3 });
    assert_eq!(
        named(&kit.sandbox().post("/sandbox/inbound", mail).await).join(" "),
        "from name subject text conversationId"
    );
    assert_eq!(kit.look("/state").await["conversations"], before["conversations"], "nothing happened");
}

#[tokio::test]
async fn an_empty_or_wrong_parameter_is_a_400_that_names_it() {
    let kit = Kit::start().await;
    let live = kit.live();
    for (path, names) in
        [("/conversations", "view mailbox q assigned limit reference"), ("/documents", "q kind limit")]
    {
        for name in names.split(' ') {
            assert_eq!(named(&live.get(&format!("{path}?{name}=")).await), [name], "{path}");
        }
    }
    let q = "x".repeat(201);
    for (query, expected) in [
        ("view=all".to_owned(), "view"),
        ("view=OPEN".into(), "view"),
        ("mailbox=help".into(), "mailbox"),
        ("assigned=you".into(), "assigned"),
        ("limit=0".into(), "limit"),
        ("limit=101".into(), "limit"),
        ("limit=ten".into(), "limit"),
        (format!("q={q}&limit=0&view=x"), "view q limit"),
    ] {
        assert_eq!(named(&live.get(&format!("/conversations?{query}")).await).join(" "), expected, "{query}");
    }
    assert_eq!(named(&live.get("/documents?kind=letter&limit=101").await).join(" "), "kind limit");
    for path in ["/conversations?cursor=abc&page=2", "/documents?sort=up", "/me?x=", "/tags?limit=0"] {
        live.get(path).await.expect(200);
    }
}

#[tokio::test]
async fn what_is_only_planned_changes_nothing_yet() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    for _ in 0..2 {
        let url = format!("{}/conversations/{id}/notes", kit.mock.base_url());
        let request = kit.http().post(url).bearer_auth(kit.mock.live_key()).header("idempotency-key", "same");
        let request = request.header("content-type", "application/json").body(r#"{"body":"x","cursor":1}"#);
        kit.ask(request).await.expect(201);
    }
    let notes = kit.live().timeline(&id).await.iter().filter(|item| item["type"] == "note").count();
    assert_eq!(notes, 2, "no header makes a create safe to repeat");
}

/// Valid JSON: the fields are not known, and nobody has to hold the numbers.
#[tokio::test]
async fn a_number_that_no_float_can_hold_does_no_harm_in_a_field_that_nobody_reads() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let simulated = json!({ "from": "kim@customer.test", "text": "Hello" });
    let received = kit.sandbox().post("/sandbox/inbound", simulated).await.expect(201);
    let digits = "9".repeat(400);
    for (key, id) in [
        (kit.mock.live_key(), id.as_str()),
        (kit.mock.test_key(), received["conversationId"].as_str().unwrap()),
    ] {
        for number in ["1e400", "-1e400", &digits] {
            let post = |url: String, body: String| {
                kit.http().post(url).bearer_auth(key).header("content-type", "application/json").body(body)
            };
            let url = format!("{}/conversations/{id}/notes", kit.mock.base_url());
            let body = format!(r#"{{"body":"Hi 1e400","extra":{number},"more":[{{"deep":{number}}}]}}"#);
            kit.ask(post(url.clone(), body)).await.expect(201);
            let error = kit.ask(post(url, format!(r#"{{"body":{number}}}"#))).await.error(400);
            assert!(error.starts_with("body: "), "{error}");
            let tool = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"add_note","arguments":{{"id":"{id}","body":"By a tool","extra":{number}}}}}}}"#
            );
            let answer = kit.ask(post(kit.mock.mcp_url().to_owned(), tool)).await.expect(200);
            assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer}");
        }
    }
    let journal = kit.look("/requests").await;
    assert!(journal.as_array().unwrap().iter().all(|it| it["requestBody"].is_object()), "{journal}");
    let url = format!("{}/users", kit.mock.control_url());
    kit.ask(kit.http().post(url).body(r#"{"name":"Anna","extra":1e400}"#)).await.expect(201);
}
