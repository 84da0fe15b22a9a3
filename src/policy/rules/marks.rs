//! A small summary of each rule, which excludes most rules without reading them.

use super::pattern::Head;
use super::verdict::Verdict;

/// The summary of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) key: usize,
    pub(super) verdict: Verdict,
    pub(super) head: Head,
    pub(super) all: bool,
}

impl Mark {
    pub(super) fn fits(&self, head: Option<Head>) -> bool {
        head.is_none_or(|head| self.head.fits(head, self.verdict))
    }
}

/// The summaries of a set of rules, in order, with indexes to search them.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    all: Vec<Mark>,
    /// The decisive part of each mark's head with the mark's index, sorted. A command fits few of
    /// them.
    by_head: Vec<(u64, usize)>,
    /// Indexes of the asks and denies in `all`.
    strict: Vec<usize>,
    /// Like `by_head`, for the denies alone.
    denies: Vec<(u64, usize)>,
}

impl Marks {
    pub(super) fn push(&mut self, mark: Mark) {
        let index = self.all.len();
        if mark.verdict != Verdict::Allow {
            self.strict.push(index);
        }
        let by_head = (mark.head.of_rule(mark.verdict), index);
        insert_sorted(&mut self.by_head, by_head);
        // Denies have an index of their own, because long texts ask `any_deny` for every command.
        if mark.verdict == Verdict::Deny {
            insert_sorted(&mut self.denies, by_head);
        }
        self.all.push(mark);
    }

    pub(super) fn get(&self, index: usize) -> Option<&Mark> {
        self.all.get(index)
    }

    /// Iterates over the asks and denies.
    pub(super) fn strict(&self) -> impl Iterator<Item = &Mark> {
        self.strict.iter().filter_map(|&index| self.all.get(index))
    }

    /// Returns true when `is` holds for some deny that may match a command with this head.
    pub(super) fn any_deny(&self, head: Option<Head>, is: impl Fn(&Mark) -> bool) -> bool {
        let is = |&(_, index): &(u64, usize)| self.all.get(index).is_some_and(&is);
        match head {
            None => self.denies.iter().any(is),
            Some(head) => {
                let mut heads = head.of_rules().into_iter().flatten();
                heads.any(|wanted| with_head(&self.denies, wanted).iter().any(is))
            }
        }
    }

    /// Iterates over the indexes of marks that may fit, from the last to the first.
    pub(super) fn backwards(&self, head: Option<Head>) -> Backwards<'_> {
        let list = |wanted| with_head(&self.by_head, wanted);
        match head {
            Some(head) => {
                Backwards::Of(head.of_rules().map(|wanted| wanted.map(list).unwrap_or_default()))
            }
            None => Backwards::All(self.all.len()),
        }
    }
}

fn insert_sorted(list: &mut Vec<(u64, usize)>, new: (u64, usize)) {
    list.insert(list.partition_point(|before| *before < new), new);
}

/// Returns the part of a sorted list that has this head.
fn with_head(sorted: &[(u64, usize)], wanted: u64) -> &[(u64, usize)] {
    let start = sorted.partition_point(|(head, _)| *head < wanted);
    let rest = sorted.get(start..).unwrap_or_default();
    let length = rest.iter().take_while(|(head, _)| *head == wanted).count();
    rest.get(..length).unwrap_or_default()
}

/// Iterator over indexes of marks, from the last to the first.
pub(super) enum Backwards<'r> {
    /// This many remain.
    All(usize),
    /// The lists that remain, each sorted.
    Of([&'r [(u64, usize)]; 3]),
}

impl Iterator for Backwards<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        match self {
            Self::All(more) => {
                *more = more.checked_sub(1)?;
                Some(*more)
            }
            Self::Of(lists) => {
                // A merge from the end: the last rule that matches wins, so the highest index comes
                // first.
                let last = lists.iter_mut().max_by_key(|list| list.last().map(|(_, at)| *at))?;
                let ((_, at), rest) = last.split_last()?;
                *last = rest;
                Some(*at)
            }
        }
    }
}
