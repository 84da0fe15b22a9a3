//! A call with its text scanned.

use crate::engine::layers::Layers;
use crate::engine::own_calls::{self, OwnCall};
use crate::facts::call::Call;
use crate::facts::paths::Directories;
use crate::facts::tools::Kind;
use crate::facts::values::Values;
use crate::facts::wrappers::{self, Unwrapped};
use crate::shell::Scan;

/// A call with its text scanned.
pub(crate) struct Subject<'c> {
    pub(crate) call: &'c Call,
    pub(crate) dirs: Directories<'c>,
    pub(crate) scan: Option<(&'c str, Scan<'c>)>,
    /// Empty for a shell text.
    pub(crate) values: Values,
    /// Calls of programs that the operator describes.
    pub(crate) own: Vec<OwnCall<'c>>,
}

impl<'c> Subject<'c> {
    pub(crate) fn new(call: &'c Call, layers: &Layers<'c>) -> Self {
        let mut scan = call.scan();
        let values = if scan.is_some() { Values::default() } else { Values::of(call) };
        let own = match &mut scan {
            Some((_, scan)) => own_calls::find(scan, layers.rules.programs()),
            None => Vec::new(),
        };
        Self { call, dirs: directories(call, layers), scan, values, own }
    }

    /// Returns a part of the call's text as if it were the whole.
    pub(crate) fn part(&self, text: &'c str, alone: Scan<'c>) -> Self {
        let scan = Some((text, alone));
        let (values, own) = (Values::default(), Vec::new());
        Self { call: self.call, dirs: self.dirs, scan, values, own }
    }

    /// Looks behind each of the commands.
    pub(super) fn behind(&self) -> Vec<Option<Unwrapped<'_, 'c>>> {
        match &self.scan {
            Some((_, scan)) => wrappers::behind(&scan.commands),
            None => Vec::new(),
        }
    }

    pub(super) fn understood(&self) -> bool {
        match &self.scan {
            Some((_, scan)) => scan.understood(),
            None => self.call.kind() != Kind::Shell && !self.values.missing && !self.values.unread,
        }
    }
}

fn directories<'p>(call: &'p Call, layers: &Layers<'p>) -> Directories<'p> {
    // For callers that name no home, the rules file's applies.
    let home = call.home.as_deref().or_else(|| layers.rules.home());
    Directories { cwd: call.cwd.as_deref(), home }
}
