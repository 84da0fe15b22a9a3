//! Changes single keys in the text of a config, and leaves every other byte as it is.
//!
//! A key can go to several places: over its old value, over the commented example of the default
//! config, below its section's header, to the end. Each is tried in turn.
//!
//! Not `toml_edit`: to it the comments above a header belong to that table, so that with a removed section
//! the commented examples above it would go, and an example is no place for a key. `toml`'s spans suffice.
//!
//! INVARIANT: a text counts only if it means the same config with this one key changed.

use std::ops::Range;
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

/// Why a text was not changed. It names no value, because that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is no TOML.
    #[error("invalid TOML: {0}")]
    NoToml(String),
    /// Something else stands there.
    #[error("[{section}] `{key}` is not a list, so nothing can be added to it; correct it by hand")]
    NoList {
        /// The section.
        section: String,
        /// The key.
        key: String,
    },
    /// No place for the key was found.
    #[error("[{section}] `{key}` cannot be written without changing more; write it by hand")]
    NoPlace {
        /// The section.
        section: String,
        /// The key.
        key: String,
    },
}

/// The text with a key of a section set to this value.
///
/// # Errors
/// [`EditError`]; nothing is changed then.
pub fn set(text: &str, section: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let place = KeyPlace { text, section, key };
    place.change(value, |section| {
        section.insert(key.to_owned(), value.clone());
        Ok(place.old_value().map(|old| replaced(text, old, &value.to_string())))
    })
}

/// The text with this entry in a list of a section. An entry that is there already stays alone.
///
/// # Errors
/// [`EditError`]; nothing is changed then.
pub fn add(text: &str, section: &str, key: &str, entry: &Value) -> Result<String, EditError> {
    let place = KeyPlace { text, section, key };
    let list = Value::Array(vec![entry.clone()]);
    place.change(&list, |table| match table.get_mut(key) {
        Some(Value::Array(entries)) if entries.contains(entry) => Ok(Some(text.to_owned())),
        Some(Value::Array(entries)) => {
            entries.push(entry.clone());
            Ok(place.longer_list(entry))
        }
        Some(_) => Err(EditError::NoList { section: section.to_owned(), key: key.to_owned() }),
        None => {
            table.insert(key.to_owned(), list.clone());
            Ok(None)
        }
    })
}

/// The text without the line of a key; the same text where the key is not there.
///
/// # Errors
/// [`EditError`]; nothing is changed then.
pub fn remove(text: &str, section: &str, key: &str) -> Result<String, EditError> {
    let place = KeyPlace { text, section, key };
    let mut wanted = parsed(text)?;
    if let Some(table) = wanted.get_mut(section).and_then(Value::as_table_mut) {
        table.remove(key);
    }
    let old = place.old_value();
    let line = old.and_then(|old| lines(text, 0).find(|(line, _)| line.contains(&old.start)));
    let without = line.map_or_else(|| text.to_owned(), |(line, _)| replaced(text, line, ""));
    checked(without, &wanted, section, key)
}

/// The text without a section and the tables in it; the same text where it is not there. What stands
/// above the next section stays.
///
/// # Errors
/// [`EditError`]; nothing is changed then.
pub fn remove_section(text: &str, section: &str) -> Result<String, EditError> {
    let mut wanted = parsed(text)?;
    wanted.remove(section);
    let within = format!("{section}.");
    let without = without_tables(text, |name, _| name == section || name.starts_with(&within));
    checked(without, &wanted, section, section)
}

/// The text without the entries of a list for which `is` returns true.
///
/// # Errors
/// [`EditError`]; nothing is changed then.
pub fn remove_entries(
    text: &str,
    section: &str,
    key: &str,
    is: impl Fn(&Value) -> bool,
) -> Result<String, EditError> {
    let mut wanted = parsed(text)?;
    let list = wanted.get_mut(section).and_then(|section| section.get_mut(key));
    let Some(Value::Array(entries)) = list else { return Ok(text.to_owned()) };
    let gone: Vec<usize> =
        entries.iter().enumerate().filter(|(_, entry)| is(entry)).map(|(at, _)| at).collect();
    entries.retain(|entry| !is(entry));
    let mut without = text.to_owned();
    // From the last one on: the places of those before stay as they are.
    for at in gone.into_iter().rev() {
        let range = KeyPlace { text: &without, section, key }.entry(at);
        let range = range.ok_or_else(|| no_place(section, key))?;
        without = replaced(&without, range, "");
    }
    checked(without, &wanted, section, key)
}

/// The text without these keys of the person with this name in `[[people]]`; without the person
/// where none of `identities` is left.
///
/// # Errors
/// [`EditError`]; nothing is changed then.
pub fn remove_identity(
    text: &str,
    person: &str,
    keys: &[&str],
    identities: &[&str],
) -> Result<String, EditError> {
    const PEOPLE: &str = "people";
    let mut wanted = parsed(text)?;
    let Some(Value::Array(people)) = wanted.get_mut(PEOPLE) else { return Ok(text.to_owned()) };
    let is_person = |it: &Value| it.get("name").and_then(Value::as_str) == Some(person);
    let Some(at) = people.iter().position(is_person) else { return Ok(text.to_owned()) };
    let Some(Value::Table(entry)) = people.get_mut(at) else { return Ok(text.to_owned()) };
    entry.retain(|key, _| !keys.contains(&key));
    let is_left = identities.iter().any(|key| entry.contains_key(*key));
    let without = if is_left {
        let mut table: Option<(bool, usize)> = None;
        let is_gone = |line: &str| {
            let key = line.split_once('=').map(|(key, _)| key.trim());
            key.is_some_and(|key| keys.contains(&key))
        };
        let mut kept = String::new();
        for (_, line) in lines(text, 0) {
            if let Some(name) = table_name(line) {
                let next = table.map_or(0, |(_, count)| count) + usize::from(name == PEOPLE);
                table = Some((name == PEOPLE, next));
            }
            if !(table == Some((true, at + 1)) && is_gone(line)) {
                kept.push_str(line);
            }
        }
        kept
    } else {
        people.remove(at);
        without_tables(text, |name, nth| name == PEOPLE && nth == at)
    };
    if wanted.get(PEOPLE).and_then(Value::as_array).is_some_and(Vec::is_empty) {
        wanted.remove(PEOPLE);
    }
    checked(without, &wanted, PEOPLE, person)
}

/// A key of a section in a text.
#[derive(Clone, Copy)]
struct KeyPlace<'a> {
    text: &'a str,
    section: &'a str,
    key: &'a str,
}

impl KeyPlace<'_> {
    /// `edit` changes what the section means, and returns the text where the key is there already;
    /// `value` is what a new key is set to.
    fn change(
        &self,
        value: &Value,
        edit: impl FnOnce(&mut Table) -> Result<Option<String>, EditError>,
    ) -> Result<String, EditError> {
        let mut wanted = parsed(self.text)?;
        let section = wanted.entry(self.section).or_insert_with(|| Value::Table(Table::new()));
        let no_place = || no_place(self.section, self.key);
        let there = edit(section.as_table_mut().ok_or_else(no_place)?)?;
        let new = self.new_key(&format!("{} = {value}", self.key), value).into_iter();
        let candidates = std::iter::once(there).chain(new).chain([self.table_of_list(value)]);
        let means = |text: &String| toml::from_str::<Table>(text).is_ok_and(|it| it == wanted);
        candidates.flatten().find(means).ok_or_else(no_place)
    }

    /// The texts with a new key, the best first.
    fn new_key(&self, line: &str, value: &Value) -> Vec<Option<String>> {
        let header = self.header(|line| line);
        let example = self.header(uncommented);
        vec![
            header.clone().and_then(|header| self.filled(self.text, header.end, value)),
            header.map(|header| self.with_line(self.text, header.end, line)),
            self.in_inline_table(line),
            self.beside_dotted_key(line),
            example.clone().and_then(|example| {
                let (text, below) = self.begun(example);
                self.filled(&text, below, value)
            }),
            example.map(|example| {
                let (text, below) = self.begun(example);
                self.with_line(&text, below, line)
            }),
            Some(self.at_the_end(&format!("[{}]", self.section), line)),
        ]
    }

    /// Where the line of the section's header is, with its end; `read` makes a line a header.
    fn header(&self, read: impl Fn(&str) -> &str) -> Option<Range<usize>> {
        let of_us = |line: &str| {
            let name = header_name(read(line));
            // A commented header counts as one only if it was read so.
            name.is_some_and(|name| name == self.section)
        };
        lines(self.text, 0).find(|(_, line)| of_us(line)).map(|(range, _)| range)
    }

    /// The text whose commented header is a header, and where the line below that begins.
    fn begun(&self, example: Range<usize>) -> (String, usize) {
        let line = self.text.get(example.clone()).unwrap_or_default();
        let header = uncommented(line);
        let below = example.start + header.len();
        (replaced(self.text, example, header), below)
    }

    /// The text with the commented example of the key, below `from` in its section, filled in.
    fn filled(&self, text: &str, from: usize, value: &Value) -> Option<String> {
        let in_section = |(_, line): &(Range<usize>, &str)| {
            header_name(line).or_else(|| header_name(uncommented(line))).is_none()
        };
        lines(text, from).take_while(in_section).find_map(|(range, line)| {
            let example = uncommented(line);
            if example == line {
                return None;
            }
            let parsed = DeTable::parse(example).ok()?;
            let (_, old) = found(parsed.get_ref(), self.key)?;
            Some(replaced(text, range, &replaced(example, old.span(), &value.to_string())))
        })
    }

    fn with_line(&self, text: &str, at: usize, line: &str) -> String {
        let newline = newline(self.text);
        // The header may be the last line, without an end.
        let ends = text.get(..at).is_some_and(|before| before.ends_with('\n'));
        let before = if ends { "" } else { newline };
        replaced(text, at..at, &format!("{before}{line}{newline}"))
    }

    fn in_inline_table(&self, line: &str) -> Option<String> {
        let parsed = DeTable::parse(self.text).ok()?;
        let (_, section) = found(parsed.get_ref(), self.section)?;
        let table = self.text.get(section.span())?;
        let inside = table.strip_prefix('{')?.strip_suffix('}')?.trim_end();
        let comma = if inside.trim().is_empty() { " " } else { ", " };
        let at = section.span().start + 1 + inside.len();
        Some(replaced(self.text, at..at, &format!("{comma}{line}")))
    }

    /// `section.key = …` below another key that is written like that.
    fn beside_dotted_key(&self, line: &str) -> Option<String> {
        let last = self.in_section(|it| it.iter().map(|(_, value)| value.span().end).max())?;
        let rest = self.text.get(last..)?;
        let at = last + rest.find('\n').map_or(rest.len(), |end| end + 1);
        Some(self.with_line(self.text, at, &format!("{}.{line}", self.section)))
    }

    /// Where the value is that the key has now.
    fn old_value(&self) -> Option<Range<usize>> {
        self.in_section(|section| found(section, self.key).map(|(_, value)| value.span()))
    }

    /// What is found in the section's table.
    fn in_section<T>(&self, look: impl FnOnce(&DeTable<'_>) -> Option<T>) -> Option<T> {
        let parsed = DeTable::parse(self.text).ok()?;
        match found(parsed.get_ref(), self.section)?.1.get_ref() {
            DeValue::Table(section) => look(section),
            _ => None,
        }
    }

    /// Where the list is that the key has now, and each of its entries.
    fn list(&self) -> Option<(Range<usize>, Vec<Range<usize>>)> {
        self.in_section(|section| {
            let (_, list) = found(section, self.key)?;
            let DeValue::Array(entries) = list.get_ref() else { return None };
            Some((list.span(), entries.iter().map(Spanned::span).collect()))
        })
    }

    /// Where an entry of the list is, with the comma that goes with it.
    fn entry(&self, at: usize) -> Option<Range<usize>> {
        let (_, spans) = self.list()?;
        let this = spans.get(at)?.clone();
        Some(match (spans.get(at + 1), at.checked_sub(1).and_then(|before| spans.get(before))) {
            (Some(next), _) => this.start..next.start,
            (None, Some(before)) => before.end..this.end,
            (None, None) => this,
        })
    }

    /// The text with one more entry in the list that is there.
    fn longer_list(&self, entry: &Value) -> Option<String> {
        let (list, entries) = self.list()?;
        let (at, added) = match entries.last() {
            Some(last) => (last.end, format!(", {entry}")),
            None => (list.start + 1, entry.to_string()),
        };
        Some(replaced(self.text, at..at, &added))
    }

    /// A list of tables may be written as `[[section.key]]`.
    fn table_of_list(&self, list: &Value) -> Option<String> {
        let [Value::Table(entry)] = list.as_array()?.as_slice() else { return None };
        let keys = entry.iter().map(|(key, value)| format!("{key} = {value}"));
        let keys = keys.collect::<Vec<_>>().join(newline(self.text));
        Some(self.at_the_end(&format!("[[{}.{}]]", self.section, self.key), &keys))
    }

    fn at_the_end(&self, header: &str, lines: &str) -> String {
        let newline = newline(self.text);
        let gap = match self.text {
            "" => "",
            text if text.ends_with('\n') => newline,
            _ => &newline.repeat(2),
        };
        format!("{}{gap}{header}{newline}{lines}{newline}", self.text)
    }
}

fn parsed(text: &str) -> Result<Table, EditError> {
    toml::from_str(text).map_err(|error: toml::de::Error| EditError::NoToml(error.message().into()))
}

fn no_place(section: &str, key: &str) -> EditError {
    EditError::NoPlace { section: section.to_owned(), key: key.to_owned() }
}

/// The text, if it means what is wanted.
fn checked(text: String, wanted: &Table, section: &str, key: &str) -> Result<String, EditError> {
    match parsed(&text) {
        Ok(means) if means == *wanted => Ok(text),
        _ => Err(no_place(section, key)),
    }
}

/// The text without the tables for which `is` returns true, by their names and how many of the name
/// were before. Comments above the next table stay.
fn without_tables(text: &str, is: impl Fn(&str, usize) -> bool) -> String {
    let mut kept = String::new();
    let mut comments = String::new();
    let mut names: Vec<&str> = Vec::new();
    let mut is_inside = false;
    for (_, line) in lines(text, 0) {
        if let Some(name) = table_name(line) {
            is_inside = is(name, names.iter().filter(|before| **before == name).count());
            names.push(name);
            if !is_inside {
                kept.push_str(&comments);
            }
            comments.clear();
        }
        let is_comment = line.trim().is_empty() || line.trim_start().starts_with('#');
        match (is_inside, is_comment) {
            (false, _) => kept.push_str(line),
            (true, true) => comments.push_str(line),
            (true, false) => comments.clear(),
        }
    }
    kept
}

/// The name of the table whose header this line is.
fn table_name(line: &str) -> Option<&str> {
    let header = line.trim_start().strip_prefix('[')?;
    Some(header.trim_start_matches('[').split(']').next()?.trim())
}

fn found<'t, 'i>(
    table: &'t DeTable<'i>,
    name: &str,
) -> Option<(&'t Spanned<toml::de::DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    table.iter().find(|(key, _)| key.get_ref() == name)
}

/// The lines from there on, with their ends and their places.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = from;
    text.get(from..).unwrap_or_default().split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start..at, line)
    })
}

/// A line without the sign of a comment; the line itself where it is none.
fn uncommented(line: &str) -> &str {
    let Some(rest) = line.strip_prefix('#') else { return line };
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// The section of a header's line.
fn header_name(line: &str) -> Option<&str> {
    let (name, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(name.trim())
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn replaced(text: &str, range: Range<usize>, by: &str) -> String {
    let before = text.get(..range.start);
    let after = text.get(range.end..);
    format!("{}{by}{}", before.unwrap_or_default(), after.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::config::template;
    use crate::platforms::BUILT_IN;
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
        let said =
            |text: &str| add(text, "a", "key", &self::text("SECRET")).unwrap_err().to_string();
        assert_eq!(
            said("[a]\nkey = 1\n"),
            "[a] `key` is not a list, so nothing can be added to it; correct it by hand"
        );
        assert!(said("[a\n").starts_with("invalid TOML: "));
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
            let kept = others(&before);
            let all = others(&after);
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

    #[test]
    fn a_section_goes_with_its_tables_and_what_stands_around_it_stays() {
        let text = "[a]\nx = 1\n\n[chat]\ntoken = \"t\"\n\n[[chat.targets]]\nchat = 5\n\n\
                    # of b\n[b]\ny = 2\n";
        let after = "[a]\nx = 1\n\n\n# of b\n[b]\ny = 2\n";
        assert_eq!(remove_section(text, "chat").unwrap(), after);
        assert_eq!(remove_section(after, "chat").unwrap(), after);
    }

    #[test]
    fn an_entry_goes_with_its_comma_from_every_place_of_a_list() {
        let text = "[a]\nids = [1, 2, 3] # mine\n";
        let without =
            |id: i64| remove_entries(text, "a", "ids", |it| *it == Value::Integer(id)).unwrap();
        assert_eq!(without(1), "[a]\nids = [2, 3] # mine\n");
        assert_eq!(without(2), "[a]\nids = [1, 3] # mine\n");
        assert_eq!(without(3), "[a]\nids = [1, 2] # mine\n");
        assert_eq!(without(4), text);
        assert_eq!(remove_entries(text, "a", "ids", |_| true).unwrap(), "[a]\nids = [] # mine\n");
    }

    #[test]
    fn an_identity_goes_from_its_person_and_a_person_without_any_goes_too() {
        let text = "[[people]]\nname = \"Ana\"\ntelegram = 5\nslack = \"U1\"\n\n\
                    [[people]]\nname = \"Ben\"\ntelegram = 6\n";
        let all = ["telegram", "slack"];
        let without = |name: &str| remove_identity(text, name, &["telegram"], &all).unwrap();
        assert_eq!(without("Ana"), text.replace("telegram = 5\n", ""));
        let ana = "[[people]]\nname = \"Ana\"\ntelegram = 5\nslack = \"U1\"\n\n";
        assert_eq!(without("Ben"), ana);
        assert_eq!(without("Eve"), text);
    }
}
