//! The explorer as a program, and over a pipe. The apps that it is held against stand with the library, in `explore/tests`.

#[path = "../../../explore/tests/explore/apps.rs"]
#[allow(dead_code, reason = "the library's tests use all of it")]
mod apps;
mod pipe;
mod program;
