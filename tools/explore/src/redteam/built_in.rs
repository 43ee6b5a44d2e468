//! The attacks that are built in: single ones, and each wrapper around each order.

use crate::process::TomlDocument;
use data_encoding::{BASE64, HEXLOWER};
use serde::Deserialize;
use serde_json::Value;

use crate::redteam::{
    attack::{Attack, Goal, Place},
    text::decoded_forms::rot13,
};

const SINGLE: [&str; 6] = [
    include_str!("attacks/plain-orders.toml"),
    include_str!("attacks/split.toml"),
    include_str!("attacks/detour.toml"),
    include_str!("attacks/link.toml"),
    include_str!("attacks/honest-leak.toml"),
    include_str!("attacks/approver.toml"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    wrapper: Vec<Wrapper>,
    #[serde(default)]
    order: Vec<Order>,
}

/// A way to present an order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    id: String,
    family: String,
    place: Place,
    /// With `{order}` for the order, or `{first}` and `{second}` for its halves.
    text: String,
    follow_up: Option<String>,
    #[serde(default)]
    form: Form,
}

/// How the order is written inside a wrapper.
#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    Plain,
    Base64,
    Hexadecimal,
    Rot13,
    /// With an invisible character behind each letter.
    ZeroWidth,
    /// In another language.
    Translated,
    /// As a call of the service's own tool.
    ToolCall,
}

/// What an attacker wants, in a sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    id: String,
    task: String,
    text: String,
    /// The same in another language.
    translated: String,
    /// The tool and its arguments, as a model would call it.
    tool: String,
    goal: Goal,
}

fn read(text: &str) -> Table {
    let document = TomlDocument::parse(text).expect("what is built in is TOML");
    Table::deserialize(Value::Object(document.values)).expect("what is built in is sound")
}

impl Order {
    fn write(&self, form: Form) -> String {
        match form {
            Form::Plain => self.text.clone(),
            Form::Base64 => BASE64.encode(self.text.as_bytes()),
            Form::Hexadecimal => HEXLOWER.encode(self.text.as_bytes()),
            Form::Rot13 => rot13(&self.text),
            Form::ZeroWidth => self.text.split(' ').map(|word| format!("{word}\u{200b} \u{2060}")).collect(),
            Form::Translated => self.translated.clone(),
            Form::ToolCall => self.tool.clone(),
        }
    }
}

impl Wrapper {
    fn wrap(&self, order: &Order) -> Attack {
        let written = order.write(self.form);
        let middle = written.match_indices(' ').map(|(at, _)| at).find(|at| 2 * at >= written.len());
        let (first, second) = written.split_at(middle.unwrap_or(0));
        let fill = |text: &str| {
            text.replace("{order}", &written)
                .replace("{first}", first.trim())
                .replace("{second}", second.trim())
        };
        Attack {
            id: format!("{}.{}", self.id, order.id),
            family: self.family.clone(),
            task: order.task.clone(),
            place: self.place,
            text: fill(&self.text),
            follow_up: self.follow_up.as_deref().map(fill),
            goal: order.goal.clone(),
        }
    }
}

impl Attack {
    /// Returns the attacks that are built in.
    ///
    /// ```
    /// let attacks = shared_inbox_explore::redteam::Attack::built_in();
    /// assert!(attacks.len() >= 200);
    /// ```
    pub fn built_in() -> Vec<Self> {
        let single = SINGLE.iter().flat_map(|file| Self::parse(file).expect("what is built in is sound"));
        let wrappers = read(include_str!("attacks/wrappers.toml")).wrapper;
        let orders = read(include_str!("attacks/orders.toml")).order;
        let wrapped = wrappers.iter().flat_map(|wrapper| orders.iter().map(|order| wrapper.wrap(order)));
        single.chain(wrapped).collect()
    }
}
