//! What a run shows: who interfered, what the app had read, what took effect.

use shared_inbox::{__spec::Operation, Timestamp};

use crate::{
    plan::op::Op,
    plan::schedule::Schedule,
    plan::step::{Act, Place, Step, What},
    run::record::{AppRequest, End, Event, Execution},
    scenario::Scenario,
    verdict::same_texts::SameTexts,
    verdict::variations::Variations,
};

/// What a schedule is held against.
pub(crate) struct Judge<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) schedule: &'a Schedule,
    pub(crate) execution: &'a Execution,
    /// Runs of the same mails without trouble.
    pub(crate) undisturbed_runs: &'a [&'a Execution],
    /// The same interference in quiet moments, without any failure; empty when it was not run yet.
    pub(crate) quiet_runs: &'a [Execution],
    /// For each second mail, how the conversation ends that it begins as a first one; none when it was not run yet.
    pub(crate) first_mail_runs: Option<&'a [(SecondMail, End)]>,
    /// What differs between undisturbed runs.
    pub(crate) nondeterministic_parts: &'a Variations,
    pub(crate) same_texts: &'a SameTexts,
}

/// A mail that a customer writes in a conversation that is there: by which step, and of which mail of the scenario.
pub(crate) type SecondMail = (Act, usize);

impl<'a> Judge<'a> {
    /// Returns what a schedule is held against at first, without the runs that only what seems wrong needs.
    pub(crate) fn new(
        scenario: &'a Scenario,
        schedule: &'a Schedule,
        execution: &'a Execution,
        undisturbed_runs: &'a [&'a Execution],
        nondeterministic_parts: &'a Variations,
        same_texts: &'a SameTexts,
    ) -> Self {
        let (quiet_runs, first_mail_runs): (&[Execution], _) = (&[], None);
        Self {
            scenario,
            schedule,
            execution,
            undisturbed_runs,
            quiet_runs,
            first_mail_runs,
            nondeterministic_parts,
            same_texts,
        }
    }
}

impl Judge<'_> {
    /// Steps that somebody did and that had an effect: what, for which mail, and its number in the order of everything.
    pub(crate) fn interference(&self) -> impl Iterator<Item = (Act, usize, u64)> + '_ {
        let steps = self.schedule.steps.iter().zip(&self.execution.fired);
        steps.filter_map(|(step, fired)| {
            let (act, mail) = step.act().filter(|_| fired.effective)?;
            Some((act, mail, fired.at?))
        })
    }

    /// Returns the mails that came in a conversation after its first, in order, each with its number.
    pub(crate) fn second_mails(&self, end: &End) -> Vec<(SecondMail, u64)> {
        let second = |(number, event): &(u64, Event)| {
            let mail = match event {
                Event::Step(n) => {
                    self.schedule.steps.get(*n)?.act().filter(|(act, _)| act.is_second_mail())?
                }
                Event::Mail { mail, .. } if self.scenario.mails[*mail].follow_up => (Act::Mail, *mail),
                _ => return None,
            };
            (Some(self.scenario.opener(mail.1)) == end.mail).then_some((mail, *number))
        };
        self.execution.events.iter().filter_map(second).collect()
    }

    /// Returns whether the app closed a conversation after this, and it is closed.
    pub(crate) fn closed_after(&self, end: &End, number: u64) -> bool {
        let closes = |request: &AppRequest| {
            request.op.is_some_and(|op| op.operation == Operation::SetStatus)
                && request.conversation.as_ref() == Some(&end.id)
                && request.body["status"] == "closed"
                && self.took_effect(request)
        };
        end.status == "closed" && self.requests_after(number).any(closes)
    }

    /// Returns the requests with a greater number.
    pub(crate) fn requests_after(&self, number: u64) -> impl Iterator<Item = &AppRequest> {
        self.execution.requests.iter().filter(move |request| request.number > number)
    }

    /// Returns whether a request took effect.
    pub(crate) fn took_effect(&self, request: &AppRequest) -> bool {
        let struck = self.schedule.steps.iter().zip(&self.execution.fired).find_map(|(step, fired)| {
            (fired.at == Some(request.number) && step.act().is_none() && fired.effective).then_some(step)
        });
        match struck.map(|step| (step.what, step.place)) {
            Some((What::Fail(failure), _)) => failure.takes_effect(),
            Some((What::Kill, place)) => matches!(place, Place::After(_)),
            _ => request.succeeded(),
        }
    }

    /// Returns the requests after this with which the app wrote to the customer of a conversation.
    pub(crate) fn written_after<'s>(
        &'s self,
        conversation: &'s str,
        number: u64,
    ) -> impl Iterator<Item = &'s AppRequest> + 's {
        let writes = move |request: &&AppRequest| {
            request.op.is_some_and(Op::writes_mail)
                && request.conversation.as_deref() == Some(conversation)
                && self.took_effect(request)
        };
        self.requests_after(number).filter(writes)
    }

    /// Returns everything that the app wrote to the customer of a conversation.
    pub(crate) fn written<'s>(&'s self, conversation: &'s str) -> impl Iterator<Item = &'s AppRequest> + 's {
        // The numbers of requests begin above that of the first mail.
        self.written_after(conversation, 0)
    }

    /// Returns whether the app could know of a mail with this number: a server is told of it.
    pub(crate) fn could_know(run: &Execution, conversation: &str, number: u64) -> bool {
        run.server
            || run.requests.iter().any(|request| request.number > number && request.shows(conversation))
    }

    /// Returns whether the app assigned the conversation between two numbers.
    pub(crate) fn took_over(&self, conversation: &str, from: u64, to: u64) -> bool {
        self.requests_after(from).any(|request| {
            request.number < to
                && request.op.is_some_and(|op| op.operation == Operation::AssignConversation)
                && request.conversation.as_deref() == Some(conversation)
                && self.took_effect(request)
        })
    }

    /// Returns the number of the first request after this in which the app read the conversation.
    pub(crate) fn seen_after(&self, conversation: &str, number: u64) -> Option<u64> {
        let shows = |request: &&AppRequest| request.shows(conversation) && !self.is_check(request);
        self.requests_after(number).find(shows).map(|request| request.number)
    }

    /// Returns whether a read looks for what became of a create that failed, as a client does by itself: right after it, or later, when
    /// the app has read the conversation and decided, and the client finds that an earlier process did not come to its end.
    pub(crate) fn is_check(&self, read: &AppRequest) -> bool {
        if read.conversation.is_none() {
            return false;
        }
        let earlier = || {
            let here = |it: &&AppRequest| it.number < read.number && it.conversation == read.conversation;
            self.execution.requests.iter().filter(here)
        };
        let failed = |it: &AppRequest| it.op.is_some_and(Op::creates) && !it.succeeded();
        let is_own_read = |it: &AppRequest| {
            let (work, own) = (self.work_of(it).0, self.work_of(read).0);
            it.op.is_some_and(Op::is_read) && it.succeeded() && (work, it.at) == (own, read.at)
        };
        if earlier().any(failed) && earlier().any(is_own_read) {
            return true;
        }
        let writes = earlier().filter(|it| it.op.is_some_and(|op| !op.is_read()));
        let last = writes.max_by_key(|it| it.number);
        last.is_some_and(|it| failed(it) && self.work_of(it) == self.work_of(read))
    }

    /// Returns which piece of work a request is a part of: a run of a job, or what a server does at one time of the world's clock.
    /// Where that clock moves between two requests, all of a server is one.
    fn work_of(&self, request: &AppRequest) -> (usize, Option<Timestamp>) {
        let started = |(number, event): &&(u64, Event)| {
            matches!(event, Event::RunStarts(_)) && *number <= request.number
        };
        let moves =
            |step: &Step| step.request().is_some() && step.act().is_some_and(|(act, _)| act.moves_clock());
        let is_one = !self.execution.server || self.schedule.steps.iter().any(moves);
        let at = (!is_one).then_some(request.at);
        (self.execution.events.iter().filter(started).count(), at)
    }

    /// Returns whether the app knew of a message that it had written before.
    pub(crate) fn knew_message(&self, conversation: &str, before: u64) -> bool {
        let written = self.written(conversation).filter(|request| request.number < before).last();
        let Some(written) = written else { return false };
        let reads = |request: &AppRequest| {
            request.number < before
                && request.conversation.as_deref() == Some(conversation)
                && request.shows(conversation)
        };
        written.succeeded() || self.requests_after(written.number).any(reads)
    }

    /// Returns whether a request repeats one that the same run had begun before somebody interfered. Where words vary, a repeated
    /// request has others.
    pub(crate) fn was_begun(&self, request: &AppRequest, interfered: u64) -> bool {
        self.execution.requests.iter().any(|earlier| {
            earlier.number < interfered
                && earlier.op == request.op
                && earlier.conversation == request.conversation
                && (earlier.body == request.body || !self.has_fixed_words())
                && self.work_of(earlier) == self.work_of(request)
        })
    }

    /// Returns how the same conversation ended in the undisturbed runs.
    pub(crate) fn undisturbed_ends<'s>(&'s self, end: &'s End) -> impl Iterator<Item = &'s End> + 's {
        self.undisturbed_runs.iter().filter_map(move |run| run.same_end(end))
    }
}
