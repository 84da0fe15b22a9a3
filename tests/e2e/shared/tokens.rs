//! Tokens of agents where several daemons share a store: made and revoked at one, so at all.

use super::{Team, woken};
use crate::daemon::{APPROVER, shell};
use serde_json::{Value, json};

#[tokio::test]
async fn a_token_made_at_one_daemon_is_known_at_all_and_revoked_at_one_is_refused_at_all() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    let third = team.daemon().await;
    let (_, made) = first.post("/v1/tokens", APPROVER, &json!({"name": "bot"})).await;
    let bot = made["token"].as_str().unwrap().to_owned();
    let ask = |call: Value| {
        let request = third.http.post(format!("{}/v1/calls?wait=30", third.url));
        let request = request.bearer_auth(&bot).json(&call);
        tokio::spawn(async move { request.send().await.unwrap().json::<Value>().await.unwrap() })
    };
    let waiting = ask(shell("git push origin main"));
    let card = team.card().await;
    assert!(card.text.contains("bot (says it is tester)"), "{}", card.text);
    for daemon in [&first, &second, &third] {
        let (status, page) = daemon.get("/v1/asks", &bot).await;
        assert_eq!((status, page["asks"].as_array().unwrap().len()), (200, 1), "{page}");
    }
    let none = json!({});
    // Two rotations at two daemons at once: one token is left.
    let (one, two) = tokio::join!(
        first.post("/v1/tokens/bot/rotate", APPROVER, &none),
        second.post("/v1/tokens/bot/rotate", APPROVER, &none)
    );
    let mut accepted = Vec::new();
    for reply in [one, two] {
        let token = reply.1["token"].as_str().unwrap().to_owned();
        match third.get("/v1/asks", &token).await.0 {
            200 => accepted.push(token),
            status => assert_eq!(status, 401),
        }
    }
    assert_eq!(accepted.len(), 1);
    assert_eq!(second.get("/v1/asks", &bot).await.0, 401);

    let revoked = second.http.delete(format!("{}/v1/tokens/bot", second.url)).bearer_auth(APPROVER);
    assert_eq!(revoked.send().await.unwrap().status(), 200);
    for daemon in [&first, &second, &third] {
        for token in [&bot, &accepted[0]] {
            assert_eq!(daemon.get("/v1/asks", token).await.0, 401);
        }
    }
    let told = woken(waiting).await;
    assert_eq!(
        (&told["verdict"], &told["reason"]),
        (&json!("deny"), &json!("cancelled: its token was revoked"))
    );
    let over = team.card_closes(card.id).await;
    assert!(over.text.contains("its token was revoked"), "{}", over.text);
    drop((first, second, third));
    team.postgres.drop().await;
}
