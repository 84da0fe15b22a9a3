//! Codex without a terminal: one prompt for an app-server of our own, on its stdin and stdout.
//! Nobody else is there for its requests, so each gets a reply.
//!
//! INVARIANT: every request has at most one reply, none of them an error, and one that Codex
//! resolved has none.

use crate::{
    codex::{
        frame::{self, CodexFrame, CodexThread, ServerRequest},
        request::{
            self, CodexReply, CodexRequest, DENIALS, FileChanges, NAME, RequestContext,
            for_the_model, stops,
        },
    },
    hook_call::message,
    hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step, TICK},
    line_head::{LineHead, MessageHead},
    waiting::{CallOrigin, Waiting},
};
use countersign_client::Decided;
use countersign_domain::{exact_json, wire::CancelReason};
use serde_json::{Value, json};
use std::time::Duration;

/// Ticks for Codex to end after its turn.
const FAREWELL: u32 = 3;

/// What is written to our stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodexOutput {
    /// What the agent says.
    Messages,
    /// Every frame of the app-server, unchanged.
    Frames,
}

/// One prompt, and what Codex asks until it is done.
#[derive(Debug)]
pub struct CodexRun {
    prompt: String,
    output: CodexOutput,
    /// The session is the thread of the prompt, once it is there.
    origin: CallOrigin,
    changes: FileChanges,
    waiting: Waiting<RunRequest>,
    outage: CodexOutage,
    /// The end of the turn, and the reason where it is a bad one.
    end: Option<Result<(), String>>,
    /// The ticks since the end.
    ended_for: u32,
}

impl CodexRun {
    /// A run that has not started.
    #[must_use]
    pub fn new(prompt: String, origin: CallOrigin, output: CodexOutput) -> Self {
        Self {
            prompt,
            output,
            waiting: Waiting::new(&origin.run),
            origin: CallOrigin { session: String::new(), ..origin },
            changes: FileChanges::default(),
            outage: CodexOutage::new(Duration::from_mins(2)),
            end: None,
            ended_for: 0,
        }
    }

    /// The same run, which ends after an error that lasts for this time. It is two minutes.
    #[must_use]
    pub fn ending_after(mut self, limit: Duration) -> Self {
        self.outage = CodexOutage::new(limit);
        self
    }

    /// The first lines for the app-server.
    #[must_use]
    pub fn opening(&self) -> Vec<String> {
        let start = frame::start(self.origin.cwd.as_deref());
        frame::hello().into_iter().chain([start]).map(|frame| frame.to_string()).collect()
    }

    fn received(&mut self, text: &str) -> Vec<Step> {
        let frame = frame::read(text);
        if let CodexFrame::Error { why } = frame {
            return if self.outage.begins(why.clone()) {
                vec![Step::Log(format!("Codex: {why}"))]
            } else {
                Vec::new()
            };
        }
        if frame != CodexFrame::Other {
            self.outage.is_over();
        }
        match frame {
            CodexFrame::Thread(thread) => self.thread(thread),
            CodexFrame::Request(request) => self.requested(&request),
            CodexFrame::Resolved { thread, id } => {
                let is_it = |open: &RunRequest| open.thread == thread && open.id == id;
                self.waiting.take_back(is_it, CancelReason::AnsweredElsewhere)
            }
            CodexFrame::Closed { thread } => {
                self.waiting.take_back(|open| open.thread == thread, CancelReason::SessionEnded)
            }
            CodexFrame::Said { thread, text } if self.is_main(&thread) => match self.output {
                CodexOutput::Messages => vec![Step::Say(text)],
                CodexOutput::Frames => Vec::new(),
            },
            CodexFrame::TurnEnded { thread, status, error } if self.is_main(&thread) => {
                self.end.get_or_insert(match (status.as_str(), error) {
                    ("completed", None) => Ok(()),
                    (_, Some(why)) => Err(format!("Codex's turn ended as {status}: {why}")),
                    (_, None) => Err(format!("Codex's turn ended as {status}")),
                });
                Vec::new()
            }
            CodexFrame::Refused { asked, why } => {
                // Words for a turn that has just ended reach nobody; the others are needed.
                if ["initialize", "thread", "turn"].contains(&asked.as_str()) {
                    self.end.get_or_insert(Err(format!("Codex refused to start: {why}")));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Nobody can answer Codex any more, so the run ends.
    fn fails(&mut self, why: String) -> Vec<Step> {
        self.end.get_or_insert(Err(why));
        Vec::new()
    }

    fn is_main(&self, thread: &str) -> bool {
        self.origin.session == thread
    }

    /// Takes in what is known of a thread; the first one gets the prompt.
    fn thread(&mut self, told: CodexThread) -> Vec<Step> {
        let mut steps = Vec::new();
        for (item, changes) in told.changes {
            steps.extend(self.changed(&told.id, &item, &changes));
            self.changes.note((told.id.clone(), item), changes);
        }
        let is_ours = self.origin.session.is_empty() && told.cwd.is_some();
        if is_ours {
            self.origin.cwd = told.cwd;
            steps.push(Step::Send(frame::prompt(&told.id, &self.prompt).to_string()));
            self.origin.session = told.id;
        }
        steps
    }
}

impl HostedSession for CodexRun {
    fn agent(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        &self.origin.session
    }

    fn program(&self) -> &'static str {
        "Codex"
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        let odd = odd(line);
        let steps = match std::str::from_utf8(line) {
            Ok(line) if odd.is_empty() => self.received(line),
            _ => odd.into_iter().flat_map(|odd| self.unreadable(odd)).collect(),
        };
        let forward = match self.output {
            CodexOutput::Frames => Forward::On,
            CodexOutput::Messages => Forward::Stays,
        };
        (forward, steps)
    }

    // The opening; nothing else comes from this side.
    fn host_line(&mut self, _line: &[u8]) -> (Forward, Vec<Step>) {
        (Forward::On, Vec::new())
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry it was resolved; the later decision is dropped.
        let Some(open) = self.waiting.open.remove(key) else { return Vec::new() };
        let reply = match &decided {
            Ok(decided) => open
                .request
                .reply(decided)
                .unwrap_or_else(|| open.request.denial(&message(decided))),
            Err(why) => open.request.denial(&format!("it could not decide: {why}")),
        };
        let stopped = decided.is_ok_and(|decided| stops(&decided.ending));
        let mut steps = open.steps(reply);
        // A reply to questions cannot end the turn, as one to other requests can.
        if stopped && open.request.asks_questions() {
            let interrupt = frame::interrupt(&open.thread, &open.request.turn);
            steps.push(Step::Send(interrupt.to_string()));
        }
        steps
    }

    // A person may think for as long as they like: that is no error.
    fn tick(&mut self) -> Vec<Step> {
        self.ended_for += u32::from(self.end.is_some());
        if self.waiting.open.is_empty()
            && let Some(why) = self.outage.tick()
        {
            self.end.get_or_insert(Err(why));
        }
        Vec::new()
    }

    fn host_ended(&mut self) -> Vec<Step> {
        Vec::new()
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.end.get_or_insert(Err("Codex ended before its turn did".to_owned()));
        self.waiting.take_back(|_| true, why)
    }

    fn ends(&self) -> SessionEnd {
        if self.origin.session.is_empty() { SessionEnd::Elsewhere } else { SessionEnd::WithProgram }
    }

    fn input(&self) -> EngineInput {
        match self.end {
            // It may stay, whatever it is told: nobody is there any more for what it writes.
            Some(Err(_)) => EngineInput::Abandoned,
            Some(Ok(())) if self.ended_for > FAREWELL => EngineInput::Abandoned,
            Some(Ok(())) => EngineInput::Over,
            None => EngineInput::Open,
        }
    }

    fn failure(&self) -> Option<String> {
        self.end.clone()?.err()
    }
}

// The requests of a run: those that a person is asked about, and those that are denied at once.

/// How many requests may wait at once. Codex asks for a few at a time.
const MOST: usize = 256;

/// A request that waits for its decision.
#[derive(Debug)]
struct RunRequest {
    id: Value,
    thread: String,
    item: Option<String>,
    request: CodexRequest,
}

impl CodexRun {
    /// Takes in a request.
    fn requested(&mut self, asked: &ServerRequest) -> Vec<Step> {
        let Some(open) = self.read(asked) else {
            return match refused(asked) {
                Ok(denial) => self.replaced(&asked.id).into_iter().chain(denial).collect(),
                Err(why) => self.fails(why),
            };
        };
        let mut steps = self.replaced(&asked.id);
        steps.extend(self.submit(open));
        steps
    }

    fn read(&self, asked: &ServerRequest) -> Option<RunRequest> {
        let thread = asked.thread()?.to_owned();
        let item = asked.item().map(str::to_owned);
        let of_item = |item: &String| self.changes.of(&(thread.clone(), item.clone()));
        let changes = item.as_ref().and_then(of_item);
        let CallOrigin { session, host, cwd, .. } = &self.origin;
        let host = host.as_deref();
        let cwd = cwd.as_deref();
        let mut request = CodexRequest::of(asked, RequestContext { cwd, changes, host })?;
        if !session.is_empty() && *session != thread {
            request.call.session.clone_from(session);
            request.call.meta = Some(json!({ "agent_id": thread }));
        }
        Some(RunRequest { id: asked.id.clone(), thread, item, request })
    }

    fn submit(&mut self, open: RunRequest) -> Vec<Step> {
        if self.waiting.open.len() >= MOST {
            let why = format!("{MOST} requests wait already, so this one is denied");
            return open.steps(open.request.denial(&why));
        }
        let call = open.request.call.clone();
        match self.waiting.submit(open, call) {
            Ok(step) => vec![step],
            Err((open, wrong)) => open.steps(open.request.denial(&wrong)),
        }
    }

    /// Denies a request that cannot be read.
    // FAIL-CLOSED: one that cannot even be answered ends the run, which would wait for ever.
    fn unreadable(&mut self, odd: OddRequest) -> Vec<Step> {
        let OddRequest { id, method, why } = odd;
        let what = method.as_deref().unwrap_or("a line");
        let why = format!("{what} cannot be read, because {why}");
        let Some((id, result)) = id.zip(method.as_deref().and_then(request::denial_of)) else {
            return self.fails(format!("Codex cannot be answered: {why}"));
        };
        let mut steps = self.replaced(&id);
        steps.push(Step::Log(format!("Codex: {why}; it is denied")));
        steps.push(Step::Send(frame::answer(&id, &result).to_string()));
        steps
    }

    /// Takes back the request with this id: one that comes again is a new request, and a press on
    /// the earlier card must not answer it.
    fn replaced(&mut self, id: &Value) -> Vec<Step> {
        self.waiting.take_back(|earlier| earlier.id == *id, CancelReason::Aborted)
    }

    /// Denies the requests whose changes are told anew and are others than their cards show.
    // SECURITY: an approval covers what its card showed.
    fn changed(&mut self, thread: &str, item: &str, changes: &Value) -> Vec<Step> {
        let is_stale = |open: &RunRequest| {
            let shown = open.request.call.args.get("changes");
            open.thread == thread
                && open.item.as_deref() == Some(item)
                && shown.is_some_and(|shown| shown != changes)
        };
        let mut steps = Vec::new();
        for (key, open) in self.waiting.open.extract_if(|_, open| is_stale(open)) {
            steps.push(Step::Cancel { key, why: CancelReason::Aborted });
            let why = "Codex changed what it asks for while a person was asked";
            steps.extend(open.steps(open.request.denial(why)));
        }
        steps
    }
}

impl RunRequest {
    fn steps(&self, CodexReply { result, words }: CodexReply) -> Vec<Step> {
        let words = words.map(|words| frame::tell(&self.thread, &self.request.turn, &words));
        let frames = [frame::answer(&self.id, &result)].into_iter().chain(words);
        frames.map(|frame| Step::Send(frame.to_string())).collect()
    }
}

/// Denies a request that no card can show.
// FAIL-CLOSED: without a reply the turn would wait for ever; each reply here grants nothing.
fn refused(asked: &ServerRequest) -> Result<Vec<Step>, String> {
    let method = asked.method.as_str();
    let Some(result) = request::denial_of(method) else {
        return Err(format!("Codex asks for {method}, which is unknown"));
    };
    let why = format!("no card can show this request ({method}), so it is denied");
    let turn = asked.params.get("turnId").and_then(Value::as_str);
    let words = asked.thread().zip(turn).map(|(thread, turn)| {
        Step::Send(frame::tell(thread, turn, &for_the_model(&why)).to_string())
    });
    let reply = Step::Send(frame::answer(&asked.id, &result).to_string());
    Ok([Step::Log(format!("Codex: {why}")), reply].into_iter().chain(words).collect())
}

// An error that Codex does not get over. It retries for ever while its model cannot be reached,
// and tells each try with an `error`, so a run without a terminal would never end.

/// The last error, and the time since the first one in a row.
#[derive(Debug)]
struct CodexOutage {
    limit: Duration,
    error: Option<String>,
    lasts: Duration,
}

impl CodexOutage {
    /// No error so far. One that lasts for `limit` ends the run.
    fn new(limit: Duration) -> Self {
        Self { limit, error: None, lasts: Duration::ZERO }
    }

    /// Takes in an error; returns whether it is the first in a row.
    fn begins(&mut self, error: String) -> bool {
        self.error.replace(error).is_none()
    }

    /// Codex went on.
    fn is_over(&mut self) {
        self.error = None;
        self.lasts = Duration::ZERO;
    }

    /// Takes in that a tick has passed in which nobody was asked; returns why the run ends, once it
    /// does.
    fn tick(&mut self) -> Option<String> {
        let error = self.error.as_ref()?;
        self.lasts += TICK;
        let limit = self.limit.as_secs();
        // Codex itself may still try.
        let gave_up = self.lasts >= self.limit;
        gave_up.then(|| format!("Codex did not get over an error for {limit} s: {error}"))
    }
}

// Requests of an app-server of our own that cannot be read.

/// A request that cannot be read.
#[derive(Debug, PartialEq)]
struct OddRequest {
    /// Its id, where Codex knows it again.
    id: Option<Value>,
    /// What it asks for, where that can be read.
    method: Option<String>,
    /// What is wrong with it.
    why: &'static str,
}

/// The requests of a line that cannot be read, and an end of the turn that cannot be; none for
/// every other line.
// FAIL-CLOSED: Codex waits for ever for the answer to a request that is passed over.
fn odd(line: &[u8]) -> Vec<OddRequest> {
    let unknown = |why| vec![OddRequest { id: None, method: None, why }];
    match LineHead::read(line) {
        LineHead::NotJson => {
            let text = String::from_utf8_lossy(line);
            if DENIALS.iter().any(|(method, _)| text.contains(method)) {
                unknown("it is not valid JSON")
            } else {
                Vec::new()
            }
        }
        LineHead::Ambiguous => unknown("it has a field that comes twice, or one like it"),
        LineHead::Messages(heads) => {
            let wrong = wrong(line);
            let odd = heads.into_iter().filter_map(|head| of(head, wrong));
            odd.collect()
        }
    }
}

fn of(head: MessageHead, wrong: Option<&'static str>) -> Option<OddRequest> {
    let MessageHead { method, id } = head;
    let id = id.filter(|id| !id.is_null());
    let is_known = method.as_deref().is_some_and(|it| request::denial_of(it).is_some());
    let is_end = method.as_deref() == Some("turn/completed");
    let counts = id.is_some() || is_known || is_end;
    let asks = is_known || (id.is_some() && method.is_some());
    // Codex has no others.
    let known_again = id.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let why = match (wrong, &known_again) {
        (Some(wrong), _) if counts => wrong,
        (None, None) if asks => "it has no id that is a text or a whole number",
        _ => return None,
    };
    Some(OddRequest { id: known_again, method, why })
}

/// What is wrong with a line, whatever it is.
fn wrong(line: &[u8]) -> Option<&'static str> {
    let message = match exact_json::from_slice(line) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => return Some("it comes in a batch"),
        Ok(_) => return None,
        Err(_) => {
            return Some("a value in it cannot be kept as it is, or a name in it comes twice");
        }
    };
    let is = |name: &str, right: fn(&Value) -> bool| message.get(name).is_none_or(right);
    if !is("method", |method| method.is_string() || method.is_null()) {
        return Some("its method is not a string");
    }
    if !is("params", Value::is_object) && message.contains_key("method") {
        return Some("its parameters are not an object");
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::hosted::TICK;
    use countersign_client::Ending;
    use countersign_domain::{Decision, call::Call};
    use serde_json::{Value, json};

    const MAIN: &str = "01-main";

    fn run(output: CodexOutput) -> CodexRun {
        let cwd = Some("/w".into());
        let host = Some("mill".into());
        let origin = CallOrigin { session: String::new(), host, cwd, run: "run".into() };
        CodexRun::new("go".into(), origin, output)
    }

    fn started(output: CodexOutput) -> CodexRun {
        let mut run = run(output);
        let reply = json!({"id": "countersign:thread", "result":
        {"thread": {"id": MAIN, "cwd": "/w", "status": {"type": "idle"}}}});
        let prompt = json!({"method": "turn/start", "id": "countersign:turn", "params":
        {"threadId": MAIN, "input": [{"type": "text", "text": "go"}]}});
        assert_eq!(hear(&mut run, &reply), vec![Step::Send(prompt.to_string())]);
        run
    }

    fn hear(run: &mut CodexRun, frame: &Value) -> Vec<Step> {
        run.engine_line(format!("{frame}\n").as_bytes()).1
    }

    fn asks(id: u64, method: &str, more: &Value) -> Value {
        let mut params = json!({"threadId": MAIN, "turnId": "u", "itemId": "i", "startedAtMs": id});
        for (name, value) in more.as_object().unwrap() {
            params.as_object_mut().unwrap().insert(name.clone(), value.clone());
        }
        json!({"method": method, "id": id, "params": params})
    }

    fn command(id: u64) -> Value {
        let more = json!({"command": "/bin/bash -lc 'make'", "cwd": "/w"});
        asks(id, "item/commandExecution/requestApproval", &more)
    }

    fn submitted(steps: &[Step]) -> (String, Call) {
        match steps {
            [Step::Submit { key, call }] => (key.clone(), (**call).clone()),
            other => panic!("{other:?}"),
        }
    }

    fn sent(steps: &[Step]) -> Vec<Value> {
        let line = |step: &Step| match step {
            Step::Send(line) => Some(serde_json::from_str(line).unwrap()),
            _ => None,
        };
        steps.iter().filter_map(line).collect()
    }

    fn ruled(decision: Decision, ending: Ending) -> Decided {
        Decided {
            decision,
            reason: "nobody answered in time".into(),
            message: None,
            ask: None,
            ending,
        }
    }

    #[test]
    fn the_opening_starts_a_thread_in_our_folder() {
        let lines = run(CodexOutput::Messages).opening();
        assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
        let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        assert_eq!(
            (&last["method"], &last["params"]["cwd"]),
            (&json!("thread/start"), &json!("/w"))
        );
    }

    #[test]
    fn each_request_has_one_reply_and_one_that_codex_resolved_has_none() {
        let mut run = started(CodexOutput::Messages);
        let (first, call) = submitted(&hear(&mut run, &command(0)));
        assert_eq!((call.session.as_str(), call.args), (MAIN, json!({"command": "make"})));
        let allow = ruled(Decision::Approve, Ending::Ruled(None));
        let accept = json!({"id": 0, "result": {"decision": "accept"}});
        assert_eq!(sent(&run.decided(&first, Ok(&allow))), vec![accept]);
        assert_eq!(run.decided(&first, Ok(&allow)), Vec::new());
        let (second, _) = submitted(&hear(&mut run, &command(1)));
        let resolved = json!({"method": "serverRequest/resolved",
        "params": {"threadId": MAIN, "requestId": 1}});
        let why = CancelReason::AnsweredElsewhere;
        assert_eq!(hear(&mut run, &resolved), vec![Step::Cancel { key: second.clone(), why }]);
        assert_eq!(run.decided(&second, Ok(&allow)), Vec::new());
    }

    #[test]
    fn without_a_decision_a_request_is_denied_and_the_model_reads_why() {
        let endings = [Ok(Ending::Expired), Ok(Ending::Cancelled), Err("no daemon".to_owned())];
        for (id, ending) in (0..).zip(endings) {
            let mut run = started(CodexOutput::Messages);
            let (key, _) = submitted(&hear(&mut run, &command(id)));
            let decided = ending.map(|ending| ruled(Decision::Deny, ending));
            let frames = sent(&run.decided(&key, decided.as_ref().map_err(Clone::clone)));
            assert_eq!(frames[0], json!({"id": id, "result": {"decision": "decline"}}));
            assert_eq!(frames[1]["method"], "turn/steer");
            assert!(
                frames[1]["params"]["input"][0]["text"].as_str().unwrap().len() > 20,
                "{frames:?}"
            );
        }
    }

    #[test]
    fn what_no_card_can_show_is_denied_at_once_and_never_with_an_error() {
        let secret = json!({"questions": [{"id": "a", "question": "Key?", "isSecret": true}]});
        for (method, more, result) in [
            (
                "item/commandExecution/requestApproval",
                json!({"kind": "writeStdin", "command": "x"}),
                json!({"decision": "decline"}),
            ),
            ("item/fileChange/requestApproval", json!({}), json!({"decision": "decline"})),
            ("item/tool/requestUserInput", secret, json!({"answers": {}})),
            (
                "item/permissions/requestApproval",
                json!({"permissions": {"network": {}}}),
                json!({"permissions": {}, "scope": "turn"}),
            ),
            (
                "mcpServer/elicitation/request",
                json!({"mode": "form"}),
                json!({"action": "decline"}),
            ),
        ] {
            let mut run = started(CodexOutput::Messages);
            let frames = sent(&hear(&mut run, &asks(3, method, &more)));
            assert_eq!(frames[0], json!({"id": 3, "result": result}), "{method}");
            assert_eq!(run.input(), EngineInput::Open);
        }
        let mut run = started(CodexOutput::Messages);
        assert_eq!(hear(&mut run, &asks(3, "new/request", &json!({}))), Vec::new());
        assert_eq!(run.failure().unwrap(), "Codex asks for new/request, which is unknown");
        assert_eq!(run.input(), EngineInput::Abandoned);
    }

    #[test]
    fn a_subagent_s_request_belongs_to_the_session_and_gets_its_own_words() {
        let mut run = started(CodexOutput::Messages);
        let mut asked = command(4);
        asked["params"]["threadId"] = json!("02-sub");
        let (key, call) = submitted(&hear(&mut run, &asked));
        assert_eq!((call.session.as_str(), call.meta), (MAIN, Some(json!({"agent_id": "02-sub"}))));
        let denied = ruled(Decision::Deny, Ending::Ruled(Some("deny `make`".into())));
        let frames = sent(&run.decided(&key, Ok(&denied)));
        assert_eq!(frames[1]["params"]["threadId"], "02-sub");
        let ends = json!({"method": "turn/completed",
        "params": {"threadId": "02-sub", "turn": {"status": "completed"}}});
        assert_eq!((hear(&mut run, &ends), run.input()), (Vec::new(), EngineInput::Open));
    }

    #[test]
    fn the_end_of_the_turn_is_the_end_of_the_run_and_a_bad_one_is_its_failure() {
        let ends = |status: &str, error: Value| {
            let mut run = started(CodexOutput::Messages);
            let turn = json!({"status": status, "error": error});
            let frame =
                json!({"method": "turn/completed", "params": {"threadId": MAIN, "turn": turn}});
            assert_eq!(hear(&mut run, &frame), Vec::new());
            (run.failure(), run.input())
        };
        assert_eq!(ends("completed", Value::Null), (None, EngineInput::Over));
        let ends = |status: &str, error: Value| {
            let (failure, input) = ends(status, error);
            assert_eq!(input, EngineInput::Abandoned);
            failure
        };
        assert_eq!(ends("interrupted", Value::Null).unwrap(), "Codex's turn ended as interrupted");
        let failed = "Codex's turn ended as failed: no model";
        assert_eq!(ends("failed", json!({"message": "no model"})).unwrap(), failed);
        let mut run = run(CodexOutput::Messages);
        let error = json!({"id": "countersign:thread", "error": {"code": 1, "message": "no such"}});
        assert_eq!(hear(&mut run, &error), Vec::new());
        assert_eq!(run.failure().unwrap(), "Codex refused to start: no such");
        let mut run = started(CodexOutput::Messages);
        let (key, _) = submitted(&hear(&mut run, &command(0)));
        let why = CancelReason::Aborted;
        assert_eq!(run.engine_ended(why), vec![Step::Cancel { key, why }]);
        assert_eq!(run.failure().unwrap(), "Codex ended before its turn did");
    }

    #[test]
    fn garbage_is_nothing_and_what_codex_says_is_told() {
        let said = json!({"method": "item/completed", "params": {"threadId": MAIN,
        "item": {"type": "agentMessage", "text": "All done."}}});
        let mut run = started(CodexOutput::Messages);
        for line in [&b"\xff\n"[..], b"[]\n", b"{\n", b"{\"id\":1}\n", b"null"] {
            assert_eq!(run.engine_line(line), (Forward::Stays, Vec::new()));
        }
        assert_eq!(hear(&mut run, &said), vec![Step::Say("All done.".into())]);
        let mut run = started(CodexOutput::Frames);
        let line = format!("{said}\n");
        assert_eq!(run.engine_line(line.as_bytes()), (Forward::On, Vec::new()));
    }

    #[test]
    fn an_error_that_lasts_ends_the_run_unless_codex_goes_on_or_a_person_is_asked() {
        let error = json!({"message": "Reconnecting... waiting for network",
        "additionalDetails": "Connection failed"});
        let params = json!({"threadId": MAIN, "turnId": "u", "willRetry": true, "error": error});
        let error = json!({"method": "error", "params": params});
        let mut run = started(CodexOutput::Messages).ending_after(TICK * 3);
        let first = "Codex: Reconnecting... waiting for network (Connection failed)";
        assert_eq!(hear(&mut run, &error), vec![Step::Log(first.into())]);
        assert_eq!(hear(&mut run, &error), vec![], "it is said once");
        for _ in 0..2 {
            assert_eq!((run.tick(), run.input()), (vec![], EngineInput::Open));
        }
        // A request, and the item in which it came: Codex goes on.
        let (key, _) = submitted(&hear(&mut run, &command(7)));
        hear(&mut run, &error);
        for _ in 0..9 {
            assert_eq!((run.tick(), run.input()), (vec![], EngineInput::Open), "somebody is asked");
        }
        run.decided(&key, Err("no daemon".into()));
        hear(&mut run, &json!({"method": "unheard/of", "params": {"threadId": MAIN}}));
        for _ in 0..2 {
            assert_eq!((run.tick(), run.input()), (vec![], EngineInput::Open));
        }
        run.tick();
        assert_eq!(run.input(), EngineInput::Abandoned);
        let why = "Codex did not get over an error for 30 s: Reconnecting... waiting for network \
               (Connection failed)";
        assert_eq!(run.failure().as_deref(), Some(why));
    }

    const COMMAND: &str = "item/commandExecution/requestApproval";

    /// A line that asks to run a command, with this id as it is spelled and this behind the folder.
    fn spelled(id: &str, more: &str) -> String {
        let params =
            format!(r#"{{"threadId":"{MAIN}","turnId":"u","itemId":"i","cwd":"/w"{more}}}"#);
        format!(r#"{{"method":"{COMMAND}","id":{id},"params":{params}}}"#)
    }

    fn failure(line: &str) -> String {
        let mut run = started(CodexOutput::Messages);
        let (_, steps) = run.engine_line(line.as_bytes());
        assert_eq!((steps, run.input()), (Vec::new(), EngineInput::Abandoned), "{line}");
        run.failure().unwrap()
    }

    #[test]
    fn a_request_that_cannot_be_read_is_denied_under_its_id() {
        let deep = format!(r#","command":"make","x":{}{}"#, "[".repeat(300), "]".repeat(300));
        let mut bytes = spelled("7", r#","command":"X""#).into_bytes();
        bytes.iter_mut().filter(|byte| **byte == b'X').for_each(|byte| *byte = 0xff);
        for line in [
            spelled("7", r#","command":"\ud800""#).into_bytes(),
            spelled("7", r#","command":"make","x":1e999"#).into_bytes(),
            spelled("7", &deep).into_bytes(),
            spelled("7", r#","command":"ls","command":"rm -rf /""#).into_bytes(),
            spelled("7", r#","command":"ls","x":[{"a":1,"\u0061":2}]"#).into_bytes(),
            spelled("7", r#","command":"ls","c\u006fmmand":"rm -rf /""#).into_bytes(),
            format!("[{}]", spelled("7", r#","command":"ls""#)).into_bytes(),
            json!({"method": COMMAND, "id": 7, "params": null}).to_string().into_bytes(),
            json!({"method": COMMAND, "id": 7, "params": ["ls"]}).to_string().into_bytes(),
            bytes,
        ] {
            let mut run = started(CodexOutput::Messages);
            let (_, steps) = run.engine_line(&line);
            let line = String::from_utf8_lossy(&line);
            assert!(matches!(steps.first(), Some(Step::Log(_))), "{line}: {steps:?}");
            assert_eq!(
                sent(&steps),
                [json!({"id": 7, "result": {"decision": "decline"}})],
                "{line}"
            );
            assert_eq!((run.input(), run.waiting.open.len()), (EngineInput::Open, 0), "{line}");
        }
    }

    #[test]
    fn a_request_that_nobody_can_answer_ends_the_run_with_the_reason() {
        let no_id = "item/commandExecution/requestApproval cannot be read, because it has no id that \
                 is a text or a whole number";
        for id in ["null", "1.5", "1e3", "true", "[7]", "{}"] {
            let line = spelled(id, r#","command":"make""#);
            assert_eq!(failure(&line), format!("Codex cannot be answered: {no_id}"));
        }
        let long = failure(&spelled("99999999999999999999999", r#","command":"make""#));
        assert!(
            long.ends_with("a value in it cannot be kept as it is, or a name in it comes twice")
        );
        let line = spelled("7", r#","command":"make""#);
        assert!(failure(&line.replace(r#""id":7,"#, "")).ends_with(no_id));
        for (line, why) in [
            (line.replace(r#""id":7"#, r#""id":7,"id":8"#), "it has a field that comes twice"),
            (line.replace(r#""id":7"#, r#""id":7,"Method":"x""#), "or one like it"),
            (
                line.trim_end_matches('}').to_owned(),
                "a line cannot be read, because it is not valid JSON",
            ),
            (r#"{"id":7,"method":5,"params":{}}"#.into(), "its method is not a string"),
            (r#"{"id":7,"method":"x/requestApproval","params":[]}"#.into(), "are not an object"),
            (
                r#"{"method":"turn/completed","params":{"x":1e999}}"#.into(),
                "cannot be kept as it is",
            ),
        ] {
            let failure = failure(&line);
            assert!(failure.ends_with(why) || failure.contains(why), "{line}: {failure}");
        }
        for method in ["item/new/requestApproval", "ITEM/COMMANDEXECUTION/REQUESTAPPROVAL", ""] {
            let mut run = started(CodexOutput::Messages);
            assert_eq!(hear(&mut run, &asks(3, method, &json!({"command": "make"}))), Vec::new());
            assert_eq!(
                run.failure().unwrap(),
                format!("Codex asks for {method}, which is unknown")
            );
        }
    }

    #[test]
    fn wrongly_typed_fields_are_denied_and_replace_an_earlier_request_with_their_id() {
        for (name, value) in [
            ("command", json!(null)),
            ("command", json!(["rm", "-rf", "/"])),
            ("cwd", json!(5)),
            ("reason", json!({})),
            ("turnId", json!(5)),
            ("threadId", json!(null)),
            ("kind", json!(["command"])),
        ] {
            let mut run = started(CodexOutput::Messages);
            let (key, _) = submitted(&hear(&mut run, &command(7)));
            let mut odd = command(7);
            odd["params"][name] = value;
            let steps = hear(&mut run, &odd);
            let why = CancelReason::Aborted;
            assert_eq!(steps.first(), Some(&Step::Cancel { key: key.clone(), why }), "{odd}");
            assert_eq!(
                sent(&steps)[0],
                json!({"id": 7, "result": {"decision": "decline"}}),
                "{odd}"
            );
            // The press on the earlier card.
            let allow = ruled(Decision::Approve, Ending::Ruled(None));
            assert_eq!(run.decided(&key, Ok(&allow)), Vec::new(), "{odd}");
        }
    }

    #[test]
    fn ids_are_told_apart_and_a_request_that_is_repeated_is_asked_about_again() {
        let mut run = started(CodexOutput::Messages);
        let (number, _) = submitted(&hear(&mut run, &command(7)));
        let mut text = command(7);
        text["id"] = json!("7");
        let (text, _) = submitted(&hear(&mut run, &text));
        let allow = ruled(Decision::Approve, Ending::Ruled(None));
        let accept = |id: Value| vec![json!({"id": id, "result": {"decision": "accept"}})];
        assert_eq!(sent(&run.decided(&text, Ok(&allow))), accept(json!("7")));
        assert_eq!(sent(&run.decided(&number, Ok(&allow))), accept(json!(7)));
        // Word for word as before: the daemon must not take it for the one that was approved.
        let (again, call) = submitted(&hear(&mut run, &command(7)));
        assert_ne!(again, number);
        assert_eq!(call.key.as_ref(), Some(&again));
        // The same while it waits.
        let steps = hear(&mut run, &command(7));
        let why = CancelReason::Aborted;
        assert_eq!(steps[0], Step::Cancel { key: again.clone(), why });
        let (last, _) = submitted(&steps[1..]);
        assert_eq!(run.decided(&again, Ok(&allow)), Vec::new());
        assert_eq!(sent(&run.decided(&last, Ok(&allow))), accept(json!(7)));
        // One that another thread is said to have resolved still waits.
        let (key, _) = submitted(&hear(&mut run, &command(8)));
        let resolved = json!({"method": "serverRequest/resolved",
        "params": {"threadId": "other", "requestId": 8}});
        assert_eq!(hear(&mut run, &resolved), Vec::new());
        assert_eq!(sent(&run.decided(&key, Ok(&allow))), accept(json!(8)));
    }

    fn change(thread: &str, diff: &str) -> Value {
        let changes = json!([{"path": "/w/a", "kind": {"type": "add"}, "diff": diff}]);
        let item = json!({"type": "fileChange", "id": "i", "changes": changes});
        json!({"method": "item/started", "params": {"threadId": thread, "item": item}})
    }

    #[test]
    fn the_changes_on_a_card_are_those_of_its_own_thread_and_cannot_change_while_it_waits() {
        let mut run = started(CodexOutput::Messages);
        let asked = |id| asks(id, "item/fileChange/requestApproval", &json!({}));
        hear(&mut run, &change("02-sub", "theirs"));
        let denied = json!({"id": 1, "result": {"decision": "decline"}});
        assert_eq!(
            sent(&hear(&mut run, &asked(1)))[0],
            denied,
            "nothing is known of this thread's"
        );
        hear(&mut run, &change(MAIN, "ours"));
        hear(&mut run, &change("02-sub", "theirs"));
        let (key, call) = submitted(&hear(&mut run, &asked(2)));
        assert_eq!(call.args["changes"][0]["diff"], "ours");
        assert_eq!(hear(&mut run, &change(MAIN, "ours")), Vec::new());
        assert_eq!(hear(&mut run, &change("02-sub", "others")), Vec::new());
        let steps = hear(&mut run, &change(MAIN, "others"));
        let why = CancelReason::Aborted;
        assert_eq!(steps[0], Step::Cancel { key: key.clone(), why });
        assert_eq!(sent(&steps)[0], json!({"id": 2, "result": {"decision": "decline"}}));
        let allow = ruled(Decision::Approve, Ending::Ruled(None));
        assert_eq!(run.decided(&key, Ok(&allow)), Vec::new());
        // Without an item there is nothing to show.
        let mut nameless = asked(3);
        nameless["params"].as_object_mut().unwrap().remove("itemId");
        let denied = json!({"id": 3, "result": {"decision": "decline"}});
        assert_eq!(sent(&hear(&mut run, &nameless))[0], denied);
    }

    #[test]
    fn a_flood_of_requests_is_denied_beyond_what_people_could_answer() {
        let mut run = started(CodexOutput::Messages);
        for id in 0..256 {
            submitted(&hear(&mut run, &command(id)));
        }
        let steps = hear(&mut run, &command(256));
        assert_eq!(sent(&steps)[0], json!({"id": 256, "result": {"decision": "decline"}}));
        for item in 0..1000 {
            let mut told = change(MAIN, "x");
            told["params"]["item"]["id"] = json!(item.to_string());
            hear(&mut run, &told);
        }
        assert_eq!(
            (run.changes.of(&(MAIN.into(), "0".into())), run.waiting.open.len()),
            (None, 256)
        );
    }

    #[test]
    fn a_codex_that_stays_after_its_turn_is_ended() {
        let mut run = started(CodexOutput::Messages);
        let turn = json!({"status": "completed"});
        hear(
            &mut run,
            &json!({"method": "turn/completed", "params": {"threadId": MAIN, "turn": turn}}),
        );
        let inputs: Vec<_> = (0..5)
            .map(|_| {
                run.tick();
                run.input()
            })
            .collect();
        let over = EngineInput::Over;
        let gone = EngineInput::Abandoned;
        assert_eq!(inputs, [over, over, over, gone, gone]);
    }
}
