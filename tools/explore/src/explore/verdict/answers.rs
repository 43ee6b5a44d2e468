//! Whether customers have their answers: which mails the app owes one, and which it answered.

use crate::explore::{
    oracle::Oracle,
    plan::step::Act,
    run::calls::another,
    run::record::{AppRequest, End, Execution},
    scenario::Part,
    verdict::judge::{Judge, SecondMail},
    verdict::oracles::Broken,
};

impl Judge<'_> {
    /// Returns whether the texts of the app can be compared: they are the same at every run, or the user has
    /// a command for it.
    pub(crate) fn has_fixed_words(&self) -> bool {
        let is_constant = self.nondeterministic_parts.is_constant(Part::Outbox);
        (is_constant && !self.scenario.ignore.contains(&Part::Outbox)) || self.same_texts.known.is_some()
    }

    /// Returns whether a text is what the app writes to such a mail. Where words vary, any may be.
    fn is_answer(&self, mail: SecondMail, text: &str) -> bool {
        !self.has_fixed_words()
            || self.first_mail_run(mail).is_some_and(|first| self.is_one_of(text, &first.messages))
    }

    fn is_one_of(&self, text: &str, texts: &[String]) -> bool {
        texts.iter().any(|other| self.same_texts.is_same(text, other))
    }

    /// Returns whether this request sends the app's usual answer to such a mail.
    pub(crate) fn is_answered_by(&self, mail: SecondMail, request: &AppRequest) -> bool {
        let text = request.body["body"].as_str().or_else(|| request.body["message"].as_str());
        text.is_some_and(|text| self.is_answer(mail, text))
    }

    /// Returns how the app answers a second mail when it is a first one.
    fn first_mail_run(&self, mail: SecondMail) -> Option<&End> {
        self.first_mail_runs?.iter().find(|(it, _)| *it == mail).map(|(_, end)| end)
    }

    /// Returns whether a second mail asks something else than the mails before it.
    fn is_another_question(&self, (act, mail): SecondMail) -> bool {
        act == Act::Other || self.scenario.mails[mail].follow_up
    }

    /// Returns whether the customer has sent a second mail more than once: one answer is enough for the same
    /// words.
    fn is_repeated(&self, end: &End, mail: SecondMail) -> bool {
        self.second_mails(end).iter().filter(|(it, _)| *it == mail).count() > 1
    }

    /// Returns whether the customer has an answer to a second mail. The app wrote after it had read that
    /// mail; or it wrote behind it without having read it, what it writes to such a mail; or it did so
    /// before, and writes no second time when nothing goes wrong.
    fn is_answered(&self, end: &End, mail: SecondMail, arrived_at: u64, is_last: bool) -> bool {
        if self.only_others_are_answered(end, Some(mail)) {
            return false;
        }
        let stands_behind = end.last_is_answered || !is_last;
        let read = self.seen_after(&end.id, arrived_at).filter(|_| stands_behind);
        if read.is_some_and(|read| self.written(&end.id, read..).next().is_some()) {
            return true;
        }
        let answers_again = || {
            self.execution.schedule.acts().next().is_some() && self.answers_without_faults(end, Some(mail))
        };
        let is_answer = end.messages.iter().any(|text| self.is_answer(mail, text));
        // Words that vary do not tell to which question an answer is.
        let is_told =
            self.has_fixed_words() || !self.is_another_question(mail) || self.is_repeated(end, mail);
        let is_certain = stands_behind && is_told;
        is_answer && (is_certain || !answers_again() || !is_last)
    }

    /// Returns whether all that the app wrote is what it writes to other questions of the customer; none
    /// stands for their first mail.
    fn only_others_are_answered(&self, end: &End, mail: Option<SecondMail>) -> bool {
        let second = self.second_mails(end);
        let has_one_question = second.iter().any(|(it, _)| !self.is_another_question(*it));
        if !self.has_fixed_words() || end.messages.is_empty() || second.is_empty() || has_one_question {
            return false;
        }
        if self.first_mail_runs.is_none() {
            // It may be; the runs that tell are made then.
            return true;
        }
        let answers = |to: Option<SecondMail>, text: &str| match to {
            Some(mail) => self.is_answer(mail, text),
            None => self.undisturbed_ends(end).any(|other| self.is_one_of(text, &other.messages)),
        };
        // The undisturbed run has follow-ups of the scenario in the same conversation.
        let opener = self.undisturbed_ends(end).all(|other| other.mails == 1).then_some(None);
        let others = second.iter().map(|(it, _)| Some(*it)).chain(opener).filter(|other| *other != mail);
        let others: Vec<_> = others.collect();
        let is_to_another =
            |text: &String| others.iter().any(|other| answers(*other, text)) && !answers(mail, text);
        end.messages.iter().all(is_to_another)
    }

    /// Returns whether the app answers the last mail when nothing goes wrong and it reads that mail, a second
    /// one with what it writes to such a mail.
    fn answers_without_faults(&self, end: &End, mail: Option<SecondMail>) -> bool {
        let answers = |run: &Execution| -> Option<bool> {
            let there = run.same_end(end)?;
            // Where nothing came of the interference, it is a run without any.
            let arrived_at = run.acts().map(|(.., at)| at).max().unwrap_or(0);
            let is_last = |text: &String| mail.is_none_or(|mail| self.is_answer(mail, text));
            Self::could_know(run, &there.id, arrived_at)
                .then(|| there.last_is_answered && there.messages.last().is_some_and(is_last))
        };
        let answers: Vec<bool> = self.quiet_runs.iter().filter_map(answers).collect();
        self.quiet_runs.is_empty() || (!answers.is_empty() && answers.iter().all(|answered| *answered))
    }

    pub(crate) fn forgotten(&self) -> Option<Broken> {
        let all: Vec<_> = self.execution.acts().collect();
        for end in &self.execution.ends {
            let about = |(act, mail, _): &&(Act, usize, u64)| act.touches() && Some(*mail) == end.mail;
            // An automatic reply hides the mail before it from whoever looks at the last one.
            let excused = |act: &Act| act.is_persons_word() || *act == Act::AutoReply;
            if end.risk || all.iter().filter(about).any(|(act, ..)| excused(act)) {
                continue;
            }
            let could_see = |arrived_at: u64| {
                self.execution.server
                    || self.seen_after(&end.id, arrived_at).is_some()
                    || self.closed_after(end, arrived_at)
            };
            let new =
                |(act, mail, _): &&(Act, usize, u64)| *act == Act::NewMail && another(*mail) == end.customer;
            let is_forgotten = match end.mail {
                None => all.iter().find(new).is_some_and(|(.., arrived_at)| {
                    could_see(*arrived_at) && !end.last_is_answered && self.answers_without_faults(end, None)
                }),
                Some(_) => {
                    let second = self.second_mails(end);
                    let mut known = self.undisturbed_ends(end).peekable();
                    let owes_first = known.peek().is_some() && known.all(End::is_answered);
                    let is_first_open =
                        owes_first && (!end.is_answered() || self.only_others_are_answered(end, None));
                    is_first_open
                        || second.iter().enumerate().any(|(n, (mail, arrived_at))| {
                            self.first_mail_run(*mail).is_none_or(End::is_answered)
                                && could_see(*arrived_at)
                                && !self.is_answered(end, *mail, *arrived_at, n + 1 == second.len())
                        })
                }
            };
            if is_forgotten {
                let summary = format!("{} wrote, and the app never answered.", end.customer);
                let last = self.execution.requests.iter().rfind(|request| request.shows(&end.id));
                return Some(Broken::new(Oracle::NobodyForgotten, summary).at(last.map(|it| it.number)));
            }
        }
        None
    }
}
