//! Files: the library that they are filed in, what a helper reads in them, and asking customers for them.

mod library;
mod reading;
mod requests;

pub(crate) use library::FiledDocument;
pub use reading::{InboundFile, NewDocument, Reading};
pub(crate) use requests::DocumentRequest;
pub use requests::{RequestEntry, Upload, Uploaded};

pub(super) use library::Library;
pub(super) use reading::unknown_kind;
