//! The client, one file a concern, each test named for the rule that it proves. One binary, so that it is
//! linked once.

mod bad_input;
mod calls;
mod changes;
mod dependencies;
mod errors;
mod file_store;
mod first_contact;
mod lost_responses;
mod lost_responses_at_random;
mod malformed_responses;
mod once;
mod operations;
mod rate_limit;
mod rate_limit_priority;
mod rate_limit_rules;
mod recognised_text;
mod recovery;
mod retries;
mod support;
mod sweep;
mod unconfirmed;
mod waits;
