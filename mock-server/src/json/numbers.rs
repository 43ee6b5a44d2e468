//! Numbers that are JSON and that no float can hold, such as `1e400`: valid in a field that nobody reads, and merely too
//! large in any other. The JSON library would call the whole text invalid.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Reads JSON, with the largest float in the place of each number that is larger.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json).or_else(|error| match tamed(json) {
        Some(tamed) => serde_json::from_slice(&tamed),
        None => Err(error),
    })
}

/// The text with the largest float in the place of each number that is larger; `None` when there is none.
pub(crate) fn tamed(json: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest, mut found) = (Vec::with_capacity(json.len()), json, false);
    while let Some(first) = rest.first() {
        let length = match first {
            b'"' => string(rest),
            b'-' | b'0'..=b'9' => {
                let part_of = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                rest.iter().position(|byte| !part_of(byte)).unwrap_or(rest.len())
            }
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        match too_large(token) {
            Some(number) => {
                found = true;
                out.extend_from_slice(format!("{number:e}").as_bytes());
            }
            None => out.extend_from_slice(token),
        }
        rest = after;
    }
    found.then_some(out)
}

/// How long the string is that this begins with.
fn string(json: &[u8]) -> usize {
    let mut escaped = false;
    let end = json.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

/// What stands for a number that no float can hold.
fn too_large(token: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?;
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_infinite())?;
    // Only what JSON calls a number: `1.e400` is none.
    serde_json::from_str::<&RawValue>(text).ok()?;
    Some(f64::MAX.copysign(number))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_number_that_no_float_can_hold_is_the_largest_one() {
        let digits = "9".repeat(400);
        let text = format!(r#"{{"a":1e400,"b":[-1E+999,{digits}],"c":"1e400 \" 1e999","d":1.5e3}}"#);
        let read: Value = read(text.as_bytes()).expect("JSON");
        assert_eq!(
            read,
            json!({ "a": f64::MAX, "b": [-f64::MAX, f64::MAX], "c": "1e400 \" 1e999", "d": 1500.0 })
        );
    }

    #[test]
    fn what_is_not_json_stays_so() {
        for text in ["1.e400", "{\"a\":01e400}", "{\"a\":1e400,}", "\"1e400", "infinity"] {
            assert!(read::<Value>(text.as_bytes()).is_err(), "{text}");
        }
        assert!(tamed(br#"{"a":1,"b":"x"}"#).is_none());
    }
}
