//! What callers, people and the daemon do at the gate. Each part does its own work.

use super::{
    AttachedCaller, Explained, Gate, KnockOutcome, Knocker, ModeError, ModeSet, PairingState,
    PauseOutcome, Policy, Reply, Revoked, RuleTrial, SubmitError, SubmitOutcome, TrialError,
    answer::Action,
    approvers::{Approver, Stranger, Who},
    ask::{Ask, pause::PauseMode},
    call::Call,
    undo,
};
use countersign_policy::{Decision, Rule};
use countersign_store::{Grant, StoreError, Tail};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What callers do.
impl Gate {
    /// Takes a call: rules on it, and where a person has to answer, opens an ask. An `attended`
    /// call has a caller that waits for the answer; when it leaves, now or later, its ask is
    /// cancelled.
    ///
    /// # Errors
    /// [`SubmitError`]; the call may then not run.
    pub async fn submit(&self, call: Call, attended: bool) -> Result<SubmitOutcome, SubmitError> {
        self.submissions.submit(call, attended).await
    }

    /// Counts a caller as waiting for this ask until the result is dropped.
    #[must_use]
    pub fn attach(&self, id: &str) -> AttachedCaller {
        self.callers.attach(id)
    }

    /// Waits until the ask is closed, or as long as told, and returns it as it is then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&self, id: &str, longest: Duration) -> Result<Option<Ask>, StoreError> {
        self.waits.wait(id, longest).await
    }

    /// The number of callers that wait at this daemon.
    #[must_use]
    pub fn callers(&self) -> u64 {
        self.open.waiters.callers()
    }

    /// Cancels an ask for its caller, even if others wait for it. Returns the ask as it is now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel(&self, id: &str, why: &str) -> Result<Option<Ask>, StoreError> {
        self.callers.cancel(id, why).await
    }

    /// Cancels an ask that was answered at the agent itself, or notes that at its answer here.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn answered_elsewhere(&self, id: &str) -> Result<Option<Ask>, StoreError> {
        self.callers.answered_elsewhere(id).await
    }

    /// The words for the agent's model when an ask has ended, as its system words them.
    #[must_use]
    pub fn text_for_model(&self, ask: &Ask) -> Option<String> {
        self.evaluator.text_for_model(ask)
    }

    /// The words for the agent's model when policy denied a call.
    #[must_use]
    pub fn text_for_denial(&self, call: &Call, ruling: &Decision) -> Option<String> {
        self.evaluator.text_for_denial(call, ruling)
    }
}

/// What people do.
impl Gate {
    /// Answers an ask, or says why not. Every surface comes through here, with the ask as it read
    /// it.
    pub async fn answer(&self, ask: Ask, who: Who, action: Action) -> Reply {
        self.answers.answer(ask, who, action).await
    }

    /// Says who somebody is where they may answer; a sentence for them alone where they may not.
    ///
    /// # Errors
    /// [`Stranger`]
    pub fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        self.in_force.admit(who)
    }

    /// Whether every ask is shown at this target that no route leads elsewhere.
    #[must_use]
    pub fn shows_at(&self, adapter: &str, target: &str) -> bool {
        let choices = self.in_force.now();
        choices.audience.iter().any(|it| it.adapter == adapter && it.target == target)
    }

    /// Begins a pairing on a platform, which ends an earlier one there. Returns until when its code
    /// works (Unix milliseconds).
    #[must_use]
    pub fn begin_pairing(&self, platform: &str, id: &str, code: &str) -> i64 {
        self.knocks.begin(platform, id, code)
    }

    /// Takes a pairing code that somebody sent on a platform. It grants nothing.
    #[must_use]
    pub fn knock(&self, platform: &str, code: &str, by: Knocker) -> KnockOutcome {
        self.knocks.knock(platform, code, by)
    }

    /// The state of a pairing, once somebody has sent its code or this time has passed; `None`
    /// where a later one has replaced it.
    pub async fn pairing(&self, id: &str, longest: Duration) -> Option<PairingState> {
        self.knocks.wait(id, longest).await
    }

    /// Switches the kill switch on, or changes what becomes of calls meanwhile.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn pause(&self, mode: PauseMode, who: Who) -> Result<PauseOutcome, StoreError> {
        self.pause.pause(mode, who).await
    }

    /// Switches it off.
    ///
    /// # Errors
    /// When the store fails; where that is not certain the pause may be over.
    pub async fn resume(&self, who: Who) -> Result<PauseOutcome, StoreError> {
        self.pause.resume(who).await
    }

    /// Revokes a grant; it stops covering calls at once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke(&self, id: &str, who: Who) -> Result<Revoked, StoreError> {
        self.grants.revoke(id, who).await
    }
}

/// What the daemon tells of its rules.
impl Gate {
    /// Explains what would happen to a call now. Nothing is asked.
    ///
    /// # Errors
    /// When the policy cannot decide on it, or the store fails.
    pub async fn explain(&self, call: &Call) -> Result<Explained, SubmitError> {
        self.evaluator.explain(call).await
    }

    /// Begins to try a rule on calls. Nothing is written.
    ///
    /// # Errors
    /// [`TrialError`]
    pub async fn try_rule(&self, rule: &Rule) -> Result<RuleTrial, TrialError> {
        self.trials.begin(std::slice::from_ref(rule)).await
    }
}

/// What the daemon tells of grants.
impl Gate {
    /// For each of these grants why it does not hold, though nobody revoked it; `None` where it
    /// holds.
    #[must_use]
    pub fn missing_rules(&self, grants: &[Grant]) -> Vec<Option<String>> {
        self.grants.missing(grants)
    }

    /// Whether it is counted how often grants are used: decisions of other profiles do not name the
    /// grant behind them.
    #[must_use]
    pub fn counts_uses(&self) -> bool {
        matches!(*self.policy(), Policy::Rules(..))
    }

    /// Writes how often grants were used until now.
    ///
    /// # Errors
    /// When the store fails; then it is written later.
    pub async fn write_grant_uses(&self) -> Result<(), StoreError> {
        self.uses.write().await
    }
}

/// What happens to sessions.
impl Gate {
    /// Gives a session a mode of its own. Without an approver it can only be led back to the
    /// configured one.
    ///
    /// # Errors
    /// When there is no such mode, or the store fails; then nothing is changed.
    pub async fn set_mode(
        &self,
        agent: &str,
        session: &str,
        mode: &str,
        who: Option<Who>,
    ) -> Result<ModeSet, ModeError> {
        self.sessions.set_mode(agent, session, mode, who).await
    }

    /// Ends a session: its open asks are cancelled, what was granted to it and its mode are over.
    /// Returns how many asks that were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn end_session(
        &self,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        self.sessions.end(agent, session, why).await
    }

    /// Cancels what a session still asks; what was granted to it holds. Returns how many asks that
    /// were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn abort_session(
        &self,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        self.sessions.abort(agent, session, why).await
    }

    /// Ends the sessions of a worker that is gone. Returns how many asks are cancelled by that.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn worker_gone(&self, agent: &str, worker: &str) -> Result<usize, StoreError> {
        self.sessions.worker_gone(agent, worker).await
    }

    /// The one open ask of a session that `is` what is looked for.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_ask(
        &self,
        session: &str,
        is: impl Fn(&Ask) -> bool + Sync,
    ) -> Result<Option<Ask>, StoreError> {
        self.sessions.open_ask(session, is).await
    }
}

/// What the daemon keeps going.
impl Gate {
    /// Expires asks at their deadlines until told to stop.
    pub async fn reap(&self, stop: CancellationToken) {
        self.deadlines.reap(stop).await;
    }

    /// Writes how often grants are used until told to stop.
    pub async fn keep_grant_uses(&self, stop: CancellationToken) {
        self.uses.keep_written(stop).await;
    }

    /// Writes allowed calls to the log until told to stop.
    pub async fn keep_allowed_calls(&self, stop: CancellationToken) {
        self.submissions.allowed.keep_written(stop).await;
    }

    /// Ends the times in which answers can be undone until told to stop.
    pub async fn end_undo_windows(&self, stop: CancellationToken) {
        undo::end_windows(self.open.clone(), stop).await;
    }

    /// Forgets what is old every 30 s until told to stop.
    pub async fn forget(&self, stop: CancellationToken) {
        self.retention.forget(stop).await;
    }

    /// For how long settled asks and rows of the log are kept, in milliseconds.
    #[must_use]
    pub fn keep_ms(&self) -> i64 {
        self.retention.in_force.now().settings.keep_ms
    }

    /// Cancels asks whose callers died together with their daemon: nobody would read the answer.
    pub async fn cancel_orphans(&self) {
        self.callers.cancel_orphans().await;
    }

    /// Wakes the waiters here of asks that other daemons closed, until told to stop. `tail` must be
    /// from before anybody waits.
    pub async fn follow(&self, tail: Tail, stop: CancellationToken) {
        self.open.follow(tail, stop).await;
    }

    /// Writes to the rules file what a crash kept from being written.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn write_pending_grants(&self) -> Result<(), StoreError> {
        self.grants.write_pending().await
    }
}
