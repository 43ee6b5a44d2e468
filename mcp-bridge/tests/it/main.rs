//! The bridge from outside: what it makes of hostile mail, and what its program says and does.

mod config;
mod hostile;
mod packaging;
mod program;
