//! The step generator: single steps first, those at reads after the pairs around a create, then other pairs,
//! then at random.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::{Rng, RngExt, seq::IndexedRandom};

use crate::explore::{
    findings::report::{Coverage, GridCell},
    plan::op::Request,
    plan::schedule::Schedule,
    plan::step::{Act, Failure, Moment, Place, Step, What},
    run::record::{AppRequest, Execution},
    scenario::Scenario,
};

/// Requests after a failure at which a second one is tried.
const NEAR: usize = 4;
/// Schedules in which a response is as slow as a timeout.
const MAX_SLOW: usize = 2;
/// Requests of each kind, those that create and those that read, at which a server gets a delivery again
/// while it handles it: the first try may have to time out.
const MAX_OVERLAPS: usize = 2;
/// Pairs with such a delivery.
const MAX_OVERLAP_PAIRS: usize = 8;
/// Steps of a schedule at random.
const MAX_STEPS: usize = 4;
/// How often chance may propose what was tried already before nothing is left.
const MAX_RANDOM_TRIES: usize = 1_000;
/// Schedules that reached something new, to be varied.
const MAX_CORPUS: usize = 200;

/// A request of a run, as a place for steps.
#[derive(Debug, Clone, Copy)]
struct Spot {
    /// Its number in the order of everything that happened.
    number: u64,
    request: Request,
    /// The mail whose conversation it is about, or the next such request.
    mail: usize,
    /// Whether the app has written to that customer before.
    written: bool,
    /// Whether it has asked them for documents before.
    asked: bool,
}

impl Spot {
    /// Returns whether somebody can do this here.
    fn allows(&self, act: Act) -> bool {
        match act {
            // An automatic reply answers a mail that has left.
            Act::AutoReply => self.written,
            act if act.needs_message() => self.written,
            act if act.needs_request() => self.asked,
            _ => true,
        }
    }

    /// Returns where a delivery is made again while the app handles it: what it reads is old then, and what
    /// it creates a second one.
    fn overlap(&self) -> Place {
        if self.request.op.is_read() { Place::After(self.request) } else { Place::Before(self.request) }
    }
}

/// Returns the first spots at which a delivery is made again.
fn overlaps(spots: &[Spot]) -> impl Iterator<Item = &Spot> {
    let creates = spots.iter().filter(|spot| spot.request.op.creates()).take(MAX_OVERLAPS);
    creates.chain(spots.iter().filter(|spot| spot.request.op.is_read()).take(MAX_OVERLAPS))
}

/// Kinds of schedules that are planned. Those of one phase take turns, so that none has to wait for the
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Failure,
    Delivery,
    Quiet,
    Between,
    Slow,
    /// A pair of which one step is at a request that creates something, which reaches what single steps at
    /// reads do not.
    CreatePair,
    /// A failure of a request that only reads, which finds the least.
    AtRead,
    Pair,
}

impl Kind {
    /// Kinds of the steps at random: failures, also of reads, at least as often as all else.
    const AT_RANDOM: [Self; 6] =
        [Self::Failure, Self::Failure, Self::Failure, Self::Delivery, Self::Quiet, Self::Between];

    fn of(steps: &[Step]) -> Self {
        let [step] = steps else {
            return if steps.iter().any(creates) { Self::CreatePair } else { Self::Pair };
        };
        match (step.what, step.place) {
            (What::Fail(Failure::Slow) | What::Act(Act::Overlap, _), _) => Self::Slow,
            (What::Act(..), Place::Quiet(..)) => Self::Quiet,
            (What::Act(..), _) => Self::Between,
            (_, Place::Delivery(_)) => Self::Delivery,
            _ if step.request().is_some_and(|request| request.op.is_read()) => Self::AtRead,
            _ => Self::Failure,
        }
    }

    fn phase(self) -> usize {
        match self {
            Self::Failure | Self::Delivery | Self::Quiet | Self::Between => 1,
            Self::Slow => 2,
            Self::CreatePair => 3,
            Self::AtRead => 4,
            Self::Pair => 5,
        }
    }
}

/// A schedule that reached something new, and the steps that could come beside.
#[derive(Debug, Clone)]
struct Reached {
    schedule: Schedule,
    steps: Vec<Step>,
}

/// Decides what is tried next.
#[derive(Default)]
pub(crate) struct Generator {
    /// Mails that begin a conversation.
    mails: Vec<usize>,
    /// Follow-ups of the scenario, each with the mail that began its conversation.
    follow_ups: Vec<(usize, usize)>,
    /// Whether a customer can ask what another one asks.
    has_other_mail: bool,
    days: u32,
    /// Whether it ends when each single step was tried.
    only_singles: bool,
    /// Single steps and pairs that are to be tried, by phase, number among those of its kind, and kind.
    queue: BTreeMap<(usize, usize, Kind), Schedule>,
    /// Single steps and pairs, tried or not.
    planned: HashSet<Schedule>,
    planned_of_kind: HashMap<Kind, usize>,
    tried: HashSet<Schedule>,
    corpus: Vec<Reached>,
    states: HashSet<String>,
    coverage: Coverage,
    overlap_pairs: usize,
}

impl Generator {
    pub(crate) fn new(scenario: &Scenario, reference: &Execution, only_singles: bool) -> Self {
        let (follow_ups, mails): (Vec<usize>, Vec<usize>) =
            (0..scenario.mails.len()).partition(|mail| scenario.mails[*mail].follow_up);
        let mut generator = Self {
            mails,
            follow_ups: follow_ups.into_iter().map(|mail| (mail, scenario.opener(mail))).collect(),
            has_other_mail: scenario.other_mail(0).is_some(),
            days: scenario.days,
            only_singles,
            tried: HashSet::from([reference.schedule.clone()]),
            coverage: Coverage { requests: reference.requests.len(), ..Coverage::default() },
            ..Self::default()
        };
        generator.plan_singles(reference);
        generator.absorb(reference);
        generator
    }

    /// How far it has looked.
    pub(crate) fn coverage(&self) -> Coverage {
        self.coverage.clone()
    }

    /// Distinct states that were reached.
    pub(crate) fn states(&self) -> usize {
        self.states.len()
    }

    /// Returns the cell of a single step.
    fn cell_of(&mut self, step: &Step) -> &mut GridCell {
        let (place, kind, grid) = (step.place_name(), step.group(), &mut self.coverage.grid);
        let known = grid.iter().position(|cell| cell.place == place && cell.kind == kind);
        let at = known.unwrap_or_else(|| {
            grid.push(GridCell { place, kind, tried: 0, of: 0 });
            grid.len() - 1
        });
        &mut grid[at]
    }

    /// Returns what can be tried around a run, in its order: in quiet moments of this many rounds, at
    /// requests, at deliveries.
    fn steps(&self, run: &Execution, spots: &[Spot], rounds: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut add = |place: Place, what: What| steps.push(Step { place, what });
        let acts = || Act::ALL.into_iter().filter(|act| self.has_other_mail || *act != Act::Other);
        for round in 0..run.rounds.min(rounds) {
            for moment in Moment::ALL {
                let (place, is_early) = (Place::Quiet(moment, round), moment == Moment::Run && round == 0);
                for act in acts().filter(|act| !act.moves_clock() || *act == Act::Reminder) {
                    let needs_answer = act.needs_message() || act == Act::AutoReply || act.needs_request();
                    for &mail in self.mails.iter().take(2).filter(|_| !(needs_answer && is_early)) {
                        if !act.needs_request() || spots.iter().any(|spot| spot.asked && spot.mail == mail) {
                            add(place, What::Act(act, mail));
                        }
                    }
                }
                self.follow_ups.iter().for_each(|(mail, _)| add(place, What::Act(Act::Mail, *mail)));
            }
        }
        let mut slow = 0;
        for spot in spots {
            let (before, op) = (Place::Before(spot.request), spot.request.op);
            for failure in Failure::OF_REQUESTS {
                let is_useful = match failure {
                    Failure::Slow => op.creates() && slow < MAX_SLOW,
                    // What took effect and what did not is the same for a request that only reads.
                    Failure::FailedAfter | Failure::LostAfter | Failure::Refused => !op.is_read(),
                    _ => true,
                };
                if is_useful {
                    slow += usize::from(failure == Failure::Slow);
                    add(before, What::Fail(failure));
                }
            }
            // Killed at a read, an app has done what it has when it is killed at the next write.
            if !op.is_read() {
                add(before, What::Kill);
                add(Place::After(spot.request), What::Kill);
            }
            for act in acts().filter(|act| spot.allows(*act) && *act != Act::Overlap) {
                // Where the clock moves during a request, a server may have to wait for a timeout.
                if !(run.server && act.moves_clock()) {
                    add(before, What::Act(act, spot.mail));
                }
            }
            let here = self.follow_ups.iter().filter(|(_, opener)| *opener == spot.mail);
            here.for_each(|(mail, _)| add(before, What::Act(Act::Mail, *mail)));
            // One that works before it answers lets the delivery time out, which takes as long as in the
            // service.
            if run.server && overlaps(spots).any(|it| it.number == spot.number) {
                add(spot.overlap(), What::Act(Act::Overlap, spot.mail));
            }
        }
        for attempt in &run.attempts {
            let place = Place::Delivery(attempt.place);
            Failure::OF_DELIVERIES.into_iter().for_each(|failure| add(place, What::Fail(failure)));
        }
        steps
    }

    /// Returns the follow-up of the scenario that a step brings at another time than in the run without
    /// trouble.
    fn moved_follow_up(&self, step: Step) -> Option<usize> {
        let (_, mail) = step.act().filter(|(act, _)| *act == Act::Mail)?;
        self.follow_ups.iter().map(|(follow_up, _)| *follow_up).find(|follow_up| *follow_up == mail)
    }

    /// Plans each single step, and makes the table of them.
    fn plan_singles(&mut self, reference: &Execution) {
        let steps = self.steps(reference, &spots(reference), 2 + self.days);
        for step in &steps {
            self.cell_of(step).of += 1;
        }
        // What creates something is where most goes wrong.
        let is_at_create = |step: &Step| step.act().is_none() && creates(step);
        let (creates, others): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_at_create);
        for step in creates.into_iter().chain(others) {
            let mut schedule = reference.schedule.with(step);
            schedule.mails.retain(|mail| self.moved_follow_up(step) != Some(*mail));
            self.plan(schedule);
        }
    }

    /// Plans a single step or a pair.
    fn plan(&mut self, schedule: Schedule) {
        if self.tried.contains(&schedule) || !self.planned.insert(schedule.clone()) {
            return;
        }
        if schedule.steps.len() > 1 {
            self.coverage.pairs.of += 1;
            if self.only_singles {
                return;
            }
        } else {
            self.coverage.singles.of += 1;
        }
        let kind = Kind::of(&schedule.steps);
        let nth = self.planned_of_kind.entry(kind).or_default();
        *nth += 1;
        self.queue.insert((kind.phase(), *nth, kind), schedule);
    }

    /// Takes back schedules that were not run to their end; they come next.
    pub(crate) fn put_back(&mut self, schedules: impl IntoIterator<Item = Schedule>) {
        for (n, schedule) in schedules.into_iter().enumerate() {
            self.tried.remove(&schedule);
            self.queue.insert((0, n, Kind::of(&schedule.steps)), schedule);
        }
    }

    /// Returns the next schedule, unless there is none.
    pub(crate) fn next(&mut self, random: &mut impl Rng) -> Option<Schedule> {
        while let Some((_, schedule)) = self.queue.pop_first() {
            if self.tried.insert(schedule.clone()) {
                return Some(schedule);
            }
        }
        // A small app may have few schedules that were not tried.
        for _ in 0..if self.only_singles { 0 } else { MAX_RANDOM_TRIES } {
            let Some(schedule) = self.next_random(random) else { continue };
            if !schedule.clashes() && self.tried.insert(schedule.clone()) {
                return Some(schedule);
            }
        }
        None
    }

    /// Returns a schedule that reached something new with one or two steps more, unless there is nowhere to
    /// take one.
    fn next_random(&self, random: &mut impl Rng) -> Option<Schedule> {
        let reached = self.corpus.choose(random)?.clone();
        let mut schedule = reached.schedule;
        if schedule.steps.len() >= MAX_STEPS {
            schedule.steps.remove(random.random_range(..MAX_STEPS));
        }
        let kind_of = |step: Step| match Kind::of(&[step]) {
            Kind::AtRead => Kind::Failure,
            kind => kind,
        };
        let of_kind = |kind: Kind| {
            let is_wanted =
                move |step: &Step| kind_of(*step) == kind && self.moved_follow_up(*step).is_none();
            reached.steps.iter().copied().filter(is_wanted)
        };
        let kinds = Kind::AT_RANDOM.into_iter().filter(|kind| of_kind(*kind).next().is_some());
        let kinds: Vec<Kind> = kinds.collect();
        for _ in 0..random.random_range(1..=2) {
            let mut steps: Vec<Step> = of_kind(*kinds.choose(random)?).collect();
            if random.random() && steps.iter().any(creates) {
                steps.retain(creates);
            }
            let mut step = *steps.choose(random)?;
            if let (What::Act(..), Place::Before(request)) = (step.what, step.place)
                && random.random_ratio(1, 4)
            {
                step.place = Place::After(request);
            }
            schedule = schedule.with(step);
        }
        schedule.steps.truncate(MAX_STEPS);
        Some(schedule)
    }

    /// Learns from a schedule that was run: what it reached, and what could come next.
    pub(crate) fn absorb(&mut self, execution: &Execution) {
        let schedule = &execution.schedule;
        match (schedule.steps.len(), self.planned.contains(schedule)) {
            (0, _) => {}
            (1, true) => {
                self.coverage.singles.tried += 1;
                self.cell_of(&schedule.steps[0]).tried += 1;
            }
            (_, true) => self.coverage.pairs.tried += 1,
            _ => self.coverage.random += 1,
        }
        let before = self.states.len();
        self.states.extend(states(execution));
        let spots = spots(execution);
        if let [step] = schedule.steps[..] {
            self.plan_pairs(step, execution, &spots);
        }
        if self.states.len() > before && self.corpus.len() < MAX_CORPUS {
            let steps = self.steps(execution, &spots, 4 + self.days);
            self.corpus.push(Reached { schedule: schedule.clone(), steps });
        }
    }

    /// A second step near the first.
    fn plan_pairs(&mut self, step: Step, execution: &Execution, spots: &[Spot]) {
        let first = &execution.schedule;
        let is_unanswered = step.what == What::Fail(Failure::Unanswered);
        if is_unanswered && execution.attempts.iter().any(|attempt| attempt.struck == Some(step)) {
            // Delivered again while the app, which answered early, still works.
            for spot in overlaps(spots).take(MAX_OVERLAP_PAIRS - self.overlap_pairs) {
                self.overlap_pairs += 1;
                let what = What::Act(Act::Overlap, spot.mail);
                self.plan(first.with(Step { place: spot.overlap(), what }));
            }
        }
        let Some(at) = execution.happened_at(step) else { return };
        let later = || spots.iter().filter(|spot| spot.number > at);
        // What a customer did asks for an answer, whose response is lost.
        if step.act().is_some_and(|(act, _)| act == Act::Upload || act.is_second_mail()) {
            for spot in later().filter(|spot| spot.request.op.creates()).take(2) {
                let (place, what) = (Place::Before(spot.request), What::Fail(Failure::LostAfter));
                self.plan(first.with(Step { place, what }));
            }
        }
        for spot in later().filter(|_| step.act().is_none()).take(NEAR) {
            let place = Place::Before(spot.request);
            if !spot.request.op.is_read() {
                self.plan(first.with(Step { place, what: What::Fail(Failure::LostAfter) }));
            }
            self.plan(first.with(Step { place, what: What::Fail(Failure::LostBefore) }));
            for act in [Act::Discard, Act::Edit, Act::Mail, Act::Approve, Act::Assign, Act::Advance] {
                if act != Act::Advance || !execution.server {
                    self.plan(first.with(Step { place, what: What::Act(act, spot.mail) }));
                }
            }
        }
    }
}

/// Returns whether a step is at a request that creates something.
fn creates(step: &Step) -> bool {
    step.request().is_some_and(|request| request.op.creates())
}

/// Returns the requests of a run as places for steps.
fn spots(execution: &Execution) -> Vec<Spot> {
    let mail_of = |request: &AppRequest| {
        let end = execution.ends.iter().find(|end| Some(&end.id) == request.conversation.as_ref());
        end.and_then(|end| end.mail)
    };
    let first = execution.ends.iter().find_map(|end| end.mail).unwrap_or(0);
    let (mut written, mut asked) = (Vec::new(), Vec::new());
    let mut spots = Vec::new();
    for (index, app_request) in execution.requests.iter().enumerate() {
        let Some(request) = app_request.place else { continue };
        let mail = execution.requests[index..].iter().find_map(mail_of).unwrap_or(first);
        let (has_written, has_asked) = (written.contains(&mail), asked.contains(&mail));
        let number = app_request.number;
        spots.push(Spot { number, request, mail, written: has_written, asked: has_asked });
        if request.op.writes_mail() {
            written.push(mail);
            if app_request.body["documents"].is_array() {
                asked.push(mail);
            }
        }
    }
    spots
}

/// Returns what a run reached: which response followed which request, and how conversations and runs ended.
fn states(execution: &Execution) -> impl Iterator<Item = String> {
    let pairs = execution.requests.windows(2);
    let pairs = pairs.map(|pair| format!("{:?}", [0, 1].map(|n| (pair[n].op, pair[n].status))));
    let ends = execution.ends.iter().map(|end| {
        let counts = (end.messages.len(), end.notes.len(), end.sent.len(), end.mails);
        format!("{:?}", (&end.status, &end.assignee, counts, end.risk))
    });
    pairs.chain(ends).chain([format!("{:?}", (execution.run_ends().count(), execution.settled))])
}
