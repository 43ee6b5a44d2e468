//! The program from outside: what it takes, what it says, how it ends.

mod conform;
mod explore;
mod pages;
mod program;
mod redteam;
