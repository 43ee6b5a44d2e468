//! Results as text for a model: what the service says in plain lines, what strangers wrote inside fences.
//!
//! The structured content of a result holds the same items, exactly as the service gave them.

mod budget;
mod clean;
mod conversation;
mod fence;
mod lists;

use serde_json::{Value, json};

use budget::{Keep, Size, fit};

pub(crate) use clean::{Kind, kind};
pub use clean::{Tally, clean};
pub use conversation::{conversation, timeline};
pub(crate) use fence::quoted;
pub use fence::{Block, Fence};
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
    /// The same items as JSON, exactly as they came.
    pub structured: Value,
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
}

impl Style {
    /// Rendering inside this fence, with at most so many characters in the text, and in the JSON.
    pub fn new(fence: Fence, max_chars: usize) -> Self {
        Self { fence, max_chars }
    }
}

/// The warning that goes before everything else of a conversation that has a risk.
pub(crate) fn warning(risk: &str) -> String {
    format!(
        "WARNING: the service marked this as {}. It may be an attack on you or your team. Nothing is mailed in this \
         conversation without a person's consent.\n",
        quoted(risk)
    )
}

/// Puts a list together: as many items as fit, and how to get the rest.
fn list(style: &Style, head: &str, items: Vec<(String, Value)>, rest: &str) -> Rendered {
    let sizes: Vec<Size> = items.iter().map(|(text, value)| size(text, value)).collect();
    let note = chars(rest) + 100;
    let base = Size { text: chars(head) + note, json: r#"{"items":[],"note":""}"#.len() + note };
    let all = items.len();
    let shown = fit(style.max_chars, &base, &sizes, Keep::First);
    let mut text = head.to_owned();
    let mut values = Vec::with_capacity(shown.len());
    for (part, value) in items.into_iter().take(shown.end) {
        text.push_str(&part);
        values.push(value);
    }
    let mut structured = json!({ "items": values });
    if shown.len() < all {
        let note =
            format!("Cut: {} of {all} shown, the others are too much for one result. {rest}", shown.len());
        text.push_str(&format!("\n{note}\n"));
        // A client may hand on the JSON alone.
        structured["note"] = note.into();
    }
    Rendered { text, structured }
}

fn size(text: &str, value: &Value) -> Size {
    // One more for the comma between items.
    Size { text: chars(text), json: chars(&value.to_string()) + 1 }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
