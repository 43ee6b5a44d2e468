//! Documents: the library, the findings of the reading helper, and document requests.

mod library;
mod reading;
mod requests;

pub(crate) use library::FiledDocument;
pub use reading::{DocumentReading, InboundFile, NewDocument};
pub(crate) use requests::DocumentRequest;
pub use requests::{DocumentRequestEntry, Upload, UploadResult};

pub(super) use library::Library;
pub(super) use reading::unknown_kind;
