//! Mails to customers: what the person who started the bridge allows, and the consent of the person at the client.

use std::time::Instant;

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ElicitRequest,
        InputRequest, InputRequests, InputRequiredResult, ProtocolVersion,
    },
    service::{RequestContext, ServiceError},
};
use shared_inbox::{
    Conversation, ConversationId, Scope,
    input::{Reply, RequestDocuments},
};

use super::{
    Bridge, Linked,
    creates::{Create, What},
    error, failed,
};
use crate::{
    consent::{ANSWER_WITHIN, Answer, Letter, form},
    digest::Digest,
    settings::SendPolicy,
};

/// The name under which the question travels in the newer protocol.
const QUESTION: &str = "consent";

/// A reply or a document request.
pub(super) struct Mail(Create);

/// Whether a mail may go out.
enum Verdict {
    /// Yes; this is the conversation as it is now.
    Send(Box<Conversation>),
    /// No, but a draft may be made, because of this.
    Draft(&'static str),
    /// Not before this question is answered, in a call of its own.
    Ask(InputRequiredResult),
}

impl Mail {
    pub(super) fn reply(id: ConversationId, reply: Reply) -> Self {
        Self(Create { id, what: What::Reply(reply) })
    }

    pub(super) fn request(id: ConversationId, request: RequestDocuments) -> Self {
        Self(Create { id, what: What::Request(request) })
    }

    fn wants_to_send(&self) -> bool {
        match &self.0.what {
            What::Reply(reply) => reply.send,
            What::Request(request) => request.send,
            What::Note(_) => false,
        }
    }

    fn into_draft(mut self) -> Create {
        match &mut self.0.what {
            What::Reply(reply) => reply.send = false,
            What::Request(request) => request.send = false,
            What::Note(_) => {}
        }
        self.0
    }

    fn letter(&self, conversation: &Conversation) -> Letter {
        match &self.0.what {
            What::Reply(r) => {
                Letter::new(conversation, &r.body, r.documents.as_deref().unwrap_or_default(), None)
            }
            What::Request(r) => {
                let due = r.due_date.as_ref().map(ToString::to_string);
                Letter::new(conversation, r.message.as_deref().unwrap_or_default(), &r.documents, due)
            }
            What::Note(n) => Letter::new(conversation, &n.body, &[], None),
        }
    }

    /// What a consent is bound to: what the person sees as well as what is sent. Another recipient is another mail.
    fn digest(&self, letter: &Letter) -> Result<Digest, CallToolResult> {
        Digest::of(&(&self.0.id, &self.0.what, letter)).map_err(|e| failed(e.to_string()))
    }
}

impl Bridge {
    /// Makes a draft, or sends, or asks.
    pub(super) async fn mail(
        &self,
        linked: &Linked,
        mail: Mail,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, CallToolResult> {
        if !mail.wants_to_send() {
            return Ok(self.create(linked, &mail.0, None).await.into());
        }
        if !linked.scopes().contains(&Scope::Send) {
            return Err(failed(
                "Nothing was done: the key lacks the scope `send`. Call again without `send` to make a draft that a person \
                 approves.",
            ));
        }
        if self.send == SendPolicy::Never {
            let why = "the bridge was started with --send=never";
            return Ok(self.create(linked, &mail.into_draft(), Some(why)).await.into());
        }
        let mut slot = self.claim(linked, &mail.0, None).await?;
        match self.verdict(linked, &mail, request, ctx).await? {
            Verdict::Send(seen) => Ok(self.make(linked, &mail.0, &mut slot, &seen, None).await.into()),
            Verdict::Draft(why) => {
                drop(slot);
                Ok(self.create(linked, &mail.into_draft(), Some(why)).await.into())
            }
            Verdict::Ask(question) => Ok(question.into()),
        }
    }

    async fn verdict(
        &self,
        linked: &Linked,
        mail: &Mail,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Verdict, CallToolResult> {
        let read = async || linked.client.conversation(&mail.0.id).get().await.map_err(|e| error(&e));
        let conversation = read().await?;
        if self.send == SendPolicy::Allow && conversation.risk.is_none() {
            return Ok(Verdict::Send(conversation.into()));
        }
        let letter = mail.letter(&conversation);
        let digest = mail.digest(&letter)?;
        if self.book.is_refused(digest, Instant::now()) {
            return Err(failed(
                "Not sent: the person refused exactly this mail a moment ago and is not asked again. Do not try to send it; ask \
                 them what they want instead.",
            ));
        }
        let newer = ctx.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        let answer = match (&request.request_state, newer) {
            (Some(handle), true) => {
                self.book
                    .close(handle, digest, Instant::now())
                    .map_err(|e| failed(format!("Not sent: {e}.")))?;
                let answers = request.input_responses.as_ref();
                answers.and_then(|a| Answer::read(a.get(QUESTION)?)).unwrap_or(Answer::Dismissed)
            }
            _ if !can_ask(ctx.client_capabilities().as_ref()) => {
                return Ok(Verdict::Draft("this client cannot ask a person for consent to send"));
            }
            (None, true) => return self.ask(&letter, digest).map(Verdict::Ask),
            (_, false) => {
                match ctx.peer.create_elicitation_with_timeout(form(&letter), Some(ANSWER_WITHIN)).await {
                    Ok(result) => Answer::new(&result.action, result.content.as_ref()),
                    Err(ServiceError::McpError(e)) => {
                        tracing::warn!(code = e.code.0, "the client could not ask for consent");
                        return Ok(Verdict::Draft("this client failed to ask a person for consent to send"));
                    }
                    // No answer in time, or a client that is gone: nobody is there to want a draft.
                    Err(_) => Answer::Dismissed,
                }
            }
        };
        match answer {
            Answer::Yes if newer => Ok(Verdict::Send(conversation.into())),
            Answer::Yes => {
                // The person took a while, and the mail would go to whoever is the contact now.
                let conversation = read().await?;
                if mail.digest(&mail.letter(&conversation))? == digest {
                    Ok(Verdict::Send(conversation.into()))
                } else {
                    Err(failed(
                        "Not sent: the conversation changed while the person was asked. Read it again.",
                    ))
                }
            }
            Answer::No => {
                self.book.refuse(digest, Instant::now());
                Err(failed(
                    "Not sent, and no draft was made: the person declined. Ask them what they want instead.",
                ))
            }
            Answer::Dismissed => Err(failed(
                "Not sent, and no draft was made: the person gave no answer. Ask them before you try again, or call without \
                 `send` to make a draft.",
            )),
        }
    }

    /// The question as a result, for the newer protocol.
    fn ask(&self, letter: &Letter, digest: Digest) -> Result<InputRequiredResult, CallToolResult> {
        let handle = self.book.open(digest, Instant::now()).map_err(|e| failed(e.to_string()))?;
        let question = InputRequest::Elicitation(ElicitRequest::new(form(letter)));
        Ok(InputRequiredResult::new(
            Some(InputRequests::from([(QUESTION.to_owned(), question)])),
            Some(handle),
        ))
    }
}

/// Whether the client can show a form to a person.
fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    // A client that names no mode means forms: there was nothing else when the capability was new.
    capabilities
        .and_then(|c| c.elicitation.as_ref())
        .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}
