//! `countersign watch`: what waits, live in the terminal, answered with one key.

mod state;

use super::{
    Context, Misused,
    columns::{self, cut},
    say::wants_colour,
};
use anyhow::{Context as _, Result};
use countersign_bridge::card::terminal;
use countersign_client::{Client, ClientError};
use countersign_port::{Tone, line};
use countersign_tokens::clock;
use state::{Awaited, WatchAction, WatchState, WatchedAsk};
use std::{
    io::{self, IsTerminal, Stdout, Write},
    time::Duration,
};
use termion::{
    clear, color,
    cursor::{Goto, HideCursor},
    event::Key,
    input::TermRead,
    raw::{IntoRawMode, RawTerminal},
    screen::{AlternateScreen, IntoAlternateScreen},
    style,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

/// How often what waits is read where events cannot be followed, and after a lost connection.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys: j and k choose, a approves, w approves always, d denies, 1-9 choose an option, u undoes,
p pauses and resumes everything, space scrolls, ? shows all keys, q ends. A critical request needs a
second key, and a long one is approved only after its end was shown.")]
pub(super) struct WatchArgs {}

pub(super) async fn run(context: &Context) -> Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let why = "watch needs a terminal; `countersign pending` and `log --follow` do not";
        return Err(Misused(why.into()).into());
    }
    let client = context.reader()?;
    let mut state = WatchState::default();
    // Before the screen is taken: an error of the first request is printed like any other.
    state.show(client.cards().await?, clock::now_ms());
    state.is_paused = client.ready().await?.paused.is_some();
    watch(&client, &mut state, Screen::take().context("this terminal cannot be drawn on")?).await
}

/// What the screen reacts to.
enum WatchEvent {
    Key(Key),
    /// Something changed at the daemon.
    News,
    /// The daemon cannot be reached, for this reason.
    Lost(String),
    /// The result of an answer, in a sentence.
    Told(String),
}

async fn watch(client: &Client, state: &mut WatchState, mut screen: Screen) -> Result<()> {
    let (tell, mut events) = mpsc::channel(64);
    let keys = tell.clone();
    // A thread of its own: reading a key blocks, and ends with the process.
    std::thread::spawn(move || read_keys(&keys));
    let follower = tokio::spawn(follow(client.clone(), tell.clone()));
    let _follows = AbortOnDrop(follower);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let mut resized = signal(SignalKind::window_change())?;
    let colours = Colours(wants_colour(&io::stdout()));
    loop {
        screen.draw(|width, height| lines(state, clock::now_ms(), colours, width, height))?;
        let event = tokio::select! {
            event = events.recv() => match event {
                Some(event) => event,
                None => return Ok(()),
            },
            _ = ticks.tick() => continue,
            _ = resized.recv() => continue,
        };
        match event {
            WatchEvent::Key(press) => match state.press(press, clock::now_ms()) {
                None => {}
                Some(WatchAction::Quit) => return Ok(()),
                Some(action) => {
                    tokio::spawn(perform(client.clone(), action, tell.clone()));
                }
            },
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
        let followed = async {
            let mut events = client.events(None, 0, true, false).await?;
            // First for what happened before the stream began.
            while tell.send(WatchEvent::News).await.is_ok() && events.next().await?.is_some() {}
            Ok(())
        };
        // A stream that nothing proves is refused; then reading again has to do.
        let event = match followed.await {
            Ok(()) | Err(ClientError::Refused(_)) => WatchEvent::News,
            Err(error) => WatchEvent::Lost(error.to_string()),
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
    for key in io::stdin().keys() {
        let Ok(key) = key else { return };
        if tell.blocking_send(WatchEvent::Key(key)).is_err() {
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

/// The terminal, until it is dropped: then it is as it was.
struct Screen(HideCursor<AlternateScreen<RawTerminal<Stdout>>>);

impl Screen {
    fn take() -> io::Result<Self> {
        let screen = io::stdout().into_raw_mode()?.into_alternate_screen()?;
        Ok(Self(HideCursor::from(screen)))
    }

    /// Writes the lines over what was there; they fit.
    fn draw(&mut self, lines: impl FnOnce(usize, usize) -> Vec<String>) -> io::Result<()> {
        let (width, height) = termion::terminal_size()?;
        let mut text = String::new();
        for (at, line) in (1..=height).zip(lines(width.into(), height.into())) {
            text += &format!("{}{line}{}{}", Goto(1, at), style::Reset, clear::UntilNewline);
        }
        write!(self.0, "{text}{}", clear::AfterCursor)?;
        self.0.flush()
    }
}

const KEYS: &str =
    "? keys · q end · j k choose · a approve · w always · d deny · r deny with a reason";

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

/// Everything that is shown: the head, what waits, the chosen request, what was said, the keys.
fn lines(
    state: &mut WatchState,
    now: i64,
    colours: Colours,
    width: usize,
    height: usize,
) -> Vec<String> {
    let middle = height.saturating_sub(3);
    let mut lines = vec![head(state, colours, width)];
    if state.awaited == Awaited::Help {
        lines.push(rule(" Keys ", width));
        let row =
            |(key, does): &(&str, &str)| cut(&format!("  {key:<14} {does}"), width).to_owned();
        lines.extend(ALL_KEYS.iter().map(row));
    } else {
        let waiting = (middle * 3 / 10).max(2);
        lines.push(rule(" Waiting ", width));
        lines.extend(rows(state, now, colours, width, waiting - 1));
        lines.resize(1 + waiting, String::new());
        let text = state.current().map(|it| terminal::draw(&it.card)).unwrap_or_default();
        let text = columns::marked(&text, width);
        let all = text.lines().count();
        let room = middle.saturating_sub(lines.len());
        let above = state.see(all, room);
        let title = match all.saturating_sub(above + room) {
            0 => " Request ".to_owned(),
            below => format!(" Request · {below} more below (space) "),
        };
        lines.push(rule(&title, width));
        lines.extend(text.lines().skip(above).map(str::to_owned));
    }
    lines.resize(1 + middle, String::new());
    lines.push(prompt(state, colours, width));
    lines.push(styled(style::Faint, cut(KEYS, width)));
    lines
}

fn head(state: &WatchState, colours: Colours, width: usize) -> String {
    let waits = match state.asks.len() {
        0 => "nothing waits".to_owned(),
        1 => "1 request waits".to_owned(),
        count => format!("{count} requests wait"),
    };
    let mut row = Row::new(width);
    row.push(style::Bold, &format!("countersign · {waits}"));
    if state.is_paused {
        row.push(colours.yellow(), " · everything is paused (p resumes)");
    }
    if let Some(why) = &state.lost {
        row.push(colours.red(), &format!(" · not connected: {}", line(why)));
    }
    row.text
}

/// The list of what waits, scrolled to the chosen request.
fn rows(state: &WatchState, now: i64, colours: Colours, width: usize, most: usize) -> Vec<String> {
    let place = state.place();
    let first = (place.unwrap_or_default() + 1).saturating_sub(most);
    let asks = state.asks.iter().enumerate().skip(first).take(most);
    asks.map(|(at, it)| row(it, Some(at) == place, now, colours, width)).collect()
}

/// A request in the list.
fn row(it: &WatchedAsk, is_chosen: bool, now: i64, colours: Colours, width: usize) -> String {
    let left = it.card.deadline.map_or(String::new(), |at| clock::span((at - now).max(0)));
    let weight = if is_chosen { style::Bold.to_string() } else { String::new() };
    let mut row = Row::new(width);
    row.push("", if is_chosen { "› " } else { "  " });
    row.push(style::Faint, &format!("{left:>8}  "));
    if it.card.tone == Tone::Critical {
        row.push(format!("{weight}{}", colours.red()), "CRITICAL ");
    }
    row.push(weight, &line(&it.card.title));
    row.push(style::Faint, &format!("  {}", line(&it.card.origin)));
    row.text
}

/// What was said last, or what the next key answers.
fn prompt(state: &WatchState, colours: Colours, width: usize) -> String {
    match &state.awaited {
        Awaited::Yes(_) => {
            let title = state.current().map(|it| line(&it.card.title)).unwrap_or_default();
            let text = format!("Press y to approve this critical call once: {title}");
            styled(format!("{}{}", style::Bold, colours.red()), cut(&text, width))
        }
        Awaited::Reason(_, text) => {
            let text = format!("Deny, because: {}▏ (Enter denies, Esc does not)", line(text));
            cut(&text, width).to_owned()
        }
        Awaited::Key | Awaited::Help => cut(&line(&state.said), width).to_owned(),
    }
}

/// A line of styled parts, cut at the terminal's edge.
struct Row {
    text: String,
    left: usize,
}

impl Row {
    fn new(width: usize) -> Self {
        Self { text: String::new(), left: width }
    }

    fn push(&mut self, how: impl std::fmt::Display, part: &str) {
        let part = cut(part, self.left);
        self.text += &styled(how, part);
        self.left -= columns::count(part);
    }
}

fn styled(how: impl std::fmt::Display, text: &str) -> String {
    format!("{how}{text}{}", style::Reset)
}

fn rule(title: &str, width: usize) -> String {
    cut(&format!("{title}{}", "─".repeat(width)), width).to_owned()
}

/// Colours, where they are wanted.
#[derive(Clone, Copy)]
struct Colours(bool);

impl Colours {
    fn red(self) -> &'static str {
        if self.0 { color::Red.fg_str() } else { "" }
    }

    fn yellow(self) -> &'static str {
        if self.0 { color::Yellow.fg_str() } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_a_terminal_is_filled_and_never_left() {
        let colours = Colours(false);
        let mut state = WatchState::default();
        state.said = "安".repeat(90);
        for (width, height) in [(0, 4), (1, 5), (7, 6), (40, 24), (200, 60)] {
            let lines = lines(&mut state, 0, colours, width, height);
            assert_eq!(lines.len(), height, "{width} × {height}");
            let plain = |line: &String| {
                line.replace(&style::Bold.to_string(), "")
                    .replace(&style::Faint.to_string(), "")
                    .replace(&style::Reset.to_string(), "")
            };
            assert!(
                lines.iter().map(plain).all(|line| columns::count(&line) <= width),
                "{lines:?}"
            );
        }
    }
}
