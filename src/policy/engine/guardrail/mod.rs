//! What no rule, mode, grant or button lifts: the bridge's own files, program and addresses, and
//! the operator's denies.
//!
//! Two questions are asked of every text that a call may turn into a path: what may it be (see
//! `spelling`, `route`), and how does that lie to what is the bridge's own (see `territory`). What
//! is ours is denied; what holds it is denied or asked about where the command may go through it;
//! what only the running shell will know is asked about.
//!
//! INVARIANT: a path that bash would open at or below what is ours is never allowed. Real bash
//! judges (`tests/guardrail`).

mod addresses;
mod commands;
mod judge;
pub mod own_program;
mod programs;
mod protected;
mod reach;
mod reasons;
mod route;
mod sights;
mod site;
mod spelling;
mod territory;
mod tools;
mod walk;
mod weighing;

use crate::facts::call::Call;
use crate::facts::paths::Directories;
use crate::facts::tools::Kind;
use crate::rules::Rules;
use crate::shell::Scan;
use judge::Judge;
pub use protected::Ours;
use protected::Protected;
pub use reach::Reach;
pub use route::fits_name;
pub use sights::sights;
use walk::walk;

/// What is the bridge's own, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Guardrail {
    own: Protected,
    /// Rules of the operator whose denies hold whatever else is allowed.
    pub(crate) denies: Rules,
}

impl Guardrail {
    /// The guardrail around what is the bridge's own.
    #[must_use]
    pub fn new(ours: Ours) -> Self {
        Self { own: Protected::new(ours), denies: Rules::default() }
    }

    /// The same guardrail with the denies of the operator's own rules.
    #[must_use]
    pub fn with_denies(self, denies: Rules) -> Self {
        Self { denies, ..self }
    }

    /// What of the bridge's own a call reaches, or may reach.
    pub fn reach(
        &self,
        call: &Call,
        scan: Option<(&str, &Scan<'_>)>,
        dirs: Directories<'_>,
    ) -> Option<Reach> {
        if self.own.is_empty() || call.kind() == Kind::Question {
            return None;
        }
        let mut judge = Judge::new(&self.own, dirs, &call.links);
        judge.here();
        walk(call, scan, dirs, &mut judge);
        if call.links.is_cut() {
            judge.asks(|| "It names more paths than can be followed.".to_owned());
        }
        judge.found
    }
}
