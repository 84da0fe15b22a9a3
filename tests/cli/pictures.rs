//! The pictures of the documentation, drawn from what the program really shows.
//!
//! `COUNTERSIGN_DRAW=1 cargo test --workspace --test cli pictures` draws them anew.

#[path = "pictures/drawing.rs"]
mod drawing;
#[path = "pictures/inbox.rs"]
mod inbox;

use crate::{
    browser::Browser,
    daemon::Daemon,
    process::start,
    telegram_server::{ANA, GROUP, TOKEN, Telegram},
    terminal::Terminal,
};
use drawing::{Picture, Scene, chat, folded, screen};
use serde_json::json;
use std::{fs, path::Path};

/// What differs from run to run, and what the picture says instead.
struct Steady(Vec<(String, &'static str)>);

impl Steady {
    fn text(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, (was, is)| text.replace(was, is));
        let mut steady = String::new();
        let mut rest = text.as_str();
        while let Some(colon) = rest.find(':') {
            let digits = |letter: &char| letter.is_ascii_digit();
            let before = rest[..colon].chars().rev().take_while(digits).count();
            let after = rest[colon + 1..].chars().take_while(digits).count();
            let (time, length) = match (before, after) {
                (2, 2) => ("14:03", 2),
                (1, 2) => ("4:58", 2),
                _ => (":", 0),
            };
            let kept = if length == 0 { colon } else { colon - before };
            steady.push_str(&rest[..kept]);
            steady.push_str(time);
            rest = &rest[colon + 1 + length..];
        }
        steady + rest
    }
}

/// Fails where the picture in the documentation is not this one.
fn matches(name: &str, drawn: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(name);
    if std::env::var_os("COUNTERSIGN_DRAW").is_some() {
        fs::write(&file, drawn).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(kept, drawn, "{name} shows something else; COUNTERSIGN_DRAW=1 draws it anew");
}

#[tokio::test]
async fn the_way_from_a_command_to_the_press_is_drawn_as_it_is() {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&in_group(&telegram)).await;
    let shop = daemon.dir.path().join("shop");
    fs::create_dir_all(shop.join("build")).unwrap();
    let typed = "countersign run -- rm -rf build";
    let mut command = daemon.command(&["run", "--", "rm", "-rf", "build"]);
    command.current_dir(&shop);
    let mut terminal = Terminal::of(command, 80);
    let id = terminal.waits_for().await;
    let waits = terminal.shows(" left · ").await;
    let card = telegram.card(GROUP).await;
    let sent = telegram.calls("sendMessage").pop().unwrap();

    assert!(shop.join("build").exists(), "nothing has run yet");
    telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(terminal.ends().await, Some(0));
    assert!(!shop.join("build").exists(), "it has run");
    let done = terminal.shows("approved by").await;
    let ran = || telegram.message(GROUP, card.id).text.contains("exit 0").then_some(());
    telegram.until("what became of it", ran).await;
    let edited = telegram.calls("editMessageText").pop().unwrap();
    assert_eq!(telegram.violations(), Vec::<String>::new());

    let steady = steady(&daemon, &id);
    let shown = |message: &serde_json::Value| chat(&steady.text(message["text"].as_str().unwrap()));
    let prompt = vec!["shop $".to_owned()];
    let picture = Picture {
        title: "A command waits, its card is approved in Telegram, and the command runs",
        typed: typed.to_owned(),
        scenes: [
            Scene {
                terminal: screen(&steady.text(&waits)),
                card: shown(&sent),
                buttons: card.buttons,
                pressed: Some("Approve"),
            },
            Scene {
                terminal: [screen(&steady.text(&done)), prompt].concat(),
                card: shown(&edited),
                ..Scene::default()
            },
        ],
    };
    matches("approval.svg", &picture.svg());
}

#[tokio::test]
async fn an_agent_is_connected_and_its_next_call_is_on_the_phone_as_it_is_drawn() {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&in_group(&telegram)).await;
    let home = daemon.dir.path().join("home");
    fs::create_dir_all(home.join(".claude")).unwrap();
    fs::write(home.join(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n").unwrap();
    let settings = home.join(".claude/settings.json");
    let words = ["connect", "claude-code", "--settings", settings.to_str().unwrap()];
    // Wide: the program's real path must not decide where a row ends.
    let mut terminal = Terminal::of(daemon.command(&words), 400);
    let asks = terminal.shows("[y/N]").await;
    terminal.types("y\r");
    assert_eq!(terminal.ends().await, Some(0));
    let last = format!("into {}/.claude/settings.json.", daemon.dir.path().display());
    let done = terminal.shows(&last).await;

    let file = "tests/golden/claude-code/01_hook_allow_once.json";
    let recorded = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&recorded).unwrap();
    let mut call = recorded["frames"][0]["data"].clone();
    call["cwd"] = "/home/ana/shop".into();
    call["tool_input"] = json!({"command": "git push origin main", "description": "Push the fix"});
    let hook = start(&daemon, &["hook", "claude-code"]).input(&call.to_string()).await;
    let card = telegram.card(GROUP).await;
    let sent = telegram.calls("sendMessage").pop().unwrap();
    telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(hook.ends().await.code, Some(0));
    assert_eq!(telegram.violations(), Vec::<String>::new());

    let steady = steady(&daemon, "k7m2q9xd");
    let picture = Picture {
        title: "An agent is connected, and its next call comes to a Telegram group",
        typed: "countersign connect claude-code".to_owned(),
        scenes: [
            Scene { terminal: folded(&end(&steady.text(&asks), 12)), ..Scene::default() },
            Scene {
                terminal: folded(&end(&steady.text(&done), 10)),
                card: chat(&steady.text(sent["text"].as_str().unwrap())),
                buttons: card.buttons,
                pressed: None,
            },
        ],
    };
    matches("connect.svg", &picture.svg());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_in_the_readme_is_the_page_of_the_program() {
    let daemon = Daemon::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&daemon.inbox).await;
    page.size(1280, 800).await;
    page.until("document.querySelector('#line').dataset.state === 'live'").await;
    let call = |agent: &str, folder: &str, tool: &str, args: serde_json::Value, reason: &str| {
        json!({"agent": agent, "session": "one", "cwd": format!("/home/ana/{folder}"),
            "host": "mill", "tool": tool, "args": args, "description": reason})
    };
    let edit = json!({"file_path": "/home/ana/api/src/retry.rs",
        "old_string": "const TRIES: usize = 3;\n", "new_string": "const TRIES: usize = 5;\n"});
    let calls = [
        call(
            "claude-code",
            "shop",
            "Bash",
            json!({"command": "npm run build && rm -rf dist"}),
            "The old bundle is in the way.",
        ),
        call(
            "claude-code",
            "shop",
            "Bash",
            json!({"command": "git push origin main"}),
            "Publish the fix",
        ),
        call("codex", "api", "Edit", edit, ""),
        call(
            "codex",
            "api",
            "Bash",
            json!({"command": "sudo rm -rf --no-preserve-root /"}),
            "Clean up",
        ),
    ];
    let mut first = String::new();
    for (at, call) in calls.iter().enumerate() {
        let id = daemon.ask(call).await;
        page.until(&format!("document.querySelectorAll('#open .item').length === {}", at + 1))
            .await;
        if at == 0 {
            first = id;
        }
    }
    page.until("!document.querySelector('.settling, [aria-busy=true]')").await;
    let read = page.eval(inbox::READ).await;
    let shown: inbox::Shown = serde_json::from_str(read.as_str().unwrap()).unwrap();
    let steady = steady(&daemon, &first);
    matches("inbox.svg", &shown.svg(|text| steady.text(text)));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The last rows of a screen.
fn end(screen: &str, rows: usize) -> String {
    let lines: Vec<&str> = screen.trim_end().lines().collect();
    let cut = lines.len().saturating_sub(rows);
    let begin = if cut > 0 { "…\n" } else { "" };
    begin.to_owned() + &lines[cut..].join("\n")
}

fn in_group(telegram: &Telegram) -> String {
    format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [approvers]\ntelegram = [{}]\n",
        telegram.url(),
        ANA.id
    )
}

fn steady(daemon: &Daemon, id: &str) -> Steady {
    let host = gethostname::gethostname().into_string().unwrap();
    Steady(vec![
        (id.to_owned(), "k7m2q9xd"),
        (daemon.url.clone(), "http://127.0.0.1:7117"),
        (daemon.dir.path().join("home").display().to_string(), "/home/ana"),
        (daemon.dir.path().display().to_string(), "/home/ana"),
        (env!("CARGO_BIN_EXE_countersign").to_owned(), "/usr/bin/countersign"),
        (host, "mill"),
    ])
}
