//! The list beside the detail: order, groups, search, keys, the phone's way back, several together.

use crate::support::{
    Desk,
    browser::{Browser, Page},
    cards::{command, question},
};
use countersign_port::{Button, ButtonStyle, Card, Tone};
use serde_json::json;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]')";
const ROWS: &str = "[...document.querySelectorAll('#open .item')].map((row) => row.dataset.ask)";

async fn look(desk: &Desk) -> Option<(Browser, Page)> {
    let browser = Browser::start().await?;
    let page = browser.open(&desk.address()).await;
    page.until(LIVE).await;
    Some((browser, page))
}

/// A card of this project, with this much less time than others.
fn of(id: &str, origin: &str, sooner: i64) -> Card {
    let mut card = command(id, &format!("make {id}"));
    card.title = format!("make {id}");
    card.origin = origin.to_owned();
    card.deadline = card.deadline.map(|deadline| deadline - sooner);
    card
}

fn critical(id: &str) -> Card {
    let mut card = Card { tone: Tone::Critical, ..of(id, "codex · api on atlas", 0) };
    card.buttons = vec![vec![Button {
        token: format!("{id}.1.d"),
        label: "Deny".to_owned(),
        style: ButtonStyle::Deny,
    }]];
    card
}

#[tokio::test(flavor = "multi_thread")]
async fn critical_requests_come_first_then_those_with_the_least_time_by_agent_and_project() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&of("late", "claude-code · shop on atlas", 0)).await;
    page.until("document.querySelector('[data-id=late]')").await;
    desk.post(&of("soon", "claude-code · shop on atlas", 60_000)).await;
    desk.post(&of("other", "claude-code · api on atlas", 30_000)).await;
    desk.post(&critical("danger")).await;
    page.until("document.title === '(4) countersign'").await;
    assert_eq!(page.eval(ROWS).await, json!(["danger", "soon", "late", "other"]));
    let titles = "[...document.querySelectorAll('#open .group-title')].map((t) => t.innerText)";
    assert_eq!(
        page.eval(titles).await,
        json!(["Critical\n1", "claude-code\nshop on atlas\n2", "claude-code\napi on atlas\n1"])
    );
    // The first that came is shown, and stays shown whatever comes after it.
    assert_eq!(page.eval("document.querySelector('#detail .card').dataset.id").await, "late");
    assert_eq!(
        page.eval("document.querySelector('[aria-current=true]').innerText.split('\\n')[0]").await,
        "make late"
    );
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn search_and_chips_narrow_the_list() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&of("one", "claude-code · shop on atlas", 0)).await;
    desk.post(&of("two", "codex · shop on atlas", 0)).await;
    desk.post(&question("single")).await;
    page.until("document.title === '(3) countersign'").await;
    page.key("/").await;
    page.until("document.activeElement.id === 'search'").await;
    page.write("ATLAS make two").await;
    page.until(&format!("JSON.stringify({ROWS}) === '[\"two\"]'")).await;
    page.write(" nothing").await;
    page.until("!document.querySelector('#none').hidden").await;
    page.click("#widen").await;
    page.until(&format!("{ROWS}.length === 3")).await;
    page.click("[data-kind=questions]").await;
    page.until(&format!("JSON.stringify({ROWS}) === '[\"single\"]'")).await;
    let chips = "[...document.querySelectorAll('.chip')].map((chip) => chip.innerText)";
    assert_eq!(
        page.eval(chips).await,
        json!(["All 3", "Critical 0", "Questions 1", "claude-code 2", "codex 1"])
    );
    page.click("[data-kind='@codex']").await;
    page.until(&format!("JSON.stringify({ROWS}) === '[\"two\"]'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_the_list_moves_while_the_pointer_is_on_it() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&of("one", "claude-code · shop on atlas", 0)).await;
    page.until("document.querySelector('.item')").await;
    page.until(STILL).await;
    page.click(".item[data-ask=one] a").await;
    let top = "document.querySelector('.item[data-ask=one]').getBoundingClientRect().top";
    let was = page.eval(top).await;
    desk.post(&critical("danger")).await;
    page.until("!document.querySelector('#news').hidden").await;
    let news = page.eval("document.querySelector('#news').innerText").await;
    assert_eq!(news, "1 new request, critical ↑");
    assert_eq!((page.eval(top).await, page.eval(ROWS).await), (was, json!(["one"])));
    assert_eq!(page.eval("document.title").await, "(2) countersign");
    page.click("#news").await;
    page.until(&format!("JSON.stringify({ROWS}) === '[\"danger\",\"one\"]'")).await;
    assert_eq!(page.eval("document.querySelector('#news').hidden").await, true);
    // Who searches wants to see what fits, wherever the pointer is.
    page.click(".item[data-ask=one] a").await;
    desk.post(&of("two", "claude-code · shop on atlas", 0)).await;
    page.until("!document.querySelector('#news').hidden").await;
    let search = "const field = document.querySelector('#search'); field.value = 'two'; \
                  field.dispatchEvent(new Event('input'))";
    page.eval(search).await;
    page.until(&format!("JSON.stringify({ROWS}) === '[\"two\"]'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_a_request_has_the_whole_screen_and_back_leads_to_the_list() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    page.size(375, 700).await;
    desk.post(&of("one", "claude-code · shop on atlas", 60_000)).await;
    desk.post(&of("two", "claude-code · shop on atlas", 0)).await;
    page.until("document.title === '(2) countersign'").await;
    let seen = "['.list-pane', '.detail-pane', '.pages'].map((part) => \
                document.querySelector(part).checkVisibility())";
    assert_eq!(page.eval(seen).await, json!([true, false, true]));
    page.click(".item[data-ask=two] a").await;
    page.until("location.hash === '#/ask/two'").await;
    assert_eq!(page.eval(seen).await, json!([false, true, false]));
    assert_eq!(page.eval("document.querySelector('#place').innerText").await, "2 of 2");
    page.eval("history.back()").await;
    page.until("document.body.dataset.view === 'list'").await;
    assert_eq!(page.eval(seen).await, json!([true, false, true]));
    let row = "document.activeElement.closest('.item')?.dataset.ask";
    assert_eq!(page.eval(row).await, "two", "the focus is where it was");
    page.click(".item[data-ask=one] a").await;
    page.until("document.querySelector('[data-id=one]')").await;
    page.until(STILL).await;
    page.click("[data-slot=Deny]").await;
    page.until("document.querySelector('.outcome')").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.d");
    let next = page.eval("document.querySelector('#next').innerText").await;
    assert_eq!(next, "Next of 1: make two");
    page.click("#next").await;
    page.until("document.querySelector('[data-id=two]')").await;
    page.click("#back").await;
    page.until("document.body.dataset.view === 'list' && location.hash === ''").await;
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_reached_by_keys_and_a_dialog_shows_them() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&of("one", "claude-code · shop on atlas", 60_000)).await;
    desk.post(&of("two", "claude-code · shop on atlas", 0)).await;
    page.until("document.title === '(2) countersign'").await;
    page.until(STILL).await;
    page.key("?").await;
    page.until("document.querySelector('#keys').open").await;
    page.key("j").await;
    page.key("Escape").await;
    page.until("!document.querySelector('#keys').open").await;
    page.key("j").await;
    page.until("document.activeElement.dataset.id === 'one'").await;
    page.key("Escape").await;
    let row = "document.activeElement.closest('.item')?.dataset.ask";
    page.until(&format!("{row} === 'one'")).await;
    page.key("j").await;
    page.until("document.activeElement.dataset.id === 'two'").await;
    page.key("Escape").await;
    page.until(&format!("{row} === 'two'")).await;
    page.key("Enter").await;
    page.until("document.activeElement.dataset.id === 'two'").await;
    page.until(STILL).await;
    page.key("a").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "two.1.a");
    assert!(desk.presses.try_recv().is_err(), "nothing else was pressed");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_are_answered_together_each_by_its_own_press_and_never_critical_ones() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    for id in ["one", "two", "three"] {
        desk.post(&of(id, "claude-code · shop on atlas", 0)).await;
    }
    desk.post(&critical("danger")).await;
    desk.post(&question("single")).await;
    page.until("document.title === '(5) countersign'").await;
    page.click("#select").await;
    let boxes = "[...document.querySelectorAll('.pick')].filter((box) => box.checkVisibility()) \
                 .map((box) => box.closest('.item').dataset.ask)";
    assert_eq!(page.eval(boxes).await, json!(["one", "two", "three"]));
    for id in ["one", "three"] {
        page.click(&format!(".item[data-ask={id}] a")).await;
    }
    page.until("document.querySelector('.several h2').innerText === '2 selected'").await;
    page.until(STILL).await;
    assert!(page.text().await.contains("make three"));
    page.click(".several [data-slot=Approve]").await;
    page.until("document.querySelector('.several h2').innerText === '2 answered'").await;
    let mut tokens = vec![];
    while let Ok(press) = desk.presses.try_recv() {
        tokens.push(press.token);
    }
    assert_eq!(tokens, ["one.1.a", "three.1.a"]);
    let told = "[...document.querySelectorAll('.several li')].map((li) => \
                [li.dataset.ask, li.querySelector('.receipt').innerText])";
    let expected = json!([["one", "Approved once."], ["three", "Approved once."]]);
    assert_eq!(page.eval(told).await, expected);
    page.until(STILL).await;
    page.click(".several [data-slot=Done]").await;
    page.until("!document.querySelector('.several')").await;
    assert_eq!(page.eval("document.title").await, "(3) countersign");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_after_it_was_selected_is_not_answered() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    for id in ["one", "two"] {
        desk.post(&of(id, "claude-code · shop on atlas", 0)).await;
    }
    page.until("document.title === '(2) countersign'").await;
    page.click("#select").await;
    for id in ["one", "two"] {
        page.click(&format!(".item[data-ask={id}] a")).await;
    }
    page.until("document.querySelector('.several')").await;
    page.until(STILL).await;
    // The second becomes another call while the first is being answered.
    let mut changed = of("two", "claude-code · shop on atlas", 0);
    (changed.revision, changed.title) = (2, "rm -rf ~".to_owned());
    let held = desk.core.cards.lock().await;
    page.click(".several [data-slot=Approve]").await;
    page.until("document.querySelector('.several h2').innerText === 'Answering 2…'").await;
    desk.update(&changed).await;
    page.until("document.body.innerText.includes('rm -rf ~')").await;
    drop(held);
    page.until("document.querySelector('.several h2').innerText === '1 answered, 1 not'").await;
    assert!(page.text().await.contains("It has changed, so nothing was pressed. Open it."));
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.a");
    assert!(desk.presses.try_recv().is_err(), "the changed one was not pressed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_stored_a_rule_offers_undo_on_its_card() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let mut card = of("one", "claude-code · shop on atlas", 0);
    desk.post(&card).await;
    page.until("document.querySelector('[data-slot=Approve]')").await;
    (card.revision, card.tone, card.deadline) = (2, Tone::Approved, None);
    card.buttons = vec![vec![Button {
        token: "one.2.u".to_owned(),
        label: "Undo".to_owned(),
        style: ButtonStyle::Choice,
    }]];
    desk.core.cards.lock().await.push(card.clone());
    desk.update(&card).await;
    page.until("document.querySelector('[data-slot=Undo]')").await;
    page.until(STILL).await;
    page.key("j").await;
    page.key("u").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.2.u");
}

/// The same call once more, on a card of its own.
fn again(id: &str) -> Card {
    let mut card = of(id, "claude-code · shop on atlas", 0);
    let first = of("all", "claude-code · shop on atlas", 0);
    (card.title, card.blocks) = (first.title, first.blocks);
    card
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_again_is_one_row_and_a_group_is_selected_at_once() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    for id in ["one", "two", "three"] {
        desk.post(&again(id)).await;
    }
    desk.post(&of("other", "claude-code · shop on atlas", -60_000)).await;
    desk.post(&of("apart", "codex · shop on atlas", -90_000)).await;
    page.until("document.title === '(5) countersign'").await;
    assert_eq!(page.eval(ROWS).await, json!(["one", "other", "apart"]));
    let first = "document.querySelector('.item[data-ask=one] .gist').innerText";
    assert_eq!(page.eval(first).await, "make all ×3");
    page.click("#select").await;
    page.click(".item[data-ask=one] a").await;
    page.until("document.querySelector('.several h2').innerText === '3 selected'").await;
    page.click(".group .all").await;
    page.until("document.querySelector('.several h2').innerText === '4 selected'").await;
    page.click(".group .all").await;
    page.until("!document.querySelector('.several')").await;
    page.click(".group .all").await;
    page.until("document.querySelector('.several h2').innerText === '4 selected'").await;
    page.until(STILL).await;
    page.click(".several [data-slot=Deny]").await;
    page.until("document.querySelector('.several h2').innerText === '4 answered'").await;
    let mut tokens = vec![];
    while let Ok(press) = desk.presses.try_recv() {
        tokens.push(press.token);
    }
    tokens.sort_unstable();
    assert_eq!(tokens, ["one.1.d", "other.1.d", "three.1.d", "two.1.d"]);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_requests_of_one_group_the_most_urgent_are_rows_until_all_are_wanted() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    for at in 0..12 {
        let sooner = -1000 * at;
        desk.post(&of(&format!("n{at}"), "claude-code · shop on atlas", sooner)).await;
    }
    page.until("document.title === '(12) countersign'").await;
    page.until(&format!("{ROWS}.length === 6")).await;
    assert_eq!(page.eval(ROWS).await, json!(["n0", "n1", "n2", "n3", "n4", "n5"]));
    assert_eq!(page.eval("document.querySelector('.group .many').innerText").await, "12");
    assert_eq!(page.eval("document.querySelector('.rest').innerText").await, "Show 6 more");
    page.click(".rest").await;
    page.until(&format!("{ROWS}.length === 12")).await;
    assert_eq!(page.eval("document.querySelector('.rest').checkVisibility()").await, false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_answers_only_what_its_line_says_whole_and_only_once_it_stands_still() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&of("partly", "claude-code · shop on atlas", 0)).await;
    desk.post(&Card { whole: true, ..critical("danger") }).await;
    // A press in the very moment in which the row comes.
    page.eval(
        "void new MutationObserver((_, observer) => { \
           const button = document.querySelector('.item[data-ask=whole] .approve'); \
           if (!button) return; \
           observer.disconnect(); \
           setTimeout(() => button.click()); \
         }).observe(document.querySelector('#open'), { childList: true, subtree: true })",
    )
    .await;
    desk.post(&Card { whole: true, ..of("whole", "claude-code · shop on atlas", 0) }).await;
    let hint = "document.querySelector('.item[data-ask=whole] .hint')?.innerText";
    page.until(&format!("{hint}?.includes('nothing was pressed')")).await;
    let quick = "[...document.querySelectorAll('.quick')].filter((quick) => quick.checkVisibility()) \
                 .map((quick) => quick.closest('.item').dataset.ask)";
    assert_eq!(page.eval(quick).await, json!(["whole"]));
    assert!(desk.presses.try_recv().is_err(), "nothing was pressed");
    page.until(STILL).await;
    page.click(".item[data-ask=whole] .approve").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "whole.1.a");
    page.until("document.querySelector('.item[data-ask=whole]').dataset.tone === 'approved'").await;
    page.until(&format!("{hint}.startsWith('Approved')")).await;
    assert_eq!(page.eval(quick).await, json!([]));
    assert!(desk.presses.try_recv().is_err(), "nothing else was pressed");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_notifies_once_and_a_critical_request_on_its_own() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    page.allow_notifications(&format!("http://{}", desk.at)).await;
    page.eval("localStorage.setItem('countersign-notify', 'on')").await;
    page.eval("void (window.before = true, setTimeout(() => location.reload()))").await;
    page.until(&format!("!window.before && document.querySelector('#line') && {LIVE}")).await;
    page.eval(
        "void (document.hasFocus = () => false, window.rang = [], window.Notification = class { \
           constructor(title, { tag, body }) { rang.push([title, tag, body]); } \
           addEventListener() {} })",
    )
    .await;
    for (count, id) in ["one", "two", "three"].into_iter().enumerate() {
        desk.post(&of(id, "claude-code · shop on atlas", 0)).await;
        page.until(&format!("rang.length === {}", count + 1)).await;
    }
    desk.post(&critical("danger")).await;
    page.until("rang.length === 4").await;
    let from = "claude-code · shop on atlas";
    let rang = json!([
        ["make one", "one", from],
        ["2 new requests", "one", from],
        ["3 new requests", "one", from],
        ["🛑 CRITICAL make danger", "danger", "codex · api on atlas"]
    ]);
    assert_eq!(page.eval("rang").await, rang, "the same tag takes the place of the one before");
    assert_eq!(page.complaints(), Vec::<String>::new());
}
