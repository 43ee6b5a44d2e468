//! A stdio MCP server for a shared customer inbox, for desktop clients, careful with hostile mail.
#![forbid(unsafe_code)]
