//! Draws what `watch` shows.

use super::state::{Awaited, WatchState, WatchedAsk};
use countersign_bridge::card::terminal;
use countersign_port::{Tone, line};
use countersign_tokens::clock;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph, Wrap},
};

/// From this width on the list is beside the request.
const WIDE: u16 = 110;

const KEYS: &str =
    "j k choose · a approve · w always · d deny · r deny with a reason · ? keys · q end";

const ALL_KEYS: &[(&str, &str)] = &[
    ("j, k, arrows", "choose a request"),
    ("space, b", "scroll the request"),
    ("a", "approve once; a critical request asks for y"),
    ("w", "always: store the rule that the request names"),
    ("d", "deny"),
    ("r", "deny with a reason for the agent"),
    ("1-9", "choose an option of a question"),
    ("u", "undo what the last answer stored"),
    ("p", "pause everything, and resume"),
    ("q, Ctrl-C", "end; nothing is answered by that"),
];

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &WatchState, now: i64, colours: bool) {
    let style = Colours(colours);
    let [top, middle, said, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(head(state, style)), top);
    body(frame, state, now, style, middle);
    frame.render_widget(Paragraph::new(prompt(state, style)), said);
    frame.render_widget(Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::DIM)), keys);
}

fn head(state: &WatchState, style: Colours) -> Line<'static> {
    let waits = match state.asks.len() {
        0 => "nothing waits".to_owned(),
        1 => "1 request waits".to_owned(),
        count => format!("{count} requests wait"),
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut parts = vec![Span::styled(format!("countersign · {waits}"), bold)];
    if state.is_paused {
        parts.push(Span::styled(" · everything is paused (p resumes)", style.of(Color::Yellow)));
    }
    if let Some(why) = &state.lost {
        parts.push(Span::styled(format!(" · not connected: {}", line(why)), style.of(Color::Red)));
    }
    Line::from(parts)
}

fn body(frame: &mut Frame<'_>, state: &WatchState, now: i64, style: Colours, area: Rect) {
    if state.awaited == Awaited::Help {
        let row = |(key, does): &(&str, &str)| Line::from(format!("  {key:<14} {does}"));
        let lines: Vec<Line<'_>> = ALL_KEYS.iter().map(row).collect();
        return frame.render_widget(Paragraph::new(lines).block(framed(" Keys ")), area);
    }
    let areas = if area.width >= WIDE {
        Layout::horizontal([Constraint::Percentage(40), Constraint::Percentage(60)])
    } else {
        Layout::vertical([Constraint::Percentage(30), Constraint::Percentage(70)])
    };
    let [list, detail] = areas.spacing(u16::from(area.width >= WIDE) * 2).areas(area);
    let place = state.place();
    // A title, and the border above it.
    let rows = usize::from(list.height.saturating_sub(1)).max(1);
    let first = place.unwrap_or_default().saturating_sub(rows - 1);
    let lines: Vec<Line<'_>> = (state.asks.iter().enumerate().skip(first))
        .map(|(at, it)| row(it, Some(at) == place, now, style))
        .collect();
    frame.render_widget(Paragraph::new(lines).block(framed(" Waiting ")), list);
    let text = state.current().map(|it| terminal::draw(&it.card)).unwrap_or_default();
    let shown = Paragraph::new(text).wrap(Wrap { trim: false }).scroll((state.scroll, 0));
    frame.render_widget(shown.block(framed(" Request ")), detail);
}

/// A request in the list.
fn row(it: &WatchedAsk, is_chosen: bool, now: i64, style: Colours) -> Line<'static> {
    let left = it.card.deadline.map_or(String::new(), |at| clock::span((at - now).max(0)));
    let mark = if is_chosen { "› " } else { "  " };
    let (sign, colour) = match it.card.tone {
        Tone::Critical => ("CRITICAL ", style.of(Color::Red)),
        _ => ("", Style::new()),
    };
    let weight = if is_chosen { Modifier::BOLD } else { Modifier::empty() };
    Line::from(vec![
        Span::raw(mark),
        Span::styled(format!("{left:>8}  "), Style::new().add_modifier(Modifier::DIM)),
        Span::styled(sign, colour.add_modifier(weight)),
        Span::styled(line(&it.card.title), Style::new().add_modifier(weight)),
        Span::styled(
            format!("  {}", line(&it.card.origin)),
            Style::new().add_modifier(Modifier::DIM),
        ),
    ])
}

/// What was said last, or what the next key answers.
fn prompt(state: &WatchState, style: Colours) -> Line<'static> {
    match &state.awaited {
        Awaited::Yes(_) => {
            let title = state.current().map(|it| line(&it.card.title)).unwrap_or_default();
            let text = format!("Press y to approve this critical call once: {title}");
            Line::styled(text, style.of(Color::Red).add_modifier(Modifier::BOLD))
        }
        Awaited::Reason(_, text) => {
            Line::from(format!("Deny, because: {}▏ (Enter denies, Esc does not)", line(text)))
        }
        Awaited::Key | Awaited::Help => Line::from(line(&state.said)),
    }
}

fn framed(title: &'static str) -> Block<'static> {
    Block::new().borders(Borders::TOP).title(title)
}

/// Colours, where they are wanted.
#[derive(Clone, Copy)]
struct Colours(bool);

impl Colours {
    fn of(self, colour: Color) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new() }
    }
}
