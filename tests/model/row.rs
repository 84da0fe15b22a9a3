//! The ask's row: small enough to be counted, and turned into a real ask where the real functions
//! rule.

use countersign::gate::{
    ask::{Answer, Ask, Body, By, Decision, Scope, State},
    question::Progress,
};
use countersign::people::{
    answer::{Action, Change, Refusal, already, apply},
    approvers::{Approver, Approvers, Local, Who},
};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// What is asked: for a call, or a question of which several options may be chosen.
static BODIES: LazyLock<[Body; 2]> = LazyLock::new(|| [json!([]), question()].map(body));

fn question() -> Value {
    json!([{"question": "Which?", "multiSelect": true, "options": [{"label": "A"}, {"label": "B"}]}])
}

fn body(questions: Value) -> Body {
    let call = json!({"agent": "a", "session": "s", "key": "k", "tool": "shell_exec",
        "args": {"command": "git push"}, "questions": questions});
    serde_json::from_value(json!({"call": call, "why": "no rule"})).unwrap()
}

/// When the ask expires.
pub const DEADLINE: i64 = 2;

/// What a presser wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wish {
    Approve,
    Deny,
    /// An option of the question, of which several may be chosen.
    Choose(usize),
    /// The end of the choice.
    Submit,
}

impl Wish {
    fn action(self) -> Action {
        match self {
            Self::Approve => Action::Approve { scope: Scope::Once },
            Self::Deny => Action::Deny { reason: None, then: None },
            Self::Choose(option) => Action::Choose { question: 0, option },
            Self::Submit => Action::Submit { question: 0 },
        }
    }
}

/// The row in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Row {
    /// Whether it is a question.
    pub question: bool,
    pub version: i64,
    pub chosen: Vec<usize>,
    pub end: Option<End>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum End {
    Answered { by: usize, decision: Decision, at: i64 },
    Expired { at: i64 },
    Cancelled { at: i64 },
}

/// What a press comes to before it is committed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Decided {
    Close(End),
    Go(Vec<usize>, i64),
    Refused(String),
}

impl Row {
    /// An ask that was just handed in.
    pub fn open(question: bool) -> Self {
        Self { question, version: 1, chosen: vec![], end: None }
    }

    /// What this press comes to on the row as it was read, by the real rule.
    pub fn decide(&self, by: usize, wish: Wish, now: i64) -> Decided {
        match apply(&self.ask(), &presser(by), wish.action(), now) {
            Ok(Change::Close(answer)) => {
                Decided::Close(End::Answered { by, decision: answer.decision, at: answer.at })
            }
            Ok(Change::Go(progress)) => Decided::Go(progress.chosen, now),
            Ok(Change::WantText(prompt)) => panic!("nobody wrote: {prompt}"),
            Ok(change @ (Change::Undo(_) | Change::Next(_) | Change::Nothing)) => {
                panic!("nobody does {change:?}")
            }
            Err(Refusal::Closed(words) | Refusal::Unfit(words) | Refusal::Over(words)) => {
                Decided::Refused(words)
            }
            // The gate expires it first, and says what the row says then.
            Err(Refusal::Late(_)) => Decided::Close(End::Expired { at: now }),
        }
    }

    /// The compare-and-set: whether a change decided on `seen` goes through. The store's own is
    /// tested to be the same.
    pub fn takes(&self, seen: i64, decided: &Decided) -> bool {
        let unchanged = self.end.is_none() && self.version == seen;
        unchanged
            && match decided {
                Decided::Close(End::Answered { at, .. }) | Decided::Go(_, at) => *at < DEADLINE,
                Decided::Close(End::Expired { at }) => *at >= DEADLINE,
                Decided::Close(End::Cancelled { .. }) => true,
                Decided::Refused(_) => false,
            }
    }

    /// The row after the change.
    pub fn with(&self, decided: &Decided) -> Self {
        let row = Self { version: self.version + 1, ..self.clone() };
        match decided {
            Decided::Close(end) => Self { end: Some(end.clone()), ..row },
            Decided::Go(chosen, _) => Self { chosen: chosen.clone(), ..row },
            Decided::Refused(_) => self.clone(),
        }
    }

    /// What somebody is told who comes too late, by the real function.
    pub fn too_late(&self) -> Option<String> {
        self.end.as_ref().map(|end| match end.state() {
            State::Answered(answer) | State::Expired(answer) | State::Cancelled(answer) => {
                already(&answer)
            }
            State::Open => String::new(),
        })
    }

    /// The row as the gate knows it.
    pub fn ask(&self) -> Ask {
        Ask {
            state: self.end.as_ref().map_or(State::Open, End::state),
            progress: Progress { chosen: self.chosen.clone(), ..Progress::default() },
            version: self.version,
            attended: true,
            deadline_at: Some(DEADLINE),
            ..Ask::opened("ask", "digest", BODIES[usize::from(self.question)].clone(), 0)
        }
    }
}

impl End {
    /// The end as the store holds it.
    pub fn state(&self) -> State {
        match *self {
            Self::Answered { by, decision, at } => {
                let by = countersign::people::answer::person(&presser(by));
                State::Answered(Answer::new(decision, by, at))
            }
            Self::Expired { at } => State::Expired(Answer::new(Decision::Deny, By::Timeout, at)),
            Self::Cancelled { at } => State::Cancelled(Answer::new(Decision::Deny, By::Caller, at)),
        }
    }
}

/// An approver, who is told from the others by id.
fn presser(n: usize) -> Approver {
    let approvers = Approvers { local: Local::On, ..Approvers::default() };
    let who =
        Who { platform: "inbox", id: n.to_string(), name: format!("presser {n}"), roles: vec![] };
    approvers.admit(who).unwrap()
}

/// INVARIANT: the model's compare-and-set is the store's, on every small row, version and time.
#[tokio::test]
async fn the_compare_and_set_of_the_model_is_that_of_the_store() {
    use countersign::store::{Closed, Database, Inserted, Store};
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&Database::Sqlite(folder.path().join("model.db"))).await.unwrap();
    let ends = |at| {
        [
            End::Answered { by: 0, decision: Decision::Approve, at },
            End::Answered { by: 0, decision: Decision::Deny, at },
            End::Expired { at },
            End::Cancelled { at },
        ]
    };
    let firsts = || [None].into_iter().chain((0..4).flat_map(ends).map(Some));
    let mut compared = 0;
    for (first, at, which) in firsts().flat_map(|first| {
        (0..4).flat_map(move |at| {
            (0..5).map({
                let first = first.clone();
                move |w| (first.clone(), at, w)
            })
        })
    }) {
        let (template, row) = (Row::open(true).ask(), Row::open(true));
        let mut body = template.body.clone();
        body.call.key = None;
        let (id, digest) = (format!("ask{compared}"), body.call.digest());
        let opened = Ask::opened(id, digest, body, 0);
        let new = Ask { attended: true, deadline_at: Some(DEADLINE), ..opened };
        let Inserted::New(seen) = store.insert_ask(&new, &[], None).await.unwrap() else {
            panic!("known")
        };
        let mut row = row;
        if let Some(first) = first {
            let decided = Decided::Close(first.clone());
            let won = store.close_ask(&seen, &first.state(), &[]).await.unwrap();
            assert_eq!(matches!(won, Closed::Won(_)), row.takes(1, &decided), "{first:?}");
            if row.takes(1, &decided) {
                row = row.with(&decided);
            }
        }
        let decided = match which {
            4 => Decided::Go(vec![1], at),
            end => Decided::Close(ends(at)[end].clone()),
        };
        let done = match &decided {
            Decided::Close(end) => store.close_ask(&seen, &end.state(), &[]).await.unwrap(),
            Decided::Go(chosen, at) => {
                let progress = Progress { chosen: chosen.clone(), ..Progress::default() };
                store.note_progress(&seen, &progress, *at).await.unwrap()
            }
            Decided::Refused(_) => continue,
        };
        assert_eq!(matches!(done, Closed::Won(_)), row.takes(1, &decided), "{row:?}, {decided:?}");
        compared += 1;
    }
    assert_eq!(compared, 17 * 4 * 5);
}
