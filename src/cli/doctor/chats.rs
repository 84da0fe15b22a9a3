//! Checks that need the chat platforms: whether accounts are valid and targets can be reached.

use super::finding::{DoctorCheck, fail, ok, warn};
use crate::config::{ChatAccount, Config};
use countersign_port::CheckError;

/// Checks every configured account and its targets.
pub(super) async fn all(config: &Config) -> Vec<DoctorCheck> {
    let mut findings = Vec::new();
    for chat in &config.chats {
        findings.extend(account(chat).await);
    }
    findings.extend(config.left_out.iter().map(|name| left_out(name)));
    findings
}

async fn account(chat: &ChatAccount) -> Vec<DoctorCheck> {
    let (name, key) = (chat.name(), chat.platform.description().account);
    let mut findings = vec![match chat.platform.check(&chat.settings).await {
        Ok(bot) => ok(name, format!("the token {} is {bot}'s", chat.secret().hint())),
        // Targets cannot be checked with a token that does not work.
        Err(error) => {
            let fix =
                fix(&error, format!("set [{name}] {key}, or run `countersign connect {name}`"));
            return vec![fail(name, error.to_string(), fix)];
        }
    }];
    for target in &chat.targets {
        findings.push(match chat.platform.check_target(&chat.settings, target).await {
            Ok(found) => ok(name, format!("cards reach {found} ({})", target.0)),
            Err(error) => {
                let fix = fix(&error, format!("edit [{name}] targets"));
                fail(name, error.to_string(), fix)
            }
        });
        if chat.thread_idle(target).is_none() {
            continue;
        }
        findings.push(match chat.platform.check_threads(&chat.settings, target).await {
            Ok(()) => ok(name, format!("each session gets a thread there ({})", target.0)),
            Err(error) => {
                let fix = fix(&error, format!("or remove `per_session` from [{name}] targets"));
                warn(name, error.to_string(), fix)
            }
        });
    }
    for target in chat.direct.iter().filter(|it| !chat.targets.contains(it)) {
        findings.push(match chat.platform.check_target(&chat.settings, target).await {
            Ok(found) => ok(name, format!("routes reach {found} ({})", target.0)),
            Err(error) => {
                let fix = fix(&error, "this person writes to the bot once, in private".to_owned());
                warn(name, error.to_string(), fix)
            }
        });
    }
    if chat.targets.is_empty() {
        let says = "there are no targets, so no card goes there";
        findings.push(warn(name, says, format!("set [{name}] targets")));
    }
    findings
}

/// What to do about a failed check: `config` where the platform itself refused.
// A platform that cannot be reached says nothing of the token or the targets.
fn fix(error: &CheckError, config: String) -> String {
    match error {
        CheckError::WrongToken(_) | CheckError::Other(_) => config,
        CheckError::Unreachable(_) => {
            "look at this machine's network and proxy; the config may be right".to_owned()
        }
        CheckError::RateLimited(_) => "run it again later; the config may be right".to_owned(),
    }
}

fn left_out(name: &str) -> DoctorCheck {
    let says = format!("[{name}] is set, but this program was built without it");
    fail(name, says, format!("cargo install --features {name}"))
}
