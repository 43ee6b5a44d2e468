//! One file a story: what a team does with all the parts at once.

mod app_mail;
mod documents;
mod outage;
mod receiver;
mod refund;
mod sandbox;
