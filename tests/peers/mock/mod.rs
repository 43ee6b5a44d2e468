//! The mock server against other people's programs.

#[path = "../../../mock-server/tests/it/mcp/calls.rs"]
mod calls;
mod console;
mod generated_clients;
mod mcp_clients;
mod openapi;
mod schemathesis;
mod worlds;

/// Returns the OpenAPI document of the service.
fn openapi() -> String {
    let file = shared_inbox_tests::root().join("mock-server/documents/openapi.json");
    std::fs::read_to_string(file).expect("the document")
}
