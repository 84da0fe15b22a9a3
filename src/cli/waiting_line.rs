//! The line on stderr of a terminal while an ask waits: how long, and where it can be answered.

use super::say;
use countersign_client::Client;
use countersign_domain::wire::ReadyReply;
use countersign_tokens::clock;
use jiff::Timestamp;
use std::{
    convert::Infallible,
    io::{self, IsTerminal, Write},
    time::Duration,
};

/// How often the deadline is read again: it moves when the ask is first shown, and stops in a
/// pause.
const REREAD: usize = 10;

/// Keeps the line up to date until the future is dropped, which removes the line. Writes nothing
/// where stderr is no terminal.
pub(super) async fn run(client: &Client, id: &str) -> Infallible {
    if !io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    let places = client.ready().await.map(|ready| places(&ready)).unwrap_or_default();
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let (line, mut deadline) = (DrawnLine, None);
    for at in 0_usize.. {
        ticks.tick().await;
        if at.is_multiple_of(REREAD)
            && let Ok(ask) = client.ask(id).await
        {
            deadline = ask.deadline.and_then(|at| at.parse::<Timestamp>().ok());
        }
        let left = deadline.map(|at| at.as_millisecond() - clock::now_ms());
        line.draw(&text(left, &places));
    }
    std::future::pending().await
}

/// Where people can answer: the inbox's address, and the chats that receive presses.
fn places(ready: &ReadyReply) -> String {
    let up = ready.adapters.iter().filter(|(_, adapter)| adapter.state != "down");
    let mut chats: Vec<String> = up.map(|(name, _)| say::literal(name)).collect();
    let inbox = chats.iter().position(|name| name == "inbox").map(|at| {
        chats.remove(at);
        say::literal(&ready.inbox)
    });
    let chats = (!chats.is_empty()).then(|| chats.join(", "));
    inbox.into_iter().chain(chats).collect::<Vec<_>>().join(" or ")
}

fn text(left: Option<i64>, places: &str) -> String {
    let left = left.map(|ms| match (ms + 999) / 1000 {
        ..=0 => "time is up".to_owned(),
        seconds @ ..3600 => format!("{}:{:02} left", seconds / 60, seconds % 60),
        _ => format!("{} left", clock::span(ms)),
    });
    let places = (!places.is_empty()).then(|| format!("answer at {places}"));
    let parts = [left, places, Some("Ctrl-C cancels it".to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A line that is drawn over itself. A dropped one is gone from the screen.
struct DrawnLine;

impl DrawnLine {
    fn draw(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        // A longer line would wrap, and could not be drawn over.
        let width = rustix::termios::tcgetwinsize(&stderr).map_or(0, |size| size.ws_col);
        let width = if width == 0 { 80 } else { usize::from(width) };
        let text: String = text.chars().take(width.saturating_sub(1)).collect();
        let _ = write!(stderr, "\r\u{1b}[K{text}").and_then(|()| stderr.flush());
    }
}

impl Drop for DrawnLine {
    fn drop(&mut self) {
        self.draw("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_long_and_where() {
        let line = text(Some(272_000), "http://127.0.0.1:7117 or telegram");
        assert_eq!(
            line,
            "4:32 left · answer at http://127.0.0.1:7117 or telegram · Ctrl-C cancels it"
        );
        assert_eq!(text(Some(-5), ""), "time is up · Ctrl-C cancels it");
        assert_eq!(text(Some(7_200_000), ""), "2 hours left · Ctrl-C cancels it");
        assert_eq!(text(None, ""), "Ctrl-C cancels it");
    }
}
