//! `shared-inbox-mock redteam`.

#[path = "../../../explore/tests/redteam/agents.rs"]
#[allow(dead_code)]
mod agents;
mod guide;
mod program;
