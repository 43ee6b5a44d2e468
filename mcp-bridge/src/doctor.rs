//! `doctor`: one line for everything that must be right, and what to do about what is not.

use std::{env, ffi::OsStr, fmt::Write, path::Path, time::Duration};

use shared_inbox::{
    __spec::{Operation, limits},
    Client, Me, Scope, Timestamp,
    retry::RetryPolicy,
};

use crate::config::others_can_read;
use shared_inbox_mcp::{
    program::{PrivateFile, explain, knows_its_visitors, quoted},
    settings::{ConsentChannel, SendPolicy, Settings},
};

/// How far this machine's clock may be off without a warning.
const MAX_SKEW_SECONDS: i64 = 60;
/// How long the service has to respond.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(10);

/// The report of `doctor`.
pub(crate) struct Report {
    /// The lines to print.
    pub(crate) text: String,
    /// Whether the bridge works.
    pub(crate) works: bool,
}

impl Report {
    fn good(&mut self, line: impl AsRef<str>) {
        _ = writeln!(self.text, "ok    {}", line.as_ref());
    }

    fn odd(&mut self, line: impl AsRef<str>) {
        _ = writeln!(self.text, "look  {}", line.as_ref());
    }

    fn bad(&mut self, line: impl AsRef<str>) {
        _ = writeln!(self.text, "FAIL  {}", line.as_ref());
        self.works = false;
    }
}

/// Checks everything that must be right for the bridge to work.
pub(crate) async fn examine(settings: &Settings) -> Report {
    let mut report = Report { text: String::new(), works: true };
    key(&mut report, settings);
    match settings.access.connect() {
        Err(why) => report.bad(format!("settings: {why}")),
        Ok(client) => {
            report.good(format!("settings: the address is {}", client.base_url()));
            unresolved(&mut report, settings, &client).await;
            service(&mut report, settings, &client).await;
        }
    }
    report.text.push_str(if report.works { "It works.\n" } else { "It does not work yet.\n" });
    report
}

/// Says where the key comes from, and whether others can read it there.
fn key(report: &mut Report, settings: &Settings) {
    if settings.access.client.is_none()
        && let Ok((_, source)) = settings.access.find_key()
    {
        report.good(format!("key: it comes from {source}"));
    }
    let Some(path) = &settings.access.key_file else { return };
    if let Ok(file) = std::fs::metadata(path)
        && others_can_read(&file)
    {
        report.odd(format!(
            "key file: others on this machine can read {}; close it with `chmod 600`, and have the key replaced if they may have",
            path.display()
        ));
    }
}

/// Says what may have been made by this bridge, by one before it or by another on this machine.
async fn unresolved(report: &mut Report, settings: &Settings, client: &Client) {
    let Some(path) = settings.access.state.path().filter(|_| !settings.access.demo) else { return };
    let records = match client.once_records().await {
        Ok(records) => records,
        Err(error) if error.is_config() => {
            return report.odd(format!(
                "state: {} cannot be used, so that a restart forgets what may have been made",
                path.display()
            ));
        }
        Err(error) => {
            // It names the file and what to do, and has none of its text.
            let said = error.to_string();
            let cause = said.split_once(" failed: ").map_or(&*said, |(_, cause)| cause);
            return report.odd(format!("state: {cause}; until then, some emails are not sent"));
        }
    };
    // Of what is being made now, another bridge knows the outcome in a moment.
    let left: Vec<_> = records.iter().filter(|record| !record.is_held()).collect();
    if left.is_empty() {
        report.good("state: nothing that may have been made is unresolved");
    }
    for record in left {
        report.odd(format!(
            "unresolved: something in {} since {}; it may have been made: look at the end of that conversation, or have the model \
             make exactly the same call again, which looks first",
            record.conversation(),
            record.since()
        ));
    }
}

async fn service(report: &mut Report, settings: &Settings, client: &Client) {
    // The raw response, for its headers; and without retries, which would hide failures.
    let call = client.raw(http::Method::GET, Operation::Me.path());
    let response = call.deadline(SERVICE_TIMEOUT).retry(RetryPolicy::never()).await;
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            if error.status().is_some() {
                report.good("network: the service responds");
            }
            let what = if error.is_unauthorized() {
                "key"
            } else if error.status().is_some() {
                "whose key it is"
            } else {
                "network"
            };
            report.bad(format!("{what}: {}", explain(&error)));
            if error.is_rate_limited() {
                report.odd("rate limit: no room; something else uses this key up");
            }
            return;
        }
    };
    report.good("network: the service responds");
    let me: Me = match response.json() {
        Ok(me) => me,
        Err(error) => return report.bad(format!("{error}. Is this the service's address?")),
    };
    let data = settings.access.data(&me);
    report.good(format!("key: accepted, agent {} ({}), on {data}", quoted(&me.agent.name), me.agent.id));
    let scopes: Vec<_> = me.scopes.iter().map(ToString::to_string).collect();
    report.good(format!("scopes: {}", scopes.join(", ")));
    tools(report, settings, &me);
    if settings.send != SendPolicy::Never && me.scopes.contains(&Scope::Send) {
        page(report, settings.ask);
    }
    inboxes(report, settings, client).await;
    clock(report, response.headers());
    let most = limits::REQUESTS_PER_MINUTE;
    report.good(format!(
        "rate limit: there is room now; {most} requests a minute for everything that uses this key"
    ));
}

fn tools(report: &mut Report, settings: &Settings, me: &Me) {
    let all = || Operation::KNOWN.iter().copied().filter_map(|op| Some((op, op.tool_name()?)));
    let shown: Vec<_> = all()
        .filter(|(op, _)| settings.filter.hides(*op, &me.scopes).is_none())
        .map(|(_, name)| name)
        .collect();
    if shown.is_empty() {
        report.bad(
            "tools: none is left; look at the scopes of the key and at --tools, --exclude-tools, --read-only",
        );
    } else {
        report.good(format!("tools shown: {}", shown.join(", ")));
    }
    for (op, name) in all() {
        if let Some(why) = settings.filter.hides(op, &me.scopes) {
            report.odd(format!("tool hidden: {name}, because {why}"));
        }
    }
    report.good(match settings.send {
        _ if !me.scopes.contains(&Scope::Send) => "sending: not with this key, which lacks the scope `send`",
        SendPolicy::Ask if settings.ask == ConsentChannel::Browser => {
            "sending: asks a person on a page in the browser (--ask=browser), or makes a draft where none can be opened"
        }
        SendPolicy::Ask => "sending: asks a person, or makes a draft where the client cannot ask",
        SendPolicy::Allow => {
            "sending: allowed without a question (--send=allow), except where there is a risk"
        }
        _ => "sending: never (--send=never), every email becomes a draft",
    });
}

/// Checks whether a person can be asked on the page, and no other user instead.
fn page(report: &mut Report, ask: ConsentChannel) {
    if ask == ConsentChannel::Browser {
        browser(report);
    }
    if !knows_its_visitors() {
        report.odd(
            "page: this system does not tell whose program opens it; where a client opens it by a link, another user of this machine \
             could be first",
        );
    }
}

fn browser(report: &mut Report) {
    let openers = open::commands("");
    let found = openers.iter().map(|opener| opener.get_program()).find(|program| is_there(program));
    match found {
        None => {
            let names: Vec<_> = openers.iter().map(|opener| opener.get_program().to_string_lossy()).collect();
            report.bad(format!(
                "browser: none can be opened, so that every email becomes a draft; install one of {}, or start without \
                 --ask=browser",
                names.join(", ")
            ));
        }
        Some(program) if has_no_display() => report.odd(format!(
            "browser: there is {}, but no display (DISPLAY, WAYLAND_DISPLAY); where none can be opened, an email becomes a draft",
            program.to_string_lossy()
        )),
        Some(program) => report.good(format!("browser: it is opened with {}", program.to_string_lossy())),
    }
    match PrivateFile::create("") {
        Ok(_) => report.good("page: the browser comes to it by a file that nobody else can read"),
        Err(error) => report.bad(format!(
            "page: no file that only you can read can be made in your home or the folder for temporary files ({error}), so that \
             every email becomes a draft"
        )),
    }
}

fn is_there(program: &OsStr) -> bool {
    let path = Path::new(program);
    if path.is_absolute() {
        return path.is_file();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders)
        .any(|folder| folder.join(path).is_file() || folder.join(path).with_extension("exe").is_file())
}

fn has_no_display() -> bool {
    cfg!(target_os = "linux")
        && ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().all(|name| env::var_os(name).is_none())
}

async fn inboxes(report: &mut Report, settings: &Settings, client: &Client) {
    if settings.mailboxes.is_empty() {
        return;
    }
    let all = match client.mailboxes().deadline(SERVICE_TIMEOUT).await {
        Ok(all) => all,
        Err(error) => return report.bad(format!("inboxes: {}", explain(&error))),
    };
    for address in &settings.mailboxes {
        if all.iter().any(|mailbox| mailbox.address.eq_ignore_ascii_case(address)) {
            report.good(format!("inbox: the model is kept to {address} (--mailbox)"));
        } else {
            report.bad(format!("inbox: the key sees none with the address {address}, which --mailbox names"));
        }
    }
}

fn clock(report: &mut Report, headers: &http::HeaderMap) {
    let said = headers.get(http::header::DATE).and_then(|date| date.to_str().ok());
    let there = said.and_then(|date| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
    match there.map(|there| Timestamp::now().as_secs() - there.as_second()) {
        None => report.odd("clock: the service did not say what time it is"),
        Some(off) if off.abs() <= MAX_SKEW_SECONDS => {
            report.good(format!("clock: within {} s of the service's", off.abs().max(1)))
        }
        Some(off) => report.odd(format!(
            "clock: this machine is {} s {} the service; times in results will look wrong, set the clock",
            off.abs(),
            if off > 0 { "ahead of" } else { "behind" }
        )),
    }
}
