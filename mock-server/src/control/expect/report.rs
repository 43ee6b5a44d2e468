//! Matches candidates with an expectation, and reports why it was not met.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shared_inbox::Timestamp;

use super::{Expectation, ExpectedKind};
use crate::json::matching::{self, Difference};

impl Expectation {
    /// Returns the differences between a candidate and what is expected.
    pub(super) fn differences_in(&self, item: &Value) -> Vec<Difference> {
        let mut wanted = self.fields.clone();
        if let Some(Value::String(path)) =
            wanted.get_mut("path").filter(|_| self.of == ExpectedKind::Requests)
            && path.starts_with('/')
            && !path.starts_with("/api/v1")
            && path != "/mcp"
        {
            path.insert_str(0, "/api/v1");
        }
        matching::differences(&Value::Object(wanted), item)
    }

    fn describe(&self, item: &Value) -> String {
        let text = |field: &str| match &item[field] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match self.of {
            ExpectedKind::Requests => {
                let query =
                    Some(text("query")).filter(|query| !query.is_empty()).map(|query| format!("?{query}"));
                let tool = item["tool"].as_str().map(|tool| format!(" {tool}"));
                let (query, tool) = (query.unwrap_or_default(), tool.unwrap_or_default());
                format!(
                    "{} {}{query}{tool}, answered {}, at {}",
                    text("method"),
                    text("path"),
                    text("status"),
                    text("at")
                )
            }
            ExpectedKind::Outbox => {
                format!(
                    "{} to {}, {:?}, {}, at {}",
                    text("kind"),
                    text("to"),
                    text("subject"),
                    text("outcome"),
                    text("at")
                )
            }
            ExpectedKind::Deliveries => {
                let attempts = item["attempts"].as_array().map_or(0, Vec::len);
                let (kind, to, outcome) = (text("type"), text("webhookId"), text("outcome"));
                format!("{kind} {} to {to}, {outcome} after {attempts} attempts", text("eventId"))
            }
            ExpectedKind::Events => format!("{} {}, at {}", text("type"), text("id"), text("created_at")),
        }
    }

    /// Reports what was expected, what there was, and the nearest candidates.
    pub(super) fn report(&self, items: &[Value], now: Timestamp) -> String {
        const MAX_NEAREST: usize = 3;
        let (least, most) = self.range();
        let many = match (least, most) {
            (least, most) if least == most => format!("exactly {least}"),
            (least, usize::MAX) => format!("at least {least}"),
            (0, most) => format!("at most {most}"),
            (least, most) => format!("from {least} to {most}"),
        };
        let what = json!(self.of).as_str().unwrap_or_default().to_owned();
        let wanted = Value::Object(self.fields.clone());
        let mut judged: Vec<(Vec<Difference>, &Value)> =
            items.iter().map(|item| (self.differences_in(item), item)).collect();
        let hits = judged.iter().filter(|(misses, _)| misses.is_empty()).count();
        let mut report = format!(
            "Expected {many} of {what} with {wanted} within {} s, and there were {hits}, by {now} of the world's clock.",
            self.within_seconds
        );
        if hits > 0 {
            report.push_str("\nThere were:");
            for (_, item) in judged.iter().filter(|(misses, _)| misses.is_empty()).take(10) {
                let _ = write!(report, "\n- {}", self.describe(item));
            }
        }
        if hits < least {
            judged.retain(|(misses, _)| !misses.is_empty());
            judged.sort_by_key(|(misses, _)| misses.len());
            let _ = match judged.len() {
                0 => write!(report, "\nThere were no others."),
                others => write!(report, "\nThe nearest of {others} others:"),
            };
            for (misses, item) in judged.iter().take(MAX_NEAREST) {
                let _ = write!(report, "\n- {}", self.describe(item));
                for miss in misses {
                    let _ = write!(report, "\n    {miss}");
                }
            }
        }
        report
    }
}
