//! `countersign watch`: what waits, live in the terminal, answered with one key.

mod state;

use super::{Context, Exit, Misused, say::wants_colour};
use anyhow::{Context as _, Result};
use countersign_bridge::card::terminal;
use countersign_client::Client;
use countersign_port::{Tone, line};
use countersign_tokens::clock;
use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyEvent, KeyEventKind},
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph, Wrap},
};
use state::{Awaited, WatchAction, WatchState, WatchedAsk};
use std::{io::IsTerminal, time::Duration};
use tokio::sync::mpsc;

/// How often what waits is read where events cannot be followed, and after a lost connection.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys: j and k choose, a approves, w approves always, d denies, 1-9 choose an option, u undoes,
p pauses and resumes everything, ? shows all keys, q ends. A critical request takes a second key.")]
pub(super) struct WatchArgs {}

pub(super) async fn run(context: &Context, _: &WatchArgs) -> Result<Exit> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let why = "watch needs a terminal; `countersign pending` and `log --follow` do not";
        return Err(Misused(why.into()).into());
    }
    let client = context.reader()?;
    let mut state = WatchState::default();
    // Before the screen is taken: an error of the first request is printed like any other.
    state.show(client.cards().await?, clock::now_ms());
    state.is_paused = client.ready().await?.paused.is_some();
    let mut terminal = ratatui::try_init().context("this terminal cannot be drawn on")?;
    let ended = watch(&client, &mut state, &mut terminal).await;
    ratatui::restore();
    ended.map(|()| Exit::Good)
}

/// What the screen reacts to.
enum WatchEvent {
    Key(KeyEvent),
    Resized,
    /// Something changed at the daemon.
    News,
    /// The daemon cannot be reached, for this reason.
    Lost(String),
    /// The result of an answer, in a sentence.
    Told(String),
}

async fn watch(
    client: &Client,
    state: &mut WatchState,
    terminal: &mut DefaultTerminal,
) -> Result<()> {
    let (tell, mut events) = mpsc::channel(64);
    let keys = tell.clone();
    // A thread of its own: reading a key blocks, and ends with the process.
    std::thread::spawn(move || read_keys(&keys));
    let follower = tokio::spawn(follow(client.clone(), tell.clone()));
    let _follows = AbortOnDrop(follower);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let colours = wants_colour(&std::io::stdout());
    loop {
        terminal.draw(|frame| draw(frame, state, clock::now_ms(), colours))?;
        let event = tokio::select! {
            event = events.recv() => match event {
                Some(event) => event,
                None => return Ok(()),
            },
            _ = ticks.tick() => continue,
        };
        match event {
            WatchEvent::Key(press) => match state.press(press, clock::now_ms()) {
                None => {}
                Some(WatchAction::Quit) => return Ok(()),
                Some(action) => {
                    tokio::spawn(perform(client.clone(), action, tell.clone()));
                }
            },
            WatchEvent::Resized => {}
            WatchEvent::Told(sentence) => state.said = sentence,
            WatchEvent::Lost(why) => state.lost = Some(why),
            WatchEvent::News => match read(client, state).await {
                Ok(()) => {}
                Err(error) => state.lost = Some(format!("{error:#}")),
            },
        }
    }
}

/// Reads what waits again.
async fn read(client: &Client, state: &mut WatchState) -> Result<()> {
    let (cards, ready) = tokio::join!(client.cards(), client.ready());
    state.show(cards?, clock::now_ms());
    state.is_paused = ready?.paused.is_some();
    Ok(())
}

/// Tells of every change at the daemon, until the screen is gone.
async fn follow(client: Client, tell: mpsc::Sender<WatchEvent>) {
    loop {
        let lost = match client.events(None, 0, true).await {
            // What happened before the stream began.
            Ok(mut events) => match tell.send(WatchEvent::News).await {
                Ok(()) => loop {
                    match events.next().await {
                        Ok(Some(_)) if tell.send(WatchEvent::News).await.is_ok() => {}
                        Ok(_) => break None,
                        Err(error) => break Some(error),
                    }
                },
                Err(_) => return,
            },
            Err(error) => Some(error),
        };
        // A stream that nothing proves is refused; then reading again has to do.
        let event = match lost {
            Some(countersign_client::ClientError::Refused(_)) | None => WatchEvent::News,
            Some(error) => WatchEvent::Lost(error.to_string()),
        };
        if tell.send(event).await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn perform(client: Client, action: WatchAction, tell: mpsc::Sender<WatchEvent>) {
    let done = match &action {
        WatchAction::Answer(id, answer) => {
            client.answer(id, answer).await.map(|reply| reply.message)
        }
        WatchAction::Undo(id) => client.undo(id).await.map(|reply| reply.message),
        WatchAction::Pause(request) => client.pause(request).await.map(|reply| reply.message),
        WatchAction::Resume => client.resume().await.map(|reply| reply.message),
        WatchAction::Quit => return,
    };
    let sentence = done.unwrap_or_else(|error| error.to_string());
    // The screen may be gone.
    let _ = tell.send(WatchEvent::Told(sentence)).await;
    let _ = tell.send(WatchEvent::News).await;
}

fn read_keys(tell: &mpsc::Sender<WatchEvent>) {
    while let Ok(event) = event::read() {
        let event = match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => continue,
            Event::Key(key) => WatchEvent::Key(key),
            Event::Resize(..) => WatchEvent::Resized,
            _ => continue,
        };
        if tell.blocking_send(event).is_err() {
            return;
        }
    }
}

/// Ends a task with the screen.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

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
fn draw(frame: &mut Frame<'_>, state: &WatchState, now: i64, colours: bool) {
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
