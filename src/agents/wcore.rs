//! wayland-core engines: their requests and our replies. Pure; `cli::host` moves the lines.
//!
//! Every line of the engine is passed on to our own host unchanged, in addition to what is done
//! here.
//!
//! INVARIANT: every request has at most one answer: the daemon's, or that of the person at our own
//! host, whichever comes first; the other is cancelled or dropped.

use crate::{
    hosted::{EngineInput, Forward, HostedSession, Step},
    waiting::{CallOrigin, Waiting},
};
use countersign_client::{AnswerView, Decided, Ending};
use countersign_domain::{
    Decision, Scope,
    call::Call,
    question::{Choice, Question},
    wire::CancelReason,
};
use countersign_policy::{self as policy, tools::SUSPENDED};
use countersign_wcore::rules::{
    ApprovalScope, ModeChangeSource, SessionMode, TIMED_OUT, prefix,
    question::{self, TOOL},
    reason_of,
};
use countersign_wcore::wire::{
    AnswerRoute, EngineEvent, HostCommand, Mistake, ResumeToken, Suspension, ToolRequest,
};
use serde_json::{Value, json};

/// The reason of denials after our own host has closed its end.
pub const HOST_GONE: &str = "the host closed its input while this approval was pending";

/// The session of one engine.
#[derive(Debug)]
pub struct EngineSession {
    origin: CallOrigin,
    /// What the engine announced that it can do.
    capabilities: Value,
    rights: LaunchOptions,
    waiting: Waiting<OpenRequest>,
    host_gone: bool,
}

/// The options given at launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchOptions {
    /// The authority of our own host when it changes the mode.
    pub modes: ModeChangeSource,
    /// Reports scopes to the engine as its own hosts do.
    pub compat: bool,
    /// The session was named at launch; otherwise the engine names it.
    pub named: bool,
}

impl EngineSession {
    /// A session that has not started.
    #[must_use]
    pub fn new(origin: CallOrigin, rights: LaunchOptions) -> Self {
        let waiting = Waiting::new(&origin.run);
        Self { origin, capabilities: Value::Null, rights, waiting, host_gone: false }
    }

    /// Handles a line of the engine.
    fn received(&mut self, line: &str) -> Vec<Step> {
        let event = match EngineEvent::read(line) {
            Ok(event) => event,
            Err((why, call)) => return unreadable(&why, call),
        };
        match event {
            EngineEvent::Ready { session_id, capabilities } => self.ready(session_id, capabilities),
            EngineEvent::ToolRequest(request) => self.requested(request),
            EngineEvent::ApprovalRequired(wanted) => match wanted.answering() {
                // The `tool_request` of the same call is the ask.
                AnswerRoute::ByCall => Vec::new(),
                AnswerRoute::ByToken(token) => self.suspended(wanted, token),
            },
            EngineEvent::Suspend { reason, resume_token } if !resume_token.reveal().is_empty() => {
                self.suspended(Suspension::bare(reason, resume_token.clone()), resume_token)
            }
            // The call runs, so somebody at our own host approved it.
            EngineEvent::ToolRunning { call_id } | EngineEvent::ToolResult { call_id } => {
                self.settled(&call_id, CancelReason::AnsweredElsewhere)
            }
            EngineEvent::ToolCancelled { call_id } => self.settled(&call_id, CancelReason::Aborted),
            EngineEvent::ApprovalResume { resume_token, .. } => {
                self.resumed(&resume_token, CancelReason::AnsweredElsewhere)
            }
            EngineEvent::CallAnnounced(_) | EngineEvent::Suspend { .. } | EngineEvent::Other => {
                Vec::new()
            }
        }
    }

    fn ready(&mut self, session: Option<String>, capabilities: Value) -> Vec<Step> {
        if let Some(session) = session.filter(|name| !self.rights.named && !name.trim().is_empty())
        {
            self.origin.session = session;
        }
        self.capabilities = capabilities;
        Vec::new()
    }

    fn requested(&mut self, request: ToolRequest) -> Vec<Step> {
        // The engine has given up the earlier request with this id; a press on its card must not
        // answer the new one.
        let mut todo = self.settled(&request.call_id, CancelReason::Aborted);
        let call = self.call(&request);
        todo.extend(self.ask(OpenRequest::Call(Box::new(request)), call));
        todo
    }

    fn suspended(&mut self, wanted: Suspension, token: ResumeToken) -> Vec<Step> {
        let known = |open: &OpenRequest| match open {
            OpenRequest::Suspended(_, known) => *known == token,
            _ => false,
        };
        // `suspend` and `approval_required` announce the same request, in either order.
        if self.waiting.open.values().any(known) {
            return Vec::new();
        }
        let call = self.question(&wanted);
        self.ask(OpenRequest::Suspended(wanted, token), call)
    }

    fn ask(&mut self, open: OpenRequest, call: Call) -> Vec<Step> {
        // The engine may go on asking until it has read the end of its input.
        if self.host_gone {
            return vec![Step::Send(denial(&open, HOST_GONE))];
        }
        match self.waiting.submit(open, call) {
            Ok(step) => vec![step],
            // FAIL-CLOSED: a request that cannot be shown is denied instead of left waiting.
            Err((open, why)) => vec![Step::Send(denial(&open, &why)), Step::Log(why)],
        }
    }

    fn settled(&mut self, call_id: &str, why: CancelReason) -> Vec<Step> {
        let is_it =
            |open: &OpenRequest| matches!(open, OpenRequest::Call(it) if it.call_id == call_id);
        self.waiting.take_back(is_it, why)
    }

    fn resumed(&mut self, token: &ResumeToken, why: CancelReason) -> Vec<Step> {
        let is_it =
            |open: &OpenRequest| matches!(open, OpenRequest::Suspended(_, it) if it == token);
        self.waiting.take_back(is_it, why)
    }
}

/// Denies an unreadable request if its call id can be read.
fn unreadable(why: &str, call: Option<String>) -> Vec<Step> {
    let note = Step::Log(format!("a line of the engine cannot be read: {why}"));
    // Only a `tool_request` waits for a `tool_deny`. The error starts with the type of the line.
    let is_request = why.starts_with("`tool_request`");
    let deny = call.filter(|_| is_request).map(|call_id| {
        let reason = format!("countersign cannot read this request: {why}");
        Step::Send(HostCommand::ToolDeny { call_id, reason }.line())
    });
    deny.into_iter().chain([note]).collect()
}

// An engine as a hosted program.

impl HostedSession for EngineSession {
    fn agent(&self) -> &str {
        AGENT
    }

    fn name(&self) -> &str {
        &self.origin.session
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        (Forward::On, self.received(&String::from_utf8_lossy(line)))
    }

    fn host_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        let refused = |why: String| (Forward::Stays, vec![Step::Log(why)]);
        match HostCommand::read(&String::from_utf8_lossy(line)) {
            Ok(
                HostCommand::ToolApprove { call_id, .. } | HostCommand::ToolDeny { call_id, .. },
            ) => (Forward::On, self.settled(&call_id, CancelReason::AnsweredElsewhere)),
            Ok(HostCommand::ApprovalResume { resume_token, .. }) => {
                (Forward::On, self.resumed(&resume_token, CancelReason::AnsweredElsewhere))
            }
            // SECURITY: an engine in mode `force` does not ask, and a call without an ask is seen
            // by no guardrail.
            Ok(HostCommand::SetMode { mode })
                if mode != SessionMode::Default && self.rights.modes == ModeChangeSource::Wire =>
            {
                refused(format!(
                    "the mode {mode} was not passed on; say --allow-set-mode at the start to let \
                     this host loosen its engine"
                ))
            }
            // Messages, and commands that we do not know, are for the engine.
            Ok(HostCommand::SetMode { .. } | HostCommand::Ping) | Err(Mistake::Other(_)) => {
                (Forward::On, Vec::new())
            }
            // A line that looks like an approval and cannot be read is dropped: the engine might
            // read more into it than we do.
            Err(Mistake::Malformed(why)) => {
                refused(format!("a line of the host was not passed on: {why}"))
            }
        }
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry it was answered at our own host; the later decision is dropped.
        let Some(open) = self.waiting.open.remove(key) else { return Vec::new() };
        commands(&open, decided, self.rights.compat).into_iter().map(Step::Send).collect()
    }

    fn host_ended(&mut self) -> Vec<Step> {
        self.host_gone = true;
        let gone = self.waiting.open.drain().flat_map(|(key, open)| {
            [Step::Send(denial(&open, HOST_GONE)), Step::Cancel { key, why: CancelReason::Aborted }]
        });
        gone.collect()
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.waiting.take_back(|_| true, why)
    }

    fn input(&self) -> EngineInput {
        // Everything that waited is denied with the end of our host, so nothing comes after it.
        if self.host_gone { EngineInput::Over } else { EngineInput::Open }
    }
}

// Converts an engine's requests to calls.

/// The agent's name in its calls.
pub const AGENT: &str = "wcore";

/// The answer that continues a suspended request that is no question.
const APPROVE: &str = "Approve";

/// More choices than a card can show are listed in the question's text.
// As `question::check` limits them, which refuses a question with more.
const MOST_CHOICES: usize = 20;

impl EngineSession {
    /// The call for a `tool_request`.
    fn call(&self, request: &ToolRequest) -> Call {
        let tool = &request.tool;
        let questions = match tool.name.as_str() {
            TOOL => question::parse_all(&tool.args).into_iter().map(asked).collect(),
            _ => Vec::new(),
        };
        let reason = tool.escalation.as_ref().map(|edge| {
            format!("It reaches beyond the workspace: {} of {}", edge.access, edge.target)
        });
        let description = Some(tool.description.clone()).filter(|text| !text.trim().is_empty());
        Call {
            category: Some(tool.category.word().to_owned()),
            reason,
            description,
            questions,
            meta: Some(json!({
                "call_id": request.call_id,
                "msg_id": request.msg_id,
                "capabilities": self.capabilities,
            })),
            ..self.origin.call(AGENT, &tool.name, tool.args.clone())
        }
    }

    /// The question for an `approval_required`. It always goes to a person, whatever grants exist,
    /// and its secret is not part of the call.
    fn question(&self, wanted: &Suspension) -> Call {
        let words = [wanted.reason.as_str(), wanted.context.as_str()];
        let words: Vec<&str> = words.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let text = if words.is_empty() {
            "The engine waits for a decision and does not say which.".to_owned()
        } else {
            words.join("\n")
        };
        let question = match asks_for_words(wanted) {
            Some(question) => Question { question: question.to_owned(), ..blank() },
            // One option only: any other text is a denial in the person's words.
            None => Question { question: text, options: vec![choice(APPROVE, None)], ..blank() },
        };
        Call {
            questions: vec![question],
            meta: Some(json!({
                "call_id": wanted.call_id,
                "capabilities": self.capabilities,
            })),
            ..self.origin.call(AGENT, SUSPENDED, json!({}))
        }
    }
}

/// The question in words of a suspended request, if it is one.
fn asks_for_words(wanted: &Suspension) -> Option<&str> {
    let question = wanted.context.strip_prefix(TOOL)?.strip_prefix(':')?.trim();
    (!question.is_empty()).then_some(question)
}

fn asked(question: question::EngineQuestion) -> Question {
    let question::EngineQuestion { text, choices, several } = question;
    let text = if text.is_empty() { "The agent asks a question.".to_owned() } else { text };
    if choices.len() > MOST_CHOICES {
        let list: Vec<String> = choices.iter().map(|c| format!("- {}", c.label)).collect();
        return Question { question: format!("{text}\n{}", list.join("\n")), ..blank() };
    }
    let options = choices.into_iter().map(|c| choice(&c.label, c.description)).collect();
    Question { question: text, multi_select: several, options, ..blank() }
}

fn choice(label: &str, description: Option<String>) -> Choice {
    Choice { label: label.to_owned(), description, preview: None }
}

fn blank() -> Question {
    Question { question: String::new(), header: None, multi_select: false, options: Vec::new() }
}

// Encodes the daemon's answers as commands to an engine.

/// An open request of an engine.
#[derive(Debug)]
enum OpenRequest {
    /// A call, answered by its id.
    Call(Box<ToolRequest>),
    /// A suspended request, answered by its secret.
    Suspended(Suspension, ResumeToken),
}

/// The lines that answer a request.
// FAIL-CLOSED: no answer, an unreadable answer, and a question without an answer are denials.
fn commands(open: &OpenRequest, decided: Result<&Decided, String>, compat: bool) -> Vec<String> {
    let decided = match decided {
        Ok(decided) => decided,
        Err(why) => return vec![denial(open, &format!("nobody could be asked: {why}"))],
    };
    let said = match &decided.ending {
        Ending::Answered(answer) => Some(answer),
        _ => None,
    };
    let line = match decided.decision {
        Decision::Deny => {
            let stop = said.is_some_and(|answer| answer.stop);
            let stop = stop.then(|| json!({ "type": "stop" }).to_string());
            // The denial first: `stop` ends the turn to which the request belongs.
            return [denial(open, &reason(decided))].into_iter().chain(stop).collect();
        }
        // FAIL-CLOSED: an engine has no way to run something else.
        Decision::Edit => denial(open, "the call was changed, which this engine cannot carry out"),
        Decision::Answer => {
            let words = said.and_then(|answer| answer.answers.as_ref()).map(in_words);
            answered(open, words.unwrap_or_default())
        }
        Decision::Approve => match open {
            OpenRequest::Call(request) if request.tool.name != TOOL => {
                approve(request, scope(request, said, compat), None)
            }
            OpenRequest::Call(_) | OpenRequest::Suspended(..) => {
                denial(open, "the question was approved without an answer")
            }
        },
    };
    vec![line]
}

/// The line for an answered question.
// SECURITY: the answer to a question lets no other tool run.
fn answered(open: &OpenRequest, words: String) -> String {
    match open {
        OpenRequest::Call(request) if request.tool.name == TOOL => {
            approve(request, ApprovalScope::Once, Some(words))
        }
        OpenRequest::Call(_) => denial(open, "a question was answered; nothing was approved"),
        OpenRequest::Suspended(wanted, token) => HostCommand::ApprovalResume {
            resume_token: token.clone(),
            approved: resumes(wanted, &words),
            modifications: Some(json!({ "answer": words })),
        }
        .line(),
    }
}

/// The line that denies a request.
fn denial(open: &OpenRequest, reason: &str) -> String {
    match open {
        OpenRequest::Call(request) => {
            let call_id = request.call_id.clone();
            let reason = reason.to_owned();
            HostCommand::ToolDeny { call_id, reason }
        }
        OpenRequest::Suspended(_, token) => HostCommand::ApprovalResume {
            resume_token: token.clone(),
            approved: false,
            modifications: Some(json!({ "reason": reason })),
        },
    }
    .line()
}

fn approve(request: &ToolRequest, scope: ApprovalScope, answer: Option<String>) -> String {
    HostCommand::ToolApprove { call_id: request.call_id.clone(), scope, answer }.line()
}

/// Returns whether a suspended request continues: any text answers a question in words, everything
/// else needs the exact label.
fn resumes(wanted: &Suspension, words: &str) -> bool {
    asks_for_words(wanted).is_some() || words == APPROVE
}

/// The scope of an approval that is reported to the engine.
// SECURITY: an engine that receives `always` does not ask again, and then no guardrail and no
// revoked grant is checked. The daemon remembers the grant instead.
fn scope(request: &ToolRequest, said: Option<&AnswerView>, compat: bool) -> ApprovalScope {
    let scope = said.filter(|_| compat).and_then(|answer| answer.scope);
    match scope {
        Some(Scope::Always | Scope::Session) => ApprovalScope::Always,
        Some(Scope::Prefix) => {
            let call = policy::Call::new(request.tool.name.clone(), request.tool.args.clone());
            let prefix = call.command().map(prefix::infer_prefix).unwrap_or_default();
            ApprovalScope::AlwaysPrefix { prefix }
        }
        _ => ApprovalScope::Once,
    }
}

/// The reason of a denial, in the profile's words if the daemon gave them.
fn reason(decided: &Decided) -> String {
    match (&decided.message, &decided.ending) {
        (Some(message), _) => reason_of(message).to_owned(),
        (None, Ending::Expired) => TIMED_OUT.to_owned(),
        (None, Ending::Ruled(_)) => format!("denied by policy: {}", decided.reason),
        (None, _) => decided.reason.clone(),
    }
}

/// Answers to questions as one text: the single answer, or one line per question.
fn in_words(answers: &serde_json::Map<String, Value>) -> String {
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    match answers.len() {
        1 => answers.values().map(said).collect(),
        _ => {
            let lines =
                answers.iter().map(|(question, answer)| format!("{question}: {}", said(answer)));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::answered;
    use countersign_client::Ending;
    use countersign_domain::Decision;
    use countersign_wcore::rules::prefix::infer_prefix;
    use serde_json::{Map, json};

    fn session(modes: ModeChangeSource, compat: bool) -> EngineSession {
        let origin = CallOrigin {
            session: "wcore 1".into(),
            host: Some("mill".into()),
            cwd: Some("/home/ana/shop".into()),
            run: countersign_tokens::ids::nonce(),
        };
        EngineSession::new(origin, LaunchOptions { modes, compat, named: false })
    }

    fn plain() -> EngineSession {
        session(ModeChangeSource::Wire, false)
    }

    fn request(call_id: &str, tool: &str, args: &Value) -> String {
        json!({
            "type": "tool_request", "msg_id": "m1", "call_id": call_id,
            "tool": { "name": tool, "category": "exec", "args": args, "description": "Run it" },
        })
        .to_string()
    }

    fn bash(call_id: &str) -> String {
        request(call_id, "Bash", &json!({ "command": "cargo test --lib" }))
    }

    /// The only submitted call among the steps.
    fn asked(todo: Vec<Step>) -> (String, Call) {
        match <[Step; 1]>::try_from(todo) {
            Ok([Step::Submit { key, call }]) => (key, *call),
            other => panic!("no single ask: {other:?}"),
        }
    }

    fn told(todo: &[Step]) -> Vec<Value> {
        let lines = todo.iter().map(|act| match act {
            Step::Send(line) => serde_json::from_str(line).unwrap(),
            other => panic!("not told: {other:?}"),
        });
        lines.collect()
    }

    fn by_ana(scope: Option<&str>, stop: bool, answers: Option<Value>) -> Ending {
        Ending::Answered(answered::by_ana(Decision::Approve, |answer| {
            (answer.scope, answer.stop) = (scope.map(|scope| scope.parse().unwrap()), stop);
            let object = |answers: Value| answers.as_object().cloned().unwrap_or_else(Map::new);
            answer.answers = answers.map(object);
        }))
    }

    fn decided(decision: Decision, ending: Ending) -> Decided {
        let reason = "denied by Ana (telegram): no".to_owned();
        Decided { decision, reason, message: None, ask: None, ending }
    }

    #[test]
    fn a_request_becomes_a_call_with_all_that_is_known_about_it() {
        let mut session = plain();
        let ready = json!({ "type": "ready", "session_id": "s1", "capabilities": { "mcp": true } });
        assert_eq!(session.received(&ready.to_string()), []);
        let (key, call) = asked(session.received(&bash("c-9f3a")));
        assert_eq!(call.key.as_ref(), Some(&key));
        assert_eq!((call.agent.as_str(), call.session.as_str()), ("wcore", "s1"));
        assert_eq!((call.tool.as_str(), call.category.as_deref()), ("Bash", Some("exec")));
        assert_eq!(call.args, json!({ "command": "cargo test --lib" }));
        assert_eq!(call.cwd.as_deref(), Some("/home/ana/shop"));
        let meta = json!({ "call_id": "c-9f3a", "msg_id": "m1", "capabilities": { "mcp": true } });
        assert_eq!(call.meta, Some(meta));
    }

    #[test]
    fn every_request_has_a_key_of_its_own_even_under_an_old_id() {
        let mut session = plain();
        let (first, _) = asked(session.received(&bash("c1")));
        let approved = decided(Decision::Approve, by_ana(Some("once"), false, None));
        assert_eq!(session.decided(&first, Ok(&approved)).len(), 1);
        let (second, _) = asked(session.received(&bash("c1")));
        assert_ne!(first, second, "an old answer must not answer a new request");
        assert_ne!(asked(plain().received(&bash("c1"))).0, first);
        let again = session.received(&bash("c1"));
        assert!(matches!(
            &again[..],
            [Step::Cancel { key, why: CancelReason::Aborted }, Step::Submit { .. }]
                if *key == second
        ));
    }

    #[test]
    fn the_engine_hears_once_whatever_was_granted_unless_it_is_compat() {
        for (compat, scope, heard) in [
            (false, "once", json!("once")),
            (false, "always", json!("once")),
            (false, "always_prefix", json!("once")),
            (true, "once", json!("once")),
            (true, "always", json!("always")),
            (
                true,
                "always_prefix",
                json!({ "always_prefix": { "prefix": infer_prefix("cargo test") } }),
            ),
        ] {
            let mut session = session(ModeChangeSource::Wire, compat);
            let (key, _) = asked(session.received(&bash("c1")));
            let approved = decided(Decision::Approve, by_ana(Some(scope), false, None));
            let approve = json!({ "type": "tool_approve", "call_id": "c1", "scope": heard });
            assert_eq!(told(&session.decided(&key, Ok(&approved))), [approve]);
        }
    }

    #[test]
    fn denials_say_why_and_stop_ends_the_turn() {
        for (ending, message, reason) in [
            (by_ana(None, false, None), None, "denied by Ana (telegram): no"),
            (Ending::Expired, None, "approval timed out (no host response)"),
            (Ending::Expired, Some("Tool denied: nobody was there"), "nobody was there"),
            (Ending::Cancelled, None, "denied by Ana (telegram): no"),
        ] {
            let mut session = plain();
            let (key, _) = asked(session.received(&bash("c1")));
            let message = message.map(str::to_owned);
            let denied = Decided { message, ..decided(Decision::Deny, ending) };
            let deny = json!({ "type": "tool_deny", "call_id": "c1", "reason": reason });
            assert_eq!(told(&session.decided(&key, Ok(&denied))), [deny]);
        }
        let mut session = plain();
        let (key, _) = asked(session.received(&bash("c1")));
        let stopped = decided(Decision::Deny, by_ana(None, true, None));
        assert_eq!(told(&session.decided(&key, Ok(&stopped)))[1], json!({ "type": "stop" }));
    }

    #[test]
    fn a_daemon_that_cannot_be_asked_is_a_denial() {
        let mut session = plain();
        let (key, _) = asked(session.received(&bash("c1")));
        let lines = told(&session.decided(&key, Err("the daemon is away".into())));
        let reason = "nobody could be asked: the daemon is away";
        assert_eq!(lines, [json!({ "type": "tool_deny", "call_id": "c1", "reason": reason })]);
        assert_eq!(session.decided(&key, Err("again".into())), [], "one answer only");
    }

    #[test]
    fn an_answer_by_hand_takes_the_ask_back_and_the_late_one_is_dropped() {
        for line in [
            r#"{"type":"tool_approve","call_id":"c1"}"#,
            r#"{"type":"tool_deny","call_id":"c1","reason":"no"}"#,
        ] {
            let mut session = plain();
            let (key, _) = asked(session.received(&bash("c1")));
            let (passes, todo) = session.host_line(line.as_bytes());
            assert_eq!(passes, Forward::On);
            assert_eq!(
                todo,
                [Step::Cancel { key: key.clone(), why: CancelReason::AnsweredElsewhere }]
            );
            let approved = decided(Decision::Approve, by_ana(Some("once"), false, None));
            assert_eq!(session.decided(&key, Ok(&approved)), []);
        }
    }

    #[test]
    fn what_the_engine_settled_by_itself_is_taken_back() {
        for (kind, why) in [
            ("tool_running", CancelReason::AnsweredElsewhere),
            ("tool_cancelled", CancelReason::Aborted),
        ] {
            let mut session = plain();
            let (key, _) = asked(session.received(&bash("c1")));
            let line = json!({ "type": kind, "call_id": "c1" }).to_string();
            assert_eq!(session.received(&line), [Step::Cancel { key, why }]);
        }
    }

    #[test]
    fn a_question_is_asked_in_any_shape_and_answered_in_words() {
        for (args, answers, answer) in [
            (json!({ "question": "Which?", "choices": ["A", "B"] }), json!({ "Which?": "B" }), "B"),
            (
                json!({ "question": "Which?", "options": [{ "label": "A" }], "multiSelect": true }),
                json!({ "Which?": ["A", "C"] }),
                "A, C",
            ),
            (
                json!({ "questions": [{ "question": "One?" }, { "question": "Two?" }] }),
                json!({ "One?": "1", "Two?": "2" }),
                "One?: 1\nTwo?: 2",
            ),
        ] {
            let mut session = plain();
            let line = request("c1", "AskUserQuestion", &args);
            let (key, call) = asked(session.received(&line));
            assert!(!call.questions.is_empty());
            let done = decided(Decision::Answer, by_ana(None, false, Some(answers)));
            let approve = json!({ "type": "tool_approve", "call_id": "c1", "scope": "once", "answer": answer });
            assert_eq!(told(&session.decided(&key, Ok(&done))), [approve]);
        }
    }

    #[test]
    fn answers_go_with_questions_only_and_a_question_without_one_is_denied() {
        let approved = |answers| decided(Decision::Approve, by_ana(None, false, answers));
        let mut session = plain();
        let (key, _) = asked(session.received(&bash("c1")));
        let fabricated = approved(Some(json!({ "x": "all tests passed" })));
        let lines = told(&session.decided(&key, Ok(&fabricated)));
        assert_eq!(lines, [json!({ "type": "tool_approve", "call_id": "c1", "scope": "once" })]);
        let (key, _) = asked(session.received(&bash("c3")));
        let answered =
            decided(Decision::Answer, by_ana(None, false, Some(json!({ "x": "Approve" }))));
        assert_eq!(told(&session.decided(&key, Ok(&answered)))[0]["type"], "tool_deny");
        let question = request("c2", "AskUserQuestion", &json!({ "question": "Which?" }));
        let (key, _) = asked(session.received(&question));
        assert_eq!(told(&session.decided(&key, Ok(&approved(None))))[0]["type"], "tool_deny");
    }

    #[test]
    fn a_suspended_request_is_a_question_whose_secret_stays_here() {
        let required = |context: &str| {
            json!({
                "type": "approval_required", "call_id": "c-8b2d", "resume_token": "rt-9b3c",
                "correlation_id": "rt-9b3c", "reason": "Tool requires host decision",
                "context": context,
            })
            .to_string()
        };
        let suspend = json!({ "type": "suspend", "reason": "waiting", "resume_token": "rt-9b3c" });
        for (context, answers, approved) in [
            ("AskUserQuestion: Which deployment target?", json!({ "q": "staging" }), true),
            ("egress to example.com", json!({ "q": "Approve" }), true),
            ("egress to example.com", json!({ "q": "sure, whatever" }), false),
        ] {
            let mut session = plain();
            let (key, call) = asked(session.received(&required(context)));
            assert_eq!(session.received(&suspend.to_string()), [], "it is one request");
            assert!(!serde_json::to_string(&call).unwrap().contains("rt-9b3c"), "{call:?}");
            assert!(call.questions[0].question.contains(context.rsplit(": ").next().unwrap()));
            let answer = answers["q"].clone();
            let done = decided(Decision::Answer, by_ana(None, false, Some(answers)));
            let resume = json!({
                "type": "approval_resume", "resume_token": "rt-9b3c", "approved": approved,
                "modifications": { "answer": answer },
            });
            assert_eq!(told(&session.decided(&key, Ok(&done))), [resume]);
        }
        let mut session = plain();
        let (key, _) = asked(session.received(&suspend.to_string()));
        let (_, todo) = session
            .host_line(br#"{"type":"approval_resume","resume_token":"rt-9b3c","approved":true}"#);
        assert_eq!(todo, [Step::Cancel { key, why: CancelReason::AnsweredElsewhere }]);
    }

    #[test]
    fn an_ordinary_gate_of_a_later_engine_is_asked_once() {
        let mut session = plain();
        let required = json!({
            "type": "approval_required", "call_id": "c1", "resume_token": "", "correlation_id": "c1",
            "reason": "r", "context": "c",
        });
        assert_eq!(session.received(&required.to_string()), []);
        asked(session.received(&bash("c1")));
    }

    #[test]
    fn our_hosts_end_denies_everything_now_and_later() {
        let mut session = plain();
        let (key, _) = asked(session.received(&bash("c1")));
        let deny = |call: &str| {
            let reason = HOST_GONE;
            let line = json!({ "type": "tool_deny", "call_id": call, "reason": reason });
            Step::Send(line.to_string())
        };
        assert_eq!(
            session.host_ended(),
            [deny("c1"), Step::Cancel { key, why: CancelReason::Aborted }]
        );
        assert_eq!(session.received(&bash("c2")), [deny("c2")]);
    }

    #[test]
    fn a_mode_that_asks_less_needs_a_word_at_launch_and_unknown_words_go_nowhere() {
        let set = |mode: &str| json!({ "type": "set_mode", "mode": mode }).to_string();
        let passes = |modes, mode| session(modes, false).host_line(set(mode).as_bytes()).0;
        assert_eq!(passes(ModeChangeSource::Wire, "default"), Forward::On);
        assert_eq!(passes(ModeChangeSource::WireOptedIn, "yolo"), Forward::On);
        for mode in ["force", "auto_edit", "yolo"] {
            assert_eq!(passes(ModeChangeSource::Wire, mode), Forward::Stays, "{mode}");
        }
        assert_eq!(passes(ModeChangeSource::WireOptedIn, "Force"), Forward::Stays);
        let forever = r#"{"type":"tool_approve","call_id":"c1","scope":"forever"}"#;
        let mut session = plain();
        asked(session.received(&bash("c1")));
        let (passed, todo) = session.host_line(forever.as_bytes());
        assert!(passed == Forward::Stays && matches!(&todo[..], [Step::Log(_)]), "{todo:?}");
        let message = r#"{"type":"message","msg_id":"m1","content":"hello"}"#;
        assert_eq!(session.host_line(message.as_bytes()), (Forward::On, Vec::new()));
    }

    #[test]
    fn a_request_that_cannot_be_read_or_shown_is_denied_at_once() {
        let unread =
            r#"{"type":"tool_request","call_id":"c1","tool":{"name":"x","category":"all"}}"#;
        let todo = plain().received(unread);
        assert!(
            matches!(&todo[..], [Step::Send(deny), Step::Log(_)] if deny.contains("tool_deny"))
        );
        let todo = plain().received(&request("c1", &"x".repeat(300), &json!({})));
        assert!(
            matches!(&todo[..], [Step::Send(deny), Step::Log(_)] if deny.contains("tool_deny"))
        );
    }

    #[test]
    fn the_end_of_an_engine_takes_everything_back() {
        let mut session = plain();
        let (key, _) = asked(session.received(&bash("c1")));
        assert_eq!(
            session.engine_ended(CancelReason::Aborted),
            [Step::Cancel { key, why: CancelReason::Aborted }]
        );
    }
}
