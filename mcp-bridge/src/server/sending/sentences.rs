//! What a model is told about what became of a note, a draft or an email, in terms of its tools.

use std::time::Duration;

use rmcp::model::CallToolResult;

use super::{Create, create::CreateInput};
use crate::{
    consent::{ANSWER_TIMEOUT, CannotAsk, ConsentError},
    outcome::{Doubt, Failure, FailureKind, Fate, Made, Outcome},
    render::counted,
    server::results::{changed, failed},
};

pub(super) const REFUSED: &str = "Not sent by this call: the person refused this email a moment ago, or several in this conversation, and is not \
    asked again. Do not try to send it; ask them what they want instead.";
pub(super) const CHANGED: &str =
    "Not sent by this call: the conversation changed while the person was asked. Read it again.";
pub(super) const NOT_RECORDED: &str = "Nothing was done by this call: the state folder cannot be written to, and what has no record there could be made twice. \
    Ask the person to free space on its disk or to name another folder with --state, and make the same call again.";
pub(super) const DECLINED: &str =
    "Not sent by this call, and no draft was made: the person declined. Ask them what they want instead.";
pub(super) const NO_ANSWER: &str = "Not sent by this call, and no draft was made: the person gave no answer. Ask them before you try again, or call \
    without `send` to make a draft.";
pub(super) const WITHDRAWN: &str = "Not sent by this call, and no draft was made: the call was cancelled.";
pub(super) const TOO_QUICK: &str =
    "the question was answered in less than a second, which no person does: the client answers by itself";

pub(super) fn without_consent(why: ConsentError) -> String {
    format!(
        "This call sent nothing: {why}. An earlier one may have sent the email: read the conversation with get_conversation and \
         look at the end of its timeline before you try again."
    )
}

/// Returns what is known of a question whose asker is gone.
pub(super) fn nobody<T>() -> Result<T, Failure> {
    const NOBODY: &str = "The bridge failed while the person was asked, and it is not known whether the email was sent. Read the \
        conversation before you try again.";
    Err(Failure { kind: FailureKind::Unknown, ..failed(NOBODY) })
}

pub(super) fn still_open() -> Failure {
    failed(format!(
        "Not sent yet by this call: the person was asked and has not answered. The question stays open for {} minutes in all, and a yes sends \
         the email. To learn the answer, make the same call again in a while; do not change the email.",
        ANSWER_TIMEOUT.as_secs() / 60
    ))
}

/// Returns what is known of a question that is over while what follows from it is being done.
pub(super) fn under_way() -> Failure {
    const UNDER_WAY: &str = "The question is over, and what came of it is not known yet: after a yes, the email may be on its way. \
        To learn it, make the same call again in a while; do not change the email.";
    Failure { kind: FailureKind::Unknown, ..failed(UNDER_WAY) }
}

pub(super) fn cannot_ask(why: CannotAsk) -> Failure {
    failed(match why {
        CannotAsk::Refused => REFUSED,
        CannotAsk::TooManyQuestions => {
            "Not sent by this call, and no draft was made: the person has three other questions to answer. Wait for their answers, or call \
             without `send` to make a draft."
        }
        CannotAsk::TooManyWindows => {
            "Not sent by this call, and no draft was made: the person's browser was opened three times within two minutes and nobody \
             answered there. Ask them before you try again, or call without `send` to make a draft."
        }
    })
}

/// Returns the result of a create. `why` is why it is a draft, if it was meant to be sent.
pub(super) fn result(
    create: &Create,
    outcome: &Outcome,
    why: Option<&str>,
) -> Result<CallToolResult, Failure> {
    match outcome {
        Outcome::Made(made) => {
            let lost = "The response was lost and the item was found in the conversation.";
            let repeats = |age: Duration| {
                format!(
                    "This repeats a call of {}, so nothing new was made. Change the text if a second one is meant.",
                    ago(age)
                )
            };
            let added = [
                why.map(|why| format!("It is a draft because {why}.")),
                (made.recovered && made.age.is_none()).then(|| lost.to_owned()),
                made.age.map(repeats),
            ];
            let added = added.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let added = (!added.is_empty()).then_some(added.as_str());
            let mut response = made.response.clone();
            if let (Some(_), Some(fields)) = (made.age, response.as_object_mut()) {
                // What the service said then may not be so any more.
                fields.remove("note");
            }
            Ok(changed(&sentence(&create.input, made), response, added))
        }
        Outcome::Refused(failure) => Err(match why {
            Some(why) => Failure::new(
                failure.kind,
                format!(
                    "Nothing was sent by this call because {why}, and a draft could not be made either: {}",
                    failure.message
                ),
            ),
            None => failure.clone(),
        }),
        Outcome::Unknown(doubt) => Err(unknown(create, *doubt, why)),
    }
}

fn sentence(input: &CreateInput, made: &Made) -> String {
    let message = made.text("messageId").unwrap_or_default();
    let request = made.text("requestId").map(|id| format!(" (document request {id})")).unwrap_or_default();
    match (input, made.fate()) {
        (CreateInput::Note(_), _) => "The note was added; the customer does not see it.".into(),
        (_, Some(Fate::Draft)) if made.age.is_some() => {
            format!(
                "Draft {message}{request} was made earlier; a person must approve it before it is sent, and may have done so by now."
            )
        }
        (_, Some(Fate::Draft)) => {
            format!("Draft {message} was made{request}; a person must approve it before it is sent.")
        }
        (_, Some(Fate::GoesOut(at))) => {
            let when = at.unwrap_or("the end of the undo window");
            if made.age.is_some() {
                return format!(
                    "Email {message}{request} was made earlier, to leave at {when}. It may have gone out by now: get_conversation shows it."
                );
            }
            format!("Email {message}{request} goes out at {when}; the team can stop it until then.")
        }
        (_, Some(Fate::HasGone)) => {
            format!("Email {message}{request} has gone out already; it cannot be stopped any more.")
        }
        (_, Some(Fate::Undelivered)) => {
            format!("Email {message}{request} was made and could not be delivered.")
        }
        (_, Some(Fate::Other(status))) => {
            format!("Message {message}{request} was made, its status is {status}.")
        }
        (_, None) => format!("Message {message}{request} was made, its status is not known."),
    }
}

/// Returns what to do about a create that may have been made.
fn unknown(create: &Create, doubt: Doubt, why: Option<&str>) -> Failure {
    let what = match &create.input {
        CreateInput::Note(_) => "the note was added",
        _ if create.sends() => "the email was sent",
        _ => "the draft was made",
    };
    let mut message = why.map(|why| format!("It was to be a draft because {why}. ")).unwrap_or_default();
    message.push_str(&match doubt {
        Doubt::Lost => {
            format!("It is not known whether {what}: the service's response was lost. It may have been.")
        }
        Doubt::Before(age) => format!(
            "It is still not clear whether {what} after the same call, {}. It may have been, and nothing was done now.",
            ago(age)
        ),
        Doubt::AnotherCaller => format!(
            "It is not known whether {what}: this call did nothing, but another call or program may have, and that cannot be seen now."
        ),
        Doubt::StateFolder => format!(
            "It is not known whether {what}: this call did nothing, because the state folder (--state) cannot be used, and so it cannot be \
             seen what another call or program did. Tell the person: `shared-inbox-mcp doctor` names the cause; if the folder was removed, \
             start the client again."
        ),
    });
    message.push_str(
        " Read the conversation with get_conversation and look at the end of its timeline. Making exactly the same call again looks \
         for it first, and makes nothing twice.",
    );
    Failure { kind: FailureKind::Unknown, ..failed(message) }
}

fn ago(age: Duration) -> String {
    match usize::try_from(age.as_secs()).unwrap_or(usize::MAX) {
        // Of what another bridge has made it is not known when: since the question, or within the time for
        // which results are kept.
        0 => "a few minutes ago at most".to_owned(),
        seconds => format!("{} ago", counted(seconds, "second")),
    }
}
