//! Texts of a certain form.

use super::rule::Form;
use crate::{AssignTo, Date, MailboxId, Reference, reference::is_address};

pub(super) static DATE: Form = Form {
    what: "a date that exists, such as 2026-03-01",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    format: Some("date"),
    accepts: |text| Date::parse(text).is_ok(),
};

pub(super) static MAILBOX: Form = Form {
    what: "a mailbox id, mbx_…",
    pattern: "^mbx_[0-9A-Za-z_-]+$",
    format: None,
    accepts: |text| MailboxId::parse(text).is_ok(),
};

pub(super) static ASSIGN_TO: Form = Form {
    what: "user:usr_…, agent:agt_…, me or none",
    pattern: "^(user:usr_[0-9A-Za-z_-]+|agent:agt_[0-9A-Za-z_-]+|me|none)$",
    format: None,
    accepts: |text| text.parse::<AssignTo>().is_ok(),
};

pub(super) static REFERENCE: Form = Form {
    what: "letters, digits, _ and -, with at least one digit",
    pattern: "^[A-Za-z_-]{0,39}[0-9][A-Za-z0-9_-]{0,39}$",
    format: None,
    accepts: |text| Reference::parse(text).is_ok(),
};

pub(super) static ADDRESS: Form = Form {
    what: "an email address",
    pattern: r"^[^@\s<>,\x00-\x1f\x7f-\x9f]+@[^@\s<>,\x00-\x1f\x7f-\x9f]+$",
    format: None,
    accepts: is_address,
};

pub(super) static TEST_ADDRESS: Form = Form {
    what: "an email address on a .test domain",
    pattern: r"^[^@\s<>,\x00-\x1f\x7f-\x9f]+@[^@\s<>,\x00-\x1f\x7f-\x9f]+\.[Tt][Ee][Ss][Tt]$",
    format: None,
    accepts: |text| {
        is_address(text)
            && text.rsplit_once('@').is_some_and(|(_, domain)| {
                domain
                    .rsplit_once('.')
                    .is_some_and(|(name, top)| !name.is_empty() && top.eq_ignore_ascii_case("test"))
            })
    },
};
