//! Most clients keep their settings as JSON, with the comments and trailing commas of its owner.

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstObject, CstRootNode},
};
use serde_json::{Map, Value};

use super::{NAME, SettingsFile, entry::OURS};

pub(super) struct File {
    /// Some editors on Windows begin a file with a mark that is no JSON.
    mark: String,
    root: CstRootNode,
    section: &'static str,
}

impl File {
    pub(super) fn parse(text: &str, section: &'static str) -> Result<Self, String> {
        let (mark, text) = text.split_at(text.find(|c| c != '\u{feff}').unwrap_or(text.len()));
        let root = CstRootNode::parse(text, &SETTINGS).map_err(|error| error.to_string())?;
        Ok(Self { mark: mark.to_owned(), root, section })
    }

    /// Asks for the key in this way, unless the file does already.
    pub(super) fn ask(&mut self, input: &Value) -> Result<(), String> {
        let all = self.root.object_value_or_create().ok_or("it is not an object")?;
        let inputs = all.array_value_or_create("inputs").ok_or("`inputs` is not a list")?;
        let id = |value: &Value| value.get("id").cloned();
        if !inputs.elements().iter().filter_map(|one| one.to_serde_value()).any(|one| id(&one) == id(input)) {
            inputs.append(json(input));
        }
        Ok(())
    }
}

impl SettingsFile for File {
    fn entry(&self) -> Result<Option<Value>, String> {
        let whole = self.root.to_serde_value().unwrap_or_else(|| serde_json::json!({}));
        let whole = whole.as_object().ok_or("it is not an object")?;
        let Some(servers) = whole.get(self.section) else { return Ok(None) };
        let servers = servers.as_object().ok_or_else(|| wrong(self.section))?;
        match servers.get(NAME) {
            Some(entry) if !entry.is_object() => Err(wrong(NAME)),
            entry => Ok(entry.cloned()),
        }
    }

    fn set(&mut self, entry: &Value) -> Result<(), String> {
        let all = self.root.object_value_or_create().ok_or("it is not an object")?;
        let servers = all.object_value_or_create(self.section).ok_or_else(|| wrong(self.section))?;
        let ours = servers.object_value_or_create(NAME).ok_or_else(|| wrong(NAME))?;
        let fields = OURS.into_iter().chain(["env"]);
        fields.for_each(|name| entry.get(name).into_iter().for_each(|new| put(&ours, name, new)));
        Ok(())
    }

    fn text(&self) -> String {
        let ends_well = self.root.to_string().ends_with('\n');
        format!("{}{}{}", self.mark, self.root, if ends_well { "" } else { "\n" })
    }
}

fn wrong(what: &str) -> String {
    format!("`{what}` is not an object")
}

/// Sets a field that is different; of a list or an object, only what is different in it.
fn put(object: &CstObject, name: &str, new: &Value) {
    let Some(old) = object.get(name) else {
        _ = object.append(name, json(new));
        return;
    };
    let before = old.value().and_then(|value| value.to_serde_value());
    match (old.array_value(), old.object_value(), new) {
        _ if before.as_ref() == Some(new) => {}
        (Some(list), _, Value::Array(items)) => put_list(&list, before.as_ref(), items),
        (_, Some(object), Value::Object(fields)) => put_fields(&object, fields),
        _ => old.set_value(json(new)),
    }
}

fn put_fields(object: &CstObject, fields: &Map<String, Value>) {
    for old in object.properties() {
        let name = old.name().and_then(|name| name.decoded_value().ok());
        if name.is_some_and(|name| !fields.contains_key(&name)) {
            old.remove();
        }
    }
    fields.iter().for_each(|(name, new)| put(object, name, new));
}

fn put_list(list: &CstArray, before: Option<&Value>, items: &[Value]) {
    let before = before.and_then(Value::as_array).into_iter().flatten();
    let same = before.zip(items).take_while(|(a, b)| a == b).count();
    for gone in list.elements().into_iter().skip(same) {
        gone.remove();
    }
    items[same..].iter().for_each(|item| _ = list.append(json(item)));
}

/// What editors accept in their settings, and no more: a file with a mistake in it is for its owner to mend.
const SETTINGS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn json(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(json).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), json(value))).collect())
        }
    }
}
