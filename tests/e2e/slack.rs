//! Slack, from the agent's call to the press and back.

use crate::{
    daemon::{Daemon, shell},
    slack_server::{CHANNEL, FakeSlack, Fault, Person, Posted, TEAM, Told},
};
use serde_json::{Value, json};

const ANA: &str = "U0000004211";

fn ana() -> Person {
    Person::new(ANA, "Ana")
}

/// The section; `[approvers]` comes last, so that more can be said of them.
fn section(slack: &FakeSlack) -> String {
    format!(
        "[slack]\ntoken = \"{}\"\napp_token = \"{}\"\napi_url = \"{}\"\n\
         targets = [{{ channel = \"{CHANNEL}\" }}]\n",
        slack.token(),
        slack.app_token(),
        slack.url()
    )
}

fn config(slack: &FakeSlack) -> String {
    format!(
        "{}[approvers]\nslack = [\"{TEAM}/{ANA}\"]\nslack_usergroups = [\"S0000000077\"]\n",
        section(slack)
    )
}

async fn start() -> (FakeSlack, Daemon) {
    let slack = FakeSlack::start().await;
    let daemon = Daemon::start(&config(&slack)).await;
    slack.until_online().await;
    (slack, daemon)
}

async fn card(slack: &FakeSlack) -> Posted {
    slack.until(|message| !message.is_over()).await
}

async fn closed(slack: &FakeSlack, reference: &str) -> Posted {
    slack.until(|message| message.reference == reference && message.is_over()).await
}

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
    assert_eq!(slack.violations(), Vec::<String>::new());
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
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn in_slack_a_stranger_a_guest_and_forged_data_change_nothing() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    let refusal = "You may not answer this: you are not on the list of approvers.";
    let same_id_elsewhere = ana().of_team("T0000000666");
    for stranger in [Person::new("U0000006666", "Ana"), same_id_elsewhere] {
        let told = slack.press(&card.reference, "Approve", &stranger).await;
        assert_eq!(told, Told::Privately(refusal.into()), "{stranger:?}");
    }
    daemon.says("somebody who is no approver tried to answer").await;
    let guest = Person::new("U0000006667", "Gus").guest().in_group("S0000000077");
    let told = slack.press(&card.reference, "Approve", &guest).await.words().unwrap();
    assert!(told.starts_with("Guests of this workspace cannot answer"), "{told}");
    let forged = "AAAAAAAAAAAAAAAAAAAAAA.0.a.0";
    let ben = Person::new("U0000006668", "Ben").in_group("S0000000077");
    let told = slack.press_token(&card.reference, forged, &ben).await;
    assert!(told.words().is_some(), "a forged button is answered");
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn a_member_of_a_named_user_group_answers_in_slack_and_a_second_press_is_too_late() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    let rik = Person::new("U0000000005", "Rik").in_group("S0000000077");
    let told = slack.press(&card.reference, "Deny", &rik).await;
    assert_eq!(told, Told::Privately("Denied.".into()));
    slack.redeliver(&rik).await;
    let again = slack.press_token(&card.reference, &card.tokens[0], &ana()).await;
    assert!(again.words().unwrap().starts_with("Already denied by Rik (slack)"));
    assert_eq!(daemon.read(&id).await["verdict"], "deny");
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_old_card_in_slack_still_answers_after_the_daemon_was_killed() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    daemon.says("a card stands adapter=\"slack\"").await;
    let before = slack.connected();
    daemon.kill().await;
    daemon.run().await;
    slack.until_connected(before + 1).await;
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    assert_eq!(daemon.read(&id).await["verdict"], "allow");
    closed(&slack, &card.reference).await;
    assert_eq!(slack.messages().len(), 1, "the card was not posted twice");
}

#[tokio::test]
async fn slacks_troubles_delay_a_card_and_never_lose_double_or_answer_it() {
    let limited = Fault::Limited { retry_after: 1 };
    for fault in [limited, Fault::Html(502), Fault::DropBefore, Fault::DropAfter, Fault::Garbage] {
        let (slack, daemon) = start().await;
        slack.fail("chat.postMessage", 1, fault);
        let waiting = daemon.waiting(shell("git push"));
        let card = card(&slack).await;
        slack.press(&card.reference, "Approve", &ana()).await;
        assert_eq!(waiting.await.unwrap()["verdict"], "allow");
        closed(&slack, &card.reference).await;
        assert_eq!(slack.messages().len(), 1, "one card, however the line broke");
    }
}

#[tokio::test]
async fn a_refreshed_and_a_dropped_connection_to_slack_take_presses() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin one"));
    let first = card(&slack).await;
    slack.refresh();
    slack.press(&first.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    slack.until_connected(2).await;
    let waiting = daemon.waiting(shell("git push origin two"));
    let second = slack.until(|it| !it.is_over() && it.text.contains("two")).await;
    slack.drop_sockets();
    slack.until_connected(3).await;
    slack.press(&second.reference, "Deny", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "deny");
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_refused_slack_token_is_said_by_name_and_the_inbox_goes_on() {
    let slack = FakeSlack::start().await;
    slack.refuse_token();
    let mut daemon = Daemon::start(&format!("{}inbox = true\n", config(&slack))).await;
    daemon.says("[slack] token").await;
    let id = daemon.ask(&shell("git push")).await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
}

#[tokio::test]
async fn a_slack_that_is_down_at_the_start_and_a_channel_that_comes_back_get_their_cards() {
    let slack = FakeSlack::start().await;
    slack.set_down(true);
    let daemon = Daemon::start(&config(&slack)).await;
    let waiting = daemon.waiting(shell("git push"));
    crate::core::loop_for_open(&daemon).await;
    slack.set_down(false);
    let first = card(&slack).await;
    slack.until_online().await;
    slack.press(&first.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    closed(&slack, &first.reference).await;

    slack.archive(CHANNEL, true);
    let waiting = daemon.waiting(shell("git push origin later"));
    let refused = || slack.calls().iter().any(|it| it == "chat.postMessage is_archived");
    while !refused() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    slack.archive(CHANNEL, false);
    let second = card(&slack).await;
    slack.press(&second.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn questions_are_answered_in_slack_by_buttons_and_by_a_window() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(json!({"agent": "claude-code", "session": "s",
        "tool": "AskUserQuestion", "args": {"questions": [
            {"question": "Which checks?", "multiSelect": true,
             "options": [{"label": "Lint"}, {"label": "Docs"}, {"label": "Tests"}]},
            {"question": "Which name?", "options": [{"label": "a"}, {"label": "b"}]}]}}));
    let card = card(&slack).await;
    slack.press(&card.reference, "Lint", &ana()).await;
    slack.until(|it| it.buttons.iter().any(|label| label.starts_with("✓ Lint"))).await;
    slack.press(&card.reference, "Tests", &ana()).await;
    slack.until(|it| it.buttons.iter().any(|label| label.starts_with("✓ Tests"))).await;
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
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_in_the_thread_of_a_card_in_slack_denies_it_with_those_words() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push"));
    let card = card(&slack).await;
    let words = "not on a Friday, use <staging> & wait";
    let told = slack.reply(&card.reference, words, &ana()).await;
    assert_eq!(told, Told::Privately("Denied; the agent reads your words.".into()));
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    assert!(answer["reason"].as_str().unwrap().contains(words), "{answer}");
    closed(&slack, &card.reference).await;
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
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_long_command_is_in_the_thread_whole_and_its_tail_is_on_the_card() {
    let (slack, daemon) = start().await;
    let command = format!("{}; rm -rf /tmp/the-tail", "echo x".repeat(2_000));
    daemon.ask(&shell(&command)).await;
    let card = slack.until(|it| it.files.iter().any(|(_, text)| *text == command)).await;
    assert!(card.text.contains("rm -rf /tmp/the-tail"), "{}", card.text);
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn the_slash_command_lists_answers_and_pauses_and_strangers_learn_nothing() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&slack).await;
    let ask = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    let said = slack.command("pending", &ana()).await.words().unwrap();
    assert!(said.contains("git push origin main"), "{said}");
    let eve = Person::new("U0000006666", "Eve");
    let stranger = slack.command("pending", &eve).await;
    assert!(!stranger.words().unwrap_or_default().contains("git push"), "nothing of the ask");
    let paused = slack.command("pause", &ana()).await.words().unwrap();
    assert!(paused.to_lowercase().contains("paused"), "{paused}");
    slack.press_token(&card.reference, &card.tokens[0], &ana()).await;
    assert_eq!(daemon.open().await.len(), 1, "while paused nothing is approved");
    slack.command("resume", &ana()).await;
    let said = slack.command(&format!("deny {ask} not now"), &ana()).await;
    assert!(said.words().is_some());
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    closed(&slack, &card.reference).await;
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn two_people_of_slack_have_to_approve_where_a_rule_says_so() {
    let slack = FakeSlack::start().await;
    let people = format!(
        "{}[[people]]\nname = \"Ana\"\nslack = \"{TEAM}/{ANA}\"\ngroups = [\"ops\"]\n\
         [[people]]\nname = \"Cleo\"\nslack = \"{TEAM}/U0000000088\"\n\
         [[groups]]\nname = \"ops\"\nslack_usergroups = [\"S0000000500\"]\n\
         [[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\ngroup = \"ops\"\n\
         approvals = 2\n",
        section(&slack)
    );
    // She is in the group by Slack's own list, which counts for half a minute once it is read.
    let cleo = Person::new("U0000000088", "Cleo").in_group("S0000000500");
    slack.add_person(&cleo);
    let daemon = Daemon::start(&people).await;
    slack.until_online().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = slack.until(|it| it.text.contains("0 of 2 approved (ops).")).await;
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Your vote counts: 1 of 2 approvals of ops.".into()));
    slack.until(|it| it.text.contains("1 of 2 approved (ops): Ana.")).await;
    slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(daemon.open().await.len(), 1, "she is one person");
    slack.press(&card.reference, "Approve", &cleo).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_flood_into_slack_shares_messages_and_hides_no_ask() {
    let (slack, daemon) = start().await;
    let mut ids = Vec::new();
    for nth in 0..30 {
        ids.push(daemon.ask(&shell(&format!("git push origin b{nth}"))).await);
    }
    let shared =
        slack.until(|it| it.buttons.iter().any(|it| it.starts_with("Approve these"))).await;
    assert!(slack.messages().len() < 20, "{} messages", slack.messages().len());
    assert!(shared.text.contains("requests"), "{}", shared.text);
    assert_eq!(daemon.open().await.len(), 30, "folding answers none");
    assert_eq!(slack.violations(), Vec::<String>::new());
}
