//! A web page that is open in the developer's browser cannot drive the server.

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;

use crate::kit::{Kit, Reply};

async fn with(kit: &Kit, url: String, name: &str, value: &str) -> Reply {
    let request = kit.http().get(url).bearer_auth(kit.mock.live_key()).header(name, value);
    kit.ask(request).await
}

#[tokio::test]
async fn the_control_api_refuses_a_foreign_host() {
    let kit = Kit::start().await;
    let url = || format!("{}/health", kit.mock.control_url());
    let port = kit.mock.control_url().split(['/', ':']).nth(4).expect("a port");
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", "/"] {
        with(&kit, url(), "host", host).await.error(403);
    }
    for name in ["evil.example", "localhost.evil.example", "x@localhost"] {
        with(&kit, url(), "host", &format!("{name}:{port}")).await.error(403);
    }
    for name in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        with(&kit, url(), "host", &format!("{name}:{port}")).await.expect(200);
    }
}

#[tokio::test]
async fn the_service_refuses_a_foreign_host_too_since_everyone_knows_the_fixed_keys() {
    let kit = Kit::start().await;
    let own = kit.mock.control_url().split('/').nth(2).expect("a host").to_owned();
    for url in [format!("{}/me", kit.mock.base_url()), kit.mock.mcp_url().to_owned()] {
        let before = kit.list("/requests").await.len();
        with(&kit, url.clone(), "host", "evil.example").await.error(403);
        assert_ne!(with(&kit, url, "host", &own).await.status, 403);
        assert_eq!(kit.list("/requests").await.len(), before + 2);
    }
}

#[tokio::test]
async fn the_control_api_refuses_a_request_with_a_foreign_host_beside_its_own_or_with_none() {
    let kit = Kit::start().await;
    let own = kit.mock.control_url().split('/').nth(2).expect("a host").to_owned();
    let ask = |head: String| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(&own).expect("a connection");
        stream.write_all(format!("GET {head}connection: close\r\n\r\n").as_bytes()).expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an orderly end");
        answer.split(' ').nth(1).map(str::to_owned).unwrap_or_default()
    };
    let health = "/_mock/health HTTP/1.1\r\n";
    assert_eq!(ask(format!("{health}host: {own}\r\n")), "200");
    assert_eq!(ask(format!("{health}host: {own}\r\nhost: evil.example\r\n")), "403");
    assert_eq!(ask(format!("{health}host: evil.example\r\nhost: {own}\r\n")), "403");
    assert_eq!(ask(format!("http://evil.example{health}host: {own}\r\n")), "403");
    assert_eq!(ask(format!("http://{own}{health}host: {own}\r\n")), "200");
    assert_eq!(ask("/_mock/health HTTP/1.0\r\n".to_owned()), "403", "no host at all");
}

#[tokio::test]
async fn the_control_api_refuses_a_foreign_origin() {
    let kit = Kit::start().await;
    let url = || format!("{}/health", kit.mock.control_url());
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"] {
        with(&kit, url(), "origin", origin).await.error(403);
    }
    let own = kit.mock.base_url().strip_suffix("/api/v1").expect("the prefix");
    with(&kit, url(), "origin", own).await.expect(200);
    with(&kit, url(), "origin", &own.replace("127.0.0.1", "localhost")).await.expect(200);
    with(&kit, url(), "origin", &own.replace("http:", "https:")).await.error(403);
}

#[tokio::test]
async fn the_service_takes_requests_of_pages_from_its_own_site_only() {
    let kit = Kit::start().await;
    for url in [format!("{}/me", kit.mock.base_url()), kit.mock.mcp_url().to_owned()] {
        let reply = with(&kit, url, "origin", "https://evil.example").await;
        reply.error(403);
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
    }
    let own = kit.mock.base_url().strip_suffix("/api/v1").expect("the prefix");
    with(&kit, format!("{}/me", kit.mock.base_url()), "origin", own).await.expect(200);
}

#[tokio::test]
async fn with_a_control_token_every_control_call_needs_it() {
    let kit = Kit::with(MockServer::builder().empty().control_token("s3cret")).await;
    let url = format!("{}/jobs", kit.mock.control_url());
    kit.ask(kit.http().get(&url)).await.error(401);
    for (token, status) in [("wrong", 401), ("s3cret", 200)] {
        let reply = kit.ask(kit.http().get(&url).bearer_auth(token)).await;
        assert_eq!(reply.status, status);
    }
    kit.live().get("/me").await.expect(200);
}

#[tokio::test]
async fn health_can_be_asked_without_the_token_so_that_a_container_can_be_probed() {
    let kit = Kit::with(MockServer::builder().empty().control_token("s3cret")).await;
    let url = format!("{}/health", kit.mock.control_url());
    assert_eq!(kit.ask(kit.http().get(&url)).await.expect(200)["status"], "ok");
    with(&kit, url.clone(), "host", "evil.example").await.error(403);
    with(&kit, url.clone(), "origin", "https://evil.example").await.error(403);
    kit.ask(kit.http().post(&url)).await.error(401);
    kit.ask(kit.http().get(format!("{url}/x"))).await.error(401);
}

#[tokio::test]
async fn the_control_api_is_not_in_the_journal_and_has_no_limit() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty().rate_limit(1)).await;
    for _ in 0..150 {
        kit.control("GET", "/health", Value::Null).await.expect(200);
    }
    assert_eq!(kit.look("/requests").await, json!([]), "nothing was asked of the service");
}

/// A page that a developer has open in a browser must not use up faults, learn of them or trigger their
/// control calls.
#[tokio::test]
async fn faults_do_not_apply_to_a_request_that_the_guard_refuses() {
    let kit = Kit::start().await;
    let act = json!({ "method": "POST", "path": "/users", "body": { "name": "Mallory" } });
    for effect in [json!({ "status": 500 }), json!({ "act": [act] })] {
        kit.act("/faults", json!({ "path": "/me", "effect": effect })).await;
    }
    let url = || format!("{}/me", kit.mock.base_url());
    let people = kit.look("/users").await;
    for (header, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
        with(&kit, url(), header, value).await.error(403);
    }
    assert!(kit.list("/faults").await.iter().all(|rule| rule["fired"] == 0));
    assert_eq!(kit.look("/users").await, people);
    kit.live().get("/me").await.error(500);
}

#[tokio::test]
async fn behind_gateways_any_port_of_this_machine_will_do_and_no_other_name() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty().behind_gateways()).await;
    let url = || format!("{}/health", kit.mock.control_url());
    with(&kit, url(), "host", "127.0.0.1:1").await.expect(200);
    with(&kit, url(), "host", "evil.test:4010").await.error(403);
    with(&kit, url(), "origin", "http://localhost:1").await.error(403);
}
