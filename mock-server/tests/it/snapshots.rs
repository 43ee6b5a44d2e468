//! Snapshots: taken, listed, compared, restored, deleted.

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;

use crate::kit::{Kit, text};

#[tokio::test]
async fn a_snapshot_is_come_back_to_and_compared_with() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let taken = kit.control("POST", "/snapshots", json!({ "name": "before" })).await.expect(201);
    assert_eq!(kit.look("/snapshots").await, json!([taken]));
    assert_eq!(kit.look("/snapshots/before/diff").await, json!({ "changes": [], "text": "" }));

    kit.live().act(&id, "status", json!({ "status": "closed" })).await;
    let other = kit.mail("vera@example.com", "Hi").await;
    kit.control("POST", "/snapshots", json!({ "name": "after" })).await.expect(201);
    let difference = kit.look("/snapshots/before/diff?to=after").await;
    let said = text(&difference["text"]);
    assert!(said.contains(&format!("~ conversations[{id}].status: \"open\" → \"closed\"\n")), "{said}");
    assert!(said.contains(&format!("+ conversations[{other}]: {{")), "{said}");
    assert!(!said.contains("ids"), "{said}");
    let back = text(&kit.look("/snapshots/after/diff?to=before").await["text"]);
    assert!(back.contains(&format!("- conversations[{other}]: {{")), "{back}");

    kit.control("POST", "/snapshots/before/restore", Value::Null).await.expect(200);
    assert_eq!(kit.live().listed("").await, [id]);
    assert_eq!(kit.look("/snapshots/before/diff").await["changes"], json!([]));
    assert_eq!(kit.look("/snapshots/before").await, kit.look("/state").await);
    kit.control("POST", "/reset", Value::Null).await.expect(200);
    assert_eq!(kit.list("/snapshots").await.len(), 2, "they outlive a reset");
    kit.control("DELETE", "/snapshots/before", Value::Null).await.expect(204);
    for (method, path) in [
        ("DELETE", "/snapshots/before"),
        ("GET", "/snapshots/before"),
        ("GET", "/snapshots/before/diff"),
        ("GET", "/snapshots/after/diff?to=before"),
        ("POST", "/snapshots/before/restore"),
    ] {
        kit.control(method, path, Value::Null).await.error(404);
    }
}

#[tokio::test]
async fn snapshots_have_names_an_end_and_a_world_of_their_own() {
    let kit = Kit::start().await;
    for name in ["", "a b", "a/b", &"x".repeat(81)] {
        let error = kit.control("POST", "/snapshots", json!({ "name": name })).await.error(400);
        assert!(error.starts_with("name: "), "{error}");
    }
    for n in 0..100 {
        kit.control("POST", "/snapshots", json!({ "name": format!("s{n}") })).await.expect(201);
    }
    kit.control("POST", "/snapshots", json!({ "name": "s0" })).await.expect(201);
    kit.control("POST", "/snapshots", json!({ "name": "one.more" })).await.error(409);
    let world = kit.control("POST", "/worlds", json!({ "empty": true })).await.expect(201);
    let there = kit.control_at(&text(&world["control_url"]), "GET", "/snapshots", Value::Null).await;
    assert_eq!(there.expect(200), json!([]));
}

/// Bytes of all worlds together, so that many worlds with few snapshots are bounded as well as one with many.
#[tokio::test]
async fn snapshots_and_journals_of_all_worlds_are_bounded_in_bytes() {
    const LIMIT: usize = 1 << 20;
    let kit =
        Kit::with(MockServer::builder().manual_clock().empty().no_rate_limit().memory_limit(LIMIT)).await;
    let (other, document) = (kit.act("/worlds", json!({ "empty": true })).await, "x".repeat(LIMIT / 4));
    let there = text(&other["control_url"]);
    let take = async |control: &str, name: &str| {
        kit.control_at(control, "POST", "/snapshots", json!({ "name": name })).await
    };
    kit.mail("kim@example.com", &document).await;
    let main = kit.mock.control_url();
    for name in ["one", "two", "two"] {
        take(main, name).await.expect(201);
    }
    let refused = take(main, "three").await.error(409);
    assert!(refused.contains("768 KiB") && refused.contains("--memory-limit"), "{refused}");
    assert_eq!(kit.list("/snapshots").await.len(), 2);
    take(&there, "small").await.expect(201);

    // The journal that is the largest gives way; no request is refused.
    let (live, id) =
        (kit.api(other["keys"]["live"].as_str().expect("a key")), kit.mail("vera@example.com", "Hi").await);
    live.get("/me").await.expect(200);
    for _ in 0..40 {
        kit.live().act(&id, "notes", json!({ "body": "n".repeat(9_999) })).await;
    }
    let kept = kit.list("/requests").await.len();
    assert!((1..40).contains(&kept), "{kept} requests are kept");
    let short = kit.control_at(&there, "GET", "/requests", Value::Null).await.expect(200);
    assert_eq!(short.as_array().map(Vec::len), Some(1), "the small one is left alone");
    for name in ["one", "two"] {
        kit.control("DELETE", &format!("/snapshots/{name}"), Value::Null).await.expect(204);
    }
    take(main, "three").await.expect(201);
}
