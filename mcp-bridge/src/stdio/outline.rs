//! Finds the id and method of a line without parsing it, because the error response to a malformed request must carry its id.
//!
//! Reads bytes as they arrive, so that a line can be too long to be kept, and accepts what a parser refuses: invalid UTF-8, deep
//! nesting, huge numbers.

/// The longest id that is given back.
const MAX_ID_BYTES: usize = 1024;

/// The outline of a line that should hold a JSON object.
#[derive(Default)]
pub(super) struct Outline {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Whether a value of the outermost object is being read, and not a name.
    in_value: bool,
    /// The name being read, or read last, in the outermost object.
    name: Vec<u8>,
    id: Vec<u8>,
    has_id: bool,
    has_method: bool,
}

impl Outline {
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        let top = self.depth == 1;
        if self.in_string {
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            self.in_string = !ends;
            if top && !self.in_value && !ends && self.name.len() < 16 {
                self.name.push(byte);
            }
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if top && !self.in_value {
                    self.name.clear();
                }
                self.keep(byte);
            }
            b':' if top && !self.in_value => {
                self.in_value = true;
                match self.name.as_slice() {
                    b"id" => {
                        self.has_id = true;
                        self.id.clear();
                    }
                    b"method" => self.has_method = true,
                    _ => {}
                }
            }
            b',' if top => self.in_value = false,
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth > 0 {
                    self.keep(byte);
                }
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.in_value && self.depth > 0 && self.name == b"id" && self.id.len() <= MAX_ID_BYTES {
            self.id.push(byte);
        }
    }

    /// Returns whether the line is a request, which gets a response.
    pub(super) fn is_request(&self) -> bool {
        self.has_id && self.has_method
    }

    /// Returns whether the line is a notification, which gets no response.
    pub(super) fn is_notification(&self) -> bool {
        self.has_method && !self.has_id
    }

    /// Returns the id as JSON, exactly as it came if it is one; `null` if it is none.
    pub(super) fn id(&self) -> &str {
        let id = std::str::from_utf8(&self.id).unwrap_or_default().trim();
        let digits = id.strip_prefix('-').unwrap_or(id);
        let number = !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'));
        let whole = id.len() <= MAX_ID_BYTES;
        let other =
            || serde_json::from_str::<serde_json::Value>(id).is_ok_and(|id| id.is_string() || id.is_number());
        if whole && (number || other()) { id } else { "null" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[u8]) -> (bool, String) {
        let mut outline = Outline::default();
        // In pieces, as it comes through a pipe.
        line.chunks(7).for_each(|part| outline.read(part));
        (outline.is_request(), outline.id().to_owned())
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#,
            r#"{"method":"x","params":{"id":1,"a":["id",{"id":2}]},"jsonrpc":"2.0","id":7}"#,
            r#" { "id" : 7 , "method" : "x" } "#,
            r#"{"id":7,"method":"\"id\":9,{"}"#,
            r#"{"id":7,"method":"x","params":{"a":"\\"}}"#,
            r#"{"id":7,"method":"x","params":{"a":"\ud800"}}"#,
            r#"{"id":7,"method":"x","params":1e400}"#,
        ] {
            assert_eq!(of(line.as_bytes()), (true, "7".to_owned()), "{line}");
        }
        assert_eq!(of(b"{\"method\":\"\xff\xfe\",\"id\":\"a b\"}"), (true, "\"a b\"".to_owned()));
        let deep = format!(r#"{{"method":"x","params":{}1{},"id":7}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(of(deep.as_bytes()), (true, "7".to_owned()));
    }

    #[test]
    fn an_id_comes_back_as_it_came_or_as_null() {
        let digits = "9".repeat(400);
        for id in ["0", "-3", "1.5", "1e3", r#""""#, r#""x\u0041""#, &digits] {
            assert_eq!(of(format!(r#"{{"id":{id},"method":"x"}}"#).as_bytes()), (true, id.to_owned()));
        }
        for id in ["null", "true", "{}", "[1]", "007", "x", r#""\ud800""#, &"9".repeat(2000)] {
            assert_eq!(
                of(format!(r#"{{"id":{id},"method":"x"}}"#).as_bytes()),
                (true, "null".to_owned()),
                "{id}"
            );
        }
    }

    #[test]
    fn answers_notifications_and_noise_are_no_requests() {
        for line in [
            r#"{"id":7,"result":{"method":1}}"#,
            r#"{"method":"x","params":{"id":1}}"#,
            "hello",
            "",
            "null",
            r#"["id",1,"method",2]"#,
            "}}}]]",
        ] {
            assert!(!of(line.as_bytes()).0, "{line}");
        }
    }
}
