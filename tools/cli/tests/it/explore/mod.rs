#[path = "../../../../explore/tests/it/explore/apps.rs"]
#[allow(dead_code, reason = "the library's tests use all of it")]
mod apps;
mod pipe;
mod program;
