//! What a run shows: who interfered, what the app had read, what took effect.

use shared_inbox::{__spec::Operation, Timestamp};

use crate::{
    plan::op::Op,
    plan::schedule::Schedule,
    plan::step::{Act, Place, Step, What},
    run::record::{AppRequest, End, Event, Execution},
    scenario::Scenario,
};

/// What a schedule is held against.
pub(crate) struct Judge<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) schedule: &'a Schedule,
    pub(crate) execution: &'a Execution,
    pub(crate) reference: &'a Execution,
    /// The same interference in quiet moments, without any failure; empty when it was not run yet.
    pub(crate) calm: &'a [Execution],
    /// For each second mail, how the conversation ends that it begins as a first one; none when it was not run yet.
    pub(crate) firsts: Option<&'a [(SecondMail, End)]>,
}

/// A mail that a customer writes in a conversation that is there: by which step, and of which mail of the scenario.
pub(crate) type SecondMail = (Act, usize);

impl Judge<'_> {
    /// Steps that somebody did and that had an effect: what, for which mail, and the first request after it.
    pub(crate) fn interference(&self) -> impl Iterator<Item = (Act, usize, usize)> + '_ {
        let steps = self.schedule.steps.iter().zip(&self.execution.fired);
        steps.filter_map(|(step, fired)| {
            let (act, mail) = step.act().filter(|_| fired.effective)?;
            Some((act, mail, fired.at?))
        })
    }

    /// Returns the last mail that came in a conversation after its first, and the first request after it.
    pub(crate) fn last_second_mail(&self, end: &End) -> Option<(SecondMail, usize)> {
        self.execution.events.iter().rev().find_map(|(at, event)| {
            let mail = match event {
                Event::Step(n) => {
                    self.schedule.steps.get(*n)?.act().filter(|(act, _)| act.is_second_mail())?
                }
                Event::Mail { mail, .. } if self.scenario.mails[*mail].follow_up => (Act::Mail, *mail),
                _ => return None,
            };
            (Some(self.scenario.opener(mail.1)) == end.mail).then_some((mail, *at))
        })
    }

    /// Returns whether the customer has an answer to their last mail. The app wrote after it had read that mail; or it wrote behind it
    /// without having read it, what it writes to such a mail; or it did so before, and writes no second time when nothing goes wrong.
    pub(crate) fn answered(&self, end: &End, mail: SecondMail, at: usize) -> bool {
        let read = self.seen_from(&end.id, at).filter(|_| end.last_is_answered);
        if read.is_some_and(|read| self.written_from(&end.id, read + 1).next().is_some()) {
            return true;
        }
        let answers_again =
            || self.schedule.acts().next().is_some() && self.answers_when_calm(end, Some(mail));
        end.messages.iter().any(|text| self.is_answer(mail, text))
            && (end.last_is_answered || !answers_again())
    }

    /// Returns whether a text is what the app writes to such a mail. Where texts differ by themselves, any may be.
    fn is_answer(&self, mail: SecondMail, text: &str) -> bool {
        // The link for an upload stands below a text once that is approved.
        let same = |other: &String| text.starts_with(other.as_str()) || other.starts_with(text);
        self.scenario.ignore.iter().any(|part| part == "outbox")
            || self.first(mail).is_some_and(|first| first.messages.iter().any(same))
    }

    /// Returns whether this request sends the app's usual answer to such a mail.
    pub(crate) fn is_answered_by(&self, mail: SecondMail, index: usize) -> bool {
        let body = &self.execution.requests[index].body;
        let text = body["body"].as_str().or_else(|| body["message"].as_str());
        text.is_some_and(|text| self.is_answer(mail, text))
    }

    /// Returns how the app answers a second mail when it is a first one.
    pub(crate) fn first(&self, mail: SecondMail) -> Option<&End> {
        self.firsts?.iter().find(|(it, _)| *it == mail).map(|(_, end)| end)
    }

    /// Returns whether the app closed a conversation after this request, and it is closed.
    pub(crate) fn closed_from(&self, end: &End, from: usize) -> bool {
        let closes = |(index, request): (usize, &AppRequest)| {
            request.op.is_some_and(|op| op.operation == Operation::SetStatus)
                && request.conversation.as_ref() == Some(&end.id)
                && request.body["status"] == "closed"
                && self.took_effect(index)
        };
        end.status == "closed" && self.requests().skip(from).any(closes)
    }

    pub(crate) fn requests(
        &self,
    ) -> impl DoubleEndedIterator<Item = (usize, &AppRequest)> + ExactSizeIterator {
        self.execution.requests.iter().enumerate()
    }

    /// Returns whether a request took effect.
    pub(crate) fn took_effect(&self, index: usize) -> bool {
        let struck = self.schedule.steps.iter().zip(&self.execution.fired).find_map(|(step, fired)| {
            (fired.at == Some(index) && step.act().is_none() && fired.effective).then_some(step)
        });
        match struck.map(|step| (step.what, step.place)) {
            Some((What::Fail(failure), _)) => failure.takes_effect(),
            Some((What::Kill, place)) => matches!(place, Place::After(_)),
            _ => self.execution.requests[index].succeeded(),
        }
    }

    /// Messages that the app wrote in a conversation from a request on.
    pub(crate) fn written_from<'s>(
        &'s self,
        conversation: &'s str,
        from: usize,
    ) -> impl Iterator<Item = usize> + 's {
        let writes = move |request: &AppRequest| {
            request.op.is_some_and(Op::writes_mail) && request.conversation.as_deref() == Some(conversation)
        };
        let requests = self.requests().skip(from).filter(move |(_, request)| writes(request));
        requests.map(|(index, _)| index).filter(|index| self.took_effect(*index))
    }

    /// Returns whether the app could know of a mail that came before the request number `from`: a server is told of it.
    pub(crate) fn could_know(run: &Execution, conversation: &str, from: usize) -> bool {
        run.server || run.requests.iter().skip(from).any(|request| request.shows(conversation))
    }

    /// Returns whether the app assigned the conversation between two requests.
    pub(crate) fn took_over(&self, conversation: &str, from: usize, to: usize) -> bool {
        let assigns = |(index, request): (usize, &AppRequest)| {
            request.op.is_some_and(|op| op.operation == Operation::AssignConversation)
                && request.conversation.as_deref() == Some(conversation)
                && self.took_effect(index)
        };
        self.requests().take(to).skip(from).any(assigns)
    }

    /// Returns the first request from `from` on in which the app read the conversation.
    pub(crate) fn seen_from(&self, conversation: &str, from: usize) -> Option<usize> {
        let shows =
            |(index, request): &(usize, &AppRequest)| request.shows(conversation) && !self.is_check(*index);
        self.requests().skip(from).find(shows).map(|(index, _)| index)
    }

    /// Returns whether a read looks for what became of a request that failed, as a client does by itself.
    pub(crate) fn is_check(&self, index: usize) -> bool {
        let Some(conversation) = &self.execution.requests[index].conversation else { return false };
        let write = |(_, request): &(usize, &AppRequest)| {
            request.conversation.as_ref() == Some(conversation) && request.op.is_some_and(|op| !op.is_read())
        };
        let last = self.requests().take(index).rev().find(write);
        last.is_some_and(|(at, request)| {
            request.op.is_some_and(Op::creates)
                && !request.succeeded()
                && self.work_of(at) == self.work_of(index)
        })
    }

    /// Returns which piece of work a request is a part of: a run of a job, or what a server does at one time of the world's clock.
    /// Where that clock moves between two requests, all of a server is one.
    pub(crate) fn work_of(&self, index: usize) -> (usize, Option<Timestamp>) {
        let started =
            |(before, event): &&(usize, Event)| matches!(event, Event::RunStarts(_)) && *before <= index;
        let moves =
            |step: &Step| step.request().is_some() && step.act().is_some_and(|(act, _)| act.moves_clock());
        let one = !self.execution.server || self.schedule.steps.iter().any(moves);
        let at = (!one).then(|| self.execution.requests[index].at);
        (self.execution.events.iter().filter(started).count(), at)
    }

    /// Returns whether the app knew of a message that it had written before.
    pub(crate) fn knew_message(&self, conversation: &str, before: usize) -> bool {
        let written = self.written_from(conversation, 0).filter(|index| *index < before).last();
        let Some(written) = written else { return false };
        let answered = self.execution.requests[written].succeeded();
        let read = |(index, request): (usize, &AppRequest)| {
            index < before
                && request.conversation.as_deref() == Some(conversation)
                && request.shows(conversation)
        };
        answered || self.requests().skip(written + 1).any(read)
    }

    /// Returns whether a request repeats one that the same run had begun before somebody interfered.
    pub(crate) fn was_begun(&self, index: usize, interfered: usize) -> bool {
        let request = &self.execution.requests[index];
        let same = |(at, it): (usize, &AppRequest)| {
            at < interfered
                && it.op == request.op
                && it.conversation == request.conversation
                && it.body == request.body
                && self.work_of(at) == self.work_of(index)
        };
        self.requests().any(same)
    }

    /// Returns the same conversation in another run.
    pub(crate) fn same_in<'e>(&self, other: &'e Execution, end: &End) -> Option<&'e End> {
        match end.mail {
            Some(mail) => other.end_of(mail),
            None => other.end_by(&end.customer),
        }
    }

    /// Returns whether the app answers the last mail when nothing goes wrong and it reads that mail, a second one with what it writes
    /// to such a mail.
    pub(crate) fn answers_when_calm(&self, end: &End, mail: Option<SecondMail>) -> bool {
        let answers = |run: &Execution| -> Option<bool> {
            let there = self.same_in(run, end)?;
            let came = run.fired.iter().filter_map(|fired| fired.at).max()?;
            let is_last = |text: &String| mail.is_none_or(|mail| self.is_answer(mail, text));
            Self::could_know(run, &there.id, came)
                .then(|| there.last_is_answered && there.messages.last().is_some_and(is_last))
        };
        let answers: Vec<bool> = self.calm.iter().filter_map(answers).collect();
        self.calm.is_empty() || (!answers.is_empty() && answers.iter().all(|answered| *answered))
    }
}
