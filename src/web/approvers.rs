//! `/v1/approvers/explain` and `/v1/asks/{id}/approvers`: who could answer, and why.

use super::{
    asks::find,
    error::{ApiError, json},
    handle::Handle,
    reader::AskReader,
    rules::word,
    state::Api,
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::StatusCode,
};
use countersign_domain::wire::{
    AnswerersReply, AnswerersRequest, CountsView, PossibleAnswererView,
};
use countersign_gate::call::Call;
use countersign_people::answerers::{AnswerCounts, Answerers, PossibleAnswerer};
use countersign_policy::Verdict;

pub(super) async fn explain(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<AnswerersReply>, ApiError> {
    approver(&handle)?;
    let AnswerersRequest { tool, args, cwd, agent, session, host } = json(&body?)?;
    let agent = agent.unwrap_or_else(|| "countersign".to_owned());
    let session = session.unwrap_or_else(|| "rules".to_owned());
    let call = Call { cwd, host, ..Call::new(agent, session, &tool, args) };
    call.check().map_err(|wrong| ApiError::bad_request(wrong.0))?;
    let (decision, answerers) = api.gate.could_answer(call).await?;
    Ok(Json(reply(decision.verdict, decision.reason, answerers.unwrap_or_default())))
}

pub(super) async fn of_ask(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    reader: AskReader,
    Path(id): Path<String>,
) -> Result<Json<AnswerersReply>, ApiError> {
    approver(&handle)?;
    let ask = find(&api, &id, &reader).await?;
    let Some(answerers) = api.gate.can_answer(&ask).await? else {
        let closed = format!("`{}` is closed: nobody can answer it any more", ask.id);
        return Err(ApiError::new(StatusCode::CONFLICT, closed));
    };
    Ok(Json(reply(Verdict::Ask, ask.body.why.clone(), answerers)))
}

// SECURITY: an agent that knows who could approve its call, who is away and whose machine it is
// said to be on knows whom to deceive. A token that reads all asks is an agent's too.
fn approver(handle: &Handle) -> Result<(), ApiError> {
    match handle {
        Handle::Approver | Handle::Person(_) | Handle::Inbox(_) => Ok(()),
        Handle::Agent | Handle::Named(_) => {
            Err(ApiError::forbidden("who could answer is told with the approver's token only"))
        }
    }
}

fn reply(verdict: Verdict, reason: String, answerers: Answerers) -> AnswerersReply {
    let Answerers { required, people, problems, shown } = answerers;
    let people = people.into_iter().map(view).collect();
    AnswerersReply { verdict: word(verdict), reason, required, people, problems, shown }
}

fn view(PossibleAnswerer { who, counts, why }: PossibleAnswerer) -> PossibleAnswererView {
    let counts = match counts {
        AnswerCounts::Yes => CountsView::Yes,
        AnswerCounts::No => CountsView::No,
        AnswerCounts::ByRole => CountsView::ByRole,
    };
    PossibleAnswererView { who, counts, why }
}
