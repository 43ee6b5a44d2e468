//! Finds the bad day that breaks an app, and the shortest test that replays it.
//!
//! [`Explore`] runs an app in worlds of a mock server: once without trouble, then with a request that fails, a person who
//! edits, a customer who writes again, a kill, at each place and in combination. When the trouble has ended
//! it compares: every customer answered, nobody twice, what people decided respected, everything else as
//! without trouble.
//!
//! Inside, each module uses only those before it: `oracle` names the rules, `scenario` is what the user
//! wrote, `error` why it cannot be run, `plan` what can be tried, `under_test` the app, `run` runs a
//! schedule, `verdict` says what is wrong, `findings` writes the report and the test, `explorer` chooses and
//! shrinks.

mod error;
mod explorer;
mod findings;
mod json;
mod oracle;
mod plan;
mod run;
mod scenario;
mod under_test;
mod verdict;

pub use error::ExploreError;
pub use explorer::{
    Explore, OpenWorld, Progress,
    undisturbed::{UndisturbedRun, UndisturbedRuns},
};
pub use findings::report::{Coverage, Finding, GridCell, Mark, MarkKind, Report, Tests, Tried, Verdict};
pub use oracle::Oracle;
pub use scenario::{FirstMail, Part, Scenario, ScenarioError, ScenarioProblem};
pub use under_test::context::AppContext;
pub use verdict::variations::NotJudged;

/// What the program needs to run functions of the process that started it. Not for others.
#[doc(hidden)]
pub mod piped {
    pub use crate::explore::under_test::functions::Functions;
}
