//! What an agent's token is for: a profile, and the place where its asks are shown.

use crate::{
    agent_tokens::{ask, submit, token},
    chats,
    daemon::{APPROVER, Daemon, shell},
    discord_server::FakeDiscord,
    process::run,
    telegram_server::{FORUM, GROUP, Telegram},
};
use serde_json::json;

const ROUTES: &str = "[[routes]]\nname = \"pushes\"\ncommand = \"git push *\"\nto = \"room\"\n\
                      [[routes]]\nname = \"hush\"\nsession = \"none\"\nto = \"inbox\"\n";

#[tokio::test]
async fn what_a_bound_agent_asks_is_shown_at_its_target_alone_or_refused_where_there_is_none() {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let named = format!(
        "{{ chat = {GROUP}, name = \"room\" }}, {{ chat = {FORUM}, topic = 7, name = \"deploys\" }}"
    );
    let chats = chats::both(&telegram, &discord);
    let chats = chats.replace("[approvers]\n", "[approvers]\ninbox = true\n");
    let chats = chats.replace(&format!("{{ chat = {GROUP} }}"), &named);
    let daemon = Daemon::start(&format!("{chats}{ROUTES}")).await;
    let to = |target: &str| json!({"scope": {"target": target}});
    let bot = token(&daemon, "deploy-bot", to("deploys")).await;
    let quiet = token(&daemon, "quiet-bot", to("hush")).await;
    // The route says where pushes go; the token says more.
    ask(&daemon, &bot, "git push origin bound").await;
    let bound = telegram.card(FORUM).await;
    assert!(bound.text.contains("origin bound"), "{}", bound.text);
    ask(&daemon, &quiet, "git push origin hushed").await;
    let free = token(&daemon, "free-bot", json!({})).await;
    ask(&daemon, &free, "git push origin free").await;
    let routed = telegram.card(GROUP).await;
    assert!(routed.text.contains("origin free"), "{}", routed.text);
    for chat in [GROUP, FORUM] {
        assert_eq!(telegram.open_cards(chat).len(), 1, "{chat}");
    }
    assert_eq!(daemon.open().await.len(), 3);
    let listed = run(&daemon, &["token", "list"]).await.stdout;
    for what in ["shown at deploys", "shown at hush", "for everything"] {
        assert!(listed.contains(what), "{what}: {listed}");
    }
    // The target is taken out of the config: the agent asks nobody, not even for what is allowed.
    daemon.write_config(&format!("{}{ROUTES}", chats.replace("deploys", "releases")));
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    let (status, reply) = submit(&daemon, &bot, &shell("ls")).await;
    let why = "this agent is refused: its token is for the target `deploys`, which this daemon's \
               config does not have; it has inbox, releases, room, pushes, hush";
    assert_eq!((status, &reply["error"]), (403, &json!(why)));
}

#[tokio::test]
async fn a_token_of_another_profile_is_refused_and_none_is_made_for_what_is_not_there() {
    let daemon = Daemon::start("").await;
    let bot = run(&daemon, &["token", "add", "bot", "--profile", "standard"]).await;
    let (status, reply) = submit(&daemon, bot.stdout.trim(), &shell("ls")).await;
    assert_eq!((status, &reply["verdict"]), (200, &json!("allow")), "{reply}");
    for (wrong, why) in [
        (["--profile", "molf"], "is for the profile `molf`, and this daemon decides by `standard`"),
        (["--profile", "strict"], "strict"),
        (["--target", "deploys"], "which this daemon's config does not have; it has inbox"),
    ] {
        let refused = run(&daemon, &[&["token", "add", "other"][..], &wrong].concat()).await;
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    // Another profile from the next start on.
    let mut daemon = daemon;
    assert!(daemon.stop().await);
    daemon.write_config("[policy]\nprofile = \"zeptoclaw\"\n");
    daemon.run().await;
    let (status, reply) = submit(&daemon, bot.stdout.trim(), &shell("ls")).await;
    let why = "this agent is refused: its token is for the profile `standard`, and this daemon \
               decides by `zeptoclaw`";
    assert_eq!((status, &reply["error"]), (403, &json!(why)));
    assert_eq!(
        daemon.get("/v1/tokens", APPROVER).await.1["tokens"][0]["scope"]["profile"],
        "standard"
    );
}
