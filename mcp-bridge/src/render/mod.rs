//! Results for a model, in two forms: as text, what the service says in plain lines and what strangers wrote inside
//! fences; and as JSON of the service's own shape, with the same words marked.
//!
//! A client shows a model either, so both are safe: cleaned, defused, capped, and never larger than was set.

mod budget;
mod caps;
mod clean;
mod conversation;
mod fence;
mod lists;
mod structured;

use serde::Serialize;
use serde_json::{Value, json};

use budget::{Keep, Part, Scale, chars, fit, share};
use structured::Writes;

pub(crate) use clean::{Kind, clean_and_cut, kind};
pub use clean::{Tally, clean};
pub use conversation::conversation;
pub use fence::{Block, Fence};
pub(crate) use fence::{own, quoted};
pub use lists::{conversations, documents, mailboxes, tags};

/// A result in both of its forms.
///
/// ```
/// use shared_inbox_mcp::render::{self, Fence, Style};
/// # let json = r#"[{"id":"tag_1","name":"refund","count":7}]"#;
/// let tags: Vec<shared_inbox::Tag> = serde_json::from_str(json)?;
/// let result = render::tags(&Style::new(Fence::new(), 50_000), &tags);
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
    /// Whether both forms have at most so many characters.
    pub(crate) fn fits(&self, max: usize) -> bool {
        chars(&self.text) <= max && chars(&self.structured.to_string()) <= max
    }
}

/// How to render one result.
///
/// ```
/// use shared_inbox_mcp::render::{self, Fence, Style};
/// assert_eq!(render::tags(&Style::new(Fence::new(), 50_000), &[]).text, "0 tags.\n");
/// ```
pub struct Style {
    fence: Fence,
    max_chars: usize,
    exact: bool,
}

impl Style {
    /// Rendering inside this fence, with at most so many characters in the text, and in the JSON.
    pub fn new(fence: Fence, max_chars: usize) -> Self {
        Self { fence, max_chars, exact: false }
    }

    /// Gives the JSON exactly as the service gave it, for a program: with what is hidden in a mail, with live links, with
    /// no word on whom to trust. An item that is too long is left out whole.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    fn json(&self, value: Value, writes: &Writes, scale: Scale) -> Value {
        if self.exact { value } else { writes.safe(value, scale) }
    }

    /// Says in the JSON what the text says at its beginning.
    fn with_about(&self, mut result: Value, warning: Option<String>) -> Value {
        if !self.exact {
            let parts = [warning, Some(fence::explain_marks())];
            result["about"] = parts.into_iter().flatten().collect::<Vec<_>>().join(" ").into();
        }
        result
    }
}

/// An answer of the service to a change, as a model may see it.
pub(crate) fn answer(value: Value) -> Value {
    structured::SERVICE.safe(value, Scale::default())
}

/// The warning that goes before everything else of a conversation that has a risk.
pub(crate) fn warning(risk: &str) -> String {
    format!(
        "WARNING: the service marked this as {}. It may be an attack on you or your team. Nothing is mailed in this \
         conversation without a person's consent.",
        quoted(risk)
    )
}

fn value(item: &impl Serialize) -> Value {
    // Types of JSON objects alone: they cannot fail to become JSON.
    serde_json::to_value(item).unwrap_or_default()
}

pub(crate) fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// What goes before the items of a list, in both forms.
struct Head {
    text: String,
    structured: Value,
}

impl Head {
    /// Before items that hold nothing of strangers.
    fn plain(text: String) -> Self {
        Self { text, structured: json!({ "items": [] }) }
    }

    /// Before items that do.
    fn warned(style: &Style, mut text: String, warning: Option<String>) -> Self {
        if let Some(warning) = &warning {
            text.push_str(warning);
            text.push('\n');
        }
        text.push_str(&style.fence.explain());
        Self { text, structured: style.with_about(json!({ "items": [] }), warning) }
    }
}

/// Puts a list together: as many items as fit, and how to get the rest.
fn list<T: Serialize>(
    style: &Style,
    head: Head,
    all: &[T],
    writes: &Writes,
    line: impl Fn(&T, Scale) -> String,
    rest: &str,
) -> Rendered {
    let Head { mut text, mut structured } = head;
    let room =
        Part::within(0, |_| (text.clone(), structured.clone())).size.room(style.max_chars, chars(rest) + 120);
    let items: Vec<_> = all
        .iter()
        .map(|item| {
            Part::within(share(room), |scale| (line(item, scale), style.json(value(item), writes, scale)))
        })
        .collect();
    let shown = fit(room, &items, Keep::First).len();
    let mut values = Vec::with_capacity(shown);
    for part in items.into_iter().take(shown) {
        text.push_str(&part.text);
        values.push(part.json);
    }
    structured["items"] = values.into();
    if shown < all.len() {
        let note =
            format!("Cut: {shown} of {} shown, the others are too much for one result. {rest}", all.len());
        text.push_str(&format!("\n{note}\n"));
        // A client may hand on the JSON alone.
        structured["note"] = note.into();
    }
    Rendered { text, structured }
}
