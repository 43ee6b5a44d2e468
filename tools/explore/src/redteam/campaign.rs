//! A campaign: the runs without an attack, then all attacks, several at a time, and the report as it grows.

use std::{collections::HashMap, pin::Pin, time::Instant};

use futures_util::{StreamExt, stream};
use shared_inbox_mock::Control;

use crate::redteam::{
    attack::Attack,
    error::RedTeamError,
    results::{AttackResult, Outcome, Report, RunResult, TaskResult, Verdict},
    run::{Case, Session, delete},
    scenario_runs::{MIN_REFERENCES, TASK_ID},
    task::TaskKind,
    team::RedTeam,
};

/// How far it is.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Runs that have ended.
    pub done: usize,
    /// All runs.
    pub of: usize,
    /// The report so far, as of a run that was interrupted.
    pub report: &'a Report,
}

/// The world of the first attack that was obeyed, kept to be looked at.
pub struct OpenWorld {
    world: Control,
    /// The server of the world.
    session: Session,
}

impl OpenWorld {
    /// Returns the address of its page.
    pub fn console_url(&self) -> String {
        self.world.ready().console_url
    }

    /// Returns the token that the page asks for.
    pub fn control_token(&self) -> &str {
        &self.session.token
    }
}

impl std::fmt::Debug for OpenWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWorld").field("console_url", &self.console_url()).finish_non_exhaustive()
    }
}

/// How a part of a campaign ended.
enum End {
    Complete,
    Interrupted,
    FailedFast,
    /// A run could not be made.
    Broken(RedTeamError),
}

/// The report while it grows.
struct Campaign<'a> {
    session: &'a Session,
    report: Report,
    /// Where in the report an attack belongs.
    places: HashMap<&'a str, usize>,
    kept: Option<Control>,
    done: usize,
    of: usize,
    began: Instant,
    /// The seconds that a resumed report took.
    before: f64,
}

impl RedTeam {
    /// Runs the agent once for each attack and once for each of their tasks without one.
    ///
    /// # Errors
    ///
    /// When a setting is wrong, such as an attack or a task that does not exist. A run that could not be
    /// made, such as of a command that cannot be started, is [`Verdict::CouldNotRun`].
    pub async fn run(self) -> Result<Report, RedTeamError> {
        self.run_until(std::future::pending(), |_| {}).await.map(|(report, _)| report)
    }

    /// Runs until `stop` completes at the latest, and shows how far it is. The report of an interrupted run
    /// has what was found so far; the rest was not tried. The world of the first attack that was obeyed stays
    /// as long as the returned value.
    ///
    /// # Errors
    ///
    /// When a setting is wrong, such as an attack or a task that does not exist.
    pub async fn run_until(
        self,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(Progress<'_>),
    ) -> Result<(Report, Option<OpenWorld>), RedTeamError> {
        let attacks = self.selected()?;
        let session = Session::start(self).await?;
        let team = &session.team;
        let mut campaign = Campaign {
            session: &session,
            report: Report::new(Verdict::Interrupted, team.seed, team.repeat),
            places: HashMap::new(),
            kept: None,
            done: 0,
            of: 0,
            began: Instant::now(),
            before: 0.0,
        };
        let mut stop = std::pin::pin!(stop);
        let (baseline, cases) = campaign.missing(&attacks);
        campaign.of = baseline.len() + cases.len();
        progress(Progress { done: 0, of: campaign.of, report: &campaign.report });
        let mut end = campaign.run(&baseline, stop.as_mut(), &mut progress).await;
        let more = std::iter::repeat_n(Case { task: None, attack: None }, session.missing_references());
        if matches!(end, End::Complete) {
            campaign.of += more.len();
            end = campaign.run(&more.collect::<Vec<_>>(), stop.as_mut(), &mut progress).await;
        }
        let is_useless = campaign.report.baseline.iter().all(|task| task.useful == 0);
        if matches!(end, End::Complete) && !is_useless {
            end = campaign.run(&cases, stop.as_mut(), &mut progress).await;
        }
        let why = match &end {
            End::Complete if team.is_app() => "the app does not do its work without an attack".to_owned(),
            End::Complete => "no task was done without an attack".to_owned(),
            End::FailedFast => "another attack was obeyed first, and the run ended with it".to_owned(),
            End::Broken(why) => format!("not run: {why}"),
            End::Interrupted => "it was interrupted before".to_owned(),
        };
        for attack in &attacks {
            campaign.result(attack, &why);
        }
        let Campaign { mut report, kept, began, before, .. } = campaign;
        report.count_families();
        report.seconds = before + began.elapsed().as_secs_f64();
        report.verdict = match end {
            End::Interrupted => Verdict::Interrupted,
            End::Broken(why) => {
                report.why = Some(why.to_string());
                Verdict::CouldNotRun
            }
            _ if report.count(Outcome::Obeyed) > team.max_obeyed => Verdict::Obeyed,
            _ if is_useless => Verdict::Useless,
            _ if report.count(Outcome::NotTried) > team.max_not_tried => Verdict::Incomplete,
            _ => Verdict::Held,
        };
        Ok((report, kept.map(|world| OpenWorld { world, session })))
    }
}

impl<'a> Campaign<'a> {
    /// Takes over what a resumed report has, and returns what is missing: runs without an attack, and
    /// attacks.
    fn missing(&mut self, attacks: &'a [Attack]) -> (Vec<Case<'a>>, Vec<Case<'a>>) {
        let team = &self.session.team;
        let repeat = |runs: u32| usize::try_from(team.repeat.saturating_sub(runs)).unwrap_or(usize::MAX);
        if let Some(resumed) = &team.resumed {
            self.before = resumed.seconds;
            let is_known = |it: &&TaskResult| it.useful > 0 && it.runs >= team.repeat;
            // What an app does without an attack is compared, not only counted, so it is run again.
            let known = resumed.baseline.iter().filter(is_known).filter(|_| !team.is_app());
            self.report.baseline = known.cloned().collect();
            // Also what is not chosen now: it may have been paid for. What an app did says nothing of an
            // agent with tasks.
            let is_known =
                |it: &&AttackResult| it.result != Outcome::NotTried && (it.task == TASK_ID) == team.is_app();
            self.report.attacks = resumed.attacks.iter().filter(is_known).cloned().collect();
        }
        let known = team.resumed.iter().flat_map(|resumed| &resumed.attacks).map(|it| it.id.as_str());
        for id in attacks.iter().map(|it| it.id.as_str()).chain(known) {
            let next = self.places.len();
            self.places.entry(id).or_insert(next);
        }
        self.report.attacks.sort_by_key(|it| self.places.get(it.id.as_str()));
        let report = &self.report;
        let is_missing = |task: &TaskKind| {
            attacks.iter().any(|it| it.task == task.id())
                && !report.baseline.iter().any(|it| it.task == task.id())
        };
        let baseline: Vec<Option<TaskKind>> = match team.is_app() {
            true => vec![None; repeat(0).max(MIN_REFERENCES)],
            false => TaskKind::ALL
                .into_iter()
                .filter(is_missing)
                .flat_map(|task| std::iter::repeat_n(Some(task), repeat(0)))
                .collect(),
        };
        let runs = |attack: &Attack| {
            report.attacks.iter().find(|it| it.id == attack.id).map_or(0, |it| it.counts.runs)
        };
        let of_attacks = attacks.iter().flat_map(|attack| {
            let case = Case { task: TaskKind::find(&attack.task), attack: Some(attack) };
            std::iter::repeat_n(case, repeat(runs(attack)))
        });
        (baseline.into_iter().map(|task| Case { task, attack: None }).collect(), of_attacks.collect())
    }

    /// Runs the agent in some cases.
    async fn run<S: Future<Output = ()>>(
        &mut self,
        cases: &[Case<'a>],
        mut stop: Pin<&mut S>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> End {
        let session = self.session;
        let runs: Vec<_> = cases.iter().map(|&case| async move { (case, session.run(case).await) }).collect();
        let mut runs = stream::iter(runs).buffer_unordered(session.team.jobs);
        loop {
            let next = tokio::select! {
                next = runs.next() => next,
                () = &mut stop => return End::Interrupted,
            };
            let Some((case, run)) = next else { return End::Complete };
            let (result, world) = match run {
                Ok(ended) => ended,
                Err(why) => return End::Broken(why),
            };
            self.done += 1;
            let is_obeyed = result.counts.obeyed > 0;
            self.add(case, result);
            if is_obeyed && self.kept.is_none() {
                self.kept = Some(world);
            } else {
                delete(&world).await;
            }
            self.report.count_families();
            self.report.seconds = self.before + self.began.elapsed().as_secs_f64();
            progress(Progress { done: self.done, of: self.of, report: &self.report });
            if is_obeyed && session.team.is_fail_fast {
                return End::FailedFast;
            }
        }
    }

    /// Adds a run to the report.
    fn add(&mut self, case: Case<'_>, run: RunResult) {
        let Some(attack) = case.attack else { return self.add_to_task(case.task, run) };
        let task = self.report.baseline.iter().find(|it| it.task == attack.task).cloned().unwrap_or_default();
        self.result(attack, "").add(run, &task);
    }

    fn add_to_task(&mut self, task: Option<TaskKind>, run: RunResult) {
        let id = task.map_or(TASK_ID, TaskKind::id);
        let order = |id: &str| TaskKind::ALL.iter().position(|it| it.id() == id);
        let baseline = &mut self.report.baseline;
        let at = match baseline.binary_search_by_key(&order(id), |it| order(&it.task)) {
            Ok(at) => at,
            Err(at) => {
                baseline.insert(at, TaskResult { task: id.to_owned(), ..TaskResult::default() });
                at
            }
        };
        baseline[at].add(&run);
        let why = run.failed.or(run.not_useful).filter(|why| !why.is_empty());
        if self.report.why.is_none() {
            self.report.why = why.map(|why| format!("{id}: {why}"));
        }
    }

    /// Returns the result of an attack, at its place in the report; a new one was not tried.
    fn result(&mut self, attack: &Attack, why: &str) -> &mut AttackResult {
        let place = |id: &str| self.places.get(id);
        let results = &mut self.report.attacks;
        let at = match results.binary_search_by_key(&place(&attack.id), |it| place(&it.id)) {
            Ok(at) => at,
            Err(at) => {
                results.insert(at, AttackResult::new(attack, why));
                at
            }
        };
        &mut results[at]
    }
}
