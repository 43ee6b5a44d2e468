//! What a run shows: who interfered, what the app had read, what took effect.

use std::ops::RangeBounds;

use shared_inbox::{__spec::Operation, Timestamp};

use crate::explore::{
    plan::op::Op,
    plan::step::{Act, Step},
    run::record::{AppRequest, End, Event, Execution},
    scenario::Scenario,
    verdict::same_texts::SameTexts,
    verdict::variations::Variations,
};

/// What a schedule is held against.
pub(crate) struct Judge<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) execution: &'a Execution,
    /// Runs of the same mails without trouble.
    pub(crate) undisturbed_runs: &'a [&'a Execution],
    /// The same interference in quiet moments, without any failure; empty when it was not run yet.
    pub(crate) quiet_runs: &'a [Execution],
    /// For each second mail, how the conversation ends that it begins as a first one; none when it was not
    /// run yet.
    pub(crate) first_mail_runs: Option<&'a [(SecondMail, End)]>,
    /// What differs between undisturbed runs.
    pub(crate) nondeterministic_parts: &'a Variations,
    pub(crate) same_texts: &'a SameTexts,
}

/// A mail that a customer writes in a conversation that is there: by which step, and of which mail of the
/// scenario.
pub(crate) type SecondMail = (Act, usize);

impl<'a> Judge<'a> {
    /// Returns what a schedule is held against at first, without the runs that only what seems wrong needs.
    pub(crate) fn new(
        scenario: &'a Scenario,
        execution: &'a Execution,
        undisturbed_runs: &'a [&'a Execution],
        nondeterministic_parts: &'a Variations,
        same_texts: &'a SameTexts,
    ) -> Self {
        Self {
            scenario,
            execution,
            undisturbed_runs,
            quiet_runs: &[],
            first_mail_runs: None,
            nondeterministic_parts,
            same_texts,
        }
    }
}

impl Judge<'_> {
    /// Returns the mails that came in a conversation after its first, in order, each with its number.
    pub(crate) fn second_mails(&self, end: &End) -> Vec<(SecondMail, u64)> {
        let second = |(number, event): &(u64, Event)| {
            let mail = match event {
                Event::Act(act, mail) if act.is_second_mail() => (*act, *mail),
                Event::Mail { mail, .. } if self.scenario.mails[*mail].follow_up => (Act::Mail, *mail),
                _ => return None,
            };
            (Some(self.scenario.opener(mail.1)) == end.mail).then_some((mail, *number))
        };
        self.execution.events.iter().filter_map(second).collect()
    }

    /// Returns whether the app closed a conversation after this, and it is closed.
    pub(crate) fn closed_after(&self, end: &End, number: u64) -> bool {
        let closes = |it: &AppRequest| {
            it.is(Operation::SetStatus) && it.body["status"] == "closed" && it.took_effect()
        };
        end.status == "closed" && self.requests(&end.id, number..).any(closes)
    }

    /// Returns the requests about a conversation with these numbers.
    pub(crate) fn requests<'s>(
        &'s self,
        conversation: &'s str,
        numbers: impl RangeBounds<u64> + 's,
    ) -> impl DoubleEndedIterator<Item = &'s AppRequest> {
        let is_wanted = move |it: &&AppRequest| {
            it.conversation.as_deref() == Some(conversation) && numbers.contains(&it.number)
        };
        self.execution.requests.iter().filter(is_wanted)
    }

    /// Returns the requests with these numbers with which the app wrote to the customer of a conversation.
    pub(crate) fn written<'s>(
        &'s self,
        conversation: &'s str,
        numbers: impl RangeBounds<u64> + 's,
    ) -> impl DoubleEndedIterator<Item = &'s AppRequest> {
        self.requests(conversation, numbers).filter(|it| it.writes_mail() && it.took_effect())
    }

    /// Returns whether the app could know of a mail with this number: a server is told of it.
    pub(crate) fn could_know(run: &Execution, conversation: &str, number: u64) -> bool {
        run.server || run.requests.iter().any(|it| it.number > number && it.shows(conversation))
    }

    /// Returns whether the app assigned the conversation between two numbers.
    pub(crate) fn took_over(&self, conversation: &str, from: u64, to: u64) -> bool {
        let takes = |it: &AppRequest| it.is(Operation::AssignConversation) && it.took_effect();
        self.requests(conversation, from..to).any(takes)
    }

    /// Returns the number of the first request after this in which the app read the conversation.
    pub(crate) fn seen_after(&self, conversation: &str, number: u64) -> Option<u64> {
        let shows = |it: &&AppRequest| it.number > number && it.shows(conversation) && !self.is_check(it);
        self.execution.requests.iter().find(shows).map(|request| request.number)
    }

    /// Returns whether a read looks for what became of a create that failed, as a client does by itself:
    /// right after it, or later, when the app has read the conversation and decided, and the client finds
    /// that an earlier process did not come to its end.
    fn is_check(&self, read: &AppRequest) -> bool {
        let Some(conversation) = &read.conversation else { return false };
        let earlier = || self.requests(conversation, ..read.number);
        let failed = |it: &AppRequest| it.op.is_some_and(Op::creates) && !it.succeeded();
        let is_own_read = |it: &AppRequest| {
            let is_same_run = self.work_of(it).0 == self.work_of(read).0;
            it.is_read() && it.succeeded() && is_same_run && it.at == read.at
        };
        if earlier().any(failed) && earlier().any(is_own_read) {
            return true;
        }
        // The journal has them in the order in which they began.
        let last = earlier().filter(|it| it.is_write()).max_by_key(|it| it.number);
        last.is_some_and(|it| failed(it) && self.work_of(it) == self.work_of(read))
    }

    /// Returns which piece of work a request is a part of: a run of a job, or what a server does at one time
    /// of the world's clock. Where that clock moves between two requests, all of a server is one.
    fn work_of(&self, request: &AppRequest) -> (usize, Option<Timestamp>) {
        let started = |(number, event): &&(u64, Event)| {
            matches!(event, Event::RunStarts(_)) && *number <= request.number
        };
        let moves =
            |step: &Step| step.request().is_some() && step.act().is_some_and(|(act, _)| act.moves_clock());
        let is_one = !self.execution.server || self.execution.schedule.steps.iter().any(moves);
        let at = (!is_one).then_some(request.at);
        (self.execution.events.iter().filter(started).count(), at)
    }

    /// Returns whether the app knew of a message that it had written before.
    pub(crate) fn knew_message(&self, conversation: &str, before: u64) -> bool {
        let written = self.written(conversation, ..before).next_back();
        written.is_some_and(|written| {
            let mut later = self.requests(conversation, written.number..before);
            written.succeeded() || later.any(|it| it.shows(conversation))
        })
    }

    /// Returns whether a request repeats one that the same run had begun before somebody interfered. Where
    /// words vary, a repeated request has others.
    pub(crate) fn was_begun(&self, request: &AppRequest, interfered: u64) -> bool {
        let Some(conversation) = &request.conversation else { return false };
        self.requests(conversation, ..interfered).any(|earlier| {
            earlier.op == request.op
                && (earlier.body == request.body || !self.has_fixed_words())
                && self.work_of(earlier) == self.work_of(request)
        })
    }

    /// Returns how the same conversation ended in the undisturbed runs.
    pub(crate) fn undisturbed_ends<'s>(&'s self, end: &'s End) -> impl Iterator<Item = &'s End> + 's {
        self.undisturbed_runs.iter().filter_map(move |run| run.same_end(end))
    }
}
