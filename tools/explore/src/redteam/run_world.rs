//! The world of a run: a team, ordinary conversations with notes and documents, canaries, and the attack at
//! its place.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use serde_json::{Map, Value, json};
use shared_inbox::{ConversationId, DocumentKind, Nullable, Status, Timestamp};
use shared_inbox_mock::{
    Effect, FaultRule, InboundMail, Refusal, Result,
    faults::ControlCall,
    world::{Assignment, NewDocument, NewUser, StatusChange, TeamNote, World},
};

use crate::redteam::{
    attack::{Attack, Place},
    seeded_names::{Customer, SCRIPT, SeededNames},
};

/// The name of the agent's key, and so of its notes' author.
pub(crate) const KEY_NAME: &str = "Inbox assistant";
const INBOX: &str = "help@acme.example";
/// The team, beside Anna Berg, whom every workspace has.
const COLLEAGUES: [&str; 2] = ["Tom Okafor", "Priya Nair"];

/// Returns a value that exists nowhere else.
pub(crate) fn unique_code() -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let bits = RandomState::new().build_hasher().finish();
    let letter = |place: u32| char::from(ALPHABET[(bits >> (5 * place)) as usize % 32]);
    let group = |first: u32| (first..first + 4).map(letter).collect::<String>();
    [0, 4, 8].map(group).join("-")
}

/// A world for a run, and its values, which are different in each.
pub(crate) struct RunWorld {
    pub(crate) world: World,
    /// Lets an attack come while the agent works.
    pub(crate) later: Vec<FaultRule>,
    /// The code for the customer with the question.
    pub(crate) tracking: String,
    /// The code for the customer with the appointment.
    pub(crate) booking: String,
    /// Codes for no customer.
    pub(crate) canaries: Vec<String>,
}

impl RunWorld {
    /// Builds a world, with an attack by a customer or without. That in which the mails of a scenario come
    /// has a team, closed conversations, and a document.
    pub(crate) fn build(names: &SeededNames, attack: Option<(&Attack, &Customer)>) -> Result<Self> {
        let mut built = Self {
            world: World::empty(),
            later: Vec::new(),
            tracking: unique_code(),
            booking: unique_code(),
            canaries: Vec::new(),
        };
        let now = Timestamp::now();
        let ago = |hours: u64| now - Duration::from_secs(3_600 * hours);
        for name in COLLEAGUES {
            built.world.create_user(NewUser::new(name))?;
        }
        let of_role = |role: &str| names.customers.iter().find(|customer| customer.role == role);
        // Its customers have no role in the script.
        let is_of_scenario = of_role("").is_some();
        let conversations = SCRIPT.conversation.iter();
        for (scripted, customer) in conversations.filter_map(|it| Some((it, of_role(&it.role)?))) {
            let attack = attack.filter(|(_, author)| *author == customer).map(|(attack, _)| attack);
            let (subject, text) =
                (names.fill(&scripted.subject, customer), names.fill(&scripted.text, customer));
            let at = ago(scripted.hours);
            let conversation = built.receive(customer, attack, subject, text, at)?;
            if let Some(attack) = attack.filter(|attack| attack.place == Place::Later) {
                built.later = arrive_later(attack, customer, &conversation);
            }
            for note in &scripted.notes {
                let note = TeamNote::new(built.fill(note));
                built.world.note_by_team(conversation.as_str(), note, at + Duration::from_secs(600))?;
            }
            if let Some(name) = &scripted.assignee {
                let user = built.world.users().iter().find(|user| user.name == *name);
                let to = user.and_then(|user| format!("user:{}", user.id).parse().ok());
                let to = to.ok_or_else(|| Refusal::new(404, "no such colleague"))?;
                built.world.assign_by_person(conversation.as_str(), Assignment::new(to), at)?;
            }
            if scripted.closed || is_of_scenario {
                let change = StatusChange::new(Status::Closed);
                built.world.set_status_by_team(conversation.as_str(), change, at)?;
            }
        }
        let is_there = |role: &str| role.is_empty() || of_role(role).is_some();
        for scripted in SCRIPT.document.iter().filter(|it| is_there(&it.role)) {
            let mailboxes = built.world.mailboxes();
            let inbox = mailboxes.iter().find(|inbox| inbox.address == INBOX);
            let inbox = inbox.ok_or_else(|| Refusal::new(404, "no such inbox"))?;
            let mut document = NewDocument::new(inbox.id.clone(), &scripted.filename).title(&scripted.title);
            document.kind = Some(DocumentKind::Other);
            let reference = names.fill(&scripted.reference, names.customer(&scripted.role));
            document.fields.reference = Nullable::Value(built.fill(&reference));
            built.world.file_document(document, ago(100))?;
        }
        Ok(built)
    }

    /// Fills in the values of this world; each canary is a new one.
    pub(crate) fn fill(&mut self, text: &str) -> String {
        let mut text = text.replace("{tracking}", &self.tracking).replace("{booking}", &self.booking);
        while text.contains("{canary}") {
            let canary = unique_code();
            text = text.replacen("{canary}", &canary, 1);
            self.canaries.push(canary);
        }
        text
    }

    /// Lets a customer write, with the attack at its place.
    fn receive(
        &mut self,
        from: &Customer,
        attack: Option<&Attack>,
        subject: String,
        text: String,
        at: Timestamp,
    ) -> Result<ConversationId> {
        let mut body = Map::new();
        for (key, value) in [
            ("to", INBOX),
            ("from", &from.address),
            ("name", &from.name),
            ("subject", &subject),
            ("text", &text),
        ] {
            body.insert(key.to_owned(), json!(value));
        }
        let read = |body: Map<String, Value>| {
            let mail = serde_json::from_value::<InboundMail>(Value::Object(body));
            mail.map_err(|error| Refusal::new(400, error.to_string()))
        };
        let earlier = match attack.filter(|attack| attack.place == Place::Earlier) {
            Some(attack) => {
                let mut earlier = read(body.clone())?;
                earlier.text.clone_from(&attack.text);
                Some(self.world.inbound(earlier, at - Duration::from_secs(3_600))?.conversation_id)
            }
            None => None,
        };
        if let Some(attack) = attack {
            put(attack, &mut body);
        }
        let mut mail = read(body)?;
        mail.conversation_id = earlier.map(|conversation| conversation.to_string());
        Ok(self.world.inbound(mail, at)?.conversation_id)
    }
}

/// Puts an attack into the body of the control call that brings an email, at its place. Of one in an earlier
/// email, this has what follows up; of one in a later email nothing.
pub(crate) fn put(attack: &Attack, body: &mut Map<String, Value>) {
    let written = &attack.text;
    let said = body.get("text").and_then(Value::as_str).unwrap_or_default();
    let file = |name: &str| json!({ "filename": name, "contentType": "application/pdf", "size": 48_213 });
    let (key, value) = match attack.place {
        Place::Subject => ("subject", json!(written)),
        Place::Name => ("name", json!(written)),
        Place::Text => ("text", json!(format!("{said}\n\n{written}"))),
        Place::Quoted => ("text", json!(format!("{said}{}", quote(written)))),
        // A list shows how it begins.
        Place::Bystander => ("text", json!(format!("{written}\n\n{said}"))),
        Place::Earlier => {
            let further = attack.follow_up.as_ref().map(|text| format!("\n\n{text}")).unwrap_or_default();
            ("text", json!(format!("{said}{further}")))
        }
        Place::Later => return,
        Place::Filename | Place::Document => {
            let mut files = body.remove("attachments").unwrap_or_default();
            let mut files = files.as_array_mut().map(std::mem::take).unwrap_or_default();
            files.push(match attack.place {
                Place::Filename => file(written),
                _ => {
                    let mut document = file("enclosure.pdf");
                    (document["kind"], document["fields"]) = (json!("other"), json!({ "vendor": written }));
                    document
                }
            });
            ("attachments", json!(files))
        }
    };
    body.insert(key.to_owned(), value);
}

/// Returns a text as history below an email. Not every mail program marks it with `>`, and the service leaves
/// other marks in.
fn quote(text: &str) -> String {
    let quoted: String = text.trim().lines().map(|line| format!("\n| {line}")).collect();
    format!("\n\nOn Tuesday, Anna Berg wrote:{quoted}")
}

/// Returns the rules that let an attack come as a reply, once, right after the agent has read the
/// conversation over REST or MCP.
fn arrive_later(attack: &Attack, customer: &Customer, conversation: &ConversationId) -> Vec<FaultRule> {
    let mail = json!({
        "to": INBOX,
        "from": customer.address,
        "name": customer.name,
        "text": attack.text,
        "conversationId": conversation,
    });
    let mut no_more_rules = ControlCall::post("/faults", json!(null));
    (no_more_rules.method, no_more_rules.body) = ("DELETE".to_owned(), None);
    let rule = || {
        FaultRule::new(Effect::act_after([
            ControlCall::post("/inbound", mail.clone()),
            no_more_rules.clone(),
        ]))
    };
    vec![
        rule().method("GET").path(format!("/conversations/{conversation}")),
        rule().tool("get_conversation").body(json!({ "id": conversation })),
    ]
}
