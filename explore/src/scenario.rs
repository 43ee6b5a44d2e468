//! The scenario: which mails come, who approves, and what must hold.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};
use shared_inbox::__spec::limits;
use toml_edit::{DocumentMut, Item, TableLike};

/// How the app runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It runs to its end, again and again.
    Job,
    /// It is started once and stays.
    Server,
}

/// What happens around the app when nothing goes wrong, and what must hold when something does.
///
/// ```
/// use shared_inbox_explore::Scenario;
///
/// let scenario = Scenario::parse(r#"mails = ["Where is my order 1042?"]"#)?;
/// assert_eq!(scenario, Scenario::new(["Where is my order 1042?"]));
/// let error = Scenario::parse("mails = []").unwrap_err();
/// assert!(error.contains("mails"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Scenario {
    pub(crate) mode: Mode,
    pub(crate) mails: Vec<Mail>,
    /// Whether people approve drafts.
    pub(crate) people_approve: bool,
    pub(crate) scopes: Vec<String>,
    pub(crate) webhook_path: String,
    /// Days that pass.
    pub(crate) days: u32,
    /// Rules that are switched off, by their names.
    pub(crate) rules_off: Vec<String>,
    pub(crate) ignore: Vec<String>,
    pub(crate) expect: Vec<Value>,
    pub(crate) source: Source,
}

/// Where a scenario was written, for the test that replays a finding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// In code.
    Code,
    /// In a file, by its path.
    File(String),
    /// As the options of a function.
    Keys(Map<String, Value>),
}

impl std::fmt::Debug for Scenario {
    /// Without the mails' words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scenario")
            .field("mode", &self.mode)
            .field("mails", &self.mails.len())
            .finish_non_exhaustive()
    }
}

/// A customer's mail.
#[derive(Clone, PartialEq)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) subject: Option<String>,
    pub(crate) text: String,
    /// Whether it comes in the conversation of the customer's mail before it, when the app had time to answer that one.
    pub(crate) follow_up: bool,
    /// What else the control call for a mail takes.
    pub(crate) more: Map<String, Value>,
}

impl Mail {
    fn plain(number: usize, text: &str) -> Self {
        let from = format!("customer{}@customer.example", number + 1);
        Self { from, subject: None, text: text.to_owned(), follow_up: false, more: Map::new() }
    }

    /// Returns the body of the control call that brings it.
    pub(crate) fn inbound(&self, to: &str) -> Value {
        let mut body = self.more.clone();
        body.insert("to".to_owned(), json!(to));
        body.insert("from".to_owned(), json!(self.from));
        body.insert("text".to_owned(), json!(self.text));
        if let Some(subject) = &self.subject {
            body.insert("subject".to_owned(), json!(subject));
        }
        Value::Object(body)
    }
}

/// The parts that "same-end" compares.
pub(crate) const PARTS: [&str; 6] = ["outbox", "notes", "tags", "status", "assignee", "documents"];
/// The rules, as a finding names them.
const RULES: [&str; 6] =
    ["same-end", "never-twice", "nobody-forgotten", "persons-word", "well-behaved", "expect"];
const KEYS: [&str; 9] =
    ["mode", "mails", "people", "scopes", "webhook_path", "days", "rules", "ignore", "expect"];
/// Further fields of a mail, as `POST /_mock/inbound` takes them.
const FIELDS: [&str; 11] = [
    "name",
    "inReplyTo",
    "attachments",
    "dmarc",
    "autoReply",
    "secure",
    "topic",
    "urgency",
    "risk",
    "riskReasons",
    "held",
];
const SCOPES: [&str; 5] = ["read", "write", "draft", "send", "record"];
/// More mails than this make every run long and find nothing new.
const MAX_MAILS: usize = 100;
const MAX_DAYS: u32 = 100;

impl Scenario {
    /// Returns a job, mails by a customer each, people who approve, and a key with the scopes `read`, `write`, `draft` and `send`.
    pub fn new<T: AsRef<str>>(mails: impl IntoIterator<Item = T>) -> Self {
        let mails = mails.into_iter().enumerate().map(|(n, text)| Mail::plain(n, text.as_ref())).collect();
        Self {
            mode: Mode::Job,
            mails,
            people_approve: true,
            scopes: SCOPES[..4].iter().map(|&scope| scope.to_owned()).collect(),
            webhook_path: "/webhooks".to_owned(),
            days: 0,
            rules_off: Vec::new(),
            ignore: Vec::new(),
            expect: Vec::new(),
            source: Source::Code,
        }
    }

    /// The app is a server: it stays up, and receives webhooks at [`webhook_path`](Self::webhook_path).
    pub fn server(mut self) -> Self {
        self.mode = Mode::Server;
        self
    }

    /// Sets where a server receives webhooks; `/webhooks` unless set.
    pub fn webhook_path(mut self, path: impl Into<String>) -> Self {
        self.webhook_path = path.into();
        self
    }

    /// Nobody approves drafts.
    pub fn nobody_approves(mut self) -> Self {
        self.people_approve = false;
        self
    }

    /// Lets days pass, with trouble in them too. A job runs once a day; no day passes unless set.
    pub fn days(mut self, days: u32) -> Self {
        self.days = days;
        self
    }

    /// Switches rules off, by the names of [`Oracle`](crate::Oracle) such as `persons-word`.
    pub fn without_rules<T: Into<String>>(mut self, rules: impl IntoIterator<Item = T>) -> Self {
        self.rules_off.extend(rules.into_iter().map(Into::into));
        self
    }

    /// Leaves parts out of the comparison with the run without trouble: `outbox`, `notes`, `tags`, `status`, `assignee`,
    /// `documents`.
    pub fn ignore<T: Into<String>>(mut self, parts: impl IntoIterator<Item = T>) -> Self {
        self.ignore.extend(parts.into_iter().map(Into::into));
        self
    }

    /// Adds an expectation, as `POST /_mock/expect` takes it.
    pub fn expect(mut self, expectation: Value) -> Self {
        self.expect.push(expectation);
        self
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// A sentence that names the key and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(&read_toml(text)?)
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file, the key and what is wrong with it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, String> {
        let file = path.as_ref().display().to_string();
        let text = fs::read_to_string(path).map_err(|error| format!("{file}: cannot be read: {error}"))?;
        let scenario = Self::parse(&text).map_err(|why| format!("{file}: {why}"))?;
        Ok(Self { source: Source::File(file), ..scenario })
    }

    /// Returns the scenario of a function's options.
    #[doc(hidden)]
    pub fn from_options(options: Map<String, Value>) -> Result<Self, String> {
        let scenario = Self::read(&options)?;
        Ok(Self { source: Source::Keys(options), ..scenario })
    }

    fn read(keys: &Map<String, Value>) -> Result<Self, String> {
        if let Some(key) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("{key}: is no key of a scenario; there are {}", KEYS.join(", ")));
        }
        let value = |key: &str| keys.get(key);
        let mails = value("mails").ok_or("mails: is required, a list with at least one mail")?;
        let mails = mails.as_array().ok_or("mails: must be a list of texts or tables")?;
        if mails.is_empty() || mails.len() > MAX_MAILS {
            return Err(format!("mails: must have from 1 to {MAX_MAILS} mails"));
        }
        let mails = mails.iter().enumerate().map(|(n, mail)| read_mail(n, mail)).collect::<Result<_, _>>()?;
        let mut scenario = Self { mails, ..Self::new([""; 0]) };
        if let Some(mode) = value("mode") {
            scenario.mode = match mode.as_str() {
                Some("job") => Mode::Job,
                Some("server") => Mode::Server,
                _ => return Err("mode: must be \"job\" or \"server\"".to_owned()),
            };
        }
        if let Some(people) = value("people") {
            scenario.people_approve = match people.as_str() {
                Some("approve") => true,
                Some("ignore") => false,
                _ => return Err("people: must be \"approve\" or \"ignore\"".to_owned()),
            };
        }
        if let Some(scopes) = value("scopes") {
            scenario.scopes = words("scopes", scopes, &SCOPES)?;
        }
        if let Some(ignore) = value("ignore") {
            scenario.ignore = words("ignore", ignore, &PARTS)?;
        }
        if let Some(path) = value("webhook_path") {
            if scenario.mode != Mode::Server {
                return Err("webhook_path: goes with mode = \"server\"".to_owned());
            }
            scenario.webhook_path = path.as_str().unwrap_or_default().to_owned();
        }
        if let Some(days) = value("days") {
            let read = days.as_u64().and_then(|days| u32::try_from(days).ok());
            scenario.days =
                read.ok_or_else(|| format!("days: must be a whole number from 0 to {MAX_DAYS}"))?;
        }
        if let Some(rules) = value("rules") {
            let rules = rules.as_object().ok_or("rules: must be a table such as { persons-word = false }")?;
            for (rule, is_on) in rules {
                match is_on.as_bool() {
                    Some(false) => scenario.rules_off.push(rule.clone()),
                    Some(true) if RULES.contains(&rule.as_str()) => {}
                    Some(true) => return Err(unknown_rule(rule)),
                    None => return Err(format!("rules.{rule}: must be true or false")),
                }
            }
        }
        if let Some(expect) = value("expect") {
            let all = expect.as_array().filter(|all| all.iter().all(Value::is_object));
            scenario.expect =
                all.ok_or("expect: must be a list of tables, as POST /_mock/expect takes them")?.clone();
        }
        scenario.check()?;
        Ok(scenario)
    }

    /// Returns what only the whole shows.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(unknown) = self.ignore.iter().find(|part| !PARTS.contains(&part.as_str())) {
            return Err(format!("ignore: {unknown} is none of {}", PARTS.join(", ")));
        }
        if !self.webhook_path.starts_with('/') {
            return Err("webhook_path: must be a path such as \"/webhooks\"".to_owned());
        }
        if let Some(unknown) = self.rules_off.iter().find(|rule| !RULES.contains(&rule.as_str())) {
            return Err(unknown_rule(unknown));
        }
        if self.days > MAX_DAYS {
            return Err(format!("days: must be a whole number from 0 to {MAX_DAYS}"));
        }
        if let Some(n) = (0..self.mails.len()).find(|n| self.mails[*n].follow_up && self.opener(*n) == *n) {
            return Err(format!("mails[{n}].follow_up: there is no earlier mail by that customer"));
        }
        // The steps of a server are made before its mails come, and know a conversation by its customer.
        let again = |(n, mail): &(usize, &Mail)| {
            !mail.follow_up && self.mails[..*n].iter().any(|other| other.from == mail.from)
        };
        match self.mails.iter().enumerate().find(again) {
            Some((n, _)) if self.mode == Mode::Server => {
                Err(format!("mails[{n}].from: must differ from the other mails' in the mode \"server\""))
            }
            _ => Ok(()),
        }
    }

    /// Returns the mail that began the conversation of this one: an earlier one for a follow-up.
    pub(crate) fn opener(&self, mail: usize) -> usize {
        let Some(it) = self.mails.get(mail).filter(|it| it.follow_up) else { return mail };
        self.mails[..mail].iter().rposition(|other| !other.follow_up && other.from == it.from).unwrap_or(mail)
    }
}

fn unknown_rule(rule: &str) -> String {
    format!("rules.{rule}: is no rule; there are {}", RULES.join(", "))
}

fn words(key: &str, value: &Value, known: &[&str]) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or_else(|| format!("{key}: must be a list"))?;
    let word = |word: &Value| {
        let found = word.as_str().filter(|word| known.contains(word));
        found.map(str::to_owned).ok_or_else(|| format!("{key}: {word} is none of {}", known.join(", ")))
    };
    list.iter().map(word).collect()
}

fn read_mail(number: usize, mail: &Value) -> Result<Mail, String> {
    let mut read = Mail::plain(number, "");
    match mail {
        Value::String(text) => read.text.clone_from(text),
        Value::Object(fields) => {
            for (name, value) in fields {
                let text = || {
                    let text = value.as_str().map(str::to_owned);
                    text.ok_or_else(|| format!("mails[{number}].{name}: must be a text"))
                };
                match name.as_str() {
                    "from" => read.from = text()?,
                    "subject" => read.subject = Some(text()?),
                    "text" => read.text = text()?,
                    "follow_up" => {
                        let flag = value.as_bool();
                        read.follow_up =
                            flag.ok_or_else(|| format!("mails[{number}].follow_up: must be true or false"))?;
                    }
                    "to" | "conversationId" => {
                        return Err(format!("mails[{number}].{name}: is chosen by the explorer"));
                    }
                    known if FIELDS.contains(&known) => drop(read.more.insert(name.clone(), value.clone())),
                    _ => {
                        let known = ["from", "subject", "text", "follow_up"].iter().chain(&FIELDS);
                        let known = known.copied().collect::<Vec<_>>().join(", ");
                        return Err(format!(
                            "mails[{number}].{name}: is no field of a mail; there are {known}"
                        ));
                    }
                }
            }
        }
        _ => return Err(format!("mails[{number}]: must be a text or a table")),
    }
    if read.text.trim().is_empty() || read.text.chars().count() > limits::REPLY_BODY {
        return Err(format!("mails[{number}].text: is required, and must not be empty or very long"));
    }
    Ok(read)
}

/// Returns a TOML document as JSON.
///
/// # Errors
///
/// What is wrong with it, with the line.
pub fn read_toml(text: &str) -> Result<Map<String, Value>, String> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        error.to_string().lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("; ")
    })?;
    document.iter().map(|(key, item)| Ok((key.to_owned(), json_of(item, key)?))).collect()
}

/// Returns a TOML value as JSON; a date is its text.
fn json_of(item: &Item, key: &str) -> Result<Value, String> {
    let value = match item {
        Item::Value(value) => return value_of(value, key),
        Item::Table(table) => table_of(table, key)?,
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| table_of(table, key)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Item::None => Value::Null,
    };
    Ok(value)
}

fn table_of(table: &dyn TableLike, key: &str) -> Result<Value, String> {
    let field = |(name, item): (&str, &Item)| Ok((name.to_owned(), json_of(item, &format!("{key}.{name}"))?));
    table.iter().map(field).collect::<Result<Map<_, _>, String>>().map(Value::Object)
}

fn value_of(value: &toml_edit::Value, key: &str) -> Result<Value, String> {
    use toml_edit::Value as Toml;
    Ok(match value {
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(number.value()),
        Toml::Float(number) => json!(number.value()),
        Toml::Boolean(yes) => json!(yes.value()),
        Toml::Datetime(time) => json!(time.value().to_string()),
        Toml::Array(list) => list.iter().map(|it| value_of(it, key)).collect::<Result<Vec<_>, _>>()?.into(),
        Toml::InlineTable(table) => table_of(table, key)?,
    })
}
