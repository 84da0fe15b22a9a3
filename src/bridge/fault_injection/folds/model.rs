//! What the model knows: asks, and the pictures of them that people have seen.

use crate::{
    fault_injection::chat::text,
    token::{ButtonToken, Pressed},
};
use countersign_domain::{Ask, Decision, Scope, State};
use countersign_port::Card;
use std::collections::BTreeMap;

/// A button of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureButton {
    Approve,
    Deny,
    Page,
}

/// An ask as the model knows it.
pub(super) struct KnownAsk {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) expires: bool,
    pub(super) ended: Option<AskEnd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskEnd {
    Approved,
    Denied,
    Expired,
    Cancelled,
}

/// What a message showed at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// How many open requests of each name, at most: where a line names several, it does not say
    /// which of them it has twice.
    pub(super) shows: BTreeMap<String, usize>,
    /// How many requests in all.
    pub(super) total: usize,
    pub(super) buttons: Vec<(Pressed, String)>,
    /// So many asks there were: none of the later ones can be on it.
    pub(super) asks: usize,
}

pub(super) struct FoldModel {
    pub(super) asks: Vec<KnownAsk>,
    pub(super) pictures: Vec<Picture>,
    pub(super) epoch: i64,
    pub(super) next: usize,
}

pub(super) fn ended(ask: &Ask) -> Option<AskEnd> {
    Some(match &ask.state {
        State::Open => return None,
        State::Answered(answer) if answer.decision == Decision::Deny => AskEnd::Denied,
        State::Answered(_) => AskEnd::Approved,
        State::Expired(answer) if answer.decision == Decision::Deny => AskEnd::Expired,
        State::Expired(_) => AskEnd::Approved,
        State::Cancelled(_) => AskEnd::Cancelled,
    })
}

/// The open requests that a card shows, by name, and how many they are: `build-3.`, `build-3. ×2`,
/// `build-N.  (N: 1–4, 7)`.
fn shows(card: &Card) -> (BTreeMap<String, usize>, usize) {
    let (mut shown, mut total) = (BTreeMap::new(), 0);
    let name = |line: &str| {
        let rest = line.split_once("git push origin ")?.1;
        Some(rest.split_once('.')?.0.to_owned())
    };
    if card.title.starts_with("git push origin ") {
        let times = card.title.rsplit_once('×').map_or(1, |(_, times)| times.parse().unwrap());
        shown.extend(name(&card.title).map(|name| (name, times)));
        return (shown, times);
    }
    for line in text(card).lines().skip(1) {
        let Some(name) = name(line) else { continue };
        let times = line.split_once(" × ").map_or(1, |(times, _)| times.parse().unwrap());
        total += times;
        match line.split_once("(N: ") {
            None => *shown.entry(name).or_default() += times,
            Some((_, spans)) => {
                let numbers = numbers(spans.trim_end_matches(')'));
                let most = times - numbers.len() + 1;
                for number in numbers {
                    *shown.entry(name.replace('N', &number.to_string())).or_default() += most;
                }
            }
        }
    }
    (shown, total)
}

fn numbers(spans: &str) -> Vec<usize> {
    let span = |span: &str| {
        let (first, last) = span.split_once('–').unwrap_or((span, span));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    };
    spans.split(", ").flat_map(span).collect()
}

impl Picture {
    pub(super) fn of(card: &Card, asks: usize) -> Self {
        let buttons = card.buttons.iter().flatten();
        let buttons = buttons.filter_map(|button| {
            let pressed = ButtonToken::read(&button.token)?.pressed;
            Some((pressed, button.token.clone()))
        });
        let (shows, total) = shows(card);
        Self { shows, total, buttons: buttons.collect(), asks }
    }

    pub(super) fn button(&self, way: PictureButton) -> Option<&str> {
        let wanted = match way {
            PictureButton::Approve => Pressed::Approve(Scope::Once),
            PictureButton::Deny => Pressed::Deny,
            PictureButton::Page => Pressed::Page,
        };
        let found = self.buttons.iter().find(|(pressed, _)| *pressed == wanted);
        found.map(|(_, token)| token.as_str())
    }
}
