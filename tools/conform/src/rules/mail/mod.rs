//! Everything that mails a customer or comes from one.

pub(super) mod app_mail;
pub(super) mod document_requests;
pub(super) mod replies;
pub(super) mod sending;
pub(super) mod threading;
