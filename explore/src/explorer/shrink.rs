//! The shrinker: leaves out what is not needed, by running again from the start, until nothing can be left out.

use std::time::Instant;

use crate::{
    error::Result,
    plan::op::{Delivery, Request},
    plan::schedule::Schedule,
    plan::step::{FAILURES, Place, Step, TROUBLES, What},
    run::record::Execution,
    verdict::oracles::Broken,
};

/// Returns the smallest schedule found that breaks the same rule.
pub(crate) async fn shrink(
    check: impl AsyncFn(&Schedule) -> Result<(Execution, Option<Broken>)>,
    found: (Schedule, Execution, Broken),
    until: Instant,
) -> Result<(Schedule, Execution, Broken)> {
    let mut best = found;
    'smaller: loop {
        for candidate in candidates(&best.0) {
            if Instant::now() >= until {
                return Ok(best);
            }
            // Twice: what an app does by chance would make any step look needless.
            let same = |broken: &Broken| broken.oracle == best.2.oracle;
            let (execution, broken) = check(&candidate).await?;
            if let Some(broken) = broken.filter(same)
                && check(&candidate).await?.1.is_some_and(|again| same(&again))
            {
                best = (candidate, execution, broken);
                continue 'smaller;
            }
        }
        return Ok(best);
    }
}

/// Schedules that are a little smaller or simpler, the smallest first.
fn candidates(schedule: &Schedule) -> Vec<Schedule> {
    let mut all = Vec::new();
    let with_steps = |steps: Vec<Step>| Schedule { mails: schedule.mails.clone(), steps };
    for n in 0..schedule.steps.len() {
        let mut steps = schedule.steps.clone();
        steps.remove(n);
        all.push(with_steps(steps));
    }
    if schedule.mails.len() > 1 {
        for &mail in &schedule.mails {
            let mails: Vec<usize> = schedule.mails.iter().copied().filter(|it| *it != mail).collect();
            let kept = |step: &&Step| step.act().is_none_or(|(_, of)| of != mail);
            let steps: Vec<Step> = schedule.steps.iter().filter(kept).copied().collect();
            if steps.len() < schedule.steps.len() {
                continue;
            }
            all.push(Schedule {
                mails: mails.clone(),
                steps: steps.iter().map(|step| earlier(*step, 0)).collect(),
            });
            all.push(Schedule { mails, steps });
        }
    }
    let replaced = |n: usize, step: Step| {
        let mut steps = schedule.steps.clone();
        steps[n] = step;
        with_steps(steps)
    };
    for (n, step) in schedule.steps.iter().enumerate() {
        let simpler = match step.what {
            What::Fail(failure) => {
                FAILURES.iter().map(|(it, _)| *it).take_while(|it| *it != failure).collect()
            }
            What::Kill => vec![FAILURES[0].0, FAILURES[1].0],
            What::Deliver(trouble) => {
                for (simpler, _) in TROUBLES.iter().take_while(|(it, _)| *it != trouble) {
                    all.push(replaced(n, Step { what: What::Deliver(*simpler), ..*step }));
                }
                Vec::new()
            }
            What::Act(..) => Vec::new(),
        };
        for failure in simpler {
            let place = step.request().map_or(step.place, Place::Before);
            all.push(replaced(n, Step { place, what: What::Fail(failure) }));
        }
        if let (Place::After(request), Some(_)) = (step.place, step.act()) {
            all.push(replaced(n, Step { place: Place::Before(request), ..*step }));
        }
        for nth in [0, number(*step).saturating_sub(1)] {
            if nth < number(*step) {
                all.push(replaced(n, earlier(*step, nth)));
            }
        }
    }
    all.retain(|candidate| !candidate.clashes() && !candidate.steps.is_empty());
    all
}

fn number(step: Step) -> u32 {
    match step.place {
        Place::Before(request) | Place::After(request) => request.nth,
        Place::Delivery(delivery) => delivery.nth,
        Place::Quiet(_, round) => round,
    }
}

/// Returns the same step at an earlier request, or in an earlier round.
fn earlier(step: Step, nth: u32) -> Step {
    let place = match step.place {
        Place::Before(request) => Place::Before(Request { nth: nth.min(request.nth), ..request }),
        Place::After(request) => Place::After(Request { nth: nth.min(request.nth), ..request }),
        Place::Delivery(delivery) => Place::Delivery(Delivery { nth: nth.min(delivery.nth), ..delivery }),
        Place::Quiet(moment, round) => Place::Quiet(moment, nth.min(round)),
    };
    Step { place, ..step }
}
