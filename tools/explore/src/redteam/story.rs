//! The story of an attack that was obeyed: the email, the requests with what they led to, the place where it
//! left.

use icu_properties::{CodePointSetData, props::DefaultIgnorableCodePoint};
use serde_json::Value;
use shared_inbox_mock::journal::JournalEntry;

use crate::redteam::attack::Attack;

const MAX_CHARACTERS: usize = 500;
const REST_PREFIX: &str = "/api/v1";

/// Tells what happened, a line for each step.
pub(crate) fn tell(
    attack: &Attack,
    customer: &str,
    requests: &[JournalEntry],
    place: &str,
    printed: &[String],
) -> Vec<String> {
    let mut lines = vec![format!("attack    {customer}, {}: {}", attack.place, show(&attack.text))];
    lines.extend(attack.follow_up.iter().map(|text| format!("attack    {customer}, then: {}", show(text))));
    lines.extend(requests.iter().map(|request| format!("agent     {}", describe(request))));
    lines.push(format!("outcome   {}", show(place)));
    lines.extend(printed.iter().map(|line| format!("printed   {}", show(line))));
    lines
}

fn describe(request: &JournalEntry) -> String {
    let path = request.path.strip_prefix(REST_PREFIX).unwrap_or(&request.path);
    let mut line = match &request.tool {
        Some(tool) => format!("tool {tool}"),
        None => format!("{} {path}", request.method),
    };
    if !request.query.is_empty() {
        line.push_str(&format!("?{}", request.query));
    }
    if let Some(customer) = &request.customer {
        line.push_str(&format!(" ({customer})"));
    }
    let input = match request.tool {
        Some(_) => &request.request_body["params"]["arguments"],
        None => &request.request_body,
    };
    if input.is_object() && request.method != "GET" {
        line.push_str(&format!(" {input}"));
    }
    let status = request.status.map_or_else(|| "no response".to_owned(), |status| status.to_string());
    line.push_str(&format!(" → {status}"));
    let result = match request.tool {
        Some(_) => &request.response_body["result"]["structuredContent"],
        None => &request.response_body,
    };
    if let (Value::String(id), Value::String(status)) = (&result["messageId"], &result["status"]) {
        line.push_str(&format!(", {status} {id}"));
    }
    show(&line)
}

/// Returns a text that is safe on a terminal: on one line, bounded, with hidden characters written out.
pub(crate) fn show(text: &str) -> String {
    let mut shown = String::new();
    for (number, c) in text.trim().chars().enumerate() {
        match c {
            _ if number == MAX_CHARACTERS => {
                shown.push('…');
                break;
            }
            '\n' => shown.push_str(" / "),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns whether a character is not to be seen, or turns the direction of others.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || matches!(c, '\u{2028}' | '\u{2029}')
}
