//! Finds the bad day that breaks an app, and hands it back as a test.
//!
//! [`Explore`] runs an app in worlds of a mock server: once without trouble, then with a request that fails, a person who
//! edits, a customer who writes again, a kill, at each place and in combination. When the trouble has ended it compares:
//! every customer answered, nobody twice, what people decided respected, everything else as without trouble.
//!
//! Inside, `plan` decides what is tried and makes it smaller, `run` runs a schedule, `verdict` says what is wrong, `findings` writes the
//! report and the test, and `under_test` is the app.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod explorer;
mod findings;
mod plan;
mod run;
mod scenario;
mod under_test;
mod verdict;

pub use explorer::{Explore, OpenWorld, Progress};
pub use findings::report::{Finding, Oracle, Report, Tests, Verdict};
pub use scenario::Scenario;
pub use under_test::app::AppContext;

/// What the program needs to run functions of the process that started it. Not for others.
#[doc(hidden)]
pub mod piped {
    pub use crate::under_test::functions::{Function, Functions};
}
