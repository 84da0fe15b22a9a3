//! Decides a call other than a shell's by each of its values.

use crate::engine::files;
use crate::engine::part_decision::PartDecision;
use crate::engine::stack::Stack;
use crate::engine::subject::Subject;
use crate::facts::shorten;
use crate::facts::tools::Kind;
use crate::facts::values::{self, Value};
use crate::rules::verdict::Verdict;

impl Subject<'_> {
    /// Returns the strictest decision on any value.
    pub(super) fn values<'r>(&self, stack: &Stack<'r>) -> PartDecision<'r> {
        let tool = &self.call.tool;
        let every = || {
            let hit = stack.every_search(self.call.kind(), self.dirs);
            PartDecision::of(hit, || tool.clone())
        };
        let (seen, beyond) = self.values.in_view();
        let found = seen
            .iter()
            .map(|value| self.value(stack, value))
            .chain((!beyond.is_empty()).then(|| self.unseen(stack, beyond)))
            .reduce(PartDecision::max)
            .unwrap_or_else(every);
        // FAIL-CLOSED: a patch that is not understood may change any file.
        if self.values.unread {
            let why = "cannot be read exactly; it may change other files";
            return PartDecision::blind(format!("The patch of {tool} {why}.")).max(found);
        }
        // FAIL-CLOSED: a shell call without its text, or a file tool without its path.
        if self.values.missing || self.call.kind() == Kind::Shell {
            return found.max(PartDecision::blind(format!(
                "{tool} has no valid argument for its rules to check."
            )));
        }
        found
    }

    fn value<'r>(&self, stack: &Stack<'r>, value: &Value) -> PartDecision<'r> {
        let hit = stack.value(self.call.kind(), value, self.dirs);
        let paths = if value.is_path { value.readings(self.dirs) } else { Vec::new() };
        let beyond = paths
            .iter()
            .find_map(|path| files::beyond_every_path(self.call.kind(), &hit, path, self.dirs));
        let what = || format!("{} on {}", self.call.tool, shorten(&value.text, 80));
        let found = match (beyond, hit.entry) {
            (Some(why), Some(entry)) => PartDecision {
                rule: Some(entry),
                ..PartDecision::ask(format!("{why} The rule {} does not cover it.", entry.label))
            },
            _ => PartDecision::of(hit, what),
        };
        // `/proc/self/root/etc/passwd` is `/etc/passwd`, which no pattern can see.
        if value.is_alias(self.dirs) {
            let odd = "The path is an alias of the kernel for another file.";
            return found.max(PartDecision::blind(odd));
        }
        found
    }

    /// Decides the values that rules do not look at, because there are too many or they are too
    /// long.
    fn unseen<'r>(&self, stack: &Stack<'r>, beyond: &[Value]) -> PartDecision<'r> {
        let hit = stack.unseen();
        let tool = &self.call.tool;
        match hit.verdict {
            // When an allow depends on a path, every path has to be looked at.
            Verdict::Allow if beyond.iter().all(|value| !value.is_path) => {
                PartDecision::allow(hit.entry)
            }
            Verdict::Deny => PartDecision::of(hit, || tool.clone()),
            Verdict::Allow | Verdict::Ask => PartDecision::blind(format!(
                "{tool} names more than rules check, which is {}.",
                values::LIMIT
            )),
        }
    }
}
