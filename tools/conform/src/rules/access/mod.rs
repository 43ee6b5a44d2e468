//! Who may do and see what, over REST and MCP.

pub(super) mod keys;
pub(super) mod mcp;
pub(super) mod visibility;
