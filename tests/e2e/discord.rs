//! Discord, from the agent's call to the press and back.

use crate::{
    daemon::{Daemon, shell},
    discord_server::{CHANNEL, FakeDiscord, Fault, Person, Posted, Told},
};
use serde_json::{Value, json};

const ANA: &str = "4211";

fn ana() -> Person {
    Person::new(ANA, "Ana")
}

fn config(discord: &FakeDiscord) -> String {
    format!(
        "[discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \"{CHANNEL}\" }}]\n\
         [approvers]\ndiscord = [\"{ANA}\"]\ndiscord_roles = [\"77\"]\n",
        discord.token(),
        discord.url()
    )
}

async fn start() -> (FakeDiscord, Daemon) {
    let discord = FakeDiscord::start().await;
    let daemon = Daemon::start(&config(&discord)).await;
    discord.until_online().await;
    (discord, daemon)
}

async fn card(discord: &FakeDiscord) -> Posted {
    discord.until(|message| !message.is_over()).await
}

async fn closed(discord: &FakeDiscord, reference: &str) -> Posted {
    discord.until(|message| message.reference == reference && message.is_over()).await
}

#[tokio::test]
async fn a_press_on_approve_lets_the_agent_go_on_and_closes_the_card() {
    let (discord, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&discord).await;
    for part in ["git push origin main", "tester · shop on mill", "/home/ana/shop", "→ "] {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    assert_eq!(card.buttons, ["Approve", "Always: git push origin main", "Deny"]);
    let told = discord.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    let answer = waiting.await.unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["reason"]),
        (&json!("allow"), &json!("approved by Ana (discord)"))
    );
    let after = closed(&discord, &card.reference).await;
    assert!(after.text.contains("git push origin main"), "the text is kept");
    let first = after.text.lines().next().unwrap();
    assert!(first.starts_with("✅ git push origin main · Ana, "), "one line says it: {first}");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn deny_and_always_do_what_they_say() {
    let (discord, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin other"));
    let first = card(&discord).await;
    assert_eq!(
        discord.press(&first.reference, "Deny", &ana()).await,
        Told::Privately("Denied.".into())
    );
    assert_eq!(waiting.await.unwrap()["verdict"], "deny");
    closed(&discord, &first.reference).await;

    let waiting = daemon.waiting(shell("git push origin main"));
    let second = card(&discord).await;
    let told = discord.press(&second.reference, "Always", &ana()).await.words().unwrap();
    assert!(told.starts_with("Approved, and always from now on:"), "{told}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin next")).await.1["verdict"], "ask");
}

#[tokio::test]
async fn nobody_pressing_ends_the_card_as_expired() {
    let (discord, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&discord).await;
    daemon.says(&format!("a card stands adapter=\"discord\" ask_id={id}")).await;
    daemon.deadline_passes(&id).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
    let after = closed(&discord, &card.reference).await;
    assert!(after.text.contains("Timed out after"), "{}", after.text);
    let told = discord.press_token(&card.reference, &card.tokens[0], &ana()).await;
    assert!(told.words().unwrap().starts_with("Too late: nobody answered"));
}

#[tokio::test]
async fn a_stranger_is_told_privately_and_a_role_admits() {
    let (discord, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&discord).await;
    let told = discord.press(&card.reference, "Approve", &Person::new("6666", "Ana")).await;
    let refusal = "You may not answer this: you are not on the list of approvers.";
    assert_eq!(told, Told::Privately(refusal.into()));
    assert_eq!(daemon.read(&id).await["state"], "open");
    daemon.says("somebody who is not an approver tried to answer").await;
    let told =
        discord.press(&card.reference, "Deny", &Person::new("5", "Rik").with_role("77")).await;
    assert_eq!(told, Told::Privately("Denied.".into()));
    let again = discord.press_token(&card.reference, &card.tokens[0], &ana()).await;
    assert!(again.words().unwrap().starts_with("Already denied by Rik (discord)"));
}

#[tokio::test]
async fn an_old_card_still_answers_after_the_daemon_was_killed() {
    let (discord, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&discord).await;
    daemon.says("a card stands adapter=\"discord\"").await;
    daemon.kill().await;
    let before = discord.identified();
    daemon.run().await;
    let online = async {
        while discord.identified() == before {
            discord.until_online().await;
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::daemon::LONG, online).await.unwrap();
    let told = discord.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    assert_eq!(daemon.read(&id).await["verdict"], "allow");
    closed(&discord, &card.reference).await;
    assert_eq!(discord.messages().len(), 1, "the card was not posted twice");
}

#[tokio::test]
async fn platform_troubles_delay_a_card_and_never_lose_or_answer_it() {
    let limited = Fault::Limited { retry_after: 0.5, global: false };
    for fault in [limited, Fault::Html(502), Fault::DropBefore, Fault::DropAfter, Fault::Garbage] {
        let (discord, daemon) = start().await;
        discord.fail("POST /channels", 1, fault);
        let waiting = daemon.waiting(shell("git push"));
        let card = card(&discord).await;
        discord.press(&card.reference, "Approve", &ana()).await;
        assert_eq!(waiting.await.unwrap()["verdict"], "allow");
        closed(&discord, &card.reference).await;
        assert_eq!(discord.messages().len(), 1, "one card, however the line broke");
    }
}

#[tokio::test]
async fn a_dropped_gateway_comes_back_and_takes_presses() {
    let (discord, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push"));
    let card = card(&discord).await;
    discord.drop_gateway();
    discord.until_online().await;
    discord.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_refused_token_is_said_by_name_and_the_inbox_goes_on() {
    let discord = FakeDiscord::start().await;
    discord.refuse_token();
    let mut daemon = Daemon::start(&format!("{}inbox = true\n", config(&discord))).await;
    daemon.says("[discord] token").await;
    let id = daemon.ask(&shell("git push")).await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
}

#[tokio::test]
async fn a_platform_that_is_down_at_the_start_gets_its_cards_when_it_is_back() {
    let discord = FakeDiscord::start().await;
    discord.set_down(true);
    let daemon = Daemon::start(&config(&discord)).await;
    let waiting = daemon.waiting(shell("git push"));
    crate::core::loop_for_open(&daemon).await;
    discord.set_down(false);
    let card = card(&discord).await;
    discord.until_online().await;
    discord.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn questions_are_answered_by_buttons_and_by_a_window() {
    let (discord, daemon) = start().await;
    let waiting = daemon.waiting(json!({"agent": "claude-code", "session": "s",
        "tool": "AskUserQuestion", "args": {"questions": [
            {"question": "Which checks?", "multiSelect": true,
             "options": [{"label": "Lint"}, {"label": "Docs"}, {"label": "Tests"}]},
            {"question": "Which name?", "options": [{"label": "a"}, {"label": "b"}]}]}}));
    let card = card(&discord).await;
    discord.press(&card.reference, "Lint", &ana()).await;
    discord.press(&card.reference, "Tests", &ana()).await;
    discord.press(&card.reference, "Submit", &ana()).await;
    discord.until(|message| message.text.contains("Which name?")).await;
    let asked = discord.press(&card.reference, "Other…", &ana()).await;
    assert!(matches!(asked, Told::Asked(_)), "{asked:?}");
    discord.give_text(&card.reference, "countersign", &ana()).await;
    let answer: Value = waiting.await.unwrap();
    assert_eq!(
        answer["answer"]["answers"],
        json!({"Which checks?": ["Lint", "Tests"], "Which name?": "countersign"})
    );
    closed(&discord, &card.reference).await;
}

#[tokio::test]
async fn a_long_command_is_attached_whole_and_its_tail_is_shown() {
    let (discord, daemon) = start().await;
    let command = format!("{}; rm -rf /tmp/the-tail", "echo x".repeat(2_000));
    daemon.ask(&shell(&command)).await;
    let card = card(&discord).await;
    assert!(card.text.contains("rm -rf /tmp/the-tail"), "{}", card.text);
    assert!(card.files.iter().any(|(_, content)| *content == command));
}
