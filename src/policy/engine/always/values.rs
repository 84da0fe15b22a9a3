//! Rules for a call that is no shell text.

use crate::engine::always::most::MOST_RULES;
use crate::engine::always::patterns::Width;
use crate::engine::subject::Subject;
use crate::facts::host;
use crate::facts::paths::Directories;
use crate::facts::programs::wide;
use crate::facts::tools::{Kind, canonical};
use crate::glob::escape;
use crate::rules::Rule;

/// Rules for the values of a tool that is no shell.
pub(super) fn of_values(subject: &Subject<'_>, width: Width<'_>) -> Option<Vec<Rule>> {
    let call = subject.call;
    let tool = canonical(&call.tool);
    let values = &subject.values;
    if values.missing || values.unread || call.kind() == Kind::Shell {
        return None;
    }
    let one_each = matches!(call.kind(), Kind::Read | Kind::Write | Kind::Edit | Kind::Skill);
    if one_each && values.list.len() > MOST_RULES {
        return None;
    }
    Some(match call.kind() {
        Kind::Read | Kind::Write | Kind::Edit | Kind::Skill => values
            .list
            .iter()
            .map(|value| {
                let here = Directories { cwd: None, home: subject.dirs.home };
                let text = if value.is_path {
                    crate::facts::paths::clean(&value.text, here).into_owned()
                } else {
                    value.text.clone()
                };
                Rule::allow(tool, escape(&text))
            })
            .collect(),
        Kind::Fetch => {
            let url = values.list.first()?;
            let host = host(&url.text)?;
            vec![Rule::allow(tool, format!("domain:{host}"))]
        }
        // What it is given means nothing to rules, so that only a wildcard would cover it.
        Kind::Other if matches!(width, Width::Harmless(_)) && wide::grave_name(&call.tool) => {
            return None;
        }
        Kind::Glob | Kind::Grep | Kind::Other => vec![Rule::allow(tool, "*")],
        Kind::Shell | Kind::Question => return None,
    })
}
