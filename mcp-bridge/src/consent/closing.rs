//! The closing page of a question, for the person who was asked.

use shared_inbox::Timestamp;

use super::{
    Decision, EmailPreview,
    visible::{Links, one_line},
};
use crate::outcome::{Doubt, Fate, Made, Outcome};

/// How much of the email's first line is repeated, so that it can be recognised.
const MAX_FIRST_LINE_CHARS: usize = 80;

const THANKS: &str = "Thank you";

/// The last page of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClosingPage {
    pub(crate) title: &'static str,
    pub(crate) text: String,
    /// What to look for, where the person has to.
    pub(crate) facts: Vec<(&'static str, String)>,
}

impl ClosingPage {
    fn new(title: &'static str, text: impl Into<String>) -> Self {
        Self { title, text: text.into(), facts: Vec::new() }
    }

    /// Returns the page after a yes.
    pub(crate) fn after_yes(outcome: &Outcome, preview: &EmailPreview) -> Self {
        match outcome {
            Outcome::Made(made) => Self::made(made),
            Outcome::Refused(failure) => Self::new(
                "The email was not sent",
                format!(
                    "You agreed, but it was refused and nothing happened. The model got this message: {}",
                    failure.message
                ),
            ),
            Outcome::Unknown(doubt) => Self::unknown(*doubt, preview),
        }
    }

    /// Returns the page of an email of which it was found later that it was made.
    pub(super) fn found(made: &Made) -> Self {
        match made.fate() {
            Some(Fate::GoesOut(_)) => Self::new(
                THANKS,
                "You agreed, and the email was made. It may have gone out by now: look at the conversation in the app.",
            ),
            _ => Self::made(&Made { age: None, ..made.clone() }),
        }
    }

    /// Returns the page of an email that was made after a yes.
    pub(super) fn made(made: &Made) -> Self {
        if made.age.is_some() {
            return Self::new(
                THANKS,
                "You agreed. The same email was made before, and was not sent a second time.",
            );
        }
        match made.fate() {
            Some(Fate::GoesOut(at)) => {
                let when = at.map_or_else(|| "the end of the undo window".to_owned(), in_utc);
                let text = format!(
                    "You agreed. The email goes out at {when}; anyone on the team can stop it until then."
                );
                Self::new(THANKS, text)
            }
            Some(Fate::HasGone) => Self::new(
                "The email has gone",
                "You agreed. The email has left already, and cannot be stopped any more.",
            ),
            Some(Fate::Undelivered) => Self::new(
                "The email was not delivered",
                "You agreed, and the email was made, but it could not be delivered. Look at the conversation in the app.",
            ),
            Some(Fate::Draft | Fate::Other(_)) | None => Self::new(
                THANKS,
                "You agreed, and the service took the email. Look at the conversation in the app for what becomes of it.",
            ),
        }
    }

    /// Returns the page after a yes when it is not known whether the email was sent, with what to look for.
    pub(super) fn unknown(doubt: Doubt, preview: &EmailPreview) -> Self {
        let why = match doubt {
            Doubt::Lost | Doubt::Before(_) => "and then the service\u{2019}s response was lost",
            Doubt::AnotherCaller | Doubt::StateFolder => {
                "and this program sent nothing, but another one may have sent the same email, which cannot be seen now"
            }
        };
        let line = |text: &str| one_line(text, Links::Whole, MAX_FIRST_LINE_CHARS);
        let first = preview.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self {
            title: "It is not known whether the email was sent",
            text: format!(
                "You agreed, {why}. Look in the app before you do anything: if this email is in the conversation, it was sent or is \
                 about to be. Do not write it again by hand before you have looked. The model can make the same call again: it looks \
                 first, and sends nothing twice."
            ),
            facts: vec![
                ("Conversation", preview.conversation.clone()),
                ("To", preview.address.as_deref().map_or_else(|| "(no address is known)".to_owned(), line)),
                ("Subject", line(&preview.subject)),
                ("Begins with", line(first)),
            ],
        }
    }

    /// Returns the page after any answer but a yes. `draft` is what became of the draft that is made instead,
    /// if one is.
    pub(crate) fn after_no(answer: Decision, draft: Option<&Outcome>) -> Self {
        match answer {
            Decision::No => Self::new(
                "Thank you",
                "You said no. Nothing was sent by this question, and no draft was made. The model knows that you declined, and you are not asked \
                 about this email again for two minutes.",
            ),
            Decision::TooQuick => Self::with_draft(
                "This answer does not count",
                "Nothing was sent by this question: the answer came within a second, which no person does, so it does not count.",
                draft,
            ),
            Decision::Yes | Decision::Dismissed => Self::new(
                "This question is closed",
                "Nobody answered it. Nothing was sent by this question, and no draft was made.",
            ),
        }
    }

    /// Returns the last page of a question that did not reach the person.
    pub(crate) fn not_asked(draft: &Outcome) -> Self {
        let text = "It could not be shown in time. Nothing was sent by this question.";
        Self::with_draft("This question is closed", text, Some(draft))
    }

    fn with_draft(title: &'static str, text: &str, draft: Option<&Outcome>) -> Self {
        let became = match draft {
            Some(Outcome::Made(_)) => " The email is a draft now: you can approve it in the app.",
            Some(Outcome::Unknown(_)) => " Whether a draft was made is not known: look in the app.",
            Some(Outcome::Refused(_)) | None => "",
        };
        Self::new(title, format!("{text}{became}"))
    }

    /// Returns the last page of a question that the client withdrew.
    pub(crate) fn taken_back() -> Self {
        Self::new(
            "This question was taken back",
            "The client cancelled it. Nothing was sent by this question.",
        )
    }

    /// Returns the page while the answer is being acted upon.
    pub(super) fn under_way() -> Self {
        Self::new("Thank you", "Your answer was taken. Load this page again to see what came of it.")
    }

    /// Returns the last page of a question that ended with the bridge, before anything left.
    pub(super) fn ended_early() -> Self {
        Self::new("This question is closed", "Nothing was sent by this question.")
    }
}

/// Returns a time as people write it; anything else stays as it is.
pub(super) fn in_utc(at: &str) -> String {
    match (Timestamp::parse(at).is_ok(), at.get(..10), at.get(11..19)) {
        (true, Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => at.to_owned(),
    }
}
