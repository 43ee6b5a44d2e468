//! What happened, line by line, in plain words.

use crate::{
    plan::op::Delivery,
    plan::schedule::Schedule,
    plan::step::{Act, Place, Step, Trouble, What},
    run::calls::second_mail,
    run::record::{AppRequest, Event, Execution, StepEffect},
    scenario::Scenario,
    under_test::app::RunEnd,
    verdict::oracles::quoted,
};

/// Returns who did what, in order.
pub(crate) fn timeline(scenario: &Scenario, schedule: &Schedule, execution: &Execution) -> Vec<String> {
    let mut lines = Vec::new();
    let mut events = execution.events.iter().peekable();
    let act = |n: usize| {
        let (act, mail) = schedule.steps[n].act()?;
        let end = execution.end_of(scenario.opener(mail));
        let customer = end.map_or("a customer", |end| &end.customer);
        Some(act_line(act, customer, &quoted(&second_mail(act, scenario, mail))))
    };
    for index in 0..=execution.requests.len() {
        while let Some((_, event)) = events.next_if(|(before, _)| *before <= index) {
            let line = match event {
                Event::Attempt(n) => Some(attempt_line(*n, schedule, execution)),
                Event::RunStarts(run) if execution.server => Some(match run {
                    1 => "app       starts".to_owned(),
                    _ => "app       is started again".to_owned(),
                }),
                Event::RunEnds(_, end) if execution.server => Some(match end {
                    RunEnd::Succeeded => "app       ends by itself: exit status 0".to_owned(),
                    RunEnd::Failed(how) => format!("app       ends by itself: {how}"),
                    RunEnd::Killed => "app       is killed".to_owned(),
                    RunEnd::TimedOut => "app       accepts no connections, and is killed".to_owned(),
                }),
                Event::Step(n) => act(*n),
                Event::Mail { mail, from, text } if scenario.mails[*mail].follow_up => {
                    Some(act_line(Act::Mail, from, &quoted(text)))
                }
                event => event_line(event),
            };
            lines.extend(line);
            if let Event::RunEnds(_, end) = event {
                lines.extend(end.quoted_lines());
            }
        }
        let Some(request) = execution.requests.get(index) else { break };
        let strikes = |(step, fired): &(&Step, &StepEffect)| {
            fired.effective && step.request().is_some() && step.act().is_none() && fired.at == Some(index)
        };
        let struck = schedule.steps.iter().zip(&execution.fired).find(strikes).map(|(step, _)| step);
        lines.push(request_line(request, struck, execution));
    }
    lines
}

fn request_line(request: &AppRequest, struck: Option<&Step>, execution: &Execution) -> String {
    let end = execution.ends.iter().find(|end| Some(&end.id) == request.conversation.as_ref());
    let line = match end {
        Some(end) => request.line.replace(&end.id, &format!("<{}>", end.customer)),
        None => request.line.clone(),
    };
    let said = request.body["body"].as_str().map(|text| format!(" {}", quoted(text))).unwrap_or_default();
    let outcome = match struck.map(|step| step.what) {
        Some(What::Fail(failure)) => failure.words().to_owned(),
        Some(What::Kill) if struck.is_some_and(|step| matches!(step.place, Place::After(_))) => {
            "was taken, then the app was killed".to_owned()
        }
        Some(What::Kill) => "was under way when the app was killed".to_owned(),
        _ => request.status.map_or("no response".to_owned(), |status| status.to_string()),
    };
    format!("app       {line}{said} → {outcome}")
}

fn attempt_line(n: usize, schedule: &Schedule, execution: &Execution) -> String {
    let attempt = &execution.attempts[n];
    let end = execution.ends.iter().find(|end| Some(&end.id) == attempt.conversation.as_ref());
    let about = end.map(|end| format!(" about {}", end.customer)).unwrap_or_default();
    let nth = execution.attempts[..n].iter().filter(|it| it.event == attempt.event).count();
    let here =
        |delivery: Delivery| delivery.event == attempt.event && usize::try_from(delivery.nth) == Ok(nth);
    let struck = schedule.steps.iter().find(|step| step.delivery().is_some_and(here));
    let happens = match struck.map(|step| step.what) {
        Some(What::Deliver(trouble)) if trouble != Trouble::Late => trouble.words().to_owned(),
        _ => match attempt.late {
            Some(by) => format!("is delivered {} minutes late", by.as_secs() / 60),
            None => "is delivered".to_owned(),
        },
    };
    let outcome = match attempt.status {
        Some(status) => format!(" → {status}"),
        None if struck.is_some() => String::new(),
        None => format!(" → {}", attempt.error),
    };
    format!("webhook   {}{about} {happens}{outcome}", attempt.event)
}

fn event_line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Mail { from, text, .. } => format!("customer  {from} writes {}", quoted(text)),
        Event::RunStarts(run) => format!("app       run {run} begins"),
        Event::RunEnds(run, RunEnd::Succeeded) => format!("app       run {run} ends"),
        Event::RunEnds(run, RunEnd::Failed(how)) => format!("app       run {run} fails: {how}"),
        Event::RunEnds(run, RunEnd::Killed) => format!("app       run {run} is killed"),
        Event::RunEnds(run, RunEnd::TimedOut) => format!("app       run {run} takes too long and is killed"),
        Event::Approved(1) => "person    approves a draft".to_owned(),
        Event::Approved(drafts) => format!("person    approves {drafts} drafts"),
        Event::TimePasses(60) => "time      a minute passes".to_owned(),
        Event::TimePasses(seconds) => format!("time      {} minutes pass", seconds / 60),
        Event::DayBegins(day) => format!("time      day {day} begins"),
        Event::Sent { to, text } => format!("service   mails {to}: {}", quoted(text)),
        Event::Step(_) | Event::Attempt(_) => return None,
        Event::TroubleEnds => "          the trouble ends".to_owned(),
    })
}

fn act_line(act: Act, customer: &str, words: &str) -> String {
    match act {
        Act::Approve => format!("person    approves the draft for {customer}"),
        Act::Edit => format!("person    edits and approves the draft for {customer}"),
        Act::Stop => format!("person    stops the message to {customer} in its undo window"),
        Act::Discard => format!("person    discards the draft for {customer}"),
        Act::Assign => format!("person    takes over the conversation with {customer}"),
        Act::Answer => format!("person    answers {customer} by hand"),
        Act::Mail | Act::Nudge => format!("customer  {customer} writes again: {words}"),
        Act::NewMail => "customer  another customer writes".to_owned(),
        Act::Risk => "customer  a stranger writes; the service holds the mail as a likely scam".to_owned(),
        Act::AutoReply => format!("customer  {customer}'s mail program says that they are away"),
        Act::Upload => format!("customer  {customer} uploads a document that was asked for"),
        Act::Reminder => "time      two days pass; the service reminds of documents".to_owned(),
        Act::Advance => "time      11 minutes pass".to_owned(),
        Act::Overlap => "time      45 seconds pass; what was not answered is delivered again".to_owned(),
    }
}
