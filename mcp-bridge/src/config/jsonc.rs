//! Most clients keep their settings as JSON, with the comments and trailing commas of its owner.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstRootNode},
};
use serde_json::Value;

/// What of a server is ours to set; the rest is its owner's.
const OURS: [&str; 4] = ["type", "command", "args", "env"];

/// The file with the server in this section, and with the question for the key if there is one.
pub(super) fn merge(
    text: &str,
    section: &str,
    name: &str,
    server: &Value,
    input: Option<&Value>,
) -> Result<String, String> {
    // Some editors on Windows begin a file with a mark that is no JSON.
    let (mark, text) = text.split_at(text.find(|c| c != '\u{feff}').unwrap_or(text.len()));
    let root = CstRootNode::parse(text, &SETTINGS).map_err(|error| error.to_string())?;
    let all = root.object_value_or_create().ok_or("it is not an object")?;
    if let Some(input) = input {
        let inputs = all.array_value_or_create("inputs").ok_or("`inputs` is not a list")?;
        let id = |value: &Value| value.get("id").cloned();
        let values: Vec<_> = inputs.elements().iter().filter_map(|one| one.to_serde_value()).collect();
        if !values.iter().any(|one| id(one) == id(input)) {
            inputs.append(json(input));
        }
    }
    let wrong = |what: &str| format!("`{what}` is not an object");
    let servers = all.object_value_or_create(section).ok_or_else(|| wrong(section))?;
    let ours = servers.object_value_or_create(name).ok_or_else(|| wrong(name))?;
    for field in OURS {
        match (ours.get(field), server.get(field)) {
            (Some(old), Some(new))
                if old.value().and_then(|old| old.to_serde_value()).as_ref() == Some(new) => {}
            (Some(old), Some(new)) => old.set_value(json(new)),
            (None, Some(new)) => _ = ours.append(field, json(new)),
            (Some(old), None) => old.remove(),
            (None, None) => {}
        }
    }
    Ok(format!("{mark}{root}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(text: &str) -> Result<String, String> {
        merge(text, "mcpServers", "inbox", &json!({"command": "x", "args": []}), None)
    }

    #[test]
    fn an_empty_file_gets_an_object() {
        for text in ["", "\n", "// mine\n", "{}"] {
            let after = merged(text).unwrap();
            assert!(after.starts_with(text.trim_end_matches("{}").trim_end()), "{after}");
            let value = CstRootNode::parse(&after, &SETTINGS).unwrap().to_serde_value().unwrap();
            assert_eq!(value, json!({"mcpServers": {"inbox": {"command": "x", "args": []}}}), "{text:?}");
        }
    }

    #[test]
    fn order_indentation_and_comments_stay() {
        let before = "// mine\n{\n    \"z\": 1, // last\n    \"mcpServers\": {\n        \"other\": { \"command\": \"a\\\"}b\" }, /* keep */\n    },\n}\n";
        let expected = "// mine\n{\n    \"z\": 1, // last\n    \"mcpServers\": {\n        \"other\": { \"command\": \"a\\\"}b\" }, /* keep */\n        \"inbox\": {\n            \"command\": \"x\",\n            \"args\": []\n        },\n    },\n}\n";
        assert_eq!(merged(before).unwrap(), expected);
    }

    #[test]
    fn windows_files_stay_windows_files() {
        let after = merged("\u{feff}{\r\n  \"a\": 1\r\n}\r\n").unwrap();
        assert!(after.starts_with("\u{feff}{\r\n") && !after.replace("\r\n", "").contains('\n'), "{after:?}");
    }

    #[test]
    fn setting_it_again_changes_nothing_more() {
        let once = merged("{\"a\": []}").unwrap();
        assert_eq!(merged(&once).unwrap(), once);
    }

    #[test]
    fn settings_of_the_owner_in_our_entry_stay() {
        let before = "{\"mcpServers\": {\"inbox\": {\"command\": \"old\", \"env\": {\"K\": \"v\"}, \"disabled\": true}}}";
        let after: Value = serde_json::from_str(&merged(before).unwrap()).unwrap();
        let expected = json!({"command": "x", "args": [], "disabled": true});
        assert_eq!(after["mcpServers"]["inbox"], expected, "what is not needed any more is gone");
    }

    #[test]
    fn a_file_with_a_mistake_is_refused_and_the_place_named() {
        let wrong = |text: &str| merged(text).unwrap_err();
        assert!(wrong("{\n\"a\" 1}").contains("line 2"), "{}", wrong("{\n\"a\" 1}"));
        for text in ["{\"b\": nope}", "{} x", "{\"b\": \"open", "{\"b\": [}", "{'b': 1}"] {
            assert!(wrong(text).contains("line 1"), "{text}: {}", wrong(text));
        }
        assert_eq!(wrong("[]"), "it is not an object");
        assert_eq!(wrong("{\"mcpServers\": 1}"), "`mcpServers` is not an object");
        assert_eq!(wrong("{\"mcpServers\": {\"inbox\": []}}"), "`inbox` is not an object");
    }

    #[test]
    fn the_question_for_the_key_is_there_once() {
        let input = json!({"id": "key", "type": "promptString"});
        let merged = |text: &str| merge(text, "servers", "inbox", &json!({}), Some(&input)).unwrap();
        let once = merged("{\"inputs\": [{\"id\": \"old\"}]}");
        let value: Value = serde_json::from_str(&once).unwrap();
        assert_eq!(value["inputs"], json!([{"id": "old"}, input]));
        assert_eq!(merged(&once), once);
    }
}
