//! The oracles: whether what happened in a schedule is what should have happened.
//!
//! What nobody could see is no finding: what someone does between the app's last read of a conversation and
//! its request is not held against the app.

use crate::process::RunEnd;
use shared_inbox::__spec::Operation;

use crate::explore::{
    oracle::Oracle,
    plan::op::Op,
    plan::step::Act,
    run::calls::another,
    run::record::{AppRequest, DeliveryAttempt, End, Event},
    scenario::Part,
    verdict::judge::{Judge, SecondMail},
};

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Broken {
    pub(crate) oracle: Oracle,
    pub(crate) summary: String,
    /// Where it broke, by its number in the order of everything; at the end where there is none.
    pub(crate) at: Option<u64>,
    /// How a conversation ended and how it ends without trouble, a line each.
    pub(crate) ends: Vec<String>,
}

impl Broken {
    pub(crate) fn new(oracle: Oracle, summary: String) -> Self {
        Self { oracle, summary, at: None, ends: Vec::new() }
    }

    pub(crate) fn at(self, at: Option<u64>) -> Self {
        Self { at, ..self }
    }
}

impl Judge<'_> {
    /// Returns what is wrong with a run without trouble, in which no rule may be broken.
    pub(crate) fn judge_undisturbed(&self) -> Option<Broken> {
        self.rule(Oracle::WellBehaved, Self::ill_behaved)
            .or_else(|| self.rule(Oracle::NeverTwice, Self::twice))
            .or_else(|| self.rule(Oracle::NobodyForgotten, Self::forgotten))
            .or_else(|| self.rule(Oracle::Expect, Self::expectations))
    }

    /// Returns how the app failed in a run without trouble.
    pub(crate) fn ill_behaved(&self) -> Option<Broken> {
        let run = self.execution;
        let mut statuses = run.requests.iter().filter_map(|request| request.status);
        let refused = statuses.find(|status| matches!(status, 401 | 429)).map(|status| match status {
            429 => "a request got 429: the app made more than 120 requests in a run, and the clock of the world stands while it runs".to_owned(),
            _ => format!("a request got {status}"),
        });
        let unanswered = run.attempts.iter().find(|attempt| !attempt.delivered);
        let unanswered = unanswered.map(DeliveryAttempt::describe_failure);
        let broken = |summary: String| Broken::new(Oracle::WellBehaved, summary);
        self.ended().or(unanswered.or(refused).map(broken))
    }

    /// Returns the first rule that does not hold.
    pub(crate) fn judge(&self) -> Option<Broken> {
        self.rule(Oracle::PersonsWord, Self::persons_word)
            .or_else(|| self.rule(Oracle::NeverTwice, Self::twice))
            .or_else(|| self.rule(Oracle::WellBehaved, Self::ended))
            .or_else(|| self.rule(Oracle::NobodyForgotten, Self::forgotten))
            .or_else(|| self.rule(Oracle::WellBehaved, Self::responses))
            .or_else(|| self.rule(Oracle::SameEnd, Self::same_end))
            .or_else(|| self.rule(Oracle::Expect, Self::expectations))
    }

    /// Checks a rule unless the scenario switches it off.
    fn rule(&self, oracle: Oracle, check: impl FnOnce(&Self) -> Option<Broken>) -> Option<Broken> {
        if self.scenario.rules_off.contains(&oracle) { None } else { check(self) }
    }

    fn persons_word(&self) -> Option<Broken> {
        for (act, mail, at) in self.execution.acts().filter(|(act, ..)| act.is_persons_word()) {
            let end = self.execution.end_of(mail)?;
            let Some(seen) = self.seen_after(&end.id, at) else { continue };
            let last_mail = self.second_mails(end).last().copied();
            // A further mail asks for a further answer, until the app has written one; who has taken over
            // answers that one too.
            let wrote_again = last_mail.is_some_and(|(_, arrived_at)| {
                let read = self.seen_after(&end.id, arrived_at).filter(|read| *read < at);
                read.is_none_or(|read| self.written(&end.id, read..at).next().is_none())
            });
            if act != Act::Assign && wrote_again {
                continue;
            }
            // Whoever has not heard of a message cannot know what became of it.
            if act.needs_message() && !self.knew_message(&end.id, at) {
                continue;
            }
            // Who has taken the conversation without seeing that a person had, reads that it is theirs.
            if act == Act::Assign && self.took_over(&end.id, at, seen) {
                continue;
            }
            // A person acts on one message. Every further email without an answer of its own is still owed
            // one.
            let is_owed = |second: &SecondMail| {
                let answers = |it: &AppRequest| self.is_answered_by(*second, it);
                act.needs_message() && !self.written(&end.id, ..at).any(answers)
            };
            let owed: Vec<SecondMail> =
                self.second_mails(end).iter().map(|(second, _)| *second).filter(is_owed).collect();
            // A later approval cancels what the person did before.
            let approves = |(later, about, approved): &(Act, usize, u64)| {
                (*later, *about) == (Act::Approve, mail) && *approved >= at
            };
            let approved_at =
                self.execution.acts().find(approves).map_or(u64::MAX, |(.., approved)| approved);
            let is_against_it = |request: &&AppRequest| {
                request.number < approved_at
                    && !self.was_begun(request, at)
                    && !owed.iter().any(|mail| self.is_answered_by(*mail, request))
                    // The API has no sign of a discard that an app could see; a person sees a draft again.
                    && (act != Act::Discard || request.body["send"] == true)
            };
            let Some(written) = self.written(&end.id, seen..).find(is_against_it) else { continue };
            let customer = end.customer.clone();
            let did = match act {
                Act::Edit => "edited and approved a draft",
                Act::Stop => "stopped a message",
                Act::Discard => "discarded a draft",
                Act::Assign => "took over the conversation",
                _ => "answered by hand",
            };
            let summary = format!(
                "A person {did} in the conversation with {customer}; the app read that, and wrote to the customer all the same."
            );
            return Some(Broken::new(Oracle::PersonsWord, summary).at(Some(written.number)));
        }
        self.risk()
    }

    fn risk(&self) -> Option<Broken> {
        let risky = |end: &&End| end.risk && end.is_answered();
        if self.undisturbed_runs.iter().any(|run| run.ends.iter().any(|end| risky(&end))) {
            return None;
        }
        let end = self.execution.ends.iter().find(risky)?;
        let summary =
            format!("The mail of {} is held and marked as a risk, and the app answered it.", end.customer);
        let written = self.written(&end.id, ..).next().map(|request| request.number);
        Some(Broken::new(Oracle::PersonsWord, summary).at(written))
    }

    fn twice(&self) -> Option<Broken> {
        let parts = [Part::Outbox, Part::Notes];
        self.execution.ends.iter().find_map(|end| parts.into_iter().find_map(|part| self.repeated(end, part)))
    }

    /// Returns what stands in a conversation more often than it may: a message or a note, or where words
    /// vary, the number of them.
    fn repeated(&self, end: &End, part: Part) -> Option<Broken> {
        let is_note = part == Part::Notes;
        let of = |end: &'_ End| if is_note { end.notes.clone() } else { end.messages.clone() };
        let (list, customer, wrote) = (of(end), &end.customer, mails(end.mails));
        let summary = if self.nondeterministic_parts.is_constant(part) {
            let allowed = |text: &String| {
                let before = self.undisturbed_ends(end).map(|other| count(&of(other), text)).max();
                before.unwrap_or(0).max(end.mails)
            };
            let text = list.iter().find(|text| count(&list, text) > allowed(text))?;
            let (times, text) = (count(&list, text), quoted(text));
            if is_note {
                format!("In the conversation with {customer} the same note stands {times} times: {text}")
            } else {
                format!("{customer} wrote {wrote} and got the same text {times} times: {text}")
            }
        } else {
            // So many for each mail: in this conversation, or where it is not in those runs, in any.
            let per_mail = |other: &End| of(other).len().div_ceil(other.mails.max(1));
            let here = self.undisturbed_ends(end).map(per_mail).max();
            let anywhere = || self.undisturbed_runs.iter().flat_map(|run| &run.ends).map(per_mail).max();
            let limit = here.or_else(anywhere).unwrap_or(0).max(1) * end.mails.max(1);
            // What else happened may ask for a message, such as a document that came.
            let asks =
                |act: Act| !act.is_second_mail() && !matches!(act, Act::NewMail | Act::Risk | Act::AutoReply);
            let is_asked = self.execution.schedule.acts().any(|(act, _)| asks(act));
            let quiet = self.quiet_runs.iter().filter(|_| is_asked).filter_map(|run| run.same_end(end));
            let limit = quiet.map(|other| of(other).len()).max().unwrap_or(0).max(limit);
            let found = Some(list.len()).filter(|found| *found > limit)?;
            if is_note {
                format!(
                    "In the conversation with {customer} are {found} notes of the app; without trouble it is {limit} at most."
                )
            } else {
                format!(
                    "{customer} wrote {wrote} and got {found} messages of the app; without trouble it is {limit} at most."
                )
            }
        };
        let writes = |it: &&AppRequest| if is_note { it.is(Operation::AddNote) } else { it.writes_mail() };
        let last = self.requests(&end.id, ..).rfind(writes).map(|request| request.number);
        Some(Broken::new(Oracle::NeverTwice, summary).at(last))
    }

    /// Returns whether the last run ended, and well.
    fn ended(&self) -> Option<Broken> {
        let ends = |(_, event): &&(u64, Event)| matches!(event, Event::RunEnds(..));
        let at = self.execution.events.iter().rfind(ends).map(|(number, _)| *number);
        let broken = |summary: String| Some(Broken::new(Oracle::WellBehaved, summary).at(at));
        let server = self.execution.server;
        if let Some(RunEnd::Failed(_) | RunEnd::TimedOut) = self.execution.job_end() {
            return broken("The job beside the server failed each time that it was run on a day.".into());
        }
        match self.execution.run_ends().next_back() {
            _ if self.execution.settled => None,
            Some(RunEnd::Failed(how)) if server => broken(format!("The server ends by itself: {how}.")),
            Some(RunEnd::Succeeded) if server => broken("The server ends by itself: exit status 0.".into()),
            Some(RunEnd::TimedOut) if server => {
                broken("The server does not accept connections on its port.".into())
            }
            Some(RunEnd::Failed(how)) => {
                broken(format!("The app still fails when all trouble has ended: {how}."))
            }
            Some(RunEnd::TimedOut) => broken("The app does not end, though all trouble has ended.".into()),
            _ => broken("The app never comes to rest: every run changes something.".into()),
        }
    }

    /// Responses that the run without trouble did not get.
    fn responses(&self) -> Option<Broken> {
        let same = |request: &AppRequest, op: Option<Op>, status: u16| {
            request.op == op && request.status == Some(status)
        };
        let known = |op: Option<Op>, status: u16| {
            let runs = self.undisturbed_runs.iter().copied().chain(self.quiet_runs);
            runs.flat_map(|run| &run.requests).any(|request| same(request, op, status))
        };
        let found = self.execution.requests.iter().find_map(|request| {
            let status = request.status.filter(|status| matches!(status, 400 | 401 | 403 | 404 | 429))?;
            (request.struck.is_none() && !known(request.op, status)).then_some((request, status))
        });
        let (request, status) = found?;
        let summary = match status {
            429 => "The app made more than 120 requests in a minute.".to_owned(),
            _ => {
                format!(
                    "The service answered {} with {status}, as it does not without trouble.",
                    request.line
                )
            }
        };
        Some(Broken::new(Oracle::WellBehaved, summary).at(Some(request.number)))
    }

    pub(crate) fn same_end(&self) -> Option<Broken> {
        for end in &self.execution.ends {
            let touched = self.execution.acts().any(|(act, mail, _)| act.touches() && Some(mail) == end.mail);
            // Another customer writes the words of a mail.
            let by_step = || self.execution.acts().find(|(_, mail, _)| another(*mail) == end.customer);
            let asked = end.mail.or_else(|| by_step().map(|(_, mail, _)| mail));
            // A customer who first writes on a later day has fewer days left than in the runs it is compared
            // with.
            let late = |(_, mail, at): (Act, usize, u64)| {
                another(mail) == end.customer && self.execution.is_later_day(at)
            };
            if touched || asked.is_none() || self.execution.acts().any(late) {
                continue;
            }
            let quiet = self.quiet_runs.iter().filter_map(|run| run.same_end(end));
            let known = self.undisturbed_runs.iter().filter_map(|run| run.end_of(asked?));
            let others: Vec<&End> = quiet.chain(known).collect();
            let Some(wanted) = others.first() else { continue };
            // A conversation that a step started: was it seen at all?
            if end.mail.is_none() && self.seen_after(&end.id, 0).is_none() {
                continue;
            }
            let differs = |part: &Part| {
                let same = |other: &End| {
                    let (texts, known) = (end.values(*part), other.values(*part));
                    texts.iter().all(|text| known.iter().any(|it| self.same_texts.is_same(text, it)))
                };
                let same = self.same_texts.known.is_some().then_some(&same as &dyn Fn(&End) -> bool);
                !self.scenario.ignore.contains(part)
                    && !self.nondeterministic_parts.fits(*part, end, &others, same)
            };
            let Some(part) = Part::ALL.into_iter().find(differs) else { continue };
            let words = |values: &[String]| match values {
                [] => "nothing".to_owned(),
                values => values.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "),
            };
            let named = if part == Part::Outbox { "what was written".to_owned() } else { part.to_string() };
            let summary = format!(
                "The conversation with {} ends otherwise than without trouble: {named} is {} instead of {}.",
                end.customer,
                words(&end.values(part)),
                words(&wanted.values(part)),
            );
            // A reader may see that it is the run without trouble that is wrong.
            let line = |end: &End| {
                let parts = Part::ALL.map(|part| format!("{part} {}", words(&end.values(part))));
                parts.join("; ")
            };
            let ends = vec![
                format!("end       here: {}", line(end)),
                format!("end       without trouble: {}", line(wanted)),
            ];
            let at = self.requests(&end.id, ..).rfind(|it| it.is_write()).map(|it| it.number);
            return Some(Broken { ends, ..Broken::new(Oracle::SameEnd, summary).at(at) });
        }
        None
    }

    pub(crate) fn expectations(&self) -> Option<Broken> {
        let own = self.execution.expectations.iter().enumerate();
        for (n, unmet) in own {
            let Some(why) = unmet else { continue };
            let explained =
                self.quiet_runs.iter().any(|run| run.expectations.get(n).is_some_and(Option::is_some));
            if !explained {
                let first = why.lines().next().unwrap_or_default();
                let is_check = n >= self.scenario.expect.len();
                let named = if is_check { "check".to_owned() } else { format!("expect[{n}]") };
                return Some(Broken::new(Oracle::Expect, format!("{named} does not hold: {first}")));
            }
        }
        None
    }
}

fn count(list: &[String], text: &str) -> usize {
    list.iter().filter(|it| *it == text).count()
}

fn mails(number: usize) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

/// Returns a text in quotes, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line = text.replace('\n', " ");
    let cut: String = line.chars().take(MAX_CHARS).collect();
    if cut == line { format!("\"{line}\"") } else { format!("\"{cut}…\"") }
}
