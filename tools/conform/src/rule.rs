//! A rule of the API as a value, and the table of them.

use std::{future::Future, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    check::{fixture_types::Found, session::Session},
    clock::BoxFuture,
    rule_abort::RuleAbort,
    shape::{Field, at},
};

/// Whether the document demands a rule, or leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// The document demands it.
    Demanded,
    /// The document leaves it open: what is seen is noted beside what the mock does, and is never a failure.
    Observation,
}

/// What a rule can be tried with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// GET requests alone.
    Reads,
    /// A test key, whose sandbox may be written to.
    Sandbox,
    /// The control API, in the world that most rules share.
    Shared,
    /// The control API, in a world of the rule's own.
    World,
}

/// What a rule needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    pub(super) level: Level,
    pub(super) scopes: &'static [&'static str],
}

pub(super) const READS: Needs = Needs { level: Level::Reads, scopes: &[] };
pub(super) const WRITE: Needs = Needs { level: Level::Sandbox, scopes: &["write"] };
pub(super) const DRAFT: Needs = Needs { level: Level::Sandbox, scopes: &["write", "draft"] };
pub(super) const SEND: Needs = Needs { level: Level::Sandbox, scopes: &["write", "send"] };
pub(super) const RECORD: Needs = Needs { level: Level::Sandbox, scopes: &["write", "record"] };
pub(super) const SHARED: Needs = Needs { level: Level::Shared, scopes: &[] };
pub(super) const WORLD: Needs = Needs { level: Level::World, scopes: &[] };

/// Checks a rule in a session.
type Checks<T> = Box<dyn Fn(Arc<Session>) -> BoxFuture<'static, Result<T, RuleAbort>> + Send + Sync>;

enum Check {
    Demand(Checks<()>),
    /// Returns what was seen.
    Observe(Checks<String>),
}

/// One rule.
pub(super) struct Rule {
    /// Does not change.
    pub(super) id: String,
    /// The most specific section of the document.
    pub(super) section: &'static str,
    /// What the document says, or leaves open.
    pub(super) says: String,
    pub(super) kind: Kind,
    pub(super) needs: Needs,
    /// For an observation, what the mock does.
    pub(super) mock: Option<&'static str>,
    /// The calls of the control API that it takes.
    pub(super) control_calls: Vec<String>,
    check: Check,
}

impl Rule {
    /// Checks it; returns what was seen, for an observation.
    pub(super) async fn check(&self, session: Arc<Session>) -> Result<Option<String>, RuleAbort> {
        match &self.check {
            Check::Demand(check) => check(session).await.map(|()| None),
            Check::Observe(check) => check(session).await.map(Some),
        }
    }
}

/// The rules, in the order of the document.
#[derive(Default)]
pub(super) struct Table {
    pub(super) rules: Vec<Rule>,
    section: &'static str,
}

impl Table {
    /// What follows is of this section.
    pub(super) fn section(&mut self, section: &'static str) {
        self.section = section;
    }

    /// Adds a rule that the document demands.
    pub(super) fn demand<F>(
        &mut self,
        id: impl Into<String>,
        says: impl Into<String>,
        needs: Needs,
        check: impl Fn(Arc<Session>) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<(), RuleAbort>> + Send + 'static,
    {
        let check = Check::Demand(Box::new(move |session| Box::pin(check(session))));
        self.add(id.into(), says.into(), Kind::Demanded, needs, None, check);
    }

    /// Something that the document leaves open, and what the mock does.
    pub(super) fn observe<F>(
        &mut self,
        id: impl Into<String>,
        says: impl Into<String>,
        mock: &'static str,
        needs: Needs,
        check: impl Fn(Arc<Session>) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<String, RuleAbort>> + Send + 'static,
    {
        let check = Check::Observe(Box::new(move |session| Box::pin(check(session))));
        self.add(id.into(), says.into(), Kind::Observation, needs, Some(mock), check);
    }

    /// Adds a rule for each field: that it is there, and of its type.
    pub(super) fn fields<F>(
        &mut self,
        group: &str,
        fields: &'static [Field],
        needs: Needs,
        find: impl Fn(Arc<Session>) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Found, RuleAbort>> + Send + 'static,
    {
        for field in fields {
            let find = find.clone();
            let presence = if field.optional { ", when it is there" } else { "" };
            let says = format!("`{}` is {}{presence}", field.path, field.kind.described());
            self.demand(format!("{group}.{}", field.path), says, needs, move |session| {
                let may_create = !session.reads_only();
                let found = find(session);
                async move { holds(field, &found.await?, may_create) }
            });
        }
    }

    fn add(
        &mut self,
        id: String,
        says: String,
        kind: Kind,
        needs: Needs,
        mock: Option<&'static str>,
        check: Check,
    ) {
        let section = self.section;
        self.rules.push(Rule { id, section, says, kind, needs, mock, control_calls: Vec::new(), check });
    }
}

fn holds(field: &Field, found: &Found, may_create: bool) -> Result<(), RuleAbort> {
    if found.items.is_empty() {
        let nothing = format!("nothing is there to look at: no item with `{}`", field.path);
        // What the suite has made must be there.
        return Err(if may_create { RuleAbort::failed(nothing) } else { RuleAbort::left_out(nothing) });
    }
    for item in &found.items {
        // A part of something that is null or not there is another field's matter.
        let parent = field.path.rsplit_once('.').map(|(parent, _)| at(item, parent));
        if parent.is_some_and(|parent| parent.is_none_or(|it| it.is_null())) {
            continue;
        }
        let expected = || format!("`{}`: {}", field.path, field.kind.described());
        match at(item, field.path) {
            None if field.optional => {}
            None => return Err(found.reply.differs_in(expected(), "without it", item)),
            Some(value) if field.kind.fits(value) => {}
            Some(value) => return Err(found.reply.differs_in(expected(), field.path, value)),
        }
    }
    Ok(())
}
