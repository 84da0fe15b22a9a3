//! The pages beside the inbox in a real browser: History, Grants, Sessions, Rules, Status.

use crate::support::{
    Desk,
    browser::{Browser, Page},
    cards::command,
};
use serde_json::json;
use std::collections::BTreeMap;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";

async fn look(desk: &Desk) -> Option<(Browser, Page)> {
    let browser = Browser::start().await?;
    let page = browser.open(&desk.address()).await;
    page.until(LIVE).await;
    Some((browser, page))
}

/// Goes to a page by its link.
async fn go(page: &Page, name: &str) {
    page.click(&format!(".pages a[data-page={name}]")).await;
    page.until(&format!("document.querySelector('#{name} h2')")).await;
}

const IDS: &str = "[...document.querySelectorAll('.records .item')].map((row) => row.dataset.ask)";

#[tokio::test(flavor = "multi_thread")]
async fn the_history_comes_in_pages_and_its_filters_reach_the_daemon() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    go(&page, "history").await;
    page.until(&format!("{IDS}.length === 2")).await;
    page.click(".more-records").await;
    page.until(&format!("{IDS}.length === 4")).await;
    page.click(".more-records").await;
    page.until("document.querySelector('.more-records').hidden").await;
    assert_eq!(page.eval(IDS).await, json!(["k3f0", "k3f1", "k3f2", "k3f3", "k3f4"]));
    let said = "[...document.querySelectorAll('.records .hint')].map((hint) => hint.innerText)";
    assert_eq!(
        page.eval(said).await,
        json!([
            "Allowed · Ana (telegram) · stored shell: git push * · undone by Ana (telegram)",
            "Denied · Ana (telegram) · “Not on a Friday”",
            "Timed out · Ana (telegram)",
            "Allowed · Ana (telegram)",
            "Cancelled · Ana (telegram)",
        ])
    );
    assert!(page.text().await.contains("git push <b>0</b>"), "what agents write is shown as it is");
    page.click("[name=agent]").await;
    page.write("codex").await;
    page.until(&format!("JSON.stringify({IDS}) === '[\"k3f1\"]'")).await;
    page.click("[name=person]").await;
    page.write("Ana").await;
    page.eval(
        "(() => { const verdict = document.querySelector('[name=verdict]'); \
         verdict.value = 'allow'; verdict.dispatchEvent(new Event('change')) })()",
    )
    .await;
    page.until("document.querySelector('#history .said').innerText.includes('No closed request')")
        .await;
    let last = desk.records.filters.lock().unwrap().last().unwrap().clone();
    let expected = [("agent", "codex"), ("person", "Ana"), ("verdict", "allow")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(last, BTreeMap::from(expected));
    page.click("[name=rule]").await;
    page.write("(").await;
    page.until("document.querySelector('#history .wrong')?.innerText === '`rule` is not a rule.'")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_the_history_opens_in_whole_and_back_leads_to_the_list() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    go(&page, "history").await;
    page.until(&format!("{IDS}.length === 2")).await;
    page.click(".item[data-ask=k3f0] a").await;
    page.until("document.querySelector('.record')").await;
    assert_eq!(page.eval("location.hash").await, "#/history/k3f0");
    let text = page.text().await;
    for shown in [
        "git push <b>0</b>",
        "stored: git push *",
        "“Ship it”",
        "By\nAna (telegram)",
        "Through\ntelegram",
        "Scope\nAlways",
        "Stored\nshell: git push *",
        "Undone by\nAna (telegram)",
        "telegram -1001 · delivered",
        "discord 77 · not delivered: the bot may not write",
        "\"command\": \"git push <b>\"",
        "9f86d081884c7d65",
    ] {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    page.eval("history.back()").await;
    page.until("location.hash === '#/history' && document.querySelector('.records')").await;
    page.eval("location.hash = '#/history/nothing'").await;
    page.until("document.querySelector('#history .wrong')").await;
    assert!(page.text().await.contains("There is no ask `nothing`."));
    assert!(page.complaints().iter().all(|said| said.contains("/history/nothing")), "its 404");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_revoked_after_a_second_press_and_a_refusal_is_shown() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    go(&page, "grants").await;
    page.until("document.querySelectorAll('.tile').length === 2").await;
    let text = page.text().await;
    for shown in [
        "Until\nthe session ends",
        "Until\nit is revoked",
        "By\nBen (discord)",
        "Used\n3 times",
        "git push origin main",
    ] {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    *desk.records.refuses.lock().unwrap() = Some("This inbox may not answer.");
    page.click("[data-grant=g1] .quiet").await;
    page.until("document.activeElement.innerText === 'Keep'").await;
    page.click("[data-grant=g1] .danger").await;
    page.until("document.querySelector('#grants .wrong')").await;
    assert!(page.text().await.contains("This inbox may not answer."));
    *desk.records.refuses.lock().unwrap() = None;
    page.click("[data-grant=g1] .quiet").await;
    page.click("[data-grant=g1] .danger").await;
    page.until("document.querySelectorAll('.tile').length === 1").await;
    assert!(page.text().await.contains("Revoked: shell: git push *"));
    let left: Vec<_> =
        desk.records.grants.lock().unwrap().iter().map(|g| g["id"].clone()).collect();
    assert_eq!(left, ["g2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_lead_to_what_they_wait_for() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    // Its ask is `a7f3`.
    desk.post(&command("one", "ls")).await;
    page.until("document.querySelector('.item')").await;
    go(&page, "sessions").await;
    page.until("document.querySelectorAll('.tile').length === 2").await;
    let text = page.text().await;
    for shown in
        ["claude-code", "2 waiting", "Mode\nyolo", "Folder\n/home/ana/shop", "nothing waits"]
    {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    let links = "[...document.querySelectorAll('.waits-for a')].map((link) => \
                 [link.getAttribute('href'), link.innerText])";
    let expected =
        json!([["#/ask/one", "claude-code wants to run a command"], ["#/history/zz99", "zz99"]]);
    assert_eq!(page.eval(links).await, expected);
    page.click(".waits-for a").await;
    page.until("document.querySelector('[data-id=one]').checkVisibility()").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_names_what_is_wrong_and_how_to_fix_it() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    go(&page, "status").await;
    page.until("document.querySelector('.verdict')").await;
    let text = page.text().await;
    for shown in [
        "3 problems",
        "The key of the log: log.key is gone. Fix: put it back.",
        "Presses in discord are not received.",
        "The store: The disk is full. Fix: Free some space.",
        "telegram\nworking\nLed by\nmill-1f.k3",
        "discord\nnot working\n\nthe token was refused",
        "3 cards for telegram -1001, since",
        "Version\n0.1.0",
        "Waiting\n4 requests",
    ] {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_still_there_after_a_reload_and_keys_lead_to_each() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let titles = ["Waiting for you", "History", "Grants", "Sessions", "Rules", "Status"];
    for (key, title) in [("2", 1), ("3", 2), ("4", 3), ("5", 4), ("6", 5), ("1", 0)] {
        page.key("g").await;
        page.key(key).await;
        let shown = "[...document.querySelectorAll('main h2')].find((h) => h.checkVisibility())";
        page.until(&format!("{shown}?.innerText === '{}'", titles[title])).await;
    }
    assert!(page.complaints().iter().all(|said| said.contains("/inbox/api/status")), "its 503");
    go(&page, "grants").await;
    page.eval("void setTimeout(() => location.reload())").await;
    page.until("document.querySelectorAll('.tile').length === 2").await;
    assert_eq!(page.eval("location.hash").await, "#/grants");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_request_says_who_can_answer_it_and_goes_on_saying_so_when_it_is_drawn_anew() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&command("build", "make deploy")).await;
    page.until("document.querySelector('.answerers summary')").await;
    // By keys alone.
    page.eval("document.querySelector('.answerers summary').focus()").await;
    page.key("Enter").await;
    page.until("document.querySelectorAll('.answerers li').length === 3").await;
    let text = page.text().await;
    for shown in [
        "push: 2 approvals of ops; 1 denial denies; not the one who asks.",
        "Ana (telegram, token) · away",
        "Ben <b> (discord) · Only members of ops may answer this.",
        "ops · everyone with its role in the chat",
        "Nobody can approve this now",
        "push: shown at room (telegram).",
        "members of leads may answer too",
    ] {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    let counts = "[...document.querySelectorAll('.answerers li')].map((li) => li.dataset.counts)";
    assert_eq!(page.eval(counts).await, json!(["yes", "no", "by_role"]));
    // Nothing of it reaches beyond what scrolls: the page itself never does.
    let beyond = "document.scrollingElement.scrollHeight - document.scrollingElement.clientHeight";
    assert_eq!(page.eval(beyond).await, 0);
    let mut changed = command("build", "make deploy");
    (changed.revision, changed.title) = (2, "make deploy, 1 of 2".to_owned());
    desk.update(&changed).await;
    page.until("document.querySelector('.card h2').innerText.includes('1 of 2')").await;
    page.until("document.querySelectorAll('.answerers[open] li').length === 3").await;
    // A closed one is answered.
    desk.visitor().await.press("build", "build.1.w", None).await;
    page.until("document.querySelector('.card[data-tone=approved]')").await;
    assert_eq!(page.eval("document.querySelectorAll('.answerers').length").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_say_who_could_answer_a_command_of_an_agent_on_a_machine() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    go(&page, "rules").await;
    let form = "document.querySelector('[data-form=answerers]')";
    let said = format!("{form}.parentElement.querySelector('.said:not([aria-busy])')");
    page.click("[data-form=answerers] [name=command]").await;
    page.write("make deploy").await;
    page.click("[data-form=answerers] [name=agent]").await;
    page.write("codex").await;
    page.key("Enter").await;
    page.until(&format!("{said}?.querySelectorAll('li').length === 3")).await;
    assert!(page.text().await.contains("codex: 2 approvals of ops"), "the agent is asked for");
    page.eval(&format!("{form}.elements.command.value = 'ls'; {form}.requestSubmit()")).await;
    page.until(&format!("{said}?.innerText.includes('Nobody is asked: your rules allow this.')"))
        .await;
    assert_eq!(page.complaints(), Vec::<String>::new());
}
