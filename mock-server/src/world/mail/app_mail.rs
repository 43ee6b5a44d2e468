//! Email that an app sent itself and recorded, so that replies to it are recognized.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shared_inbox::{__spec::limits, ConversationId, Timestamp, input::RecordSent};

use crate::world::{Job, StepKind, World, store::LayeredMap};

/// A recorded mail.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppMail {
    /// The Message-ID header, without angle brackets.
    pub message_id: String,
    /// Live or sandbox.
    pub livemode: bool,
    /// The app's reference.
    pub reference: String,
    /// Whom it went to.
    pub to: Vec<String>,
    /// Its subject.
    pub subject: String,
    /// Its plain text.
    pub text: Option<String>,
    /// Its HTML.
    pub html: Option<String>,
    /// When it was first recorded.
    pub recorded_at: Timestamp,
    /// The conversation of the replies to it.
    pub conversation: Option<ConversationId>,
}

redacted_debug!(AppMail { livemode, recorded_at, conversation });

/// All recorded emails, in the order of recording.
#[derive(Debug, Clone, Default)]
pub(crate) struct AppMails {
    mails: BTreeMap<u64, Arc<AppMail>>,
    next: u64,
    /// Those without a reply, oldest first.
    unanswered: BTreeSet<u64>,
    by_message_id: LayeredMap<(bool, String), u64>,
    by_reference: LayeredMap<(bool, String), Vec<u64>>,
}

/// Returns a Message-ID without surrounding blanks and angle brackets.
pub(crate) fn strip_angle_brackets(message_id: &str) -> &str {
    let id = message_id.trim();
    id.strip_prefix('<').and_then(|id| id.strip_suffix('>')).unwrap_or(id)
}

impl AppMails {
    fn insert(&mut self, mail: AppMail) {
        let number = self.next;
        self.next += 1;
        self.by_message_id.insert((mail.livemode, mail.message_id.clone()), number);
        self.add_reference(&mail, number);
        if mail.conversation.is_none() {
            self.unanswered.insert(number);
        }
        self.mails.insert(number, Arc::new(mail));
    }

    fn remove(&mut self, number: u64) -> Option<Arc<AppMail>> {
        let mail = self.mails.remove(&number)?;
        self.unanswered.remove(&number);
        self.by_message_id.remove((mail.livemode, mail.message_id.clone()));
        self.drop_reference(&mail, number);
        Some(mail)
    }

    fn add_reference(&mut self, mail: &AppMail, number: u64) {
        let key = (mail.livemode, mail.reference.clone());
        let mut numbers = self.by_reference.get(&key).cloned().unwrap_or_default();
        numbers.push(number);
        self.by_reference.insert(key, numbers);
    }

    fn drop_reference(&mut self, mail: &AppMail, number: u64) {
        let key = (mail.livemode, mail.reference.clone());
        let mut numbers = self.by_reference.get(&key).cloned().unwrap_or_default();
        numbers.retain(|there| *there != number);
        if numbers.is_empty() {
            self.by_reference.remove(key);
        } else {
            self.by_reference.insert(key, numbers);
        }
    }

    /// Returns a copy without the indexes.
    pub(crate) fn data(&self) -> Self {
        Self { mails: self.mails.clone(), ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.mails.len()
    }

    fn number(&self, livemode: bool, message_id: &str) -> Option<u64> {
        self.by_message_id.get(&(livemode, message_id.to_owned())).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &AppMail> {
        self.mails.values().map(Arc::as_ref)
    }

    /// Returns the email with this Message-ID.
    pub(crate) fn find(&self, livemode: bool, message_id: &str) -> Option<&AppMail> {
        self.mails.get(&self.number(livemode, strip_angle_brackets(message_id))?).map(Arc::as_ref)
    }

    /// Returns the latest email with this reference to this address that has no reply.
    pub(crate) fn waiting_for(&self, livemode: bool, reference: &str, address: &str) -> Option<&AppMail> {
        let numbers = self.by_reference.get(&(livemode, reference.to_owned()))?;
        let mails = numbers.iter().rev().filter_map(|number| self.mails.get(number));
        mails.map(Arc::as_ref).find(|mail| mail.conversation.is_none() && mail.went_to(address))
    }

    /// Records a reply: the email now belongs to the conversation.
    pub(crate) fn answered(
        &mut self,
        livemode: bool,
        message_id: &str,
        by: ConversationId,
    ) -> Option<Timestamp> {
        let number = self.number(livemode, message_id)?;
        self.unanswered.remove(&number);
        let mail = Arc::make_mut(self.mails.get_mut(&number)?);
        mail.conversation = Some(by);
        Some(mail.recorded_at)
    }

    pub(crate) fn forget(&mut self, livemode: bool, message_id: &str) {
        if let Some(number) = self.number(livemode, message_id)
            && self.unanswered.contains(&number)
        {
            self.remove(number);
        }
    }
}

impl AppMail {
    pub(crate) fn went_to(&self, address: &str) -> bool {
        self.to.iter().any(|to| to.eq_ignore_ascii_case(address))
    }
}

impl World {
    /// Records an email of the app. The same email again updates the record until someone replies, and then
    /// only adds what was missing.
    pub(crate) fn record_sent(&mut self, livemode: bool, sent: RecordSent, now: Timestamp) {
        let message_id = strip_angle_brackets(&sent.message_id).to_owned();
        if let Some(number) = self.app_mail.number(livemode, &message_id) {
            self.update_recorded(number, sent);
            return;
        }
        let job = Job::ForgetAppMail { message_id: message_id.clone(), livemode };
        self.record_step(StepKind::AppMail, &message_id, "recorded", None, now);
        self.schedule_job(now + limits::APP_MAIL_KEPT, job, now);
        self.app_mail.insert(AppMail {
            message_id,
            livemode,
            reference: sent.reference.as_str().to_owned(),
            to: sent.to,
            subject: sent.subject,
            text: sent.text,
            html: sent.html,
            recorded_at: now,
            conversation: None,
        });
        while self.app_mail.unanswered.len() > limits::APP_MAIL_PER_WORKSPACE {
            let Some(oldest) = self.app_mail.unanswered.pop_first() else { break };
            if let Some(mail) = self.app_mail.remove(oldest) {
                let (message_id, livemode) = (mail.message_id.clone(), mail.livemode);
                let job = Job::ForgetAppMail { message_id, livemode };
                self.jobs.cancel(mail.recorded_at + limits::APP_MAIL_KEPT, &job);
            }
        }
    }

    fn update_recorded(&mut self, number: u64, sent: RecordSent) {
        let Some(mail) = self.app_mail.mails.get_mut(&number).map(Arc::make_mut) else { return };
        if mail.conversation.is_some() {
            mail.text = mail.text.take().or(sent.text);
            mail.html = mail.html.take().or(sent.html);
            return;
        }
        let old = mail.clone();
        mail.reference = sent.reference.as_str().to_owned();
        mail.to = sent.to;
        mail.subject = sent.subject;
        mail.text = sent.text.or(mail.text.take());
        mail.html = sent.html.or(mail.html.take());
        let new = mail.clone();
        if old.reference != new.reference {
            self.app_mail.drop_reference(&old, number);
            self.app_mail.add_reference(&new, number);
        }
    }

    /// Returns how many recorded emails have no reply.
    pub fn unanswered_app_mail(&self) -> usize {
        self.app_mail.unanswered.len()
    }
}

impl Serialize for AppMails {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.mails.values())
    }
}

impl<'de> Deserialize<'de> for AppMails {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut all = AppMails::default();
        Vec::<AppMail>::deserialize(d)?.into_iter().for_each(|mail| all.insert(mail));
        Ok(all)
    }
}
