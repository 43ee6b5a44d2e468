//! How much one result may carry: fields are shortened, then items left out, and never an item cut in the
//! middle.

use std::ops::Range;

use serde_json::Value;

/// Which end of a list matters most, and is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The first items: lists come newest first.
    First,
    /// The last items: a timeline ends with the latest.
    Last,
}

/// The size of an item: characters of its text rendering, and of its JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) text: usize,
    pub(crate) json: usize,
}

impl Size {
    fn measure(text: &str, json: &Value) -> Self {
        // One more for the comma between items.
        Self { text: chars(text), json: chars(&json.to_string()) + 1 }
    }

    /// Returns what is left of `max` beside this and a note of so many characters.
    pub(crate) fn room(self, max: usize, note: usize) -> usize {
        max.saturating_sub(self.text.max(self.json) + note)
    }
}

pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// How much of each field is shown: all that its cap allows, or a part of that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale(usize);

impl Default for Scale {
    fn default() -> Self {
        Self(1)
    }
}

impl Scale {
    const ALL: [Self; 6] = [Self(1), Self(2), Self(4), Self(16), Self(64), Self(usize::MAX)];

    /// Returns what is left of a cap.
    pub(crate) fn apply(self, cap: usize) -> usize {
        cap / self.0
    }
}

pub(crate) struct Part {
    pub(crate) text: String,
    pub(crate) json: Value,
    pub(crate) size: Size,
}

impl Part {
    /// Returns the item, its fields shortened until it keeps to `limit` in both forms. One that cannot is as
    /// short as it gets.
    pub(crate) fn within(limit: usize, make: impl Fn(Scale) -> (String, Value)) -> Self {
        let mut parts = Scale::ALL.into_iter().map(|scale| {
            let (text, json) = make(scale);
            Self { size: Size::measure(&text, &json), text, json }
        });
        let mut last = parts.next().expect("there is more than one scale");
        while last.size.text > limit || last.size.json > limit {
            match parts.next() {
                Some(shorter) => last = shorter,
                None => break,
            }
        }
        last
    }
}

/// Returns what one item may take of this much room: a quarter, so that one long email does not push out the
/// others, but no less than an email of some lines needs.
pub(crate) fn share(room: usize) -> usize {
    const FEW_LINES: usize = 1_500;
    (room / 4).max(room.min(FEW_LINES))
}

/// Returns the items of a list that fit, by their places: first those that must not be missed, then the
/// others in their order.
pub(crate) fn fit_first(room: usize, items: &[Part], must: impl Fn(usize) -> bool) -> Vec<usize> {
    let (mut kept, others): (Vec<_>, Vec<_>) = (0..items.len()).partition(|place| must(*place));
    kept.extend(others);
    kept.truncate(fitting(room, kept.iter().map(|place| &items[*place])));
    kept.sort_unstable();
    kept
}

/// Returns the items that fit.
pub(crate) fn fit(room: usize, items: &[Part], keep: Keep) -> Range<usize> {
    match keep {
        Keep::First => 0..fitting(room, items.iter()),
        Keep::Last => items.len() - fitting(room, items.iter().rev())..items.len(),
    }
}

/// Returns how many items fit. A client hands a model either the text or the JSON, so each has to fit by
/// itself.
fn fitting<'a>(room: usize, items: impl Iterator<Item = &'a Part>) -> usize {
    let (mut text, mut json) = (0, 0);
    let fits = |part: &&Part| {
        text += part.size.text;
        json += part.size.json;
        text <= room && json <= room
    };
    items.take_while(fits).count()
}
