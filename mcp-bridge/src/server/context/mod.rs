//! What a client can read beside the tools: resources, prompts, completions and skills, and the introduction in the first
//! result.

mod completions;
pub(super) mod introduction;
mod prompts;
pub(super) mod resources;
pub(super) mod skills;
