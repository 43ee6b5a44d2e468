//! What a client can read beside the tools, and what a model is told from the start.

mod completions;
pub(super) mod introduction;
mod prompts;
pub(super) mod resources;
pub(super) mod skills;
