//! The test writer: a test that fails for the same reason without the explorer.

mod python;
mod rust;
mod rust_helpers;
mod typescript;

use serde_json::{Value, json};

use crate::{
    findings::report::Tests,
    plan::schedule::Schedule,
    plan::step::{Act, Moment, Place, What},
    run::calls::{RETRY_SECONDS, ROUND_SECONDS, control_call, rules},
    run::driver::Driver,
    run::record::Execution,
    under_test::app::{App, RunEnd},
    verdict::oracles::{Broken, Claim},
};

/// One line of a test, in no language yet. Texts may name variables between two `MARK`s.
enum Line {
    Comment(String),
    /// A customer's mail; its conversation gets a name where it is needed.
    Mail {
        name: Option<String>,
        body: Value,
    },
    /// A fault rule; at some the app is killed.
    Fault {
        rule: Value,
        kills: bool,
    },
    /// What somebody does in a quiet moment, in the conversation of this variable or text.
    Call {
        act: Act,
        conversation: String,
        body: Value,
    },
    /// A job runs to its end, a server comes to rest.
    Run,
    People,
    Advance(u64),
    ClearFaults,
    /// What must be true.
    Claim(Claim),
}

/// Stands around the name of a variable in a text.
const MARK: char = '\u{1}';

/// What a test runs.
enum Tested {
    Command(Vec<String>),
    /// A function of the test process, and where it can be imported from.
    Function(Option<(String, String)>),
}

impl Tested {
    fn of(app: &App) -> Self {
        match app {
            App::Command(words) => {
                Self::Command(words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
            }
            App::Function(_) => Self::Command(vec!["the-command-of-your-app".to_owned()]),
            App::Piped(functions) => {
                let at = functions.function.as_ref();
                Self::Function(at.map(|it| (it.module.clone(), it.name.clone())))
            }
        }
    }

    fn command(&self) -> Value {
        match self {
            Self::Command(words) => json!(words),
            Self::Function(_) => json!(["the-command-of-your-app"]),
        }
    }
}

/// What a language needs to know.
struct Test {
    name: &'static str,
    summary: String,
    token: String,
    app: Tested,
    scopes: Vec<String>,
    timeout: f64,
    /// Of a server: where it receives webhooks.
    webhook_path: Option<String>,
    /// Whether a person is named.
    person: bool,
    lines: Vec<Line>,
    expectations: Vec<Value>,
}

pub(crate) fn write(driver: &Driver, schedule: &Schedule, execution: &Execution, broken: &Broken) -> Tests {
    let test = Test {
        name: match broken.oracle {
            crate::verdict::oracle::Oracle::SameEnd => "it_ends_as_without_trouble",
            crate::verdict::oracle::Oracle::NeverTwice => "nobody_gets_the_same_text_twice",
            crate::verdict::oracle::Oracle::NobodyForgotten => "every_customer_is_answered",
            crate::verdict::oracle::Oracle::PersonsWord => "what_a_person_decided_counts",
            crate::verdict::oracle::Oracle::WellBehaved => "the_app_behaves_well",
            crate::verdict::oracle::Oracle::Expect => "what_is_expected_holds",
        },
        summary: broken.summary.clone(),
        token: schedule.token(),
        app: Tested::of(&driver.app),
        scopes: driver.scenario.scopes.clone(),
        timeout: driver.app_timeout.as_secs_f64(),
        webhook_path: execution.server.then(|| driver.scenario.webhook_path.clone()),
        person: schedule.acts().any(|(act, _)| act == Act::Assign),
        lines: lines(driver, schedule, execution, broken),
        expectations: driver.scenario.expect.clone(),
    };
    Tests { python: python::write(&test), typescript: typescript::write(&test), rust: rust::write(&test) }
}

fn variable(name: &str) -> String {
    format!("{MARK}{name}{MARK}")
}

fn conversation(mail: usize) -> String {
    format!("conversation_{}", mail + 1)
}

fn lines(driver: &Driver, schedule: &Schedule, execution: &Execution, broken: &Broken) -> Vec<Line> {
    let mut lines = Vec::new();
    // The steps of a server are there before its mails come, and know a conversation by its customer.
    let customer = |mail: usize| driver.scenario.mails[mail].from.clone();
    let call = |act: Act, mail: usize| {
        let target = if execution.server { customer(mail) } else { variable(&conversation(mail)) };
        control_call(act, &driver.scenario, mail, &target, &variable("inbox"), &variable("person"))
    };
    let mut faults = Vec::new();
    let slow_ms = u64::try_from(driver.app_timeout.as_millis()).unwrap_or(u64::MAX);
    for (n, rule) in rules(schedule, slow_ms, call) {
        let step = &schedule.steps[n];
        let fired = execution.fired[n].at;
        let what = match step.what {
            What::Fail(failure) => failure.words().to_owned(),
            What::Kill => "is under way when the app is killed".to_owned(),
            What::Deliver(trouble) => trouble.words().to_owned(),
            What::Act(..) => format!("comes right after somebody has acted ({})", step.kind()),
        };
        let request = fired.and_then(|at| execution.requests.get(at)).and_then(|request| request.op);
        let line = match step.delivery() {
            Some(delivery) => format!("A webhook {}", delivery.event),
            None => request.map_or_else(|| "a request".to_owned(), |op| op.to_string()),
        };
        faults.push(Line::Comment(format!("{line} {what}.")));
        let kills = step.what == What::Kill;
        if kills && matches!(driver.app, App::Piped(_)) {
            faults.extend(cut_off(rule).map(|rule| Line::Fault { rule, kills: false }));
        } else {
            faults.push(Line::Fault { rule, kills });
        }
    }
    if execution.server {
        lines.append(&mut faults);
    }
    for &mail in &schedule.mails {
        let body = driver.scenario.mails[mail].inbound(&variable("inbox"));
        lines.push(Line::Mail { name: (!execution.server).then(|| conversation(mail)), body });
        if execution.server {
            lines.push(Line::Run);
        }
        lines.push(Line::Advance(60));
    }
    lines.append(&mut faults);
    let troubled = execution.troubled_rounds;
    for round in 0..execution.rounds.max(troubled + 3) {
        if round == troubled {
            lines.push(Line::Comment("The trouble has ended.".to_owned()));
            lines.push(Line::ClearFaults);
        }
        let quiet = |moment: Moment, lines: &mut Vec<Line>| {
            for step in &schedule.steps {
                let (Place::Quiet(at, of), What::Act(act, mail)) = (step.place, step.what) else { continue };
                if (at, of) != (moment, round) {
                    continue;
                }
                if let Some((_, body)) = call(act, mail) {
                    let conversation =
                        if execution.server { quote(&customer(mail)) } else { conversation(mail) };
                    lines.push(Line::Call { act, conversation, body });
                    if execution.server {
                        lines.push(Line::Run);
                    }
                }
            }
        };
        quiet(Moment::Run, &mut lines);
        lines.push(Line::Run);
        quiet(Moment::End, &mut lines);
        // Who supervises a job that failed runs it again before people look at its drafts.
        let run = usize::try_from(round).ok().and_then(|round| execution.runs.get(round));
        let failed = !execution.server && run.is_some_and(|end| *end != RunEnd::Succeeded);
        if driver.scenario.people_approve && !failed {
            lines.push(Line::People);
            if execution.server {
                lines.push(Line::Run);
            }
        }
        quiet(Moment::People, &mut lines);
        lines.push(Line::Advance(if failed { RETRY_SECONDS } else { ROUND_SECONDS }));
    }
    lines.push(Line::Claim(broken.claim.clone()));
    lines
}

/// Returns the rules in place of a kill, for a function that cannot be killed: the request is lost, and so are all that follow.
fn cut_off(rule: Value) -> [Value; 2] {
    let (mut all, mut this) = (rule.clone(), rule);
    let drop = this["effect"]["drop"].clone();
    let every = json!({ "times": null, "effect": { "drop": "before" } });
    all["effect"] =
        json!({ "act": [{ "method": "POST", "path": "/faults", "body": every }], "when": drop.clone() });
    this["effect"] = json!({ "drop": drop });
    [all, this]
}

/// Returns a text in the quotes of JSON, which the three languages read alike.
fn quote(text: &str) -> String {
    json!(text).to_string()
}

/// Writes a JSON value; texts and the words for nothing, yes and no are the language's.
fn literal(value: &Value, text: &dyn Fn(&str) -> String, words: [&str; 3]) -> String {
    match value {
        Value::Null => words[0].to_owned(),
        Value::Bool(true) => words[1].to_owned(),
        Value::Bool(false) => words[2].to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(said) => text(said),
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(|item| literal(item, text, words)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}: {}", quote(name), literal(value, text, words))
            };
            let fields: Vec<_> = fields.iter().map(field).collect();
            if fields.is_empty() { "{}".to_owned() } else { format!("{{{}}}", fields.join(", ")) }
        }
    }
}

/// Returns a text with variables, as a template of a language: how it begins, what stands around a variable.
fn template(said: &str, plain: &dyn Fn(&str) -> String, start: &str, around: [&str; 2]) -> String {
    if !said.contains(MARK) {
        return plain(said);
    }
    let parts: Vec<&str> = said.split(MARK).collect();
    if let ["", name, ""] = parts[..] {
        return name.to_owned();
    }
    let mut text = String::new();
    for (n, part) in parts.iter().enumerate() {
        if n % 2 == 1 {
            text.push_str(&format!("{}{part}{}", around[0], around[1]));
        } else {
            text.push_str(part);
        }
    }
    format!("{start}{text}{}", &start[start.len() - 1..])
}
