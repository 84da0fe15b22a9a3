//! Presses on the buttons of a card.

use super::{ana, card, closed, is_clean, pressed, start};
use crate::{daemon::shell, slack_server::Told};
use serde_json::json;

#[tokio::test]
async fn a_press_on_approve_in_slack_lets_the_agent_go_on_and_closes_the_card() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&slack).await;
    for part in ["🔔 git push origin main", "tester · shop on mill", "/home/ana/shop", "→ "] {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    assert_eq!(card.buttons, ["Approve", "Always: git push origin main", "Deny"]);
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    let answer = waiting.await.unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["reason"]),
        (&json!("allow"), &json!("approved by Ana (slack)"))
    );
    let after = closed(&slack, &card.reference).await;
    let first = after.text.lines().next().unwrap();
    assert!(first.starts_with("✅ git push origin main · Ana, "), "one line says it: {first}");
    is_clean(&slack);
}

#[tokio::test]
async fn deny_always_and_undo_do_in_slack_what_they_say() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin other"));
    let first = card(&slack).await;
    let told = slack.press(&first.reference, "Deny", &ana()).await;
    assert_eq!(told, Told::Privately("Denied.".into()));
    assert_eq!(waiting.await.unwrap()["verdict"], "deny");
    closed(&slack, &first.reference).await;

    let waiting = daemon.waiting(shell("git push origin main"));
    let second = card(&slack).await;
    let told = slack.press(&second.reference, "Always", &ana()).await.words().unwrap();
    assert!(told.starts_with("Approved, and always from now on:"), "{told}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    let undo = slack.until(|message| message.buttons == ["Undo"]).await;
    let told = slack.press(&undo.reference, "Undo", &ana()).await.words().unwrap();
    assert!(told.starts_with("Undone"), "{told}");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "ask");
    is_clean(&slack);
}

#[tokio::test]
async fn a_critical_call_takes_two_presses_in_slack() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("sudo rm -rf --no-preserve-root /"));
    let card = card(&slack).await;
    assert!(card.text.starts_with("🛑 CRITICAL sudo rm -rf"), "{}", card.text);
    assert_eq!(card.buttons, ["Deny", "Deny with reason…", "Review and approve…"]);
    let old = card.tokens[0].replace(".0.d.", ".0.a.");
    let told = slack.press_token(&card.reference, &old, &ana()).await.words().unwrap();
    assert!(told.starts_with("This is critical, so one press does not approve it."), "{told}");
    assert_eq!(daemon.open().await.len(), 1, "one press approved nothing");
    slack.until(|message| message.buttons.iter().any(|it| it.starts_with("Yes, "))).await;
    slack.press(&card.reference, "Yes, delete /", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    is_clean(&slack);
}

#[tokio::test]
async fn a_reason_that_slacks_window_asked_for_denies_with_those_words() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push"));
    let card = card(&slack).await;
    let asked = slack.press(&card.reference, "Deny with reason…", &ana()).await;
    assert!(matches!(asked, Told::Asked(_)), "{asked:?}");
    let words = "not on a Friday, use <staging> & *wait*";
    let told = slack.give_text(&card.reference, words, &ana()).await;
    assert_eq!(told, Told::Privately("Denied; the agent reads your words.".into()));
    let answer = waiting.await.unwrap();
    let reason = format!("denied by Ana (slack): {words}");
    assert_eq!((&answer["verdict"], &answer["reason"]), (&json!("deny"), &json!(reason)));
    let after = closed(&slack, &card.reference).await;
    assert!(after.text.contains(words), "{}", after.text);
    is_clean(&slack);
}

#[tokio::test]
async fn the_window_of_an_ask_that_was_answered_meanwhile_changes_nothing() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    slack.press(&card.reference, "Deny with reason…", &ana()).await;
    pressed(&slack, &card, "Approve", "Approved once.").await;
    let told = slack.give_text(&card.reference, "too late", &ana()).await.words().unwrap();
    assert!(told.starts_with("Already approved by Ana (slack)"), "{told}");
    assert_eq!(daemon.read(&id).await["verdict"], "allow");
    is_clean(&slack);
}

#[tokio::test]
async fn a_double_press_and_one_that_comes_too_late_are_told_the_truth_in_slack() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let first = card(&slack).await;
    let ana = ana();
    let approve = slack.press(&first.reference, "Approve", &ana);
    let deny = slack.press_token(&first.reference, &first.tokens[2], &ana);
    let (approved, denied) = tokio::join!(approve, deny);
    let told = [approved.words().unwrap(), denied.words().unwrap()];
    let truths = told.iter().filter(|it| it.starts_with("Already ")).count();
    assert_eq!(truths, 1, "one of two presses counts: {told:?}");
    let verdict = daemon.read(&id).await["verdict"].clone();
    let counted = if told[0] == "Approved once." { "allow" } else { "deny" };
    assert_eq!(verdict, counted, "{told:?}");
    closed(&slack, &first.reference).await;

    let id = daemon.ask(&shell("git push origin late")).await;
    let second = slack.until(|it| it.text.contains("origin late")).await;
    daemon.says(&format!("a card stands adapter=\"slack\" ask_id={id}")).await;
    daemon.deadline_passes(&id).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
    let after = closed(&slack, &second.reference).await;
    assert!(after.text.contains("Timed out after"), "{}", after.text);
    let told = slack.press_token(&second.reference, &second.tokens[0], &ana).await;
    assert!(told.words().unwrap().starts_with("Too late: nobody answered"));
    is_clean(&slack);
}

#[tokio::test]
async fn what_is_behind_more_in_slack_says_what_it_covers_and_does_it() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&slack).await;
    let labels: Vec<_> = card.options.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "10 min: this command",
            "Session: this command",
            "24 h: this command",
            "Deny with reason…",
            "Approve with a note…",
            "Edit…"
        ]
    );
    let told = slack.press(&card.reference, "10 min", &ana()).await.words().unwrap();
    assert!(told.starts_with("Approved"), "{told}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    is_clean(&slack);
}
