//! A nightly report to CSV: one row for each conversation that the key can see, on the standard output or in
//! a file.
//!
//!     cargo run --example nightly_report [FILE]
//!
//! With `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set it reports on that inbox, and changes nothing.
//! Without them, a mock inside this process is filled with mail first.

use std::fmt::Write as _;
use std::{env, fs};

use futures_util::future::try_join_all;
use shared_inbox::{Client, ConversationSummary, Status, Timestamp, View};
use shared_inbox_examples::{Result, Service};

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    if service.mock.is_some() {
        fill(&service.inbox).await?;
    }
    let mut csv = String::from("id,status,snoozed,assignee,urgency,tags,hours_since_last_message,subject\n");
    let (now, mut rows) = (Timestamp::now(), 0);
    let mut sweep = service.inbox.sweep();
    while let Some(summary) = sweep.next().await {
        let summary = summary?;
        // A snoozed conversation has the status `open`; only the view tells.
        let is_snoozed = sweep.found_in() == Some(&View::Snoozed);
        writeln!(csv, "{}", row(&summary, is_snoozed, now))?;
        rows += 1;
    }
    for slice in sweep.incomplete_slices() {
        eprintln!("not all could be seen: {slice}");
    }
    match env::args().nth(1) {
        // Whoever reads the file sees the old report or the new one, never half of it.
        Some(file) => {
            fs::write(format!("{file}.new"), csv)?;
            fs::rename(format!("{file}.new"), &file)?;
            println!("{rows} conversations in {file}");
        }
        None => print!("{csv}"),
    }
    Ok(())
}

fn row(summary: &ConversationSummary, is_snoozed: bool, now: Timestamp) -> String {
    let assignee = summary.assignee.as_ref().map_or("nobody", |who| &who.name);
    let cells = [
        summary.id.to_string(),
        summary.status.to_string(),
        is_snoozed.to_string(),
        assignee.to_owned(),
        summary.urgency.as_ref().map_or("", |urgency| urgency.as_str()).to_owned(),
        summary.tags.join(" "),
        ((now - summary.last_message_at).as_secs() / 3600).to_string(),
        summary.subject.clone(),
    ];
    cells.map(|cell| quoted(&cell)).join(",")
}

/// A cell as CSV has it. Subjects are a stranger's words: a spreadsheet must not take one for a formula.
fn quoted(cell: &str) -> String {
    let cell =
        if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// A dozen mails; every third waits for its customer.
async fn fill(inbox: &Client) -> Result<()> {
    let mails = (0..12).map(|n| {
        let call = inbox.sandbox_inbound(format!("kim{n}@customer.test"), "Where is my order?");
        call.subject(format!("=Order \"{n}\", again")).into_future()
    });
    for (n, mail) in try_join_all(mails).await?.into_iter().enumerate() {
        let thread = inbox.conversation(&mail.conversation_id);
        if n % 3 == 0 {
            thread.edit_tags().add("delivery").await?;
            thread.set_status(Status::Waiting).await?;
        }
    }
    Ok(())
}
