//! Reads a scenario from its keys, and collects everything that is wrong with it.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use shared_inbox_mock::{Expectation, InboundMail};

use super::{COMMAND, Expected, JOB_AT, Mail, Mode, SCOPES, Scenario, ScenarioError, ScenarioProblem};
use crate::explore::oracle::Oracle;

/// Further fields of a mail, as `POST /_mock/inbound` takes them.
const FIELDS: [&str; 15] = [
    "from",
    "subject",
    "text",
    "follow_up",
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

const RULES: &str = "must be a table such as { persons-word = false }";

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum People {
    Approve,
    Ignore,
}

/// What the explorer reads of a mail itself.
#[derive(Deserialize)]
struct OwnFields {
    from: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    follow_up: bool,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// Reads a scenario.
pub(super) fn scenario(keys: &Map<String, Value>) -> Result<Scenario, ScenarioError> {
    let mut reader = Reader { keys, known: Vec::new(), problems: Vec::new() };
    let mut scenario = Scenario::new([""; 0]);
    scenario.mode = reader.read("mode", "must be \"job\" or \"server\"").unwrap_or(scenario.mode);
    match reader.read::<Vec<Value>>("mails", "must be a list of texts or tables") {
        Some(mails) => {
            scenario.mails = mails.iter().enumerate().map(|(n, mail)| reader.read_mail(n, mail)).collect();
        }
        None if !keys.contains_key("mails") => {
            reader.add("mails", "is required, a list with at least one mail");
        }
        None => {}
    }
    scenario.people_approve = reader
        .read("people", "must be \"approve\" or \"ignore\"")
        .is_none_or(|people| matches!(people, People::Approve));
    if let Some(scopes) = reader.read::<Vec<String>>("scopes", "must be a list") {
        for (n, scope) in scopes.iter().enumerate().filter(|(_, scope)| !SCOPES.contains(&scope.as_str())) {
            reader.add(format!("scopes[{n}]"), format!("\"{scope}\" is none of `{}`", SCOPES.join("`, `")));
        }
        scenario.scopes = scopes;
    }
    if let Some(path) = reader.read("webhook_path", "must be a path such as \"/webhooks\"") {
        scenario.webhook_path = path;
        if scenario.mode != Mode::Server {
            reader.add("webhook_path", "goes with mode = \"server\"");
        }
    }
    scenario.days = reader.read("days", "must be a whole number from 0 to 100").unwrap_or_default();
    scenario.job = reader.read("job", COMMAND);
    if let Some(at) = reader.read::<String>("job_at", JOB_AT) {
        let parts = at.split_once(':').filter(|(hour, minute)| (hour.len(), minute.len()) == (2, 2));
        scenario.job_at = parts.and_then(|(hour, minute)| Some((hour.parse().ok()?, minute.parse().ok()?)));
        if scenario.job_at.is_none() {
            reader.add("job_at", JOB_AT);
        }
    }
    scenario.same = reader.read("same", COMMAND);
    for (rule, is_on) in reader.read::<BTreeMap<String, Value>>("rules", RULES).unwrap_or_default() {
        if !is_on.is_boolean() {
            reader.add(format!("rules.{rule}"), "must be true or false");
        }
        match Oracle::ALL.iter().find(|oracle| oracle.to_string() == rule) {
            Some(oracle) if is_on == false => scenario.rules_off.push(*oracle),
            Some(_) => {}
            None => {
                let known = Oracle::ALL.map(|oracle| oracle.to_string());
                reader.add(format!("rules.{rule}"), unknown(&rule, "rule", known.iter().map(String::as_str)));
            }
        }
    }
    scenario.ignore = reader.read("ignore", "must be a list").unwrap_or_default();
    for (n, expected) in reader
        .read::<Vec<Value>>("expect", "must be a list of tables, as POST /_mock/expect takes them")
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        scenario.expect.extend(reader.read_expectation(n, expected));
    }
    let known = std::mem::take(&mut reader.known);
    reader.check_names(keys, "", &known);
    let mut problems = reader.problems;
    // Of what could not be read, the whole shows nothing.
    let is_within = |key: &str, other: &str| {
        let rest = key.strip_prefix(other);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            || [key, other].iter().all(|key| key.starts_with("expect["))
    };
    let is_read = |found: &ScenarioProblem| !problems.iter().any(|it| is_within(&found.key, &it.key));
    let of_whole = scenario.check().err().into_iter().flat_map(|error| error.problems);
    let of_whole: Vec<ScenarioProblem> = of_whole.filter(is_read).collect();
    problems.extend(of_whole);
    scenario.or_problems(problems).map(|()| scenario)
}

/// Says in the words of a scenario what a value should be, where serde speaks of types and variants.
fn name_value(said: String) -> String {
    let variant = said.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "));
    if let Some((value, known)) = variant {
        return format!("\"{value}\" is none of {}", known.trim_start_matches("one of "));
    }
    match said.rsplit_once(", expected ") {
        Some((_, "a string")) => "must be a text".to_owned(),
        Some((_, "a boolean")) => "must be true or false".to_owned(),
        _ => said,
    }
}

struct Reader<'k> {
    keys: &'k Map<String, Value>,
    /// The keys that were looked for.
    known: Vec<&'static str>,
    problems: Vec<ScenarioProblem>,
}

impl Reader<'_> {
    fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.problems.push(ScenarioProblem::new(key, message));
    }

    /// Adds a problem for each name that is not known.
    fn check_names(&mut self, table: &Map<String, Value>, path: &str, known: &[&str]) {
        let what = if path.is_empty() { "key of a scenario" } else { "field of a mail" };
        for name in table.keys().filter(|name| !known.contains(&name.as_str())) {
            let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match name.as_str() {
                "to" | "conversationId" if !path.is_empty() => self.add(key, "is chosen by the explorer"),
                _ => self.add(key, unknown(name, what, known.iter().copied())),
            }
        }
    }

    /// Reads a key; `must_be` says what a value of another kind should be.
    fn read<T: DeserializeOwned>(&mut self, key: &'static str, must_be: &str) -> Option<T> {
        self.known.push(key);
        let value = self.keys.get(key)?.clone();
        self.read_value(key, value, must_be)
    }

    fn read_value<T: DeserializeOwned>(&mut self, key: &str, value: Value, must_be: &str) -> Option<T> {
        match serde_path_to_error::deserialize(value) {
            Ok(read) => Some(read),
            Err(error) => {
                let inner = error.path().to_string();
                let said = name_value(error.into_inner().to_string());
                match inner.as_str() {
                    "." if !must_be.is_empty() => self.add(key, must_be),
                    "." => self.add(key, said),
                    inner if inner.starts_with('[') => self.add(format!("{key}{inner}"), said),
                    inner => self.add(format!("{key}.{inner}"), said),
                }
                None
            }
        }
    }

    fn read_mail(&mut self, number: usize, mail: &Value) -> Mail {
        let mut read = Mail::plain(number, "");
        let key = format!("mails[{number}]");
        let fields = match mail {
            Value::String(text) => {
                read.text.clone_from(text);
                return read;
            }
            Value::Object(fields) => fields,
            _ => {
                self.add(key, "must be a text or a table");
                return read;
            }
        };
        self.check_names(fields, &key, &FIELDS);
        let mut fields = fields.clone();
        fields.retain(|name, _| FIELDS.contains(&name.as_str()));
        let Some(own) = self.read_value::<OwnFields>(&key, Value::Object(fields), "") else { return read };
        read.from = own.from.unwrap_or(read.from);
        (read.text, read.follow_up, read.more) = (own.text, own.follow_up, own.more);
        // The control call reads it in the same way.
        let _: Option<InboundMail> = self.read_value(&key, read.inbound("inbox@customer.example"), "");
        read
    }

    fn read_expectation(&mut self, number: usize, mut expected: Value) -> Option<Expected> {
        let key = format!("expect[{number}]");
        let after = expected.as_object_mut().and_then(|fields| fields.remove("after"));
        let mut relative = None;
        if let Some(after) = after {
            let mail = after.as_str().and_then(|text| text.strip_prefix("mail.")?.parse().ok());
            let within = expected.as_object_mut().and_then(|fields| fields.remove("withinSeconds"));
            let within = within.as_ref().and_then(Value::as_f64);
            match (mail, within.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())) {
                (Some(mail), Some(within)) => relative = Some((mail, within)),
                (None, _) => self.add(format!("{key}.after"), "must be a mail such as \"mail.0\""),
                (_, None) => self
                    .add(format!("{key}.withinSeconds"), "is required beside `after`, a number of seconds"),
            }
        }
        let expectation: Expectation = self.read_value(&key, expected, "")?;
        Some(Expected { expectation, after: relative })
    }
}

/// Says that a name is not known, and which one may be meant.
fn unknown<'k>(name: &str, what: &str, known: impl Iterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.collect();
    let near = |known: &&&str| strsim::damerau_levenshtein(name, known) <= 2.max(name.len() / 3);
    let nearest = known.iter().filter(near).min_by_key(|known| strsim::damerau_levenshtein(name, known));
    match nearest {
        Some(nearest) => format!("is no {what}; did you mean `{nearest}`?"),
        None => format!("is no {what}; there are {}", known.join(", ")),
    }
}
