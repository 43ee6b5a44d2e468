//! Two tools that run an app on the shared-inbox API in worlds of the mock server, and judge what it left
//! behind.
//!
//! [`explore`] finds the schedule of failures, people and customers that breaks an app, and the shortest test that replays it.
//! [`redteam`] holds an agent against hostile email. Both start the app with [`process`], which depends on neither; `redteam` runs scenarios of
//! `explore`.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod explore;
pub mod process;
pub mod redteam;
