#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
//! A gate with people, for tests.

use crate::{
    Audience, Choices, Gate, GateSettings, Limits, OnTimeout, Policy, SubmitOutcome,
    approvers::{Approvers, Members, NamedPerson, People, RoleGroup, Who},
    ask::{
        Ask, By,
        deadline::{Pause, PauseMode},
    },
    call::{Appeal, Call},
    routes::Routes,
    rules::AnswerRule,
};
use countersign_policy::Guardrail;
use countersign_profiles::Profile;
use countersign_store::Store;
use countersign_tokens::clock;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

pub(crate) const RULES: &str = r#"{"shell_exec": {"*": "ask", "cargo publish *": "deny",
    "git status": "allow"}, "mcp__db__list": "ask", "ask_user": "allow"}"#;

/// What a daemon decides by: this policy, one room for its asks, and nobody who may answer.
pub(crate) fn choices(policy: Policy) -> Choices {
    let room = Audience { adapter: "chat".into(), target: "room".into(), thread_idle_ms: None };
    let settings = GateSettings {
        late_yes_s: 86_400,
        timeout_ms: 300_000,
        on_timeout: OnTimeout::Deny,
        mode: None,
        home: None,
        host: "here".into(),
        daemon: "one".into(),
        inbox: String::new(),
        limits: Limits::default(),
        keep_ms: 60_000,
    };
    Choices {
        policy: Arc::new(policy),
        approvers: Approvers::default(),
        audience: vec![room],
        routes: Routes::default(),
        reviews: Vec::new(),
        settings,
    }
}

/// A daemon with one named person (Ana, `chat` 1), a person without a name (`chat` 2), a group of
/// those who have the role 7 of `radio`, and these answer rules.
pub(crate) fn gate(
    store: &Store,
    profile: Profile,
    rules: Vec<AnswerRule>,
) -> (Arc<Gate>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.jsonc");
    std::fs::write(&file, RULES).unwrap();
    let file = (profile == Profile::Standard).then_some(&*file);
    let policy = Policy::open(profile, file, None, Guardrail::default(), false).unwrap();
    let identities = BTreeMap::from([("chat".to_owned(), ["1".to_owned()].into())]);
    let groups = ["ops".to_owned()].into();
    let ana = NamedPerson { name: "Ana".to_owned(), identities, groups, ..NamedPerson::default() };
    let roles = BTreeMap::from([("radio".to_owned(), ["7".to_owned()].into())]);
    let groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
    let approvers = Approvers {
        people: People { named: vec![ana], groups },
        rules,
        ..Approvers::of_chat("chat", Members::people(["2"]))
    };
    let mut choices = Choices { approvers, ..choices(policy) };
    choices.settings.late_yes_s = 60;
    choices.settings.on_timeout = OnTimeout::Approve(vec!["notify".into()]);
    (Gate::new(store.clone(), choices), folder)
}

pub(crate) fn who(platform: &'static str, id: &str, roles: &[&str]) -> Who {
    let roles = roles.iter().map(|&role| role.to_owned()).collect();
    Who { platform, id: id.to_owned(), name: "somebody".to_owned(), roles }
}

pub(crate) fn ana() -> Who {
    who("chat", "1", &[])
}

pub(crate) fn command(text: &str) -> Call {
    Call::new("a", "s", "shell_exec", json!({ "command": text }))
}

pub(crate) async fn asked(gate: &Arc<Gate>, call: Call) -> Ask {
    match gate.submit(call, false).await.unwrap() {
        SubmitOutcome::Asked(ask, _) => *ask,
        SubmitOutcome::Ruled(ruling) => panic!("ruled: {ruling:?}"),
    }
}

pub(crate) async fn pause(store: &Store) {
    let by = By::Person { platform: "chat".into(), id: "1".into(), name: "Ana".into() };
    let pause = Pause { mode: PauseMode::Hold, by, since: clock::now_ms() };
    store.set_pause(&pause).await.unwrap();
}

/// A call that a machine blocked.
pub(crate) fn appeal(text: &str) -> Call {
    let appeal = Appeal { against: "a guard".to_owned(), reason: "why".to_owned() };
    Call { appeal: Some(appeal), ..command(text) }
}

pub(crate) fn question() -> Call {
    let questions = json!([{"question": "Which?", "options": []}]);
    let questions = serde_json::from_value(questions).unwrap();
    Call { questions, ..Call::new("a", "s", "ask_user", json!({})) }
}
