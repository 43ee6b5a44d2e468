//! One item as text: lines of the bridge's own, and a fenced block below them.

use super::{Fence, FencedBlock, budget::Scale, fence::quoted, trust::FieldTrust};

/// The text of one item. The table says where each field stands.
pub(super) struct ItemText {
    trust: &'static FieldTrust,
    pub(super) own: String,
    pub(super) block: FencedBlock,
}

impl ItemText {
    pub(super) fn new(trust: &'static FieldTrust, own: String, scale: Scale) -> Self {
        Self { trust, own, block: FencedBlock::scaled(scale) }
    }

    /// Shows a field: in words of the bridge's own, or by its name inside the fence.
    pub(super) fn show(&mut self, path: &str, name: &str, value: &str, words: impl FnOnce(&str) -> String) {
        match self.trust.fenced(path, value) {
            None => self.own.push_str(&words(&quoted(value))),
            Some(most) => _ = self.block.field(name, value, most),
        }
    }

    /// Shows a field inside the fence, if it is there, whoever wrote it.
    pub(super) fn fence(&mut self, path: &str, name: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.block.field(name, value, self.trust.cap(path));
        }
        self
    }

    /// Shows a text of several lines inside the fence.
    pub(super) fn text(&mut self, path: &str, text: &str) {
        self.block.text(text, self.trust.cap(path));
    }

    /// Returns the whole text.
    pub(super) fn finish(mut self, fence: &Fence) -> String {
        if !self.block.is_empty() {
            fence.write(&mut self.own, &self.block);
        }
        self.own
    }
}
