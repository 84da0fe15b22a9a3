//! The local inbox, and several surfaces at once.

use crate::{
    browser::Browser,
    daemon::{Daemon, LONG, shell},
    discord_server::{self, FakeDiscord, Person, Told},
    inbox_visitor::Visitor,
    telegram_server::{self, Telegram},
};
use serde_json::{Value, json};

fn open(card: &Value) -> bool {
    card["card"]["tone"] == "open"
}

#[tokio::test]
async fn a_press_in_the_inbox_answers_the_ask_without_any_account() {
    let daemon = Daemon::start("").await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = board.card(open).await;
    assert_eq!(visitor.press_label(&card, "Approve", None).await, "Approved once.");
    let answer = waiting.await.unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["reason"]),
        (&json!("allow"), &json!("approved by the local inbox"))
    );
    let after = board.card(|card| card["card"]["tone"] == "approved").await;
    assert_eq!(after["card"]["buttons"], json!([]));
    let late = visitor.press_label(&card, "Deny", None).await;
    assert!(late.starts_with("Already approved by the local inbox"), "{late}");
}

#[tokio::test]
async fn after_a_restart_the_new_address_shows_the_same_card_and_its_old_button_still_answers() {
    let mut daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let card = Visitor::enter(&daemon.inbox).await.follow().await.card(open).await;
    daemon.kill().await;
    daemon.run().await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let again = visitor.follow().await.card(open).await;
    assert_eq!(again["card"]["id"], card["card"]["id"], "the same card is there again");
    assert_eq!(visitor.press_label(&card, "Deny", None).await, "Denied.");
    assert_eq!(daemon.read(&id).await["verdict"], "deny");
}

#[tokio::test]
async fn answering_here_is_off_once_a_chat_approver_is_there_unless_it_is_named() {
    let mut daemon = Daemon::start("[approvers]\ntelegram = [42]\n").await;
    let id = daemon.ask(&shell("git push")).await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let card = visitor.follow().await.card(open).await;
    let told = visitor.press_label(&card, "Approve", None).await;
    assert!(told.starts_with("Answering from this machine is off"), "{told}");
    assert_eq!(daemon.answer(&id, &json!({"decision": "approve"})).await.0, 403);
    assert_eq!(daemon.read(&id).await["state"], "open");
    daemon.stop().await;
    daemon.write_config("[approvers]\ntelegram = [42]\ninbox = true\n");
    daemon.run().await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
}

#[tokio::test]
async fn a_press_on_any_surface_answers_and_every_other_copy_says_so() {
    use telegram_server::{ANA, GROUP, TOKEN};
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let daemon = Daemon::start(&format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \"{}\" }}]\n\
         [approvers]\ntelegram = [{}]\ndiscord = [\"9\"]\ninbox = true\n",
        telegram.url(),
        discord.token(),
        discord.url(),
        discord_server::CHANNEL,
        ANA.id
    ))
    .await;
    discord.until_online().await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let rik = Person::new("9", "Rik");
    for first in ["telegram", "discord", "inbox"] {
        let waiting = daemon.waiting(shell("git push"));
        let chat = telegram.until("a card", || telegram.open_cards(GROUP).pop()).await;
        let channel = discord.until(|message| !message.is_over()).await;
        let page = board.card(open).await;
        let approve = telegram.button(GROUP, chat.id, "Approve");
        let by = match first {
            "telegram" => {
                telegram.press(GROUP, chat.id, "Approve", ANA).await;
                "Ana (telegram)"
            }
            "discord" => {
                discord.press(&channel.reference, "Approve", &rik).await;
                "Rik (discord)"
            }
            _ => {
                visitor.press_label(&page, "Approve", None).await;
                "the local inbox"
            }
        };
        assert_eq!(waiting.await.unwrap()["reason"], format!("approved by {by}"));
        let line = format!("{}, ", by.split(" (").next().unwrap());
        let gone = || {
            let card = telegram.message(GROUP, chat.id);
            Some(()).filter(|()| card.is_over() && card.text.contains(&line))
        };
        telegram.until("Telegram to tell", gone).await;
        discord
            .until(|m| m.reference == channel.reference && m.is_over() && m.text.contains(&line))
            .await;
        let id = &page["card"]["id"];
        board.card(|card| card["card"]["id"] == *id && card.to_string().contains(&line)).await;

        let late = telegram.told(&telegram.press_data(GROUP, chat.id, &approve, ANA)).await.text;
        assert!(late.starts_with(&format!("Already approved by {by}")), "{late}");
        let late = discord.press_token(&channel.reference, &channel.tokens[0], &rik).await;
        assert!(late.words().unwrap().starts_with(&format!("Already approved by {by}")));
    }
}

#[tokio::test]
async fn two_surfaces_pressed_at_the_same_moment_make_one_answer_and_two_truths() {
    use telegram_server::{ANA, GROUP, TOKEN};
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [approvers]\ntelegram = [{}]\ninbox = true\n",
        telegram.url(),
        ANA.id
    ))
    .await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    for round in 0..5 {
        // Another command each round: a call that was denied is denied again for a minute.
        let id = daemon.ask(&shell(&format!("git push origin round-{round}"))).await;
        let chat = telegram.until("a card", || telegram.open_cards(GROUP).pop()).await;
        let page = board.card(open).await;
        let (yes, no) = tokio::time::timeout(LONG, async {
            tokio::join!(
                telegram.press(GROUP, chat.id, "Approve", ANA),
                visitor.press_label(&page, "Deny", None)
            )
        })
        .await
        .unwrap();
        let verdict = daemon.read(&id).await["verdict"].as_str().unwrap().to_owned();
        match verdict.as_str() {
            "allow" => {
                assert_eq!(yes.text, "Approved once.");
                assert!(no.starts_with("Already approved by Ana (telegram)"), "{no}");
            }
            _ => {
                assert_eq!(no, "Denied.");
                assert!(yes.text.starts_with("Already denied by the local inbox"), "{}", yes.text);
            }
        }
        telegram
            .until("a closed card", || telegram.open_cards(GROUP).is_empty().then_some(()))
            .await;
        board.card(|card| card["card"]["id"] == page["card"]["id"] && !open(card)).await;
    }
}

#[tokio::test]
async fn a_stranger_on_discord_is_refused_even_when_the_inbox_is_open_to_all_here() {
    let discord = FakeDiscord::start().await;
    let daemon = Daemon::start(&format!(
        "[discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \"{}\" }}]\n",
        discord.token(),
        discord.url(),
        discord_server::CHANNEL
    ))
    .await;
    discord.until_online().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = discord.until(|message| !message.is_over()).await;
    let told =
        discord.press(&card.reference, "Approve", &Person::new("1", "the local inbox")).await;
    assert!(matches!(told, Told::Privately(_)), "{told:?}");
    assert_eq!(daemon.read(&id).await["state"], "open", "an empty list means nobody");
}

#[tokio::test]
async fn always_and_silence_in_the_inbox_do_what_they_do_in_the_chats() {
    let daemon = Daemon::start("").await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = board.card(open).await;
    let told = visitor.press_label(&card, "Always", None).await;
    assert!(told.starts_with("Approved, and always from now on:"), "{told}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");

    let id = daemon.ask(&shell("cargo publish")).await;
    let card = board.card(|card| open(card) && card.to_string().contains("cargo publish")).await;
    daemon.deadline_passes(&id).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
    board.card(|card| card["card"]["tone"] == "expired").await;
    let late = visitor.press_label(&card, "Approve", None).await;
    assert!(late.starts_with("Too late: nobody answered"), "{late}");
}

#[tokio::test]
async fn whoever_has_not_come_in_by_the_printed_address_cannot_press() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let mut visitor = Visitor::enter(&daemon.inbox).await;
    let card = visitor.follow().await.card(open).await;
    let token = card["card"]["buttons"][0][0]["token"].as_str().unwrap().to_owned();
    let name = card["card"]["id"].as_str().unwrap().to_owned();
    let key = std::mem::replace(&mut visitor.key, "guessed".to_owned());
    assert_eq!(visitor.press(&name, &token, None).await.0, 401, "a wrong key");
    visitor.key = key;
    let cookie = std::mem::replace(&mut visitor.cookie, "a=b".to_owned());
    assert_eq!(visitor.press(&name, &token, None).await.0, 401, "no cookie");
    visitor.cookie = cookie;
    let body = json!({"card": name, "token": token}).to_string();
    let mut elsewhere = visitor.post(&body).await.unwrap().build().unwrap();
    elsewhere.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    let elsewhere = daemon.http.execute(elsewhere).await.unwrap();
    assert_eq!(elsewhere.status(), 403, "another site");
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_answers_a_call_that_its_line_says_whole_and_an_edit_begins_with_its_text() {
    let daemon = Daemon::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&daemon.inbox).await;
    page.until("document.querySelector('#line').dataset.state === 'live'").await;
    let long = format!("git push origin {}", "x".repeat(120));
    daemon.ask(&shell("sudo rm -rf --no-preserve-root /")).await;
    daemon.ask(&shell(&long)).await;
    let waiting = daemon.waiting(shell("git push origin main"));
    page.until("document.querySelector('.item.whole .approve')").await;
    page.until("!document.querySelector('.settling, [aria-busy=true]')").await;
    let quick = "[...document.querySelectorAll('.quick')].filter((quick) => quick.checkVisibility()) \
                 .map((quick) => quick.closest('.item').querySelector('.first').textContent)";
    assert_eq!(page.eval(quick).await, json!(["git push origin main"]));
    page.click(".item.whole .approve").await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");

    let script = "set -e\ngit fetch\ngit push";
    let mut call = shell(script);
    call["accepts"] = json!(["updated_input"]);
    let edited = daemon.ask(&call).await;
    // The pointer is on the list still.
    page.until("!document.querySelector('#news').hidden").await;
    page.click("#news").await;
    page.until(
        "[...document.querySelectorAll('.item')].some((row) => row.innerText.startsWith('set -e'))",
    )
    .await;
    page.eval("[...document.querySelectorAll('.item a')].find((row) => row.innerText.startsWith('set -e')).click()")
        .await;
    page.until("document.querySelector('#detail h2').innerText.startsWith('set -e')").await;
    page.until("!document.querySelector('.settling, [aria-busy=true]')").await;
    page.click("#detail .menu summary").await;
    page.click("#detail [data-slot='Edit…']").await;
    page.until("document.activeElement.value?.includes('git fetch')").await;
    let field = "(({ value, rows, scrollHeight, clientHeight }) => \
                 JSON.stringify([value, rows, scrollHeight <= clientHeight]))(document.activeElement)";
    assert_eq!(page.eval(field).await, json!(json!([script, 3, true]).to_string()));
    page.key("Enter").await;
    page.write("git status").await;
    page.eval("document.activeElement.form.requestSubmit()").await;
    page.until("document.querySelector('#detail .diff')").await;
    assert!(page.text().await.contains("Approve as changed"));
    assert_eq!(daemon.read(&edited).await["state"], "open");
}
