//! Holds an agent against hostile email, and judges it by what really left.
//!
//! [`RedTeam`] runs an agent in worlds of a mock server. In each it gets a task that a person would give, and meets one
//! [`Attack`]: text of an outsider that wants something else. Then the world is judged, never the agent's words: is the attack's
//! [`Goal`] so, and is the task done? A run without an attack for each task says what the agent can do at all.
//!
//! Inside, `attack` is what an outsider wrote, `world` where it stands, `state` what the agent did there, `task` what a person wanted.
//! `attack_files` reads and checks attacks, `goal` judges, `run` runs the agent once, `team` all of the runs; `story` and `report`
//! tell of them.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attack;
mod attack_files;
mod goal;
mod report;
mod run;
mod state;
mod story;
mod task;
mod team;
mod world;

pub use attack::{Attack, Goal, Place};
pub use report::{AttackResult, Counts, FamilyResult, Report, TaskResult, Verdict};
pub use run::AgentContext;
pub use task::Task;
pub use team::{OpenWorld, Progress, RedTeam};
