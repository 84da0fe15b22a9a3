//! The pictures of the documentation, drawn from what the program really shows.
//!
//! `COUNTERSIGN_DRAW=1 cargo test --workspace --test cli pictures` draws them anew.

#[path = "pictures/drawing.rs"]
mod drawing;

use crate::{
    daemon::Daemon,
    telegram_server::{ANA, GROUP, TOKEN, Telegram},
    terminal::Terminal,
};
use drawing::{Scenes, chat, screen};
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
    let config = format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [approvers]\ntelegram = [{}]\n",
        telegram.url(),
        ANA.id
    );
    let daemon = Daemon::start(&config).await;
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

    let host = gethostname::gethostname().into_string().unwrap();
    let steady = Steady(vec![
        (id, "k7m2q9xd"),
        (daemon.url.clone(), "http://127.0.0.1:7117"),
        (daemon.dir.path().display().to_string(), "/home/ana"),
        (host, "mill"),
    ]);
    let shown = |message: &serde_json::Value| chat(&steady.text(message["text"].as_str().unwrap()));
    let scenes = Scenes {
        typed: typed.to_owned(),
        waits: screen(&steady.text(&waits)),
        done: [screen(&steady.text(&done)), vec!["shop $".to_owned()]].concat(),
        card: shown(&sent),
        buttons: card.buttons,
        closed: shown(&edited),
    };
    matches("approval.svg", &scenes.svg());
}
