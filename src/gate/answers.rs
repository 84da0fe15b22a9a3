//! The one function that answers asks, for every surface.

use super::{
    Policy, SubmitError,
    answer::{Action, Change, EditStep, NO_EDIT, Refusal, Words, apply, person},
    approvers::{Approver, Approvers, Who},
    ask::{
        Answer, Ask, By, Decision, Scope, State, StoredRules,
        edit::{ProposedEdit, edited, edited_text},
    },
    evaluate::Evaluator,
    expire::Deadlines,
    granted_rules::grants_for,
    grants::StoredGrants,
    monotonic::Looker,
    open_asks::{OpenAsks, to_the_end},
    pause::sentence,
    undo,
};
use crate::{
    clock,
    store::{Closed, StoreError, UNDO_MS},
};
use countersign_policy::Verdict;
use countersign_profiles::{GrantLifetime, OnDeny};
use serde_json::json;
use std::sync::Arc;

/// What really happened to an attempt to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// In one word.
    pub told: Told,
    /// In one sentence, for the one who tried.
    pub sentence: String,
    /// The ask as it stands now, where the one who tried may see it.
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
    /// Free text is wanted.
    TextWanted,
    /// Somebody was first.
    Already,
    /// The deadline had passed.
    Expired,
    /// The caller took the ask back.
    Cancelled,
    /// The one who tried may not answer.
    NotAllowed,
    /// There is no such ask.
    Unknown,
    /// It cannot be done to this ask.
    Unfit,
    /// It could not be recorded. Nothing changed.
    Fault,
}

/// Said to whoever presses what cannot be read any more.
pub const DAMAGED: &str = "This ask is damaged in the store, so nobody can answer it.";

/// More lost races than this mean that something is wrong.
const TRIES: usize = 16;

/// Answers asks.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) open: Arc<OpenAsks>,
    pub(super) policy: Arc<Policy>,
    pub(super) approvers: Arc<Approvers>,
    pub(super) evaluator: Arc<Evaluator>,
    pub(super) deadlines: Arc<Deadlines>,
    pub(super) grants: Arc<StoredGrants>,
}

impl Answers {
    /// Answers an ask, or says why not. Every surface comes through here, with the ask as it read
    /// it.
    // INVARIANT: what follows an answer follows though its presser has left meanwhile: whoever
    // waits for it is told, and what was granted stands in the rules file.
    pub(super) async fn answer(self: &Arc<Self>, ask: Ask, who: Who, action: Action) -> Reply {
        let (answers, id) = (self.clone(), ask.id.clone());
        let answering = to_the_end(async move { answers.try_answer(ask, &who, &action).await });
        match answering.await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::error!(ask_id = id, %error, "a press could not be recorded");
                let sentence = match error {
                    StoreError::Uncertain(_) => {
                        "Connection to the database lost. Press again to see whether your answer was \
                         recorded."
                    }
                    error if error.is_of_a_row() => DAMAGED,
                    _ => "This could not be recorded; nothing changed. Try again.",
                };
                reply(Told::Fault, sentence, None)
            }
        }
    }

    // INVARIANT: what counts is how the row stands when it is changed: whoever saw it otherwise
    // looks at it as it is, and tries again.
    async fn try_answer(
        &self,
        mut ask: Ask,
        who: &Who,
        action: &Action,
    ) -> Result<Reply, StoreError> {
        let approver = match self.approvers.admit(who.clone()) {
            Ok(approver) => approver,
            Err(stranger) => {
                self.note_stranger(&ask, who).await?;
                return Ok(reply(Told::NotAllowed, stranger.0, None));
            }
        };
        let action = match self.judged(&ask, &approver, action).await? {
            Ok(action) => action,
            Err(sentence) => return Ok(reply(Told::Unfit, &sentence, Some(ask))),
        };
        for _ in 0..TRIES {
            let now = clock::now_ms();
            let changed = match apply(&ask, &approver, action.clone(), now) {
                Err(Refusal::Late(_)) => {
                    // The row says what that comes to: it has expired, or got the time it lacked.
                    let _ = self.deadlines.expire(&ask, Looker::First).await?;
                    self.open.store.ask(&ask.id).await?.map_or(Closed::Unknown, Closed::Lost)
                }
                Err(refusal) => return Ok(refuse(ask, &refusal)),
                Ok(Change::WantText(prompt)) => {
                    return Ok(reply(Told::TextWanted, &prompt, Some(ask)));
                }
                Ok(Change::Go(progress)) => {
                    self.open.store.note_progress(&ask, &progress, now).await?
                }
                Ok(Change::Nothing) => return Ok(reply(Told::Noted, "", Some(ask))),
                Ok(Change::Undo(undone)) => self.open.store.undo(&ask, &undone).await?,
                Ok(Change::Close(mut answer)) => {
                    // The store has the last word; this says why.
                    if answer.decision != Decision::Deny
                        && let Some(pause) = self.open.store.pause().await?
                    {
                        let words =
                            format!("{}: only a denial counts until /resume.", sentence(&pause));
                        return Ok(reply(Told::Unfit, &words, Some(ask)));
                    }
                    let grants = grants_for(&ask, &answer, person(&approver));
                    answer.stored.undo_until = (!grants.is_empty()).then_some(now + UNDO_MS);
                    self.open.store.close_ask(&ask, &State::Answered(*answer), &grants).await?
                }
            };
            match changed {
                Closed::Won(ask) if ask.is_open() => {
                    self.open.changed();
                    let words = match action {
                        Action::Propose(_) => {
                            "Proposed. The card shows the change: approve it there."
                        }
                        _ => "Noted.",
                    };
                    return Ok(reply(Told::Noted, words, Some(ask)));
                }
                Closed::Won(ask) if action == Action::Undo => return Ok(self.undone(ask).await),
                Closed::Won(ask) => return Ok(self.applied(ask).await),
                Closed::Lost(now) => ask = now,
                Closed::Unknown => {
                    return Ok(reply(Told::Unknown, "There is no such ask (any more).", None));
                }
            }
        }
        Ok(reply(Told::Fault, "Too much happens to this ask at once; try again.", None))
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
            Action::Words { wanted: Words::Edit, text: Some(text) } => text.clone(),
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
        let decision = match self.evaluator.judge(&call).await {
            Ok(decision) => decision,
            Err(SubmitError::Store(error)) => return Err(error),
            Err(error) => return Ok(Err(format!("The change cannot be judged: {error}"))),
        };
        if decision.verdict == Verdict::Deny {
            return Ok(Err(format!("The rules deny that change: {}", decision.reason)));
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

    /// After the commit: wake the waiter, tell the surfaces, keep what was granted.
    async fn applied(&self, ask: Ask) -> Reply {
        // First the waiter: the rule holds from the commit on, its place in the file is for people
        // to read.
        self.open.closed(&ask);
        let stored = self.grants.store_always(&ask).await;
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
        let cascades = self.policy.system().prompt_behaviour().cascade;
        if cascades && answer.scope.is_some_and(|scope| scope != Scope::Once) {
            self.cascade(&ask).await;
        }
        reply(Told::Applied, &sentence, Some(ask))
    }

    /// After the commit: tell the surfaces, and take the rules out of the file.
    async fn undone(&self, ask: Ask) -> Reply {
        self.open.changed();
        let kept = self.grants.remove_pending().await;
        tracing::info!(ask_id = %ask.id, "an answer was undone");
        let sentence = undo::sentence(&ask, kept.err().as_deref());
        reply(Told::Applied, &sentence, Some(ask))
    }

    /// An answer whose rules could not be stored was for once, and there is nothing to undo.
    async fn not_stored(&self, ask: &Ask) -> Option<Ask> {
        match self.open.store.end_undo(ask, false).await {
            Ok(Closed::Won(now) | Closed::Lost(now)) => {
                self.open.changed();
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
    async fn cascade(&self, granted: &Ask) {
        if let Err(error) = self.try_cascade(granted).await {
            tracing::warn!(ask_id = %granted.id, %error, "asks that a grant covers stay open");
        }
    }

    async fn try_cascade(&self, granted: &Ask) -> Result<(), StoreError> {
        let call = &granted.body.call;
        for id in self.open.store.open_in_session(&call.agent, &call.session).await? {
            let Some(ask) = self.open.store.whole_ask(&id).await?.filter(Ask::is_open) else {
                continue;
            };
            if ask.is_question() || ask.progress.edit.is_some() {
                continue;
            }
            let ruling = match self.evaluator.decide(&ask.body.call).await {
                Ok(ruling) => ruling,
                Err(SubmitError::Store(error)) => return Err(error),
                // FAIL-CLOSED: what cannot be ruled on stays an ask.
                Err(_) => continue,
            };
            if ruling.verdict != Verdict::Allow {
                continue;
            }
            let grant = ruling.rule.unwrap_or_else(|| words(granted));
            let answer = Answer {
                decision: Decision::Approve,
                scope: Some(Scope::Once),
                stored: StoredRules::default(),
                reason: None,
                then: OnDeny::GoOn,
                answers: None,
                updated: None,
                by: By::Policy { grant },
                at: clock::now_ms(),
            };
            if let Closed::Won(ask) = self.open.close(&ask, State::Answered(answer)).await? {
                tracing::info!(ask_id = %ask.id, by = %granted.id, "ask resolved by a new grant");
            }
        }
        Ok(())
    }

    async fn note_stranger(&self, ask: &Ask, who: &Who) -> Result<(), StoreError> {
        tracing::warn!(ask_id = %ask.id, platform = who.platform, presser = %who.id,
            "somebody who is no approver tried to answer");
        let data = json!({"platform": who.platform, "id": who.id, "name": who.name});
        self.open.store.note(clock::now_ms(), "refused", Some(&ask.id), &data).await
    }
}

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

fn applied_sentence(ask: &Ask, answer: &Answer) -> String {
    match (answer.decision, answer.scope) {
        (Decision::Deny, _) if ask.is_question() => "Declined; the agent is told so.".to_owned(),
        (Decision::Deny, _) => match answer.then {
            OnDeny::GoOn if answer.reason.is_some() => "Denied; the agent reads your words.",
            OnDeny::GoOn => "Denied.",
            OnDeny::Stop => "Denied; the agent is told to stop.",
            OnDeny::Explain => "Denied; the agent is told to explain itself.",
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
        (Decision::Approve, Some(Scope::Timed(seconds))) => {
            let time = clock::span(i64::from(seconds) * 1000);
            format!("Approved, and for {time} in this session: {}.", words(ask))
        }
        (Decision::Approve, _) if answer.reason.is_some() => {
            "Approved once, with your note.".to_owned()
        }
        (Decision::Approve, _) => "Approved once.".to_owned(),
    }
}

fn reply(told: Told, sentence: &str, ask: Option<Ask>) -> Reply {
    Reply { told, sentence: sentence.to_owned(), ask }
}
