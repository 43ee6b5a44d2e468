//! Snapshots: taken, listed, compared, restored, deleted.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

#[tokio::test]
async fn a_snapshot_is_come_back_to_and_compared_with() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let taken = kit.control("POST", "/snapshots", json!({ "name": "before" })).await.expect(201);
    assert_eq!(kit.look("/snapshots").await, json!([taken]));
    assert_eq!(kit.look("/snapshots/before/diff").await, json!({ "changes": [], "text": "" }));

    kit.live().post(&format!("/conversations/{id}/status"), json!({ "status": "closed" })).await.expect(200);
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
    assert_eq!(kit.look("/snapshots").await.as_array().map(Vec::len), Some(2), "they outlive a reset");
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
