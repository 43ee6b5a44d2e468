//! Many worlds in one server, told apart by the key, none seeing another.

use serde_json::{Value, json};
use shared_inbox::Scope;
use shared_inbox_mock::{MockServer, NewKey, NewWorld};
use tokio::runtime::Handle;

use crate::kit::{Kit, text};

async fn world(kit: &Kit, new: Value) -> Value {
    kit.control("POST", "/worlds", new).await.expect(201)
}

#[tokio::test]
async fn a_new_world_has_its_own_keys_at_the_same_addresses_and_is_listed() {
    let kit = Kit::start().await;
    let main = kit.mock.ready();
    let (first, second) = (world(&kit, json!({ "empty": true })).await, world(&kit, json!({})).await);
    let mut keys = vec![main.keys.live.clone(), main.keys.test.clone()];
    for ready in [&first, &second] {
        assert_eq!((&ready["base_url"], &ready["mcp_url"]), (&json!(main.base_url), &json!(main.mcp_url)));
        assert!(text(&ready["control_url"]).starts_with(&format!("{}/worlds/", main.control_url)));
        for key in ["live", "test"] {
            let key = text(&ready["keys"][key]);
            assert_eq!(key.len(), "rk_live_".len() + 48);
            kit.api(&key).get("/me").await.expect(200);
            keys.push(key);
        }
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 6, "no two worlds share a key");
    let listed = kit.list("/worlds").await;
    assert_eq!(listed[0]["keys"]["live"], kit.mock.live_key());
    assert_eq!(listed[1..], [first, second]);
}

#[tokio::test]
async fn a_key_that_is_made_in_a_world_is_that_worlds_alone() {
    let kit = Kit::start().await;
    let mut controls = vec![kit.mock.control_url().to_owned()];
    for _ in 0..3 {
        controls.push(text(&world(&kit, json!({ "empty": true })).await["control_url"]));
    }
    let mut keys = Vec::new();
    for control in controls {
        let new = json!({ "name": "Bot", "scopes": ["read"], "livemode": true });
        keys.push(text(&kit.control_at(&control, "POST", "/keys", new).await.expect(201)["key"]));
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4, "worlds that begin alike make different keys");
}

#[tokio::test]
async fn what_happens_in_one_world_is_not_seen_in_another() {
    let kit = Kit::start().await;
    let other = world(&kit, json!({ "empty": true })).await;
    let (there, control) = (kit.api(&text(&other["keys"]["live"])), text(&other["control_url"]));
    let id = kit.mail("vera@customer.example", "Hello").await;

    assert!(there.listed("").await.is_empty());
    there.get(&format!("/conversations/{id}")).await.error(404);
    let look = |path: &'static str| kit.control_at(&control, "GET", path, Value::Null);
    let journal = look("/requests").await.expect(200);
    assert_eq!(journal.as_array().map(Vec::len), Some(2), "its own two requests");

    let rule = json!({ "times": null, "effect": { "status": 500 } });
    kit.control_at(&control, "POST", "/faults", rule).await.expect(201);
    there.get("/me").await.error(500);
    kit.live().get("/me").await.expect(200);

    let before = kit.look("/clock").await;
    kit.control_at(&control, "POST", "/clock", json!({ "advanceSeconds": 3600 })).await.expect(200);
    assert_eq!(kit.look("/clock").await, before);
    assert_ne!(look("/clock").await.expect(200)["now"], before["now"]);
}

#[tokio::test]
async fn a_world_can_have_another_clock_and_start_from_a_document() {
    let kit = Kit::start().await;
    let (made, _) = kit.key("Extra", &["read"]).await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let document = kit.look("/state").await;
    let copy = world(&kit, json!({ "seed": document, "clock": "real" })).await;
    let clock = kit.control_at(&text(&copy["control_url"]), "GET", "/clock", Value::Null).await.expect(200);
    assert_eq!(clock["mode"], "real");
    assert_eq!(kit.api(&text(&copy["keys"]["live"])).listed("").await, [id.as_str()]);
    kit.mail("karl@customer.example", "Only in the first").await;
    assert_eq!(made.listed("").await.len(), 2, "a key of the first stays the first's");
    assert_eq!(kit.api(&text(&copy["keys"]["live"])).listed("").await.len(), 1);
    let default = world(&kit, json!({ "empty": true })).await;
    let control = text(&default["control_url"]);
    let clock = kit.control_at(&control, "GET", "/clock", Value::Null).await.expect(200);
    assert_eq!(clock["mode"], "manual", "as the server's");
}

#[tokio::test]
async fn the_keys_of_a_deleted_world_answer_401() {
    let kit = Kit::start().await;
    let other = world(&kit, json!({ "empty": true })).await;
    let (id, there) = (text(&other["id"]), kit.api(&text(&other["keys"]["live"])));
    there.get("/me").await.expect(200);
    kit.control("DELETE", &format!("/worlds/{id}"), Value::Null).await.expect(204);
    assert_eq!(kit.list("/worlds").await.len(), 1);
    there.get("/me").await.error(401);
    kit.control("DELETE", &format!("/worlds/{id}"), Value::Null).await.error(404);
    kit.control("GET", &format!("/worlds/{id}/health"), Value::Null).await.error(404);
    kit.live().get("/me").await.expect(200);
}

#[tokio::test]
async fn everything_of_the_control_api_is_below_a_worlds_address() {
    let kit = Kit::start().await;
    let other = world(&kit, json!({ "empty": true })).await;
    let control = text(&other["control_url"]);
    let lists = "health state clock requests jobs users mailboxes keys approvals outbox webhooks faults";
    for name in lists.split(' ') {
        kit.control_at(&control, "GET", &format!("/{name}"), Value::Null).await.expect(200);
    }
    let new = json!({ "name": "Own", "scopes": ["read"], "livemode": true });
    let made = kit.control_at(&control, "POST", "/keys", new).await.expect(201);
    let own = kit.api(&text(&made["key"]));
    own.get("/me").await.expect(200);
    kit.control_at(&control, "POST", "/reset", Value::Null).await.expect(200);
    own.get("/me").await.error(401);
    kit.api(&text(&other["keys"]["live"])).get("/me").await.expect(200);
}

#[test]
fn keys_that_are_made_at_the_same_time_all_work_at_once() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mock = runtime().block_on(MockServer::builder().empty().manual_clock().start());
    let refused: usize = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let (control, url) = (mock.control().clone(), format!("{}/me", mock.base_url()));
                scope.spawn(move || {
                    runtime().block_on(async move {
                        let http = reqwest::Client::new();
                        let mut refused = 0;
                        for _ in 0..25 {
                            let new = NewKey::live("Maker", [Scope::Read]);
                            let made = control.create_key(new).await.expect("a key");
                            // Now, and not when all are made: whoever makes the next one would put right what
                            // is wrong.
                            let answer =
                                http.get(&url).bearer_auth(&made.key).send().await.expect("an answer");
                            refused += usize::from(answer.status() != 200);
                        }
                        refused
                    })
                })
            })
            .collect();
        makers.into_iter().map(|maker| maker.join().expect("no panic")).sum()
    });
    assert_eq!(refused, 0);
}

#[tokio::test]
async fn a_document_with_ever_so_many_problems_is_refused_with_the_first_of_them() {
    let kit = Kit::start().await;
    let conversation = json!({ "id": "cnv_1", "mailbox": "mbx_none", "subject": "s", "contact": { "name": null, "email": null }, "timeline": [] });
    let mut document = kit.look("/state").await;
    document["conversations"] = (0..3_000)
        .map(|n| {
            let mut other = conversation.clone();
            other["id"] = json!(format!("cnv_{n}"));
            other
        })
        .collect();
    let error = kit.control("PUT", "/state", document).await.error(400);
    assert_eq!(error.matches("mailbox: is not one of the mailboxes").count(), 20);
    assert!(error.contains("conversations[19].mailbox") && error.ends_with("; and 2980 more"), "{error}");
}

#[tokio::test]
async fn a_document_that_is_put_over_a_nearly_equal_one_is_listed_and_searched_as_it_says() {
    let kit = Kit::start().await;
    for n in 0..70 {
        kit.mail("vera@customer.example", &format!("Parcel number{n}")).await;
    }
    let before = kit.look("/state").await;
    assert_eq!(kit.live().listed("?q=parcel&limit=100").await.len(), 70);
    let mut changed = before.clone();
    let conversations = changed["conversations"].as_array_mut().expect("a list");
    let moved = text(&conversations[65]["id"]);
    conversations[65]["timeline"][0]["text"] = json!("A lamp instead");
    let last = conversations.pop().expect("one more");
    kit.control("PUT", "/state", changed.clone()).await.expect(200);
    let seen = async |query: &str| kit.live().listed(query).await;
    assert_eq!(seen("?q=lamp").await, [&*moved], "what is new is found");
    assert_eq!(seen("?q=number65").await, [] as [&str; 0], "what was there before is not");
    assert_eq!(seen("?q=number69").await, [] as [&str; 0]);
    assert_eq!(seen("?q=parcel&limit=100").await.len(), 68);
    // And back, with one that is there again.
    kit.control("PUT", "/state", before.clone()).await.expect(200);
    assert_eq!(seen("?q=lamp").await, [] as [&str; 0]);
    assert_eq!(seen("?q=number65").await, [moved]);
    assert_eq!(seen("?q=number69").await, [text(&last["id"])]);
    // The same once more: what was changed since is gone.
    kit.live().act(&text(&last["id"]), "status", json!({ "status": "closed" })).await;
    kit.control("PUT", "/state", before.clone()).await.expect(200);
    assert_eq!(kit.look("/state").await, before);
    changed["conversations"].as_array_mut().expect("a list").clear();
    kit.control("PUT", "/state", changed).await.expect(200);
    assert_eq!(seen("?q=parcel").await, [] as [&str; 0]);
}

/// The server runs in this test's runtime, whose tasks can be counted.
#[tokio::test]
async fn a_world_that_was_deleted_leaves_nothing_running() {
    let (runtime, server) = (Handle::current(), MockServer::builder().bind().expect("a port"));
    let control = server.control();
    let alone = runtime.metrics().num_alive_tasks();
    for _ in 0..20 {
        let world = control.create_world(NewWorld::default()).await.expect("a world");
        tokio::task::yield_now().await;
        let id = world.ready().id.expect("a world beside the main one");
        drop(world);
        control.delete_world(&id).await.expect("it was there");
    }
    let ended = async {
        while runtime.metrics().num_alive_tasks() > alone {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), ended).await.expect("their tasks end");
    assert_eq!(control.worlds().await.len(), 1);
}
