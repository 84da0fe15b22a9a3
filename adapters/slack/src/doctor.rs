//! Whether a configuration works, for `doctor` and `connect`.

use crate::api::WebApi;
use crate::ids::{self, SlackPlace};
use crate::platform::SlackConfig;
use crate::problem::{ApiProblem, gone};
use countersign_port::{CheckError, Target};
use serde_json::Value;

/// The bot's name, when Slack accepts both tokens: the bot's, and the app's for presses.
///
/// # Errors
/// [`CheckError`]
pub async fn check(config: &SlackConfig) -> Result<String, CheckError> {
    for (key, token, form) in
        [("token", &config.token, "xoxb-"), ("app_token", &config.app_token, "xapp-")]
    {
        if !token.starts_with(form) {
            let says = format!("`[slack] {key}` is not that token: it begins with {form}");
            return Err(CheckError::WrongToken(says));
        }
    }
    let api = WebApi::new(config);
    let me = api.read("auth.test", &[]).await.map_err(ApiProblem::check_error)?;
    api.socket().await.map_err(ApiProblem::check_error)?;
    let text = |key| me.get(key).and_then(Value::as_str).unwrap_or("unnamed");
    Ok(format!("{} in {}", text("user"), text("team")))
}

/// The channel's name, when the bot may post there.
///
/// # Errors
/// [`CheckError`]
pub async fn check_target(config: &SlackConfig, target: &Target) -> Result<String, CheckError> {
    let api = WebApi::new(config);
    let id = match ids::place(target).map_err(CheckError::Other)? {
        SlackPlace::Channel(id) | SlackPlace::Thread(id, _) => id,
        SlackPlace::Member(user) => {
            let opened = ids::open(&api, user).await;
            return opened.map(|_| format!("direct messages with {user}")).map_err(|problem| {
                let says = format!("direct messages with {user} in Slack: {problem}");
                match problem {
                    ApiProblem::Scope(_) | ApiProblem::Refused { .. } => CheckError::Other(says),
                    other => other.check_error(),
                }
            });
        }
    };
    let told = api.read("conversations.info", &[("channel", id)]).await;
    let told = told.map_err(|problem| for_channel(problem, id))?;
    let is = |key: &str| told.pointer(&format!("/channel/{key}")).and_then(Value::as_bool);
    let name = told.pointer("/channel/name").and_then(Value::as_str);
    let lacks = match (is("is_im"), is("is_archived"), is("is_member")) {
        (Some(true), ..) => return Ok("a direct message".to_owned()),
        (_, Some(true), _) => gone("is_archived"),
        (.., Some(true)) => None,
        _ => gone("not_in_channel"),
    };
    let name = name.map_or_else(|| id.to_owned(), |name| format!("#{name}"));
    match lacks {
        None => Ok(name),
        Some(fix) => Err(CheckError::Other(format!("Slack channel {name} ({id}): {fix}"))),
    }
}

fn for_channel(problem: ApiProblem, channel: &str) -> CheckError {
    match gone(problem.word()) {
        Some(fix) => CheckError::Other(format!("Slack channel {channel}: {fix}")),
        None => problem.check_error(),
    }
}
