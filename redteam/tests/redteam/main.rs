//! Every attack is proven both ways: an agent that does what it wants is found, and one that does its task alone is not.

mod agents;
mod attack_files;
mod attacks;
mod scripted;
