//! What happened, line by line, in plain words.

use crate::process::RunEnd;

use crate::explore::{
    findings::report::{Mark, MarkKind},
    plan::step::{Act, Failure, Place, What},
    run::calls::second_mail,
    run::record::{AppRequest, DeliveryAttempt, Event, Execution},
    scenario::Scenario,
    verdict::oracles::quoted,
};

/// Returns who did what, in order, and the lines at which trouble struck and, with the number of where, a
/// rule broke.
pub(crate) fn timeline(
    scenario: &Scenario,
    execution: &Execution,
    broken_at: Option<u64>,
) -> (Vec<String>, Vec<Mark>) {
    let mut lines: Vec<Line> = Vec::new();
    for request in &execution.requests {
        let (number, is_trouble) = (request.number, request.struck.is_some());
        let is_quiet = request.is_read() && !is_trouble;
        lines.push(Line { number, text: request_line(request, execution), is_trouble, is_quiet });
    }
    for attempt in &execution.attempts {
        let (number, is_trouble) = (attempt.number, attempt.struck.is_some());
        lines.push(Line { number, text: attempt_line(attempt, execution), is_trouble, is_quiet: false });
    }
    for (number, event) in &execution.events {
        let Some(text) = event_line(event, scenario, execution) else { continue };
        let is_trouble = matches!(event, Event::Act(..));
        let is_quiet = matches!(
            event,
            Event::RunStarts(_)
                | Event::RunEnds(_, RunEnd::Succeeded)
                | Event::JobStarts
                | Event::JobEnds(RunEnd::Succeeded)
                | Event::TimePasses(_)
                | Event::DayBegins(_)
        );
        lines.push(Line { number: *number, text, is_trouble, is_quiet });
        if let Event::RunEnds(_, end) | Event::JobEnds(end) = event {
            let quoted = |text| Line { number: *number, text, is_trouble: false, is_quiet: false };
            lines.extend(quoted_lines(end).map(quoted));
        }
    }
    lines.sort_by_key(|line| line.number);
    let lines = fold_days(&lines);
    let trouble = lines.iter().enumerate().filter(|(_, line)| line.is_trouble);
    let mut marks: Vec<Mark> = trouble.map(|(line, _)| Mark { line, kind: MarkKind::Trouble }).collect();
    let broken = broken_at.and_then(|at| lines.iter().rposition(|line| line.number <= at));
    marks.extend(broken.map(|line| Mark { line, kind: MarkKind::Broken }));
    (lines.into_iter().map(|line| line.text).collect(), marks)
}

/// A line of the story.
#[derive(Clone)]
struct Line {
    number: u64,
    text: String,
    is_trouble: bool,
    /// Whether it tells nothing by itself, as when the app only reads.
    is_quiet: bool,
}

/// Folds days on which nothing happens, but not the first and the last.
fn fold_days(lines: &[Line]) -> Vec<Line> {
    let days: Vec<&[Line]> = lines.chunk_by(|_, next| !next.text.starts_with(DAY)).collect();
    let inner = 1..days.len().saturating_sub(1);
    let is_quiet = |day: &usize| inner.contains(day) && days[*day].iter().all(|line| line.is_quiet);
    let indices: Vec<usize> = (0..days.len()).collect();
    let mut told = Vec::new();
    for alike in indices.chunk_by(|day, next| is_quiet(day) && is_quiet(next)) {
        if let [first, .., last] = alike {
            let text = format!("time      days {} to {} pass; the app only reads", first + 1, last + 1);
            told.push(Line { number: days[*first][0].number, text, is_trouble: false, is_quiet: true });
        } else {
            told.extend(alike.iter().flat_map(|day| days[*day]).cloned());
        }
    }
    told
}

/// How the line begins with which a day does.
const DAY: &str = "time      day ";

/// Returns what a program that failed wrote last, each line behind a bar.
pub(crate) fn quoted_lines(end: &RunEnd) -> impl Iterator<Item = String> + '_ {
    end.last_lines().iter().map(|line| format!("            | {line}"))
}

fn request_line(request: &AppRequest, execution: &Execution) -> String {
    let end = execution.ends.iter().find(|end| Some(&end.id) == request.conversation.as_ref());
    let line = match end {
        Some(end) => request.line.replace(&end.id, &format!("<{}>", end.customer)),
        None => request.line.clone(),
    };
    let said = request.body["body"].as_str().map(|text| format!(" {}", quoted(text))).unwrap_or_default();
    let outcome = match request.struck.map(|step| (step.what, step.place)) {
        Some((What::Fail(failure), _)) => failure.words().to_owned(),
        Some((What::Kill, Place::After(_))) => "was taken, then the app was killed".to_owned(),
        Some((What::Kill, _)) => "was under way when the app was killed".to_owned(),
        _ => request.status.map_or("no response".to_owned(), |status| status.to_string()),
    };
    format!("app       {line}{said} → {outcome}")
}

fn attempt_line(attempt: &DeliveryAttempt, execution: &Execution) -> String {
    let end = execution.ends.iter().find(|end| Some(&end.id) == attempt.conversation.as_ref());
    let about = end.map(|end| format!(" about {}", end.customer)).unwrap_or_default();
    let happens = match attempt.struck.map(|step| step.what) {
        Some(What::Fail(failure)) if failure != Failure::Late => failure.words().to_owned(),
        _ => match attempt.late {
            Some(by) => format!("is delivered {} minutes late", by.as_secs() / 60),
            None => "is delivered".to_owned(),
        },
    };
    let outcome = match attempt.status {
        Some(status) => format!(" → {status}"),
        None if attempt.struck.is_some() => String::new(),
        None => format!(" → {}", attempt.error),
    };
    format!("webhook   {}{about} {happens}{outcome}", attempt.place.event)
}

fn event_line(event: &Event, scenario: &Scenario, execution: &Execution) -> Option<String> {
    Some(match event {
        Event::RunStarts(1) if execution.server => "app       starts".to_owned(),
        Event::RunStarts(_) if execution.server => "app       is started again".to_owned(),
        Event::RunEnds(_, end) if execution.server => match end {
            RunEnd::Succeeded => "app       ends by itself: exit status 0".to_owned(),
            RunEnd::Failed(how) => format!("app       ends by itself: {how}"),
            RunEnd::Killed => "app       is killed".to_owned(),
            RunEnd::TimedOut => "app       accepts no connections, and is killed".to_owned(),
        },
        Event::JobStarts => "job       begins".to_owned(),
        Event::JobEnds(end) => format!("job       {}", end_words(end)),
        Event::TurnChanges { conversation, turn } => {
            let end = execution.ends.iter().find(|end| end.id == *conversation)?;
            let turn = if turn == "theirs" { "waits for the customer" } else { "is the team's turn" };
            format!("service   the conversation with {} {turn}", end.customer)
        }
        Event::Mail { mail, from, text } if scenario.mails[*mail].follow_up => {
            act_line(Act::Mail, from, &quoted(text))
        }
        Event::Mail { from, text, .. } => format!("customer  {from} writes {}", quoted(text)),
        Event::RunStarts(run) => format!("app       run {run} begins"),
        Event::RunEnds(run, end) => format!("app       run {run} {}", end_words(end)),
        Event::Approved(1) => "person    approves a draft".to_owned(),
        Event::Approved(drafts) => format!("person    approves {drafts} drafts"),
        Event::TimePasses(60) => "time      a minute passes".to_owned(),
        Event::TimePasses(seconds) => format!("time      {} minutes pass", seconds / 60),
        Event::DayBegins(day) => format!("{DAY}{day} begins"),
        Event::Sent { to, text } => format!("service   mails {to}: {}", quoted(text)),
        Event::Act(act, mail) => {
            let end = execution.end_of(scenario.opener(*mail));
            let customer = end.map_or("a customer", |end| &end.customer);
            act_line(*act, customer, &quoted(&second_mail(*act, scenario, *mail)))
        }
        Event::TroubleEnds => "          the trouble ends".to_owned(),
    })
}

fn end_words(end: &RunEnd) -> String {
    match end {
        RunEnd::Succeeded => "ends".to_owned(),
        RunEnd::Failed(how) => format!("fails: {how}"),
        RunEnd::Killed => "is killed".to_owned(),
        RunEnd::TimedOut => "takes too long and is killed".to_owned(),
    }
}

fn act_line(act: Act, customer: &str, words: &str) -> String {
    match act {
        Act::Approve => format!("person    approves the draft for {customer}"),
        Act::Edit => format!("person    edits and approves the draft for {customer}"),
        Act::Stop => format!("person    stops the message to {customer} in its undo window"),
        Act::Discard => format!("person    discards the draft for {customer}"),
        Act::Assign => format!("person    takes over the conversation with {customer}"),
        Act::Answer => format!("person    answers {customer} by hand"),
        Act::Mail | Act::Nudge | Act::Other => format!("customer  {customer} writes again: {words}"),
        Act::NewMail => "customer  another customer writes".to_owned(),
        Act::Risk => "customer  a stranger writes; the service holds the mail as a likely scam".to_owned(),
        Act::AutoReply => format!("customer  {customer}'s mail program says that they are away"),
        Act::Upload => format!("customer  {customer} uploads a document that was asked for"),
        Act::Reminder => "time      two days pass; the service reminds of documents".to_owned(),
        Act::Advance => "time      11 minutes pass".to_owned(),
        Act::Overlap => "time      45 seconds pass; what was not answered is delivered again".to_owned(),
    }
}
