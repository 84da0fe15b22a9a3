//! Taking calls: what policy does not rule becomes an ask, with its caller.

use super::{
    Attendance, Audience, Gate, OnTimeout,
    ask::{Ask, Body, Silence},
    call::{Call, Malformed},
    granting, large, load,
};
use crate::{
    clock, ids,
    store::{Inserted, NewAsk, NewCard, StoreError},
};
use countersign_policy::{Ruling, Verdict, effects};
use countersign_profiles::{OnDeny, OnDisconnect};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What became of a call.
#[derive(Debug)]
#[must_use]
pub enum Handed {
    /// Policy ruled.
    Ruled(Box<Ruling>),
    /// A person has to; with the caller that waits for it, if one does and the ask is open.
    Asked(Box<Ask>, Option<Attendance>),
}

/// Why a call was not taken. None of these lets it run.
#[derive(Debug, thiserror::Error)]
pub enum HandInError {
    /// The caller's mistake.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The same key for another call.
    #[error(
        "the key `{0}` was used in this session for another call; a key names exactly one call"
    )]
    KeyTaken(String),
    /// The daemon stops, and asks nobody any more.
    #[error("this daemon stops; hand the call in again, with the same key, in a moment")]
    Stopping,
    /// The policy cannot rule on it.
    #[error("{0}")]
    Unruled(String),
    /// More than may be open at once.
    #[error("{0}")]
    TooMuch(String),
    /// Ours.
    #[error(transparent)]
    Store(#[from] StoreError),
}

enum Opened {
    Ruled(Box<Ruling>),
    Ask(Box<Ask>),
}

impl Gate {
    /// Takes a call: rules on it, and where a person has to answer, opens an ask. An `attended`
    /// call has a caller that waits for the answer; when it leaves, now or later, its ask is taken
    /// back.
    ///
    /// # Errors
    /// [`HandInError`]; the call may then not run.
    // INVARIANT: an ask is opened together with its caller, and that is finished though the caller
    // has left: no ask stays open that nobody waits for, and none that is stored goes unannounced.
    pub async fn hand_in(
        self: &Arc<Self>,
        call: Call,
        attended: bool,
    ) -> Result<Handed, HandInError> {
        let gate = self.clone();
        let handed = tokio::spawn(async move { gate.take(call, attended).await });
        // It ends early only with its runtime.
        handed.await.unwrap_or(Err(HandInError::Stopping))
    }

    async fn take(self: Arc<Self>, call: Call, attended: bool) -> Result<Handed, HandInError> {
        let id = ids::ask_id();
        match self.opened(&id, call, attended).await {
            Ok(Opened::Ruled(ruling)) => Ok(Handed::Ruled(ruling)),
            Ok(Opened::Ask(ask)) => {
                let caller = (attended && ask.is_open()).then(|| self.attend(&ask.id));
                Ok(Handed::Asked(ask, caller))
            }
            Err(error) => {
                if attended && matches!(error, HandInError::Store(StoreError::Uncertain(_))) {
                    // It may be open, and its caller is told that it is not known to be.
                    drop(self.attend(&id));
                }
                Err(error)
            }
        }
    }

    async fn opened(&self, id: &str, call: Call, attended: bool) -> Result<Opened, HandInError> {
        if self.is_stopping() {
            return Err(HandInError::Stopping);
        }
        let bytes = large::bytes(&call);
        let read = || call.spell_out().and_then(|call| call.check().map(|()| call));
        let call = self.beside(bytes, read).await?;
        let (mut ruling, problem) = self.rule_in_turn(&call).await?;
        if !call.questions.is_empty() && ruling.verdict == Verdict::Allow {
            // No rule can answer a question.
            ruling.verdict = Verdict::Ask;
            ruling.reason = "a question is answered by a person".to_owned();
        }
        if ruling.verdict != Verdict::Ask {
            self.note_ruling(&call, &ruling).await?;
            return Ok(Opened::Ruled(Box::new(ruling)));
        }
        let digest = self.beside(bytes, || call.digest()).await;
        let (now, since) = (clock::now_ms(), Instant::now());
        let attended =
            attended && self.policy.system().prompt_behaviour().on_disconnect != OnDisconnect::Keep;
        let here = attended.then_some(self.settings.daemon.as_str());
        let new = NewAsk {
            id: id.to_owned(),
            deadline_at: self.deadline(&call, now),
            attended,
            body: self.body(call, ruling, problem),
            digest,
            daemon: self.settings.daemon.clone(),
            keepers: here.into_iter().collect(),
            created_at: now,
        };
        let cards: Vec<_> = self.audience.iter().map(new_card).collect();
        let room = self.make_room(&new.body.call, load::size(&new.body)).await?;
        match self.store.insert_ask(&new, &cards).await? {
            Inserted::New(ask) => {
                room.fill();
                self.count_wait(&ask, since);
                tracing::info!(ask_id = %ask.id, agent = %ask.body.call.agent,
                    tool = %ask.body.call.tool, "asking a person");
                self.changed();
                Ok(Opened::Ask(Box::new(ask)))
            }
            Inserted::Known(ask) if ask.digest == new.digest => Ok(Opened::Ask(Box::new(ask))),
            Inserted::Known(ask) => {
                Err(HandInError::KeyTaken(ask.body.call.key.unwrap_or_default()))
            }
        }
    }

    /// The unchanging part of a new ask.
    fn body(&self, call: Call, mut ruling: Ruling, rules_problem: Option<String>) -> Body {
        let behaviour = self.policy.system().prompt_behaviour();
        if !call.questions.is_empty() {
            // A question runs nothing, and no rule can answer the next one.
            ruling.always.clear();
            ruling.exact.clear();
            ruling.prefix.clear();
            ruling.effects.clear();
        }
        effects::worst_first(&mut ruling.effects);
        let category = call.category.as_deref().unwrap_or("exec");
        Body {
            why: ruling.reason,
            rule: ruling.rule,
            always: ruling.always,
            exact: ruling.exact,
            prefix: ruling.prefix.iter().map(|text| granting::of_prefix(category, text)).collect(),
            effects: ruling.effects.iter().map(ToString::to_string).collect(),
            critical: ruling.critical,
            rules_problem,
            choices: behaviour.choices.to_vec(),
            deny: if call.questions.is_empty() { behaviour.deny } else { OnDeny::GoOn },
            lasts: behaviour.always,
            silence: self.silence(&call, ruling.critical),
            prompt: ruling.prompt,
            owner: call.owner.clone(),
            call,
        }
    }

    /// An ask that silence approves waits since then.
    fn count_wait(&self, ask: &Ask, since: Instant) {
        let left = ask.deadline_at.and_then(|at| u64::try_from(at - ask.created_at).ok());
        if let Some(left) = left.filter(|_| ask.body.silence == Silence::Approve) {
            self.monotonic.count(&ask.id, since, Duration::from_millis(left));
        }
    }

    async fn note_ruling(&self, call: &Call, ruling: &Ruling) -> Result<(), StoreError> {
        tracing::info!(agent = %call.agent, tool = %call.tool, verdict = %ruling.verdict,
            reason = %ruling.reason, "ruled");
        if ruling.verdict != Verdict::Deny {
            return Ok(());
        }
        let data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
            "verdict": ruling.verdict, "reason": ruling.reason});
        self.store.note(clock::now_ms(), "ruled", None, &data).await
    }

    pub(super) fn deadline(&self, call: &Call, now: i64) -> Option<i64> {
        const LONGEST_MS: i64 = 7 * 86_400_000;
        match (call.expires_in_s, &self.settings.on_timeout) {
            (Some(seconds), _) => {
                let ms = i64::try_from(seconds).unwrap_or(LONGEST_MS).saturating_mul(1000);
                Some(now + ms.min(LONGEST_MS))
            }
            (None, OnTimeout::Wait) => None,
            (None, _) => Some(now + self.settings.timeout_ms),
        }
    }
}

fn new_card(audience: &Audience) -> NewCard {
    NewCard {
        nonce: ids::nonce(),
        adapter: audience.adapter.clone(),
        target: audience.target.clone(),
    }
}
