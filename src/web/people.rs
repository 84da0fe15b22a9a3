//! The people who answer: who could answer a call and why (`/v1/approvers/explain`,
//! `/v1/asks/{id}/approvers`), pairing an account (`/v1/pairings`), and the passkeys of all
//! (`/v1/passkeys`).

use crate::{
    Api,
    asks::{find, longest},
    error::ApiError,
    handle::{AskReader, Handle},
    request::{Answering, Body, JsonReply, Params},
    rules::word,
};
use axum::{Json, extract::Path};
use countersign_domain::wire::{
    AnswerersReply, AnswerersRequest, PairingReply, PairingRequest, PairingView, PasskeyView,
    PasskeysPage, RemovedPasskeyReply, WaitQuery,
};
use countersign_gate::call::Call;
use countersign_people::answerers::Answerers;
use countersign_policy::Verdict;
use countersign_port::{PAIRING_PREFIX, line};
use countersign_store::StoredPasskey;
use countersign_tokens::{clock, ids};

pub(super) async fn approvers(api: Api, handle: Handle, body: Body) -> JsonReply<AnswerersReply> {
    approver(&handle)?;
    let AnswerersRequest { tool, args, cwd, agent, session, host } = body.json()?;
    let agent = agent.unwrap_or_else(|| "countersign".to_owned());
    let session = session.unwrap_or_else(|| "rules".to_owned());
    let call = Call { cwd, host, ..Call::new(agent, session, &tool, args) };
    call.check().map_err(|wrong| ApiError::bad_request(wrong.0))?;
    let (decision, answerers) = api.gate.could_answer(call).await?;
    Ok(Json(reply(decision.verdict, decision.reason, answerers.unwrap_or_default())))
}

pub(super) async fn approvers_of_ask(
    api: Api,
    handle: Handle,
    reader: AskReader,
    Path(id): Path<String>,
) -> JsonReply<AnswerersReply> {
    approver(&handle)?;
    let ask = find(&api, &id, &reader).await?;
    let Some(answerers) = api.gate.can_answer(&ask).await? else {
        let closed = format!("`{}` is closed: nobody can answer it any more", ask.id);
        return Err(ApiError::conflict(closed));
    };
    Ok(Json(reply(Verdict::Ask, ask.body.why.clone(), answerers)))
}

// SECURITY: an agent that knows who could approve its call, who is away and whose machine it is
// said to be on knows whom to deceive. A token that reads all asks is an agent's too.
fn approver(handle: &Handle) -> Result<(), ApiError> {
    match handle {
        Handle::Approver | Handle::Person(_) | Handle::Inbox(_) => Ok(()),
        Handle::Agent | Handle::Named(_) => {
            Err(ApiError::forbidden("only the approver's token may read who could answer"))
        }
    }
}

fn reply(verdict: Verdict, reason: String, answerers: Answerers) -> AnswerersReply {
    let Answerers { required, people, problems, shown } = answerers;
    AnswerersReply { verdict: word(verdict), reason, required, people, problems, shown }
}

// `/v1/pairings`: begins a pairing, and says who sent its code.

pub(super) async fn begin_pairing(api: Api, handle: Handle, body: Body) -> JsonReply<PairingReply> {
    may_pair(handle)?;
    let PairingRequest { platform } = body.json()?;
    let known = api.adapters.borrow().iter().any(|it| it.name == platform && it.name != "inbox");
    if !known {
        let name = line(&platform);
        return Err(ApiError::not_found(format!(
            "no account on `{name}` is in force; write [{name}] into the config and reload it"
        )));
    }
    let id = ids::ask_id();
    let code = format!("{PAIRING_PREFIX}{}", ids::nonce());
    let until = api.gate.pairings.begin(&platform, &id, &code);
    tracing::info!(platform, pairing = id, "a pairing has begun");
    Ok(Json(PairingReply { id, code, expires: clock::rfc3339(until) }))
}

pub(super) async fn pairing(
    api: Api,
    handle: Handle,
    Path(id): Path<String>,
    query: Params<WaitQuery>,
) -> JsonReply<PairingView> {
    may_pair(handle)?;
    let query = query.read()?;
    let none = || ApiError::not_found("there is no such pairing (any more); begin another");
    api.gate.pairings.wait(&id, longest(&query)).await.map(Json).ok_or_else(none)
}

/// Whether a handle may make and read pairings.
// SECURITY: the approver's token alone, even where local answering is off: as a reload, a pairing
// grants nothing to its caller. An agent that read a code could send it to the bot itself.
fn may_pair(handle: Handle) -> Result<(), ApiError> {
    match handle {
        Handle::Approver | Handle::Person(_) => Ok(()),
        Handle::Agent | Handle::Named(_) | Handle::Inbox(_) => {
            Err(ApiError::forbidden("pairing a phone needs the approver's token"))
        }
    }
}

// `/v1/passkeys`: lists and removes the passkeys of people.

// SECURITY: for approvers: an agent does not learn who signs in with what, and when.
pub(super) async fn passkeys(api: Api, _: Answering) -> JsonReply<PasskeysPage> {
    let all = api.gate.passkeys().await?;
    let all = all.into_iter().map(|(passkey, presser)| passkey_view(passkey, presser.is_some()));
    Ok(Json(PasskeysPage { passkeys: all.collect() }))
}

pub(super) async fn remove_passkey(
    api: Api,
    Path(id): Path<String>,
    Answering(who): Answering,
) -> JsonReply<RemovedPasskeyReply> {
    let none = || ApiError::not_found(format!("there is no passkey `{}`", line(&id)));
    let removed = api.gate.remove_passkey(&id, who).await?.ok_or_else(none)?;
    Ok(Json(RemovedPasskeyReply { removed: passkey_view(removed, false) }))
}

fn passkey_view(passkey: StoredPasskey, accepted: bool) -> PasskeyView {
    PasskeyView {
        id: passkey.id,
        person: passkey.owner,
        name: passkey.name,
        identity: passkey.person,
        host: passkey.host,
        accepted,
        created_at: clock::rfc3339(passkey.created_at),
        last_used_at: passkey.used_at.map(clock::rfc3339),
    }
}
