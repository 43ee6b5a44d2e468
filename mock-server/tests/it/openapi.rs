//! The OpenAPI document: complete, valid by two linters that share no code, and as reviewed.

use std::process::Command;

use serde_json::{Value, json};
use shared_inbox::{
    __spec::Operation,
    event::{Event, EventKind},
};
use shared_inbox_tests::peers;

use crate::{generated_clients::run, kit::Kit};

/// Holds a document against both linters, one of them with this set of rules.
pub(crate) fn lint(document: &Value, rules: &str) {
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    std::fs::write(file.path(), document.to_string()).expect("it is written");
    if let Some(python) = peers::python(&["openapi-spec-validator==0.9.0"]) {
        let mut validator = Command::new(python);
        run(validator.args(["-m", "openapi_spec_validator"]).arg(file.path()), "openapi-spec-validator");
    }
    if let (Some(node), Some(modules)) = (peers::node22(), peers::npm(&["@redocly/cli@2.73.0"])) {
        let mut redocly = Command::new(node);
        redocly.arg(modules.join("@redocly/cli/bin/cli.js")).arg("lint").arg(format!("--extends={rules}"));
        redocly.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
        run(redocly.arg(file.path()), "redocly");
    }
}

#[tokio::test]
#[ignore = "needs Python and Node"]
async fn the_document_is_valid_by_two_linters_with_every_recommended_rule_as_an_error() {
    lint(Kit::start().await.document().value(), "recommended-strict");
}

#[tokio::test]
async fn the_document_is_as_reviewed() {
    let kit = Kit::start().await;
    let mut document = kit.document().value().clone();
    assert_eq!(document["servers"][0]["url"], kit.mock.base_url());
    document["servers"][0]["url"] = "/api/v1".into();
    let reviewed: Value =
        serde_json::from_str(include_str!("../../documents/openapi.json")).expect("a document");
    assert!(document == reviewed, "it is not documents/openapi.json");
}

#[tokio::test]
async fn every_operation_stands_in_it_with_its_errors_and_examples() {
    let kit = Kit::start().await;
    let document = kit.document().value();
    for &operation in Operation::KNOWN {
        let described = &document["paths"][operation.path()][operation.method().as_str().to_lowercase()];
        for words in ["operationId", "summary", "description"] {
            assert!(described[words].as_str().is_some_and(|text| !text.is_empty()), "{operation:?}: {words}");
        }
        assert_eq!(described["security"][0]["apiKey"][0], operation.scope().as_str());
        let responses = described["responses"].as_object().expect("responses");
        let mut expected = vec![operation.success().to_string()];
        expected.extend(["401", "403", "429", "500"].map(str::to_owned));
        let input = !operation.fields().is_empty();
        let about_a_conversation = operation.takes_conversation() || operation == Operation::SandboxInbound;
        expected.extend(input.then(|| "400".to_owned()));
        expected.extend(about_a_conversation.then(|| "404".to_owned()));
        for status in expected {
            let response = &responses[&status];
            let shared =
                response["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
            let response = shared.unwrap_or(response);
            let described = response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{operation:?} {status}");
            let example = &response["content"]["application/json"]["example"];
            assert!(!example.is_null(), "{operation:?} {status}");
        }
    }
}

#[tokio::test]
async fn every_kind_of_event_stands_in_it_with_an_example_that_fits() {
    let kit = Kit::start().await;
    let document = kit.document();
    let webhooks = document.value()["webhooks"].as_object().expect("webhooks");
    let mut kinds: Vec<&str> = webhooks.keys().map(String::as_str).collect();
    let mut expected = EventKind::TYPES.to_vec();
    kinds.sort_unstable();
    expected.sort_unstable();
    assert_eq!(kinds, expected);
    for (kind, webhook) in webhooks {
        let example = &webhook["post"]["requestBody"]["content"]["application/json"]["example"];
        assert_eq!(example["type"], kind.as_str());
        document.check_event(example);
        let typed: Event = serde_json::from_value(example.clone()).expect("an event");
        assert!(!matches!(typed.kind, EventKind::Unknown(_)));
        let mut wrong = example.clone();
        wrong["data"].as_object_mut().expect("an object").remove("summary");
        assert!(!document.allows_event(&wrong), "{kind} without a summary");
        let mut wrong = example.clone();
        wrong["data"] = json!({ "summary": "x" });
        assert!(!document.allows_event(&wrong), "{kind} without its own fields");
    }
}
