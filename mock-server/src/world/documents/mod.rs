//! Files: the library that they are filed in, what a helper reads in them, and asking customers for them.

mod library;
mod reading;
mod requests;

pub use library::FiledDocument;
pub use reading::{InboundFile, NewDocument, Reading};
pub use requests::{DocumentRequest, RequestEntry, RequestedItem, Upload, Uploaded};

pub(super) use library::Library;
pub(super) use reading::unknown_kind;
