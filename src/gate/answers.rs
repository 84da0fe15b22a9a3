//! The one function that answers asks, for every surface.

use super::{
    answer::{Action, Change, Refusal, apply, person},
    approvers::Who,
    ask::{Ask, Decision, Scope, State, votes::Vote},
    call::Call,
    evaluate::Evaluator,
    expire::Deadlines,
    granted_rules::grants_for,
    grants::StoredGrants,
    in_force::InForce,
    monotonic::Looker,
    open_asks::{OpenAsks, to_the_end},
    pause::sentence,
    quorum::{self, Weighed},
    reconsider::approve_allowed,
    reply::{Reply, Told, applied_sentence, fault_sentence, refuse, reply, words},
    role_source::CurrentRoles,
    undo,
    uses::GrantUses,
};
use countersign_store::{Closed, StoreError, UNDO_MS};
use countersign_tokens::clock;
use serde_json::json;
use std::sync::Arc;

/// More lost races than this mean that something is wrong.
const TRIES: usize = 16;

/// What one try came to.
enum Attempt {
    /// There is nothing more to do.
    Over(Reply),
    /// What became of the row, and of which action.
    Done(Closed, Action),
}

/// Answers asks.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
    pub(super) evaluator: Arc<Evaluator>,
    pub(super) deadlines: Arc<Deadlines>,
    pub(super) grants: Arc<StoredGrants>,
    pub(super) uses: Arc<GrantUses>,
    pub(super) roles: CurrentRoles,
}

impl Answers {
    /// Answers an ask, or says why not. Every surface comes through here, with the ask as it read
    /// it.
    // INVARIANT: what follows an answer follows though its presser has left meanwhile: its waiters
    // are told, and what was granted is written to the rules file.
    pub(super) async fn answer(self: &Arc<Self>, ask: Ask, who: Who, action: Action) -> Reply {
        let (answers, id) = (self.clone(), ask.id.clone());
        // Boxed: a task is moved several times before it runs, and a debug build copies it on a
        // stack that has no room for so large a one.
        let answering =
            to_the_end(async move { Box::pin(answers.try_answer(ask, &who, &action)).await });
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
        &self,
        mut ask: Ask,
        who: &Who,
        action: &Action,
    ) -> Result<Reply, StoreError> {
        for _ in 0..TRIES {
            if let Err(why) = self.refresh_roles(&mut ask, who).await {
                return Ok(reply(Told::Fault, &why, None));
            }
            match self.attempt(ask, who, action).await? {
                Attempt::Over(reply) => return Ok(reply),
                Attempt::Done(Closed::Won(ask), Action::Undo) => return Ok(self.undone(ask).await),
                Attempt::Done(Closed::Won(ask), action) if ask.is_open() => {
                    self.open.changed();
                    let words = match action {
                        Action::Propose(_) => {
                            "Proposed. The card shows the change: approve it there."
                        }
                        _ => "Noted.",
                    };
                    return Ok(reply(Told::Noted, words, Some(ask)));
                }
                Attempt::Done(Closed::Won(ask), _) => return Ok(self.applied(ask).await),
                Attempt::Done(Closed::Lost(now), _) => ask = now,
                Attempt::Done(Closed::Unknown, _) => return Ok(unknown()),
            }
        }
        Ok(reply(Told::Fault, "Too much happens to this ask at once; try again.", None))
    }

    /// Reads anew which roles earlier voters have: before an attempt, which keeps a reload waiting,
    /// and not for those who may not answer.
    async fn refresh_roles(&self, ask: &mut Ask, who: &Who) -> Result<(), String> {
        let approvers = &self.in_force.now().approvers;
        let Ok(approver) = self.in_force.admit(who.clone()) else { return Ok(()) };
        match quorum::may_answer(ask, &approvers.people, &approver) {
            Ok(()) => self.roles.refresh(ask, approvers).await,
            Err(_) => Ok(()),
        }
    }

    /// Tries once, on the ask as it was read last.
    // SECURITY: each try admits its presser anew, and a reload waits until it is over: who was
    // removed when a reload returned has no press left.
    async fn attempt(&self, ask: Ask, who: &Who, action: &Action) -> Result<Attempt, StoreError> {
        let _reload_waits = self.in_force.opening().await;
        let over = |reply| Ok(Attempt::Over(reply));
        let approver = match self.in_force.admit(who.clone()) {
            Ok(approver) => approver,
            Err(stranger) => {
                self.note_stranger(&ask, who).await?;
                return over(reply(Told::NotAllowed, stranger.0, None));
            }
        };
        let approvers = &self.in_force.now().approvers;
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
                let _ = self.deadlines.expire(&ask, Looker::First).await?;
                self.open.store.ask(&ask.id).await?.map_or(Closed::Unknown, Closed::Lost)
            }
            Err(refusal) => return over(refuse(ask, &refusal)),
            Ok(Change::WantText(prompt)) => {
                return over(reply(Told::TextWanted, &prompt, Some(ask)));
            }
            Ok(Change::Go(progress)) => self.open.store.note_progress(&ask, &progress, now).await?,
            Ok(Change::Nothing) => return over(reply(Told::Noted, "", Some(ask))),
            Ok(Change::Undo(undone)) => self.open.store.undo(&ask, &undone).await?,
            Ok(Change::Close(answer)) => {
                // The store has the last word; this says why.
                if answer.decision != Decision::Deny
                    && let Some(pause) = self.open.store.pause().await?
                {
                    let words =
                        format!("{}: only a denial counts until /resume.", sentence(&pause));
                    return over(reply(Told::Unfit, &words, Some(ask)));
                }
                let mut answer = match quorum::weigh(&ask, approvers, &approver, *answer) {
                    Weighed::Answer(answer) => answer,
                    Weighed::Votes(votes) => match self.voted(&ask, &votes, now).await? {
                        Some(reply) => return over(reply),
                        None => {
                            let read = self.open.store.ask(&ask.id).await?;
                            let again = read.map_or(Closed::Unknown, Closed::Lost);
                            return Ok(Attempt::Done(again, action));
                        }
                    },
                };
                let grants = grants_for(&ask, &answer, person(&approver));
                answer.stored.undo_until = (!grants.is_empty()).then_some(now + UNDO_MS);
                self.open.store.close_ask(&ask, &State::Answered(*answer), &grants).await?
            }
        };
        Ok(Attempt::Done(changed, action))
    }

    /// After the commit: wake the waiter, tell the surfaces, keep what was granted.
    async fn applied(&self, ask: Ask) -> Reply {
        // First the waiter: the rule holds from the commit on, its place in the file is for people
        // to read.
        self.open.closed(&ask);
        if let (Some(review), Some(answer)) = (&ask.body.review, ask.answer()) {
            let (review, answer) = (review.clone(), answer.clone());
            return self.reviewed(ask, &review, &answer).await;
        }
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
        let cascades = self.in_force.system().prompt_behaviour().cascade;
        if cascades && answer.scope.is_some_and(|scope| scope != Scope::Once) {
            self.cascade(&ask).await;
        }
        reply(Told::Applied, &sentence, Some(ask))
    }

    /// Records a vote; `None` where the row is not as it was read.
    async fn voted(
        &self,
        ask: &Ask,
        votes: &[Vote],
        now: i64,
    ) -> Result<Option<Reply>, StoreError> {
        let Closed::Won(ask) = self.open.store.note_votes(ask, votes, now).await? else {
            return Ok(None);
        };
        self.open.changed();
        tracing::info!(ask_id = %ask.id, "a vote was recorded");
        let sentence = quorum::sentence(&ask, &self.in_force.now().approvers.people);
        Ok(Some(reply(Told::Voted, &sentence, Some(ask))))
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
        let Call { agent, session, .. } = &granted.body.call;
        let covered = async {
            let asks = self.open.store.open_in_session(agent, session).await?;
            let (open, uses, granted) = (&self.open, &self.uses, words(granted));
            approve_allowed(open, &self.evaluator, uses, &asks, Some(&granted)).await
        };
        if let Err(error) = covered.await {
            tracing::warn!(ask_id = %granted.id, %error, "asks that a grant covers stay open");
        }
    }

    async fn note_stranger(&self, ask: &Ask, who: &Who) -> Result<(), StoreError> {
        tracing::warn!(ask_id = %ask.id, platform = who.platform, presser = %who.id,
            "somebody who is no approver tried to answer");
        let data = json!({"platform": who.platform, "id": who.id, "name": who.name});
        self.open.store.note(clock::now_ms(), "refused", Some(&ask.id), &data).await
    }
}

fn unknown() -> Reply {
    reply(Told::Unknown, "There is no such ask (any more).", None)
}
