//! The program `shared-inbox-mock`: its pages in a browser, the tests that its console copies, and the guide
//! to its red team.

mod copied;
mod pages;
mod redteam_guide;
mod schema;
