//! zeptoclaw's gate as a crate user embeds it, answered through the real daemon.

use crate::{
    chats,
    daemon::{AGENT, Daemon},
    discord_server::{FakeDiscord, Person},
    telegram_server::{ANA, GROUP, Message, Telegram},
};
use countersign_zeptoclaw::{
    AgentMode, ApprovalConfig, ApprovalGate, ApprovalPolicyConfig, Approvals, CallOutcome, Channel,
    ClientSettings, Daemon as Asker, ModePolicy, Secret, Server, ToolCall, ToolCategory,
};
use serde_json::{Value, json};

/// What both sides read: the embedded gate, and the daemon as its `config.json`.
fn approval(seconds: u64) -> ApprovalConfig {
    ApprovalConfig {
        enabled: true,
        policy: ApprovalPolicyConfig::RequireForDangerous,
        auto_approve_timeout_secs: seconds,
        ..Default::default()
    }
}

struct World {
    telegram: Telegram,
    discord: FakeDiscord,
    daemon: Daemon,
}

async fn start(seconds: u64, policy: &str) -> World {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let config = format!(
        "[policy]\nprofile = \"zeptoclaw\"\nrules = \"config.json\"\n{policy}\n{}",
        chats::both(&telegram, &discord)
    );
    let file = json!({"approval": approval(seconds), "agents": {"defaults": {}}}).to_string();
    let daemon = Daemon::start_with(&config, &[("config.json", &file)]).await;
    discord.until_online().await;
    World { telegram, discord, daemon }
}

const NAMED: &str =
    "on_timeout = \"approve\"\napprove_on_timeout = [\"shell\", \"write_file\", \"ask_user\"]";

impl World {
    fn approvals(&self, seconds: u64) -> Approvals {
        approvals(&self.daemon.url, seconds)
    }

    async fn card(&self) -> Message {
        self.telegram.until("an open card", || self.telegram.open_cards(GROUP).pop()).await
    }

    async fn closed(&self, id: i64) -> Message {
        let done = || Some(self.telegram.message(GROUP, id)).filter(|message| message.is_over());
        self.telegram.until("a closed card", done).await
    }
}

fn approvals(url: &str, seconds: u64) -> Approvals {
    let settings = ClientSettings {
        url: vec![Server::Http(url.parse().unwrap())],
        token: Some(Secret::new(AGENT)),
        insecure_http: false,
        ca_file: None,
    };
    Approvals {
        mode: ModePolicy::new(AgentMode::Autonomous),
        gate: ApprovalGate::new(approval(seconds)),
        handler: Some(Asker::new(&settings, "zeptoclaw", "one").unwrap().handler()),
    }
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall { name: tool.into(), arguments, category: ToolCategory::Shell }
}

fn deploy() -> ToolCall {
    call("shell", json!({"command": "make deploy"}))
}

#[tokio::test]
async fn an_embedded_gate_is_answered_in_telegram() {
    let world = start(0, "").await;
    let approvals = world.approvals(0);
    let (call, reading) = (deploy(), call("read_file", json!({"path": "README.md"})));
    assert_eq!(approvals.decide(&reading, Channel::Remote).await, CallOutcome::Run, "not gated");

    let press = async |label: &str| {
        let card = world.card().await;
        assert!(card.text.contains("make deploy"), "{}", card.text);
        assert_eq!(card.buttons[0], ["Approve", "Deny"], "the system knows no Always");
        world.telegram.press(GROUP, card.id, label, ANA).await;
        world.closed(card.id).await;
    };
    let (outcome, ()) = tokio::join!(approvals.decide(&call, Channel::Remote), press("Approve"));
    assert_eq!(outcome, CallOutcome::Run);
    let (outcome, ()) = tokio::join!(approvals.decide(&call, Channel::Remote), press("Deny"));
    let told = "Tool 'shell' was denied by user approval. denied by Ana (telegram)";
    assert_eq!(outcome, CallOutcome::Skip(told.into()));
    assert_eq!(world.telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_embedded_gate_is_answered_in_discord() {
    let world = start(0, "").await;
    let approvals = world.approvals(0);
    let ana = Person::new("4211", "Ana");
    let press = async {
        for label in ["Approve", "Deny"] {
            let card = world.discord.until(|message| !message.is_over()).await;
            assert!(card.text.contains("make deploy"), "{}", card.text);
            world.discord.press(&card.reference, label, &ana).await;
            let shut =
                |m: &crate::discord_server::Posted| m.reference == card.reference && m.is_over();
            world.discord.until(shut).await;
        }
    };
    let batch = [deploy(), deploy()];
    let (outcomes, ()) = tokio::join!(approvals.decide_all(&batch, Channel::Remote), press);
    let told = "Tool 'shell' was denied by user approval. denied by Ana (discord)";
    assert_eq!(outcomes, [CallOutcome::Run, CallOutcome::Skip(told.into())]);
    assert_eq!(world.discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn silence_approves_what_the_operator_names_and_the_card_said_so() {
    let world = start(3, NAMED).await;
    let write = call("write_file", json!({"path": "notes.txt", "content": "hi"}));
    let approvals = world.approvals(3);
    let (outcome, card) = tokio::join!(approvals.decide(&write, Channel::Remote), world.card());
    assert!(card.text.contains("If nobody answers, it is approved at "), "{}", card.text);
    assert!(!card.text.contains("Expires"), "{}", card.text);
    assert_eq!(outcome, CallOutcome::Run);
    let after = world.closed(card.id).await;
    let why = ": approved, because approve_on_timeout lists `write_file`";
    assert!(after.text.contains("Timed out after ") && after.text.contains(why), "{}", after.text);
}

#[tokio::test]
async fn silence_denies_what_the_operator_does_not_name() {
    let world = start(60, "on_timeout = \"approve\"\napprove_on_timeout = [\"write_file\"]").await;
    let (approvals, deploy) = (world.approvals(60), deploy());
    let silence = async {
        let card = world.card().await;
        let id = world.daemon.open().await[0]["id"].as_str().unwrap().to_owned();
        world.daemon.deadline_passes(&id).await;
        world.daemon.ask_reaches(&id, "expired").await;
        card
    };
    let (outcome, card) = tokio::join!(approvals.decide(&deploy, Channel::Remote), silence);
    assert!(!card.text.contains("If nobody answers"), "{}", card.text);
    let told = "Tool 'shell' approval timed out and was not executed.";
    assert_eq!(outcome, CallOutcome::Skip(told.into()));
}

#[tokio::test]
async fn silence_approves_nothing_critical_no_question_and_no_call_in_a_hurry() {
    let world = start(2, NAMED).await;
    let base = json!({"agent": "zeptoclaw", "session": "one", "tool": "shell",
        "args": {"command": "make deploy"}});
    let mut critical = base.clone();
    critical["args"] = json!({"command": "rm -rf /"});
    let mut hurried = base.clone();
    hurried["expires_in_s"] = json!(1);
    let question = json!({"agent": "zeptoclaw", "session": "one", "tool": "ask_user", "override": true,
        "questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]});
    for (call, verdict) in
        [(&critical, "deny"), (&hurried, "deny"), (&question, "deny"), (&base, "allow")]
    {
        let id = world.daemon.ask(call).await;
        assert_eq!(world.daemon.ask_reaches(&id, "expired").await["verdict"], verdict, "{call}");
    }
}

#[tokio::test]
async fn a_timeout_without_named_tools_is_said_at_the_start() {
    let mut world = start(60, "").await;
    world.daemon.says("timeouts deny").await;
}

#[tokio::test]
async fn a_daemon_that_is_away_is_a_denial() {
    let mut world = start(0, "").await;
    world.daemon.kill().await;
    let outcome = world.approvals(0).decide(&deploy(), Channel::Remote).await;
    assert!(
        matches!(&outcome, CallOutcome::Skip(words) if words.contains("Nobody could be asked")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn what_the_embedder_wants_asked_is_asked_whatever_the_daemons_list_says() {
    let world = start(0, "").await;
    let everything = ApprovalConfig { policy: ApprovalPolicyConfig::AlwaysRequire, ..approval(0) };
    let approvals = Approvals { gate: ApprovalGate::new(everything), ..world.approvals(0) };
    let echo = call("echo", json!({"text": "hi"}));
    let press = async {
        let card = world.card().await;
        world.telegram.press(GROUP, card.id, "Approve", ANA).await;
    };
    let (outcome, ()) = tokio::join!(approvals.decide(&echo, Channel::Remote), press);
    assert_eq!(outcome, CallOutcome::Run);
}
