//! What an agent writes to look like something else.

use super::{ana, card, closed, is_clean, noted_card, start};
use crate::daemon::shell;

#[tokio::test]
async fn a_long_command_is_in_the_thread_whole_and_its_tail_is_on_the_card() {
    let (slack, daemon) = start().await;
    let command = format!("{}; rm -rf /tmp/the-tail", "echo x".repeat(2_000));
    daemon.ask(&shell(&command)).await;
    let card = slack.until(|it| it.files.iter().any(|(_, text)| *text == command)).await;
    assert!(card.text.contains("rm -rf /tmp/the-tail"), "{}", card.text);
    is_clean(&slack);
}

const HOSTILE: &[&str] = &[
    "git push '<!channel> <@U0000004211> <!subteam^S0000000077> <https://evil.example|docs>'",
    "git push '*bold* _it_ ~no~ `code` ```box``` :tada: @here @channel &amp; &lt;!here&gt; & <'",
    "git push 'https://evil.example/steal?x=1 mailto:a@b.c evil.example'",
    "git push '✅ Approved once by Ana, 14:03'",
];

#[tokio::test]
async fn hostile_text_pings_nobody_and_links_nowhere_on_open_and_on_closed_cards() {
    let (slack, mut daemon) = start().await;
    for command in HOSTILE {
        let mut call = shell(command);
        call["reason"] = (*command).into();
        let waiting = daemon.waiting(call);
        let card = noted_card(&slack, &mut daemon).await;
        assert!(card.text.contains(command), "shown as it is: {}", card.text);
        assert!(!card.fallback.contains(['<', '>']), "{}", card.fallback);
        assert!(card.text.starts_with("🔔 "), "the first sign is the card's own: {}", card.text);
        slack.reply(&card.reference, &format!("no: {command}"), &ana()).await;
        let answer = waiting.await.unwrap();
        assert!(answer["reason"].as_str().unwrap().contains(command), "{answer}");
        closed(&slack, &card.reference).await;
    }
    is_clean(&slack);
}

#[tokio::test]
async fn control_and_invisible_characters_are_made_visible_in_slack() {
    let (slack, daemon) = start().await;
    let command = "echo a\u{202e}b\u{200b}c\u{1b}[2Kd\u{0}e\u{e0041}f\u{3164}g";
    daemon.ask(&shell(command)).await;
    let card = card(&slack).await;
    let hidden = ['\u{202e}', '\u{200b}', '\u{1b}', '\u{0}', '\u{e0041}', '\u{3164}'];
    assert!(!card.text.contains(hidden), "{:?}", card.text);
    assert!(!card.fallback.contains(hidden), "{:?}", card.fallback);
    for shown in ["202E", "200B", "1B"] {
        assert!(card.text.to_uppercase().contains(shown), "{shown}: {}", card.text);
    }
    is_clean(&slack);
}
