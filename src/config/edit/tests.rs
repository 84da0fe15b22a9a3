#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use crate::{config::template, platforms::BUILT_IN};
use proptest::prelude::*;

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn chat(id: i64) -> Value {
    Value::Table([("chat".to_owned(), Value::Integer(id))].into_iter().collect())
}

#[test]
fn the_commented_examples_of_the_default_config_are_filled_in_place() {
    let before = template(BUILT_IN);
    let first = set(&before, "telegram", "token", &text("7:x")).unwrap();
    let second = add(&first, "telegram", "targets", &chat(5)).unwrap();
    let after = add(&second, "approvers", "telegram", &Value::Integer(5)).unwrap();
    let both = before.lines().zip(after.lines());
    let changed: Vec<_> = both.filter(|(one, other)| one != other).collect();
    assert_eq!(before.lines().count(), after.lines().count());
    let expected = [
        ("# [telegram]", "[telegram]"),
        (
            "# token = \"123456:…\"                     # from @BotFather",
            "token = \"7:x\"                     # from @BotFather",
        ),
        (
            "# targets = [{ chat = -1001234567890, topic = 7 }, { chat = 12345 }]",
            "targets = [{ chat = 5 }]",
        ),
        ("# telegram = [12345]", "telegram = [5]"),
    ];
    assert_eq!(changed, expected);
}

#[test]
fn a_key_goes_where_its_section_is_however_that_is_written() {
    let rows = [
        ("", "[a]\nkey = \"v\"\n"),
        ("x = 1", "x = 1\n\n[a]\nkey = \"v\"\n"),
        ("[a] # mine\nother = 1\n[b]\n", "[a] # mine\nkey = \"v\"\nother = 1\n[b]\n"),
        ("[b]\n[a]", "[b]\n[a]\nkey = \"v\"\n"),
        ("[a]\nkey = 'old'  # why\n", "[a]\nkey = \"v\"  # why\n"),
        ("a = { other = 1 } # x\n", "a = { other = 1, key = \"v\" } # x\n"),
        ("a = {}\n", "a = { key = \"v\"}\n"),
        ("a.other = 1 # x\n[b]\n", "a.other = 1 # x\na.key = \"v\"\n[b]\n"),
        ("a.key = 1\n", "a.key = \"v\"\n"),
        ("[a]\r\nother = 1\r\n", "[a]\r\nkey = \"v\"\r\nother = 1\r\n"),
        ("[a]\n# key = 1\n", "[a]\nkey = \"v\"\n"),
        // Another section's example is not ours.
        ("[a]\n# [b]\n# key = 1\n", "[a]\nkey = \"v\"\n# [b]\n# key = 1\n"),
        // What stands below a commented header belongs to the section above it.
        (
            "[b]\n# [a]\n# key = 1\nother = 1\n",
            "[b]\n# [a]\n# key = 1\nother = 1\n\n[a]\nkey = \"v\"\n",
        ),
        ("[[x]]\n[a.deeper]\ny = 1\n", "[[x]]\n[a.deeper]\ny = 1\n\n[a]\nkey = \"v\"\n"),
        (
            "[a]\nx = \"\"\"\n[a]\n# key = 1\n\"\"\"\n",
            "[a]\nkey = \"v\"\nx = \"\"\"\n[a]\n# key = 1\n\"\"\"\n",
        ),
    ];
    for (before, after) in rows {
        assert_eq!(set(before, "a", "key", &text("v")).as_deref(), Ok(after), "{before}");
    }
}

#[test]
fn an_entry_is_added_behind_the_last_one_and_never_twice() {
    let rows = [
        ("[a]\nkey = []\n", "[a]\nkey = [{ chat = 5 }]\n"),
        ("[a]\nkey = [ # none\n]\n", "[a]\nkey = [{ chat = 5 } # none\n]\n"),
        ("[a]\nkey = [{ chat = 1 }]\n", "[a]\nkey = [{ chat = 1 }, { chat = 5 }]\n"),
        (
            "[a]\nkey = [\n  { chat = 1 }, # one\n]\n",
            "[a]\nkey = [\n  { chat = 1 }, { chat = 5 }, # one\n]\n",
        ),
        ("[a]\nkey = [{ chat = 5 }]\n", "[a]\nkey = [{ chat = 5 }]\n"),
        ("[[a.key]]\nchat = 1\n", "[[a.key]]\nchat = 1\n\n[[a.key]]\nchat = 5\n"),
    ];
    for (before, after) in rows {
        assert_eq!(add(before, "a", "key", &chat(5)).as_deref(), Ok(after), "{before}");
    }
}

#[test]
fn what_cannot_be_changed_is_said_without_the_value() {
    let said = |text: &str| add(text, "a", "key", &self::text("SECRET")).unwrap_err().to_string();
    assert_eq!(
        said("[a]\nkey = 1\n"),
        "[a] `key` is no list, so nothing can be added to it; correct it by hand"
    );
    assert!(said("[a\n").starts_with("this is no TOML: "));
    assert_eq!(
        said("a = 1\n"),
        "[a] `key` cannot be written without changing more; write it by hand"
    );
}

fn fragment() -> impl Strategy<Value = String> {
    let fixed = [
        "# a word\n",
        "\n",
        "  # [telegram]\n",
        "# [telegram]\n",
        "# token = \"…\"   # there\n",
        "# targets = [1]\n",
        "[telegram]\n",
        "[telegram] # x\n",
        "[approvers]\n",
        "[policy]\r\n",
        "token = 'old' # why\n",
        "targets = [{ chat = 1 }, ]\n",
        "targets = [\n  # first\n  { chat = 2 },\n]\n",
        "telegram = [ 1, 2 ]\n",
        "telegram.api_url = \"x\"\n",
        "telegram = { api_url = \"x\" }\n",
        "timeout = \"5m\"\n",
        "text = '''\n[telegram]\n# token = 1\n'''\n",
        "[[telegram.targets]]\nchat = 7\n",
    ];
    proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn a_change_means_this_key_only_and_keeps_every_other_line(
        parts in proptest::collection::vec(fragment(), 0..12)
    ) {
        let before: String = parts.concat();
        let Ok(meant) = toml::from_str::<Table>(&before) else { return Ok(()) };
        let Ok(after) = set(&before, "telegram", "token", &text("7:x")) else { return Ok(()) };
        let mut now: Table = toml::from_str(&after).unwrap();
        let mut then = meant.clone();
        let removed = |table: &mut Table| {
            let section = table.get_mut("telegram").and_then(Value::as_table_mut);
            let old = section.and_then(|it| it.remove("token"));
            if table.get("telegram").and_then(Value::as_table).is_some_and(Table::is_empty) {
                table.remove("telegram");
            }
            old
        };
        prop_assert_eq!(removed(&mut now), Some(text("7:x")));
        removed(&mut then);
        prop_assert_eq!(now, then);
        // Lines that have something to do with the key may change; all others stay, in order.
        let ours = |line: &&str| line.contains("token") || line.contains("telegram");
        let others = |text: &str| -> Vec<String> {
            text.split_inclusive('\n').filter(|line| !ours(line)).map(str::to_owned).collect()
        };
        let (kept, all) = (others(&before), others(&after));
        let mut rest = all.iter().filter(|line| !line.trim().is_empty());
        let there = kept.iter().filter(|line| !line.trim().is_empty());
        prop_assert!(there.into_iter().all(|line| rest.any(|it| it == line)), "{}", after);
    }
}

#[test]
fn a_key_is_removed_with_its_line_and_nothing_else() {
    for (text, without) in [
        ("[a]\nk = 1 # why\nb = 2\n", "[a]\nb = 2\n"),
        ("a.k = 1\na.b = 2\n", "a.b = 2\n"),
        ("[a]\nb = 2\n", "[a]\nb = 2\n"),
        ("", ""),
    ] {
        assert_eq!(remove(text, "a", "k").as_deref(), Ok(without), "{text}");
    }
    for text in ["a = {k = 1, b = 2}\n", "[a]\nk = \"\"\"\n1\"\"\"\n", "[a\n"] {
        assert!(remove(text, "a", "k").is_err(), "{text}");
    }
}
