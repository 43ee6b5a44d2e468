//! The step generator: single steps first, those at reads in turn with pairs around a create, then other pairs, then at random.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::{
    explorer::chance::Chance,
    findings::report::{Coverage, GridCell},
    plan::op::{Delivery, Op, Request},
    plan::schedule::Schedule,
    plan::step::{ACTS, Act, FAILURES, Failure, MOMENTS, Moment, Place, Step, TROUBLES, Trouble, What},
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
#[derive(Default)]
pub(crate) struct Generator {
    chance: Chance,
    /// Mails that begin a conversation.
    mails: Vec<usize>,
    /// Follow-ups of the scenario, each with the mail that began its conversation.
    follow_ups: Vec<(usize, usize)>,
    /// Whether a customer can ask what another one asks.
    has_other_mail: bool,
    days: u32,
    systematic: VecDeque<Schedule>,
    /// Single steps at requests that only read, which find the least.
    at_reads: VecDeque<Schedule>,
    /// Pairs of which one step is at a request that creates something.
    create_pairs: VecDeque<Schedule>,
    pairs: VecDeque<Schedule>,
    /// Whether pairs are tried at all.
    has_pairs: bool,
    /// Single steps and pairs.
    planned: HashSet<Schedule>,
    tried: HashSet<Schedule>,
    corpus: Vec<Reached>,
    states: HashSet<String>,
    coverage: Coverage,
    overlap_pairs: usize,
}

impl Generator {
    pub(crate) fn new(seed: u64, scenario: &Scenario, reference: &Execution, has_pairs: bool) -> Self {
        let all = 0..scenario.mails.len();
        let (follow_ups, mails): (Vec<usize>, Vec<usize>) =
            all.clone().partition(|mail| scenario.mails[*mail].follow_up);
        let mut it = Self {
            chance: Chance(seed),
            mails,
            follow_ups: follow_ups.into_iter().map(|mail| (mail, scenario.opener(mail))).collect(),
            has_other_mail: scenario.other_mail(0).is_some(),
            days: scenario.days,
            has_pairs,
            ..Self::default()
        };
        let undisturbed = Schedule::undisturbed(all.collect());
        it.tried.insert(undisturbed.clone());
        let spots = spots(reference);
        it.plan_singles(&undisturbed, &spots, reference);
        it.planned = it.systematic.iter().chain(&it.at_reads).cloned().collect();
        it.coverage.singles.of = it.planned.len();
        it.coverage.requests = reference.requests.len();
        it.plan_grid(&spots, reference);
        it.absorb(&undisturbed, reference);
        it
    }

    /// How far it has looked.
    pub(crate) fn coverage(&self) -> Coverage {
        self.coverage.clone()
    }

    /// Whether every single step has been handed out.
    pub(crate) fn has_no_single_left(&self) -> bool {
        self.systematic.is_empty() && self.at_reads.is_empty()
    }

    /// Distinct states that were reached.
    pub(crate) fn states(&self) -> usize {
        self.states.len()
    }

    /// What somebody can do around these mails.
    fn acts(&self) -> impl Iterator<Item = Act> + use<> {
        let has_other_mail = self.has_other_mail;
        ACTS.into_iter().map(|(act, _)| act).filter(move |act| has_other_mail || *act != Act::Other)
    }

    /// Makes the table of single steps: quiet moments first, then requests and deliveries in the order of the run.
    fn plan_grid(&mut self, spots: &[Spot], reference: &Execution) {
        let deliveries = deliveries(reference);
        let rank = |step: &Step| match step.place {
            Place::Quiet(moment, round) => {
                (0, round as usize, MOMENTS.iter().position(|(it, _)| *it == moment))
            }
            Place::Before(it) | Place::After(it) => (1, 0, spots.iter().position(|spot| spot.request == it)),
            Place::Delivery(it) => (2, 0, deliveries.iter().position(|delivery| *delivery == it)),
        };
        let singles = self.systematic.iter().chain(&self.at_reads);
        let mut steps: Vec<Step> = singles.filter_map(|schedule| schedule.steps.first().copied()).collect();
        steps.sort_by_key(rank);
        for step in steps {
            self.cell_of(&step).of += 1;
        }
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

    /// Each request in each way, then each thing that somebody can do, at each place.
    fn plan_singles(&mut self, undisturbed: &Schedule, spots: &[Spot], reference: &Execution) {
        let (server, rounds) = (reference.server, reference.rounds);
        let (mut fails, mut quiet, mut between, mut slow) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut at_reads = Vec::new();
        let fail = |request, failure| Step { place: Place::Before(request), what: What::Fail(failure) };
        // What creates something is where most goes wrong.
        let (creates, others): (Vec<&Spot>, Vec<&Spot>) =
            spots.iter().partition(|spot| spot.request.op.creates());
        for spot in creates.iter().chain(&others) {
            for (failure, _) in FAILURES {
                match failure {
                    Failure::Slow if !spot.request.op.creates() || slow.len() >= MAX_SLOW => {}
                    Failure::Slow => slow.push(undisturbed.with(fail(spot.request, failure))),
                    // What took effect and what did not is the same for a request that only reads.
                    Failure::FailedAfter | Failure::LostAfter | Failure::Refused
                        if spot.request.op.is_read() => {}
                    _ if spot.request.op.is_read() => {
                        at_reads.push(undisturbed.with(fail(spot.request, failure)))
                    }
                    _ => fails.push(undisturbed.with(fail(spot.request, failure))),
                }
            }
            // Killed at a read, an app has done what it has when it is killed at the next write.
            if !spot.request.op.is_read() {
                for place in [Place::Before(spot.request), Place::After(spot.request)] {
                    fails.push(undisturbed.with(Step { place, what: What::Kill }));
                }
            }
        }
        // A follow-up comes at another time than in the run without trouble.
        let moved = |mail: usize, place: Place| {
            let others = undisturbed.mails.iter().copied().filter(|other| *other != mail).collect();
            Schedule::undisturbed(others).with(Step { place, what: What::Act(Act::Mail, mail) })
        };
        for round in 0..rounds.min(2 + self.days) {
            for moment in [Moment::Run, Moment::End, Moment::People] {
                let (place, early) = (Place::Quiet(moment, round), moment == Moment::Run && round == 0);
                for act in self.acts() {
                    for &mail in self.mails.iter().take(2) {
                        let asked = spots.iter().any(|spot| spot.asked && spot.mail == mail);
                        let needs = act.needs_message() || act == Act::AutoReply || act.needs_request();
                        let passes = act.moves_clock() && act != Act::Reminder;
                        if passes || (needs && early) || (act.needs_request() && !asked) {
                            continue;
                        }
                        quiet.push(undisturbed.with(Step { place, what: What::Act(act, mail) }));
                    }
                }
                quiet.extend(self.follow_ups.iter().map(|(mail, _)| moved(*mail, place)));
            }
        }
        for spot in spots {
            let place = Place::Before(spot.request);
            for act in self.acts() {
                if spot.allows(act) && act != Act::Overlap && !(act.moves_clock() && server) {
                    between.push(undisturbed.with(Step { place, what: What::Act(act, spot.mail) }));
                }
            }
            let here = self.follow_ups.iter().filter(|(_, opener)| *opener == spot.mail);
            between.extend(here.map(|(mail, _)| moved(*mail, place)));
        }
        if server {
            // One that works before it answers lets the delivery time out, which takes as long as in the service.
            let step = |spot: &Spot| Step { place: spot.overlap(), what: What::Act(Act::Overlap, spot.mail) };
            slow.extend(overlaps(spots).map(|spot| undisturbed.with(step(spot))));
        }
        let deliveries = deliveries(reference).into_iter().flat_map(|delivery| {
            let step = |(trouble, _)| Step { place: Place::Delivery(delivery), what: What::Deliver(trouble) };
            TROUBLES.map(step).map(|step| undisturbed.with(step))
        });
        let deliveries: Vec<Schedule> = deliveries.collect();
        // Each kind in turn, so that none has to wait for the others.
        let mut queues = [fails.into_iter(), deliveries.into_iter(), quiet.into_iter(), between.into_iter()];
        while queues.iter().any(|queue| queue.len() > 0) {
            self.systematic.extend(queues.iter_mut().filter_map(Iterator::next));
        }
        self.systematic.extend(slow);
        self.at_reads.extend(at_reads);
    }

    /// Takes back schedules that were not run to their end; they come next.
    pub(crate) fn put_back(&mut self, schedules: impl IntoIterator<Item = Schedule>) {
        for (n, schedule) in schedules.into_iter().enumerate() {
            self.tried.remove(&schedule);
            self.systematic.insert(n, schedule);
        }
    }

    /// Returns the next of those that are planned.
    fn next_planned(&mut self) -> Option<Schedule> {
        // Pairs around a create reach what single steps at reads do not.
        let takes_pair = self.has_pairs && self.create_pairs.len() >= self.at_reads.len();
        let planned = self.systematic.pop_front();
        let planned = planned.or_else(|| if takes_pair { self.create_pairs.pop_front() } else { None });
        let planned = planned.or_else(|| self.at_reads.pop_front());
        planned.or_else(|| self.create_pairs.pop_front()).or_else(|| self.pairs.pop_front())
    }

    /// Returns the next schedule.
    pub(crate) fn next(&mut self) -> Option<Schedule> {
        while let Some(schedule) = self.next_planned() {
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
                let acts = self.acts().filter(|act| quick(act) && !needless(act));
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
            let creates = |step: &Step| step.request().is_some_and(|request| request.op.creates());
            let queue = if pair.steps.iter().any(creates) { &mut self.create_pairs } else { &mut self.pairs };
            queue.push_back(pair);
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
        // What a customer did asks for an answer, whose response is lost.
        let asks = step.act().is_some_and(|(act, _)| act == Act::Upload || act.is_second_mail());
        for spot in spots.iter().filter(|spot| asks && spot.number > at && spot.request.op.creates()).take(2)
        {
            let (place, what) = (Place::Before(spot.request), What::Fail(Failure::LostAfter));
            self.add_pair(schedule.with(Step { place, what }));
        }
        for spot in spots.iter().filter(|spot| spot.number > at).take(NEAR) {
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
    let mut counted: HashMap<Op, u32> = HashMap::new();
    let (mut written, mut asked) = (Vec::new(), Vec::new());
    let mut spots = Vec::new();
    for (index, request) in execution.requests.iter().enumerate() {
        let Some(op) = request.op else { continue };
        let nth = *counted.entry(op).and_modify(|count| *count += 1).or_insert(0);
        let mail = execution.requests[index..].iter().find_map(mail_of).unwrap_or(first);
        let (has_written, has_asked) = (written.contains(&mail), asked.contains(&mail));
        spots.push(Spot {
            number: request.number,
            request: Request { op, nth },
            mail,
            written: has_written,
            asked: has_asked,
        });
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
fn states(execution: &Execution) -> impl Iterator<Item = String> {
    let pairs = execution.requests.windows(2);
    let pairs = pairs.map(|pair| format!("{:?}", [0, 1].map(|n| (pair[n].op, pair[n].status))));
    let ends = execution.ends.iter().map(|end| {
        let counts = (end.messages.len(), end.notes.len(), end.sent.len(), end.mails);
        format!("{:?}", (&end.status, &end.assignee, counts, end.risk))
    });
    let runs = execution.events.iter().filter(|(_, event)| matches!(event, Event::RunEnds(..))).count();
    pairs.chain(ends).chain([format!("{:?}", (runs, execution.settled))])
}
