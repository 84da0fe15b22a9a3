//! An engine as a hosted program.

use super::{AGENT, EngineSession};
use crate::hosted::{EngineInput, Forward, HostedSession, Step};
use countersign_client::Decided;
use countersign_domain::wire::CancelReason;

impl HostedSession for EngineSession {
    fn agent(&self) -> &str {
        AGENT
    }

    fn name(&self) -> &str {
        self.name()
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        (Forward::On, self.engine_line(&String::from_utf8_lossy(line)))
    }

    fn host_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        self.host_line(&String::from_utf8_lossy(line))
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        self.decided(key, decided)
    }

    fn host_ended(&mut self) -> Vec<Step> {
        self.host_ended()
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.engine_ended(why)
    }

    fn input(&self) -> EngineInput {
        // Everything that waited is denied with the end of our host, so nothing comes after it.
        match self.host_gone {
            true => EngineInput::Over,
            false => EngineInput::Open,
        }
    }
}
