//! A bundle as a card: many requests of one agent in one message, or the same request several
//! times. Pure.
//!
//! INVARIANT: the buttons that answer all carry the revision that shows them. They answer the asks
//! which that revision showed, and approve only what its lines say in full.

use crate::{
    card::{self, Maker, Origin},
    token::{ButtonToken, Pressed},
};
use countersign_domain::{Ask, Decision, Scope, State};
use countersign_policy::tools::{Kind, kind_of};
use countersign_port::{Block, Button, ButtonStyle, Card, Tone, brief, cut, line};
use countersign_store::{Bundle, Member};
use countersign_tokens::clock;
use std::collections::BTreeMap;

/// The most lines of a bundle, the most effects below the worst, and how much of its first line
/// names what it holds; characters.
const LINES: usize = 8;
const EFFECTS: usize = 3;
const TITLE: usize = 60;
/// The rows of buttons that a page leaves to its request.
const ROWS: usize = 4;

/// Draws a bundle as it is now.
pub(super) fn draw(bundle: &Bundle, store: &str) -> Card {
    let shown: Vec<_> = bundle.members.iter().filter(|member| member.joined > 0).collect();
    match shown.as_slice() {
        [first, rest @ ..] if rest.iter().all(|it| is_same(&it.ask, &first.ask)) => {
            same(bundle, &shown, store)
        }
        shown => overview(bundle, shown, store),
    }
}

/// Draws one open request of a bundle, the first from this place on, with the way to the others;
/// the bundle itself where none is open.
pub(super) fn page(bundle: &Bundle, at: usize, store: &str) -> Card {
    let shown = bundle.members.iter().filter(|member| member.joined > 0);
    let open: Vec<_> = shown.enumerate().filter(|(_, member)| member.ask.is_open()).collect();
    let found = open.iter().position(|(place, _)| *place >= at).unwrap_or_default();
    let Some((place, member)) = open.get(found) else { return draw(bundle, store) };
    let mut card = card::draw(&member.ask, Origin { nonce: &member.card, store });
    card.revision = revision(bundle);
    card.blocks.push(Block::Note {
        text: format!("{} of {} open requests in this message.", found + 1, open.len()),
    });
    let maker = |step| maker(bundle, store, step);
    let back = maker(0).button("‹ All", ButtonStyle::Choice, Pressed::Overview);
    let next = || maker(place + 1).button("Next ›", ButtonStyle::Choice, Pressed::Page);
    let next = (open.len() > 1).then(next).flatten();
    card.buttons.truncate(if card.more.is_empty() { ROWS } else { ROWS - 1 });
    card.buttons.push(back.into_iter().chain(next).collect());
    card
}

/// A view of one of its requests, as its message shows it.
// INVARIANT: a message shows what carries its own revision or a later one, and no part of it does.
pub(super) fn view(bundle: &Bundle, card: Card) -> Card {
    Card { revision: revision(bundle), ..card }
}

/// The place of an ask in a bundle, as [`page`] counts.
pub(super) fn place(bundle: &Bundle, card: &str) -> usize {
    let mut shown = bundle.members.iter().filter(|member| member.joined > 0);
    shown.position(|member| member.card == card).unwrap_or_default()
}

/// The open asks that a revision of a bundle showed.
pub(super) fn shown_by(bundle: &Bundle, revision: usize) -> Vec<&Member> {
    let revision = i64::try_from(revision).unwrap_or(i64::MAX).min(bundle.row.revision);
    let shown = |member: &&Member| (1..=revision).contains(&member.joined);
    bundle.members.iter().filter(shown).filter(|member| member.ask.is_open()).collect()
}

/// Whether these asks may be approved together: they are one call, or one line says all of each.
// SECURITY: what is critical, or blocked by a machine, is never approved among others; nor what runs
// elsewhere than the message says.
pub(super) fn are_one(members: &[&Member]) -> bool {
    let asks: Vec<_> = members.iter().map(|member| &member.ask).collect();
    let plain = asks.iter().all(|ask| {
        let body = &ask.body;
        !body.critical && !ask.is_question() && !body.is_no_call() && body.call.appeal.is_none()
    });
    let all = |alike: fn(&Ask, &Ask) -> bool| {
        asks.windows(2).all(|two| matches!(two, [one, other] if alike(one, other)))
    };
    let one_line = || matches!(lines(&asks).as_slice(), [RequestLine { whole: true, .. }]);
    plain && all(runs_alike) && (all(is_same) || one_line())
}

/// Whether two asks are for one call, so that one card says all of both.
fn is_same(one: &Ask, other: &Ask) -> bool {
    one.digest == other.digest && runs_alike(one, other)
}

/// Whether two calls run on the same machine and in the same mode, which no digest says.
fn runs_alike(one: &Ask, other: &Ask) -> bool {
    let one = &one.body.call;
    let other = &other.body.call;
    (&one.host, &one.agent_mode) == (&other.host, &other.agent_mode)
}

/// The same request several times: its own card, which says how often.
fn same(bundle: &Bundle, shown: &[&Member], store: &str) -> Card {
    let open: Vec<_> = shown.iter().filter(|member| member.ask.is_open()).collect();
    let edited = open.iter().find(|member| member.ask.progress.edit.is_some());
    let lead = edited.or(open.first()).copied().or(shown.first());
    let Some(member) = lead else { return overview(bundle, shown, store) };
    let ask = &member.ask;
    // Undo belongs to the one ask whose answer stored something, a change to the one that it is of.
    let is_of_all = ask.is_open() && edited.is_none();
    let nonce = if is_of_all { &bundle.row.nonce } else { &member.card };
    let mut card = card::draw(ask, Origin { nonce, store });
    (card.id, card.revision) = (bundle.row.nonce.clone(), revision(bundle));
    let step = usize::try_from(bundle.row.revision).unwrap_or_default();
    let all = |button: &mut Button| {
        let token = ButtonToken::read(&button.token)
            .and_then(|token| ButtonToken { step, ..token }.write());
        button.token = token.unwrap_or_default();
    };
    let buttons = card.buttons.iter_mut().flatten().chain(&mut card.more);
    buttons.filter(|_| is_of_all).for_each(all);
    card.buttons.iter_mut().for_each(|row| row.retain(|button| !button.token.is_empty()));
    let count = if open.is_empty() { shown.len() } else { open.len() };
    card.more.retain(|button| !button.token.is_empty());
    if count > 1 {
        card.title = format!("{} ×{count}", card.title);
    }
    if open.len() > 1 && is_of_all {
        let text = format!("Asked {count} times; one press answers all {count}.");
        card.blocks.push(Block::Note { text });
    }
    card.deadline = deadline(shown);
    card
}

/// Many requests in lines.
fn overview(bundle: &Bundle, shown: &[&Member], store: &str) -> Card {
    let open: Vec<_> = shown.iter().copied().filter(|member| member.ask.is_open()).collect();
    let about = if open.is_empty() { shown } else { open.as_slice() };
    let asks: Vec<_> = about.iter().map(|member| &member.ask).collect();
    let lines = lines(&asks);
    let mut blocks = Vec::new();
    if !lines.is_empty() {
        let text = listed(&lines);
        blocks.push(Block::Code { label: "requests".to_owned(), text, whole: false });
    }
    let mut effects = if open.is_empty() { Vec::new() } else { touches(&asks) }.into_iter();
    let worst = effects.next().unwrap_or_default();
    blocks.extend(effects.map(|text| Block::Note { text }));
    if open.iter().any(|member| member.ask.stopped.is_some()) {
        blocks.push(Block::Note { text: card::PAUSED.to_owned() });
    }
    if let Some(text) = ended(shown) {
        blocks.push(if open.is_empty() { Block::Outcome { text } } else { Block::Note { text } });
    }
    Card {
        id: bundle.row.nonce.clone(),
        ask: asks.first().map(|ask| ask.id.clone()).unwrap_or_default(),
        revision: revision(bundle),
        tone: tone(shown),
        title: title(&lines),
        whole: false,
        worst,
        origin: origins(&asks),
        blocks,
        buttons: if open.is_empty() { Vec::new() } else { buttons(bundle, &open, store) },
        more: Vec::new(),
        deadline: deadline(shown),
    }
}

/// Where they come from.
fn origins(asks: &[&Ask]) -> String {
    let mut origins: Vec<_> = asks.iter().map(|ask| card::origin(&ask.body.call)).collect();
    origins.dedup();
    origins.join("; ")
}

/// What it holds: its largest family, and how many others there are.
fn title(lines: &[RequestLine]) -> String {
    let Some((first, others)) = lines.split_first() else { return "no request".to_owned() };
    let what = brief(&first.what, TITLE);
    let what = match first.asks.len() {
        1 => what,
        many => format!("{many} × {what}"),
    };
    match others.iter().map(|line| line.asks.len()).sum() {
        0_usize => what,
        more => format!("{what}, and {more} more"),
    }
}

fn listed(lines: &[RequestLine]) -> String {
    let mut listed: Vec<_> = lines.iter().take(LINES).map(RequestLine::counted).collect();
    let more: usize = lines.iter().skip(LINES).map(|line| line.asks.len()).sum();
    if more > 0 {
        listed.push(format!("… and {more} more; Review shows each"));
    }
    listed.join("\n")
}

/// What the requests touch, in all, the worst first. That they run what their lines say goes
/// without saying.
fn touches(asks: &[&Ask]) -> Vec<String> {
    let mut effects: Vec<&str> = Vec::new();
    for effect in asks.iter().flat_map(|ask| &ask.body.effects) {
        let said = effect.starts_with("runs ") && !effect.starts_with("runs as ");
        if !said && !effects.contains(&effect.as_str()) {
            effects.push(effect);
        }
    }
    effects.sort_by_key(|effect| card::weight(effect));
    let more = effects.len().saturating_sub(1 + EFFECTS);
    let mut told: Vec<_> =
        effects.iter().take(1 + EFFECTS).map(|it| card::effect_line(it)).collect();
    if more > 0 {
        told.push(format!("→ and {more} more; Review shows them"));
    }
    told
}

/// How those ended that have ended.
fn ended(shown: &[&Member]) -> Option<String> {
    let mut ends = BTreeMap::<(&str, String), usize>::new();
    let mut last = 0;
    for answer in shown.iter().filter_map(|member| member.ask.answer().map(|it| (member, it))) {
        let (member, answer) = answer;
        let how = match (&member.ask.state, answer.decision) {
            (State::Cancelled(_), _) => "cancelled",
            (State::Expired(_), Decision::Deny) => "expired",
            (_, Decision::Approve) => "approved",
            (_, Decision::Answer) => "answered",
            (_, Decision::Edit) => "edited",
            (_, Decision::Deny) => "denied",
        };
        *ends.entry((how, line(&answer.by.to_string()))).or_default() += 1;
        last = last.max(answer.at);
    }
    let ends: Vec<_> =
        ends.iter().map(|((how, by), count)| format!("{count} {how} by {by}")).collect();
    (!ends.is_empty()).then(|| format!("{} at {}", ends.join("; "), clock::short(last)))
}

fn tone(shown: &[&Member]) -> Tone {
    let has = |is: fn(&Ask) -> bool| shown.iter().any(|member| is(&member.ask));
    let decided = |ask: &Ask, decision| ask.answer().is_some_and(|it| it.decision == decision);
    if has(Ask::is_open) {
        Tone::Open
    } else if shown.iter().any(|it| decided(&it.ask, Decision::Approve)) {
        Tone::Approved
    } else if has(|ask| matches!(ask.state, State::Answered(_))) {
        Tone::Denied
    } else if has(|ask| matches!(ask.state, State::Expired(_))) {
        Tone::Expired
    } else {
        Tone::Cancelled
    }
}

fn deadline(shown: &[&Member]) -> Option<i64> {
    let open = shown.iter().filter(|member| member.ask.is_open());
    open.filter_map(|member| member.ask.deadline_at).min()
}

fn buttons(bundle: &Bundle, open: &[&Member], store: &str) -> Vec<Vec<Button>> {
    let step = usize::try_from(bundle.row.revision).unwrap_or_default();
    let count = open.len();
    let first = maker(bundle, store, 0);
    let review = first.button("Review", ButtonStyle::Choice, Pressed::Page);
    let all = Maker { step, ..first };
    let approve = || {
        let label = format!("Approve these {count}");
        all.button(&label, ButtonStyle::Approve, Pressed::Approve(Scope::Once))
    };
    let paused = open.iter().any(|member| member.ask.stopped.is_some());
    let approve = (are_one(open) && !paused).then(approve).flatten();
    let deny = all.button(&format!("Deny all {count}"), ButtonStyle::Deny, Pressed::Deny);
    vec![[review, approve, deny].into_iter().flatten().collect()]
}

/// Makes buttons of a bundle, for one step.
fn maker<'a>(bundle: &'a Bundle, store: &'a str, step: usize) -> Maker<'a> {
    Maker { origin: Origin { nonce: &bundle.row.nonce, store }, step }
}

fn revision(bundle: &Bundle) -> u32 {
    u32::try_from(bundle.row.revision).unwrap_or(u32::MAX)
}

/// The longest line, and the longest list of numbers behind it, that still show everything;
/// characters.
const LONGEST: usize = 200;
const NUMBERS: usize = 80;
/// Arguments beside a command that do not change what it does.
const HARMLESS: [&str; 3] = ["command", "description", "timeout"];

/// Requests of one family: commands that differ in one number only share a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RequestLine {
    /// What they want; `N` stands for the number in which they differ.
    what: String,
    /// The same with the numbers.
    text: String,
    /// Which requests.
    asks: Vec<usize>,
    /// Whether the line shows everything that each of them would do.
    whole: bool,
}

impl RequestLine {
    /// With how many there are.
    fn counted(&self) -> String {
        match self.asks.len() {
            1 => self.text.clone(),
            many => format!("{many} × {}", self.text),
        }
    }
}

/// The lines of these asks, the largest family first.
fn lines(asks: &[&Ask]) -> Vec<RequestLine> {
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
        return (card::title(ask), false);
    };
    let args = call.args.as_object();
    let only = args.is_none_or(|args| args.keys().all(|key| HARMLESS.contains(&key.as_str())));
    let shown = line(command);
    let short = shown.chars().count() <= LONGEST;
    let exact = only && short && shown == command;
    (cut(&shown, LONGEST), exact)
}

/// A text as the parts between its numbers, and the numbers.
fn apart(text: &str) -> (Vec<String>, Vec<String>) {
    let mut words = vec![String::new()];
    let mut numbers = Vec::<String>::new();
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
    let what = text.clone();
    if places.is_empty() {
        return RequestLine { what, text, asks, whole: exact };
    }
    let listed = values.map(|values| spans(&values)).filter(|it| it.chars().count() <= NUMBERS);
    // A command that holds this letter as a word of its own would read as if it were a number.
    let clear = !words.iter().any(|word| word.contains('N'));
    let whole = exact && clear && listed.is_some();
    match listed {
        Some(listed) => text.push_str(&format!("  (N: {listed})")),
        None => text.push_str("  (N: various numbers)"),
    }
    RequestLine { what, text, asks, whole }
}

/// Numbers in their order, runs of them as spans. Numbers of one width keep their leading zeros.
fn spans(values: &[String]) -> String {
    let mut values = values.to_vec();
    values.sort_by_key(|value| (value.len(), value.clone()));
    values.dedup();
    let width = values.first().map(String::len).unwrap_or_default();
    let padded = values.iter().all(|value| value.len() == width);
    let written =
        |number: u64| if padded { format!("{number:0width$}") } else { number.to_string() };
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_domain::{
        Answer, Body, By, StoppedClock,
        call::{Accepts, Appeal, Call},
        edit::ProposedEdit,
    };
    use countersign_store::BundleRow;
    use proptest::prelude::*;
    use serde_json::json;

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

    /// An open ask for this command.
    fn ask_to_run(command: &str) -> Ask {
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
            Block::Code { text, .. } | Block::Note { text } | Block::Outcome { text } => {
                text.clone()
            }
            _ => String::new(),
        };
        card.blocks.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn requests_that_one_line_says_in_full_are_approved_together_and_others_only_denied() {
        let card =
            draw(&bundle(1, &[(1, "scp b-1 prod:"), (1, "scp b-2 prod:"), (0, "rm -rf /")]), "st");
        assert_eq!((&*card.title, &*card.origin), ("2 × scp b-N prod:", "claude-code · shop"));
        assert_eq!(text(&card), "2 × scp b-N prod:  (N: 1, 2)");
        assert_eq!(labels(&card), ["Review", "Approve these 2", "Deny all 2"]);
        let card = draw(&bundle(1, &[(1, "scp b-1 prod:"), (1, "make")]), "st");
        assert_eq!(labels(&card), ["Review", "Deny all 2"]);
    }

    #[test]
    fn a_bundle_in_a_pause_says_so_and_has_no_button_that_approves() {
        for (command, wanted) in
            [("make a2", vec!["Review", "Deny all 2"]), ("make a1", vec!["Deny"])]
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
    fn what_runs_elsewhere_or_was_blocked_by_a_machine_is_not_approved_with_others() {
        type Change = fn(&mut Call);
        let elsewhere: Change = |call| call.host = Some("prod".to_owned());
        let planned: Change = |call| call.agent_mode = Some("plan".to_owned());
        let blocked: Change = |call| {
            let against = "Claude Code's auto mode".to_owned();
            call.appeal = Some(Appeal { against, reason: String::new() });
        };
        for (change, of_one) in [(elsewhere, "Deny all 2"), (planned, "Deny all 2")] {
            for second in ["make a1", "make a2"] {
                let mut bundle = bundle(1, &[(1, "make a1"), (1, second)]);
                change(&mut bundle.members[1].ask.body.call);
                assert_eq!(labels(&draw(&bundle, "storeid0")), ["Review", of_one], "{second}");
                assert!(!are_one(&bundle.members.iter().collect::<Vec<_>>()));
            }
        }
        let mut bundle = bundle(1, &[(1, "make a"), (1, "make a")]);
        elsewhere(&mut bundle.members[1].ask.body.call);
        let places = "claude-code · shop; claude-code · shop on prod";
        assert_eq!(draw(&bundle, "storeid0").origin, places);
        elsewhere(&mut bundle.members[0].ask.body.call);
        assert!(are_one(&bundle.members.iter().collect::<Vec<_>>()));
        bundle.members.iter_mut().for_each(|member| blocked(&mut member.ask.body.call));
        assert!(!are_one(&bundle.members.iter().collect::<Vec<_>>()));
    }

    #[test]
    fn a_change_of_one_of_the_same_calls_is_answered_for_that_one_alone() {
        let mut twice = bundle(3, &[(1, "make"), (3, "make")]);
        let member = &mut twice.members[1];
        member.ask.body.call.accepts = vec![Accepts::UpdatedInput];
        member.ask.progress.edit = Some(ProposedEdit {
            nth: 1,
            args: json!({"command": "make -n"}),
            digest: "0123".to_owned(),
            by: "Ana".to_owned(),
            effects: Vec::new(),
            critical: false,
            reviewed: false,
        });
        let card = draw(&twice, "storeid0");
        assert_eq!(labels(&card), ["Approve as changed", "Deny", "Drop the change"]);
        let tokens = card.buttons.iter().flatten().map(|it| ButtonToken::read(&it.token).unwrap());
        let steps: Vec<_> = tokens.map(|it| (it.nonce, it.step)).collect();
        let own = twice.members[1].card.clone();
        assert_eq!(steps, [1, 0, 1].map(|step| (own.clone(), step)));
        assert!(!text(&card).contains("one press answers"), "{}", text(&card));
    }

    #[test]
    fn a_press_reaches_what_its_revision_showed_and_nothing_that_came_later_or_has_ended() {
        let mut bundle = bundle(2, &[(1, "make a"), (1, "make b"), (2, "make c"), (0, "make d")]);
        deny(&mut bundle.members[0]);
        let shown = |revision| {
            shown_by(&bundle, revision).iter().map(|it| it.card.clone()).collect::<Vec<_>>()
        };
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
}
