//! `/v1/tokens`: makes, lists, rotates and revokes the tokens of agents.

use crate::{
    Api,
    error::ApiError,
    handle::Handle,
    request::{Answering, Body, JsonReply},
};
use axum::{Json, extract::Path};
use countersign_domain::wire::{
    AddTokenRequest, AgentPauseView, NewTokenReply, ResumedAgentReply, RevokedTokenReply,
    RotateTokenRequest, TokenLimits, TokenScope, TokenState, TokenView, TokensPage,
};
use countersign_gate::{AgentResumed, TokenOutcome};
use countersign_port::line;
use countersign_profiles::Profile;
use countersign_store::{AgentToken, Reads};
use countersign_tokens::clock;
use std::{str::FromStr, time::Duration};

/// The longest time for which the token before a rotation is accepted too.
const LONGEST_OVERLAP: u64 = 3_600;
/// The longest name.
const LONGEST_NAME: usize = 40;

// SECURITY: for approvers: the names and times tell an agent about the others.
pub(super) async fn list(api: Api, _: Answering) -> JsonReply<TokensPage> {
    let tokens = api.store.agent_tokens().await?;
    Ok(Json(TokensPage { tokens: tokens.iter().map(view).collect() }))
}

pub(super) async fn add(api: Api, handle: Handle, body: Body) -> JsonReply<NewTokenReply> {
    let who = handle.answerer()?;
    let AddTokenRequest { name, expires_in_s, sees_all, limits, scope } = body.json()?;
    is_agent_name(&name)?;
    let reads = if sees_all { Reads::All } else { Reads::Own };
    let expires_at = expires_in_s.map(end).transpose()?;
    check_limits(limits)?;
    check_scope(&scope)?;
    let gate = &api.gate;
    new_token(&name, gate.add_agent_token(&name, reads, expires_at, limits, scope, who).await?)
}

pub(super) async fn rotate(
    api: Api,
    handle: Handle,
    Path(name): Path<String>,
    body: Body,
) -> JsonReply<NewTokenReply> {
    let who = handle.answerer()?;
    let RotateTokenRequest { overlap_s } = body.json_or_default()?;
    if overlap_s > LONGEST_OVERLAP {
        return Err(ApiError::bad_request(
            "`overlap_s` is more than 3600: the token before is accepted for one hour at most",
        ));
    }
    let overlap = Duration::from_secs(overlap_s);
    new_token(&name, api.gate.rotate_agent_token(&name, overlap, who).await?)
}

pub(super) async fn revoke(
    api: Api,
    Path(name): Path<String>,
    Answering(who): Answering,
) -> JsonReply<RevokedTokenReply> {
    let (revoked, _) = done(&name, api.gate.revoke_agent_token(&name, who).await?)?;
    Ok(Json(RevokedTokenReply { revoked }))
}

pub(super) async fn resume(
    api: Api,
    Path(name): Path<String>,
    Answering(who): Answering,
) -> JsonReply<ResumedAgentReply> {
    match api.gate.resume_agent(&name, who).await? {
        AgentResumed::Done(token) => Ok(Json(ResumedAgentReply { resumed: view(&token) })),
        AgentResumed::NotPaused => {
            Err(ApiError::conflict(format!("the agent `{}` is not paused", line(&name))))
        }
        AgentResumed::Unknown => Err(unknown(&name)),
        AgentResumed::StillPaused(why) => Err(ApiError::conflict(why)),
    }
}

fn unknown(name: &str) -> ApiError {
    ApiError::not_found(format!("no agent `{}` has a token of its own", line(name)))
}

fn new_token(name: &str, outcome: TokenOutcome) -> JsonReply<NewTokenReply> {
    match done(name, outcome)? {
        (agent, Some(token)) => Ok(Json(NewTokenReply { token, agent })),
        (_, None) => Err(ApiError::failed("no token was made; try again")),
    }
}

fn done(name: &str, outcome: TokenOutcome) -> Result<(TokenView, Option<String>), ApiError> {
    let name = line(name);
    match outcome {
        TokenOutcome::Done(token, secret) => {
            Ok((view(&token), secret.map(|secret| secret.reveal().to_owned())))
        }
        TokenOutcome::Unknown => Err(unknown(&name)),
        TokenOutcome::NameTaken => Err(ApiError::conflict(format!(
            "the agent `{name}` has a token already; rotate it, or revoke it first"
        ))),
        TokenOutcome::Unfit(why) => Err(ApiError::bad_request(why)),
    }
}

/// Names are plain, so that no two look alike on a card.
fn is_agent_name(name: &str) -> Result<(), ApiError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(plain);
    match fits && name != "default" {
        true => Ok(()),
        false if name == "default" => Err(ApiError::bad_request(
            "`name`: `default` is the agent of [daemon] agent_token; choose another name",
        )),
        false => Err(ApiError::bad_request(format!(
            "`name` is `{}`; a name has 1 to {LONGEST_NAME} letters, digits, `.`, `_` and `-`",
            line(name)
        ))),
    }
}

// FAIL-CLOSED: a limit of nothing is a mistake, not an agent without a limit.
fn check_limits(limits: TokenLimits) -> Result<(), ApiError> {
    let TokenLimits { max_open, per_minute, per_task } = limits;
    let named = [("max_open", max_open), ("per_minute", per_minute), ("per_task", per_task)];
    if let Some((name, _)) = named.iter().find(|(_, limit)| *limit == Some(0)) {
        return Err(ApiError::bad_request(format!(
            "`limits.{name}` is 0; the smallest limit is 1. Leave it out for none"
        )));
    }
    Ok(())
}

fn check_scope(scope: &TokenScope) -> Result<(), ApiError> {
    let Some(name) = &scope.profile else { return Ok(()) };
    let known = Profile::from_str(name).map(drop);
    known.map_err(|why| ApiError::bad_request(format!("`scope.profile`: {}", line(&why))))
}

/// The end of a time that begins now.
fn end(seconds: u64) -> Result<i64, ApiError> {
    let ms = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1_000));
    let end = ms.filter(|ms| *ms > 0).and_then(|ms| clock::now_ms().checked_add(ms));
    // The year 9999 is the last that can be written.
    end.filter(|at| *at < 253_000_000_000_000).ok_or_else(|| {
        ApiError::bad_request("`expires_in_s` is the time in seconds, such as 2592000 for 30 days")
    })
}

fn view(token: &AgentToken) -> TokenView {
    let now = clock::now_ms();
    let state = match (token.revoked_at, token.is_accepted(now)) {
        (Some(_), _) => TokenState::Revoked,
        (None, Err(_)) => TokenState::Expired,
        (None, Ok(())) => TokenState::Active,
    };
    let former = token.former.as_ref().filter(|(_, until)| *until > now);
    TokenView {
        name: token.name.clone(),
        state,
        sees_all: token.reads == Reads::All,
        by: token.by.clone(),
        created_at: clock::rfc3339(token.created_at),
        expires_at: token.expires_at.map(clock::rfc3339),
        last_used_at: token.used_at.map(clock::rfc3339),
        former_until: former.map(|(_, until)| clock::rfc3339(*until)),
        limits: token.limits,
        scope: token.scope.clone(),
        paused: token.pause.as_ref().map(|pause| AgentPauseView {
            since: clock::rfc3339(pause.since),
            why: pause.why.clone(),
            ask: pause.ask.clone(),
        }),
    }
}
