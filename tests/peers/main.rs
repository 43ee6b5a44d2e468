//! Tests against programs that are not ours: Node, Python, browsers, real clients, and what a newcomer meets.
//!
//! `scripts/test-peers` runs them. A test whose peer is missing fails and says what to install.
#![cfg(unix)]

mod action;
mod bridge;
mod cli;
mod conformance;
mod examples;
mod explore;
mod fixtures;
mod guides;
mod mcp;
mod mock;
mod packages;
mod readme;
mod registry;
mod run;
mod stateless_mock;
mod webhooks;
