//! The program from outside: what it takes, what it says, how it ends.

mod conform;
mod copied;
#[rustfmt::skip]
mod copied_tests;
mod doors;
mod pages;
mod program;
