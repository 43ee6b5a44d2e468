//! Patterns, in faults and expectations alike: a star stands for any run of characters.

use serde_json::json;
use shared_inbox_mock::{Expectation, MockServer};

use crate::kit::Kit;

#[tokio::test]
async fn a_star_stands_for_any_run_of_characters() {
    let matching =
        [("*", " "), ("a*", "abc"), ("*c", "abc"), ("a*c*e", "abcde"), ("a**b", "ab"), ("abc", "abc")];
    let others = [("a*b", "a"), ("ab*ba", "aba"), ("abc", "abcd"), ("*x*", "abc"), ("", "a")];
    for (pattern, text, expected) in
        matching.map(|(p, t)| (p, t, 1)).into_iter().chain(others.map(|(p, t)| (p, t, 0)))
    {
        let kit = Kit::over(MockServer::builder().manual_clock().empty().start().await).await;
        let id = kit.mail("vera@customer.example", "Hello").await;
        kit.live().act(&id, "notes", json!({ "body": text })).await;
        let noted = Expectation::requests().field("body.body", pattern).times(expected);
        kit.mock.control().expect(noted).await.unwrap_or_else(|error| panic!("{pattern} {text}: {error:?}"));
    }
}
