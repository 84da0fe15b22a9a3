//! What the agent waits for, and the results that it gets. Pure.

use crate::acp::form::{Form, declined};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::Call,
    question::{Choice, Question},
};
use serde::Deserialize;
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

/// An option of a permission request (`PermissionOption`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    option_id: String,
    name: String,
    kind: OptionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    /// One of a later version of the protocol.
    #[serde(other)]
    Unknown,
}

/// What an approval leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ApprovedOption {
    /// The one option that allows this call and no other.
    This(Value),
    /// A person has to choose among the agent's own.
    Choice(Question),
    /// No option allows anything.
    None,
}

/// The options of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PermissionOptions(Vec<PermissionOption>);

impl PermissionOptions {
    /// Reads `options`; those that cannot be read are left out, so they are never chosen.
    // SECURITY: so are options that share an id: a denial could choose the one that allows.
    pub(super) fn read(options: Option<&Value>) -> Self {
        let list = || options.and_then(Value::as_array).into_iter().flatten();
        let id = |option: &Value| option.get("optionId").cloned();
        let is_one = |option: &&Value| list().filter(|it| id(it) == id(option)).count() == 1;
        let read = |option: &Value| PermissionOption::deserialize(option).ok();
        Self(list().filter(is_one).filter_map(read).collect())
    }

    /// The reply that allows the call once.
    // SECURITY: an option that allows more than this call is chosen only by a person who read its
    // name: an approval here covers what our card said, and the agent's `allow_always` covers
    // what the agent makes of it.
    pub(super) fn approved(&self) -> ApprovedOption {
        let once = self.of(OptionKind::AllowOnce);
        match (&*once, self.of(OptionKind::AllowAlways).is_empty()) {
            ([one], _) => ApprovedOption::This(selected(&one.option_id)),
            ([], true) => ApprovedOption::None,
            _ => ApprovedOption::Choice(self.question()),
        }
    }

    /// The reply that the person chose by its name.
    pub(super) fn chosen(&self, decided: &Decided) -> Value {
        let (Decision::Answer, Ending::Answered(answer)) = (decided.decision, &decided.ending)
        else {
            return self.denied();
        };
        let said = answer.answers.iter().flatten().next();
        let said = said.and_then(|(_, said)| said.as_str()).unwrap_or_default();
        let mut named = self.labelled().filter(|(label, _)| label == said);
        match (named.next(), named.next()) {
            (Some((_, option)), None) => selected(&option.option_id),
            // Other words choose nothing.
            _ => self.denied(),
        }
    }

    /// The reply that denies the call once.
    // A `reject_always` would deny calls that nobody was asked about.
    pub(super) fn denied(&self) -> Value {
        match &*self.of(OptionKind::RejectOnce) {
            [one, ..] => selected(&one.option_id),
            [] => cancelled(),
        }
    }

    fn of(&self, kind: OptionKind) -> Vec<&PermissionOption> {
        self.0.iter().filter(|option| option.kind == kind).collect()
    }

    fn question(&self) -> Question {
        let options = self.labelled().map(|(label, option)| Choice {
            label,
            description: Some(option.kind.meaning().to_owned()),
            preview: None,
        });
        Question {
            question: "The call is approved. Which of the agent's own options is it?".to_owned(),
            header: None,
            multi_select: false,
            options: options.collect(),
        }
    }

    /// The options with labels that tell them apart.
    fn labelled(&self) -> impl Iterator<Item = (String, &PermissionOption)> {
        self.0.iter().enumerate().map(|(at, option)| {
            let name = option.name.trim();
            let twice = self.0.iter().filter(|other| other.name.trim() == name).count() > 1;
            let label = match (name.is_empty(), twice) {
                (true, _) => format!("option {}", at + 1),
                (false, true) => format!("{name} ({})", at + 1),
                (false, false) => name.to_owned(),
            };
            (label, option)
        })
    }
}

impl OptionKind {
    fn meaning(self) -> &'static str {
        match self {
            Self::AllowOnce => "allows this call",
            Self::AllowAlways => "allows this and later calls; which ones, the agent decides",
            Self::RejectOnce => "denies this call",
            Self::RejectAlways => "denies this and later calls; which ones, the agent decides",
            Self::Unknown => "its effect is not known",
        }
    }
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// The reply to a request whose turn was cancelled.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}
