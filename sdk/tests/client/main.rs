//! The client, one file a concern, each test named for the rule that it proves. One binary, so that it is linked once.

mod bad_input;
mod calls;
mod changes;
mod dependencies;
mod errors;
mod first_contact;
mod lost_responses;
mod lost_responses_at_random;
mod malformed_responses;
mod operations;
mod rate_limit;
mod rate_limit_priority;
mod recovery;
mod retries;
mod support;
mod sweep;
mod waits;
