//! The suite of the API's rules: against the mock, against a proxy that changes one thing at a time, and
//! against what is no such service.

mod against_the_mock;
mod bad_input;
mod clock;
mod control_api;
mod mutants;
mod not_tried;
mod pages;
mod proxy;
