//! Several people answer one ask together, on two platforms, at one daemon and at two.

use crate::{
    daemon::{AGENT, Daemon, shell},
    discord_server::{FakeDiscord, Person, Posted},
    postgres::Postgres,
    shared::leads,
    telegram_server::{ANA, BEN, EVE, GROUP, Message, Telegram},
};
use serde_json::{Value, json};

/// The people: Ana has both chats, Cleo comes by a role, Eve is in no group.
const PEOPLE: &str = r#"
[[people]]
name = "Ana"
telegram = 4211
discord = "77"
groups = ["ops"]
hosts = ["ana-laptop"]
[[people]]
name = "Ben"
telegram = 4212
groups = ["ops"]
[[people]]
name = "Cleo"
discord = "88"
[[people]]
name = "Eve"
telegram = 6666
[[groups]]
name = "ops"
discord_roles = ["500"]
[[answer_rules]]
name = "push"
command = "git push *"
group = "ops"
approvals = 2
[[answer_rules]]
name = "deploy"
command = "make deploy*"
group = "ops"
deny = 2
exclude = "requester"
"#;

struct Team {
    telegram: Telegram,
    discord: FakeDiscord,
    config: String,
}

impl Team {
    async fn new(more: &str) -> Self {
        let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
        let chats = crate::chats::both(&telegram, &discord);
        let (chats, _) = chats.split_once("[approvers]").unwrap();
        let config = format!("{chats}{more}{PEOPLE}");
        Self { telegram, discord, config }
    }

    async fn daemon(&self) -> Daemon {
        let daemon = Daemon::start(&self.config).await;
        self.discord.until_online().await;
        daemon
    }

    /// The open card in Telegram, once it says this.
    async fn card(&self, says: &str) -> Message {
        let look = || self.telegram.open_cards(GROUP).into_iter().find(|it| it.text.contains(says));
        self.telegram.until(says, look).await
    }

    /// The open card in Discord, once it says this.
    async fn posted(&self, says: &str) -> Posted {
        self.discord.until(|it| !it.is_over() && it.text.contains(says)).await
    }

    async fn press(
        &self,
        card: &Message,
        label: &str,
        who: crate::telegram_server::Person,
    ) -> String {
        self.telegram.press(GROUP, card.id, label, who).await.text
    }
}

fn ana_in_discord() -> Person {
    Person::new("77", "Ana of Discord")
}

fn cleo() -> Person {
    Person::new("88", "Cleo").with_role("500")
}

fn push() -> Value {
    shell("git push origin main")
}

const ONE_OF_TWO: &str = "Your vote counts: 1 of 2 approvals of ops.";

#[tokio::test]
async fn two_people_have_to_approve_and_every_card_shows_who_has() {
    let team = Team::new("").await;
    let daemon = team.daemon().await;
    let waiting = daemon.waiting(push());
    let card = team.card("0 of 2 approved (ops).").await;
    assert_eq!(team.press(&card, "Approve", ANA).await, ONE_OF_TWO);
    let posted = team.posted("1 of 2 approved (ops): Ana.").await;
    team.card("1 of 2 approved (ops): Ana.").await;
    // With her other account she is still one person.
    team.discord.press(&posted.reference, "Approve", &ana_in_discord()).await;
    let id = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    let needs = daemon.read(&id).await["needs"].clone();
    let wanted = json!([{"rule": "push", "group": "ops", "approvals": 2, "approved": ["Ana"],
        "denials": 1}]);
    assert_eq!(needs, wanted);
    assert_eq!(team.press(&card, "Approve", BEN).await, "Approved once.");
    let answer = waiting.await.unwrap();
    let reason = &answer["reason"];
    assert_eq!(
        (&answer["verdict"], reason),
        (&json!("allow"), &json!("approved by Ana (discord) and Ben (telegram)"))
    );
    let done = || Some(team.telegram.message(GROUP, card.id)).filter(Message::is_over);
    let closed = team.telegram.until("a closed card", done).await;
    assert!(closed.text.contains("Ana and Ben"), "{}", closed.text);
    team.discord.until_all(Posted::is_over).await;
    assert_eq!(team.telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn who_is_not_in_the_group_learns_who_is_and_one_denial_is_enough() {
    let team = Team::new("").await;
    let daemon = team.daemon().await;
    let waiting = daemon.waiting(push());
    let card = team.card("0 of 2 approved").await;
    let told = team.press(&card, "Approve", EVE).await;
    let wanted = "Only members of ops may answer this. It has Ana, Ben, everyone with its role.";
    assert_eq!(told, wanted);
    assert_eq!(team.press(&card, "Deny", EVE).await, wanted);
    assert_eq!(team.press(&card, "Approve", ANA).await, ONE_OF_TWO);
    let posted = team.posted("1 of 2 approved").await;
    team.discord.press(&posted.reference, "Deny", &cleo()).await;
    assert_eq!(waiting.await.unwrap()["reason"], "denied by Cleo (discord)");
}

#[tokio::test]
async fn a_vote_can_change_until_the_last_and_the_requester_has_none() {
    let team = Team::new("").await;
    let daemon = team.daemon().await;
    let mut call = shell("make deploy");
    call["host"] = json!("ana-laptop");
    let waiting = daemon.waiting(call);
    let card = team.card("Ana asks, so somebody else answers.").await;
    let own = "This is your own agent's request, so somebody else has to answer it.";
    assert_eq!(team.press(&card, "Approve", ANA).await, own);
    let denied = "Your vote counts: 1 of 2 denials of ops.";
    assert_eq!(team.press(&card, "Deny", BEN).await, denied);
    team.card("0 of 1 approved (ops). 1 of 2 denied: Ben.").await;
    assert_eq!(team.press(&card, "Approve", BEN).await, "Approved once.");
    assert_eq!(waiting.await.unwrap()["reason"], "approved by Ben (telegram)");
    // Where nobody knows who asks, it takes one more.
    let waiting = daemon.waiting(shell("make deploy"));
    let card = team.card("0 of 2 approved (ops).").await;
    assert_eq!(team.press(&card, "Approve", BEN).await, ONE_OF_TWO);
    assert_eq!(team.press(&card, "Approve", ANA).await, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn who_was_removed_meanwhile_does_not_count_any_more() {
    let team = Team::new("").await;
    let daemon = team.daemon().await;
    let waiting = daemon.waiting(push());
    let card = team.card("0 of 2 approved").await;
    assert_eq!(team.press(&card, "Approve", ANA).await, ONE_OF_TWO);
    let without = team.config.replacen("groups = [\"ops\"]", "groups = [\"dev\"]", 1);
    daemon.write_config(&without);
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    assert_eq!(team.press(&card, "Approve", BEN).await, ONE_OF_TWO);
    let posted = team.posted("1 of 2 approved (ops): Ben.").await;
    team.discord.press(&posted.reference, "Approve", &cleo()).await;
    let reason = waiting.await.unwrap()["reason"].clone();
    assert_eq!(reason, "approved by Ben (telegram) and Cleo (discord)");
}

#[tokio::test]
async fn votes_survive_a_kill_and_what_is_remembered_is_what_all_chose() {
    let team = Team::new("").await;
    let mut daemon = team.daemon().await;
    let id = daemon.ask(&push()).await;
    let card = team.card("0 of 2 approved").await;
    let told = team.press(&card, "Always: git push origin main", ANA).await;
    assert_eq!(told, ONE_OF_TWO);
    team.card("1 of 2 approved (ops): Ana (always).").await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(team.press(&card, "Approve", BEN).await, "Approved once.");
    assert_eq!(daemon.closed(&id).await["answer"]["scope"], "once");
    // Now both choose it.
    let id = daemon.ask(&push()).await;
    let card = team.card("0 of 2 approved").await;
    team.press(&card, "Always: git push origin main", BEN).await;
    let told = team.press(&card, "Always: git push origin main", ANA).await;
    assert!(told.starts_with("Approved, and always from now on"), "{told}");
    let answer = daemon.closed(&id).await["answer"].clone();
    assert_eq!((&answer["scope"], &answer["with"][0]["name"]), (&json!("always"), &json!("Ben")));
    assert_eq!(daemon.call(&push()).await.1["verdict"], "allow");
}

#[tokio::test]
async fn nobody_changes_a_call_that_several_people_approve() {
    let team = Team::new("").await;
    let daemon = team.daemon().await;
    daemon.ask(&push()).await;
    let card = team.card("0 of 2 approved").await;
    let labels: Vec<_> = card.buttons.iter().flatten().cloned().collect();
    assert!(!labels.iter().any(|label| label.starts_with("Edit")), "{labels:?}");
    let words = "Several people have to agree to this call, so nobody changes it here: deny it, \
                 and say what should run instead.";
    let id = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    let personal =
        team.config.replacen("telegram = 4211\n", "telegram = 4211\ntoken = \"of Ana alone\"\n", 1);
    let mut daemon = daemon;
    daemon.stop().await;
    daemon.write_config(&personal);
    daemon.run().await;
    let edit = json!({"decision": "edit", "edit": "git push --dry-run"});
    let (status, reply) =
        daemon.post(&format!("/v1/asks/{id}/answer"), "of Ana alone", &edit).await;
    assert_eq!((status, &reply["error"]), (422, &json!(words)), "{reply}");
    assert_eq!(daemon.get(&format!("/v1/asks/{id}"), AGENT).await.1["state"], "open");
}

#[tokio::test]
async fn a_vote_from_the_terminal_ends_as_pending_and_the_history_names_all_voters() {
    let team = Team::new("").await;
    let tokens = team
        .config
        .replacen("telegram = 4211\n", "telegram = 4211\ntoken = \"of Ana alone\"\n", 1)
        .replacen("telegram = 4212\n", "telegram = 4212\ntoken = \"of Ben alone\"\n", 1);
    let daemon = Daemon::start(&tokens).await;
    let id = daemon.ask(&push()).await;
    let approve = async |token: &str| {
        let mut command = daemon.command(&["approve", &id]);
        let ended = command.env("COUNTERSIGN_APPROVER_TOKEN", token).output().await.unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
    };
    assert_eq!(approve("of Ana alone").await, (Some(8), format!("{ONE_OF_TWO}\n")));
    assert_eq!(approve("of Ben alone").await, (Some(0), "Approved once.\n".to_owned()));
    assert_eq!(approve("of Ben alone").await.0, Some(1), "it was decided before");
    let listed = daemon.command(&["history"]).output().await.unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    assert!(listed.contains("Ana and Ben"), "{listed}");
}

#[tokio::test]
async fn a_grant_that_one_person_made_does_not_stand_for_two() {
    let team = Team::new("").await;
    let (people, rules) = team.config.split_once("[[answer_rules]]").unwrap();
    let daemon = Daemon::start(people).await;
    team.discord.until_online().await;
    let always = async |id: &str| {
        let card = team.telegram.card(GROUP).await;
        let told = team.press(&card, "Always: git push origin main", ANA).await;
        assert!(told.starts_with("Approved, and always from now on"), "{told}");
        assert_eq!(daemon.closed(id).await["answer"]["scope"], "always");
    };
    always(&daemon.ask(&push()).await).await;
    assert_eq!(daemon.call(&push()).await.1["verdict"], "allow");
    // Now two people have to agree: what Ana granted alone covers no part of such a call.
    daemon.write_config(&format!("{people}[[answer_rules]]{rules}"));
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    for command in ["git push origin main", "true && git push origin main"] {
        let waiting = daemon.waiting(shell(command));
        let card = team.card(command).await;
        assert!(card.text.contains("0 of 2 approved (ops)."), "{}", card.text);
        assert_eq!(team.press(&card, "Deny", BEN).await, "Denied.");
        assert_eq!(waiting.await.unwrap()["verdict"], "deny");
    }
}

#[tokio::test]
async fn votes_at_two_daemons_of_one_store_add_up() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let team = Team::new(&postgres.config()).await;
    let first = team.daemon().await;
    leads(&first).await;
    let personal = team
        .config
        .replacen("telegram = 4211\n", "telegram = 4211\ntoken = \"of Ana alone\"\n", 1)
        .replacen("telegram = 4212\n", "telegram = 4212\ntoken = \"of Ben alone\"\n", 1);
    let second = Daemon::start(&personal).await;
    let waiting = first.waiting(push());
    let card = team.card("0 of 2 approved").await;
    assert_eq!(team.press(&card, "Approve", ANA).await, ONE_OF_TWO);
    let id = second.open().await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/asks/{id}/answer");
    let approve = json!({"decision": "approve"});
    let (_, reply) = second.post(&path, "of Ana alone", &approve).await;
    assert_eq!((&reply["applied"], &reply["message"]), (&json!(false), &json!(ONE_OF_TWO)));
    // The leader dies between two votes.
    let mut first = first;
    first.kill().await;
    let (_, reply) = second.post(&path, "of Ben alone", &approve).await;
    assert_eq!(reply["applied"], true, "{reply}");
    let answer = second.closed(&id).await["answer"].clone();
    assert_eq!((&answer["by"]["name"], &answer["with"][0]["name"]), (&json!("Ben"), &json!("Ana")));
    drop(waiting);
}

#[tokio::test]
async fn of_three_daemons_the_leader_dies_between_two_votes_and_a_reload_counts_at_the_next() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let team = Team::new(&postgres.config()).await;
    let mut leader = team.daemon().await;
    leads(&leader).await;
    let with_tokens = |config: &str| {
        let ben = "telegram = 4212\ntoken = \"of Ben alone\"\n";
        config
            .replacen("telegram = 4211\n", "telegram = 4211\ntoken = \"of Ana alone\"\n", 1)
            .replacen("telegram = 4212\n", ben, 1)
    };
    let config = with_tokens(&team.config);
    let (second, third) = tokio::join!(Daemon::start(&config), Daemon::start(&config));
    let id = second.ask(&push()).await;
    let card = team.card("0 of 2 approved").await;
    assert_eq!(team.press(&card, "Approve", ANA).await, ONE_OF_TWO);
    leader.kill().await;
    // At the third daemon Ana has left the group meanwhile, so Ben is the first there.
    let without = team.config.replacen("groups = [\"ops\"]", "groups = [\"dev\"]", 1);
    third.write_config(&with_tokens(&without));
    assert!(third.command(&["reload"]).output().await.unwrap().status.success());
    let (path, approve) = (format!("/v1/asks/{id}/answer"), json!({"decision": "approve"}));
    let (_, reply) = third.post(&path, "of Ben alone", &approve).await;
    assert_eq!((&reply["applied"], &reply["message"]), (&json!(false), &json!(ONE_OF_TWO)));
    let ana = third.post(&path, "of Ana alone", &approve).await;
    assert_eq!(ana.0, 403, "{ana:?}");
    // Where she still is in it, both count.
    let votes = [("of Ana alone", true), ("of Ben alone", false)];
    for (token, applied) in votes {
        let (status, reply) = second.post(&path, token, &approve).await;
        assert_eq!((status, &reply["applied"]), (200, &json!(applied)), "{token}: {reply}");
    }
    let answer = third.closed(&id).await["answer"].clone();
    assert_eq!((&answer["by"]["name"], &answer["with"][0]["name"]), (&json!("Ana"), &json!("Ben")));
    // Another leads then, and every card says who decided.
    postgres.end_leases().await;
    tokio::select! {
        _ = leads(&second) => {}
        _ = leads(&third) => {}
    }
    let done = || Some(team.telegram.message(GROUP, card.id)).filter(Message::is_over);
    let closed = team.telegram.until("a closed card", done).await;
    assert!(closed.text.contains("Ben and Ana"), "{}", closed.text);
}

#[tokio::test]
async fn a_machines_name_hides_no_requester_once_agents_are_known_by_their_tokens() {
    let team = Team::new("").await;
    let config = team
        .config
        .replacen("hosts = [\"ana-laptop\"]", "hosts = [\"ana-laptop\"]\nagents = [\"ana-bot\"]", 1)
        .replacen("telegram = 4212\n", "telegram = 4212\ntoken = \"of Ben alone\"\n", 1);
    let daemon = Daemon::start(&config).await;
    team.discord.until_online().await;
    let (status, made) =
        daemon.post("/v1/tokens", "of Ben alone", &json!({"name": "ana-bot"})).await;
    assert_eq!(status, 200, "{made}");
    let token = made["token"].as_str().unwrap();
    let mut call = shell("make deploy all");
    call["host"] = json!("bens-machine");
    let id = daemon.post("/v1/calls", token, &call).await.1["ask"].as_str().unwrap().to_owned();
    let card = team.card("Ana asks, so somebody else answers.").await;
    let own = "This is your own agent's request, so somebody else has to answer it.";
    assert_eq!(team.press(&card, "Approve", ANA).await, own);
    assert_eq!(team.press(&card, "Approve", BEN).await, "Approved once.");
    assert_eq!(daemon.closed(&id).await["answer"]["by"]["name"], "Ben");
    // Ana's own agent names another machine, with the token that all share.
    let mut call = shell("make deploy");
    call["host"] = json!("ana-laptop");
    let waiting = daemon.waiting(call);
    // It proves nothing, so one more has to approve.
    let card = team.card("0 of 2 approved (ops).").await;
    assert_eq!(team.press(&card, "Deny", BEN).await, "Your vote counts: 1 of 2 denials of ops.");
    assert_eq!(team.press(&card, "Approve", BEN).await, ONE_OF_TWO);
    assert_eq!(team.press(&card, "Approve", ANA).await, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_grant_answers_no_open_ask_that_needs_certain_people() {
    let own = "the token of Ana alone, long enough";
    let config = format!(
        "[[people]]\nname = \"Ana\"\ntoken = \"{own}\"\ngroups = [\"ops\"]\n\
         [[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\ngroup = \"ops\"\n"
    );
    let daemon = Daemon::start(&config).await;
    let keyed = |key: &str| {
        let mut call = push();
        call["key"] = json!(key);
        call
    };
    let (first, second) = (daemon.ask(&keyed("k1")).await, daemon.ask(&keyed("k2")).await);
    let session = json!({"decision": "approve", "scope": "session"});
    let (status, answered) = daemon.post(&format!("/v1/asks/{first}/answer"), own, &session).await;
    assert_eq!((status, &answered["applied"]), (200, &json!(true)), "{answered}");
    // The grant of those who had to agree covers what comes later. What waits was shown to people,
    // and it is they who answer it.
    assert_eq!(daemon.call(&keyed("k3")).await.1["verdict"], "allow");
    assert_eq!(daemon.read(&second).await["state"], "open");
    let deny = json!({"decision": "deny"});
    let (_, denied) = daemon.post(&format!("/v1/asks/{second}/answer"), own, &deny).await;
    assert_eq!(denied["applied"], true, "{denied}");
}
