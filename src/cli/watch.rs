//! `countersign watch`: what waits, live in the terminal, answered with one key.

mod screen;
mod state;

use super::{Context, Exit, colour::wants_colour, exit::Misused, token};
use anyhow::{Context as _, Result};
use countersign_client::Client;
use countersign_tokens::clock;
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
};
use state::{WatchAction, WatchKey, WatchState};
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
    state.paused(client.ready().await?.paused.is_some());
    let mut terminal = ratatui::try_init().context("this terminal cannot be drawn on")?;
    let ended = watch(&client, &mut state, &mut terminal).await;
    ratatui::restore();
    ended.map(|()| Exit::Good)
}

/// What the screen reacts to.
enum WatchEvent {
    Key(WatchKey),
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
        terminal.draw(|frame| screen::draw(frame, state, clock::now_ms(), colours))?;
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
            WatchEvent::Told(sentence) => state.say(sentence),
            WatchEvent::Lost(why) => state.lost(why),
            WatchEvent::News => match read(client, state).await {
                Ok(()) => {}
                Err(error) => state.lost(format!("{error:#}")),
            },
        }
    }
}

/// Reads what waits again.
async fn read(client: &Client, state: &mut WatchState) -> Result<()> {
    let (cards, ready) = tokio::join!(client.cards(), client.ready());
    state.show(cards?, clock::now_ms());
    state.paused(ready?.paused.is_some());
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
            Event::Key(key) => match (key.code, key.modifiers) {
                (KeyCode::Char('c'), KeyModifiers::CONTROL) => WatchEvent::Key(WatchKey::Interrupt),
                (KeyCode::Char(letter), _) => WatchEvent::Key(WatchKey::Letter(letter)),
                (KeyCode::Down, _) => WatchEvent::Key(WatchKey::Down),
                (KeyCode::Up, _) => WatchEvent::Key(WatchKey::Up),
                (KeyCode::PageDown, _) => WatchEvent::Key(WatchKey::PageDown),
                (KeyCode::PageUp, _) => WatchEvent::Key(WatchKey::PageUp),
                (KeyCode::Enter, _) => WatchEvent::Key(WatchKey::Enter),
                (KeyCode::Backspace, _) => WatchEvent::Key(WatchKey::Erase),
                (KeyCode::Esc, _) => WatchEvent::Key(WatchKey::Leave),
                _ => continue,
            },
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
