//! `countersign answer ID --edit TEXT`: approves another text than the agent's.

use super::{Context, Exit, prompt::confirmed, say, token};
use anyhow::Result;
use countersign_domain::{
    Decision,
    edit::editable,
    wire::{AnswerReply, AnswerRequest, EditView},
};
use similar::TextDiff;

/// Proposes the text, shows what it changes, and approves it where that is wanted.
pub(super) async fn run(
    context: &Context,
    id: &str,
    text: &str,
    yes: bool,
    json: bool,
) -> Result<Exit> {
    let client = context.approver()?;
    let ask = client.ask(id).await?;
    let propose =
        AnswerRequest { edit: Some(text.to_owned()), ..AnswerRequest::new(Decision::Edit) };
    let proposed = client.answer(&ask.id, &propose).await?;
    let Some(edit) = proposed.edit.clone() else { return told(&proposed, json) };
    say::aside(&shown(editable(&ask.call).unwrap_or_default(), text, &edit));
    if !yes && !confirmed("Approve this change?", "read the change above, then add --yes")? {
        say::aside("Nothing is approved. The change stays proposed on the card.");
        return Ok(Exit::Pending);
    }
    let approve = AnswerRequest { digest: Some(edit.digest), ..AnswerRequest::new(Decision::Edit) };
    told(&client.answer(&ask.id, &approve).await?, json)
}

fn told(reply: &AnswerReply, json: bool) -> Result<Exit> {
    match json {
        true => say::json(&serde_json::to_value(reply)?)?,
        false => say::out(&say::literal(&reply.message))?,
    }
    Ok(if reply.applied { Exit::Good } else { Exit::Fault })
}

/// The change line by line, with what it touches.
fn shown(old: &str, new: &str, edit: &EditView) -> String {
    let diff = TextDiff::from_lines(old, new).unified_diff().context_radius(2).to_string();
    let mut lines: Vec<String> = diff.lines().map(say::literal).collect();
    lines.extend(edit.effects.iter().map(|effect| format!("touches {}", say::literal(effect))));
    if edit.critical {
        lines.push("The changed call is critical.".to_owned());
    }
    lines.push(format!("digest {}", say::literal(&edit.digest)));
    lines.join("\n")
}
