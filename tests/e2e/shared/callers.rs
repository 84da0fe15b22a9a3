//! Two callers with the same key at two daemons: the ask is cancelled when neither waits any more.

use super::Team;
use crate::{
    core::loop_for_open,
    daemon::{AGENT, Daemon, shell},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// One ask, and a caller of it at each of two daemons.
struct Pair {
    team: Team,
    daemons: [Daemon; 2],
    names: [String; 2],
    callers: [JoinHandle<Value>; 2],
    ask: String,
}

impl Pair {
    async fn new() -> Option<Self> {
        let team = Team::new().await?;
        let (first, second) = team.two().await;
        let names = [name(&first).await, name(&second).await];
        let at_first = first.waiting(call());
        let ask = loop_for_open(&first).await;
        let at_second = second.waiting(call());
        let (daemons, callers) = ([first, second], [at_first, at_second]);
        let pair = Self { team, daemons, names, callers, ask };
        pair.keeps(0, true).await;
        pair.keeps(1, true).await;
        Some(pair)
    }

    /// Waits until the ask's row says whether somebody waits at this daemon.
    async fn keeps(&self, daemon: usize, does: bool) {
        let (ask, name) = (&self.ask, &self.names[daemon]);
        let sql =
            format!("SELECT count(*) FROM ask WHERE id = '{ask}' AND attached LIKE '%/{name}/%'");
        self.team.postgres.until(&sql, |kept| kept == i64::from(does)).await;
    }

    /// The caller at this daemon drops its line, and the daemon has noted that it did not come
    /// back.
    async fn leaves(&self, caller: usize) {
        self.callers[caller].abort();
        self.keeps(caller, false).await;
    }

    async fn approve(&self, at: usize) {
        let (_, reply) = self.daemons[at].answer(&self.ask, &json!({"decision": "approve"})).await;
        assert_eq!(reply["applied"], true);
    }

    async fn end(self) {
        drop(self.daemons);
        self.team.postgres.drop().await;
    }
}

fn call() -> Value {
    let mut call = shell("git push origin main");
    call["key"] = json!("k");
    call
}

async fn name(daemon: &Daemon) -> String {
    daemon.get("/readyz", AGENT).await.1["daemon"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_later_caller_gets_its_answer_though_the_earlier_one_left() {
    let Some(mut pair) = Pair::new().await else { return };
    pair.leaves(0).await;
    pair.approve(0).await;
    assert_eq!((&mut pair.callers[1]).await.unwrap()["verdict"], "allow");
    pair.end().await;
}

#[tokio::test]
async fn the_earlier_caller_gets_its_answer_though_the_later_one_left() {
    let Some(mut pair) = Pair::new().await else { return };
    pair.leaves(1).await;
    pair.approve(1).await;
    assert_eq!((&mut pair.callers[0]).await.unwrap()["verdict"], "allow");
    pair.end().await;
}

#[tokio::test]
async fn an_ask_is_taken_back_when_both_of_its_callers_left_their_daemons() {
    for order in [[0, 1], [1, 0]] {
        let Some(pair) = Pair::new().await else { return };
        pair.leaves(order[0]).await;
        assert_eq!(pair.daemons[0].read(&pair.ask).await["state"], "open");
        pair.callers[order[1]].abort();
        for daemon in &pair.daemons {
            daemon.ask_reaches(&pair.ask, "cancelled").await;
        }
        pair.end().await;
    }
}

#[tokio::test]
async fn the_caller_of_a_daemon_that_was_killed_finds_its_ask_open_though_the_other_one_left() {
    let Some(mut pair) = Pair::new().await else { return };
    pair.daemons[0].kill().await;
    pair.leaves(1).await;
    assert_eq!(pair.daemons[1].read(&pair.ask).await["state"], "open");
    let back = pair.daemons[1].waiting(call());
    pair.keeps(1, true).await;
    pair.approve(1).await;
    assert_eq!(back.await.unwrap()["verdict"], "allow");
    pair.end().await;
}

#[tokio::test]
async fn a_daemon_that_has_been_dead_for_long_keeps_no_ask_open() {
    let Some(mut pair) = Pair::new().await else { return };
    pair.daemons[0].kill().await;
    let (server, dead) = (&pair.team.postgres, &pair.names[0]);
    // As if it had been killed so long ago.
    let age = format!(
        "UPDATE {}.lease SET until_at = until_at - 170000 WHERE name = 'daemon/{dead}'",
        server.schema()
    );
    server.execute(&age).await;
    pair.callers[1].abort();
    pair.daemons[1].ask_reaches(&pair.ask, "cancelled").await;
    pair.end().await;
}
