//! What an approver can do to an ask.

use super::ask::{Scope, edit::ProposedEdit};
use countersign_profiles::OnDeny;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What an approver wants to do to an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Let the call run.
    Approve {
        /// What that covers.
        scope: Scope,
    },
    /// Let the call run, and store these of the rules that Always offers, by their places.
    ApproveParts(Vec<usize>),
    /// Revoke what the answer stored.
    Undo,
    /// Look at a further step of an open ask; nothing changes.
    Look,
    /// Do not let it run; or, for questions, do not answer them.
    Deny {
        /// Words for the agent.
        reason: Option<String>,
        /// What else that does; as the ask says where `None`.
        then: Option<OnDeny>,
    },
    /// Press an option of a question.
    Choose {
        /// Which question, by index.
        question: usize,
        /// Which option, by index.
        option: usize,
    },
    /// End a multiple choice.
    Submit {
        /// Which question, by index.
        question: usize,
    },
    /// End a multiple choice with these options, whatever was chosen before.
    SubmitOptions {
        /// Which question, by index.
        question: usize,
        /// The options, by index.
        options: BTreeSet<usize>,
    },
    /// Announce free text, or give it.
    Text {
        /// Which question, by index.
        question: usize,
        /// The text; `None` only announces it.
        text: Option<String>,
    },
    /// Answer all questions at once, by question text.
    Answers(Map<String, Value>),
    /// Propose an edit that policy has looked at. Nothing runs because of that.
    Propose(Box<ProposedEdit>),
    /// Do something about the proposed edit.
    Edit {
        /// Which edit of the ask, from 1.
        nth: usize,
        /// What.
        step: EditStep,
    },
    /// Announce words for the agent, or give them.
    Words {
        /// What they are for.
        wanted: TextPurpose,
        /// The words; `None` only announces them.
        text: Option<String>,
    },
}

/// What a person's words for the agent are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPurpose {
    /// A denial with this reason.
    Reason,
    /// An approval of this call with a note.
    Note,
    /// The text that the call is to have instead.
    Edit,
}

/// What is done about a proposed edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditStep {
    /// The first of the two steps that a critical one takes.
    Review,
    /// Approve it.
    Approve,
    /// Approve it by its digest, which is both steps: a person who names it has read the change.
    Confirm,
    /// Drop it: the call is again as it was submitted.
    Drop,
}
