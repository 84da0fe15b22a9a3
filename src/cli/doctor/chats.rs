//! Checks that need the chat platforms: whether accounts are valid and targets can be reached.

use super::finding::{DoctorCheck, fail, ok, warn};
use crate::config::{ChatAccount, Config};

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
        Err(why) => return vec![fail(name, why, format!("set [{name}] {key}"))],
    }];
    for target in &chat.targets {
        findings.push(match chat.platform.check_target(&chat.settings, target).await {
            Ok(found) => ok(name, format!("cards reach {found} ({})", target.0)),
            Err(why) => fail(name, why, format!("edit [{name}] targets")),
        });
    }
    if chat.targets.is_empty() {
        let says = "there are no targets, so no card goes there";
        findings.push(warn(name, says, format!("set [{name}] targets")));
    }
    findings
}

fn left_out(name: &str) -> DoctorCheck {
    let says = format!("[{name}] is set, but this program was built without it");
    fail(name, says, format!("cargo install --features {name}"))
}
