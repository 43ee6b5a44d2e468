//! Worlds to start from: a document, checked and prepared, or the demo workspace.

mod check;
mod demo;
mod prepare;
