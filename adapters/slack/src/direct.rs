//! The channels of direct messages, which Slack opens when it is asked to.

use crate::api::WebApi;
use crate::ids::{self, SlackPlace};
use crate::problem::ApiProblem;
use countersign_port::{SendError, Target};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The channels that are known already, by member.
#[derive(Debug, Default)]
pub(crate) struct MemberChannels(Mutex<HashMap<String, String>>);

impl MemberChannels {
    /// The channel of a target.
    pub(crate) async fn channel(&self, api: &WebApi, to: &Target) -> Result<String, SendError> {
        let user = match ids::place(to).map_err(SendError::TargetGone)? {
            SlackPlace::Channel(channel) | SlackPlace::Thread(channel, _) => {
                return Ok(channel.to_owned());
            }
            SlackPlace::Member(user) => user,
        };
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(user).cloned();
        if let Some(channel) = found {
            return Ok(channel);
        }
        let channel = open(api, user).await.map_err(|problem| unopened(problem, user))?;
        known().insert(user.to_owned(), channel.clone());
        Ok(channel)
    }
}

/// The id of the channel of direct messages with a member.
pub(crate) async fn open(api: &WebApi, user: &str) -> Result<String, ApiProblem> {
    let told = api.write("conversations.open", &json!({"users": user})).await?;
    let channel = told.pointer("/channel/id").and_then(Value::as_str).map(str::to_owned);
    channel.ok_or_else(|| ApiProblem::Unreachable("its answer names no channel".to_owned()))
}

/// Whatever Slack refuses here concerns this person alone: the route goes on to its next target.
fn unopened(problem: ApiProblem, user: &str) -> SendError {
    match problem {
        ApiProblem::Scope(_) | ApiProblem::Refused { .. } => {
            SendError::TargetGone(format!("direct messages with {user} in Slack: {problem}"))
        }
        other => other.send_error(user),
    }
}
