//! What only the chat platforms can tell: whether tokens are valid and targets can be reached.

use super::Finding;
use crate::config::Config;

#[cfg(feature = "telegram")]
pub(super) async fn telegram(config: &Config) -> Vec<Finding> {
    use super::{fail, ok};
    let Some(telegram) = &config.telegram else { return Vec::new() };
    let bot = countersign_telegram::Config {
        token: telegram.token.reveal().to_owned(),
        api_url: telegram.api_url.clone(),
    };
    let mut findings = vec![match countersign_telegram::check(&bot).await {
        Ok(name) => ok("telegram", format!("the token {} is {name}'s", telegram.token.hint())),
        Err(why) => return vec![fail("telegram", why, "set [telegram] token")],
    }];
    for target in &telegram.targets {
        let target = countersign_port::Target(target.to_string());
        findings.push(match countersign_telegram::check_target(&bot, &target).await {
            Ok(name) => ok("telegram", format!("cards reach {name} ({})", target.0)),
            Err(why) => fail("telegram", why, "edit [telegram] targets"),
        });
    }
    findings.extend(nowhere("telegram", telegram.targets.is_empty()));
    findings
}

#[cfg(feature = "discord")]
pub(super) async fn discord(config: &Config) -> Vec<Finding> {
    use super::{fail, ok};
    let Some(discord) = &config.discord else { return Vec::new() };
    let bot = countersign_discord::Config {
        token: discord.token.reveal().to_owned(),
        api_url: discord.api_url.clone(),
    };
    let mut findings = vec![match countersign_discord::check(&bot).await {
        Ok(name) => ok("discord", format!("the token {} is {name}'s", discord.token.hint())),
        Err(why) => return vec![fail("discord", why, "set [discord] token")],
    }];
    for target in &discord.targets {
        let target = countersign_port::Target(target.channel.clone());
        findings.push(match countersign_discord::check_target(&bot, &target).await {
            Ok(name) => ok("discord", format!("cards reach {name} ({})", target.0)),
            Err(why) => fail("discord", why, "edit [discord] targets"),
        });
    }
    findings.extend(nowhere("discord", discord.targets.is_empty()));
    findings
}

#[cfg(not(feature = "telegram"))]
pub(super) async fn telegram(config: &Config) -> Vec<Finding> {
    without("telegram", config.telegram.is_some())
}

#[cfg(not(feature = "discord"))]
pub(super) async fn discord(config: &Config) -> Vec<Finding> {
    without("discord", config.discord.is_some())
}

#[cfg(any(feature = "telegram", feature = "discord"))]
fn nowhere(name: &str, none: bool) -> Option<Finding> {
    let says = "there are no targets, so no card goes there";
    none.then(|| super::warn(name, says, format!("set [{name}] targets")))
}

#[cfg(not(all(feature = "telegram", feature = "discord")))]
fn without(name: &str, wanted: bool) -> Vec<Finding> {
    let says = format!("[{name}] is set, but this program was built without it");
    let mend = format!("cargo install --features {name}");
    wanted.then(|| super::fail(name, says, mend)).into_iter().collect()
}
