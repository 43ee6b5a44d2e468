//! The explorer: small apps with one fault each, which it finds, and correct ones, in which it finds nothing.

mod apps;
mod correct;
mod other_languages;
mod planted;
mod program;
