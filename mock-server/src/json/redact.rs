//! Redacts keys and webhook secrets in what is shown or logged.

use std::borrow::Cow;

use serde_json::Value;

/// The form of keys or webhook secrets.
struct Form {
    prefix: &'static str,
    /// The characters besides letters and digits.
    signs: &'static [u8],
    min_length: usize,
    shown: &'static str,
}

const FORMS: [Form; 2] = [
    Form { prefix: "rk_", signs: b"_", min_length: 40, shown: "rk_(key)" },
    Form { prefix: "whsec_", signs: b"+/=_-", min_length: 32, shown: "whsec_(secret)" },
];

/// Redacts every text and every field name of a JSON value.
pub(crate) fn redact_json(json: Value) -> Value {
    match json {
        Value::String(text) => redact(&text).into_owned().into(),
        Value::Array(items) => items.into_iter().map(redact_json).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (redact(&name).into_owned(), redact_json(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

/// Redacts everything that has the form of a key or of a webhook secret.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    FORMS.iter().fold(Cow::Borrowed(text), |text, form| match redact_one(&text, form) {
        Some(redacted) => Cow::Owned(redacted),
        None => text,
    })
}

/// `None` when there is nothing to redact.
fn redact_one(text: &str, form: &Form) -> Option<String> {
    let Form { prefix, signs, min_length, shown } = form;
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(*prefix) {
        let tail = &rest[start + prefix.len()..];
        let part_of_it = |b: u8| b.is_ascii_alphanumeric() || signs.contains(&b);
        let end = tail.bytes().position(|b| !part_of_it(b)).unwrap_or(tail.len());
        out.push_str(&rest[..start]);
        out.push_str(if end >= *min_length { shown } else { &rest[start..start + prefix.len() + end] });
        rest = &tail[end..];
    }
    (!out.is_empty()).then(|| out + rest)
}
