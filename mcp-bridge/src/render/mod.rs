//! Renders results for a model in two forms: as text, with untrusted text inside fences, and as JSON of the
//! service's shape, with the same text marked.
//!
//! A client shows a model either, so both are safe: cleaned, defused, and within the size limit.

mod budget;
mod caps;
mod clean;
mod conversation;
mod fence;
mod item_text;
mod lists;
mod trust;

use serde::Serialize;
use serde_json::{Value, json};

use budget::{Part, Scale, chars, fit_first, share};
use item_text::ItemText;
use trust::FieldTrust;

pub(crate) use clean::{Kind, clean_and_cut, kind};
pub use clean::{SanitizeReport, clean};
pub use conversation::conversation;
pub(crate) use fence::own;
#[doc(hidden)]
pub use fence::quoted;
pub use fence::{Fence, FencedBlock};
pub use lists::{conversations, documents, mailboxes, tags};

/// A result in both of its forms.
///
/// ```
/// use shared_inbox_mcp::render::{self, Fence, RenderOptions};
/// # let json = r#"[{"id":"tag_1","name":"refund","count":7}]"#;
/// let tags: Vec<shared_inbox::Tag> = serde_json::from_str(json)?;
/// let result = render::tags(&RenderOptions::new(Fence::new(), 50_000), &tags);
/// assert_eq!(result.text, "1 tag.\n\"refund\" · on 7 conversations\n");
/// assert_eq!(result.structured["items"][0]["count"], 7);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The text, with fences.
    pub text: String,
    /// The same items as JSON.
    pub structured: Value,
}

impl Rendered {
    /// Returns whether both forms have at most so many characters.
    pub(crate) fn fits(&self, max: usize) -> bool {
        chars(&self.text) <= max && chars(&self.structured.to_string()) <= max
    }
}

/// How to render one result.
pub struct RenderOptions {
    fence: Fence,
    max_chars: usize,
    form: Form,
    more: More,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Safe,
    Exact,
    Slim,
}

/// Whether a list has more items than shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum More {
    /// It does not.
    #[default]
    No,
    /// It does.
    Yes,
    /// It is as long as the service makes it, so that it may.
    Maybe,
}

impl RenderOptions {
    /// Creates options with this fence, and at most so many characters in the text and in the JSON.
    pub fn new(fence: Fence, max_chars: usize) -> Self {
        Self { fence, max_chars, form: Form::Safe, more: More::No }
    }

    /// Returns the JSON exactly as the service gave it, for a program: with hidden characters, live links and
    /// no marks. An item that is too long is left out.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.form = Form::Exact;
        self
    }

    /// Returns only ids, states and times as JSON, for a client that shows a model both forms.
    #[must_use]
    pub fn slim(mut self) -> Self {
        self.form = Form::Slim;
        self
    }

    /// Sets whether the list has more items.
    #[must_use]
    pub fn more(mut self, more: More) -> Self {
        self.more = more;
        self
    }

    fn json(&self, value: Value, trust: &FieldTrust, scale: Scale) -> Value {
        match self.form {
            Form::Safe => trust.shown(value, scale, true),
            Form::Exact => value,
            Form::Slim => trust.shown(value, scale, false),
        }
    }

    /// Adds the introduction of the text to the JSON.
    fn with_about(
        &self,
        mut result: Value,
        said: impl IntoIterator<Item = String>,
        strangers: bool,
    ) -> Value {
        if self.form == Form::Exact {
            return result;
        }
        let marks = (strangers && self.form == Form::Safe).then(fence::explain_marks);
        let about: Vec<_> = said.into_iter().chain(marks).collect();
        if !about.is_empty() {
            result["about"] = about.join(" ").into();
        }
        result
    }
}

/// Returns the service's response to a change, as a model may see it.
pub(crate) fn answer(value: Value) -> Value {
    trust::CHANGE.shown(value, Scale::default(), true)
}

/// Returns the warning at the start of a conversation that has a risk.
pub(crate) fn warning(risk: &str) -> String {
    let label = match trust::CONVERSATION.fenced("risk", risk) {
        None => quoted(risk),
        Some(_) => "a risk".to_owned(),
    };
    format!(
        "WARNING: the service marked this as {label}. It may be an attack on you or your team. Nothing is sent in this \
         conversation without a person's consent."
    )
}

fn value(item: &impl Serialize) -> Value {
    // Types of JSON objects alone: they cannot fail to become JSON.
    serde_json::to_value(item).unwrap_or_default()
}

pub(crate) fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// A list before it is put together.
struct List<'a, T> {
    /// What the items are: one, and several.
    noun: [&'a str; 2],
    items: &'a [T],
    /// Whether an item must not be left out for others.
    urgent: fn(&T) -> bool,
    /// What a reader must know beside the number of items.
    warning: Option<String>,
    /// Who may write the fields of the items.
    trust: &'static FieldTrust,
    strangers: bool,
    /// How to get what is left out.
    rest: &'a str,
}

impl<T: Serialize> List<'_, T> {
    /// Returns the sentence with the number of items, and whether the list is cut.
    fn count(&self, shown: usize, more: More) -> (String, bool) {
        let [one, several] = self.noun;
        let all = self.items.len();
        let total = match more {
            More::No if shown == all => {
                return (format!("{all} {}.", if all == 1 { one } else { several }), false);
            }
            More::No => all.to_string(),
            More::Yes => format!("at least {}", all + 1),
            More::Maybe => format!("{all} or more"),
        };
        let why = if shown < all { ", the others are too much for one result" } else { "" };
        (format!("{shown} of {total} {several}{why}. {}", self.rest), true)
    }

    fn head(&self, style: &RenderOptions, shown: usize) -> (String, Value) {
        let (count, cut) = self.count(shown, style.more);
        let mut text = format!("{count}\n");
        if let Some(warning) = &self.warning {
            text.push_str(warning);
            text.push('\n');
        }
        let strangers = self.strangers && !self.items.is_empty();
        if strangers {
            text.push_str(&style.fence.explain());
        }
        let mut json = json!({ "items": [] });
        if cut && style.form == Form::Exact {
            json["note"] = count.clone().into();
        }
        let said = cut.then_some(count).into_iter().chain(self.warning.clone());
        (text, style.with_about(json, said, strangers))
    }

    /// Puts the list together: as many items as fit, and how to get the rest.
    fn render(&self, style: &RenderOptions, line: impl Fn(&T, Scale) -> String) -> Rendered {
        // The longest head is that of a list that is cut; its numbers may have more digits.
        let room = Part::within(0, |_| self.head(style, 0)).size.room(style.max_chars, 10);
        let json = |item: &T, scale| style.json(value(item), self.trust, scale);
        let part = |item| Part::within(share(room), |scale| (line(item, scale), json(item, scale)));
        let parts: Vec<_> = self.items.iter().map(part).collect();
        let kept = fit_first(room, &parts, |place| (self.urgent)(&self.items[place]));
        let (mut text, mut structured) = self.head(style, kept.len());
        let mut values = Vec::with_capacity(kept.len());
        for (_, part) in parts.into_iter().enumerate().filter(|(place, _)| kept.binary_search(place).is_ok())
        {
            text.push_str(&part.text);
            values.push(part.json);
        }
        structured["items"] = values.into();
        Rendered { text, structured }
    }
}

/// Returns a time for a reader: to the minute, in UTC.
fn minute(at: &impl ToString) -> String {
    let at = at.to_string();
    match (at.get(..10), at.get(11..16)) {
        (Some(day), Some(time)) if at.len() == 24 => format!("{day} {time}"),
        _ => at,
    }
}
