//! The oracles: whether what happened in a schedule is what should have happened.
//!
//! What nobody could see is no finding: what someone does between the app's last read of a conversation and its request
//! is not held against the app.

use crate::{
    plan::op::Op,
    plan::schedule::Schedule,
    plan::step::Act,
    run::calls::another,
    run::record::{AppRequest, End, Execution},
    scenario::{PARTS, Scenario},
    under_test::app::RunEnd,
    verdict::judge::{Judge, SecondMail},
    verdict::oracle::Oracle,
};

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Broken {
    pub(crate) oracle: Oracle,
    pub(crate) summary: String,
}

/// Returns what is wrong with a run without trouble, in which no rule may be broken.
pub(crate) fn judge_reference(
    scenario: &Scenario,
    run: &Execution,
    firsts: Option<&[(SecondMail, End)]>,
) -> Option<Broken> {
    let schedule = Schedule::calm(Vec::new());
    let judge = Judge { scenario, schedule: &schedule, execution: run, reference: run, calm: &[], firsts };
    let responses =
        run.requests.iter().filter_map(|request| request.status).find(|status| matches!(status, 401 | 429));
    let refused = responses.map(|status| Broken {
        oracle: Oracle::WellBehaved,
        summary: match status {
            429 => "a request got 429: the app made more than 120 requests in a run, and the clock of the world stands while it runs".to_owned(),
            _ => format!("a request got {status}"),
        },
    });
    let unanswered = run.attempts.iter().find(|attempt| !attempt.delivered).map(|attempt| Broken {
        oracle: Oracle::WellBehaved,
        summary: match attempt.status {
            Some(status) => format!("the app responded to the webhook {} with {status}", attempt.event),
            None => format!("the app did not respond to the webhook {}: {}", attempt.event, attempt.error),
        },
    });
    judge
        .rule(Oracle::WellBehaved, |judge| judge.ended().or(unanswered).or(refused))
        .or_else(|| judge.rule(Oracle::NeverTwice, Judge::twice))
        .or_else(|| judge.rule(Oracle::NobodyForgotten, Judge::forgotten))
        .or_else(|| judge.rule(Oracle::Expect, Judge::expectations))
}

impl Judge<'_> {
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
        let is_off = self.scenario.rules_off.iter().any(|rule| *rule == oracle.to_string());
        if is_off { None } else { check(self) }
    }

    fn persons_word(&self) -> Option<Broken> {
        for (act, mail, at) in self.interference().filter(|(act, ..)| act.is_persons_word()) {
            let end = self.execution.end_of(mail)?;
            let Some(seen) = self.seen_from(&end.id, at) else { continue };
            // A further mail asks for a further answer, until the app has written one; who has taken over answers that one too.
            let wrote_again = self.last_second_mail(end).is_some_and(|(_, came)| {
                let read = self.seen_from(&end.id, came).filter(|read| *read < at);
                read.is_none_or(|read| !self.written_from(&end.id, read + 1).any(|index| index < at))
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
            // A person acts on one message. A later email without an answer of its own is still owed one.
            let owed = self.last_second_mail(end).map(|(second, _)| second).filter(|second| {
                let answers = |index: usize| index < at && self.is_answered_by(*second, index);
                act.needs_message() && !self.written_from(&end.id, 0).any(answers)
            });
            let again = |index: &usize| {
                !self.was_begun(*index, at) && !owed.is_some_and(|mail| self.is_answered_by(mail, *index))
            };
            // A later approval cancels what the person did before.
            let approves = |(later, about, approved): &(Act, usize, usize)| {
                (*later, *about) == (Act::Approve, mail) && *approved >= at
            };
            let approved_at =
                self.interference().find(approves).map_or(usize::MAX, |(.., approved)| approved);
            let written: Vec<usize> = self
                .written_from(&end.id, seen + 1)
                .filter(again)
                .filter(|index| *index < approved_at)
                .collect();
            if written.is_empty() {
                continue;
            }
            let customer = end.customer.clone();
            let did = match act {
                Act::Edit => "edited and approved a draft",
                Act::Stop => "stopped a message",
                Act::Discard => "discarded a draft",
                Act::Assign => "took over the conversation",
                _ => "answered by hand",
            };
            return Some(Broken {
                oracle: Oracle::PersonsWord,
                summary: format!(
                    "A person {did} in the conversation with {customer}; the app read that, and wrote to the customer all the same."
                ),
            });
        }
        self.risk()
    }

    fn risk(&self) -> Option<Broken> {
        let risky = |end: &&End| end.risk && end.is_answered();
        if self.reference.ends.iter().any(|end| risky(&end)) {
            return None;
        }
        let end = self.execution.ends.iter().find(risky)?;
        let customer = end.customer.clone();
        Some(Broken {
            oracle: Oracle::PersonsWord,
            summary: format!("The mail of {customer} is held and marked as a risk, and the app answered it."),
        })
    }

    fn twice(&self) -> Option<Broken> {
        for end in &self.execution.ends {
            let reference = self.same_in(self.reference, end);
            let allowed = |of: fn(&End) -> &Vec<String>, text: &String| {
                let before = reference.map_or(0, |it| count(of(it), text));
                before.max(end.mails)
            };
            let customer = end.customer.clone();
            let often = |list: &[String], limit: &dyn Fn(&String) -> usize| {
                list.iter().find(|text| count(list, text) > limit(text)).cloned()
            };
            if let Some(text) = often(&end.messages, &|text| allowed(|it| &it.messages, text)) {
                let stands = count(&end.messages, &text);
                return Some(Broken {
                    oracle: Oracle::NeverTwice,
                    summary: format!(
                        "{customer} wrote {} and got the same text {stands} times: {}",
                        mails(end.mails),
                        quoted(&text)
                    ),
                });
            }
            if let Some(text) = often(&end.notes, &|text| allowed(|it| &it.notes, text)) {
                let stands = count(&end.notes, &text);
                return Some(Broken {
                    oracle: Oracle::NeverTwice,
                    summary: format!(
                        "In the conversation with {customer} the same note stands {stands} times: {}",
                        quoted(&text)
                    ),
                });
            }
        }
        None
    }

    /// Returns whether the last run ended, and well.
    fn ended(&self) -> Option<Broken> {
        let broken = |summary: String| Some(Broken { oracle: Oracle::WellBehaved, summary });
        let server = self.execution.server;
        match self.execution.runs.last() {
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

    fn forgotten(&self) -> Option<Broken> {
        for end in &self.execution.ends {
            let all: Vec<_> = self.interference().collect();
            let about = |(act, mail, _): &&(Act, usize, usize)| act.touches() && Some(*mail) == end.mail;
            // An automatic reply hides the mail before it from whoever looks at the last one.
            let excused = |act: &Act| act.is_persons_word() || *act == Act::AutoReply;
            if end.risk || all.iter().filter(about).any(|(act, ..)| excused(act)) {
                continue;
            }
            // The last mail that came, whether the app answers such a mail when nothing goes wrong, and whether it did.
            let new = |(act, mail, _): &&(Act, usize, usize)| {
                *act == Act::NewMail && another(*mail) == end.customer
            };
            let (came, would, answered) = match (end.mail, self.last_second_mail(end)) {
                (Some(_), Some((mail, at))) => {
                    let would = self.first(mail).is_none_or(End::is_answered);
                    (Some(at), would, self.answered(end, mail, at))
                }
                (Some(_), None) => {
                    let reference = self.same_in(self.reference, end);
                    (None, reference.is_some_and(End::is_answered), end.is_answered())
                }
                (None, _) => match all.iter().find(new) {
                    Some((.., at)) => (Some(*at), self.answers_when_calm(end, None), end.last_is_answered),
                    None => continue,
                },
            };
            let seen = self.execution.server
                || came.is_none_or(|at| self.seen_from(&end.id, at).is_some() || self.closed_from(end, at));
            if would && seen && !answered {
                let customer = end.customer.clone();
                return Some(Broken {
                    oracle: Oracle::NobodyForgotten,
                    summary: format!("{customer} wrote, and the app never answered."),
                });
            }
        }
        None
    }

    /// Responses that the run without trouble did not get.
    fn responses(&self) -> Option<Broken> {
        let same = |request: &AppRequest, op: Option<Op>, status: u16| {
            request.op == op && request.status == Some(status)
        };
        let injected = |index: usize| {
            let steps = self.schedule.steps.iter().zip(&self.execution.fired);
            steps.filter(|(step, _)| step.act().is_none()).any(|(_, fired)| fired.at == Some(index))
        };
        let known = |op: Option<Op>, status: u16| {
            let runs = std::iter::once(self.reference).chain(self.calm);
            runs.flat_map(|run| &run.requests).any(|request| same(request, op, status))
        };
        let found = self.requests().find_map(|(index, request)| {
            let status = request.status.filter(|status| matches!(status, 400 | 401 | 403 | 404 | 429))?;
            (!injected(index) && !known(request.op, status)).then_some((request, status))
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
        Some(Broken { oracle: Oracle::WellBehaved, summary })
    }

    fn same_end(&self) -> Option<Broken> {
        for end in &self.execution.ends {
            let touched = self.interference().any(|(act, mail, _)| act.touches() && Some(mail) == end.mail);
            let invited =
                end.mail.is_some() || self.interference().any(|(_, mail, _)| another(mail) == end.customer);
            // A customer who first writes on a later day has fewer days left than in the runs it is compared with.
            let late = |(_, mail, at)| another(mail) == end.customer && self.execution.is_later_day(at);
            if touched || !invited || self.interference().any(late) {
                continue;
            }
            let runs: Vec<&Execution> = std::iter::once(self.reference).chain(self.calm).collect();
            let others: Vec<&End> = runs.iter().filter_map(|run| self.same_in(run, end)).collect();
            let Some(wanted) = others.first() else { continue };
            // A conversation that a step started: was it seen at all?
            if end.mail.is_none() && self.seen_from(&end.id, 0).is_none() {
                continue;
            }
            let parts = PARTS.into_iter().filter(|part| !self.scenario.ignore.iter().any(|it| it == part));
            for part in parts {
                let is = end.part(part);
                if others.iter().any(|other| other.part(part) == is) {
                    continue;
                }
                let (customer, values) = (end.customer.clone(), wanted.part(part));
                let words = |values: &[String]| match values {
                    [] => "nothing".to_owned(),
                    values => values.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "),
                };
                let named = if part == "outbox" { "what was written" } else { part };
                return Some(Broken {
                    oracle: Oracle::SameEnd,
                    summary: format!(
                        "The conversation with {customer} ends otherwise than without trouble: {named} is {} instead of {}.",
                        words(&is),
                        words(&values),
                    ),
                });
            }
        }
        None
    }

    fn expectations(&self) -> Option<Broken> {
        let own = self.execution.expectations.iter().enumerate();
        for (n, unmet) in own {
            let Some(why) = unmet else { continue };
            let explained = self.calm.iter().any(|run| run.expectations.get(n).is_some_and(Option::is_some));
            if !explained {
                let first = why.lines().next().unwrap_or_default();
                let is_check = n >= self.scenario.expect.len();
                let named = if is_check { "check".to_owned() } else { format!("expect[{n}]") };
                return Some(Broken {
                    oracle: Oracle::Expect,
                    summary: format!("{named} does not hold: {first}"),
                });
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
