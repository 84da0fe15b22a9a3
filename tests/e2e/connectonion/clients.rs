//! Clients of ConnectOnion's, which answer and change profiles.

use super::*;

#[tokio::test]
async fn a_client_of_connectonions_answers_what_it_is_shown_and_only_with_real_answers() {
    let (telegram, daemon, mut agent) = telegram().await;
    let mut client = Wire::connect(&daemon, APPROVER, "agent=shop-bot").await;
    client.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": true })).await;
    assert_eq!(client.next().await["message"], "unknown or stale approval response");

    // A truthy text is no yes: the mailbox takes it for a hard rejection.
    agent
        .send(&wanted(&call("c1", "bash", json!({ "command": "npm install" })), &install()[1..]))
        .await;
    let shown = client.next().await;
    let said = (&shown["type"], &shown["tool"], &shown["batch_remaining"][0]["tool"]);
    assert_eq!(said, (&json!("approval_needed"), &json!("bash"), &json!("write")));
    client.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": "true" })).await;
    let answer = agent.next().await;
    assert_eq!((&answer["approved"], &answer["mode"]), (&json!(false), &json!("reject_hard")));
    assert_eq!(client.next().await["type"], "approval_resolved");

    // An answer to the one before does not hit the next.
    agent.send(&wanted(&call("c2", "deploy", json!({})), &[])).await;
    assert_eq!(client.next().await["tool"], "deploy");
    client
        .send(&json!({ "type": "APPROVAL_RESPONSE", "approved": true, "tool_call_id": "c1" }))
        .await;
    assert_eq!(client.next().await["message"], "unknown or stale approval response");
    client.send(&json!({ "approved": true, "scope": "session" })).await;
    let answer = agent.next().await;
    assert_eq!((&answer["approved"], &answer["scope"]), (&json!(true), &json!("once")));
    assert_eq!(client.next().await["type"], "approval_resolved");

    // Pressed in Telegram first: the client is told, and comes too late.
    agent.send(&wanted(&call("c3", "pay", json!({})), &[])).await;
    assert_eq!(client.next().await["tool"], "pay");
    let in_chat = card(&telegram).await;
    telegram.press(GROUP, in_chat.id, "Approve", ANA).await;
    assert_eq!(agent.next().await["by"], "Ana (telegram)");
    assert_eq!(client.next().await["type"], "approval_resolved");
    client.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": false })).await;
    assert_eq!(client.next().await["message"], "unknown or stale approval response");

    agent
        .send(
            &json!({ "type": "ask_user", "id": "q", "question": "Which?", "options": ["a", "b"] }),
        )
        .await;
    assert_eq!(client.next().await["options"], json!(["a", "b"]));
    client.send(&json!({ "type": "ASK_USER_RESPONSE", "answer": "b" })).await;
    assert_eq!(agent.next().await["answer"], "b");
}

#[tokio::test]
async fn only_an_approver_changes_the_profile_and_full_access_ends() {
    let (telegram, daemon, mut agent) = telegram().await;
    agent.send(&json!({ "type": "mode_change", "mode": ":danger-full-access", "turns": 5 })).await;
    let tool = |id: &str| wanted(&call(id, "my_tool", json!({})), &[]);
    agent.send(&tool("a")).await;
    let shown = card(&telegram).await;
    telegram.press(GROUP, shown.id, "Approve", ANA).await;
    agent.next().await;

    let mut client = Wire::connect(&daemon, APPROVER, "agent=shop-bot&session=seven").await;
    client.send(&json!({ "type": "mode_change", "mode": "wild" })).await;
    let refused = "there is no mode \"wild\"; the modes are :read-only, :workspace, \
        :danger-full-access with its turns (`:danger-full-access 0/5`) and remote-exec";
    assert_eq!(client.next().await["message"], refused);
    client.send(&json!({ "type": "mode_change", "mode": ":danger-full-access", "turns": 2 })).await;
    let changed = client.next().await;
    let said = (&changed["type"], &changed["mode"]);
    assert_eq!(said, (&json!("mode_changed"), &json!(":danger-full-access 0/2")));
    for id in ["b", "c"] {
        agent.send(&tool(id)).await;
        assert_eq!(agent.next().await["approved"], true);
    }
    agent.send(&tool("d")).await;
    card(&telegram).await;
    assert_eq!(daemon.open().await.len(), 1, "two turns were granted, and two are spent");
}
