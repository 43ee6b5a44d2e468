//! The OpenAPI documents are valid by two linters that share no code.

use std::process::Command;

use shared_inbox_tests::{peers, root};

use super::generated_clients::run;

/// Holds a document against both linters, one of them with this set of rules.
fn lint(document: &str, rules: &str) {
    let file = root().join("mock-server/documents").join(document);
    let mut validator = Command::new(peers::python(&["openapi-spec-validator==0.9.0"]));
    run(validator.args(["-m", "openapi_spec_validator"]).arg(&file), "openapi-spec-validator");
    let modules = peers::npm(&["@redocly/cli@2.73.0"]);
    let mut redocly = Command::new(peers::node22());
    redocly.arg(modules.join("@redocly/cli/bin/cli.js")).arg("lint").arg(format!("--extends={rules}"));
    redocly.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    run(redocly.arg(&file), "redocly");
}

#[test]
fn the_document_of_the_service_is_valid_with_every_recommended_rule_as_an_error() {
    lint("openapi.json", "recommended-strict");
}

#[test]
fn the_document_of_the_control_api_is_valid() {
    lint("control.json", "recommended");
}
