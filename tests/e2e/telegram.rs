//! Telegram, from the agent's call to the press and back.

use crate::{
    daemon::{Daemon, shell},
    telegram_server::{ANA, EVE, Fault, GROUP, Message, TOKEN, Telegram},
};
use serde_json::{Value, json};

fn config(telegram: &Telegram) -> String {
    format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [approvers]\ntelegram = [{}]\n",
        telegram.url(),
        ANA.id
    )
}

async fn start() -> (Telegram, Daemon) {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&config(&telegram)).await;
    (telegram, daemon)
}

/// The card that can be pressed, once it stands.
async fn card(telegram: &Telegram) -> Message {
    telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await
}

/// The message once it has lost its buttons.
async fn closed(telegram: &Telegram, id: i64) -> Message {
    let done = || Some(telegram.message(GROUP, id)).filter(|message| message.is_over());
    telegram.until("a closed card", done).await
}

#[tokio::test]
async fn a_press_on_approve_lets_the_agent_go_on_and_closes_the_card() {
    let (telegram, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&telegram).await;
    for part in ["git push origin main", "tester · shop on mill", "/home/ana/shop", "→ "] {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    assert_eq!(card.buttons[0], ["Approve", "Always: git push origin main", "Deny"]);
    assert_eq!(card.buttons[1], ["More…"]);
    let told = telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(told.text, "Approved once.");
    let answer = waiting.await.unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["reason"]),
        (&json!("allow"), &json!("approved by Ana (telegram)"))
    );
    let after = closed(&telegram, card.id).await;
    assert!(after.text.contains("git push origin main"), "the text is kept");
    let first = after.text.lines().next().unwrap();
    assert!(first.starts_with("✅ git push origin main · Ana, "), "one line says it: {first}");
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_press_on_deny_stops_the_agent_and_names_who_said_no() {
    let (telegram, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&telegram).await;
    assert_eq!(telegram.press(GROUP, card.id, "Deny", ANA).await.text, "Denied.");
    let answer = waiting.await.unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["reason"]),
        (&json!("deny"), &json!("denied by Ana (telegram)"))
    );
    assert!(closed(&telegram, card.id).await.text.contains("denied by Ana, "));
}

#[tokio::test]
async fn always_stores_what_the_card_said_and_the_next_call_does_not_ask() {
    let (telegram, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&telegram).await;
    let told = telegram.press(GROUP, card.id, "Always", ANA).await;
    assert!(told.text.starts_with("Approved, and always from now on:"), "{}", told.text);
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    closed(&telegram, card.id).await;
    assert_eq!(telegram.open_cards(GROUP), vec![], "nothing rings the phone again");
    assert_eq!(daemon.call(&shell("git push origin next")).await.1["verdict"], "ask");
}

#[tokio::test]
async fn nobody_pressing_ends_the_card_as_expired_and_a_late_press_is_told_so() {
    let (telegram, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&telegram).await;
    let approve = telegram.button(GROUP, card.id, "Approve");
    daemon.says(&format!("a card stands adapter=\"telegram\" ask_id={id}")).await;
    daemon.deadline_passes(&id).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
    let after = closed(&telegram, card.id).await;
    assert!(after.text.contains("Timed out after"), "{}", after.text);
    let query = telegram.press_data(GROUP, card.id, &approve, ANA);
    let told = telegram.told(&query).await;
    assert!(told.text.starts_with("Too late: nobody answered"), "{}", told.text);
}

#[tokio::test]
async fn a_strangers_press_changes_nothing_is_told_privately_and_is_logged() {
    let (telegram, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&telegram).await;
    let told = telegram.press(GROUP, card.id, "Approve", EVE).await;
    assert_eq!(
        (told.text.as_str(), told.alert),
        ("You may not answer this: you are not on the list of approvers.", true)
    );
    assert_eq!(daemon.read(&id).await["state"], "open");
    daemon.says("somebody who is not an approver tried to answer").await;
    assert!(daemon.said().contains("6666"), "the log names the presser's id");
    assert_eq!(telegram.press(GROUP, card.id, "Deny", ANA).await.text, "Denied.");
}

#[tokio::test]
async fn a_double_press_is_answered_truthfully() {
    let (telegram, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&telegram).await;
    let deny = telegram.button(GROUP, card.id, "Deny");
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    let told = telegram.told(&telegram.press_data(GROUP, card.id, &deny, ANA)).await;
    assert!(told.text.starts_with("Already approved by Ana (telegram)"), "{}", told.text);
    assert_eq!(daemon.read(&id).await["verdict"], "allow");
}

#[tokio::test]
async fn forged_data_is_refused_and_changes_nothing() {
    let (telegram, mut daemon) = start().await;
    let first = daemon.ask(&shell("git push origin one")).await;
    let one = card(&telegram).await;
    let second = daemon.ask(&shell("git push origin two")).await;
    let both =
        telegram.until("two cards", || Some(telegram.open_cards(GROUP)).filter(|c| c.len() == 2));
    let two = both.await.into_iter().find(|card| card.id != one.id).unwrap();
    for id in [&first, &second] {
        daemon.says(&format!("a card stands adapter=\"telegram\" ask_id={id}")).await;
    }
    let approve = telegram.button(GROUP, one.id, "Approve");
    for (message, data) in [
        (one.id, "approve".to_owned()),
        (one.id, format!("AAAAAAAAAAAAAAAAAAAAAA{}", &approve[22..])),
        (one.id, approve.replace(".a", ".0")),
        (two.id, approve.clone()),
    ] {
        let told = telegram.told(&telegram.press_data(GROUP, message, &data, ANA)).await;
        assert_eq!(told.text, "This button no longer belongs to anything pending.", "{data}");
    }
    for id in [first, second] {
        assert_eq!(daemon.read(&id).await["state"], "open");
    }
    daemon.says("a press that belongs to no card").await;
}

#[tokio::test]
async fn an_old_card_still_answers_after_the_daemon_was_killed() {
    let (telegram, mut daemon) = start().await;
    let mut call = shell("git push");
    call["key"] = json!("k");
    let id = daemon.ask(&call).await;
    let card = card(&telegram).await;
    daemon.says("a card stands adapter=\"telegram\"").await;
    daemon.kill().await;
    let query = telegram.press_only(GROUP, card.id, "Approve", ANA);
    daemon.run().await;
    assert_eq!(telegram.told(&query).await.text, "Approved once.");
    assert_eq!(daemon.read(&id).await["verdict"], "allow");
    assert_eq!(daemon.call(&call).await.1["verdict"], "allow", "the agent re-attaches");
    closed(&telegram, card.id).await;
    assert_eq!(telegram.messages(GROUP).len(), 1, "the card was not posted twice");
}

#[tokio::test]
async fn a_card_whose_ask_ended_while_the_daemon_was_down_tells_the_truth_after_the_start() {
    let (telegram, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&telegram).await;
    daemon.says("a card stands adapter=\"telegram\"").await;
    daemon.kill().await;
    daemon.deadline_passes(&id).await;
    daemon.run().await;
    assert!(closed(&telegram, card.id).await.text.contains("Timed out after"));
}

#[tokio::test]
async fn platform_troubles_delay_a_card_and_never_lose_or_answer_it() {
    for fault in [Fault::RetryAfter(1), Fault::BadGateway, Fault::DropBefore, Fault::Garbled] {
        let (telegram, daemon) = start().await;
        telegram.fail("sendMessage", fault.clone(), 1);
        let waiting = daemon.waiting(shell("git push"));
        let card = card(&telegram).await;
        telegram.fail("editMessageText", fault.clone(), 1);
        telegram.fail("answerCallbackQuery", fault, 1);
        let query = telegram.press_only(GROUP, card.id, "Approve", ANA);
        assert_eq!(waiting.await.unwrap()["verdict"], "allow");
        closed(&telegram, card.id).await;
        drop(query);
    }
}

#[tokio::test]
async fn a_send_whose_answer_was_lost_leaves_no_card_that_lies() {
    let (telegram, daemon) = start().await;
    telegram.fail("sendMessage", Fault::DropAfter, 1);
    let waiting = daemon.waiting(shell("git push"));
    let both = telegram
        .until("both copies", || Some(telegram.open_cards(GROUP)).filter(|cards| cards.len() == 2));
    let copies = both.await;
    // The copy that nobody could confirm answers as well as the other.
    let oldest = copies.iter().map(|card| card.id).min().unwrap();
    assert_eq!(telegram.press(GROUP, oldest, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    for copy in copies {
        closed(&telegram, copy.id).await;
    }
}

#[tokio::test]
async fn a_platform_that_is_down_at_the_start_gets_its_cards_when_it_is_back() {
    let telegram = Telegram::start().await;
    telegram.set_down(true);
    let daemon = Daemon::start(&config(&telegram)).await;
    let waiting = daemon.waiting(shell("git push"));
    let id = crate::core::loop_for_open(&daemon).await;
    assert_eq!(daemon.read(&id).await["state"], "open");
    telegram.set_down(false);
    let card = card(&telegram).await;
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_refused_token_is_said_by_name_and_the_inbox_goes_on() {
    let telegram = Telegram::start().await;
    telegram.refuse_token();
    let mut daemon = Daemon::start(&format!("{}inbox = true\n", config(&telegram))).await;
    daemon.says("[telegram] token").await;
    let id = daemon.ask(&shell("git push")).await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
}

#[tokio::test]
async fn a_second_program_on_the_same_bot_is_said_and_presses_still_arrive_once() {
    let (telegram, daemon) = start().await;
    let mut other = Daemon::start(&config(&telegram)).await;
    other.says("polls").await;
    assert!(other.stop().await);
    let waiting = daemon.waiting(shell("git push"));
    let card = card(&telegram).await;
    telegram.press_only(GROUP, card.id, "Approve", ANA);
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_chat_that_is_gone_is_said_and_the_ask_is_denied_with_that_reason() {
    let (telegram, mut daemon) = start().await;
    telegram.lose_chat(GROUP, 403, "Forbidden: bot was kicked from the supergroup chat");
    let id = daemon.ask(&shell("git push")).await;
    daemon.says("a card cannot be delivered for now").await;
    daemon.deadline_passes(&id).await;
    let ask = daemon.closed(&id).await;
    assert_eq!(ask["answer"]["by"], json!({"kind": "no_approver"}));
    let reason = ask["reason"].as_str().unwrap();
    assert!(
        reason.contains("No approver was reachable") && reason.contains("telegram"),
        "{reason}"
    );
}

#[tokio::test]
async fn questions_are_answered_by_buttons_and_by_a_reply_and_never_by_chatter() {
    let (telegram, daemon) = start().await;
    let waiting = daemon.waiting(json!({"agent": "claude-code", "session": "s",
        "tool": "AskUserQuestion", "args": {"questions": [
            {"question": "Which store?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]},
            {"question": "Which checks?", "multiSelect": true,
             "options": [{"label": "Lint"}, {"label": "Docs"}, {"label": "Tests"}]},
            {"question": "Which name?", "options": [{"label": "a"}, {"label": "b"}]}]}}));
    let first = card(&telegram).await;
    let asks = async |words: &str| {
        let look = || Some(telegram.message(GROUP, first.id)).filter(|c| c.text.contains(words));
        telegram.until(words, look).await
    };
    telegram.say(GROUP, "SQLite", ANA);
    telegram.press_only(GROUP, first.id, "Postgres", ANA);
    asks("Which checks?").await;
    for label in ["Lint", "Docs"] {
        telegram.press_only(GROUP, first.id, label, ANA);
        let wait = || {
            let card = telegram.message(GROUP, first.id);
            let chosen = card.buttons.iter().flatten().find(|b| b.contains(label) && *b != label);
            chosen.cloned()
        };
        telegram.until("the choice to be marked", wait).await;
    }
    telegram.press_only(GROUP, first.id, "Submit", ANA);
    asks("Which name?").await;
    telegram.press_only(GROUP, first.id, "Other…", ANA);
    let prompt = telegram.until("a prompt", || telegram.prompt(GROUP)).await;
    telegram.say(GROUP, "just chatting", ANA);
    telegram.reply(GROUP, prompt.id, "the stranger's name", EVE);
    telegram.reply(GROUP, prompt.id, "countersign", ANA);
    let answer: Value = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "answered", "{answer}");
    assert_eq!(
        answer["answer"]["answers"],
        json!({"Which store?": "Postgres", "Which checks?": ["Lint", "Docs"], "Which name?": "countersign"})
    );
    closed(&telegram, first.id).await;
}

#[tokio::test]
async fn a_long_command_is_attached_whole_and_its_tail_is_shown() {
    let (telegram, daemon) = start().await;
    let command = format!("{}; rm -rf /tmp/the-tail", "echo x".repeat(2_000));
    daemon.ask(&shell(&command)).await;
    let card = card(&telegram).await;
    assert!(card.text.contains("rm -rf /tmp/the-tail"), "{}", card.text);
    let files = telegram.messages(GROUP).into_iter().filter_map(|message| message.file);
    assert!(files.map(|(_, content)| content).any(|content| content == command));
}
