//! A first card, so that a person sees that it works.

use crate::cli::{Context, say};
use anyhow::{Result, anyhow};
use countersign_client::{Decided, Ending, Submitted};
use countersign_gate::{
    call::Call,
    question::{Choice, Question},
};
use serde_json::json;

const QUESTION: &str = "Does this card reach you?";
const YES: &str = "Yes, it works";

/// Sends a card and waits until somebody presses its button; whether somebody did.
// A question, because rules may allow or deny any call without asking.
pub(super) async fn answered(context: &Context) -> Result<bool> {
    let client = context.client()?;
    let call = call()?;
    say::out("A test card is on its way. Press its button.")?;
    let decided = match client.submit(&call).await? {
        Submitted::Decided(decided) => *decided,
        Submitted::Ask(id) => client.decided(&call, &id).await?,
    };
    Ok(match decided {
        Decided { ending: Ending::Answered(answer), .. } => {
            say::out(&format!("{} pressed: it works.", say::literal(&answer.by.to_string())))?;
            true
        }
        Decided { reason, .. } => {
            say::out(&format!("The test card has no answer: {}.", say::literal(&reason)))?;
            false
        }
    })
}

fn call() -> Result<Call> {
    let call = json!({
        "agent": "countersign",
        "session": "connect",
        "host": gethostname::gethostname().to_string_lossy(),
        "tool": "ask_user",
        "args": {},
        "reason": "This is a test: nothing depends on your answer.",
        "expires_in_s": 600,
    });
    let mut call: Call = serde_json::from_value(call).map_err(|error| anyhow!(error))?;
    let options = vec![Choice { label: YES.to_owned(), description: None, preview: None }];
    let question = QUESTION.to_owned();
    call.questions.push(Question { question, header: None, multi_select: false, options });
    Ok(call)
}
