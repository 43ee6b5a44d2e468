//! The step generator: systematic single steps first, then pairs that are near each other, then at random.

use std::collections::{HashSet, VecDeque, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};

use crate::{
    explorer::chance::Chance,
    findings::report::Coverage,
    plan::op::{Delivery, Op, Request},
    plan::schedule::Schedule,
    plan::step::{ACTS, Act, FAILURES, Failure, Moment, Place, Step, TROUBLES, Trouble, What},
    run::record::{AppRequest, Event, Execution},
    scenario::Scenario,
};

/// Requests after a failure at which a second one is tried.
const NEAR: usize = 4;
/// Schedules in which a response is as slow as a timeout.
const MAX_SLOW: usize = 2;
/// Requests of each kind, those that create and those that read, at which a server gets a delivery again while it handles it: the
/// first try may have to time out.
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

    /// Returns where a delivery is made again while the app handles it: what it reads is old then, and what it creates a second one.
    fn overlap(&self) -> Place {
        if self.request.op.is_read() { Place::After(self.request) } else { Place::Before(self.request) }
    }
}

/// Returns the first spots at which a delivery is made again.
fn overlaps(spots: &[Spot]) -> impl Iterator<Item = &Spot> {
    let creates = spots.iter().filter(|spot| spot.request.op.creates()).take(MAX_OVERLAPS);
    creates.chain(spots.iter().filter(|spot| spot.request.op.is_read()).take(MAX_OVERLAPS))
}

/// A schedule that reached something new, and where further steps could be.
#[derive(Debug, Clone)]
struct Reached {
    schedule: Schedule,
    spots: Vec<Spot>,
    deliveries: Vec<Delivery>,
    rounds: u32,
}

/// Decides what is tried next.
pub(crate) struct Generator {
    chance: Chance,
    /// Mails that begin a conversation.
    mails: Vec<usize>,
    /// Follow-ups of the scenario, each with the mail that began its conversation.
    follow_ups: Vec<(usize, usize)>,
    days: u32,
    systematic: VecDeque<Schedule>,
    pairs: VecDeque<Schedule>,
    /// Single steps and pairs.
    planned: HashSet<Schedule>,
    tried: HashSet<Schedule>,
    corpus: Vec<Reached>,
    states: HashSet<u64>,
    coverage: Coverage,
    overlap_pairs: usize,
}

impl Generator {
    pub(crate) fn new(seed: u64, scenario: &Scenario, reference: &Execution) -> Self {
        let all = 0..scenario.mails.len();
        let (follow_ups, mails): (Vec<usize>, Vec<usize>) =
            all.clone().partition(|mail| scenario.mails[*mail].follow_up);
        let mut it = Self {
            chance: Chance(seed),
            mails,
            follow_ups: follow_ups.into_iter().map(|mail| (mail, scenario.opener(mail))).collect(),
            days: scenario.days,
            systematic: VecDeque::new(),
            pairs: VecDeque::new(),
            planned: HashSet::new(),
            tried: HashSet::new(),
            corpus: Vec::new(),
            states: HashSet::new(),
            coverage: Coverage::default(),
            overlap_pairs: 0,
        };
        let calm = Schedule::calm(all.collect());
        it.tried.insert(calm.clone());
        let spots = spots(reference);
        it.plan_singles(&calm, &spots, reference);
        it.planned = it.systematic.iter().cloned().collect();
        it.coverage.singles.of = it.planned.len();
        it.coverage.requests = reference.requests.len();
        it.absorb(&calm, reference);
        it
    }

    /// How far it has looked.
    pub(crate) fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// Whether every single step has been handed out.
    pub(crate) fn has_no_single_left(&self) -> bool {
        self.systematic.is_empty()
    }

    /// Distinct states that were reached.
    pub(crate) fn states(&self) -> usize {
        self.states.len()
    }

    /// Each request in each way, then each thing that somebody can do, at each place.
    fn plan_singles(&mut self, calm: &Schedule, spots: &[Spot], reference: &Execution) {
        let (server, rounds) = (reference.server, reference.rounds);
        let (mut fails, mut quiet, mut between, mut slow) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let fail = |request, failure| Step { place: Place::Before(request), what: What::Fail(failure) };
        // What creates something is where most goes wrong.
        let (creates, others): (Vec<&Spot>, Vec<&Spot>) =
            spots.iter().partition(|spot| spot.request.op.creates());
        for spot in creates.iter().chain(&others) {
            for (failure, _) in FAILURES {
                match failure {
                    Failure::Slow if !spot.request.op.creates() || slow.len() >= MAX_SLOW => {}
                    Failure::Slow => slow.push(calm.with(fail(spot.request, failure))),
                    // What took effect and what did not is the same for a request that only reads.
                    Failure::FailedAfter | Failure::LostAfter | Failure::Refused
                        if spot.request.op.is_read() => {}
                    _ => fails.push(calm.with(fail(spot.request, failure))),
                }
            }
            // Killed at a read, an app has done what it has when it is killed at the next write.
            if !spot.request.op.is_read() {
                for place in [Place::Before(spot.request), Place::After(spot.request)] {
                    fails.push(calm.with(Step { place, what: What::Kill }));
                }
            }
        }
        // A follow-up comes at another time than in the run without trouble.
        let moved = |mail: usize, place: Place| {
            let others = calm.mails.iter().copied().filter(|other| *other != mail).collect();
            Schedule::calm(others).with(Step { place, what: What::Act(Act::Mail, mail) })
        };
        for round in 0..rounds.min(2 + self.days) {
            for moment in [Moment::Run, Moment::End, Moment::People] {
                let (place, early) = (Place::Quiet(moment, round), moment == Moment::Run && round == 0);
                for (act, _) in ACTS {
                    for &mail in self.mails.iter().take(2) {
                        let asked = spots.iter().any(|spot| spot.asked && spot.mail == mail);
                        let needs = act.needs_message() || act == Act::AutoReply || act.needs_request();
                        let passes = act.moves_clock() && act != Act::Reminder;
                        if passes || (needs && early) || (act.needs_request() && !asked) {
                            continue;
                        }
                        quiet.push(calm.with(Step { place, what: What::Act(act, mail) }));
                    }
                }
                quiet.extend(self.follow_ups.iter().map(|(mail, _)| moved(*mail, place)));
            }
        }
        for spot in spots {
            let place = Place::Before(spot.request);
            for (act, _) in ACTS {
                if spot.allows(act) && act != Act::Overlap && !(act.moves_clock() && server) {
                    between.push(calm.with(Step { place, what: What::Act(act, spot.mail) }));
                }
            }
            let here = self.follow_ups.iter().filter(|(_, opener)| *opener == spot.mail);
            between.extend(here.map(|(mail, _)| moved(*mail, place)));
        }
        if server {
            // One that works before it answers lets the delivery time out, which takes as long as in the service.
            let step = |spot: &Spot| Step { place: spot.overlap(), what: What::Act(Act::Overlap, spot.mail) };
            slow.extend(overlaps(spots).map(|spot| calm.with(step(spot))));
        }
        let deliveries = deliveries(reference).into_iter().flat_map(|delivery| {
            let step = |(trouble, _)| Step { place: Place::Delivery(delivery), what: What::Deliver(trouble) };
            TROUBLES.map(step).map(|step| calm.with(step))
        });
        let deliveries: Vec<Schedule> = deliveries.collect();
        // Each kind in turn, so that none has to wait for the others.
        let mut queues = [fails.into_iter(), deliveries.into_iter(), quiet.into_iter(), between.into_iter()];
        while queues.iter().any(|queue| queue.len() > 0) {
            self.systematic.extend(queues.iter_mut().filter_map(Iterator::next));
        }
        self.systematic.extend(slow);
    }

    /// Takes back schedules that were not run to their end; they come next.
    pub(crate) fn put_back(&mut self, schedules: impl IntoIterator<Item = Schedule>) {
        for (n, schedule) in schedules.into_iter().enumerate() {
            self.tried.remove(&schedule);
            self.systematic.insert(n, schedule);
        }
    }

    /// Returns the next schedule.
    pub(crate) fn next(&mut self) -> Option<Schedule> {
        while let Some(schedule) = self.systematic.pop_front().or_else(|| self.pairs.pop_front()) {
            if self.tried.insert(schedule.clone()) {
                return Some(schedule);
            }
        }
        // A small app may have few schedules that were not tried.
        for _ in 0..MAX_RANDOM_TRIES {
            // A schedule in which the app made no request has no place for a step.
            let Some(schedule) = self.random() else { continue };
            if !schedule.clashes() && self.tried.insert(schedule.clone()) {
                return Some(schedule);
            }
        }
        None
    }

    fn random(&mut self) -> Option<Schedule> {
        let reached = self.chance.pick(&self.corpus)?.clone();
        let mut schedule = reached.schedule.clone();
        if schedule.steps.len() >= MAX_STEPS {
            schedule.steps.remove(self.chance.below(MAX_STEPS));
        }
        for _ in 0..=self.chance.below(2) {
            let step = self.random_step(&reached)?;
            schedule = schedule.with(step);
        }
        schedule.steps.truncate(MAX_STEPS);
        Some(schedule)
    }

    fn random_step(&mut self, reached: &Reached) -> Option<Step> {
        let (spots, rounds) = (&reached.spots, reached.rounds);
        // A third of the steps around a server are at its webhooks.
        if !reached.deliveries.is_empty() && self.chance.below(3) == 0 {
            let delivery = *self.chance.pick(&reached.deliveries)?;
            let (trouble, _) = *self.chance.pick(&TROUBLES)?;
            return Some(Step { place: Place::Delivery(delivery), what: What::Deliver(trouble) });
        }
        let creates: Vec<Spot> = spots.iter().filter(|spot| spot.request.op.creates()).copied().collect();
        let near = self.chance.below(2) == 0;
        let spot = *self.chance.pick(if near && !creates.is_empty() { &creates } else { spots })?;
        Some(match self.chance.below(10) {
            0..5 => {
                let fast = &FAILURES[..FAILURES.len() - 1];
                let (failure, _) = *self.chance.pick(fast)?;
                Step { place: Place::Before(spot.request), what: What::Fail(failure) }
            }
            5 => {
                let after = self.chance.below(2) == 0;
                let place = if after { Place::After(spot.request) } else { Place::Before(spot.request) };
                Step { place, what: What::Kill }
            }
            kind => {
                // Where the clock moves during a request, a server may have to wait for a timeout.
                let server = !reached.deliveries.is_empty();
                let quick = |act: &Act| *act != Act::Overlap && !(server && act.moves_clock());
                let needless = |act: &Act| act.needs_request() && !spot.asked;
                let acts = ACTS.iter().map(|(act, _)| *act).filter(|act| quick(act) && !needless(act));
                let act = *self.chance.pick(&acts.collect::<Vec<_>>())?;
                let place = match kind {
                    6..8 => Place::Before(spot.request),
                    8 => Place::After(spot.request),
                    _ => {
                        let moment = *self.chance.pick(&[Moment::Run, Moment::End, Moment::People])?;
                        let rounds = usize::try_from(rounds.min(4 + self.days)).unwrap_or(1);
                        Place::Quiet(moment, u32::try_from(self.chance.below(rounds)).unwrap_or(0))
                    }
                };
                Step { place, what: What::Act(act, spot.mail) }
            }
        })
    }

    /// Learns from a schedule that was run: what it reached, and what could come next.
    pub(crate) fn absorb(&mut self, schedule: &Schedule, execution: &Execution) {
        match (schedule.steps.len(), self.planned.contains(schedule)) {
            (0, _) => {}
            (1, true) => self.coverage.singles.tried += 1,
            (_, true) => self.coverage.pairs.tried += 1,
            _ => self.coverage.random += 1,
        }
        let before = self.states.len();
        self.states.extend(states(execution));
        let spots = spots(execution);
        if let [step] = schedule.steps[..]
            && execution.fired[0].effective
        {
            self.plan_pairs(schedule, step, execution, &spots);
        }
        if self.states.len() > before && self.corpus.len() < MAX_CORPUS {
            let (schedule, rounds) = (schedule.clone(), execution.rounds);
            self.corpus.push(Reached { schedule, spots, deliveries: deliveries(execution), rounds });
        }
    }

    fn add_pair(&mut self, pair: Schedule) {
        if !self.tried.contains(&pair) && self.planned.insert(pair.clone()) {
            self.coverage.pairs.of += 1;
            self.pairs.push_back(pair);
        }
    }

    /// A second step near the first.
    fn plan_pairs(&mut self, schedule: &Schedule, step: Step, execution: &Execution, spots: &[Spot]) {
        if step.what == What::Deliver(Trouble::Unanswered) {
            // Delivered again while the app, which answered early, still works.
            for spot in overlaps(spots) {
                self.overlap_pairs += 1;
                if self.overlap_pairs > MAX_OVERLAP_PAIRS {
                    break;
                }
                let what = What::Act(Act::Overlap, spot.mail);
                self.add_pair(schedule.with(Step { place: spot.overlap(), what }));
            }
        }
        let Some(at) = execution.fired[0].at else { return };
        let first_fails = step.act().is_none();
        for spot in spots.iter().skip(at.saturating_add(1)).take(NEAR) {
            let place = Place::Before(spot.request);
            if first_fails {
                for failure in [Failure::LostAfter, Failure::LostBefore] {
                    let after_read = failure == Failure::LostAfter && spot.request.op.is_read();
                    if !after_read {
                        self.add_pair(schedule.with(Step { place, what: What::Fail(failure) }));
                    }
                }
                for act in [Act::Discard, Act::Edit, Act::Mail, Act::Approve, Act::Assign, Act::Advance] {
                    if act == Act::Advance && execution.server {
                        continue;
                    }
                    self.add_pair(schedule.with(Step { place, what: What::Act(act, spot.mail) }));
                }
            }
        }
    }
}

/// Returns the deliveries of a run as places for steps.
fn deliveries(execution: &Execution) -> Vec<Delivery> {
    let nth = |n: usize| {
        let event = execution.attempts[n].event;
        let before = execution.attempts[..n].iter().filter(|it| it.event == event).count();
        Delivery { event, nth: u32::try_from(before).unwrap_or(u32::MAX) }
    };
    (0..execution.attempts.len()).map(nth).collect()
}

/// Returns the requests of a run as places for steps.
fn spots(execution: &Execution) -> Vec<Spot> {
    let mail_of = |request: &AppRequest| {
        let end = execution.ends.iter().find(|end| Some(&end.id) == request.conversation.as_ref());
        end.and_then(|end| end.mail)
    };
    let first = execution.ends.iter().find_map(|end| end.mail).unwrap_or(0);
    let mut counted: Vec<(Op, u32)> = Vec::new();
    let (mut written, mut asked) = (Vec::new(), Vec::new());
    let mut spots = Vec::new();
    for (index, request) in execution.requests.iter().enumerate() {
        let Some(op) = request.op else { continue };
        let nth = match counted.iter_mut().find(|(it, _)| *it == op) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                counted.push((op, 0));
                0
            }
        };
        let mail = execution.requests[index..].iter().find_map(mail_of).unwrap_or(first);
        let (has_written, has_asked) = (written.contains(&mail), asked.contains(&mail));
        spots.push(Spot { request: Request { op, nth }, mail, written: has_written, asked: has_asked });
        if op.writes_mail() {
            written.push(mail);
            if request.body["documents"].is_array() {
                asked.push(mail);
            }
        }
    }
    spots
}

/// Returns what a run reached: which response followed which request, and how conversations and runs ended.
fn states(execution: &Execution) -> HashSet<u64> {
    let hashed = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    let mut states = HashSet::new();
    for pair in execution.requests.windows(2) {
        states.insert(hashed(&|h| (pair[0].op, pair[0].status, pair[1].op, pair[1].status).hash(h)));
    }
    for end in &execution.ends {
        let counts = (end.messages.len(), end.notes.len(), end.sent.len(), end.mails);
        states.insert(hashed(&|h| (&end.status, &end.assignee, counts, end.risk).hash(h)));
    }
    let runs = execution.events.iter().filter(|(_, event)| matches!(event, Event::RunEnds(..))).count();
    states.insert(hashed(&|h| (runs, execution.settled).hash(h)));
    states
}
