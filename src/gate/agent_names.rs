//! Names of agents that nobody takes without the token: those of tokens, and what looks like them.

use crate::{
    store::{Store, StoreError},
    text::line,
};

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
    let (name, of_token) = (folded(name), folded(of_token));
    let foreign = name.iter().filter(|char| !char.is_ascii()).count();
    let same = |(one, other): (&char, &char)| one == other || !one.is_ascii();
    !name.is_empty()
        && name.len() == of_token.len()
        && foreign * 2 <= name.len()
        && name.iter().zip(&of_token).all(same)
}

/// The letters and digits of a name, those that look alike as one.
fn folded(name: &str) -> Vec<char> {
    let letters = name.chars().filter(|char| char.is_alphanumeric() || *char == '|');
    let alike = |char: char| match char.to_ascii_lowercase() {
        '0' => 'o',
        '1' | 'i' | '|' => 'l',
        '5' => 's',
        other => other,
    };
    letters.map(alike).collect()
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
        ] {
            assert!(looks_like(like, "deploy-bot"), "{like}");
        }
        for other in ["deploy-bots", "deploy", "codex", "", "-", "deplox-bot", "部署机器人部署机"]
        {
            assert!(!looks_like(other, "deploy-bot"), "{other}");
        }
        assert!(!looks_like("", "...") && !looks_like("助手体", "bot"));
    }
}
