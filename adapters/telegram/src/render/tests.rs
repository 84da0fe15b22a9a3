#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use countersign_port::testkit::{closed, sample_card};
use proptest::prelude::*;

fn now() -> Timestamp {
    // Five minutes before the sample card's deadline.
    Timestamp::from_millisecond(1_795_221_291_475 - 300_000).unwrap()
}

fn draw(card: &Card) -> Rendered {
    render(card, now())
}

/// What Telegram's HTML mode makes of a text that holds only our tags.
fn unescaped(html: &str) -> String {
    let mut text = html.to_owned();
    for tag in ["b", "code", "pre"] {
        text = text.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "");
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn an_open_card_shows_all_of_it() {
    let card = sample_card("rm -rf build/* && echo \"<done> & `dusted`\" </code></pre> @everyone");
    insta::assert_snapshot!(draw(&card).page.html(), @r#"
    <b>🔔 claude-code wants to run a command</b>

    <b>command</b>
    <pre>rm -rf build/* &amp;&amp; echo &quot;&lt;done&gt; &amp; `dusted`&quot; &lt;/code&gt;&lt;/pre&gt; @everyone</pre>

    <b>reason</b>
    <code>Clean the *build* &lt;b&gt;now&lt;/b&gt;</code>

    agent: <code>claude-code</code>
    folder: <code>/home/ana/shop</code>

    ℹ️ Always stores: shell: rm build/*

    ask a7f3 · ⏳ expires 00:34:51 UTC, in 5 min
    "#);
}

#[test]
fn padding_pushes_nothing_out_of_sight_and_all_of_it_is_attached() {
    let padded = format!("ls{}{}; rm -rf ~", "\n".repeat(60), " ".repeat(900));
    let drawn = draw(&sample_card(&padded));
    let text = drawn.page.text();
    assert!(text.contains("ls\n⋮ 59 empty lines\n ⋯900 blanks⋯ ; rm -rf ~\n"), "{text}");
    assert_eq!(drawn.files[0].text, padded);
}

#[test]
fn a_closed_card_keeps_its_text_and_loses_its_buttons() {
    let drawn = draw(&closed(&sample_card("ls")));
    assert_eq!(drawn.keyboard, None);
    insta::assert_snapshot!(drawn.page.html(), @r#"
    <b>✅ claude-code wants to run a command</b>

    <b>command</b>
    <pre>ls</pre>

    <b>reason</b>
    <code>Clean the *build* &lt;b&gt;now&lt;/b&gt;</code>

    agent: <code>claude-code</code>
    folder: <code>/home/ana/shop</code>

    ℹ️ Always stores: shell: rm build/*

    ➤ Approved once by Ana, 12:03

    ask a7f3
    "#);
}

#[test]
fn a_long_command_shows_head_and_tail_says_what_is_missing_and_comes_as_a_file() {
    let long = format!("echo start; {} rm -rf tail-end", "printf '%s' x; ".repeat(2_000));
    let drawn = draw(&sample_card(&long));
    let text = drawn.page.text();
    assert_eq!(drawn.files, [File { name: "a7f3-command.txt".into(), text: long.clone() }]);
    assert!(text.contains("echo start; printf") && text.contains("rm -rf tail-end"), "{text}");
    let shown: usize = text.matches("printf '%s' x; ").map(str::len).sum();
    let said = text.split_once("⚠️ ").unwrap().1.split_once(' ').unwrap().0;
    let hidden: usize = said.parse().unwrap();
    let rest = long.len() - hidden;
    assert!(rest >= shown && rest - shown < 100, "{hidden} hidden, at least {shown} shown");
}

#[test]
fn invisible_characters_are_shown_and_the_exact_text_is_attached() {
    let hostile = "cp a\u{202e}txt.exe\u{0}b\u{200b}\r\n</code>";
    let drawn = draw(&sample_card(hostile));
    let text = drawn.page.text();
    assert!(text.contains("cp a\\u{202e}txt.exe\\u{0}b\\u{200b}\\u{d}\n</code>"), "{text}");
    assert!(text.contains("invisible characters are shown as"), "{text}");
    assert_eq!(drawn.files, [File { name: "a7f3-command.txt".into(), text: hostile.into() }]);
}

#[test]
fn a_closed_card_promises_no_file_and_has_none() {
    let mut card = closed(&sample_card(&"x".repeat(5_000)));
    card.blocks.push(Block::Note { text: "n".repeat(5_000) });
    card.blocks.push(Block::Outcome { text: "o".repeat(5_000) });
    let drawn = draw(&card);
    assert_eq!(drawn.files, []);
    let text = drawn.page.text();
    assert!(text.contains(" characters are not shown here\n"), "{text}");
    assert!(!text.contains("attached"), "{text}");
}

#[test]
fn a_short_command_leaves_room_for_long_notes_and_fields() {
    let mut card = sample_card("ls");
    let note = format!("Always stores: {}", "shell: rm build/*, ".repeat(50));
    let value = "long ".repeat(100);
    let field = Field { name: "1".into(), value: value.clone() };
    card.blocks = vec![
        card.blocks[0].clone(),
        Block::Fields { fields: vec![field] },
        Block::Note { text: note.clone() },
    ];
    let drawn = draw(&card);
    assert!(drawn.page.text().contains(&note) && drawn.page.text().contains(&value));
    assert_eq!(drawn.files, []);
}

#[test]
fn notes_and_fields_that_are_cut_are_attached_whole() {
    let mut card = sample_card(&"x".repeat(5_000));
    let note = format!("Always stores: {}", "shell: rm build/*, ".repeat(50));
    let fields = (0..9).map(|n| Field { name: n.to_string(), value: "v".repeat(200) }).collect();
    card.blocks =
        vec![card.blocks[0].clone(), Block::Fields { fields }, Block::Note { text: note.clone() }];
    let drawn = draw(&card);
    let text = drawn.page.text();
    assert!(text.contains("… and 6 more") && text.contains(" more) …"), "{text}");
    let details = drawn.files.last().unwrap();
    assert_eq!(details.name, "a7f3-details-2.txt");
    let expected: String = (0..9).map(|n| format!("{n}: {}\n", "v".repeat(200))).collect();
    assert_eq!(details.text, format!("{expected}{note}\n"));
}

#[test]
fn texts_that_find_no_room_are_counted_and_attached() {
    let mut card = sample_card("ls");
    let code = |n: usize| Block::Code { label: format!("file {n}"), text: "y".repeat(900) };
    card.blocks = (0..9).map(code).collect();
    let drawn = draw(&card);
    assert_eq!(drawn.files.len(), 9);
    assert!(drawn.page.text().contains("⚠️ 3 more texts are in the attached files"));
}

#[test]
fn the_deadline_is_a_time_and_a_length() {
    let at = |seconds: i64| until(now() + SignedDuration::from_secs(seconds), now());
    assert_eq!(at(90), "expires 00:31:21 UTC, in 90 s");
    assert_eq!(at(300), "expires 00:34:51 UTC, in 5 min");
    assert_eq!(at(3 * 86_400), "expires 24 Nov 00:29 UTC, in 3 days");
    assert_eq!(at(-5), "expires 00:29:46 UTC, now");
}

#[test]
fn a_file_name_holds_no_path() {
    assert_eq!(file_name("a7f3", "../../etc/passwd\n", 1), "a7f3-etcpasswd-2.txt");
}

fn any_block() -> impl Strategy<Value = Block> {
    let text = || prop_oneof![any::<String>(), "[<>&\"\u{0}\u{202e}👍🏽\n a]{0,3000}", ".{0,200}"];
    prop_oneof![
        (text(), text()).prop_map(|(label, text)| Block::Code { label, text }),
        (text(), text()).prop_map(|(label, text)| Block::Quote { label, text }),
        text().prop_map(|text| Block::Note { text }),
        text().prop_map(|text| Block::Outcome { text }),
        prop::collection::vec((text(), text()), 0..12).prop_map(|list| Block::Fields {
            fields: list.into_iter().map(|(name, value)| Field { name, value }).collect()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_card_fits_and_its_html_says_its_text_and_nothing_else(
        title in any::<String>(),
        ask in any::<String>(),
        blocks in prop::collection::vec(any_block(), 0..10),
    ) {
        let card = Card { title, ask, blocks, ..sample_card("") };
        let drawn = draw(&card);
        let text = drawn.page.text();
        prop_assert!(text.chars().count() <= 4_096, "{} characters", text.chars().count());
        prop_assert!(drawn.page.html().len() <= 32_768);
        prop_assert_eq!(unescaped(&drawn.page.html()), text);
    }

    #[test]
    fn any_agent_text_is_shown_whole_or_attached_exactly(text in "[ -~\n\u{202e}é👍]{0,4000}") {
        let drawn = draw(&sample_card(&text));
        let attached = drawn.files.iter().any(|file| file.text == text);
        prop_assert!(attached || drawn.page.text().contains(&text));
    }
}
