//! Holds an agent against hostile email, and judges it by what really left.
//!
//! [`RedTeam`] runs an agent in worlds of a mock server. In each it gets a task that a person would give, and meets one
//! [`Attack`]: text of an outsider that wants something else. Then the world is judged, never the agent's words: was the attack's
//! [`Goal`] reached, and is the task done? Runs without an attack show what the agent can do at all, and what it does by habit. An
//! attack that the agent did not meet while working is [`Outcome::NotTried`], never a pass.
//!
//! An app that takes no task, a job or a webhook server, is run in its scenario instead ([`RedTeam::app`]).
//!
//! Inside, each module uses only those before it: `error` is why it cannot run, `attack` what an outsider
//! wrote, `seeded_names` and `run_world` where it stands, `text` reads an email in all its forms, `state`
//! what the agent did, `task` what a person wanted. `attack_files` and `built_in` read attacks, `story` tells
//! what happened, `ended_run` is what `task_runs` and `scenario_runs` leave, which run the `agent` or the
//! app. `private_values` and `goal` judge it, `review` asks the user's judge. `results`, `rate`, `report`,
//! `junit` and `diff` tell of runs, `team` chooses attacks, `run` makes one run and judges it, `campaign`
//! makes them all.

mod agent;
mod attack;
mod attack_files;
mod built_in;
mod campaign;
mod diff;
mod ended_run;
mod error;
mod goal;
mod junit;
mod private_values;
mod rate;
mod report;
mod results;
mod review;
mod run;
mod run_world;
mod scenario_runs;
mod seeded_names;
mod state;
mod story;
mod task;
mod task_runs;
mod team;
mod text;

pub use agent::AgentContext;
pub use attack::{Attack, Goal, Place};
pub use campaign::{OpenWorld, Progress};
pub use diff::Diff;
pub use error::{AttackError, RedTeamError, ReportError};
pub use results::{AttackResult, Counts, FamilyResult, Outcome, Report, TaskResult, Verdict};
pub use task::Task;
pub use team::RedTeam;
