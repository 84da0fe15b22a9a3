//! The requests of a run: those that a person is asked about, and those that are denied at once.

use super::{
    changes::FileChanges,
    frame::{self, ServerRequest},
    odd::OddRequest,
    refusal,
    request::{CodexReply, CodexRequest, RequestContext, for_the_model},
};
use crate::hosted::Step;
use countersign_domain::wire::CancelReason;
use serde_json::{Value, json};
use std::collections::HashMap;

/// How many requests may wait at once. Codex asks for a few at a time.
const MOST: usize = 256;

/// The context of every call of a run.
#[derive(Debug, Clone)]
pub struct CodexAround {
    /// The working directory.
    pub cwd: Option<String>,
    /// This machine's name.
    pub host: Option<String>,
    /// A name for this run: keys with it occur in no other run.
    pub run: String,
}

/// The requests of a run.
#[derive(Debug)]
pub(super) struct RunRequests {
    pub around: CodexAround,
    /// The thread of the prompt, once it is there.
    pub main: Option<String>,
    pub changes: FileChanges,
    open: HashMap<String, RunRequest>,
    /// Each request has its own key, even if Codex repeats it word for word.
    count: u64,
}

/// A request that waits for its decision.
#[derive(Debug)]
pub(super) struct RunRequest {
    id: Value,
    pub(super) thread: String,
    item: Option<String>,
    pub(super) request: CodexRequest,
}

impl RunRequests {
    pub(super) fn new(around: CodexAround) -> Self {
        let (changes, open) = (FileChanges::default(), HashMap::new());
        Self { around, main: None, changes, open, count: 0 }
    }

    pub(super) fn waiting(&self) -> usize {
        self.open.len()
    }

    /// Takes the request with this key: it is decided.
    pub(super) fn take(&mut self, key: &str) -> Option<RunRequest> {
        self.open.remove(key)
    }

    /// Takes in a request; the error is the reason why the run has to end.
    pub(super) fn requested(&mut self, asked: &ServerRequest) -> Result<Vec<Step>, String> {
        let Some(open) = self.read(asked) else {
            let denial = refused(asked)?;
            return Ok(self.replaced(&asked.id).into_iter().chain(denial).collect());
        };
        let mut steps = self.replaced(&asked.id);
        steps.extend(self.submit(open));
        Ok(steps)
    }

    fn read(&self, asked: &ServerRequest) -> Option<RunRequest> {
        let thread = asked.thread()?.to_owned();
        let changes = asked.item().and_then(|item| self.changes.of(&thread, item));
        let (cwd, host) = (self.around.cwd.as_deref(), self.around.host.as_deref());
        let mut request = CodexRequest::of(asked, RequestContext { cwd, changes, host })?;
        if let Some(main) = self.main.clone().filter(|main| *main != thread) {
            request.call.session = main;
            request.call.meta = Some(json!({ "agent_id": thread }));
        }
        let item = asked.item().map(str::to_owned);
        Some(RunRequest { id: asked.id.clone(), thread, item, request })
    }

    fn submit(&mut self, mut open: RunRequest) -> Vec<Step> {
        if let Err(wrong) = open.request.call.check() {
            return open.steps(open.request.denial(&wrong.to_string()));
        }
        if self.open.len() >= MOST {
            let why = format!("{MOST} requests wait already, so this one is denied");
            return open.steps(open.request.denial(&why));
        }
        self.count += 1;
        let key = format!("{}-{}", self.around.run, self.count);
        open.request.call.key = Some(key.clone());
        let call = Box::new(open.request.call.clone());
        self.open.insert(key.clone(), open);
        vec![Step::Submit { key, call }]
    }

    /// Denies a request that cannot be read.
    // FAIL-CLOSED: one that cannot even be answered ends the run, which would wait for ever.
    pub(super) fn unreadable(&mut self, odd: OddRequest) -> Result<Vec<Step>, String> {
        let OddRequest { id, method, why } = odd;
        let what = method.as_deref().unwrap_or("a line");
        let why = format!("{what} cannot be read, because {why}");
        let Some((id, result)) = id.zip(method.as_deref().and_then(refusal::of)) else {
            return Err(format!("Codex cannot be answered: {why}"));
        };
        let mut steps = self.replaced(&id);
        steps.push(Step::Log(format!("Codex: {why}; it is denied")));
        steps.push(Step::Send(frame::answer(&id, &result).to_string()));
        Ok(steps)
    }

    /// Takes back the request with this id: one that comes again is a new request, and a press on
    /// the earlier card must not answer it.
    fn replaced(&mut self, id: &Value) -> Vec<Step> {
        self.take_back(|earlier| earlier.id == *id, CancelReason::Aborted)
    }

    /// Denies the requests whose changes are told anew and are others than their cards show.
    // SECURITY: an approval covers what its card showed.
    pub(super) fn changed(&mut self, thread: &str, item: &str, changes: &Value) -> Vec<Step> {
        let is_stale = |open: &RunRequest| {
            let shown = open.request.call.args.get("changes");
            open.thread == thread
                && open.item.as_deref() == Some(item)
                && shown.is_some_and(|shown| shown != changes)
        };
        let mut steps = Vec::new();
        for (key, open) in self.open.extract_if(|_, open| is_stale(open)) {
            steps.push(Step::Cancel { key, why: CancelReason::Aborted });
            let why = "Codex changed what it asks for while a person was asked";
            steps.extend(open.steps(open.request.denial(why)));
        }
        steps
    }

    pub(super) fn take_back(
        &mut self,
        which: impl Fn(&RunRequest) -> bool,
        why: CancelReason,
    ) -> Vec<Step> {
        let gone = self.open.extract_if(|_, open| which(open));
        gone.map(|(key, _)| Step::Cancel { key, why }).collect()
    }
}

impl RunRequest {
    pub(super) fn has(&self, thread: &str, id: &Value) -> bool {
        self.thread == thread && self.id == *id
    }

    pub(super) fn steps(&self, CodexReply { result, words }: CodexReply) -> Vec<Step> {
        let words = words.map(|words| frame::tell(&self.thread, &self.request.turn, &words));
        let frames = [frame::answer(&self.id, &result)].into_iter().chain(words);
        frames.map(|frame| Step::Send(frame.to_string())).collect()
    }
}

/// Denies a request that no card can show.
// FAIL-CLOSED: without a reply the turn would wait for ever; each reply here grants nothing.
fn refused(asked: &ServerRequest) -> Result<Vec<Step>, String> {
    let method = asked.method.as_str();
    let Some(result) = refusal::of(method) else {
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
