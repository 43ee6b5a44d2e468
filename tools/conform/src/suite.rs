//! Runs the rules: which of them, in which world, and what became of each.

use std::{
    any::Any,
    fmt,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use futures_util::{FutureExt, StreamExt, stream};
use serde::Serialize;

use super::{
    check::session::{Common, Session},
    plan::{Mode, Plan},
    preflight::{self, Key},
    reports::report::{Report, RuleReport},
    rule::{Kind, Level, Needs, Rule},
    rule_abort::RuleAbort,
    rules,
    settings::{CannotRun, Conform},
    wire::control::{ControlApi, Presence, TestWorld},
    wire::http::Http,
    wire::reply::printable,
};

/// Rules that run at the same time, each in a world of its own.
const WORLDS_AT_ONCE: usize = 8;

/// The number of worlds in a row that the control API may fail to make before it is asked no more.
const MAX_FAILED_WORLDS: u32 = 3;

/// A rule, without its check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RuleInfo {
    /// Does not change between versions.
    pub id: String,
    /// The most specific section of the document.
    pub section: String,
    /// Whether the document demands it.
    pub kind: Kind,
    /// What the document says or leaves open, in a sentence.
    pub says: String,
    /// What it takes to try it: `reads`, `sandbox` or `control`.
    pub needs: String,
    /// The calls of the control API that it takes, beside those that make and end a world, such as `POST
    /// /webhooks/{id}/test`.
    pub control_calls: Vec<String>,
}

/// A run that can begin.
pub struct Prepared {
    common: Common,
    settings: Conform,
    key: Key,
    control: Option<ControlApi>,
    /// What the user should know of the control API.
    warning: Option<String>,
    rules: Vec<Rule>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

fn info(rule: &Rule) -> RuleInfo {
    let needs = match rule.needs.level {
        Level::Reads => "reads".to_owned(),
        Level::Sandbox => format!("sandbox ({})", rule.needs.scopes.join(", ")),
        Level::Shared | Level::World => "control".to_owned(),
    };
    RuleInfo {
        id: rule.id.clone(),
        section: rule.section.to_owned(),
        kind: rule.kind,
        says: rule.says.clone(),
        needs,
        control_calls: rule.control_calls.clone(),
    }
}

impl Conform {
    /// Returns every rule, in the order of the document.
    #[must_use]
    pub fn rules() -> Vec<RuleInfo> {
        rules::all().rules.iter().map(info).collect()
    }

    /// Looks whether the suite can run: one `GET /me`, and then whether there is a control API.
    ///
    /// # Errors
    ///
    /// When it cannot: no such service, a key that must not be used, a name that is not a rule's.
    pub async fn prepare(self) -> Result<Prepared, CannotRun> {
        prepare(self).await
    }

    /// Prepares and runs.
    ///
    /// # Errors
    ///
    /// When the suite cannot run, or the service is gone before it has ended.
    pub async fn run(self) -> Result<Report, CannotRun> {
        self.prepare().await?.run(|_| ()).await
    }
}

/// Why nothing more can be tried.
fn in_words(stop: RuleAbort) -> String {
    match stop {
        RuleAbort::LeftOut(why) | RuleAbort::Failed(why) | RuleAbort::Gone(why) => why,
        RuleAbort::Differs(difference) => difference.received,
    }
}

/// Returns whether a name on the command line means this rule.
fn means(name: &str, rule: &Rule) -> bool {
    let inside = |whole: &str| whole.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    rule.id == name
        || rule.section == name
        || (name.starts_with(|c: char| c.is_ascii_digit()) && inside(rule.section))
}

fn choose(settings: &Conform) -> Result<Vec<Rule>, CannotRun> {
    let rules = rules::all().rules;
    for (flag, names) in [("--only", &settings.only), ("--skip", &settings.skip)] {
        if let Some(name) = names.iter().find(|name| !rules.iter().any(|rule| means(name, rule))) {
            return Err(CannotRun(format!("{flag} {name}: there is no such rule and no such section")));
        }
    }
    let any = |names: &[String], rule: &Rule| names.iter().any(|name| means(name, rule));
    let profile = settings.profile.sections();
    let chosen = |rule: &Rule| {
        profile.contains(&rule.section)
            && (settings.only.is_empty() || any(&settings.only, rule))
            && !any(&settings.skip, rule)
    };
    let rules: Vec<Rule> = rules.into_iter().filter(chosen).collect();
    match rules.is_empty() {
        true => Err(CannotRun("--profile, --only and --skip leave no rule to try".to_owned())),
        false => Ok(rules),
    }
}

/// Returns a seed that no other run has.
fn new_seed() -> u32 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() as u32
}

async fn prepare(settings: Conform) -> Result<Prepared, CannotRun> {
    preflight::check_settings(&settings)?;
    let rules = choose(&settings)?;
    let http = Http::new(&settings.base_url, settings.read_only).map_err(CannotRun)?;
    let key = preflight::look(&settings, &http).await?;
    let (control, warning) =
        if settings.read_only { (None, None) } else { find_control(&settings, &http).await? };
    let common = Common {
        http: Arc::new(http),
        run: format!("conform-{:08x}", settings.seed.unwrap_or_else(new_seed)),
        budget: settings.budget,
        // A key that may not write looks at what is there, as a run that only reads does.
        reads_only: settings.read_only || (control.is_none() && key.lacks(&["write"]).is_some()),
        created: Arc::new(AtomicU32::new(0)),
    };
    let prepared = Prepared { common, settings, key, control, warning, rules };
    let obstacles: Vec<String> = prepared.rules.iter().filter_map(|rule| prepared.obstacle(rule)).collect();
    if let Some(first) = obstacles.first().filter(|_| obstacles.len() == prepared.rules.len()) {
        let warning = prepared.warning.map(|warning| format!("; {warning}")).unwrap_or_default();
        return Err(CannotRun(format!(
            "no rule can be tried here: {}: {first}{warning}",
            prepared.rules[0].id
        )));
    }
    Ok(prepared)
}

/// Returns the control API that was named, or the one that stands beside the service; and what the user
/// should know of it.
async fn find_control(
    settings: &Conform,
    http: &Http,
) -> Result<(Option<ControlApi>, Option<String>), CannotRun> {
    let url = match &settings.control_url {
        Some(url) => url.clone(),
        None if settings.find_control && http.base_url().ends_with("/api/v1") => {
            format!("{}/_mock", http.root())
        }
        None => return Ok((None, None)),
    };
    let control = ControlApi::new(http.client(), &url, settings.control_token.as_deref());
    match control.look().await {
        Presence::Present => Ok((Some(control), None)),
        Presence::Failing(status) => {
            let failing = format!("the control API at {url} answers {status} to GET /health");
            match settings.control_url {
                Some(_) => Err(CannotRun(failing)),
                None => Ok((None, Some(format!("{failing}: the rules that need it are not tried")))),
            }
        }
        _ if settings.control_url.is_some() => Err(CannotRun(format!(
            "--control-url {url}: no control API answers there with this SHARED_INBOX_CONTROL_TOKEN"
        ))),
        Presence::Refused => {
            let wants = format!("the control API at {url} wants another SHARED_INBOX_CONTROL_TOKEN");
            Ok((None, Some(format!("{wants}: the rules that need it are not tried"))))
        }
        Presence::Absent => Ok((None, None)),
    }
}

impl Prepared {
    /// Why a rule cannot be tried in this run.
    fn obstacle(&self, rule: &Rule) -> Option<String> {
        let Needs { level, scopes } = rule.needs;
        if self.settings.read_only {
            return (level > Level::Reads)
                .then(|| "writes, and --read-only sends GET requests only".to_owned());
        }
        if level > Level::Sandbox {
            let needs =
                || format!("needs the control API (--control-url): {}", rule.control_calls.join(", "));
            return self.control.is_none().then(needs);
        }
        self.key.lacks(scopes).map(|scope| format!("the key lacks the scope `{scope}`"))
    }

    /// Returns what the run will do.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let tried = self.rules.iter().filter(|rule| self.obstacle(rule).is_none()).collect();
        let mode = match (&self.control, self.settings.read_only) {
            (_, true) => Mode::Reads,
            (Some(_), _) => Mode::Worlds,
            (None, _) => Mode::Sandbox,
        };
        let (http, run) = (&self.common.http, &self.common.run);
        let mut plan =
            Plan::new(mode, http.base_url(), run, tried, self.rules.len(), &self.key, self.settings.budget);
        plan.warnings.extend(self.warning.clone());
        plan
    }

    /// Tries every rule, and tells of each as it is done.
    ///
    /// # Errors
    ///
    /// When the service is gone, or refuses everything, before the run has ended.
    pub async fn run(self, done: impl Fn(&RuleReport)) -> Result<Report, CannotRun> {
        let started = Instant::now();
        let ended = match &self.control {
            Some(control) => self.in_worlds(control, &done).await,
            None => self.with_key(&done).await,
        };
        let mut rules =
            ended.map_err(|reason| CannotRun(format!("{}{}", printable(&reason), self.left_behind())))?;
        rules.sort_by_key(|(place, _)| *place);
        let rules = rules.into_iter().map(|(_, report)| report).collect();
        let http = &self.common.http;
        let (requests, took) = (http.requests(), started.elapsed());
        Ok(Report::new(http.base_url(), requests, took, rules, self.settings.max_not_tried))
    }

    /// Returns what an unfinished run leaves in the sandbox.
    fn left_behind(&self) -> String {
        match self.common.created.load(Ordering::Relaxed) {
            0 => "; nothing was created".to_owned(),
            _ if self.control.is_some() => "; what was created is gone with its worlds".to_owned(),
            created => {
                format!("; up to {created} conversations marked `{}` stay in the sandbox", self.common.run)
            }
        }
    }

    async fn with_key(&self, done: &impl Fn(&RuleReport)) -> Result<Vec<(usize, RuleReport)>, String> {
        let clock = Arc::clone(&self.settings.clock);
        let session = Arc::new(Session::with_key(&self.common, &self.settings.key, clock));
        // The look at the key was a request too.
        session.api().count_one().await;
        self.one_by_one(&session, |_| true, done).await
    }

    /// Most rules share a world, one after the other; those that need one of their own run beside each other.
    async fn in_worlds(
        &self,
        control: &ControlApi,
        done: &impl Fn(&RuleReport),
    ) -> Result<Vec<(usize, RuleReport)>, String> {
        let shares = |rule: &Rule| rule.needs.level < Level::World;
        let shared = async {
            if !self.rules.iter().any(shares) {
                return Ok(Vec::new());
            }
            match self.open_world(control).await {
                Ok(session) => {
                    let ended = self.one_by_one(&session, shares, done).await;
                    self.close_world(control, &session).await;
                    ended
                }
                Err(abort) => {
                    let why = in_words(abort);
                    let rules = self.rules.iter().enumerate().filter(|(_, rule)| shares(rule));
                    Ok(rules.map(|(place, rule)| (place, self.without_world(rule, &why))).collect())
                }
            }
        };
        let failed_worlds = &AtomicU32::new(0);
        let apart = async {
            let rules = self.rules.iter().enumerate().filter(|(_, rule)| !shares(rule));
            let mut running = stream::iter(rules)
                .map(|(place, rule)| async move {
                    if failed_worlds.load(Ordering::Relaxed) >= MAX_FAILED_WORLDS {
                        let why = "the control API makes no worlds: it failed again and again";
                        return Ok((place, self.without_world(rule, why)));
                    }
                    let session = match self.open_world(control).await {
                        Ok(session) => session,
                        Err(abort) => {
                            failed_worlds.fetch_add(1, Ordering::Relaxed);
                            return Ok((place, self.without_world(rule, &in_words(abort))));
                        }
                    };
                    failed_worlds.store(0, Ordering::Relaxed);
                    let report = self.try_rule(rule, &session).await;
                    self.close_world(control, &session).await;
                    report.map(|report| (place, report))
                })
                .buffer_unordered(WORLDS_AT_ONCE);
            let mut reports = Vec::new();
            while let Some(report) = running.next().await {
                let report = report?;
                done(&report.1);
                reports.push(report);
            }
            Ok(reports)
        };
        let (mut reports, apart) = futures_util::future::try_join(shared, apart).await?;
        reports.extend(apart);
        Ok(reports)
    }

    async fn open_world(&self, control: &ControlApi) -> Result<Arc<Session>, RuleAbort> {
        let world: TestWorld = control.new_world().await?;
        Ok(Arc::new(Session::in_world(&self.common, world)))
    }

    /// The report of a rule for which the control API made no world.
    fn without_world(&self, rule: &Rule, why: &str) -> RuleReport {
        match self.obstacle(rule) {
            Some(obstacle) => RuleReport::left_out(rule, obstacle),
            None => RuleReport::failed(rule, why.to_owned()),
        }
    }

    async fn close_world(&self, control: &ControlApi, session: &Session) {
        if let Ok(world) = session.world() {
            control.end_world(world).await;
        }
    }

    async fn one_by_one(
        &self,
        session: &Arc<Session>,
        chosen: impl Fn(&Rule) -> bool,
        done: &impl Fn(&RuleReport),
    ) -> Result<Vec<(usize, RuleReport)>, String> {
        let mut reports = Vec::new();
        for (place, rule) in self.rules.iter().enumerate().filter(|(_, rule)| chosen(rule)) {
            let report = self.try_rule(rule, session).await?;
            done(&report);
            reports.push((place, report));
        }
        Ok(reports)
    }

    async fn try_rule(&self, rule: &Rule, session: &Arc<Session>) -> Result<RuleReport, String> {
        if let Some(why) = self.obstacle(rule) {
            return Ok(RuleReport::left_out(rule, why));
        }
        session.take_last_exchange();
        session.take_control_calls();
        let waits_failed = session.clock_failures().len();
        let checked = AssertUnwindSafe(rule.check(Arc::clone(session))).catch_unwind().await;
        let clock_failures = session.clock_failures();
        let report = match checked {
            Err(panic) => RuleReport::fault(rule, &panic_message(&*panic), session.take_last_exchange()),
            // Whatever it saw, it saw at another time than it thinks.
            Ok(_) if clock_failures.len() > waits_failed => clock_failed(rule, clock_failures),
            Ok(Ok(seen)) => RuleReport::seen(rule, seen),
            Ok(Err(RuleAbort::LeftOut(why))) => RuleReport::left_out(rule, why),
            Ok(Err(RuleAbort::Failed(why))) => RuleReport::failed(rule, why),
            // Where the document is silent, a response that the check did not reckon with is what was seen.
            Ok(Err(RuleAbort::Differs(difference))) if rule.kind == Kind::Observation => {
                RuleReport::seen(rule, Some(difference.received))
            }
            Ok(Err(RuleAbort::Differs(difference))) => RuleReport::differs(rule, *difference),
            // Without its clock a world never leaves the minute in which the rate limit was reached.
            Ok(Err(RuleAbort::Gone(_))) if waits_failed > 0 => clock_failed(rule, clock_failures),
            Ok(Err(RuleAbort::Gone(why))) => return Err(why),
        };
        let control_calls = match rule.needs.level > Level::Sandbox {
            true => session.take_control_calls(),
            false => Vec::new(),
        };
        let report = RuleReport { control_calls, ..report };
        // A service might send the key back.
        Ok(report.without(&[&self.settings.key, session.api().key()]))
    }
}

fn clock_failed(rule: &Rule, mut failures: Vec<RuleAbort>) -> RuleReport {
    RuleReport::failed(rule, failures.pop().map(in_words).unwrap_or_default())
}

/// Returns what a panic said.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
