//! The rules of the mock server, each proved from outside. One binary, so that it is linked once.

mod audit_fields;
mod audit_lists;
mod audit_order;
mod audit_refusals;
mod authentication;
mod connection;
mod control;
mod conversations;
mod faults;
mod generated_clients;
mod guard;
mod kit;
mod library;
mod mcp;
mod openapi;
mod paths;
mod private_mail;
mod program;
mod replies;
mod sandbox;
mod schemathesis;
mod team;
mod time;
mod webhooks;
mod world;
mod worlds;
