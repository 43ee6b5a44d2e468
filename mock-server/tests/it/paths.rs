//! Every path answers in the service's form, the wrong ones too.

use serde_json::json;
use shared_inbox_mock::MockServer;

use crate::kit::{Kit, Reply};

#[tokio::test]
async fn unknown_paths_answer_404_with_the_one_field() {
    let kit = Kit::start().await;
    for path in ["/", "/nope", "/me/", "/conversations/cnv_1/nope", "/Conversations", "/conversations//notes"]
    {
        kit.live().get(path).await.error(404);
    }
    let root = kit.mock.base_url().strip_suffix("/api/v1").expect("the prefix").to_owned();
    for path in ["/api/v1", "/api/v2/me", "/api", "/nope", "/_mocks"] {
        kit.ask(kit.http().get(format!("{root}{path}"))).await.error(404);
    }
}

#[tokio::test]
async fn a_head_request_is_answered_like_a_get_without_the_body() {
    let kit = Kit::start().await;
    for path in ["/me", "/conversations?limit=0", "/conversations/cnv_0", "/openapi.json"] {
        let url = format!("{}{path}", kit.mock.base_url());
        let ask = |request: reqwest::RequestBuilder| request.bearer_auth(kit.mock.live_key()).send();
        let whole = ask(kit.http().get(&url)).await.expect("an answer");
        let head = ask(kit.http().head(&url)).await.expect("an answer");
        assert_eq!(head.status(), whole.status(), "{path}");
        for name in ["content-type", "content-length"] {
            assert_eq!(head.headers().get(name), whole.headers().get(name), "{path}: {name}");
        }
        assert_eq!(head.bytes().await.expect("no body"), "");
    }
}

#[tokio::test]
async fn wrong_methods_answer_405_and_name_the_right_one() {
    let kit = Kit::start().await;
    for (method, path, allowed) in [
        ("DELETE", "/me", "GET, HEAD"),
        ("POST", "/conversations", "GET, HEAD"),
        ("PUT", "/conversations/cnv_1", "GET, HEAD"),
        ("GET", "/conversations/cnv_1/notes", "POST"),
        ("PATCH", "/app-mail", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ] {
        let url = format!("{}{path}", kit.mock.base_url());
        let request =
            kit.http().request(method.parse().expect("a method"), url).bearer_auth(kit.mock.live_key());
        let reply = kit.ask(request).await;
        reply.error(405);
        assert_eq!(reply.headers["allow"], allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn a_content_type_other_than_json_answers_400() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let (path, body) = (format!("/conversations/{id}/notes"), r#"{"body":"x"}"#);
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
    ] {
        raw(&kit, &path, content_type, body).await.error(400);
    }
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/problem+json",
    ] {
        raw(&kit, &path, content_type, body).await.expect(201);
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_or_no_json_is_found_only_after_the_key_and_the_scope() {
    let kit = Kit::start().await;
    let (reader, _) = kit.key("Reader", &["read"]).await;
    let note = "/conversations/cnv_none/notes";
    let live = kit.mock.live_key();
    for (key, path, large, no_json) in [
        ("rk_wrong", note, 401, 401),
        (reader.key(), note, 403, 403),
        (live, "/nowhere", 404, 404),
        (live, "/me", 405, 405),
        (live, note, 413, 400),
    ] {
        for (body, status) in [(vec![b'x'; (4 << 20) + 1], large), (b"{".to_vec(), no_json)] {
            let url = format!("{}{path}", kit.mock.base_url());
            kit.ask(kit.http().post(url).bearer_auth(key).body(body)).await.error(status);
        }
    }
}

#[tokio::test]
async fn the_description_counts_as_a_request_and_needs_a_plan() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty().rate_limit(2)).await;
    let served = kit.live().get("/openapi.json").await.expect(200);
    assert_eq!(served["servers"][0]["url"], kit.mock.base_url());
    kit.live().get("/me").await.expect(200);
    kit.live().get("/openapi.json").await.error(429);
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);
    assert_eq!(kit.look("/plan").await, json!({ "plan": "free" }));
    kit.live().get("/openapi.json").await.error(403);
}

/// JSON has no largest number, and a field that nobody reads is never a reason to refuse.
#[tokio::test]
async fn a_number_beyond_every_range_is_ignored_in_an_unknown_field_and_named_in_a_known_one() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let live = kit.live();
    let post = async |path: &str, body: &str| raw(&kit, path, "application/json", body).await;
    let notes = format!("/conversations/{id}/notes");
    for extra in ["1e400", "-1e400", "{\"a\":[1,-2.5E+999,\"1e400\"]}", &"9".repeat(400)] {
        post(&notes, &format!(r#"{{"body":"1e400 \"is\" kept","extra":{extra}}}"#)).await.expect(201);
    }
    let nested = r#"{"body":"Hi","documents":[{"label":"ID","extra":1e400}]}"#;
    post(&format!("/conversations/{id}/replies"), nested).await.expect(201);
    assert!(live.timeline(&id).await.iter().any(|item| item["body"] == "1e400 \"is\" kept"));
    assert!(post(&notes, r#"{"body":1e400}"#).await.error(400).starts_with("body"));
    post(&notes, r#"{"body":"x","extra":1e400x}"#).await.error(400);
    let tool = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"add_note","arguments":{{"id":"{id}","body":"by tool","extra":1e400}}}}}}"#
    );
    let request = kit.http().post(kit.mock.mcp_url()).bearer_auth(live.key()).body(tool);
    let request = request.header("content-type", "application/json");
    let reply = kit.ask(request).await.expect(200);
    assert_ne!(reply["result"]["isError"], true, "{reply}");
    assert!(live.timeline(&id).await.iter().any(|item| item["body"] == "by tool"));
}

#[tokio::test]
async fn an_id_in_a_path_may_be_percent_encoded() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let encoded = id.replacen('c', "%63", 1);
    assert_eq!(kit.live().conversation(&encoded).await["id"], id);
    kit.live().get("/conversations/%ff").await.error(404);
}

async fn raw(kit: &Kit, path: &str, content_type: &str, body: &str) -> Reply {
    let request = kit
        .http()
        .post(format!("{}{path}", kit.mock.base_url()))
        .bearer_auth(kit.mock.live_key())
        .header("content-type", content_type)
        .body(body.to_owned());
    kit.ask(request).await
}
