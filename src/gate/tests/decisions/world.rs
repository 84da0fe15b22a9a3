//! One store and one gate, in which everything that the table needs is so: grants, budgets, modes,
//! tokens and pauses come about as in life, by answers of people at the gate.

use super::{
    dimensions::{Before, Budget, Combination, Granted, Kind, Mode, Pause, Rule, Token},
    table::{Cell, Row},
};
use countersign_domain::{
    Ask, By, GrantScope, Owner, Scope,
    call::Call,
    deadline::PauseMode,
    plan::PlannedTarget,
    requirement::VoteCount,
    wire::{TokenLimits, TokenScope},
};
use countersign_gate::{
    Audience, Choices, Gate, GateSettings, Limits, OnTimeout, PauseOutcome, Policy, Revoked,
    SubmitOutcome, TokenOutcome, Told,
};
use countersign_people::{
    answer::Action,
    approvers::{Approvers, NamedPerson, People, Who},
    routes::Routes,
    rules::{AnswerRule, AskConditions},
};
use countersign_policy::{Guardrail, Ours, Rule as PolicyRule, Verdict, tools::canonical};
use countersign_profiles::Profile;
use countersign_store::{AgentToken, Grant, Reads, Store, testkit::engines::Fresh};
use countersign_tokens::clock;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Duration,
};

const MINUTE: Duration = Duration::from_secs(60);
/// So many copies of a call has a budget that is to fit at every rule.
const COPIES: usize = 12;
/// So many calls are submitted at once.
const AT_ONCE: usize = 64;
const AGENT: &str = "bot";
const CHANGE: &str = "make all";

/// The grants that hold for every session, so that the table is made once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Everywhere {
    Nothing,
    Always,
    Revoked,
    Reviewed,
}

struct World {
    store: Store,
    gate: Arc<Gate>,
    folder: tempfile::TempDir,
    tokens: HashMap<String, AgentToken>,
}

/// The rows of the table for these rules.
pub async fn rows_of(rules: &[Rule]) -> Vec<Row> {
    // While it waits the paused clock stands still: no timeout of the store runs out.
    let (done, wait) = mpsc::channel::<()>();
    let still = tokio::task::spawn_blocking(move || wait.recv());
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let rows = World::new(store.clone()).await.rows(rules).await;
    store.close().await;
    drop(done);
    let _ = still.await;
    rows
}

impl World {
    async fn new(store: Store) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(&folder, "setup", r#"{"*": "ask"}"#);
        let gate = Gate::new(store.clone(), choices(policy, None, false, &["room"]));
        Self { store, gate, folder, tokens: HashMap::new() }
    }

    async fn rows(mut self, rules: &[Rule]) -> Vec<Row> {
        let mut combinations = Combination::all();
        combinations.retain(|at| rules.contains(&at.rule));
        self.make_tokens().await;
        self.set_up(&combinations, |at| {
            at.granted == Granted::TimedOver || at.budget == Budget::Over
        })
        .await;
        tokio::time::advance(MINUTE * 120).await;
        self.set_up(&combinations, |at| {
            at.granted != Granted::TimedOver && at.budget != Budget::Over
        })
        .await;
        self.break_tokens().await;
        let mut cells: HashMap<(Combination, Pause), Cell> = HashMap::new();
        for everywhere in
            [Everywhere::Nothing, Everywhere::Always, Everywhere::Revoked, Everywhere::Reviewed]
        {
            self.come_about(everywhere).await;
            for yolo in [false, true] {
                for &rule in rules {
                    let is_here = |at: &&Combination| {
                        (everywhere_of(at), is_configured_yolo(at), at.rule)
                            == (everywhere, yolo, rule)
                    };
                    let here: Vec<_> = combinations.iter().filter(is_here).copied().collect();
                    if here.is_empty() {
                        continue;
                    }
                    self.adopt(rule, yolo).await;
                    for &pause in Pause::ALL {
                        self.submit_all(&here, pause, &mut cells).await;
                    }
                }
            }
        }
        let row = |at: Combination| {
            let cells = Pause::ALL.iter().map(|&pause| cells[&(at, pause)].clone()).collect();
            Row { at, cells }
        };
        combinations.into_iter().map(row).collect()
    }

    async fn submit_all(
        &mut self,
        here: &[Combination],
        pause: Pause,
        cells: &mut HashMap<(Combination, Pause), Cell>,
    ) {
        for at in here.iter().filter(|at| at.token == Token::OverLimit) {
            self.make_over_limit(*at, pause).await;
        }
        let mode = match pause {
            Pause::Nothing => None,
            Pause::Hold => Some(PauseMode::Hold),
            Pause::Deny => Some(PauseMode::Deny),
        };
        if let Some(mode) = mode {
            let paused = self.gate.pause(mode, who("Ana")).await.unwrap();
            assert!(matches!(paused, PauseOutcome::Switched(_)), "{paused:?}");
        }
        let world = &*self;
        let submitted =
            stream::iter(here.to_vec()).map(async |at| (at, world.submitted(at, pause).await));
        let submitted: Vec<(Combination, Cell)> =
            submitted.buffer_unordered(AT_ONCE).collect().await;
        cells.extend(submitted.into_iter().map(|(at, cell)| ((at, pause), cell)));
        if mode.is_some() {
            // Past the gate, which would look at everything that was held.
            self.store.end_pause(&By::Caller, clock::now_ms()).await.unwrap().unwrap();
        }
    }

    async fn submitted(&self, at: Combination, pause: Pause) -> Cell {
        let call = self.call(at, pause);
        Cell::of(self.gate.submit(call, false).await)
    }

    // --- what is so before ---

    /// Makes what was granted, approved ahead, denied and chosen in the sessions of these.
    async fn set_up(
        &mut self,
        combinations: &BTreeSet<Combination>,
        which: impl Fn(&Combination) -> bool,
    ) {
        let plain = |at: &Combination| Combination { rule: Rule::Defaults, ..*at };
        let sessions: BTreeSet<Combination> =
            combinations.iter().filter(|at| which(at)).map(plain).collect();
        for at in sessions {
            // Agents over their limit have one for each line of the table.
            if at.token != Token::OverLimit {
                self.set_up_session(at).await;
            }
        }
    }

    async fn set_up_session(&mut self, at: Combination) {
        let call = Call { agent_mode: None, ..self.call(at, Pause::Nothing) };
        match at.before {
            Before::Nothing => {}
            Before::Denied => {
                if let Some(ask) = self.asked(Call { key: None, ..call.clone() }).await {
                    let deny = Action::Deny { reason: None, then: None };
                    assert_eq!(self.gate.answer(ask, who("Ana"), deny).await.told, Told::Applied);
                }
            }
            Before::SameKey => drop(self.asked(call.clone()).await),
        }
        self.grant(at, &call).await;
        self.approve_ahead(at, &call).await;
        let mode = match at.mode {
            Mode::SessionYolo => "yolo",
            Mode::OwnDefault => "default",
            Mode::Default | Mode::ConfiguredYolo | Mode::AgentPlans => return,
        };
        let set = self.gate.set_mode(&call.agent, &call.session, mode, Some(who("Ana"))).await;
        drop(set.unwrap());
    }

    async fn grant(&self, at: Combination, call: &Call) {
        let granted = match at.kind {
            Kind::Half => Call { args: json!({ "command": CHANGE }), ..call.clone() },
            _ => call.clone(),
        };
        let granted = Call { key: None, ..granted };
        match at.granted {
            Granted::Nothing | Granted::Always | Granted::AlwaysRevoked | Granted::Reviewed => {}
            // The same call would be denied again, or is the open one.
            Granted::Session if at.before != Before::Nothing => {
                let rule = PolicyRule::allow("shell_exec", CHANGE);
                let grant = grant(rule, GrantScope::Session, call);
                assert!(self.store.save_grant(&grant).await.unwrap());
            }
            Granted::Session => drop(self.approve(granted, Scope::Session).await),
            Granted::Timed | Granted::TimedOver => {
                drop(self.approve(granted, Scope::Timed(600)).await);
            }
            Granted::ByTwo => self.approve_by_two(granted).await,
            Granted::Wide => {
                let rule = PolicyRule::allow(canonical(&call.tool), "*");
                assert!(
                    self.store.save_grant(&grant(rule, GrantScope::Session, call)).await.unwrap()
                );
            }
            Granted::OtherSession => {
                let session = format!("{}.other", call.session);
                drop(self.approve(Call { session, ..granted }, Scope::Session).await);
            }
            Granted::OtherAgent => {
                let agent = "another".to_owned();
                drop(self.approve(Call { agent, ..granted }, Scope::Session).await);
            }
            Granted::OtherOwner => {
                let owner = Some(Owner::by("unix:agent").with("another"));
                drop(self.approve(Call { owner, ..granted }, Scope::Session).await);
            }
            Granted::Revoked => {
                let Some(ask) = self.approve(granted, Scope::Session).await else { return };
                for grant in self.store.grants(clock::now_ms()).await.unwrap() {
                    if grant.ask == ask.id {
                        self.revoke(&grant.id).await;
                    }
                }
            }
            Granted::Undone => {
                let Some(ask) = self.approve(granted, Scope::Session).await else { return };
                let undone = self.gate.answer(ask, who("Ben"), Action::Undo).await;
                assert_eq!(undone.told, Told::Applied, "{undone:?}");
            }
            Granted::SessionEnded => {
                drop(self.approve(granted, Scope::Session).await);
                self.gate.end_session(&call.agent, &call.session, "over").await.unwrap();
            }
        }
    }

    async fn approve_ahead(&self, at: Combination, call: &Call) {
        let command = |command: &str| json!({"tool": "shell_exec", "args": {"command": command}});
        let one = json!({"tool": call.tool, "args": call.args});
        let calls = match at.budget {
            Budget::Nothing => return,
            Budget::Fitting => vec![one; COPIES],
            Budget::Spent | Budget::Over => vec![one],
            Budget::OfAnotherCall => vec![command("touch y")],
        };
        let mut ahead = Call::new(&call.agent, &call.session, "budget", Value::Null);
        ahead.budget = serde_json::from_value(json!({"for_s": 3600, "calls": calls})).ok();
        let ahead = Call { owner: call.owner.clone(), cwd: call.cwd.clone(), ..ahead };
        let approved = self.approve(ahead, Scope::Once).await;
        if approved.is_some() && at.budget == Budget::Spent {
            let spent = self.gate.submit(Call { key: None, ..call.clone() }, false).await;
            drop(spent.unwrap());
        }
    }

    /// Submits a call and approves it so far, where it asks and that is offered; the answered ask.
    async fn approve(&self, call: Call, scope: Scope) -> Option<Ask> {
        let ask = self.asked(call).await?;
        let id = ask.id.clone();
        let reply = self.gate.answer(ask, who("Ana"), Action::Approve { scope }).await;
        if reply.told == Told::Applied {
            return reply.ask;
        }
        assert_eq!(reply.told, Told::Unfit, "{reply:?}");
        self.gate.cancel(&id, "nothing can be granted").await.unwrap();
        None
    }

    async fn approve_by_two(&self, call: Call) {
        self.adopt_as("setup", true, false).await;
        if let Some(ask) = self.asked(call).await {
            let id = ask.id.clone();
            let approve = || Action::Approve { scope: Scope::Session };
            let first = self.gate.answer(ask, who("Ana"), approve()).await;
            if let (Told::Voted, Some(ask)) = (first.told, first.ask) {
                let second = self.gate.answer(ask, who("Ben"), approve()).await;
                assert_eq!(second.told, Told::Applied);
            } else {
                self.gate.cancel(&id, "nothing can be granted").await.unwrap();
            }
        }
        self.adopt_as("setup", false, false).await;
    }

    async fn asked(&self, call: Call) -> Option<Ask> {
        match self.gate.submit(call, false).await {
            Ok(SubmitOutcome::Asked(ask, _)) => Some(*ask),
            Ok(SubmitOutcome::Ruled(_)) | Err(_) => None,
        }
    }

    async fn revoke(&self, id: &str) {
        let revoked = self.gate.revoke(id, who("Ana")).await.unwrap();
        assert!(matches!(revoked, Revoked::Done(_)), "{revoked:?}");
    }

    /// Makes what holds for every session.
    async fn come_about(&self, everywhere: Everywhere) {
        match everywhere {
            Everywhere::Nothing => {}
            Everywhere::Always => {
                self.adopt_as("always", false, false).await;
                for &kind in Kind::ALL {
                    if kind != Kind::Half {
                        let call = Call { owner: None, ..call_of(kind) };
                        let call = Call { session: "always".to_owned(), ..call };
                        drop(self.approve(call, Scope::Always).await);
                    }
                }
            }
            Everywhere::Revoked => {
                self.adopt_as("always", false, false).await;
                for grant in self.store.grants(clock::now_ms()).await.unwrap() {
                    if grant.scope == GrantScope::Always {
                        self.revoke(&grant.id).await;
                    }
                }
            }
            Everywhere::Reviewed => {
                let tools = Kind::ALL.iter().map(|kind| call_of(*kind).tool);
                for tool in tools.collect::<BTreeSet<_>>() {
                    let rule = PolicyRule::allow(canonical(&tool), "*");
                    let rule = PolicyRule { verdict: Verdict::Ask, ..rule };
                    let grant = grant(rule, GrantScope::Review, &call_of(Kind::Change));
                    assert!(self.store.save_grant(&grant).await.unwrap());
                }
            }
        }
    }

    // --- choices ---

    async fn adopt(&self, rule: Rule, yolo: bool) {
        let text = match rule {
            Rule::Defaults | Rule::Two => countersign_policy::DEFAULT_RULES,
            Rule::Allow | Rule::AllowTwo => r#"{"*": "allow"}"#,
            Rule::Named => {
                r#"{"*": "ask", "shell_exec": {"make *": "allow"}, "mcp__db__query": "allow"}"#
            }
            Rule::Ask => r#"{"*": "ask"}"#,
            Rule::Deny => r#"{"*": "deny"}"#,
        };
        let policy = policy(&self.folder, &format!("{rule:?}"), text);
        let two = matches!(rule, Rule::Two | Rule::AllowTwo).then(two_of_ops);
        self.gate.adopt(choices(policy, two, yolo, &["room"])).await;
    }

    async fn adopt_as(&self, name: &str, two: bool, yolo: bool) {
        let policy = policy(&self.folder, name, r#"{"*": "ask"}"#);
        self.gate.adopt(choices(policy, two.then(two_of_ops), yolo, &["room"])).await;
    }

    // --- calls ---

    /// The call of a combination. Its session is that of the combination, whatever the rules are.
    fn call(&self, at: Combination, pause: Pause) -> Call {
        let Combination { kind, granted, mode, token, budget, before, .. } = at;
        let session = format!("{kind:?}.{granted:?}.{mode:?}.{token:?}.{budget:?}.{before:?}");
        let name = agent_of(at, pause);
        let agent = match token {
            Token::Nothing => AGENT.to_owned(),
            Token::Taken => "named".to_owned(),
            // What it calls itself, which its token outranks.
            _ => "whatever".to_owned(),
        };
        let owner = match token {
            Token::Nothing | Token::Taken => Owner::by("unix:agent").with("secret"),
            _ => Owner::by_token(&self.tokens[&name].id),
        };
        let agent_mode = (mode == Mode::AgentPlans).then(|| "plan".to_owned());
        let key = (before == Before::SameKey).then(|| "key".to_owned());
        let call = Call { agent, session, key, agent_mode, owner: Some(owner), ..call_of(kind) };
        // So that modes and sessions are set for the agent that the gate knows.
        match token {
            Token::Nothing | Token::Taken | Token::Revoked | Token::Expired => call,
            _ => Call { agent: name, ..call },
        }
    }

    // --- tokens ---

    async fn make_tokens(&mut self) {
        let none = TokenScope::default;
        self.add_token("named", None, None, none()).await;
        self.add_token("paused", None, Some(1), none()).await;
        self.add_token("revoked", None, None, none()).await;
        let soon = clock::now_ms() + 60_000;
        self.add_token("expired", Some(soon), None, none()).await;
        let target = |name: &str| TokenScope { target: Some(name.to_owned()), ..none() };
        self.add_token("target", None, None, target("room")).await;
        let setup = policy(&self.folder, "setup", r#"{"*": "ask"}"#);
        self.gate.adopt(choices(setup, None, false, &["room", "gone"])).await;
        self.add_token("targetgone", None, None, target("gone")).await;
        let molf = Policy::open(Profile::Molf, None, None, Guardrail::default(), false).unwrap();
        self.gate.adopt(choices(Arc::new(molf), None, false, &["room"])).await;
        let molf = TokenScope { profile: Some("molf".to_owned()), ..none() };
        self.add_token("otherprofile", None, None, molf).await;
        self.adopt_as("setup", false, false).await;
    }

    async fn add_token(
        &mut self,
        name: &str,
        expires_at: Option<i64>,
        max_open: Option<u32>,
        scope: TokenScope,
    ) {
        let limits = TokenLimits { max_open, ..TokenLimits::default() };
        let gate = &self.gate;
        let ana = who("Ana");
        let added = gate.add_agent_token(name, Reads::Own, expires_at, limits, scope, ana).await;
        let TokenOutcome::Done(token, _) = added.unwrap() else { panic!("{name} has no token") };
        self.tokens.insert(name.to_owned(), *token);
    }

    async fn break_tokens(&mut self) {
        self.open_one("paused").await;
        self.open_one("paused").await;
        let revoked = self.gate.revoke_agent_token("revoked", who("Ana")).await.unwrap();
        assert!(matches!(revoked, TokenOutcome::Done(..)), "{revoked:?}");
    }

    /// An agent of which one ask less than it would take is open.
    async fn make_over_limit(&mut self, at: Combination, pause: Pause) {
        let name = agent_of(at, pause);
        self.add_token(&name, None, Some(1), TokenScope::default()).await;
        self.open_one(&name).await;
    }

    /// Opens an ask of an agent, as a question: that asks under every rule but a deny.
    async fn open_one(&self, name: &str) {
        let owner = Some(Owner::by_token(&self.tokens[name].id));
        let call = Call { agent: name.to_owned(), owner, ..call_of(Kind::Question) };
        drop(self.gate.submit(call, false).await.unwrap());
    }
}

fn everywhere_of(at: &Combination) -> Everywhere {
    match at.granted {
        Granted::Always => Everywhere::Always,
        Granted::AlwaysRevoked => Everywhere::Revoked,
        Granted::Reviewed => Everywhere::Reviewed,
        _ => Everywhere::Nothing,
    }
}

fn is_configured_yolo(at: &Combination) -> bool {
    matches!(at.mode, Mode::ConfiguredYolo | Mode::OwnDefault)
}

/// The agent whose token a call brings.
fn agent_of(at: Combination, pause: Pause) -> String {
    match at.token {
        Token::OverLimit => format!("over-{:?}-{:?}-{pause:?}", at.kind, at.rule).to_lowercase(),
        token => format!("{token:?}").to_lowercase(),
    }
}

fn call_of(kind: Kind) -> Call {
    let call = |tool: &str, args: Value| {
        let call = Call::new(AGENT, "s", tool, args);
        Call { cwd: Some("/home/a/shop".to_owned()), ..call }
    };
    let shell = |command: &str| call("shell_exec", json!({ "command": command }));
    let ahead = |commands: &[&str]| {
        let one = |it: &&str| json!({"tool": "shell_exec", "args": {"command": it}});
        let calls: Vec<Value> = commands.iter().map(one).collect();
        let budget = serde_json::from_value(json!({"for_s": 60, "calls": calls})).unwrap();
        Call { budget: Some(budget), ..call("budget", Value::Null) }
    };
    match kind {
        Kind::Read => shell("ls"),
        Kind::Change => shell(CHANGE),
        Kind::Half => shell("make all && frobnicate x"),
        Kind::Mcp => call("mcp__db__query", json!({"sql": "drop table x"})),
        Kind::Plan => call("ExitPlanMode", json!({"plan": "1. Write it."})),
        Kind::Question => {
            let questions = serde_json::from_value(json!([{"question": "Which?"}])).unwrap();
            Call { questions, ..call("ask_user", json!({})) }
        }
        Kind::Critical => shell("rm -rf /"),
        Kind::Guardrail => shell("countersign approve 1"),
        Kind::Ahead => ahead(&["make a", "make b"]),
        Kind::AheadCritical => ahead(&["make a", "rm -rf /"]),
    }
}

fn grant(rule: PolicyRule, scope: GrantScope, call: &Call) -> Grant {
    Grant {
        id: countersign_tokens::ids::ask_id(),
        ask: String::new(),
        rule,
        scope,
        agent: call.agent.clone(),
        session: call.session.clone(),
        owner: call.owner.clone(),
        folder: None,
        by: By::Person { platform: "letters".into(), id: "Ana".into(), name: "Ana".into() },
        created_at: clock::now_ms(),
        expires_at: None,
        digest: None,
        in_file: false,
    }
}

fn who(name: &str) -> Who {
    Who { platform: "letters", id: name.to_owned(), name: name.to_owned(), roles: Vec::new() }
}

fn two_of_ops() -> AnswerRule {
    AnswerRule {
        name: "two".to_owned(),
        when: AskConditions::default(),
        group: Some("ops".to_owned()),
        approvals: 2,
        deny: 1,
        count: VoteCount::People,
        exclude: None,
        needs_reason: false,
    }
}

/// The policy of a rules file with this text.
fn policy(folder: &tempfile::TempDir, name: &str, text: &str) -> Arc<Policy> {
    let path: PathBuf = folder.path().join(format!("{name}.jsonc"));
    if fs::read_to_string(&path).is_err() || !matches!(name, "setup" | "always") {
        fs::write(&path, text).unwrap();
    }
    let guardrail =
        Guardrail::new(Ours { programs: vec!["countersign".to_owned()], ..Ours::default() });
    let home = Some("/home/a".to_owned());
    Arc::new(Policy::open(Profile::Standard, Some(&path), home, guardrail, false).unwrap())
}

fn choices(policy: Arc<Policy>, two: Option<AnswerRule>, yolo: bool, chats: &[&str]) -> Choices {
    let person = |name: &str| NamedPerson {
        name: name.to_owned(),
        identities: BTreeMap::from([("letters".to_owned(), [name.to_owned()].into())]),
        groups: ["ops".to_owned()].into(),
        ..NamedPerson::default()
    };
    let people = People { named: vec![person("Ana"), person("Ben")], groups: Vec::new() };
    let approvers = Approvers { people, rules: two.into_iter().collect(), ..Approvers::default() };
    let target = |name: &str| PlannedTarget {
        adapter: "letters".to_owned(),
        target: name.to_owned(),
        name: name.to_owned(),
    };
    let chats = chats.iter().map(|&name| (name.to_owned(), target(name))).collect();
    let settings = GateSettings {
        late_yes_s: 86_400,
        timeout_ms: 300_000,
        on_timeout: OnTimeout::Wait,
        mode: yolo.then(|| "yolo".to_owned()),
        home: Some("/home/a".to_owned()),
        host: "here".into(),
        daemon: "one".into(),
        keep_ms: 60_000,
        inbox: String::new(),
        limits: Limits {
            asks: u64::MAX,
            asks_per_agent: u64::MAX,
            asks_per_session: u64::MAX,
            asks_a_minute_per_agent: u64::MAX,
            asks_a_minute_per_session: u64::MAX,
            bytes: u64::MAX,
            bytes_per_agent: u64::MAX,
        },
    };
    let audience =
        vec![Audience { adapter: "letters".into(), target: "all".into(), thread_idle_ms: None }];
    let routes = Routes { chats, ..Routes::default() };
    Choices { policy, approvers, audience, routes, reviews: Vec::new(), settings }
}
