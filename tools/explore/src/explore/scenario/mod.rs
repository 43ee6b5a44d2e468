//! The scenario: which mails come, who approves, and what must hold.

mod edit;
mod read;

pub use self::edit::FirstMail;

use std::{fmt, fs, path::Path, time::Duration};

use crate::process::{Excerpt, TomlDocument};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shared_inbox::__spec::limits;
use shared_inbox_mock::Expectation;

use crate::explore::oracle::Oracle;

/// How the app runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// It runs to its end, again and again.
    Job,
    /// It is started once and stays.
    Server,
}

/// What happens around the app when nothing goes wrong, and what must hold when something does.
///
/// ```
/// use shared_inbox_explore::explore::Scenario;
///
/// let scenario = Scenario::parse(r#"mails = ["Where is my order 1042?"]"#)?;
/// assert_eq!(scenario, Scenario::new(["Where is my order 1042?"]));
/// let error = Scenario::parse("mails = []").unwrap_err();
/// assert_eq!(error.problems[0].key, "mails");
/// # Ok::<(), shared_inbox_explore::explore::ScenarioError>(())
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
    /// A job beside a server, run once a day.
    pub(crate) job: Option<Vec<String>>,
    /// When it is run: the hour and the minute, in UTC.
    pub(crate) job_at: Option<(u32, u32)>,
    /// A command that says whether two texts are the same.
    pub(crate) same: Option<Vec<String>>,
    /// Rules that are switched off.
    pub(crate) rules_off: Vec<Oracle>,
    pub(crate) ignore: Vec<Part>,
    pub(crate) expect: Vec<Expected>,
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

impl fmt::Debug for Scenario {
    /// Without the mails' words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    pub(crate) text: String,
    /// Whether it comes in the conversation of the customer's mail before it, when the app had time to answer
    /// that one.
    pub(crate) follow_up: bool,
    /// What else the control call for a mail takes, such as its subject.
    pub(crate) more: Map<String, Value>,
    /// What a colleague notes as soon as it has come.
    pub(crate) note: Option<String>,
}

impl Mail {
    fn plain(number: usize, text: &str) -> Self {
        let from = format!("customer{}@customer.example", number + 1);
        Self { from, text: text.to_owned(), follow_up: false, more: Map::new(), note: None }
    }

    /// Returns the body of the control call that brings it.
    pub(crate) fn inbound(&self, to: &str) -> Value {
        let mut body = self.more.clone();
        body.insert("to".to_owned(), json!(to));
        body.insert("from".to_owned(), json!(self.from));
        body.insert("text".to_owned(), json!(self.text));
        Value::Object(body)
    }
}

/// A part of how a conversation ends, which "same-end" compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Part {
    /// What the customer received, and drafts that stand.
    Outbox,
    /// Notes of the app.
    Notes,
    /// Tags of the conversation.
    Tags,
    /// The status of the conversation.
    Status,
    /// Who has the conversation.
    Assignee,
    /// Documents that were asked for.
    Documents,
}

impl Part {
    pub(crate) const ALL: [Self; 6] =
        [Self::Outbox, Self::Notes, Self::Tags, Self::Status, Self::Assignee, Self::Documents];

    /// Returns whether there is always one of it.
    pub(crate) fn has_one_value(self) -> bool {
        matches!(self, Self::Status | Self::Assignee)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Something that must hold at the end of each schedule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) expectation: Expectation,
    /// Only what happened after this mail came, and within this time.
    pub(crate) after: Option<(usize, Duration)>,
}

/// What is wrong with one key of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioProblem {
    /// The key, such as `mails[1].urgency`.
    pub key: String,
    /// Its line in the file, from 1.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub message: String,
    /// Its place in the file.
    excerpt: Option<Excerpt>,
}

impl ScenarioProblem {
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), line: None, message: message.into(), excerpt: None }
    }

    /// Returns what a refused control call names, such as `urgency: must be …; name: is too long`.
    pub(crate) fn refused(key: &str, said: &str) -> Vec<Self> {
        let mut problems: Vec<Self> = Vec::new();
        for part in said.split("; ") {
            let field = part.split_once(": ").filter(|(field, _)| !field.contains(' '));
            match (field, problems.last_mut()) {
                (Some((field, message)), _) => problems.push(Self::new(format!("{key}.{field}"), message)),
                (None, Some(before)) => before.message += &format!("; {part}"),
                (None, None) => problems.push(Self::new(key, part)),
            }
        }
        problems
    }

    fn at(mut self, excerpt: Option<Excerpt>) -> Self {
        self.line = excerpt.as_ref().map(Excerpt::line);
        self.excerpt = excerpt;
        self
    }
}

impl fmt::Display for ScenarioProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        self.excerpt.as_ref().map_or(Ok(()), |excerpt| write!(f, "\n{excerpt}"))
    }
}

/// What is wrong with a scenario, all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioError {
    /// The file, where it was read from one.
    pub file: Option<String>,
    /// The problems.
    pub problems: Vec<ScenarioProblem>,
}

impl ScenarioError {
    /// Returns the same with the places of the keys.
    fn located_in(self, document: &TomlDocument) -> Self {
        let located = |problem: ScenarioProblem| {
            let place = document.place_of(&problem.key);
            problem.at(place)
        };
        let mut problems: Vec<_> = self.problems.into_iter().map(located).collect();
        problems.sort_by_key(|problem| problem.line);
        Self { problems, ..self }
    }
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        for (n, problem) in self.problems.iter().enumerate() {
            // A place has lines of its own.
            let before = n.checked_sub(1).and_then(|before| self.problems.get(before));
            f.write_str(before.map_or("", |it| if it.excerpt.is_some() { "\n" } else { "; " }))?;
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

const COMMAND: &str = "must be a command, as a list of its words";
const JOB_AT: &str = "must be a time of the day from \"00:00\" to \"23:59\"";
const SCOPES: [&str; 5] = ["read", "write", "draft", "send", "record"];
/// More mails than this make every run long and find nothing new.
const MAX_MAILS: usize = 100;
const MAX_DAYS: u32 = 100;

impl Scenario {
    /// Returns a job, mails by a customer each, people who approve, and a key with the scopes `read`,
    /// `write`, `draft` and `send`.
    pub fn new<T: AsRef<str>>(mails: impl IntoIterator<Item = T>) -> Self {
        let mails = mails.into_iter().enumerate().map(|(n, text)| Mail::plain(n, text.as_ref())).collect();
        Self {
            mode: Mode::Job,
            mails,
            people_approve: true,
            scopes: SCOPES[..4].iter().map(|&scope| scope.to_owned()).collect(),
            webhook_path: "/webhooks".to_owned(),
            days: 0,
            job: None,
            job_at: None,
            same: None,
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

    /// Adds a job beside a server: a command that runs once a day, with the same state folder. At least one
    /// day passes then.
    pub fn job<T: Into<String>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.job = Some(command.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the time of the day at which the job beside a server runs, in UTC. Unless set, it runs each 24
    /// hours after the first email.
    pub fn job_at(mut self, hour: u32, minute: u32) -> Self {
        self.job_at = Some((hour, minute));
        self
    }

    /// Sets a command that compares two texts of an app whose words vary: it gets `{"a", "b"}` in JSON on
    /// stdin and ends with status 0 when they are the same. It is never asked about texts that are equal.
    pub fn same<T: Into<String>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.same = Some(command.into_iter().map(Into::into).collect());
        self
    }

    /// Switches rules off.
    pub fn without_rules(mut self, rules: impl IntoIterator<Item = Oracle>) -> Self {
        self.rules_off.extend(rules);
        self
    }

    /// Leaves parts out of the comparison with the undisturbed runs.
    pub fn ignore(mut self, parts: impl IntoIterator<Item = Part>) -> Self {
        self.ignore.extend(parts);
        self
    }

    /// Adds an expectation that must be met at the end of each schedule.
    pub fn expect(mut self, expectation: Expectation) -> Self {
        self.expect.push(Expected { expectation, after: None });
        self
    }

    /// Adds an expectation about what happens after a mail of the scenario, by its number from 0, and within
    /// a time from its arrival.
    pub fn expect_after(mut self, mail: usize, within: Duration, expectation: Expectation) -> Self {
        self.expect.push(Expected { expectation, after: Some((mail, within)) });
        self
    }

    /// Reads the text of a scenario file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, with key and line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let document = TomlDocument::parse(text).map_err(|error| ScenarioError {
            file: None,
            problems: vec![ScenarioProblem::new("", error.message).at(Some(error.excerpt))],
        })?;
        read::scenario(&document.values).map_err(|error| error.located_in(&document))
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, with the file, key and line.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let file = path.as_ref().display().to_string();
        let text = fs::read_to_string(path).map_err(|error| ScenarioError {
            file: Some(file.clone()),
            problems: vec![ScenarioProblem::new("", format!("cannot be read: {error}"))],
        })?;
        match Self::parse(&text) {
            Ok(scenario) => Ok(Self { source: Source::File(file), ..scenario }),
            Err(error) => Err(ScenarioError { file: Some(file), ..error }),
        }
    }

    /// Returns the scenario of a function's options.
    #[doc(hidden)]
    pub fn from_options(options: Map<String, Value>) -> Result<Self, ScenarioError> {
        let scenario = read::scenario(&options)?;
        Ok(Self { source: Source::Keys(options), ..scenario })
    }

    /// Returns what only the whole shows to be wrong.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        let mut problems = Vec::new();
        let mut add = |key: String, message: &str| problems.push(ScenarioProblem::new(key, message));
        if !(1..=MAX_MAILS).contains(&self.mails.len()) {
            add("mails".to_owned(), &format!("must have from 1 to {MAX_MAILS} mails"));
        }
        if !self.webhook_path.starts_with('/') {
            add("webhook_path".to_owned(), "must be a path such as \"/webhooks\"");
        }
        if self.days > MAX_DAYS {
            add("days".to_owned(), &format!("must be a whole number from 0 to {MAX_DAYS}"));
        }
        for (n, mail) in self.mails.iter().enumerate() {
            if mail.text.trim().is_empty() || mail.text.chars().count() > limits::REPLY_BODY {
                add(format!("mails[{n}].text"), "is required, and must not be empty or very long");
            }
            if mail.follow_up && self.opener(n) == n {
                add(format!("mails[{n}].follow_up"), "there is no earlier mail by that customer");
            }
            // The steps of a server are made before its mails come, and know a conversation by its customer.
            let is_again = !mail.follow_up && self.mails[..n].iter().any(|other| other.from == mail.from);
            if is_again && self.mode == Mode::Server {
                add(format!("mails[{n}].from"), "must differ from the other mails' in the mode \"server\"");
            }
        }
        for (n, expected) in self.expect.iter().enumerate() {
            if expected.after.is_some_and(|(mail, _)| mail >= self.mails.len()) {
                add(format!("expect[{n}].after"), "names no mail of the scenario");
            }
        }
        for (key, command) in [("job", &self.job), ("same", &self.same)] {
            if command.as_ref().is_some_and(Vec::is_empty) {
                add(key.to_owned(), COMMAND);
            }
        }
        if self.job_at.is_some_and(|(hour, minute)| hour > 23 || minute > 59) {
            add("job_at".to_owned(), JOB_AT);
        }
        if self.job_at.is_some() && self.job.is_none() {
            add("job_at".to_owned(), "goes with `job`");
        }
        if self.job.is_some() && self.mode == Mode::Job {
            add("job".to_owned(), "goes with mode = \"server\"");
        }
        self.or_problems(problems)
    }

    /// Returns an error with these problems, unless there are none.
    pub(crate) fn or_problems(&self, problems: Vec<ScenarioProblem>) -> Result<(), ScenarioError> {
        if problems.is_empty() {
            return Ok(());
        }
        let Source::File(file) = &self.source else { return Err(ScenarioError { file: None, problems }) };
        let error = ScenarioError { file: Some(file.clone()), problems };
        let text = fs::read_to_string(file).unwrap_or_default();
        Err(match TomlDocument::parse(&text) {
            Ok(document) => error.located_in(&document),
            Err(_) => error,
        })
    }

    /// Returns another mail of the scenario that begins a conversation and has other words.
    pub(crate) fn other_mail(&self, mail: usize) -> Option<usize> {
        let own = &self.mails.get(mail)?.text;
        let all = (mail + 1..self.mails.len()).chain(0..mail);
        all.into_iter().find(|other| !self.mails[*other].follow_up && self.mails[*other].text != *own)
    }

    /// Returns the mail that began the conversation of this one: an earlier one for a follow-up.
    pub(crate) fn opener(&self, mail: usize) -> usize {
        let Some(it) = self.mails.get(mail).filter(|it| it.follow_up) else { return mail };
        self.mails[..mail].iter().rposition(|other| !other.follow_up && other.from == it.from).unwrap_or(mail)
    }
}
