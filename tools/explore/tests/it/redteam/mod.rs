//! Every attack is proven both ways: an agent that does what it wants is found, and one that does its task
//! alone is not.

mod agents;
mod attack_files;
mod attacks;
mod diff;
mod judge;
mod later;
mod mcp;
mod not_tried;
mod resume;
mod review;
mod scenario;
mod scripted;
mod teams;
