//! Files: the library that they are filed in, and asking customers for them.

mod library;
mod requests;

pub use library::Filed;
pub use requests::{DocumentRequest, RequestEntry, RequestedItem, Upload, Uploaded};

pub(super) use library::Library;
