//! Denies and asks that no rule, mode, grant or button lifts: for the bridge's own files, program
//! and addresses, and by the operator's denies.
//!
//! Every text that a call may turn into a path raises two questions: which paths may it stand for
//! (`spelling`, `route`), and where are they relative to the bridge's own files (`territory`). A
//! path that is ours is denied. A folder that contains ours is denied or asked about where the
//! command may go through it. A path that only the running shell knows is asked about.
//!
//! INVARIANT: a path that bash would open at or below what is ours is never allowed. Tests compare
//! with real bash (`tests/guardrail`).

mod addresses;
pub(super) mod commands;
mod host;
mod judge;
pub mod own_program;
pub(super) mod programs;
mod protected;
mod public_address;
mod reach;
mod reasons;
pub(super) mod route;
mod sights;
pub(super) mod site;
pub(super) mod spelling;
mod territory;
pub(super) mod tools;
mod walk;
mod weighing;

use crate::engine::guardrail::judge::GuardrailJudge;
pub use crate::engine::guardrail::protected::Ours;
use crate::engine::guardrail::protected::Protected;
pub use crate::engine::guardrail::reach::GuardrailHit;
pub use crate::engine::guardrail::route::fits_name;
pub use crate::engine::guardrail::sights::sights;
use crate::engine::guardrail::walk::walk;
use crate::facts::call::Call;
use crate::facts::paths::Directories;
use crate::facts::tools::Kind;
use crate::rules::Rules;
use crate::shell::Scan;

/// Everything that belongs to the bridge, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Guardrail {
    own: Protected,
    /// Rules of the operator whose denies apply whatever else is allowed.
    pub(crate) denies: Rules,
}

impl Guardrail {
    /// Creates the guardrail for what belongs to the bridge.
    #[must_use]
    pub fn new(ours: Ours) -> Self {
        Self { own: Protected::new(ours), denies: Rules::default() }
    }

    /// Adds the denies of the operator's own rules.
    #[must_use]
    pub fn with_denies(self, denies: Rules) -> Self {
        Self { denies, ..self }
    }

    /// Returns what a call reaches, or may reach, of the bridge's own.
    pub fn reach(
        &self,
        call: &Call,
        scan: Option<(&str, &Scan<'_>)>,
        dirs: Directories<'_>,
    ) -> Option<GuardrailHit> {
        // A question runs nothing.
        if self.own.is_empty() || call.kind() == Kind::Question {
            return None;
        }
        let mut judge = GuardrailJudge::new(&self.own, dirs, &call.links);
        judge.here();
        walk(call, scan, dirs, &mut judge);
        if call.links.is_cut() {
            judge.asks(|| "It names more paths than can be followed.".to_owned());
        }
        judge.found
    }
}
