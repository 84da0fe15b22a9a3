//! The agent as a program whose host we are.

use super::{
    batch::each,
    proxy::{AcpProxy, Prompts},
    refused::{is_readable, refused},
    tool_calls::ToolCalls,
};
use crate::hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step};
use countersign_client::Decided;
use countersign_domain::wire::CancelReason;

impl HostedSession for AcpProxy {
    fn agent(&self) -> &str {
        &self.around.program
    }

    // Each call names the session of the protocol that it belongs to.
    fn name(&self) -> &'static str {
        ""
    }

    fn program(&self) -> &'static str {
        "the agent"
    }

    fn engine_line(&mut self, bytes: &[u8]) -> (Forward, Vec<Step>) {
        match refused(bytes) {
            Some(steps) => (Forward::Stays, steps),
            None if !is_readable(bytes) => {
                // FAIL-CLOSED: it may change a call that was told before.
                self.calls = ToolCalls::default();
                (Forward::On, Vec::new())
            }
            None => each(bytes, Step::Tell, |value| self.of_agent(value, bytes.len())),
        }
    }

    fn host_line(&mut self, bytes: &[u8]) -> (Forward, Vec<Step>) {
        each(bytes, Step::Send, |value| self.of_editor(value))
    }

    fn opened(&mut self, key: &str, _ask: &str) -> Vec<Step> {
        let raced = self.prompts == Prompts::InEditorToo;
        let line = self.open.get_mut(key).filter(|_| raced).and_then(|open| open.line.take());
        line.map(Step::Tell).into_iter().collect()
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry the editor was first; the later decision is dropped.
        let Some(open) = self.open.remove(key) else { return Vec::new() };
        match decided {
            Ok(decided) => self.answer(open, decided),
            Err(why) => self.undecided(open, &why),
        }
    }

    fn host_ended(&mut self) -> Vec<Step> {
        // An agent without its editor works for nobody.
        self.input = EngineInput::Abandoned;
        self.engine_ended(CancelReason::SessionEnded)
    }

    fn engine_ended(&mut self, _why: CancelReason) -> Vec<Step> {
        let why = CancelReason::SessionEnded;
        self.open.drain().map(|(key, _)| Step::Cancel { key, why }).collect()
    }

    fn ends(&self) -> SessionEnd {
        SessionEnd::Elsewhere
    }

    fn input(&self) -> EngineInput {
        self.input
    }
}
