//! The entries of lists as they were last written: the same list is asked for again and again, and little of it has
//! changed since.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use serde_json::value::RawValue;

use super::Thread;

/// How many are kept; then it begins anew.
const MOST: usize = 1_000;

/// Entries by the number of their conversation, each with the very thread that it was written of. Whoever changes a
/// thread that someone refers to gets another place for it ([`Arc::make_mut`]), so none is ever out of date; but for the
/// names of people and inboxes, for which it is cleared.
#[derive(Default)]
pub(super) struct Written(HashMap<usize, (Weak<Thread>, Arc<RawValue>)>);

/// A copy of a world has written nothing yet, and costs the same however much was listed before.
impl Clone for Written {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Written {
    pub(super) fn entry(
        &mut self,
        at: usize,
        thread: &Arc<Thread>,
        write: impl Fn() -> Box<RawValue>,
    ) -> Arc<RawValue> {
        if let Some((of, entry)) = self.0.get(&at)
            && Weak::as_ptr(of) == Arc::as_ptr(thread)
        {
            debug_assert!(entry.get() == write().get(), "an entry of a list is out of date");
            return Arc::clone(entry);
        }
        if self.0.len() >= MOST {
            self.clear();
        }
        let entry: Arc<RawValue> = write().into();
        self.0.insert(at, (Arc::downgrade(thread), Arc::clone(&entry)));
        entry
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_thousand_are_kept() {
        let json = r#"{ "id": "cnv_1", "mailbox": "mbx_1", "subject": "", "contact": { "name": null, "email": null }, "timeline": [] }"#;
        let thread: Arc<Thread> = Arc::new(serde_json::from_str(json).expect("a thread"));
        let mut written = Written::default();
        for at in 0..3 * MOST {
            written.entry(at, &thread, Box::default);
            assert!(written.0.len() <= MOST);
        }
    }
}
