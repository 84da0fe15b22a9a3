//! The open calls of a session, and the grants that approvals leave.

use super::{
    Clock, DEFAULT_APPROVAL_TTL, RequestError, Resolution, ToolApprovalResult, Waiting, every,
    memory::{ManagerMemory, every_time},
};
use countersign_policy::{Call, Decision, Guardrail};
use countersign_profiles::{
    EvaluationContext, Grants,
    wcore::{
        ApprovalScope, Category, DENIED_BY_HOST, ModeChange, ModeChangeSource, RememberedApproval,
        SessionMode, TIMED_OUT, Wcore, asks_every_time, question,
    },
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// One session's approvals: a oneshot for each open call, the mode, and the grants.
///
/// Shared as an `Arc`. No method waits; the receivers do.
pub struct ToolApprovalManager {
    rules: Wcore,
    guardrail: Guardrail,
    ttl: Duration,
    now: Clock,
    state: Mutex<ManagerState>,
}

struct ManagerState {
    pending: HashMap<String, PendingCall>,
    memory: ManagerMemory,
}

struct PendingCall {
    sender: oneshot::Sender<ToolApprovalResult>,
    category: Category,
    tool: String,
    expires_at: Instant,
}

impl ToolApprovalManager {
    /// A session in default mode without grants.
    #[must_use]
    pub fn new(rules: Wcore) -> Self {
        let state =
            ManagerState { pending: HashMap::new(), memory: ManagerMemory::new(None, false) };
        Self {
            rules,
            guardrail: Guardrail::default(),
            ttl: DEFAULT_APPROVAL_TTL,
            now: Arc::new(Instant::now),
            state: Mutex::new(state),
        }
    }

    /// The same with another time to live.
    #[must_use]
    pub fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, now: Clock) -> Self {
        Self { now, ..self }
    }

    /// The same with guardrails, which no mode and no grant lifts.
    #[must_use]
    pub fn with_guardrail(self, guardrail: Guardrail) -> Self {
        Self { guardrail, ..self }
    }

    /// The same with the operator's options: the loosest permitted mode, and whether a peer on the
    /// wire may loosen the mode.
    #[must_use]
    pub fn with_authority(self, floor: Option<SessionMode>, wire_may_loosen: bool) -> Self {
        let memory = ManagerMemory::new(floor, wire_may_loosen);
        Self { state: Mutex::new(ManagerState { pending: HashMap::new(), memory }), ..self }
    }

    /// Decides a call in the session's current state: allow, ask, or deny by a guardrail.
    ///
    /// # Errors
    /// A sentence, if the call names an unknown category.
    pub fn check(&self, call: &Call) -> Result<Decision, String> {
        let state = self.state();
        let given = EvaluationContext {
            mode: Some(state.memory.mode.word()),
            grants: &state.memory.grants,
            agent_rules: None,
            guardrail: &self.guardrail,
            reachable: true,
            now_ms: 0,
        };
        countersign_profiles::decide(&self.rules, call, &given)
    }

    /// Registers an open call. If the receiver closes without an answer, the turn is over.
    ///
    /// # Errors
    /// [`RequestError::Duplicate`] while a call with this id is open. Under compat the newer one
    /// replaces it, and the first waiter's turn is over.
    pub fn request_approval(
        &self,
        call_id: &str,
        category: Category,
        tool: &str,
    ) -> Result<oneshot::Receiver<ToolApprovalResult>, RequestError> {
        let (sender, receiver) = oneshot::channel();
        let expires_at = (self.now)() + self.ttl;
        let mut state = self.state();
        let waits = state.pending.get(call_id).is_some_and(|known| !known.sender.is_closed());
        if waits && !self.rules.is_compat() {
            return Err(RequestError::Duplicate(call_id.to_owned()));
        }
        let pending = PendingCall { sender, category, tool: tool.to_owned(), expires_at };
        state.pending.insert(call_id.to_owned(), pending);
        Ok(receiver)
    }

    /// As [`Self::request_approval`], for exactly this call.
    ///
    /// # Errors
    /// As [`Self::request_approval`], and [`RequestError::Malformed`].
    pub fn request_call(&self, call_id: &str, call: &Call) -> Result<Waiting, RequestError> {
        let category = Category::of(call).map_err(RequestError::Malformed)?;
        let receiver = self.request_approval(call_id, category, &call.tool)?;
        Ok(Waiting { receiver, asked: call.clone() })
    }

    /// As [`Self::request_call`], and notifies the host with `emit`. If that fails, the call is
    /// removed.
    ///
    /// # Errors
    /// As [`Self::request_call`].
    // INVARIANT: registered before the host is notified: it may answer from inside `emit`.
    pub fn request_and_emit<E>(
        &self,
        call_id: &str,
        call: &Call,
        emit: impl FnOnce() -> Result<(), E>,
    ) -> Result<Waiting, RequestError> {
        let waiting = self.request_call(call_id, call)?;
        if emit().is_err() {
            self.forget(call_id);
        }
        Ok(waiting)
    }

    /// Approves a call; the answer is used for a question only.
    pub fn approve(
        &self,
        call_id: &str,
        scope: ApprovalScope,
        answer: Option<String>,
    ) -> Resolution {
        let mut state = self.state();
        let Some(PendingCall { sender, category, tool, .. }) = state.pending.remove(call_id) else {
            return Resolution::Unknown;
        };
        let kept = match scope {
            ApprovalScope::Always if asks_every_time(&tool) => Err(every_time(&tool)),
            scope => state.memory.keep(scope.remembers(&tool, category)),
        };
        drop(state);
        // SECURITY: only a question's output is its answer; no other tool's output is invented.
        let answer = answer.filter(|_| tool == question::TOOL);
        let _ = sender.send(ToolApprovalResult::Approved { answer });
        kept.map_or_else(Resolution::ResolvedOnce, |()| Resolution::Resolved)
    }

    /// Denies a call; the default reason names the host.
    pub fn deny(&self, call_id: &str, reason: Option<&str>) -> Resolution {
        let reason = reason.unwrap_or(DENIED_BY_HOST).to_owned();
        self.settle(call_id, ToolApprovalResult::Denied { reason })
    }

    /// Delivers an answer, and remembers nothing.
    pub fn resolve(&self, call_id: &str, result: ToolApprovalResult) -> Resolution {
        match result {
            ToolApprovalResult::Approved { answer } => {
                self.approve(call_id, ApprovalScope::Once, answer)
            }
            denied @ ToolApprovalResult::Denied { .. } => self.settle(call_id, denied),
        }
    }

    /// Delivers a host's answer; a denial has no scope.
    pub fn resolve_host(
        &self,
        call_id: &str,
        approved: bool,
        scope: ApprovalScope,
        answer: Option<String>,
    ) -> Resolution {
        if approved { self.approve(call_id, scope, answer) } else { self.deny(call_id, None) }
    }

    /// Removes an open call, which ends its waiter's turn; `false` if there was none.
    pub fn forget(&self, call_id: &str) -> bool {
        self.state().pending.remove(call_id).is_some()
    }

    /// The tool of an open call.
    #[must_use]
    pub fn pending_tool(&self, call_id: &str) -> Option<String> {
        self.state().pending.get(call_id).map(|pending| pending.tool.clone())
    }

    /// Denies expired calls, and removes those whose waiter is gone; returns how many.
    pub fn reap_now(&self) -> usize {
        let now = (self.now)();
        let over = |pending: &PendingCall| pending.expires_at <= now || pending.sender.is_closed();
        self.deny_where(over, TIMED_OUT)
    }

    /// Denies all open calls, for example when the host is gone; returns how many.
    pub fn deny_all_pending(&self, reason: &str) -> usize {
        self.deny_where(|_| true, reason)
    }

    /// Runs [`Self::reap_now`] at each `interval`, for as long as the task runs.
    pub fn spawn_reaper(self: &Arc<Self>, interval: Duration) -> JoinHandle<()> {
        let manager = Arc::clone(self);
        every(interval, move || manager.reap_now())
    }

    /// Sets the mode for later calls; open calls stay open.
    pub fn set_mode(&self, mode: SessionMode, from: ModeChangeSource) -> ModeChange {
        self.state().memory.set_mode(mode, from)
    }

    /// The current mode.
    #[must_use]
    pub fn mode(&self) -> SessionMode {
        self.state().memory.mode
    }

    /// Grants a whole category. For a person at this machine, never for a peer on the wire.
    pub fn add_category(&self, category: Category) {
        self.state().memory.keep_category(category.word());
    }

    /// Restores a tool that was always approved in an earlier session.
    ///
    /// # Errors
    /// A sentence, for a tool that no grant can cover.
    pub fn restore_tool(&self, tool: &str) -> Result<(), String> {
        self.state().memory.keep(RememberedApproval::Tool(tool.to_owned()))
    }

    /// The grants: tools, categories, prefixes, and directories outside the workspace.
    #[must_use]
    pub fn grants(&self) -> Grants {
        self.state().memory.grants.clone()
    }

    fn settle(&self, call_id: &str, result: ToolApprovalResult) -> Resolution {
        let Some(pending) = self.state().pending.remove(call_id) else {
            return Resolution::Unknown;
        };
        let _ = pending.sender.send(result);
        Resolution::Resolved
    }

    fn deny_where(&self, over: impl Fn(&PendingCall) -> bool, reason: &str) -> usize {
        let denied: Vec<PendingCall> =
            self.state().pending.extract_if(|_, pending| over(pending)).map(|(_, p)| p).collect();
        let count = denied.len();
        for pending in denied {
            let _ = pending.sender.send(ToolApprovalResult::Denied { reason: reason.to_owned() });
        }
        count
    }

    /// Takes the lock also after a panic elsewhere: the state is never left half changed.
    fn state(&self) -> MutexGuard<'_, ManagerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolApprovalManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("ToolApprovalManager")
            .field("pending", &state.pending.keys().collect::<Vec<_>>())
            .field("mode", &state.memory.mode)
            .finish_non_exhaustive()
    }
}
