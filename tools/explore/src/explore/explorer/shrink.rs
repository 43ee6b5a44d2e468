//! The shrinker: leaves out what is not needed, by running again from the start, until nothing can be left
//! out.

use std::time::Instant;

use crate::explore::{
    error::Result,
    explorer::session::{Found, Session},
    plan::schedule::Schedule,
    plan::step::{Failure, Place, Step, What},
    verdict::oracles::Broken,
};

impl Session {
    /// Returns the smallest schedule found that breaks the same rule.
    pub(super) async fn shrink(&self, found: Found, until: Instant) -> Result<Found> {
        let mut best = found;
        'smaller: loop {
            for candidate in candidates(&best.execution.schedule) {
                if Instant::now() >= until {
                    return Ok(best);
                }
                // Twice: what an app does by chance would make any step look needless.
                let same = |broken: &Broken| broken.oracle == best.broken.oracle;
                let (execution, broken) = self.check(&candidate).await?;
                if let Some(broken) = broken.filter(same)
                    && self.check(&candidate).await?.1.is_some_and(|again| same(&again))
                {
                    best = Found { execution, broken };
                    continue 'smaller;
                }
            }
            return Ok(best);
        }
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
    for &mail in schedule.mails.iter().filter(|_| schedule.mails.len() > 1) {
        if schedule.acts().any(|(_, of)| of == mail) {
            continue;
        }
        let mails: Vec<usize> = schedule.mails.iter().copied().filter(|it| *it != mail).collect();
        let first = schedule.steps.iter().map(|step| Step { place: step.place.with_nth(0), ..*step });
        all.push(Schedule { mails: mails.clone(), steps: first.collect() });
        all.push(Schedule { mails, steps: schedule.steps.clone() });
    }
    for (n, step) in schedule.steps.iter().enumerate() {
        let mut replace = |place: Place, what: What| {
            let mut steps = schedule.steps.clone();
            steps[n] = Step { place, what };
            all.push(with_steps(steps));
        };
        let before = step.request().map_or(step.place, Place::Before);
        match step.what {
            What::Fail(failure) => failure.simpler().for_each(|it| replace(before, What::Fail(it))),
            What::Kill => {
                Failure::OF_REQUESTS.into_iter().take(2).for_each(|it| replace(before, What::Fail(it)));
            }
            What::Act(..) if before != step.place => replace(before, step.what),
            What::Act(..) => {}
        }
        let nth = step.place.nth();
        for earlier in [0, nth.saturating_sub(1)].into_iter().filter(|earlier| *earlier < nth) {
            replace(step.place.with_nth(earlier), step.what);
        }
    }
    all.retain(|candidate| !candidate.clashes() && !candidate.steps.is_empty());
    all
}
