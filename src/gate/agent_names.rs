//! Names of agents that nobody takes without the token: those of tokens, and what looks like them.

use countersign_port::line;
use countersign_store::{Store, StoreError};

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
pub(super) fn looks_like(name: &str, of_token: &str) -> bool {
    let (name, of_token) = (letters(name), letters(of_token));
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
    use super::*;

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
        assert!(!looks_like("", "...") && !looks_like("助手体", "bot"));
    }
}
