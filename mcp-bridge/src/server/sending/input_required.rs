//! Questions in the newer protocol: they travel as a result, and the answer comes with a call of its own.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitationAction,
    InputRequest, InputRequests, InputRequiredResult,
};

use super::{Result, Sender, note, request::ConsentRequest, shared_questions::into_response};
use crate::{
    audit::Consent,
    consent::{self, AskMethod, Decision},
    server::results::failed,
};

/// The name under which the question travels in the newer protocol.
const QUESTION: &str = "consent";

impl Sender {
    /// Asks by a form that travels as the result of the call, and acts on the answer that the next call brings.
    pub(super) async fn ask_by_result(
        &self,
        case: ConsentRequest,
        request: &CallToolRequestParams,
    ) -> Result<CallToolResponse> {
        let now = self.clock.now();
        let Some(handle) = &request.request_state else {
            // What was sent a moment ago is not asked about.
            drop(self.claim(&case.connection, &case.mail.0, None).await?);
            let opened = self.open(&case, AskMethod::Form)?;
            return Ok(input_required(consent::form(&case.preview), opened.travel()).into());
        };
        let took =
            self.ledger.close(handle, case.exact, now).map_err(|e| failed(format!("Not sent: {e}.")))?;
        let answer = answered(request).and_then(Decision::read).unwrap_or(Decision::Dismissed);
        let answer = answer.after(took);
        note(Consent::Asked(AskMethod::Form, answer));
        let mut slot = self.claim(&case.connection, &case.mail.0, None).await?;
        match answer {
            Decision::Yes => {
                // It was read for this call, and is what the person agreed to: the handle was for no other.
                let conversation = Some(&case.conversation);
                Ok(self.make(&case.connection, &case.mail.0, &mut slot, conversation, None).await.into())
            }
            answer => {
                drop(slot);
                Ok(self.not_sent(&case, answer).await.into())
            }
        }
    }

    /// Returns the answer to a question whose link the client of the newer protocol has shown, or not.
    pub(super) async fn collect(
        &self,
        case: &ConsentRequest,
        request: &CallToolRequestParams,
    ) -> Result<CallToolResponse> {
        let handle = request.request_state.as_deref().unwrap_or_default();
        let Some(waiting) = self.questions.collect(case.seen, handle) else {
            return Err(failed(format!("Not sent: {}.", consent::ConsentError::Unknown)));
        };
        let action = answered(request).and_then(consent::action);
        match self.ledger.age(handle, self.clock.now()) {
            // It is still open, and the person did not follow the link.
            Some(took) if action != Some(ElicitationAction::Accept) => {
                waiting.withdraw();
                _ = waiting.result(&*self.clock).await;
                let answer =
                    action.map_or(Decision::Dismissed, |action| Decision::new(&action, None)).after(took);
                note(Consent::Asked(AskMethod::Link, answer));
                Ok(self.not_sent(case, answer).await.into())
            }
            _ => into_response(waiting.result(&*self.clock).await, AskMethod::Link),
        }
    }
}

pub(super) fn input_required(asked: ElicitRequestParams, handle: String) -> InputRequiredResult {
    let question = InputRequest::Elicitation(ElicitRequest::new(asked));
    InputRequiredResult::new(Some(InputRequests::from([(QUESTION.to_owned(), question)])), Some(handle))
}

fn answered(request: &CallToolRequestParams) -> Option<&serde_json::Value> {
    request.input_responses.as_ref()?.get(QUESTION)
}
