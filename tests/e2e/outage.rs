//! The database server is stopped, crashes, hangs, and is not there when a daemon starts.

use crate::{
    core::loop_for_open,
    daemon::{AGENT, Daemon, LONG, shell},
    line::{Line, Loses},
    postgres::Postgres,
    server::{Server, Stop},
    shared::{Team, leads},
    telegram_server::{ANA, GROUP, Message},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

const REFUSED: &str = "This could not be recorded; nothing changed. Try again.";

/// A team whose database server is its own.
async fn team() -> Option<(Server, Team)> {
    let server = Server::start().await?;
    let team = Team::on(Postgres::on(server.url()).await).await;
    Some((server, team))
}

/// Nothing can be asked or answered, and everybody is told why.
async fn everything_is_refused(
    team: &Team,
    card: &Message,
    id: &str,
    first: &Daemon,
    second: &Daemon,
) {
    let yes = json!({"decision": "approve"});
    let new = shell("git push origin new");
    let (chat, token, call, ready) = tokio::join!(
        team.telegram.press(GROUP, card.id, "Approve", ANA),
        second.answer(id, &yes),
        second.call(&new),
        timeout(Duration::from_secs(15), first.get("/readyz", AGENT)),
    );
    assert_eq!(chat.text, REFUSED);
    for (status, body) in [token, call] {
        assert_eq!(status, 503, "{body}");
        let said = body["error"].as_str().unwrap();
        assert!(
            said == REFUSED || said.contains("nothing was changed, and nothing may run"),
            "{said}"
        );
    }
    let (status, ready) = ready.expect("a status request is answered in time");
    let store = &ready["store"];
    assert_eq!(status, 503, "{ready}");
    let problem = store["problem"].as_str().unwrap();
    // It depends on the moment how it shows.
    let shows = ["cannot be reached", "does not answer", "is not serving"];
    assert!(shows.iter().any(|words| problem.contains(words)), "{store}");
    assert_eq!(store["fix"], "see that PostgreSQL runs and that [store] url names it");
}

/// Waits until either leads.
async fn one_leads([first, second]: [&Daemon; 2]) {
    tokio::select! {
        _ = leads(first) => {}
        _ = leads(second) => {}
    }
}

/// The ask that waited is answered, and new ones are taken.
async fn everything_goes_on(
    team: &Team,
    card: &Message,
    daemons: [&Daemon; 2],
    waiting: impl Future<Output = Value>,
) {
    one_leads(daemons).await;
    let told = team.telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(told.text, "Approved once.");
    assert_eq!(waiting.await["verdict"], "allow");
    team.card_closes(card.id).await;
    for daemon in daemons {
        assert_eq!(daemon.get("/readyz", AGENT).await.0, 200, "{}", daemon.said());
        daemon.ask(&shell("git push origin after")).await;
    }
}

async fn an_ask_waits_while_the_server_is(stopped: Stop) {
    let Some((server, team)) = team().await else { return };
    let (mut first, second) = team.two().await;
    let waiting = second.waiting(shell("git push origin main"));
    let card = team.card().await;
    let id = loop_for_open(&second).await;
    first.says("a card stands adapter=\"telegram\"").await;
    server.stop(stopped).await;
    everything_is_refused(&team, &card, &id, &first, &second).await;
    server.start_again().await;
    everything_goes_on(&team, &card, [&first, &second], async { waiting.await.unwrap() }).await;
    let cards = team.telegram.messages(GROUP);
    let copies = cards.iter().filter(|message| message.text.contains("git push origin main"));
    assert_eq!(copies.count(), 1, "the card was not posted twice");
}

#[tokio::test]
async fn an_ask_waits_while_the_database_server_is_restarted() {
    an_ask_waits_while_the_server_is(Stop::Fast).await;
}

#[tokio::test]
async fn an_ask_waits_while_the_database_server_crashes_and_recovers() {
    an_ask_waits_while_the_server_is(Stop::Immediate).await;
}

#[tokio::test]
async fn a_database_server_that_hangs_is_an_outage_and_no_more() {
    let Some((server, team)) = team().await else { return };
    let (mut first, second) = team.two().await;
    let waiting = second.waiting(shell("git push origin main"));
    let card = team.card().await;
    let id = loop_for_open(&second).await;
    first.says("a card stands adapter=\"telegram\"").await;
    server.freeze(true);
    everything_is_refused(&team, &card, &id, &first, &second).await;
    server.freeze(false);
    everything_goes_on(&team, &card, [&first, &second], async { waiting.await.unwrap() }).await;
}

#[tokio::test]
async fn who_led_leads_again_after_an_outage_longer_than_the_lease() {
    let Some((server, team)) = team().await else { return };
    let (mut first, second) = team.two().await;
    let id = second.ask(&shell("git push origin main")).await;
    let card = team.card().await;
    first.says("a card stands adapter=\"telegram\"").await;
    server.stop(Stop::Immediate).await;
    first.says("not leading any more").await;
    server.start_again().await;
    everything_goes_on(&team, &card, [&first, &second], second.closed(&id)).await;
}

#[tokio::test]
async fn a_caller_that_is_told_of_an_outage_comes_back_to_its_ask() {
    let Some((server, team)) = team().await else { return };
    let daemon = team.daemon().await;
    let mut call = shell("git push origin main");
    call["key"] = json!("k");
    // It looks again when its wait is over; the server has stopped by then.
    let url = format!("{}/v1/calls?wait=5", daemon.url);
    let waiting = daemon.http.post(url).bearer_auth(AGENT).json(&call).send();
    let (told, id) = tokio::join!(waiting, async {
        let id = loop_for_open(&daemon).await;
        server.stop(Stop::Immediate).await;
        id
    });
    assert_eq!(told.unwrap().status(), 503);
    server.start_again().await;
    let grace = tokio::time::sleep(Duration::from_secs(4));
    grace.await; // longer than a caller that lost its line may take to come back
    assert_eq!(daemon.read(&id).await["state"], "open");
    let waiting = daemon.waiting(call);
    daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_daemon_that_finds_no_database_at_its_start_ends_with_what_to_do() {
    let Some((server, team)) = team().await else { return };
    let line = Line::to(&team.postgres.url()).await;
    let mut daemon = team.daemon().await;
    daemon.write_config(&format!("[store]\nurl = \"{}\"\n", line.url));
    daemon.stop().await;
    let refused = async || {
        let ended = timeout(LONG, daemon.command(&["serve"]).output()).await;
        let ended = ended.expect("it does not wait for ever").unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success());
        assert!(said.contains("cannot be reached"), "{said}");
        assert!(said.contains("see that PostgreSQL runs and that [store] url names it"), "{said}");
    };
    line.loses(Loses::Everything);
    refused().await;
    line.loses(Loses::Nothing);
    server.stop(Stop::Fast).await;
    refused().await;
    server.start_again().await;
    daemon.run().await;
    daemon.ask(&shell("git push origin main")).await;
}
