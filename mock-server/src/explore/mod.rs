//! Finds the bad day that breaks an app, and hands it back as a test.
//!
//! [`Explore`] runs an app in worlds of a mock server: once without trouble, then with a request that fails, a person who
//! edits, a customer who writes again, a kill, at each place and in combination. When the trouble has ended it compares:
//! every customer answered, nobody twice, what people decided respected, everything else as without trouble.
//!
//! Inside, `driver` runs a schedule, `generator` decides what is tried, `oracles` say what is wrong, `shrink` leaves out what is not
//! needed, and `write_test` writes the test.

mod app;
mod calls;
mod chance;
mod cli;
mod driver;
mod explorer;
mod functions;
mod gateway;
mod generator;
mod judge;
mod observe;
mod op;
mod oracles;
mod people;
mod pipe;
mod record;
mod report;
mod scenario;
mod schedule;
mod server;
mod session;
mod shrink;
mod state_dir;
mod step;
mod timeline;
mod world;
mod write_test;

pub use app::AppContext;
pub(crate) use cli::ExploreCli;
pub use explorer::{Explore, OpenWorld, Progress};
pub use report::{Finding, Oracle, Report, Tests, Verdict};
pub use scenario::Scenario;
