//! The calls of a hosted program: where they come from, and the requests that wait for the
//! decisions on them.

use crate::hosted::Step;
use countersign_domain::{call::Call, wire::CancelReason};
use serde_json::Value;
use std::collections::HashMap;

/// Where the calls of one program come from.
#[derive(Debug, Clone)]
pub struct CallOrigin {
    /// The session's name, until the program tells its own.
    pub session: String,
    /// The machine.
    pub host: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The name of this run: keys derived from it occur in no other run.
    pub run: String,
}

impl CallOrigin {
    /// A call of this session.
    pub(crate) fn call(&self, agent: &str, tool: impl Into<String>, args: Value) -> Call {
        let Self { session, host, cwd, .. } = self.clone();
        Call { host, cwd, ..Call::new(agent, session, tool, args) }
    }
}

/// The requests of one run that wait for a decision, by the keys of their calls.
#[derive(Debug)]
pub(crate) struct Waiting<R> {
    run: String,
    count: u64,
    pub(crate) open: HashMap<String, R>,
}

impl<R> Waiting<R> {
    pub(crate) fn new(run: &str) -> Self {
        Self { run: run.to_owned(), count: 0, open: HashMap::new() }
    }

    /// Submits the call of a request, under a key of its own even if the program repeats an id.
    ///
    /// # Errors
    /// The request, and why its call cannot be shown.
    pub(crate) fn submit(&mut self, request: R, call: Call) -> Result<Step, (R, String)> {
        self.count += 1;
        let key = format!("{}-{}", self.run, self.count);
        let call = Call { key: Some(key.clone()), ..call };
        if let Err(wrong) = call.check() {
            return Err((request, wrong.to_string()));
        }
        self.open.insert(key.clone(), request);
        Ok(Step::Submit { key, call: Box::new(call) })
    }

    /// Takes requests back; returns what cancels their calls.
    pub(crate) fn take_back(&mut self, which: impl Fn(&R) -> bool, why: CancelReason) -> Vec<Step> {
        let taken = self.open.extract_if(|_, request| which(request));
        taken.map(|(key, _)| Step::Cancel { key, why }).collect()
    }
}
