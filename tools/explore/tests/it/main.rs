//! The explorer, the red team, and how both start what they test.

mod explore;
mod process;
mod redteam;
