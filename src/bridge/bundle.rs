//! A bundle as a card: many requests of one agent in one message, or the same request several
//! times. Pure.
//!
//! INVARIANT: the buttons that answer all carry the revision that shows them. They answer the asks
//! which that revision showed, and approve only what its lines say in full.

mod lines;

use super::{
    card::{self, Maker, Origin},
    token::{ButtonToken, Pressed},
};
use countersign_domain::{Ask, Decision, Scope, State};
use countersign_port::{Block, Button, ButtonStyle, Card, Tone, line};
use countersign_store::{Bundle, Member};
use countersign_tokens::clock;
use lines::{RequestLine, lines};
use std::collections::BTreeMap;

/// The most lines of a bundle, and the most effects.
const LINES: usize = 20;
const EFFECTS: usize = 6;
/// The rows of buttons that a page leaves to its request.
const ROWS: usize = 4;

/// Draws a bundle as it is now.
pub(super) fn draw(bundle: &Bundle, store: &str) -> Card {
    let shown: Vec<_> = bundle.members.iter().filter(|member| member.joined > 0).collect();
    match shown.as_slice() {
        [first, rest @ ..] if rest.iter().all(|it| it.ask.digest == first.ask.digest) => {
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
// SECURITY: a critical call is never approved among others.
pub(super) fn are_one(members: &[&Member]) -> bool {
    let asks: Vec<_> = members.iter().map(|member| &member.ask).collect();
    let plain =
        asks.iter().all(|ask| !ask.body.critical && !ask.is_question() && !ask.body.is_no_call());
    let same = asks.windows(2).all(|two| matches!(two, [a, b] if a.digest == b.digest));
    plain && (same || matches!(lines(&asks).as_slice(), [RequestLine { whole: true, .. }]))
}

/// The same request several times: its own card, which says how often.
fn same(bundle: &Bundle, shown: &[&Member], store: &str) -> Card {
    let open: Vec<_> = shown.iter().filter(|member| member.ask.is_open()).collect();
    let lead = open.first().copied().or(shown.first());
    let Some(member) = lead else { return overview(bundle, shown, store) };
    let ask = &member.ask;
    // Undo belongs to the one ask whose answer stored something.
    let nonce = if ask.is_open() { &bundle.row.nonce } else { &member.card };
    let mut card = card::draw(ask, Origin { nonce, store });
    (card.id, card.revision) = (bundle.row.nonce.clone(), revision(bundle));
    let step = usize::try_from(bundle.row.revision).unwrap_or_default();
    let all = |button: &mut Button| {
        let token = ButtonToken::read(&button.token)
            .and_then(|token| ButtonToken { step, ..token }.write());
        button.token = token.unwrap_or_default();
    };
    card.buttons.iter_mut().flatten().chain(&mut card.more).for_each(all);
    card.buttons.iter_mut().for_each(|row| row.retain(|button| !button.token.is_empty()));
    let count = if open.is_empty() { shown.len() } else { open.len() };
    card.more.retain(|button| !button.token.is_empty());
    if count > 1 {
        card.title = format!("{} ×{count}", card.title);
    }
    if open.len() > 1 {
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
        blocks.push(Block::Code { label: "requests".to_owned(), text });
    }
    if !open.is_empty() {
        blocks.extend(touches(&asks).map(|text| Block::Note { text }));
    }
    if open.iter().any(|member| member.ask.stopped.is_some()) {
        blocks.push(Block::Note { text: card::PAUSED.to_owned() });
    }
    if let Some(text) = ended(shown) {
        blocks.push(match open.is_empty() {
            true => Block::Outcome { text },
            false => Block::Note { text },
        });
    }
    Card {
        id: bundle.row.nonce.clone(),
        ask: asks.first().map(|ask| ask.id.clone()).unwrap_or_default(),
        revision: revision(bundle),
        tone: tone(shown),
        title: title(&asks),
        origin: String::new(),
        blocks,
        buttons: if open.is_empty() { Vec::new() } else { buttons(bundle, &open, store) },
        more: Vec::new(),
        deadline: deadline(shown),
    }
}

fn title(asks: &[&Ask]) -> String {
    let Some(call) = asks.first().map(|ask| &ask.body.call) else { return "no request".to_owned() };
    let folder = call.cwd.as_deref().and_then(|cwd| cwd.trim_end_matches('/').rsplit('/').next());
    let folder = folder.filter(|folder| !folder.is_empty());
    let project = folder.map(|folder| format!(" · {}", line(folder))).unwrap_or_default();
    let requests = if asks.len() == 1 { "request" } else { "requests" };
    format!("{} {requests} from {}{project}", asks.len(), line(&call.agent))
}

fn listed(lines: &[RequestLine]) -> String {
    let mut listed: Vec<_> = lines.iter().take(LINES).map(RequestLine::counted).collect();
    let more: usize = lines.iter().skip(LINES).map(|line| line.asks.len()).sum();
    if more > 0 {
        listed.push(format!("… and {more} more; Review shows each"));
    }
    listed.join("\n")
}

/// What the requests touch, in all.
fn touches(asks: &[&Ask]) -> Option<String> {
    let mut effects: Vec<&str> = Vec::new();
    for effect in asks.iter().flat_map(|ask| &ask.body.effects) {
        if !effects.contains(&effect.as_str()) {
            effects.push(effect);
        }
    }
    let more = effects.len().saturating_sub(EFFECTS);
    let some: Vec<_> = effects.into_iter().take(EFFECTS).map(line).collect();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!some.is_empty()).then(|| format!("→ {}{more}", some.join("; ")))
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
    match () {
        () if has(Ask::is_open) => Tone::Open,
        () if shown.iter().any(|it| decided(&it.ask, Decision::Approve)) => Tone::Approved,
        () if has(|ask| matches!(ask.state, State::Answered(_))) => Tone::Denied,
        () if has(|ask| matches!(ask.state, State::Expired(_))) => Tone::Expired,
        () => Tone::Cancelled,
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

#[cfg(test)]
pub(super) mod tests;
