#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
use super::*;
use countersign_domain::{Answer, Body, By, StoppedClock, call::Call};
use countersign_store::BundleRow;
use serde_json::json;

/// An open ask for this command.
pub(crate) fn ask_to_run(command: &str) -> Ask {
    let mut call = Call::new("claude-code", "s", "shell_exec", json!({"command": command}));
    call.cwd = Some("/home/ana/shop".to_owned());
    let id: String = format!("ask-{command}").chars().take(12).collect();
    let opened = Ask::opened(id, call.digest(), Body::new(call, "no rule"), 0);
    Ask { deadline_at: Some(300_000), ..opened }
}

fn bundle(revision: i64, members: &[(i64, &str)]) -> Bundle {
    let row = BundleRow {
        nonce: "bundle-of-22-letters--".to_owned(),
        message: None,
        revision,
        attempts: 0,
    };
    let member = |(at, (joined, command)): (usize, &(i64, &str))| Member {
        card: format!("card-{at:017}"),
        joined: *joined,
        seen: *joined > 0,
        ask: ask_to_run(command),
    };
    Bundle { row, members: members.iter().enumerate().map(member).collect() }
}

fn deny(member: &mut Member) {
    let by = By::Person { platform: "telegram".into(), id: "1".into(), name: "Ana".into() };
    member.ask.state = State::Answered(Answer::new(Decision::Deny, by, 60_000));
}

fn labels(card: &Card) -> Vec<&str> {
    card.buttons.iter().flatten().map(|button| button.label.as_str()).collect()
}

fn text(card: &Card) -> String {
    let text = |block: &Block| match block {
        Block::Code { text, .. } | Block::Note { text } | Block::Outcome { text } => text.clone(),
        _ => String::new(),
    };
    card.blocks.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn requests_that_one_line_says_in_full_are_approved_together_and_others_only_denied() {
    let card =
        draw(&bundle(1, &[(1, "scp b-1 prod:"), (1, "scp b-2 prod:"), (0, "rm -rf /")]), "st");
    assert_eq!(card.title, "2 requests from claude-code · shop");
    assert_eq!(text(&card), "2 × scp b-N prod:  (N: 1, 2)");
    assert_eq!(labels(&card), ["Review", "Approve these 2", "Deny all 2"]);
    let card = draw(&bundle(1, &[(1, "scp b-1 prod:"), (1, "make")]), "st");
    assert_eq!(labels(&card), ["Review", "Deny all 2"]);
}

#[test]
fn a_bundle_in_a_pause_says_so_and_has_no_button_that_approves() {
    for (command, wanted) in [("make a2", vec!["Review", "Deny all 2"]), ("make a1", vec!["Deny"])]
    {
        let mut bundle = bundle(1, &[(1, "make a1"), (1, command)]);
        for member in &mut bundle.members {
            member.ask.stopped = Some(StoppedClock { left_ms: None });
        }
        let card = draw(&bundle, "storeid0");
        assert!(text(&card).contains("Paused: nothing is approved until /resume."), "{card:?}");
        assert_eq!(labels(&card), wanted);
    }
}

#[test]
fn the_same_call_twice_is_its_own_card_with_a_count_and_its_buttons_say_which_revision() {
    let mut twice = bundle(3, &[(1, "make"), (3, "make")]);
    let card = draw(&twice, "storeid0");
    assert!(card.title.ends_with(" ×2"), "{}", card.title);
    let tokens: Vec<_> =
        card.buttons.iter().flatten().map(|it| ButtonToken::read(&it.token).unwrap()).collect();
    assert!(tokens.len() >= 2);
    assert!(tokens.iter().all(|it| it.step == 3 && it.nonce == twice.row.nonce), "{tokens:?}");
    deny(&mut twice.members[0]);
    assert!(!draw(&twice, "storeid0").title.contains('×'));
}

#[test]
fn a_press_reaches_what_its_revision_showed_and_nothing_that_came_later_or_has_ended() {
    let mut bundle = bundle(2, &[(1, "make a"), (1, "make b"), (2, "make c"), (0, "make d")]);
    deny(&mut bundle.members[0]);
    let shown =
        |revision| shown_by(&bundle, revision).iter().map(|it| it.card.clone()).collect::<Vec<_>>();
    let cards: Vec<_> = bundle.members.iter().map(|member| member.card.clone()).collect();
    assert_eq!(shown(0), Vec::<String>::new());
    assert_eq!(shown(1), cards[1..2]);
    assert_eq!(shown(2), cards[1..3]);
    assert_eq!(shown(9_999), cards[1..3], "a forged revision shows no more than the newest");
}

#[test]
fn review_goes_through_the_open_requests_one_by_one_with_their_own_buttons() {
    let mut bundle = bundle(1, &[(1, "make a"), (1, "make b"), (1, "make c")]);
    deny(&mut bundle.members[1]);
    let first = page(&bundle, 0, "storeid0");
    let own = ButtonToken::read(&first.buttons[0][0].token).unwrap();
    assert_eq!(
        (own.nonce.as_str(), own.pressed),
        (&*bundle.members[0].card, Pressed::Approve(Scope::Once))
    );
    let next = ButtonToken::read(&first.buttons.last().unwrap()[1].token).unwrap();
    assert_eq!((next.pressed, next.step), (Pressed::Page, 1));
    let second = page(&bundle, 1, "storeid0");
    assert!(second.title == "make c" && text(&second).contains("2 of 2"), "{second:?}");
    assert_eq!(page(&bundle, 3, "storeid0").title, "make a", "it goes round");
    bundle.members.iter_mut().for_each(deny);
    let card = page(&bundle, 0, "storeid0");
    assert_eq!((card.tone, card.buttons.len()), (Tone::Denied, 0));
    assert!(text(&card).contains("3 denied by Ana (telegram) at 00:01"), "{}", text(&card));
}
