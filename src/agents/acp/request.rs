//! What the agent waits for, and the results that it gets. Pure.

use super::{
    form::{Form, declined},
    permission::{ApprovedOption, PermissionOptions, cancelled},
};
use countersign_client::{Decided, Ending};
use countersign_domain::{Decision, call::Call};
use serde_json::{Value, json};

/// The tool that a form is submitted as: it asks and does nothing else.
pub(super) const QUESTION: &str = "ask_user";

/// A request of the agent that waits for its reply.
#[derive(Debug)]
pub(super) struct AgentRequest {
    pub(super) id: Value,
    pub(super) session: String,
    pub(super) wants: AcpRequestKind,
    /// The request's own line, until the editor has it.
    pub(super) line: Option<String>,
}

#[derive(Debug)]
pub(super) enum AcpRequestKind {
    /// Whether a call may run.
    Permission(PermissionOptions, Box<Call>),
    /// Which of its options an approved call is.
    Option(PermissionOptions),
    /// The fields of a form.
    Form(Form),
}

/// What a decision means for a request.
#[derive(Debug)]
pub(super) enum RequestResult {
    /// This result.
    Result(Value),
    /// This result, and the turn ends.
    Stop(Value),
    /// Another call first, whose decision is the result.
    Further(AcpRequestKind, Box<Call>),
    /// None: the editor shows the request, and nobody answered here.
    None,
}

impl AgentRequest {
    /// What a decision means.
    pub(super) fn result(&self, decided: &Decided) -> RequestResult {
        let in_time = matches!(decided.ending, Ending::Ruled(_) | Ending::Answered(_));
        if !in_time && self.stands_in_editor() {
            return RequestResult::None;
        }
        let result = match &self.wants {
            AcpRequestKind::Form(form) => form.reply(decided),
            AcpRequestKind::Option(options) => options.chosen(decided),
            AcpRequestKind::Permission(options, call) => match decided.decision {
                Decision::Approve => match options.approved() {
                    ApprovedOption::This(result) => result,
                    ApprovedOption::None => options.denied(),
                    ApprovedOption::Choice(question) => {
                        let call = Call { questions: vec![question], ..(**call).clone() };
                        let call = Call { tool: QUESTION.to_owned(), accepts: vec![], ..call };
                        let wants = AcpRequestKind::Option(options.clone());
                        return RequestResult::Further(wants, Box::new(call));
                    }
                },
                Decision::Deny if stops(decided) => {
                    return RequestResult::Stop(with_reason(cancelled(), &decided.reason));
                }
                // FAIL-CLOSED: this caller takes no changed call, and nothing was asked.
                Decision::Deny | Decision::Answer | Decision::Edit => options.denied(),
            },
        };
        RequestResult::Result(with_reason(result, &decided.reason))
    }

    /// The result of a request that nobody could decide on.
    pub(super) fn denied(&self, why: &str) -> Value {
        let result = match &self.wants {
            AcpRequestKind::Permission(options, _) | AcpRequestKind::Option(options) => {
                options.denied()
            }
            AcpRequestKind::Form(_) => declined(),
        };
        with_reason(result, why)
    }

    /// The result of a request whose turn was cancelled.
    pub(super) fn cancelled(&self) -> Value {
        match self.wants {
            AcpRequestKind::Permission(..) | AcpRequestKind::Option(_) => cancelled(),
            AcpRequestKind::Form(_) => json!({ "action": "cancel" }),
        }
    }

    /// Whether the editor has it too.
    pub(super) fn stands_in_editor(&self) -> bool {
        self.line.is_none()
    }
}

fn stops(decided: &Decided) -> bool {
    matches!(&decided.ending, Ending::Answered(answer) if answer.stop)
}

/// The reason, where the protocol leaves room for it: it has no field for it itself.
fn with_reason(mut result: Value, reason: &str) -> Value {
    if let Some(map) = result.as_object_mut().filter(|_| !reason.is_empty()) {
        map.insert("_meta".to_owned(), json!({ "countersign": { "reason": reason } }));
    }
    result
}
