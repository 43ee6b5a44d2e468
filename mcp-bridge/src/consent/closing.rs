//! The closing page of a question, for the person who was asked.

use rmcp::model::CallToolResult;
use shared_inbox::Timestamp;

use super::Decision;

/// The last page of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClosingPage {
    pub(crate) title: &'static str,
    pub(crate) text: String,
}

impl ClosingPage {
    fn new(title: &'static str, text: impl Into<String>) -> Self {
        Self { title, text: text.into() }
    }

    /// Returns the page after this answer, with this result.
    pub(crate) fn after(answer: Decision, result: &CallToolResult) -> Self {
        let field = |name: &str| result.structured_content.as_ref().and_then(|made| made.get(name)?.as_str());
        let failed = result.is_error == Some(true);
        match answer {
            Decision::Yes if failed => Self::new(
                "The email was not sent",
                format!(
                    "You agreed, but it did not work. The model got this message: {}",
                    first_line(result)
                ),
            ),
            Decision::Yes => {
                let when =
                    field("sendsAt").map_or_else(|| "soon".to_owned(), |at| format!("at {}", in_utc(at)));
                Self::new(
                    "Thank you",
                    format!(
                        "You agreed. The email goes out {when}; anyone on the team can stop it until then."
                    ),
                )
            }
            Decision::No => Self::new(
                "Thank you",
                "You said no. Nothing was sent, and no draft was made. The model knows that you declined, and you are not asked \
                 about this email again for two minutes.",
            ),
            Decision::Dismissed => Self::new(
                "This question is closed",
                "Nobody answered it. Nothing was sent, and no draft was made.",
            ),
            Decision::TooQuick if failed => Self::new(
                "Nothing was sent",
                "The answer came within a second, which no person does, so it does not count.",
            ),
            Decision::TooQuick => Self::new(
                "Nothing was sent",
                "The answer came within a second, which no person does, so it does not count. The email is a draft now: you can \
                 approve it in the app.",
            ),
        }
    }

    /// Returns the last page of a question that did not reach the person.
    pub(crate) fn not_asked() -> Self {
        Self::new(
            "This question is closed",
            "It could not be shown in time, so nothing was sent. The email is a draft now.",
        )
    }

    /// Returns the last page of a question that the client withdrew.
    pub(crate) fn taken_back() -> Self {
        Self::new("This question was taken back", "The client cancelled it. Nothing was sent.")
    }

    /// Returns the last page of a question whose result is not known.
    pub(super) fn unknown(agreed: bool) -> Self {
        let text = if agreed {
            "You agreed, and it is not known what came of it. Look at the conversation in the app."
        } else {
            "Nothing was sent."
        };
        Self::new("This question is closed", text)
    }
}

/// Returns a time as people write it; anything else stays as it is.
pub(super) fn in_utc(at: &str) -> String {
    match (Timestamp::parse(at).is_ok(), at.get(..10), at.get(11..19)) {
        (true, Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => at.to_owned(),
    }
}

fn first_line(result: &CallToolResult) -> &str {
    let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.as_str());
    text.and_then(|text| text.lines().next()).unwrap_or("nothing")
}

#[cfg(test)]
mod tests {
    use rmcp::model::ContentBlock;

    use super::*;

    #[test]
    fn what_is_said_after_an_answer_is_for_the_person_and_true() {
        let failed = CallToolResult::error(vec![ContentBlock::text("The service is away.")]);
        for answer in [Decision::No, Decision::Dismissed, Decision::TooQuick] {
            let said = ClosingPage::after(answer, &failed).text;
            assert!(!said.contains("Ask them") && !said.contains("goes out"), "{said}");
        }
        assert!(ClosingPage::after(Decision::No, &failed).text.starts_with("You said no. Nothing was sent"));
        let ending = ClosingPage::after(Decision::Yes, &failed);
        assert!(
            ending.title.contains("not sent") && ending.text.contains("The service is away."),
            "{ending:?}"
        );
        assert!(!ClosingPage::unknown(true).text.contains("Nothing was sent"));
    }
}
