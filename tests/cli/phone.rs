//! `connect` for a phone, as a person sees it in a terminal.

use crate::{
    daemon::{Daemon, LONG},
    telegram_server::{ANA, TOKEN, Telegram},
    terminal::Terminal,
};
use std::fs;
use tokio::time::timeout;

const PROMPT: &str = "Paste the token here (it is not shown): ";

fn connect(daemon: &Daemon, telegram: &Telegram) -> Terminal {
    let url = format!("api_url={}", telegram.url());
    Terminal::start(daemon, &["connect", "telegram", "--set", &url, "--no-test"], 100)
}

#[tokio::test]
async fn a_token_is_typed_unseen_a_qr_code_is_shown_and_a_yes_adds_the_person() {
    let (telegram, daemon) = (Telegram::start().await, Daemon::start("").await);
    let mut terminal = connect(&daemon, &telegram);
    terminal.until(PROMPT).await;
    terminal.types("1:wrong\r");
    let refused = "does not accept `[telegram] token`";
    terminal.until(refused).await;
    assert!(!terminal.text.contains("wrong"), "{}", terminal.text);
    // The second prompt may have come with the refusal.
    terminal.text = terminal.text.split_once(refused).unwrap().1.to_owned();
    terminal.until(PROMPT).await;
    terminal.types(&format!("{TOKEN}x\u{7f}\r"));
    terminal.until("The token is @countersign_test_bot's.\r\n").await;
    assert!(!terminal.text.contains(TOKEN), "{}", terminal.text);
    terminal.until("Waiting; Ctrl-C stops.").await;
    assert!(terminal.text.contains("\u{1b}[30;107m"), "a QR code in black on white");
    let (_, link) = terminal.text.split_once("?start=").unwrap();
    let code = link.split_whitespace().next().unwrap().to_owned();
    telegram.say(ANA.id, &format!("/start {code}"), ANA);
    terminal.until("stop answering. Keep them? [y/N] ").await;
    terminal.types("n\n");
    terminal.until("Let Ana approve and deny requests in this chat? [y/N] ").await;
    let before = fs::read_to_string(daemon.config()).unwrap();
    assert!(!ANA.is_named_in(&before), "nothing is granted before the yes");
    terminal.types("y\n");
    terminal.until("Ana may answer now.").await;
    assert_eq!(terminal.ends().await, Some(0));
    let after = fs::read_to_string(daemon.config()).unwrap();
    assert!(after.contains(&format!("[approvers]\ntelegram = [{}]", ANA.id)), "{after}");
    assert!(ANA.is_named_in(&after), "{after}");
}

#[tokio::test]
async fn ctrl_c_at_the_token_gives_the_terminal_back_and_leaves_the_config_alone() {
    let (telegram, daemon) = (Telegram::start().await, Daemon::start("").await);
    let before = fs::read_to_string(daemon.config()).unwrap();
    let mut terminal = connect(&daemon, &telegram);
    terminal.until(PROMPT).await;
    assert!(!terminal.echoes());
    terminal.types("7000:half\u{3}");
    terminal.until("Stopped. The config is as it was.").await;
    assert_eq!(terminal.ends().await, Some(130));
    assert_eq!(fs::read_to_string(daemon.config()).unwrap(), before);
    assert!(terminal.echoes(), "what is typed is shown again");
}

#[tokio::test]
async fn no_at_the_terminal_adds_nobody_and_ctrl_c_while_it_waits_leaves_a_config_that_works() {
    let (telegram, daemon) = (Telegram::start().await, Daemon::start("").await);
    let mut terminal = connect(&daemon, &telegram);
    terminal.until(PROMPT).await;
    terminal.types(&format!("{TOKEN}\r"));
    terminal.until("Waiting; Ctrl-C stops.").await;
    terminal.child.start_kill().unwrap();
    timeout(LONG, terminal.child.wait()).await.unwrap().unwrap();
    // The token that is there is kept and not asked for.
    let mut terminal = connect(&daemon, &telegram);
    terminal.until("Waiting; Ctrl-C stops.").await;
    let (_, link) = terminal.text.split_once("?start=").unwrap();
    let code = link.split_whitespace().next().unwrap().to_owned();
    telegram.say(ANA.id, &format!("/start {code}"), ANA);
    terminal.until("Keep them? [y/N] ").await;
    terminal.types("y\n");
    terminal.until("in this chat? [y/N] ").await;
    terminal.types("n\n");
    terminal.until("Nobody was added.").await;
    assert_eq!(terminal.ends().await, Some(0));
    let config = fs::read_to_string(daemon.config()).unwrap();
    assert!(!ANA.is_named_in(&config) && config.contains(TOKEN), "{config}");
    assert!(!config.contains("\ninbox = true"), "nothing is kept where nobody is added: {config}");
}
