//! The requests of a bundle in lines: commands that differ in one number only share a line. Pure.

use countersign_domain::Ask;
use countersign_policy::tools::{Kind, kind_of};
use countersign_port::line;
use std::collections::BTreeMap;

/// The longest line, and the longest list of numbers behind it, that still show everything;
/// characters.
const LONGEST: usize = 200;
const NUMBERS: usize = 80;
/// How much of a request that is no command its line shows; characters.
const GLANCE: usize = 120;
/// Arguments beside a command that do not change what it does.
const HARMLESS: [&str; 3] = ["command", "description", "timeout"];

/// Requests of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestLine {
    /// What they want, in one line; `N` stands for the number in which they differ.
    pub(super) text: String,
    /// Which requests.
    pub(super) asks: Vec<usize>,
    /// Whether the line shows everything that each of them would do.
    pub(super) whole: bool,
}

impl RequestLine {
    /// With how many there are.
    pub(super) fn counted(&self) -> String {
        match self.asks.len() {
            1 => self.text.clone(),
            many => format!("{many} × {}", self.text),
        }
    }
}

/// The lines of these asks, the largest family first.
pub(super) fn lines(asks: &[&Ask]) -> Vec<RequestLine> {
    let mut families = BTreeMap::<(String, bool, Vec<String>), Vec<(usize, Vec<String>)>>::new();
    for (at, ask) in asks.iter().enumerate() {
        let (text, exact) = request(ask);
        let (words, numbers) = apart(&text);
        let tool = ask.body.call.tool.clone();
        families.entry((tool, exact, words)).or_default().push((at, numbers));
    }
    let mut lines: Vec<_> = families
        .into_iter()
        .map(|((_, exact, words), members)| family(exact, &words, &members))
        .collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.asks.len()), line.asks.first().copied()));
    lines
}

/// What an ask wants, on one line, and whether that is all of it.
// SECURITY: whatever is folded away or made visible on the line is not shown, so it is never
// approved by the line.
fn request(ask: &Ask) -> (String, bool) {
    let call = &ask.body.call;
    let command = call.args.get("command").and_then(|command| command.as_str());
    let command = command.or(call.args.as_str()).filter(|_| kind_of(&call.tool) == Kind::Shell);
    let Some(command) = command else {
        let mut args: String = call.args.to_string().chars().take(GLANCE + 1).collect();
        if args.chars().count() > GLANCE {
            args.pop();
            args.push('…');
        }
        return (line(&format!("{}: {args}", call.tool)), false);
    };
    let args = call.args.as_object();
    let only = args.is_none_or(|args| args.keys().all(|key| HARMLESS.contains(&key.as_str())));
    let shown = line(command);
    let short = shown.chars().count() <= LONGEST;
    let exact = only && short && shown == command;
    let shown = match short {
        true => shown,
        false => shown.chars().take(LONGEST - 1).chain(['…']).collect(),
    };
    (shown, exact)
}

/// A text as the parts between its numbers, and the numbers.
fn apart(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut words, mut numbers) = (vec![String::new()], Vec::<String>::new());
    let mut in_number = false;
    for c in text.chars() {
        match (c.is_ascii_digit(), in_number) {
            (true, true) => numbers.last_mut().map(|number| number.push(c)).unwrap_or_default(),
            (true, false) => numbers.push(c.to_string()),
            (false, true) => words.push(c.to_string()),
            (false, false) => words.last_mut().map(|word| word.push(c)).unwrap_or_default(),
        }
        in_number = c.is_ascii_digit();
    }
    if in_number {
        words.push(String::new());
    }
    (words, numbers)
}

fn family(exact: bool, words: &[String], members: &[(usize, Vec<String>)]) -> RequestLine {
    let asks: Vec<_> = members.iter().map(|(at, _)| *at).collect();
    let first = members.first().map(|(_, numbers)| numbers.as_slice()).unwrap_or_default();
    let differ =
        |place: usize| members.iter().any(|(_, numbers)| numbers.get(place) != first.get(place));
    let places: Vec<_> = (0..first.len()).filter(|place| differ(*place)).collect();
    // Where several numbers differ, each request has to have the same one in all those places.
    let value = |numbers: &[String]| {
        let mut values = places.iter().filter_map(|place| numbers.get(*place));
        let one = values.next()?;
        values.all(|value| value == one).then(|| one.clone())
    };
    let values: Option<Vec<_>> = members.iter().map(|(_, numbers)| value(numbers)).collect();
    let mut text = String::new();
    for (place, word) in words.iter().enumerate() {
        text.push_str(word);
        match first.get(place) {
            Some(_) if places.contains(&place) => text.push('N'),
            Some(number) => text.push_str(number),
            None => {}
        }
    }
    if places.is_empty() {
        return RequestLine { text, asks, whole: exact };
    }
    let listed = values.map(|values| spans(&values)).filter(|it| it.chars().count() <= NUMBERS);
    // A command that holds this letter as a word of its own would read as if it were a number.
    let clear = !words.iter().any(|word| word.contains('N'));
    let whole = exact && clear && listed.is_some();
    match listed {
        Some(listed) => text.push_str(&format!("  (N: {listed})")),
        None => text.push_str("  (N: various numbers)"),
    }
    RequestLine { text, asks, whole }
}

/// Numbers in their order, runs of them as spans. Numbers of one width keep their leading zeros.
fn spans(values: &[String]) -> String {
    let mut values = values.to_vec();
    values.sort_by_key(|value| (value.len(), value.clone()));
    values.dedup();
    let width = values.first().map(String::len).unwrap_or_default();
    let padded = values.iter().all(|value| value.len() == width);
    let written = |number: u64| match padded {
        true => format!("{number:0width$}"),
        false => number.to_string(),
    };
    let read = |value: &String| value.parse().ok().filter(|number| written(*number) == *value);
    let Some(numbers) = values.iter().map(read).collect::<Option<Vec<u64>>>() else {
        return values.join(", ");
    };
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |(first, last): &(u64, u64)| match last - first {
        0 => written(*first),
        1 => format!("{}, {}", written(*first), written(*last)),
        _ => format!("{}–{}", written(*first), written(*last)),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use crate::bundle::tests::ask_to_run;
    use proptest::prelude::*;

    fn shown(commands: &[&str]) -> Vec<(String, bool)> {
        let asks: Vec<_> = commands.iter().map(|command| ask_to_run(command)).collect();
        let lines = lines(&asks.iter().collect::<Vec<_>>());
        lines.iter().map(|line| (line.counted(), line.whole)).collect()
    }

    #[test]
    fn commands_that_differ_in_one_number_share_a_line_that_names_the_numbers() {
        let copies: Vec<_> = (1..=12).map(|n| format!("scp build-{n}.tar prod:/srv")).collect();
        let mut all: Vec<_> = copies.iter().map(String::as_str).collect();
        all.push("make test");
        let lines = [("12 × scp build-N.tar prod:/srv  (N: 1–12)", true), ("make test", true)];
        assert_eq!(shown(&all), lines.map(|(line, whole)| (line.to_owned(), whole)));
    }

    #[test]
    fn a_line_that_hides_anything_is_not_whole() {
        let long = "x".repeat(LONGEST);
        for commands in [
            ["mv a1 b2", "mv a2 b7"],
            ["echo N1", "echo N2"],
            ["ls 1\nrm -rf x", "ls 2\nrm -rf x"],
            ["ls \u{202e}1", "ls \u{202e}2"],
            [&*format!("echo 1 {long}"), &*format!("echo 2 {long}")],
        ] {
            let lines = shown(&commands);
            assert!(lines.len() == 1 && !lines[0].1, "{lines:?}");
        }
        let lines = shown(&["mv a1 b1", "mv a2 b2"]);
        assert_eq!(lines, [("2 × mv aN bN  (N: 1, 2)".to_owned(), true)]);
    }

    proptest! {
        #[test]
        fn a_whole_line_says_every_command_in_it(
            commands in prop::collection::vec(
                "(cp|mv|kill) (-[0-9] )?[a-c]?[0-9]{1,3}( N| x[0-9])?",
                1..12,
            )
        ) {
            let asks: Vec<_> = commands.iter().map(|command| ask_to_run(command)).collect();
            let lines = lines(&asks.iter().collect::<Vec<_>>());
            let mut seen: Vec<usize> = lines.iter().flat_map(|line| line.asks.clone()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..commands.len()).collect::<Vec<_>>());
            for line in lines.iter().filter(|line| line.whole) {
                let (text, numbers) = line.text.split_once("  (N: ").unwrap_or((&line.text, ""));
                for at in &line.asks {
                    let said = numbers.trim_end_matches(')').split(", ").any(|span| {
                        let Some((first, last)) = span.split_once('–') else {
                            return text.replace('N', span) == commands[*at];
                        };
                        let ends = [first, last].map(|end| end.parse::<u64>().unwrap_or_default());
                        let width = if first.len() == last.len() { first.len() } else { 0 };
                        (ends[0]..=ends[1])
                            .any(|n| text.replace('N', &format!("{n:0width$}")) == commands[*at])
                    });
                    let command = &commands[*at];
                    prop_assert!(said || text == *command, "{command} in {}", line.text);
                }
            }
        }
    }
}
