//! Answers as they were last written: the same list or conversation is asked for again and again, and little of it has
//! changed since.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::Thread;

/// How many bytes are kept; then it begins anew.
const MOST: usize = 1 << 20;

/// Texts by the number of their conversation, each with the very thread that it was written of. Whoever changes a thread
/// that someone refers to gets another place for it ([`Arc::make_mut`]), so no text is ever out of date; but
/// for the names of people and inboxes, for which it is cleared.
#[derive(Default)]
pub(super) struct Written {
    texts: HashMap<usize, (Weak<Thread>, Arc<RawValue>)>,
    bytes: usize,
}

/// A copy of a world has written nothing yet, and costs the same however much was asked for before.
impl Clone for Written {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Written {
    pub(super) fn text<T: Serialize>(
        &mut self,
        at: usize,
        thread: &Arc<Thread>,
        show: impl Fn() -> T,
    ) -> Arc<RawValue> {
        let write = || to_raw_value(&show()).unwrap_or_default();
        if let Some((of, text)) = self.texts.get(&at)
            && Weak::as_ptr(of) == Arc::as_ptr(thread)
        {
            debug_assert!(text.get() == write().get(), "what was written is out of date");
            return Arc::clone(text);
        }
        let text: Arc<RawValue> = write().into();
        self.bytes += text.get().len();
        if let Some((_, old)) = self.texts.insert(at, (Arc::downgrade(thread), Arc::clone(&text))) {
            self.bytes -= old.get().len();
        }
        if self.bytes > MOST {
            self.clear();
        }
        text
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_mebibyte_is_kept() {
        let json = r#"{ "id": "cnv_1", "mailbox": "mbx_1", "subject": "", "contact": { "name": null, "email": null }, "timeline": [] }"#;
        let thread: Arc<Thread> = Arc::new(serde_json::from_str(json).expect("a thread"));
        let (long, short) = ("x".repeat(MOST), "y".repeat(999));
        let mut written = Written::default();
        for at in 0..3_000 {
            written.text(at, &thread, || &short);
            let bytes: usize = written.texts.values().map(|(_, text)| text.get().len()).sum();
            assert!(bytes == written.bytes && bytes <= MOST);
        }
        assert_eq!(written.text(0, &thread, || &long).get().len(), MOST + 2, "too long to be kept");
        assert_eq!((written.texts.len(), written.bytes), (0, 0));
    }
}
