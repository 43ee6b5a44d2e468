//! One file a story: what a team does with all the parts at once.

mod app_mail;
mod bridge;
mod documents;
mod lost_answer;
mod outage;
mod receiver;
mod refund;
mod sandbox;
mod worlds;
