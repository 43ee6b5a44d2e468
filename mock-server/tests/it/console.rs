//! The console as a reader gets it. What people do in it is tried in a browser, among the tests with peers.

use std::path::Path;

use serde_json::json;
use shared_inbox_mock::MockServer;

use crate::kit::Kit;

#[tokio::test]
async fn every_file_of_the_page_is_served_with_a_policy_that_lets_nothing_else_in() {
    let kit = Kit::start().await;
    let root = kit.mock.ready().console_url.clone();
    let mut embedded = 0;
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("console")).expect("a folder") {
        let file = file.expect("a file");
        let name = file.file_name().into_string().expect("text");
        if name == "jsconfig.json" {
            continue;
        }
        let path = if name == "index.html" { String::new() } else { format!("console/{name}") };
        let served = kit.http().get(format!("{root}{path}")).send().await.expect("an answer");
        assert_eq!(served.status(), 200, "{name}");
        let policy = served.headers()["content-security-policy"].to_str().expect("text").to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(served.headers()["x-content-type-options"], "nosniff");
        let text = served.text().await.expect("text");
        let file = std::fs::read_to_string(file.path()).expect("text");
        assert_eq!(text, without_comments(&file), "{name} is served without comments and indentation");
        for foreign in ["http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("] {
            let own = text.replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1:3000", "");
            assert!(!own.contains(foreign), "{name} has {foreign}");
        }
        embedded += text.len();
    }
    assert!(embedded <= 190_000, "{embedded} bytes are embedded");
}

/// A file line by line, without those that are comments and without types in the others.
fn without_comments(file: &str) -> String {
    let (mut text, mut inside) = (String::new(), false);
    for line in file.lines() {
        let mut line = line.trim_start();
        if line.starts_with("/*") || inside {
            let end = line.find("*/");
            inside = end.is_none();
            line = end.map_or("", |end| line[end + 2..].trim_start());
        }
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        while let Some(start) = line.find("/** @") {
            text.push_str(&line[..start]);
            line = line[start..].split_once("*/").map_or("", |(_, rest)| rest);
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[tokio::test]
async fn the_page_holds_no_data_and_can_be_left_out() {
    let kit = Kit::start().await;
    let page = kit.http().get(&kit.mock.ready().console_url).send().await.expect("an answer");
    let text = page.text().await.expect("text");
    assert!(!text.contains("rk_") && text.contains("<script type=\"module\""), "{text}");
    let post = kit.http().post(&kit.mock.ready().console_url).send().await.expect("an answer");
    assert_eq!(post.status(), 405);

    let without = MockServer::builder().no_console().start().await;
    for path in ["", "console/main.js"] {
        let url = format!("{}{path}", without.ready().console_url);
        assert_eq!(kit.http().get(url).send().await.expect("an answer").status(), 404, "{path}");
    }
    let health = kit.http().get(format!("{}/health", without.control_url())).send().await.expect("an answer");
    assert_eq!(health.json::<serde_json::Value>().await.expect("JSON")["status"], json!("ok"));
}
