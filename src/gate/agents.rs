//! Agents: those with tokens of their own and their limits, the names that nobody else takes, and
//! sessions, with the mode that one has of its own.

use super::{
    ApproverError, Gate, SubmitError, Told,
    answer::Action,
    approvers::{Stranger, Who},
    ask::{Ask, Body, Owner, Scope},
    call::Call,
    own, to_the_end,
};
use countersign_domain::wire::{TokenLimits, TokenScope};
use countersign_policy::{Decision, Verdict};
use countersign_port::line;
use countersign_store::{
    AgentLimit, AgentPause, AgentToken, NewAgentToken, Reads, Store, StoreError,
};
use countersign_tokens::{
    clock, ids,
    secret::{Secret, TokenHash},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How often it is looked for open asks of agents whose token has ended.
const LOOK: Duration = Duration::from_secs(5);
/// The tool that the card's call names.
const TOOL: &str = "resume_agent";
/// Why an ask is cancelled whose worker is gone.
pub const WORKER_GONE: &str = "its worker disconnected";
/// Why an ask is cancelled whose session is over.
pub const SESSION_ENDED: &str = "its session ended";

/// What became of a change of an agent's token.
#[derive(Debug)]
#[must_use]
pub enum TokenOutcome {
    /// It is done. The new token itself, where there is one, is shown this one time.
    Done(Box<AgentToken>, Option<Secret>),
    /// No agent of this name has a token.
    Unknown,
    /// An agent of this name has one.
    NameTaken,
    /// This daemon does not have what it would be for; the sentence says what.
    Unfit(String),
}

/// What became of an attempt to resume an agent.
#[derive(Debug)]
#[must_use]
pub enum AgentResumed {
    /// Its calls are accepted again.
    Done(Box<AgentToken>),
    /// It was not paused.
    NotPaused,
    /// No agent of this name has a token.
    Unknown,
    /// It is still paused, for the reason in this sentence.
    StillPaused(String),
}

/// What became of a wish for another mode.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ModeSet {
    /// The session has this mode now.
    Set(String),
    /// Only approvers may loosen.
    NotAllowed(&'static str),
}

/// Why a session's mode was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ModeError {
    /// The profile has no such mode; the sentence names those that it has.
    #[error("{0}")]
    Unknown(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gate {
    /// Makes a token for an agent with a new name.
    ///
    /// # Errors
    /// [`ApproverError`]
    pub async fn add_agent_token(
        &self,
        name: &str,
        reads: Reads,
        expires_at: Option<i64>,
        limits: TokenLimits,
        scope: TokenScope,
        who: Who,
    ) -> Result<TokenOutcome, ApproverError> {
        let by = self.person(who)?;
        if let Err(why) = self.choices().fit(&scope) {
            return Ok(TokenOutcome::Unfit(format!("the token {why}")));
        }
        let names = self.store.names_with_token().await?;
        if let Some(like) = names.iter().find(|it| *it != name && looks_like(name, it)) {
            let why = format!("`{name}` looks like `{like}`, which has a token");
            return Ok(TokenOutcome::Unfit(why));
        }
        let (secret, hash) = fresh();
        let id = ids::nonce();
        let name = name.to_owned();
        let new = NewAgentToken { id, name, hash, reads, by, expires_at, limits, scope };
        Ok(match self.store.add_agent_token(new, clock::now_ms()).await? {
            Some(token) => TokenOutcome::Done(Box::new(token), Some(secret)),
            None => TokenOutcome::NameTaken,
        })
    }

    /// Gives an agent another token; the one before is accepted for `overlap` longer.
    ///
    /// # Errors
    /// [`ApproverError`]
    pub async fn rotate_agent_token(
        &self,
        name: &str,
        overlap: Duration,
        who: Who,
    ) -> Result<TokenOutcome, ApproverError> {
        let by = self.person(who)?;
        let ((secret, hash), now) = (fresh(), clock::now_ms());
        let lasts = i64::try_from(overlap.as_millis()).unwrap_or(0);
        let until = (lasts > 0).then(|| now.saturating_add(lasts));
        let rotated = self.store.rotate_agent_token(name, &hash, until, &by, now).await?;
        Ok(rotated.map_or(TokenOutcome::Unknown, |token| {
            TokenOutcome::Done(Box::new(token), Some(secret))
        }))
    }

    /// Revokes an agent's token and cancels what it still asks.
    ///
    /// # Errors
    /// [`ApproverError`]; where the token was revoked, its asks are cancelled in a moment.
    pub async fn revoke_agent_token(
        self: &Arc<Self>,
        name: &str,
        who: Who,
    ) -> Result<TokenOutcome, ApproverError> {
        let by = self.person(who)?;
        let gate = self.clone();
        let name = name.to_owned();
        // A commit that began is finished, though the caller disconnects.
        let revoked = to_the_end(async move {
            let revoked = gate.store.revoke_agent_token(&name, &by, clock::now_ms()).await?;
            let Some(token) = revoked else { return Ok(TokenOutcome::Unknown) };
            tracing::warn!(agent = %name, by = %by, "an agent's token was revoked");
            gate.cancel_of(&name).await?;
            Ok(TokenOutcome::Done(Box::new(token), None))
        });
        Ok(revoked.await?)
    }

    /// The call under the name of the token that it brings, and that token.
    ///
    /// # Errors
    /// [`SubmitError::NotThisAgent`] where the token is not accepted any more, or a caller without
    /// it takes its name.
    // SECURITY: names of agents are widely known. Who has no token takes nobody's name who has one.
    pub(super) async fn named(
        &self,
        call: Call,
    ) -> Result<(Call, Option<AgentToken>), SubmitError> {
        let store = &self.store;
        let Some(id) = call.owner.as_ref().and_then(Owner::token) else {
            if let Some(why) = name_taken(store, &call.agent).await? {
                return Err(SubmitError::NotThisAgent(why));
            }
            return Ok((Call { claims: None, ..call }, None));
        };
        let token = store.agent_token(id).await?;
        // FAIL-CLOSED: a token without a row names no agent.
        let accepted = token.ok_or("its token is not known any more");
        let accepted = accepted
            .and_then(|token| token.is_accepted(clock::now_ms()).map(|()| token))
            .map_err(|why| SubmitError::NotThisAgent(format!("this agent is refused: {why}")))?;
        self.choices().fit(&accepted.scope).map_err(|why| not_for_this(&why))?;
        let claims = Some(call.agent).filter(|claims| *claims != accepted.name);
        Ok((Call { agent: accepted.name.clone(), claims, ..call }, Some(accepted)))
    }

    /// The new ask, cancelled where its token was revoked while it was stored.
    // INVARIANT: a revocation either finds the stored ask, or is found here.
    pub(super) async fn checked(self: &Arc<Self>, ask: Ask) -> Result<Ask, StoreError> {
        let Some(id) = ask.body.owner.as_ref().and_then(Owner::token) else { return Ok(ask) };
        let token = self.store.agent_token(id).await?;
        let Some(why) = why_refused(token.as_ref()) else { return Ok(ask) };
        Ok(self.cancel(&ask.id, why).await?.unwrap_or(ask))
    }

    /// Cancels what agents still ask whose token has ended, until told to stop.
    pub async fn cancel_ended(self: &Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            if let Err(error) = self.cancel_ended_now().await {
                tracing::debug!(%error, "asks of agents without a token stay open for now");
            }
        }
    }

    async fn cancel_ended_now(self: &Arc<Self>) -> Result<(), StoreError> {
        for name in self.store.agents_without_token(clock::now_ms()).await? {
            self.cancel_of(&name).await?;
        }
        Ok(())
    }

    /// Cancels the open asks of agents with this name whose token is not accepted.
    async fn cancel_of(self: &Arc<Self>, name: &str) -> Result<(), StoreError> {
        for id in self.store.open_of_agent(name).await? {
            let Some(ask) = self.store.whole_ask(&id).await? else { continue };
            // One of another token with this name, or of nobody's, is left alone.
            let owner = ask.body.owner.as_ref().and_then(Owner::token);
            let Some(token) = owner.or(ask.body.resumes.as_deref()) else { continue };
            let token = self.store.agent_token(token).await?;
            if let Some(why) = why_refused(token.as_ref()) {
                self.cancel(&id, why).await?;
            }
        }
        Ok(())
    }

    /// The denial of a call whose agent is paused, unless its caller comes back to an ask that it
    /// has.
    pub(super) async fn while_agent_paused(
        &self,
        call: &Call,
        token: &AgentToken,
    ) -> Result<Option<Decision>, StoreError> {
        let Some(pause) = &token.pause else { return Ok(None) };
        if self.is_known(call).await? {
            return Ok(None);
        }
        Ok(Some(self.denied_by_limit(call, &token.name, &pause.why)))
    }

    /// Pauses an agent that would break a limit, unless it is paused; the denial of its call.
    // FAIL-CLOSED: the call is denied though the pause could not be stored.
    pub(super) async fn over_limit(
        &self,
        call: &Call,
        token: &AgentToken,
        limit: AgentLimit,
    ) -> Result<Decision, SubmitError> {
        let why = match (limit, self.store.agent_token(&token.id).await?) {
            (AgentLimit::Paused, Some(AgentToken { pause: Some(pause), .. })) => pause.why,
            (limit, _) => limit.to_string(),
        };
        if limit != AgentLimit::Paused {
            self.pause_agent(call, token, &why).await?;
        }
        Ok(self.denied_by_limit(call, &token.name, &why))
    }

    async fn pause_agent(
        &self,
        call: &Call,
        token: &AgentToken,
        why: &str,
    ) -> Result<(), SubmitError> {
        let title = format!("{} is paused: {why}", token.name);
        // Nobody names this session: the agent could cancel what is asked in one of its own.
        let session = format!("limits-{}", ids::nonce());
        let resumption = Call {
            host: call.host.clone(),
            ..Call::new(&token.name, session, TOOL, json!({ "title": title }))
        };
        let decided = countersign_policy::decision::facts(&resumption.for_policy(None));
        let facts = self.facts(&resumption).await;
        let handling = self.handling(&resumption, &facts, &decided).await;
        let body = Body {
            choices: Vec::new(),
            // Whoever may answer at all may make an agent's token, too.
            plan: handling.plan,
            steps: handling.steps,
            resumes: Some(token.id.clone()),
            ..Body::new(resumption, title)
        };
        // It waits until somebody answers.
        let new = own(body, clock::now_ms(), None);
        let _opening = self.opening.read().await;
        let cards = self.choices().cards(new.body.plan.as_ref());
        if self.store.pause_agent(token, why, &new, &cards).await?.is_some() {
            tracing::warn!(agent = %token.name, why, "an agent is paused");
            self.load.is_outdated();
            self.changed();
        }
        Ok(())
    }

    fn denied_by_limit(&self, call: &Call, name: &str, why: &str) -> Decision {
        let mut denial = countersign_policy::decision::facts(&call.for_policy(None));
        (denial.verdict, denial.rule) = (Verdict::Deny, None);
        denial.reason = format!(
            "the agent `{name}` is paused: {why}. Nothing of it runs until a person resumes it, \
             on its card or with `countersign token resume {name}`"
        );
        denial
    }

    /// Resumes an agent that a limit has paused: answers the ask for it, where that is open.
    ///
    /// # Errors
    /// [`ApproverError`]
    pub async fn resume_agent(
        self: &Arc<Self>,
        name: &str,
        who: Who,
    ) -> Result<AgentResumed, ApproverError> {
        let by = self.person(who.clone())?;
        let store = &self.store;
        let Some(token) = store.agent_token_named(name).await? else {
            return Ok(AgentResumed::Unknown);
        };
        let Some(AgentPause { ask, .. }) = &token.pause else { return Ok(AgentResumed::NotPaused) };
        let asked = store.whole_ask(ask).await?.filter(Ask::is_open);
        if let Some(asked) = asked {
            let reply = self.answer(asked, who, Action::Approve { scope: Scope::Once }).await;
            if reply.told != Told::Applied {
                return Ok(AgentResumed::StillPaused(reply.sentence));
            }
        } else {
            // It was answered with no, or is forgotten.
            store.resume_agent(name, &by, clock::now_ms()).await?;
        }
        self.changed();
        let token = store.agent_token_named(name).await?;
        Ok(token.map_or(AgentResumed::Unknown, |token| AgentResumed::Done(Box::new(token))))
    }

    /// Gives a session a mode of its own. Without an approver it can only be led back to the
    /// configured one.
    ///
    /// # Errors
    /// When there is no such mode, or the store fails; then nothing is changed.
    // SECURITY: a mode may allow what would be asked about; an agent never gives itself one.
    pub async fn set_mode(
        &self,
        agent: &str,
        session: &str,
        mode: &str,
        who: Option<Who>,
    ) -> Result<ModeSet, ModeError> {
        let choices = self.choices();
        choices.policy.system().check_mode(mode).map_err(ModeError::Unknown)?;
        let configured = choices.settings.mode.as_deref().unwrap_or("default");
        match who.map(|who| choices.approvers.admit(who)) {
            Some(Ok(_)) => {}
            None if mode == configured => {}
            Some(Err(Stranger(why))) => return Ok(ModeSet::NotAllowed(why)),
            None => {
                return Ok(ModeSet::NotAllowed(
                    "an agent's handle can only lead a session back to the configured mode; \
                     another one needs the approver's token",
                ));
            }
        }
        self.store.set_session_mode(agent, session, mode, clock::now_ms()).await?;
        tracing::info!(agent, session, mode, "the session's mode was set");
        Ok(ModeSet::Set(mode.to_owned()))
    }

    /// Ends a session: its open asks are cancelled, what was granted to it and its mode are over.
    /// One whose run is parked goes on. Returns how many asks that were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn end_session(
        self: &Arc<Self>,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        // Only its process has ended.
        if self.store.is_parked(agent, session).await? {
            return Ok(0);
        }
        let cancelled = self.abort_session(agent, session, why).await?;
        self.store.end_session(agent, session, clock::now_ms()).await?;
        // Its thread is closed, though none of its asks changed.
        self.changed();
        Ok(cancelled)
    }

    /// Cancels what a session still asks; what was granted to it holds. Returns how many asks that
    /// were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn abort_session(
        self: &Arc<Self>,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        let open = self.store.open_in_session(agent, session).await?;
        for id in &open {
            if self.store.whole_ask(id).await?.is_some() {
                self.cancel(id, why).await?;
            }
        }
        Ok(open.len())
    }

    /// Ends the sessions of a worker that is gone. Returns how many asks are cancelled by that.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn worker_gone(
        self: &Arc<Self>,
        agent: &str,
        worker: &str,
    ) -> Result<usize, StoreError> {
        let mut sessions: Vec<String> = Vec::new();
        for state in ["open", "answered"] {
            let note = |ask: &Ask| {
                let Call { agent: whose, session, worker: of, .. } = &ask.body.call;
                if whose == agent && of.as_deref() == Some(worker) && !sessions.contains(session) {
                    sessions.push(session.clone());
                }
            };
            self.store.each_ask_in(state, note).await?;
        }
        let mut cancelled = 0;
        for session in sessions {
            cancelled += self.end_session(agent, &session, WORKER_GONE).await?;
        }
        Ok(cancelled)
    }

    /// The one open ask of a session that `is` what is looked for.
    ///
    /// # Errors
    /// When the store fails.
    // SECURITY: an ask of another session is never found.
    pub async fn open_ask(
        &self,
        session: &str,
        is: impl Fn(&Ask) -> bool + Sync,
    ) -> Result<Option<Ask>, StoreError> {
        let mut found = Vec::new();
        let note = |ask: &Ask| {
            if ask.body.call.session == session && is(ask) {
                found.push(ask.clone());
            }
        };
        self.store.each_ask_in("open", note).await?;
        Ok(found.pop().filter(|_| found.is_empty()))
    }
}

/// Whether a caller that comes back under a key means this ask.
// SECURITY: an agent that guesses another's key is never given its ask.
pub(super) fn is_same(known: &Ask, new: &Ask) -> bool {
    let owners = known.body.owner.as_ref().zip(new.body.owner.as_ref());
    known.digest == new.digest && owners.is_none_or(|(known, new)| known.is_of_handle(new))
}

pub(super) fn why_refused(token: Option<&AgentToken>) -> Option<&'static str> {
    match token {
        Some(token) => token.is_accepted(clock::now_ms()).err(),
        None => Some("its token is not known any more"),
    }
}

/// The refusal of an agent whose token is for something else.
pub(super) fn not_for_this(why: &str) -> SubmitError {
    SubmitError::NotThisAgent(format!("this agent is refused: its token {why}"))
}

fn fresh() -> (Secret, TokenHash) {
    let token = ids::token();
    (Secret::new(token.clone()), TokenHash::of(&token))
}

/// Why a caller without its token may not use this name for an agent; `None`: it may.
///
/// # Errors
/// When the store fails.
// SECURITY: names of agents are widely known, and people read them on cards. `Deploy_B0t` beside
// `deploy-bot` would be answered for it.
pub async fn name_taken(store: &Store, name: &str) -> Result<Option<String>, StoreError> {
    let names = store.names_with_token().await?;
    if names.iter().any(|it| it == name) {
        return Ok(Some(format!(
            "`{}` is the name of an agent with a token of its own; show that token, or use another \
             name",
            line(name)
        )));
    }
    let like = names.iter().find(|it| looks_like(name, it));
    Ok(like.map(|it| {
        format!(
            "`{}` looks like `{}`, the name of an agent with a token of its own; show that token, \
             or use another name",
            line(name),
            line(it)
        )
    }))
}

/// Whether people may take a name for that of a token, which is ASCII. Pure.
// Not all of Unicode's confusables: any letter that is not ASCII may look like any that is, as long
// as half of the name is the same.
fn looks_like(name: &str, of_token: &str) -> bool {
    let name = letters(name);
    let of_token = letters(of_token);
    let foreign = name.iter().filter(|char| !char.is_ascii()).count();
    !name.is_empty()
        && name.len() == of_token.len()
        && foreign * 2 <= name.len()
        && name.iter().zip(&of_token).all(|(one, other)| are_alike(*one, *other))
}

/// The letters and digits of a name, and pairs that look like one as that one.
fn letters(name: &str) -> Vec<char> {
    let name = name.to_lowercase().replace("rn", "m").replace("vv", "w");
    name.chars().filter(|char| char.is_alphanumeric() || *char == '|').collect()
}

// Two digits are not alike: `worker-6` and `worker-8` are two agents.
fn are_alike(one: char, of_token: char) -> bool {
    const ALIKE: [&str; 10] = ["o0", "l1i|", "z2", "e3", "a4", "s5", "b6", "t7", "b8", "gq9"];
    let digits = one.is_ascii_digit() && of_token.is_ascii_digit();
    let looks = ALIKE.iter().any(|all| all.contains(one) && all.contains(of_token));
    one == of_token || !one.is_ascii() || looks && !digits
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::testkit::{ana, asked, command, gate, who};
    use countersign_domain::By;
    use countersign_profiles::Profile;
    use countersign_store::{AgentLimit, Inserted, testkit::engines::on_both};

    async fn added(
        gate: &Gate,
        name: &str,
        scope: TokenScope,
        who: Who,
    ) -> Result<TokenOutcome, ApproverError> {
        let reads = Reads::Own;
        let limits = TokenLimits::default();
        gate.add_agent_token(name, reads, None, limits, scope, who).await
    }

    /// The owner of calls that bring a token of this name.
    async fn with_token(gate: &Gate, name: &str) -> (AgentToken, Option<Owner>) {
        match added(gate, name, TokenScope::default(), ana()).await.unwrap() {
            TokenOutcome::Done(token, Some(_)) => {
                let owner = Owner::by_token(&token.id);
                (*token, Some(owner))
            }
            other => panic!("{other:?}"),
        }
    }

    async fn refused(gate: &Arc<Gate>, call: Call) -> String {
        gate.submit(call, false).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn an_agent_acts_under_its_tokens_name_and_nobody_else_does() {
        on_both(async |store| {
            let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
            let (_, owner) = with_token(&gate, "bot").await;
            let elsewhere =
                TokenScope { target: Some("nowhere".to_owned()), ..TokenScope::default() };
            for (name, scope, who, outcome) in [
                ("bot", TokenScope::default(), ana(), "NameTaken"),
                ("b-o-t", TokenScope::default(), ana(), "Unfit(\"`b-o-t` looks like `bot`"),
                ("new", elsewhere.clone(), ana(), "Unfit(\"the token "),
                ("new", TokenScope::default(), who("chat", "3", &[]), "NotAllowed"),
            ] {
                let said = match added(&gate, name, scope, who).await {
                    Ok(outcome) => format!("{outcome:?}"),
                    Err(error) => format!("{error:?}"),
                };
                assert!(said.starts_with(outcome), "{name}: {said}");
            }
            let of = |agent: &str| Call { agent: agent.to_owned(), ..command("make a") };
            let its = |agent: &str| Call { owner: owner.clone(), ..of(agent) };
            for name in ["bot", "B0t"] {
                let why = refused(&gate, of(name)).await;
                assert!(why.ends_with("show that token, or use another name"), "{why}");
            }
            for (name, claims) in [("ana's", Some("ana's")), ("bot", None)] {
                let session = format!("{claims:?}");
                let call = asked(&gate, Call { session, ..its(name) }).await.body.call;
                assert_eq!((&*call.agent, call.claims.as_deref()), ("bot", claims));
            }
            // What its token is for was here when it was made.
            let scoped = NewAgentToken {
                id: "t2".to_owned(),
                name: "scoped".to_owned(),
                hash: TokenHash::of("t2"),
                reads: Reads::Own,
                by: By::Caller,
                expires_at: None,
                limits: TokenLimits::default(),
                scope: elsewhere,
            };
            store.add_agent_token(scoped, 1).await.unwrap().unwrap();
            let scoped = Call { owner: Some(Owner::by_token("t2")), ..command("git status") };
            let why = refused(&gate, scoped).await;
            assert!(why.starts_with("this agent is refused: its token "), "{why}");
        })
        .await;
    }

    #[tokio::test]
    async fn who_revokes_a_token_ends_what_its_agent_asks_also_what_is_stored_meanwhile() {
        on_both(async |store| {
            let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
            let (_, owner) = with_token(&gate, "bot").await;
            let call = Call { agent: "bot".to_owned(), owner: owner.clone(), ..command("make a") };
            let open = asked(&gate, call.clone()).await;
            let another = asked(&gate, command("make a")).await;
            let revoked = async |who| gate.revoke_agent_token("bot", who).await;
            let by_stranger = revoked(who("chat", "3", &[])).await;
            assert!(matches!(by_stranger, Err(ApproverError::NotAllowed(_))), "{by_stranger:?}");
            let by_ana = revoked(ana()).await;
            assert!(matches!(by_ana, Ok(TokenOutcome::Done(_, None))), "{by_ana:?}");
            let state = async |ask: &Ask| store.ask(&ask.id).await.unwrap().unwrap().state.name();
            assert_eq!([state(&open).await, state(&another).await], ["cancelled", "open"]);
            let why = refused(&gate, call).await;
            assert!(why.starts_with("this agent is refused: "), "{why}");
            let missed = own(Body { owner, ..open.body }, 1, None);
            let stored = store.insert_ask(&missed, &[], None).await.unwrap();
            let Inserted::New(missed) = stored else { panic!("{stored:?}") };
            assert_eq!(gate.checked(missed).await.unwrap().state.name(), "cancelled");
        })
        .await;
    }

    #[tokio::test]
    async fn a_paused_agent_is_resumed_by_an_approver_and_keeps_the_asks_that_it_has() {
        on_both(async |store| {
            let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
            let (token, owner) = with_token(&gate, "bot").await;
            let agent = "bot".to_owned();
            let of = |text: &str| {
                let key = Some(text.to_owned());
                let agent = agent.clone();
                let owner = owner.clone();
                Call { key, agent, owner, ..command(text) }
            };
            let had = asked(&gate, of("make a")).await;
            let resumed = async |who| match gate.resume_agent("bot", who).await {
                Ok(AgentResumed::Done(token)) => {
                    assert_eq!(token.pause, None);
                    "resumed".to_owned()
                }
                Err(ApproverError::NotAllowed(_)) => "NotAllowed".to_owned(),
                Err(error) => panic!("{error}"),
                Ok(other) => format!("{other:?}").split('(').next().unwrap().to_owned(),
            };
            assert_eq!(resumed(ana()).await, "NotPaused");
            for answered_no in [false, true] {
                let pausing = gate.over_limit(&of("make b"), &token, AgentLimit::Open(1)).await;
                assert_eq!(pausing.unwrap().verdict, Verdict::Deny);
                let ruled = gate.submit(of("make c"), false).await.unwrap();
                let crate::SubmitOutcome::Ruled(ruled) = ruled else { panic!("{ruled:?}") };
                assert_eq!(ruled.verdict, Verdict::Deny);
                assert_eq!(asked(&gate, of("make a")).await.id, had.id, "it has that ask");
                if answered_no {
                    let token = store.agent_token_named("bot").await.unwrap().unwrap();
                    let ask = store.ask(&token.pause.unwrap().ask).await.unwrap().unwrap();
                    let no = Action::Deny { reason: None, then: None };
                    assert_eq!(gate.answer(ask, ana(), no).await.told, Told::Applied);
                }
                assert_eq!(resumed(who("chat", "3", &[])).await, "NotAllowed");
                assert_eq!(resumed(ana()).await, "resumed");
            }
            let _ = asked(&gate, of("make c")).await;
        })
        .await;
    }

    #[test]
    fn a_name_that_people_may_take_for_a_tokens_is_like_it_and_another_is_not() {
        for like in [
            "deploy-bot",
            "Deploy-Bot",
            "deploy_bot",
            "deploy bot ",
            "deployb0t",
            "dep1oy-bot",
            "d\u{435}ploy-b\u{43e}t",
            "ｄeploy-bot",
            "d3p10y-60t",
            "dep|oy-8o7",
        ] {
            assert!(looks_like(like, "deploy-bot"), "{like}");
        }
        for (like, of_token) in [("4lpha", "alpha"), ("alpha", "4lpha"), ("farm", "farrn")] {
            assert!(looks_like(like, of_token), "{like}");
        }
        for (other, of_token) in [("worker-6", "worker-8"), ("worker-b", "worker-2")] {
            assert!(!looks_like(other, of_token), "{other}");
        }
        for other in ["deploy-bots", "deploy", "codex", "", "-", "deplox-bot", "部署机器人部署机"]
        {
            assert!(!looks_like(other, "deploy-bot"), "{other}");
        }
        assert!(looks_like("b\u{43e}", "bo"), "half of it is the same");
        assert!(!looks_like("", "...") && !looks_like("助手体", "bot"));
    }
}
