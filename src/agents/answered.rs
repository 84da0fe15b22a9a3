//! A person's answer as tests of wires need it.

use countersign_client::{AnswerView, Decided, Ending};
use countersign_domain::{By, Decision};

/// Ana's answer with this change.
pub(crate) fn by_ana(decision: Decision, change: impl FnOnce(&mut AnswerView)) -> AnswerView {
    let by = By::Person { platform: "telegram".into(), id: "5".into(), name: "Ana".into() };
    let mut answer = AnswerView {
        decision,
        scope: None,
        reason: None,
        stop: false,
        explain: false,
        answers: None,
        updated_input: None,
        updated_digest: None,
        by,
        with: Vec::new(),
        at: String::new(),
        overtaken: None,
        overruled: None,
    };
    change(&mut answer);
    answer
}

/// A call that Ana decided, for this reason.
pub(crate) fn answered(
    decision: Decision,
    reason: &str,
    change: impl FnOnce(&mut AnswerView),
) -> Decided {
    Decided {
        decision,
        reason: reason.into(),
        message: None,
        ask: None,
        ending: Ending::Answered(by_ana(decision, change)),
    }
}
