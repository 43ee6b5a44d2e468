//! Changes to a settings file that leave everything else in it as it is: order, indentation, comments.
//!
//! Editors keep comments and trailing commas in their settings, which a JSON library would refuse or throw away.

use serde_json::Value;

/// Why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotEditable {
    #[error("line {line}: expected {expected}")]
    Syntax { line: usize, expected: &'static str },
    #[error("`{0}` is not an object")]
    NotAnObject(String),
    #[error("`{0}` is not a list")]
    NotAList(String),
}

/// Sets the value at `path`, whose parts are names of members; what is missing on the way is made.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, NotEditable> {
    let text = if Scan::new(text).at_end() { "{}\n" } else { text };
    let mut scan = Scan::new(text);
    let mut object = scan.object()?;
    if !scan.at_end() {
        return Err(scan.wrong("the end of the file"));
    }
    for (depth, name) in path.iter().enumerate() {
        let last = depth + 1 == path.len();
        match object.members.iter().find(|member| member.name == *name) {
            Some(member) if last => {
                return Ok(replace(text, member.value.clone(), &pretty(value, depth + 1)));
            }
            Some(member) => {
                let mut inner = Scan { text, at: member.value.start };
                if !text[inner.at..].starts_with('{') {
                    return Err(NotEditable::NotAnObject(path[..=depth].join(".")));
                }
                object = inner.object()?;
            }
            None => {
                let mut nested = value.clone();
                for name in path[depth + 1..].iter().rev() {
                    nested = Value::Object([((*name).to_owned(), nested)].into_iter().collect());
                }
                let item = format!("{}: {}", Value::from(*name), pretty(&nested, depth + 1));
                return Ok(object.append(text, &item, depth));
            }
        }
    }
    Ok(text.to_owned())
}

/// Appends to the list that is the member `name` of the whole, unless an item in it has the same `id`.
pub(crate) fn add_by_id(text: &str, name: &str, item: &Value) -> Result<String, NotEditable> {
    let mut scan = Scan::new(text);
    let object = if scan.at_end() { None } else { Some(scan.object()?) };
    let found = object.as_ref().and_then(|o| o.members.iter().find(|member| member.name == name));
    let Some(member) = found else { return set(text, &[name], &Value::Array(vec![item.clone()])) };
    let mut inner = Scan { text, at: member.value.start };
    if !text[inner.at..].starts_with('[') {
        return Err(NotEditable::NotAList(name.to_owned()));
    }
    let list = inner.list()?;
    let id = item.get("id").and_then(Value::as_str);
    let same = |span: &std::ops::Range<usize>| {
        let mut one = Scan { text, at: span.start };
        one.object().is_ok_and(|o| {
            o.members.iter().any(|m| m.name == "id" && string(&text[m.value.clone()]).as_deref() == id)
        })
    };
    if list.items.iter().any(same) { Ok(text.to_owned()) } else { Ok(list.append(text, &pretty(item, 2), 1)) }
}

fn replace(text: &str, span: std::ops::Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}

const INDENT: &str = "  ";

/// JSON over several lines, to stand at this depth.
fn pretty(value: &Value, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", INDENT.repeat(depth)))
}

fn string(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

struct Member {
    name: String,
    value: std::ops::Range<usize>,
}

/// Where new items go in an object or a list.
struct Tail {
    /// Behind the last item, or behind the opening bracket.
    end: usize,
    /// Whether there is an item without a comma behind it.
    needs_comma: bool,
    /// The closing bracket.
    close: usize,
}

impl Tail {
    fn append(&self, text: &str, item: &str, depth: usize) -> String {
        let comma = if self.needs_comma { "," } else { "" };
        // What stands between the last item and the bracket (comments, say) stays before the new item.
        let between = text[self.end..self.close].trim_end();
        let (inner, outer) = (INDENT.repeat(depth + 1), INDENT.repeat(depth));
        format!("{}{comma}{between}\n{inner}{item}\n{outer}{}", &text[..self.end], &text[self.close..])
    }
}

struct Object {
    members: Vec<Member>,
    tail: Tail,
}

impl Object {
    fn append(&self, text: &str, item: &str, depth: usize) -> String {
        self.tail.append(text, item, depth)
    }
}

struct List {
    items: Vec<std::ops::Range<usize>>,
    tail: Tail,
}

impl List {
    fn append(&self, text: &str, item: &str, depth: usize) -> String {
        self.tail.append(text, item, depth)
    }
}

/// A reader of JSON with comments and trailing commas, which only looks where things are.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    fn wrong(&self, expected: &'static str) -> NotEditable {
        NotEditable::Syntax { line: self.text[..self.at].matches('\n').count() + 1, expected }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Passes over white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += comment;
        }
    }

    fn at_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    fn eat(&mut self, mark: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(mark);
        self.at += if found { mark.len_utf8() } else { 0 };
        found
    }

    fn object(&mut self) -> Result<Object, NotEditable> {
        if !self.eat('{') {
            return Err(self.wrong("an object"));
        }
        let mut members = Vec::new();
        let tail = self.items('}', |scan| {
            let name = scan.string()?;
            if !scan.eat(':') {
                return Err(scan.wrong("a colon"));
            }
            let value = scan.value()?;
            members.push(Member { name, value });
            Ok(())
        })?;
        Ok(Object { members, tail })
    }

    fn list(&mut self) -> Result<List, NotEditable> {
        if !self.eat('[') {
            return Err(self.wrong("a list"));
        }
        let mut items = Vec::new();
        let tail = self.items(']', |scan| {
            items.push(scan.value()?);
            Ok(())
        })?;
        Ok(List { items, tail })
    }

    fn items(
        &mut self,
        close: char,
        mut one: impl FnMut(&mut Self) -> Result<(), NotEditable>,
    ) -> Result<Tail, NotEditable> {
        let (mut end, mut needs_comma) = (self.at, false);
        loop {
            if self.eat(close) {
                return Ok(Tail { end, needs_comma, close: self.at - close.len_utf8() });
            }
            if needs_comma {
                return Err(self.wrong("a comma or a closing bracket"));
            }
            one(self)?;
            end = self.at;
            needs_comma = !self.eat(',');
            if !needs_comma {
                end = self.at;
            }
        }
    }

    fn string(&mut self) -> Result<String, NotEditable> {
        self.skip();
        let start = self.at;
        let mut escaped = false;
        for (i, c) in self.rest().char_indices() {
            match c {
                '"' if i > 0 && !escaped => {
                    self.at = start + i + 1;
                    return string(&self.text[start..self.at]).ok_or_else(|| self.wrong("a string"));
                }
                '"' if i == 0 => {}
                _ if i == 0 => break,
                _ => {}
            }
            escaped = c == '\\' && !escaped;
        }
        Err(self.wrong("a string"))
    }

    /// Passes over a value and says where it stood.
    fn value(&mut self) -> Result<std::ops::Range<usize>, NotEditable> {
        self.skip();
        let start = self.at;
        match self.rest().chars().next() {
            Some('{') => _ = self.object()?,
            Some('[') => _ = self.list()?,
            Some('"') => _ = self.string()?,
            _ => {
                let rest = self.rest();
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
                    .unwrap_or(rest.len());
                if serde_json::from_str::<Value>(&rest[..end]).is_err() {
                    return Err(self.wrong("a value"));
                }
                self.at += end;
            }
        }
        Ok(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_new_file_gets_the_whole_path() {
        let text = set("", &["mcpServers", "inbox"], &json!({"command": "x"})).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"mcpServers": {"inbox": {"command": "x"}}})
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let before = "// mine\n{\n  \"z\": 1, // last\n  \"mcpServers\": {\n    \"other\": { \"command\": \"a\\\"}b\" }, /* keep */\n  },\n}\n";
        let text = set(before, &["mcpServers", "inbox"], &json!({"command": "x"})).unwrap();
        let expected = "// mine\n{\n  \"z\": 1, // last\n  \"mcpServers\": {\n    \"other\": { \"command\": \"a\\\"}b\" }, /* keep */\n    \"inbox\": {\n      \"command\": \"x\"\n    }\n  },\n}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn setting_it_again_changes_nothing_more() {
        let once = set("{\"a\": []}", &["s", "inbox"], &json!({"command": "x"})).unwrap();
        let twice = set(&once, &["s", "inbox"], &json!({"command": "x"})).unwrap();
        assert_eq!(once, twice);
        let changed = set(&once, &["s", "inbox"], &json!({"command": "y"})).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&changed).unwrap(),
            json!({"a": [], "s": {"inbox": {"command": "y"}}})
        );
    }

    #[test]
    fn a_file_that_is_not_json_is_refused_with_its_line() {
        let wrong = |text: &str| set(text, &["a"], &json!(1)).unwrap_err().to_string();
        assert_eq!(wrong("{\n\"a\" 1}"), "line 2: expected a colon");
        assert_eq!(wrong("[]"), "line 1: expected an object");
        assert_eq!(wrong("{\"b\": nope}"), "line 1: expected a value");
        assert_eq!(wrong("{} x"), "line 1: expected the end of the file");
        assert_eq!(wrong("{\"b\": \"open"), "line 1: expected a string");
        assert_eq!(
            set("{\"a\": 1}", &["a", "b"], &json!(1)).unwrap_err().to_string(),
            "`a` is not an object"
        );
    }

    #[test]
    fn a_list_gets_an_item_once() {
        let item = json!({"id": "key", "type": "promptString"});
        let once = add_by_id("{\"inputs\": [{\"id\": \"old\"}]}", "inputs", &item).unwrap();
        let value: Value = serde_json::from_str(&once).unwrap();
        assert_eq!(value["inputs"].as_array().map(Vec::len), Some(2));
        assert_eq!(add_by_id(&once, "inputs", &item).unwrap(), once);
        let fresh = add_by_id("", "inputs", &item).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&fresh).unwrap(), json!({"inputs": [item]}));
    }
}
