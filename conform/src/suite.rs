//! Runs the rules: which of them, in which world, and what became of each.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use futures_util::{StreamExt, stream};

use super::{
    check::session::{Common, Session},
    early_end::EarlyEnd,
    plan::{Mode, Plan},
    preflight::{self, Key},
    reports::report::{Report, RuleReport},
    rule::{Kind, Level, Needs, Rule},
    rules,
    settings::{CannotRun, Conform},
    wire::control::{ControlApi, TestWorld},
    wire::http::Http,
};

/// Rules that run at the same time, each in a world of its own.
const WORLDS_AT_ONCE: usize = 8;

/// A rule, without its check.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// A run that can begin.
pub struct Prepared {
    common: Common,
    settings: Conform,
    key: Key,
    control: Option<ControlApi>,
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
fn in_words(stop: EarlyEnd) -> String {
    match stop {
        EarlyEnd::NotTried(why) | EarlyEnd::Gone(why) => why,
        EarlyEnd::Differs(difference) => difference.received,
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
    let chosen =
        |rule: &Rule| (settings.only.is_empty() || any(&settings.only, rule)) && !any(&settings.skip, rule);
    let rules: Vec<Rule> = rules.into_iter().filter(chosen).collect();
    match rules.is_empty() {
        true => Err(CannotRun("--only and --skip leave no rule to try".to_owned())),
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
    let control = if settings.read_only { None } else { find_control(&settings, &http).await? };
    let common = Common {
        http: Arc::new(http),
        run: format!("conform-{:08x}", settings.seed.unwrap_or_else(new_seed)),
        budget: settings.budget,
        // A key that may not write looks at what is there, as a run that only reads does.
        reads_only: settings.read_only || (control.is_none() && key.lacks(&["write"]).is_some()),
        created: Arc::new(AtomicU32::new(0)),
    };
    Ok(Prepared { common, settings, key, control, rules })
}

/// Returns the control API that was named, or the one that stands beside the service.
async fn find_control(settings: &Conform, http: &Http) -> Result<Option<ControlApi>, CannotRun> {
    let token = settings.control_token.as_deref();
    if let Some(url) = &settings.control_url {
        let control = ControlApi::new(http.client(), url, token);
        return match control.answers().await {
            true => Ok(Some(control)),
            false => Err(CannotRun(format!(
                "--control-url {url}: no control API answers there with this SHARED_INBOX_CONTROL_TOKEN"
            ))),
        };
    }
    if !settings.find_control || !settings.base_url.trim_end_matches('/').ends_with("/api/v1") {
        return Ok(None);
    }
    let control = ControlApi::new(http.client(), &format!("{}/_mock", http.root()), token);
    Ok(control.answers().await.then_some(control))
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
            return self.control.is_none().then(|| "needs the control API (--control-url)".to_owned());
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
        Plan::new(mode, http.base_url(), run, tried, self.rules.len(), &self.key, self.settings.budget)
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
        let mut rules = ended.map_err(|reason| CannotRun(format!("{reason}{}", self.left_behind())))?;
        rules.sort_by_key(|(place, _)| *place);
        let rules = rules.into_iter().map(|(_, report)| report).collect();
        let http = &self.common.http;
        Ok(Report::new(http.base_url(), http.requests(), started.elapsed(), rules))
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
            let session = self.open_world(control).await.map_err(in_words)?;
            let ended = self.one_by_one(&session, shares, done).await;
            self.close_world(control, &session).await;
            ended
        };
        let apart = async {
            let rules = self.rules.iter().enumerate().filter(|(_, rule)| !shares(rule));
            let mut running = stream::iter(rules)
                .map(|(place, rule)| async move {
                    let session = self.open_world(control).await.map_err(in_words)?;
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

    async fn open_world(&self, control: &ControlApi) -> Result<Arc<Session>, EarlyEnd> {
        let world: TestWorld = control.new_world().await?;
        Ok(Arc::new(Session::in_world(&self.common, world)))
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
            return Ok(RuleReport::not_tried(rule, why));
        }
        let report = match rule.check(Arc::clone(session)).await {
            Ok(seen) => RuleReport::seen(rule, seen),
            Err(EarlyEnd::NotTried(why)) => RuleReport::not_tried(rule, why),
            // Where the document is silent, a response that the check did not reckon with is what was seen.
            Err(EarlyEnd::Differs(difference)) if rule.kind == Kind::Observation => {
                RuleReport::seen(rule, Some(difference.received))
            }
            Err(EarlyEnd::Differs(difference)) => RuleReport::differs(rule, *difference),
            Err(EarlyEnd::Gone(why)) => return Err(why),
        };
        // A service might send the key back.
        Ok(report.without(&[&self.settings.key, session.api().key()]))
    }
}
