//! How many words of a command name what it does: `git push` is two, `npm run build` three.

use crate::facts::programs::{self, listed};

/// The words of `tokens` that name what the command does.
#[must_use]
pub fn prefix<'t, 'w>(tokens: &'t [&'w str]) -> &'t [&'w str] {
    let [name, rest @ ..] = tokens else { return tokens };
    let Some(grant) = programs::exact(name).map(|program| program.grant) else {
        return molf_prefix(tokens);
    };
    let three = rest.first().is_some_and(|sub| listed(grant.ours_three, sub));
    match (three, grant.ours) {
        (true, _) => tokens.get(..3).unwrap_or(tokens),
        (false, Some(words)) => tokens.get(..words).unwrap_or(tokens),
        (false, None) => molf_prefix(tokens),
    }
}

/// The same by molf's table, which ours adds to.
#[must_use]
pub fn molf_prefix<'t, 'w>(tokens: &'t [&'w str]) -> &'t [&'w str] {
    let [name, rest @ ..] = tokens else { return tokens };
    let words = programs::exact(name).map_or(1, |program| {
        let three = rest.first().is_some_and(|sub| listed(program.grant.molf_three, sub));
        if three { 3 } else { program.grant.molf }
    });
    tokens.get(..words).unwrap_or(tokens)
}
