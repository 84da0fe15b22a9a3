//! What people see and press: batches, the ways to say no, questions.

use super::*;

#[tokio::test]
async fn a_batch_shows_what_waits_and_session_and_skip_go_on_with_it() {
    let (telegram, _daemon, mut wire) = telegram().await;
    let running = tokio::spawn(async move { batch(&mut wire, &install()).await });

    let first = card(&telegram).await;
    for part in [
        "npm install",
        "Install packages",
        "shop-bot",
        "/home/ana/shop",
        "2 more wait behind this one",
        "write: config.json",
        "bash: npm run deploy",
        "Session stores: bash: every call, until the session ends",
    ] {
        assert!(first.text.contains(part), "the card says `{part}`: {}", first.text);
    }
    let rows = [vec!["Approve", "Deny and stop"], vec!["More…"]];
    assert_eq!(first.buttons, rows);
    telegram.press(GROUP, first.id, "Session", ANA).await;
    closed(&telegram, first.id).await;

    let second = card(&telegram).await;
    assert!(second.text.contains("config.json"), "{}", second.text);
    assert!(second.text.contains("1 more waits behind this one"), "{}", second.text);
    telegram.press(GROUP, second.id, "Skip", ANA).await;

    // The plugin asks on, and what the session was granted is answered without a card.
    let (asked, feedback) = (ids(&["c1", "c2", "c3"]), vec![String::new()]);
    let wanted = Ran { ran: ids(&["c1", "c3"]), asked, feedback, goes_on: true };
    assert_eq!(running.await.unwrap(), wanted);
    assert!(closed(&telegram, second.id).await.text.contains("denied by Ana, "));
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn deny_and_stop_ends_the_batch_and_explain_asks_for_plain_words() {
    let (discord, daemon, mut wire) = discord().await;
    let running = tokio::spawn(async move { (batch(&mut wire, &install()).await, wire) });
    let first = posted(&discord, "npm install").await;
    assert!(first.text.contains("2 more wait behind this one"), "{}", first.text);
    assert_eq!(first.buttons, ["Approve", "Deny and stop"]);
    let more: Vec<&str> = first.options.iter().map(|(label, _)| label.as_str()).collect();
    let offered = [
        "Session: bash",
        "Deny with reason…",
        "Skip",
        "Deny and explain",
        "Approve with a note…",
        "Edit…",
    ];
    assert_eq!(more, offered);
    discord.press(&first.reference, "Deny and stop", &ana()).await;
    let (ran, mut wire) = running.await.unwrap();
    assert_eq!((ran.ran, ran.asked, ran.goes_on), (vec![], ids(&["c1"]), false));
    assert_eq!(daemon.open().await, Vec::<Value>::new(), "nobody is asked about the rest");

    wire.send(&wanted(&call("c4", "bash", json!({ "command": "npm ci" })), &[])).await;
    let second = posted(&discord, "npm ci").await;
    discord.press(&second.reference, "Deny and explain", &ana()).await;
    let answer = wire.next().await;
    let said = (&answer["approved"], &answer["mode"], &answer["by"]);
    assert_eq!(said, (&json!(false), &json!("reject_explain"), &json!("Ana (discord)")));
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("User wants explanation for tool 'bash'."), "{message}");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_question_with_several_choices_comes_back_as_a_list() {
    let (telegram, _daemon, mut wire) = telegram().await;
    wire.send(&json!({
        "type": "ask_user", "id": "q1", "question": "Which cities?",
        "options": ["Sydney", "Tokyo", "Lima"], "multi_select": true,
    }))
    .await;
    let shown = card(&telegram).await;
    assert!(shown.text.contains("Which cities?"), "{}", shown.text);
    for city in ["Sydney", "Lima"] {
        telegram.press(GROUP, shown.id, city, ANA).await;
    }
    telegram.press(GROUP, shown.id, "Submit", ANA).await;
    let answer = wire.next().await;
    assert_eq!(
        (&answer["type"], &answer["answer"]),
        (&json!("ASK_USER_RESPONSE"), &json!(["Sydney", "Lima"]))
    );
}

#[tokio::test]
async fn a_question_in_discord_takes_one_choice_and_declining_is_not_consent() {
    let (discord, _daemon, mut wire) = discord().await;
    let question = |id: &str| {
        json!({ "type": "ask_user", "id": id, "question": "Which city?",
                "options": ["Sydney", "Tokyo"], "multi_select": false })
    };
    wire.send(&question("q1")).await;
    let shown = posted(&discord, "Which city?").await;
    discord.press(&shown.reference, "Tokyo", &ana()).await;
    assert_eq!(wire.next().await["answer"], "Tokyo");
    discord.until(|message| message.reference == shown.reference && message.is_over()).await;

    wire.send(&question("q2")).await;
    let shown = posted(&discord, "Which city?").await;
    discord.press(&shown.reference, "Decline", &ana()).await;
    let answer = wire.next().await["answer"].as_str().unwrap().to_owned();
    assert!(answer.starts_with("NOT ANSWERED") && answer.contains("not approval"), "{answer}");
}

#[tokio::test]
async fn policy_answers_at_once_where_nobody_needs_to_be_asked() {
    let (telegram, daemon, mut wire) = telegram().await;
    wire.send(&wanted(&call("a", "bash", json!({ "command": "pwd && ls -F" })), &[])).await;
    assert_eq!(wire.next().await["approved"], true);
    wire.send(&wanted(&call("b", "write", json!({ "path": ".co/host.yaml" })), &[])).await;
    let answer = wire.next().await;
    let feedback = answer["feedback"].as_str().unwrap();
    assert_eq!((&answer["approved"], &answer["mode"]), (&json!(false), &json!("reject_soft")));
    assert!(
        feedback.starts_with("countersign's policy, not a person: host.yaml decides"),
        "{feedback}"
    );
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    assert_eq!(telegram.messages(GROUP), vec![]);
}

#[tokio::test]
async fn a_session_approval_covers_the_tool_until_it_is_revoked_and_never_what_is_critical() {
    let (telegram, daemon, mut wire) = telegram().await;
    let bash =
        |id: &str, command: &str| wanted(&call(id, "bash", json!({ "command": command })), &[]);
    wire.send(&bash("a", "npm install")).await;
    let shown = card(&telegram).await;
    telegram.press(GROUP, shown.id, "Session", ANA).await;
    let told = wire.next().await;
    assert_eq!((&told["approved"], &told["scope"]), (&json!(true), &json!("once")), "it asks on");
    closed(&telegram, shown.id).await;
    wire.send(&bash("b", "npm run build")).await;
    assert_eq!(wire.next().await["approved"], true, "the grant covers it without a card");

    wire.send(&bash("c", "rm -rf ~")).await;
    let critical = card(&telegram).await;
    assert_eq!(
        critical.buttons,
        [vec!["Deny and stop", "Deny with reason…"], vec!["Review and approve…"], vec!["More…"]]
    );
    telegram.press(GROUP, critical.id, "Deny and stop", ANA).await;
    assert_eq!(wire.next().await["mode"], "reject_hard");

    let grants = daemon.get("/v1/grants", APPROVER).await.1;
    let id = grants["grants"][0]["id"].to_string().replace('"', "");
    let url = format!("{}/v1/grants/{id}", daemon.url);
    let revoked = daemon.http.delete(url).bearer_auth(APPROVER).send().await.unwrap();
    assert!(revoked.status().is_success());
    wire.send(&bash("d", "npm run build")).await;
    card(&telegram).await;
}
