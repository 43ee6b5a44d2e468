//! Explains to the author of a JSON text why it could not be read: which field, and what is wrong with it.

/// Returns the field of an error, empty for the whole value, and what is wrong with it.
pub(crate) fn explain(error: &serde_path_to_error::Error<serde_json::Error>) -> (String, String) {
    let inner = error.inner();
    let message = inner.to_string();
    // The caller reports the position, or it does not help: the body of a request is often one line.
    let place = format!(" at line {} column {}", inner.line(), inner.column());
    let reason = message.strip_suffix(&place).unwrap_or(&message);
    let path = Some(error.path().to_string()).filter(|path| path != ".").unwrap_or_default();
    match reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(missing) if path.is_empty() => (missing.to_owned(), "is required".to_owned()),
        Some(missing) => (format!("{path}.{missing}"), "is required".to_owned()),
        None => (path, in_json_terms(reason)),
    }
}

/// Rewrites a parser's message in JSON's terms: the author of a body does not know the types of this program.
fn in_json_terms(reason: &str) -> String {
    let expected = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant "]
        .iter()
        .find(|start| reason.starts_with(**start))
        .and_then(|_| reason.rsplit_once(", expected ").or_else(|| reason.rsplit_once(" expected ")));
    if reason.starts_with("data did not match any variant") {
        return "has none of the forms that it may have".to_owned();
    }
    let Some((_, expected)) = expected else { return reason.to_owned() };
    let words = expected.replace('`', "");
    match words.as_str() {
        "f64" | "f32" => "must be a number".to_owned(),
        "u8" => "must be a whole number from 0 to 255".to_owned(),
        "u16" => "must be a whole number from 0 to 65535".to_owned(),
        "u32" => "must be a whole number from 0 to 4294967295".to_owned(),
        "u64" | "usize" => "must be a whole number, 0 or more".to_owned(),
        "i64" => "must be a whole number".to_owned(),
        "a boolean" => "must be true or false".to_owned(),
        "a sequence" => "must be a list".to_owned(),
        "a map" => "must be an object".to_owned(),
        "a borrowed string" => "must be a string".to_owned(),
        words if words.starts_with("struct ") || words.starts_with("internally tagged enum") => {
            "must be an object".to_owned()
        }
        words if reason.starts_with("unknown variant ") => {
            let words = words.trim_start_matches("one of ").replace(" or ", ", ");
            let given = reason.split('`').nth(1).unwrap_or_default();
            format!("must be one of {words}, not {given}")
        }
        words => format!("must be {words}"),
    }
}
