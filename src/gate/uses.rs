//! How often grants let calls run: counted in memory, written together every few seconds. A crash
//! loses what was counted since.

use super::call::Call;
use countersign_policy::{
    Rule,
    argument_names::{COMMANDS, FILES, URLS},
};
use countersign_port::{brief, line};
use countersign_store::{Grant, GrantScope, GrantUse, Store, StoreError};
use countersign_tokens::clock;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How long uses are counted before they are written.
const TOGETHER: Duration = Duration::from_secs(5);
/// How many different rules and sessions are counted until then. What is beyond is not counted.
const MOST: usize = 1_000;
/// How much of a call is kept, in characters.
const CALL: usize = 200;

/// Counts the uses of grants.
#[derive(Debug)]
pub(super) struct GrantUses {
    store: Store,
    /// Since the last write.
    counted: Mutex<HashMap<UsedRule, GrantUse>>,
    news: Notify,
}

/// A rule that decided, and the session in which it did.
#[derive(Debug, PartialEq, Eq, Hash)]
struct UsedRule {
    rule: Rule,
    agent: String,
    session: String,
    owner: Option<String>,
}

impl GrantUses {
    pub(super) fn new(store: Store) -> Self {
        Self { store, counted: Mutex::default(), news: Notify::new() }
    }

    /// Counts a call that this rule let run, whether it is a grant's or not: that is looked up when
    /// it is written, because no call shall wait for it.
    pub(super) fn count(&self, call: &Call, rule: Option<&Rule>) {
        let Some(rule) = rule.cloned() else { return };
        let owner = call.owner.as_ref().map(|owner| owner.as_str().to_owned());
        let (agent, session) = (call.agent.clone(), call.session.clone());
        let once = GrantUse { used: 1, last_at: clock::now_ms(), last_call: short(call) };
        self.add(UsedRule { rule, agent, session, owner }, once);
        self.news.notify_one();
    }

    fn add(&self, rule: UsedRule, uses: GrantUse) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = counted.get_mut(&rule) {
            let used = known.used + uses.used;
            if uses.last_at >= known.last_at {
                *known = uses;
            }
            known.used = used;
        } else if counted.len() < MOST {
            counted.insert(rule, uses);
        }
    }

    /// Writes what was counted.
    ///
    /// # Errors
    /// When the store fails; then it is written later.
    pub(super) async fn write(&self) -> Result<(), StoreError> {
        let counted =
            std::mem::take(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner));
        if counted.is_empty() {
            return Ok(());
        }
        let written = self.try_write(&counted).await;
        if written.is_err() {
            counted.into_iter().for_each(|(rule, uses)| self.add(rule, uses));
        }
        written
    }

    async fn try_write(&self, counted: &HashMap<UsedRule, GrantUse>) -> Result<(), StoreError> {
        let grants = self.store.grants(clock::now_ms()).await?;
        let of = |(rule, uses): (&UsedRule, &GrantUse)| {
            // The latest, where several grants have the same rule.
            let grant = grants.iter().rev().find(|grant| is_behind(grant, rule))?;
            Some((grant.id.clone(), uses.clone()))
        };
        self.store.add_grant_uses(counted.iter().filter_map(of).collect()).await
    }

    /// Writes what is counted, some seconds after it was, until told to stop.
    pub(super) async fn keep_written(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.news.notified()).await.is_some() {
            let _ = stop.run_until_cancelled(tokio::time::sleep(TOGETHER)).await;
            if let Err(error) = self.write().await {
                tracing::debug!(%error, "the uses of grants are written later");
            }
        }
        if let Err(error) = self.write().await {
            tracing::warn!(%error, "the latest uses of grants are not written");
        }
    }
}

/// Whether this grant holds where the rule decided, and is that rule.
fn is_behind(grant: &Grant, used: &UsedRule) -> bool {
    let Grant { rule, agent, session, owner, .. } = grant;
    let owner = owner.as_ref().map(|owner| owner.as_str());
    let same = (agent, session, owner) == (&used.agent, &used.session, used.owner.as_deref());
    let of_rule = grant.scope != GrantScope::Budget;
    *rule == used.rule && of_rule && (grant.scope == GrantScope::Always || same)
}

/// A call in short.
fn short(call: &Call) -> String {
    let mut names = [COMMANDS, FILES, URLS].into_iter().flatten();
    let said = names.find_map(|name| call.args.get(*name)?.as_str());
    brief(&line(said.unwrap_or(&call.tool)), CALL)
}
