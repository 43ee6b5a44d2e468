#[path = "../../../../explore/tests/it/redteam/agents.rs"]
#[allow(dead_code, reason = "the library's tests use all of it")]
mod agents;
mod program;
