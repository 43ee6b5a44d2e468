//! How much one result may carry, and where it is cut: between items, never inside one.

use std::ops::Range;

/// Which end of a list matters most, and is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The first items: lists come newest first.
    First,
    /// The last items: a timeline ends with the latest.
    Last,
}

/// The size of an item: characters of its text rendering, and of its JSON.
pub(crate) struct Size {
    pub(crate) text: usize,
    pub(crate) json: usize,
}

/// The items that fit. A client hands a model either the text or the JSON, so each of them has to fit by itself.
pub(crate) fn fit(max: usize, base: &Size, items: &[Size], keep: Keep) -> Range<usize> {
    let (mut text, mut json) = (base.text, base.json);
    let mut fits = |size: &Size| {
        text += size.text;
        json += size.json;
        text <= max && json <= max
    };
    match keep {
        Keep::First => 0..items.iter().take_while(|size| fits(size)).count(),
        Keep::Last => items.len() - items.iter().rev().take_while(|size| fits(size)).count()..items.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(all: &[(usize, usize)]) -> Vec<Size> {
        all.iter().map(|&(text, json)| Size { text, json }).collect()
    }

    #[test]
    fn items_are_kept_whole_while_both_forms_fit() {
        let items = sizes(&[(10, 5), (10, 5), (5, 30), (1, 1)]);
        let base = Size { text: 5, json: 2 };
        assert_eq!(fit(30, &base, &items, Keep::First), 0..2, "the third is small as text and large as JSON");
        assert_eq!(fit(35, &base, &items, Keep::Last), 2..4);
        assert_eq!(fit(1_000, &base, &items, Keep::Last), 0..4);
        assert_eq!(
            fit(1, &base, &items, Keep::First),
            0..0,
            "an item that is too large alone is left out whole"
        );
    }
}
