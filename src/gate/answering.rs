//! The one function that answers asks, for every surface.

use super::{
    Gate, SubmitError,
    answer::{Action, Change, EditStep, NO_EDIT, Refusal, TextPurpose, apply, person},
    approvers::{Approver, Approvers, Who},
    ask::{
        Answer, Ask, By, Decision, Scope, State,
        edit::{ProposedEdit, edited, edited_text},
        requirement::Requirement,
    },
    budgets,
    call::Call,
    deadline::Looker,
    grants::grants_for,
    pause::sentence,
    quorum::{self, Weighed},
    to_the_end,
};
use countersign_policy::Verdict;
use countersign_port::{async_trait, line, locked};
use countersign_profiles::{GrantLifetime, OnDeny};
use countersign_store::{Closed, StoreError, UNDO_MS};
use countersign_tokens::clock;
use serde_json::json;
use std::{
    collections::HashMap,
    fmt::Debug,
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// More lost races than this mean that something is wrong.
const TRIES: usize = 16;
/// How often it is looked for ended times of undo though nothing is known to be due.
const LOOK: Duration = Duration::from_secs(30);
/// How long a denial is remembered.
const MOMENT: Duration = Duration::from_secs(60);
/// So many are remembered before the old ones are looked for.
const MANY: usize = 256;

/// What really happened to an attempt to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// In one word.
    pub told: Told,
    /// In one sentence, for the one who tried.
    pub sentence: String,
    /// The ask as it is now, if the one who tried may see it.
    pub ask: Option<Ask>,
}

/// What really happened, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Told {
    /// This attempt answered the ask.
    Applied,
    /// Noted; the ask is still open.
    Noted,
    /// Noted as a vote; more people have to answer.
    Voted,
    /// Free text is wanted.
    TextWanted,
    /// Somebody was first.
    Already,
    /// The deadline had passed.
    Expired,
    /// The caller had cancelled the ask.
    Cancelled,
    /// The one who tried may not answer.
    NotAllowed,
    /// There is no such ask.
    Unknown,
    /// It cannot be done to this ask.
    Unfit,
    /// It could not be recorded, or nobody knows whether it was; see [`fault_sentence`].
    Fault,
}

/// Where it is asked who holds which role.
#[async_trait]
pub trait RoleSource: Debug + Send + Sync {
    /// Which of these roles somebody holds now; `None`: those that they held at their vote count.
    ///
    /// # Errors
    /// A sentence where the platform does not say.
    async fn roles_now(
        &self,
        platform: &str,
        person: &str,
        of: &[String],
    ) -> Result<Option<Vec<String>>, String>;
}

impl Gate {
    /// Answers an ask, or says why not. Every surface comes through here, with the ask as it read
    /// it.
    // INVARIANT: what follows an answer follows though its presser has left meanwhile: its waiters
    // are told, and what was granted is written to the rules file.
    pub async fn answer(self: &Arc<Self>, ask: Ask, who: Who, action: Action) -> Reply {
        let gate = self.clone();
        let id = ask.id.clone();
        // Boxed: a task is moved several times before it runs, and a debug build copies it on a
        // stack that has no room for so large a one.
        let answering =
            to_the_end(async move { Box::pin(gate.try_answer(ask, &who, &action)).await });
        match answering.await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::error!(ask_id = id, %error, "a press could not be recorded");
                reply(Told::Fault, fault_sentence(&error), None)
            }
        }
    }

    // INVARIANT: the row as it is when it is changed counts: an attempt that read another version
    // reads it again and tries once more.
    async fn try_answer(
        self: &Arc<Self>,
        mut ask: Ask,
        who: &Who,
        action: &Action,
    ) -> Result<Reply, StoreError> {
        for _ in 0..TRIES {
            if let Err(why) = self.refresh_roles(&mut ask, who).await {
                return Ok(reply(Told::Fault, &why, None));
            }
            let (changed, action) = match self.attempt(ask, who, action).await? {
                ControlFlow::Break(reply) => return Ok(reply),
                ControlFlow::Continue(changed) => changed,
            };
            match (changed, action) {
                (Closed::Won(ask), Action::Undo) => return Ok(self.undone(ask).await),
                (Closed::Won(ask), Action::ApproveNext) => {
                    self.changed();
                    tracing::info!(ask_id = %ask.id, "the next try of an expired ask is approved");
                    let time = clock::span(i64::from(ask.body.late_yes_s) * 1_000);
                    let words = format!(
                        "Approved: the same call may run once when it comes again within {time}."
                    );
                    return Ok(reply(Told::Applied, &words, Some(ask)));
                }
                (Closed::Won(ask), action) if ask.is_open() => {
                    self.changed();
                    let words = match action {
                        Action::Propose(_) => {
                            "Proposed. The card shows the change: approve it there."
                        }
                        _ => "Noted.",
                    };
                    return Ok(reply(Told::Noted, words, Some(ask)));
                }
                (Closed::Won(ask), _) => return Ok(self.applied(ask).await),
                (Closed::Lost(now), _) => ask = now,
                (Closed::Unknown, _) => return Ok(unknown()),
            }
        }
        Ok(reply(Told::Fault, "Too much happens to this ask at once; try again.", None))
    }

    /// Reads anew which roles earlier voters have: before an attempt, which keeps a reload waiting,
    /// and not for those who may not answer.
    async fn refresh_roles(&self, ask: &mut Ask, who: &Who) -> Result<(), String> {
        let approvers = &self.choices().approvers;
        let Ok(approver) = self.admit(who.clone()) else { return Ok(()) };
        match quorum::may_answer(ask, &approvers.people, &approver) {
            Ok(()) => self.refresh_votes(ask, approvers).await,
            Err(_) => Ok(()),
        }
    }

    /// Tries once, on the ask as it was read last. What became of the row, and of which action; or
    /// the reply, where there is nothing more to do.
    // SECURITY: each try admits its presser anew, and a reload waits until it is over: who was
    // removed when a reload returned has no press left.
    async fn attempt(
        self: &Arc<Self>,
        ask: Ask,
        who: &Who,
        action: &Action,
    ) -> Result<ControlFlow<Reply, (Closed, Action)>, StoreError> {
        let _reload_waits = self.opening.read().await;
        let over = |reply| Ok(ControlFlow::Break(reply));
        let approver = match self.admit(who.clone()) {
            Ok(approver) => approver,
            Err(stranger) => {
                self.note_stranger(&ask, who).await?;
                return over(reply(Told::NotAllowed, stranger.0, None));
            }
        };
        let approvers = &self.choices().approvers;
        if let Err(sentence) = quorum::may_answer(&ask, &approvers.people, &approver) {
            self.note_stranger(&ask, who).await?;
            return over(reply(Told::NotAllowed, &sentence, None));
        }
        if let Err(refusal) = quorum::fits(&ask, action) {
            return over(refuse(ask, &refusal));
        }
        let action = match self.judged(&ask, &approver, action).await? {
            Ok(action) => action,
            Err(sentence) => return over(reply(Told::Unfit, &sentence, Some(ask))),
        };
        let now = clock::now_ms();
        let changed = match apply(&ask, &approver, action.clone(), now) {
            Err(Refusal::Late(_)) => {
                // The row says what that comes to: it has expired, or got the time it lacked.
                let _ = self.expire(&ask, Looker::First).await?;
                self.store.ask(&ask.id).await?.map_or(Closed::Unknown, Closed::Lost)
            }
            Err(refusal) => return over(refuse(ask, &refusal)),
            Ok(Change::WantText(prompt)) => {
                return over(reply(Told::TextWanted, &prompt, Some(ask)));
            }
            Ok(Change::Go(progress)) => self.store.note_progress(&ask, &progress, now).await?,
            Ok(Change::Nothing) => return over(reply(Told::Noted, "", Some(ask))),
            Ok(Change::Undo(undone)) => self.store.undo(&ask, &undone).await?,
            Ok(Change::Next(next)) => {
                if let Some(words) = self.only_denials().await? {
                    return over(reply(Told::Unfit, &words, Some(ask)));
                }
                let grant = budgets::grant_of_next(&ask, &next);
                self.store.approve_next(&ask, &next, &grant).await?
            }
            Ok(Change::Close(answer)) => match self.give(&ask, &approver, *answer, now).await? {
                ControlFlow::Break(reply) => return over(reply),
                ControlFlow::Continue(closed) => closed,
            },
        };
        Ok(ControlFlow::Continue((changed, action)))
    }

    /// Closes an ask with somebody's answer, and stores what it grants; or records their vote, where
    /// more people have to answer.
    async fn give(
        &self,
        ask: &Ask,
        by: &Approver,
        answer: Answer,
        now: i64,
    ) -> Result<ControlFlow<Reply, Closed>, StoreError> {
        // The store has the last word; this says why.
        if answer.decision != Decision::Deny
            && let Some(words) = self.only_denials().await?
        {
            return Ok(ControlFlow::Break(reply(Told::Unfit, &words, Some(ask.clone()))));
        }
        let approvers = &self.choices().approvers;
        match quorum::weigh(ask, approvers, by, answer) {
            Weighed::Answer(mut answer) => {
                let grants = grants_for(ask, &answer, person(by), &self.choices().policy);
                answer.stored.undo_until = (!grants.is_empty()).then_some(now + UNDO_MS);
                let end = State::Answered(*answer);
                Ok(ControlFlow::Continue(self.store.close_ask(ask, &end, &grants).await?))
            }
            Weighed::Votes(votes) => {
                let Closed::Won(ask) = self.store.note_votes(ask, &votes, now).await? else {
                    let read = self.store.ask(&ask.id).await?;
                    return Ok(ControlFlow::Continue(read.map_or(Closed::Unknown, Closed::Lost)));
                };
                self.changed();
                tracing::info!(ask_id = %ask.id, "a vote was recorded");
                let sentence = quorum::sentence(&ask, &approvers.people);
                Ok(ControlFlow::Break(reply(Told::Voted, &sentence, Some(ask))))
            }
        }
    }

    /// What is told of an approval while everything is paused.
    async fn only_denials(&self) -> Result<Option<String>, StoreError> {
        let pause = self.store.pause().await?;
        Ok(pause.map(|pause| {
            format!("{}: only a denial counts until somebody resumes.", sentence(&pause))
        }))
    }

    /// After the commit: wake the waiter, tell the surfaces, keep what was granted.
    async fn applied(self: &Arc<Self>, ask: Ask) -> Reply {
        // First the waiter: the rule holds from the commit on.
        self.closed(&ask);
        if let (Some(review), Some(answer)) = (&ask.body.review, ask.answer()) {
            let review = review.clone();
            let answer = answer.clone();
            return self.reviewed(ask, &review, &answer).await;
        }
        let stored = self.store_always(&ask).await;
        tracing::info!(ask_id = %ask.id, state = ask.state.name(), "ask answered");
        let Some(answer) = ask.answer() else {
            return reply(Told::Fault, "This could not be recorded; nothing changed.", None);
        };
        let sentence = match stored {
            Ok(None) => applied_sentence(&ask, answer),
            Ok(Some(but)) => format!("Approved. {but}"),
            Err(problem) => {
                let sentence = format!("Approved once. The rule could not be stored: {problem}");
                let ask = self.not_stored(&ask).await.unwrap_or(ask);
                return reply(Told::Applied, &sentence, Some(ask));
            }
        };
        let cascades = self.system().prompt_behaviour().cascade;
        if cascades && answer.scope.is_some_and(|scope| scope != Scope::Once) {
            self.cascade(&ask).await;
        }
        reply(Told::Applied, &sentence, Some(ask))
    }

    /// After the commit: tell the surfaces, and take the rules out of the file.
    async fn undone(&self, ask: Ask) -> Reply {
        self.changed();
        let kept = self.remove_pending().await;
        tracing::info!(ask_id = %ask.id, "an answer was undone");
        let sentence = undo_sentence(&ask, kept.err().as_deref());
        reply(Told::Applied, &sentence, Some(ask))
    }

    /// Ends the times in which answers can be undone, until told to stop: their cards lose the
    /// button.
    pub async fn end_undo_windows(&self, stop: CancellationToken) {
        let mut changes = self.changes();
        loop {
            changes.mark_unchanged();
            let pause = match self.end_due_undo_windows().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(%error, "answers can be undone for longer than they should");
                    LOOK
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = changes.changed() => if changed.is_err() { return },
                () = stop.cancelled() => return,
            }
        }
    }

    /// Ends what is over, and says how long to rest.
    async fn end_due_undo_windows(&self) -> Result<Duration, StoreError> {
        for id in self.store.undo_over(clock::now_ms()).await? {
            let ask = self.store.whole_ask(&id).await?;
            let may = |ask: &Ask| ask.answer().is_some_and(|it| it.stored.undo_until.is_some());
            match ask.filter(may) {
                Some(ask) => {
                    let _ = self.store.end_undo(&ask, true).await?;
                    self.changed();
                }
                None => self.store.forget_undo(&id).await?,
            }
        }
        let next = self.store.next_undo_over().await?;
        let left = next.map(|at| clock::until(at).max(Duration::from_millis(1)));
        Ok(left.unwrap_or(LOOK).min(LOOK))
    }

    /// An answer whose rules could not be stored was for once, and there is nothing to undo.
    async fn not_stored(&self, ask: &Ask) -> Option<Ask> {
        match self.store.end_undo(ask, false).await {
            Ok(Closed::Won(now) | Closed::Lost(now)) => {
                self.changed();
                Some(now)
            }
            Ok(Closed::Unknown) => None,
            Err(error) => {
                tracing::warn!(ask_id = %ask.id, %error, "a card says that a rule was stored");
                None
            }
        }
    }

    /// Resolves the session's other open asks that the new grant covers.
    async fn cascade(self: &Arc<Self>, granted: &Ask) {
        let Call { agent, session, .. } = &granted.body.call;
        let covered = async {
            let asks = self.store.open_in_session(agent, session).await?;
            self.approve_allowed(&asks, Some(&words(granted))).await
        };
        if let Err(error) = covered.await {
            tracing::warn!(ask_id = %granted.id, %error, "asks that a grant covers stay open");
        }
    }

    async fn note_stranger(&self, ask: &Ask, who: &Who) -> Result<(), StoreError> {
        tracing::warn!(ask_id = %ask.id, platform = who.platform, presser = %who.id,
            "somebody who is not an approver tried to answer");
        let data = json!({"platform": who.platform, "id": who.id, "name": who.name});
        self.store.note(clock::now_ms(), "refused", Some(&ask.id), &data).await
    }

    /// Says where it is asked who holds which role now, once.
    pub fn ask_roles_of(&self, source: Arc<dyn RoleSource>) {
        let _ = self.roles.set(source);
    }

    /// Gives the earlier votes of an ask the roles that their voters hold now.
    ///
    /// # Errors
    /// A sentence where a platform does not say: nothing may be decided with those votes.
    // SECURITY: a vote counts only while its voter has the role that makes it count.
    // FAIL-CLOSED: a platform that does not say lets nobody in, and drops nobody's vote either.
    async fn refresh_votes(&self, ask: &mut Ask, approvers: &Approvers) -> Result<(), String> {
        let Some(source) = self.roles.get() else { return Ok(()) };
        for vote in &mut ask.votes {
            let Some((platform, person)) = vote.account() else { continue };
            if vote.roles.is_empty() {
                continue;
            }
            let of = approvers.roles_on(platform);
            if let Some(now) = source.roles_now(platform, person, &of).await? {
                vote.roles = now;
            }
        }
        Ok(())
    }

    /// The action, once policy has looked at what an edit would run; a sentence where it says no.
    // SECURITY: the changed call is judged when it is proposed, and again when it is approved.
    async fn judged(
        &self,
        ask: &Ask,
        by: &Approver,
        action: &Action,
    ) -> Result<Result<Action, String>, StoreError> {
        let text = match action {
            Action::Words { wanted: TextPurpose::Edit, text: Some(text) } => text.clone(),
            Action::Edit { nth, step: EditStep::Approve | EditStep::Confirm } => {
                let proposed = ask.progress.edit.as_ref().filter(|edit| edit.nth == *nth);
                let Some(edit) = proposed else { return Ok(Ok(action.clone())) };
                edited_text(&ask.body.call, &edit.args)
            }
            _ => return Ok(Ok(action.clone())),
        };
        let no_text = || Ok(Err(NO_EDIT.to_owned()));
        let Some(call) = edited(&ask.body.call, &text) else { return no_text() };
        if call.args == ask.body.call.args {
            return Ok(Err("That is what it was anyway; nothing was changed.".to_owned()));
        }
        if let Err(malformed) = call.check() {
            return Ok(Err(malformed.0));
        }
        let judged = async {
            let given = self.given(&call).await?;
            let decision = self.judge(&call, &given).await?;
            let required = self.handling(&call, &given.facts, &decision).await.requirements;
            Ok((decision, required))
        };
        let (decision, required) = match judged.await {
            Ok(judged) => judged,
            Err(SubmitError::Store(error)) => return Err(error),
            Err(error) => return Ok(Err(format!("The change cannot be judged: {error}"))),
        };
        if decision.verdict == Verdict::Deny {
            return Ok(Err(format!("The rules deny that change: {}", decision.reason)));
        }
        // SECURITY: else who may answer a harmless call could make one of it that needs others.
        if let Some(unmet) = Requirement::unmet(&required, &ask.body.requirements) {
            return Ok(Err(format!(
                "The answer rule {} needs more for that change: deny this, and say what should \
                 run instead.",
                line(&unmet.rule)
            )));
        }
        let Action::Words { .. } = action else { return Ok(Ok(action.clone())) };
        Ok(Ok(Action::Propose(Box::new(ProposedEdit {
            nth: 0,
            digest: call.digest(),
            args: call.args,
            by: person(by).to_string(),
            effects: decision.effects.iter().map(ToString::to_string).collect(),
            critical: decision.critical,
            reviewed: false,
        }))))
    }
}

fn unknown() -> Reply {
    reply(Told::Unknown, "There is no such ask (any more).", None)
}

/// What somebody is told whose attempt met an error of the store.
// INVARIANT: "nothing changed" is said only where it is certain.
#[must_use]
pub fn fault_sentence(error: &StoreError) -> &'static str {
    match error {
        StoreError::Uncertain(_) => {
            "Connection to the database lost. Press again to see whether your answer was recorded."
        }
        error if error.is_of_a_row() => {
            "This ask is damaged in the store, so nobody can answer it."
        }
        _ => "This could not be recorded; nothing changed. Try again.",
    }
}

/// The reply to an attempt that changes nothing.
fn refuse(ask: Ask, refusal: &Refusal) -> Reply {
    let told = match (refusal, &ask.state) {
        (Refusal::Unfit(_), _) => Told::Unfit,
        (Refusal::Over(_), _) => Told::Expired,
        (Refusal::Late(_), _) | (Refusal::Closed(_), State::Expired(_)) => Told::Expired,
        (Refusal::Closed(_), State::Cancelled(_)) => Told::Cancelled,
        (Refusal::Closed(_), _) => Told::Already,
    };
    reply(told, &refusal.to_string(), Some(ask))
}

/// What a grant allows, in words.
fn words(ask: &Ask) -> String {
    ask.answer().map(|answer| ask.body.stored(answer).join(", ")).unwrap_or_default()
}

/// What an answer did, for the one who gave it.
fn applied_sentence(ask: &Ask, answer: &Answer) -> String {
    if ask.body.resumes.is_some() {
        return match answer.decision {
            Decision::Approve => "Resumed: its calls are accepted again.".to_owned(),
            _ => {
                let name = &ask.body.call.agent;
                format!("It stays paused. `countersign token resume {name}` resumes it.")
            }
        };
    }
    if let (Some(budget), Decision::Approve) = (&ask.body.call.budget, answer.decision) {
        let many = budget.calls.len();
        let time = lasting(budget.for_s);
        return format!("Approved: each of these {many} may run once, for {time}.");
    }
    if ask.body.call.appeal.is_some() && answer.decision == Decision::Approve {
        return "Approved: the agent may try exactly this once more.".to_owned();
    }
    match (answer.decision, answer.scope) {
        (Decision::Deny, _) if ask.is_question() => "Declined.".to_owned(),
        (Decision::Deny, _) => match answer.then {
            OnDeny::GoOn if answer.reason.is_some() => "Denied; the agent reads your words.",
            OnDeny::GoOn => "Denied.",
            OnDeny::Stop => "Denied; the agent must stop.",
            OnDeny::Explain => "Denied; the agent must explain itself.",
        }
        .to_owned(),
        (Decision::Answer, _) => "Answered.".to_owned(),
        (Decision::Edit, _) => "Approved with the change.".to_owned(),
        (Decision::Approve, Some(Scope::Always | Scope::Exact | Scope::Prefix))
            if ask.body.lasts == GrantLifetime::Durable =>
        {
            format!("Approved, and always from now on: {}.", words(ask))
        }
        (
            Decision::Approve,
            Some(Scope::Session | Scope::Always | Scope::Exact | Scope::Prefix),
        ) => {
            format!("Approved, and for the rest of this session: {}.", words(ask))
        }
        (Decision::Approve, Some(scope @ Scope::Timed(_))) => {
            format!("Approved, and for {} in this session: {}.", scope.name(), words(ask))
        }
        (Decision::Approve, _) if answer.reason.is_some() => {
            "Approved once, with your note.".to_owned()
        }
        (Decision::Approve, _) => "Approved once.".to_owned(),
    }
}

/// How long a budget lasts.
pub fn lasting(seconds: u64) -> String {
    clock::span(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000))
}

pub(super) fn reply(told: Told, sentence: &str, ask: Option<Ask>) -> Reply {
    Reply { told, sentence: sentence.to_owned(), ask }
}

/// Denials by people, by the digest of the call, which says who wanted it in which session.
#[derive(Debug, Default)]
pub(super) struct RecentDenials(Mutex<HashMap<String, Denial>>);

#[derive(Debug)]
struct Denial {
    at: Instant,
    by: String,
    reason: Option<String>,
}

impl RecentDenials {
    /// Notes how an ask ended. A call that a person approves is not denied any more.
    // FAIL-CLOSED: only denials are remembered, and only those of people.
    pub(super) fn note(&self, ask: &Ask) {
        let Some(answer) = ask.answer().filter(|_| !ask.is_question()) else { return };
        let mut denials = locked(&self.0);
        match (answer.decision, &answer.by) {
            (Decision::Deny, By::Person { name, .. }) => {
                if denials.len() >= MANY {
                    denials.retain(|_, denial| denial.at.elapsed() < MOMENT);
                }
                let by = name.clone();
                let reason = answer.reason.clone();
                denials.insert(ask.digest.clone(), Denial { at: Instant::now(), by, reason });
            }
            (Decision::Approve | Decision::Answer | Decision::Edit, _) => {
                drop(denials.remove(&ask.digest));
            }
            (Decision::Deny, _) => {}
        }
    }

    /// What a call with this digest is told that a person denied a moment ago.
    pub(super) fn recall(&self, digest: &str) -> Option<String> {
        let denials = locked(&self.0);
        let denial = denials.get(digest).filter(|denial| denial.at.elapsed() < MOMENT)?;
        let reason = denial.reason.as_deref().filter(|reason| !reason.trim().is_empty());
        let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        Some(format!("Denied a moment ago by {}{because}", denial.by))
    }
}

/// What the person who undid an answer is told. `kept` says why its rule is still in the file.
fn undo_sentence(ask: &Ask, kept: Option<&str>) -> String {
    if ask.body.call.budget.is_some() {
        return "Undone: what is left of the budget asks again.".to_owned();
    }
    if ask.body.call.appeal.is_some() {
        return "Undone: unless it ran already, it stays blocked.".to_owned();
    }
    let rules = ask.answer().map(|answer| ask.body.stored(answer)).unwrap_or_default();
    let hold = if rules.len() == 1 { "holds" } else { "hold" };
    match kept {
        None => format!(
            "Undone: {} no longer {hold}. A call that already runs is not stopped.",
            rules.join(", ")
        ),
        Some(why) => format!("Undone, but the rules file still has a rule of it: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_domain::{
        Answer, Body, State,
        budget::{Budget, BudgetCall},
        call::{Appeal, Call},
    };
    use countersign_policy::Rule;

    fn ended(decision: Decision, by: By, reason: Option<&str>) -> Ask {
        let call = Call::new("a", "s", "shell_exec", serde_json::json!({"command": "rm x"}));
        let reason = reason.map(str::to_owned);
        let answer = Answer { reason, ..Answer::new(decision, by, 1) };
        let opened = Ask::opened("one", call.digest(), Body::new(call, "no rule"), 0);
        Ask { state: State::Answered(answer), version: 2, ..opened }
    }

    fn ana() -> By {
        By::Person { platform: "telegram".into(), id: "1".into(), name: "Ana".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_persons_denial_is_remembered_for_a_minute_with_its_reason() {
        let denials = RecentDenials::default();
        let ask = ended(Decision::Deny, ana(), Some("not on Friday"));
        denials.note(&ask);
        tokio::time::advance(MOMENT - Duration::from_secs(1)).await;
        let said = denials.recall(&ask.digest);
        assert_eq!(said.as_deref(), Some("Denied a moment ago by Ana: not on Friday"));
        assert_eq!(denials.recall("another call"), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(denials.recall(&ask.digest), None);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_but_a_persons_denial_is_remembered_and_an_approval_ends_it() {
        let denials = RecentDenials::default();
        for by in [By::Timeout, By::NoApprover, By::Caller] {
            let ask = ended(Decision::Deny, by, None);
            denials.note(&ask);
            assert_eq!(denials.recall(&ask.digest), None);
        }
        let ask = ended(Decision::Deny, ana(), None);
        denials.note(&ask);
        assert_eq!(denials.recall(&ask.digest).as_deref(), Some("Denied a moment ago by Ana"));
        denials.note(&ended(Decision::Approve, ana(), None));
        assert_eq!(denials.recall(&ask.digest), None);
    }

    #[tokio::test(start_paused = true)]
    async fn only_where_many_are_remembered_those_that_are_over_make_room() {
        let denials = RecentDenials::default();
        let denied = |n: usize| {
            let ask = Ask { digest: n.to_string(), ..ended(Decision::Deny, ana(), None) };
            denials.note(&ask);
            locked(&denials.0).len()
        };
        assert_eq!(denied(0), 1);
        tokio::time::advance(MOMENT).await;
        assert_eq!(denied(1), 2, "few are not looked through");
        assert_eq!((2..MANY).map(denied).last(), Some(MANY));
        assert_eq!(denied(MANY), MANY, "the first is over");
        tokio::time::advance(MOMENT - Duration::from_secs(1)).await;
        assert_eq!(denied(MANY + 1), MANY + 1, "the others are not");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(denied(MANY + 2), 2);
    }

    /// An ask that ended so, with this about its body.
    fn told(change: impl Fn(&mut Body), answer: Answer) -> (String, String) {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "make"}));
        let rules = |pattern: &str| vec![Rule::allow("shell_exec", pattern)];
        let always = rules("make *");
        let exact = rules("make");
        let mut body = Body { always, exact, prefix: rules("make"), ..Body::new(call, "no rule") };
        change(&mut body);
        let opened = Ask::opened("one", "digest", body, 0);
        let ask = Ask { state: State::Answered(answer.clone()), ..opened };
        (applied_sentence(&ask, &answer), undo_sentence(&ask, None))
    }

    #[test]
    fn what_an_answer_did_is_told_as_it_was_answered() {
        let said = |decision, scope| Answer { scope, ..Answer::new(decision, ana(), 1) };
        let no = said(Decision::Deny, None);
        let yes = said(Decision::Approve, Some(Scope::Once));
        let words = Some("later".to_owned());
        let with_words = |answer: &Answer| Answer { reason: words.clone(), ..answer.clone() };
        let then = |then| Answer { then, ..with_words(&no) };
        let lasting = |scope| said(Decision::Approve, Some(scope));
        let plain = |answer| told(|_| {}, answer).0;
        for (answer, sentence) in [
            (no.clone(), "Denied."),
            (with_words(&no), "Denied; the agent reads your words."),
            (then(OnDeny::Stop), "Denied; the agent must stop."),
            (then(OnDeny::Explain), "Denied; the agent must explain itself."),
            (said(Decision::Answer, None), "Answered."),
            (said(Decision::Edit, None), "Approved with the change."),
            (yes.clone(), "Approved once."),
            (with_words(&yes), "Approved once, with your note."),
            (lasting(Scope::Always), "Approved, and always from now on: shell: make *."),
            (lasting(Scope::Exact), "Approved, and always from now on: shell: make."),
            (
                lasting(Scope::Prefix),
                "Approved, and always from now on: commands that begin with `make`.",
            ),
            (lasting(Scope::Session), "Approved, and for the rest of this session: shell: make *."),
            (lasting(Scope::Timed(600)), "Approved, and for 10 min in this session: shell: make."),
        ] {
            assert_eq!(plain(answer), sentence);
        }
        let short = |body: &mut Body| body.lasts = GrantLifetime::Session;
        let session = "Approved, and for the rest of this session: shell: make *.";
        assert_eq!(told(short, lasting(Scope::Always)).0, session);

        let questions = json!([{"question": "Which?", "options": []}]);
        let asks = |body: &mut Body| {
            body.call.questions = serde_json::from_value(questions.clone()).unwrap_or_default();
        };
        assert_eq!(told(asks, no.clone()).0, "Declined.");

        let resumes = |body: &mut Body| body.resumes = Some("token".to_owned());
        assert_eq!(told(resumes, yes.clone()).0, "Resumed: its calls are accepted again.");
        assert_eq!(
            told(resumes, no.clone()).0,
            "It stays paused. `countersign token resume a` resumes it."
        );

        let calls = [BudgetCall { tool: "t".to_owned(), args: json!({}), cwd: None }; 1];
        let budget = Budget { for_s: 600, calls: calls.into() };
        let budget = |body: &mut Body| body.call.budget = Some(budget.clone());
        assert_eq!(
            told(budget, yes.clone()).0,
            "Approved: each of these 1 may run once, for 10 minutes."
        );
        assert_eq!(told(budget, no.clone()).0, "Denied.");

        let appeal = Appeal { against: "it".to_owned(), reason: String::new() };
        let appeal = |body: &mut Body| body.call.appeal = Some(appeal.clone());
        assert_eq!(
            told(appeal, yes.clone()).0,
            "Approved: the agent may try exactly this once more."
        );
        assert_eq!(told(appeal, no).0, "Denied.");

        let undone = [
            told(budget, yes.clone()).1,
            told(appeal, yes).1,
            told(|_| {}, lasting(Scope::Exact)).1,
            told(|body| body.always.push(Rule::allow("Bash", "ls")), lasting(Scope::Always)).1,
        ];
        assert_eq!(
            undone,
            [
                "Undone: what is left of the budget asks again.",
                "Undone: unless it ran already, it stays blocked.",
                "Undone: shell: make no longer holds. A call that already runs is not stopped.",
                "Undone: shell: make *, Bash: ls no longer hold. A call that already runs is not \
                 stopped.",
            ]
        );
    }

    #[test]
    fn who_comes_too_late_is_told_how_the_ask_ended() {
        let end = |state: fn(Answer) -> State| {
            let answer = Answer::new(Decision::Deny, By::Caller, 1);
            Ask { state: state(answer), ..ended(Decision::Deny, ana(), None) }
        };
        let words = || "words".to_owned();
        for (state, refusal, told, sentence) in [
            (State::Answered as fn(_) -> _, Refusal::Closed(words()), Told::Already, "words"),
            (State::Expired, Refusal::Closed(words()), Told::Expired, "words"),
            (State::Cancelled, Refusal::Closed(words()), Told::Cancelled, "words"),
            (State::Answered, Refusal::Over(words()), Told::Expired, "words"),
            (State::Expired, Refusal::Unfit(words()), Told::Unfit, "words"),
            (
                State::Cancelled,
                Refusal::Late("12:00".to_owned()),
                Told::Expired,
                "Too late: the deadline passed at 12:00, and the agent has its answer.",
            ),
        ] {
            let ask = end(state);
            assert_eq!(refuse(ask.clone(), &refusal), reply(told, sentence, Some(ask)));
        }
    }

    #[test]
    fn that_nothing_changed_is_said_only_where_it_is_certain() {
        let damaged = StoreError::DamagedAsk { ask: "one".to_owned(), why: "cut".to_owned() };
        let lost = StoreError::Uncertain("lost".to_owned());
        let errors = [lost, damaged, StoreError::Late, StoreError::Closed];
        let nothing = "This could not be recorded; nothing changed. Try again.";
        let told = [
            "Connection to the database lost. Press again to see whether your answer was recorded.",
            "This ask is damaged in the store, so nobody can answer it.",
            nothing,
            nothing,
        ];
        assert_eq!(errors.map(|error| fault_sentence(&error)), told);
    }
}
