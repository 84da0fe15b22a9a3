//! Lines of the agent that must not reach the editor, because it may read a request in them that we
//! cannot.

use super::message::{FORM, PERMISSION, refusal};
use crate::{
    hosted::Step,
    line_head::{LineHead, MessageHead},
};
use countersign_domain::exact_json;
use serde_json::Value;

/// The steps for a line that is not passed on; `None` for every other line.
// FAIL-CLOSED: an agent that hides its request from us would have it answered by the editor alone,
// past every rule.
pub(super) fn refused(line: &[u8]) -> Option<Vec<Step>> {
    let why = |what: &str| Step::Log(format!("a line of the agent is dropped: {what}"));
    match LineHead::read(line) {
        LineHead::NotJson => None,
        LineHead::Ambiguous => {
            Some(vec![why("it can be read in two ways, such as with a field that comes twice")])
        }
        LineHead::Messages(heads) => {
            let readable = is_readable(line);
            let is_odd = |id: &Value| !(id.is_string() || id.is_number());
            let asks = |head: &&MessageHead| {
                matches!(head.method.as_deref(), Some(PERMISSION | FORM))
                    && (!readable || head.id.as_ref().is_some_and(is_odd))
            };
            let asking: Vec<_> = heads.iter().filter(asks).collect();
            if asking.is_empty() {
                return None;
            }
            let ids = asking.iter().filter_map(|head| head.id.as_ref());
            let replies = ids.map(|id| Step::Send(refusal(id)));
            let log = why("it asks for permission in a way that cannot be read");
            Some(std::iter::once(log).chain(replies).collect())
        }
    }
}

/// Whether all values of a line arrive as they were sent.
pub(super) fn is_readable(line: &[u8]) -> bool {
    exact_json::from_slice::<Value>(line).is_ok()
}
