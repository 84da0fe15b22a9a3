//! Questions of an agent.

use super::{ana, card, closed, is_clean, noted_card, start};
use crate::slack_server::{Person, Told};
use serde_json::{Value, json};

#[tokio::test]
async fn questions_are_answered_in_slack_by_buttons_and_by_a_window() {
    let (slack, mut daemon) = start().await;
    let waiting = daemon.waiting(json!({"agent": "claude-code", "session": "s",
        "tool": "AskUserQuestion", "args": {"questions": [
            {"question": "Which checks?", "multiSelect": true,
             "options": [{"label": "Lint"}, {"label": "Docs"}, {"label": "Tests"}]},
            {"question": "Which name?", "options": [{"label": "a"}, {"label": "b"}]}]}}));
    // Noted: a press before that may have the card drawn once more.
    let card = noted_card(&slack, &mut daemon).await;
    let boxes = ["Lint", "Docs", "Tests"].map(|label| (label.to_owned(), false));
    assert_eq!((card.boxes, card.buttons.len()), (boxes.to_vec(), 3));
    let edits = || slack.message(&card.reference).unwrap().edits;
    let before = edits();
    for label in ["Tests", "Docs", "Tests", "Docs"] {
        slack.tick(&card.reference, label, &ana()).await;
    }
    assert_eq!(edits(), before, "ticks take no edits");
    // A press may have the card drawn once more, so nothing is counted behind it.
    let told = slack.press(&card.reference, "Submit", &ana()).await.words().unwrap();
    assert!(told.starts_with("Nothing is chosen yet"), "{told}");
    for label in ["Tests", "Lint"] {
        slack.tick(&card.reference, label, &ana()).await;
    }
    slack.press(&card.reference, "Submit", &ana()).await;
    slack.until(|message| message.text.contains("Which name?")).await;
    let asked = slack.press(&card.reference, "Other…", &ana()).await;
    assert!(matches!(asked, Told::Asked(_)), "{asked:?}");
    slack.give_text(&card.reference, "countersign", &ana()).await;
    let answer: Value = waiting.await.unwrap();
    assert_eq!(
        answer["answer"]["answers"],
        json!({"Which checks?": ["Lint", "Tests"], "Which name?": "countersign"})
    );
    closed(&slack, &card.reference).await;
    is_clean(&slack);
}

#[tokio::test]
async fn one_press_answers_a_question_with_one_choice_and_a_thread_reply_says_anything_else() {
    let (slack, mut daemon) = start().await;
    let question = |name: &str| {
        json!({"agent": "tester", "session": name, "tool": "ask_user", "questions":
            [{"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "DuckDB"}]}]})
    };
    let waiting = daemon.waiting(question("one"));
    let first = card(&slack).await;
    assert_eq!(first.buttons, ["SQLite", "DuckDB", "Other…", "Decline"]);
    slack.press(&first.reference, "DuckDB", &ana()).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["answer"]["answers"], json!({"Which database?": "DuckDB"}));
    closed(&slack, &first.reference).await;

    let waiting = daemon.waiting(question("two"));
    let second = noted_card(&slack, &mut daemon).await;
    slack.reply(&second.reference, "neither, use <files> & *folders*", &ana()).await;
    let answer = waiting.await.unwrap();
    let words = "neither, use <files> & *folders*";
    assert_eq!(answer["answer"]["answers"], json!({"Which database?": words}));
    closed(&slack, &second.reference).await;
    is_clean(&slack);
}

#[tokio::test]
async fn each_person_in_slack_submits_their_own_ticks_and_a_strangers_count_for_nothing() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(json!({"agent": "tester", "session": "s", "tool": "ask_user",
        "questions": [{"question": "Which checks?", "multiSelect": true,
            "options": [{"label": "Lint"}, {"label": "Docs"}]}]}));
    let card = card(&slack).await;
    let eve = Person::new("U0000006666", "Eve");
    slack.tick(&card.reference, "Docs", &eve).await;
    let told = slack.press(&card.reference, "Submit", &eve).await.words().unwrap();
    assert!(told.starts_with("You may not answer this"), "{told}");
    slack.tick(&card.reference, "Lint", &ana()).await;
    slack.press(&card.reference, "Submit", &ana()).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["answer"]["answers"], json!({"Which checks?": ["Lint"]}));
    closed(&slack, &card.reference).await;
    is_clean(&slack);
}
