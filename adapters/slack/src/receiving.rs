//! Keeps a connection to Slack, and a second one while the first is replaced.

use crate::bot::SlackBot;
use crate::problem::ApiProblem;
use crate::{answer, payload};
use countersign_port::{CancellationToken, Presses, SendGuard};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite};
use tracing::{debug, info, warn};

/// Between two looks at the connection.
const LOOK: Duration = Duration::from_secs(1);
/// The longest pause between two tries to connect, and the same where Slack refuses us.
const PAUSE: Duration = Duration::from_secs(5);
const REFUSED_PAUSE: Duration = Duration::from_secs(15);
/// A connection that was up for so long did not fail at once.
const SETTLED: Duration = Duration::from_secs(30);
/// How long a replaced connection is kept for what is still on its way.
const DRAIN: Duration = Duration::from_secs(15);

/// What is said where Socket Mode is off.
const DISABLED: &str = "Socket Mode of the app is switched off; switch it on under Socket Mode of \
                        the app on https://api.slack.com/apps";

/// Why there is no connection (any more).
enum SocketsEnd {
    /// The daemon stops.
    Stopped,
    /// It was lost, or never was there.
    Lost(String),
    /// Slack refuses us until somebody changes something.
    Refused(String),
}

/// A connection's report, with its number.
type Report = (usize, SocketNotice);

/// Receives presses until `stop`.
pub(crate) async fn receive(
    bot: &Arc<SlackBot>,
    presses: Arc<dyn Presses>,
    stop: CancellationToken,
) {
    let mut tries = 0_u32;
    loop {
        let began = Instant::now();
        let (why, longest) = match connected(bot, &presses, &stop).await {
            SocketsEnd::Stopped => return bot.signals.idle(),
            SocketsEnd::Lost(why) => (why, PAUSE),
            SocketsEnd::Refused(why) => (why, REFUSED_PAUSE),
        };
        tries = if began.elapsed() >= SETTLED { 0 } else { tries.saturating_add(1) };
        if bot.signals.deaf(&*why) {
            warn!(why, "Slack brings no presses; trying again");
        } else {
            debug!(why, "Slack still brings no presses");
        }
        let pause = longest.min(Duration::from_millis(250) * 2_u32.saturating_pow(tries.min(16)));
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(pause) => {}
        }
    }
}

/// Presses come from the first connection to the last one's end.
async fn connected(
    bot: &Arc<SlackBot>,
    presses: &Arc<dyn Presses>,
    stop: &CancellationToken,
) -> SocketsEnd {
    let me = tokio::select! {
        () = stop.cancelled() => return SocketsEnd::Stopped,
        me = own_user(bot) => me,
    };
    let me = match me {
        Ok(me) => me,
        Err(problem) => return refused(problem),
    };
    let (report, mut reports) = mpsc::unbounded_channel();
    let all = stop.child_token();
    let _ended_with_this = all.clone().drop_guard();
    let mut sockets = Sockets { bot: bot.clone(), report, all, last: 0, current: None, next: None };
    sockets.open(Duration::ZERO);
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ended = tokio::select! {
            () = stop.cancelled() => Some(SocketsEnd::Stopped),
            Some((number, notice)) = reports.recv() => match notice {
                SocketNotice::Envelope { kind, payload } => {
                    take(bot, presses, (&kind, payload), &me);
                    None
                }
                notice => sockets.hear(number, notice),
            },
            // Slack keeps the connection of an app whose other token is dead.
            _ = look.tick() => bot.api.dead_token().map(refused),
        };
        if let Some(ended) = ended {
            return ended;
        }
    }
}

/// The bot's own user, where both tokens work: a dead one is found before anybody presses.
async fn own_user(bot: &SlackBot) -> Result<String, ApiProblem> {
    let told = bot.api.read("auth.test", &[]).await?;
    let user = told.get("user_id").and_then(Value::as_str).map(str::to_owned);
    user.ok_or_else(|| ApiProblem::Unreachable("its answer names no bot".to_owned()))
}

fn refused(problem: ApiProblem) -> SocketsEnd {
    match problem {
        ApiProblem::Token { .. } | ApiProblem::Scope(_) => SocketsEnd::Refused(problem.to_string()),
        other => SocketsEnd::Lost(other.to_string()),
    }
}

/// The connections: the one that is used, and the one that is to follow it.
struct Sockets {
    bot: Arc<SlackBot>,
    report: UnboundedSender<Report>,
    all: CancellationToken,
    last: usize,
    current: Option<(usize, CancellationToken)>,
    next: Option<(usize, CancellationToken)>,
}

impl Sockets {
    /// Opens another connection after a while.
    fn open(&mut self, after: Duration) {
        self.last += 1;
        let number = self.last;
        let stop = self.all.child_token();
        self.next = Some((number, stop.clone()));
        let bot = self.bot.clone();
        let report = self.report.clone();
        tokio::spawn(async move {
            sleep(after).await;
            let notify = |notice| drop(report.send((number, notice)));
            let url = tokio::select! {
                () = stop.cancelled() => return,
                url = bot.api.socket() => url,
            };
            notify(match url {
                Ok(url) => {
                    let why = serve(&url, &bot.api.guard, &stop, notify).await;
                    SocketNotice::Down(why)
                }
                Err(problem) => SocketNotice::Unopened(problem),
            });
        });
    }

    /// Takes in what a connection reports; how all ended, if they did.
    fn hear(&mut self, number: usize, notice: SocketNotice) -> Option<SocketsEnd> {
        let is = |it: &Option<(usize, CancellationToken)>| {
            it.as_ref().is_some_and(|(known, _)| *known == number)
        };
        match notice {
            SocketNotice::Up if is(&self.next) => {
                let before = std::mem::replace(&mut self.current, self.next.take());
                if let Some((_, before)) = before {
                    drain(before);
                }
                if self.bot.signals.listening() {
                    info!("connected to Slack");
                }
            }
            SocketNotice::Refresh if is(&self.current) && self.next.is_none() => {
                self.open(Duration::ZERO);
            }
            SocketNotice::Disabled => return Some(SocketsEnd::Refused(DISABLED.to_owned())),
            SocketNotice::Down(why) if is(&self.current) => return Some(SocketsEnd::Lost(why)),
            SocketNotice::Down(why) if is(&self.next) => return self.again(SocketsEnd::Lost(why)),
            SocketNotice::Unopened(problem) if is(&self.next) => {
                return self.again(refused(problem));
            }
            _ => {}
        }
        None
    }

    /// The next connection failed: Slack closes the old one only when it must, so there is time.
    fn again(&mut self, why: SocketsEnd) -> Option<SocketsEnd> {
        if self.current.is_none() {
            return Some(why);
        }
        self.open(LOOK);
        None
    }
}

/// Lets a connection that was replaced end by itself, or after a while.
fn drain(stop: CancellationToken) {
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(DRAIN) => stop.cancel(),
        }
    });
}

/// Does in a task of its own what somebody asked for: nothing waits for another press.
fn take(bot: &Arc<SlackBot>, core: &Arc<dyn Presses>, (kind, payload): (&str, Value), me: &str) {
    if payload::id(&payload).is_some_and(|id| !bot.is_new(id)) {
        return;
    }
    let Some(action) = payload::read(kind, &payload, me) else { return };
    let bot = bot.clone();
    let core = core.clone();
    let me = me.to_owned();
    let came = std::time::Instant::now();
    tokio::spawn(async move { answer::take(&bot, &*core, action, (&me, came)).await });
}

/// How long connecting may take, and sending a frame.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two pings of ours.
const PING: Duration = Duration::from_secs(2);
/// A connection over which nothing came for so long is dead: our pings are answered at once.
const SILENCE: Duration = Duration::from_secs(6);

/// What a connection reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SocketNotice {
    /// Slack sends over it from now on.
    Up,
    /// Slack will close it soon and wants another one first.
    Refresh,
    /// Socket Mode was switched off.
    Disabled,
    /// Somebody did something; it is acknowledged already.
    Envelope {
        /// Of which kind.
        kind: String,
        /// What.
        payload: Value,
    },
    /// It ended.
    Down(String),
    /// Slack says not even where to connect.
    Unopened(ApiProblem),
}

type SlackStream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Keeps a connection to `url` until it ends or `stop` is cancelled, and says why it ended.
pub(crate) async fn serve(
    url: &str,
    guard: &SendGuard,
    stop: &CancellationToken,
    notify: impl Fn(SocketNotice),
) -> String {
    let connected = tokio::select! {
        () = stop.cancelled() => return "the daemon stops".to_owned(),
        connected = timeout(PATIENCE, connect_async(url)) => connected,
    };
    let mut stream = match connected {
        Ok(Ok((stream, _))) => stream,
        // SECURITY: the address is a permission by itself, so only the error's kind is said.
        Ok(Err(error)) => return format!("its connection cannot be opened: {}", kind(&error)),
        Err(_) => return "its connection cannot be opened in 10 s".to_owned(),
    };
    let mut ping = interval(PING);
    let opened = Instant::now();
    let mut heard = opened;
    let mut greeted = false;
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let frame = tokio::select! {
            () = stop.cancelled() => {
                let _ = timeout(Duration::from_secs(1), stream.close(None)).await;
                return "the daemon stops".to_owned();
            }
            frame = stream.next() => frame,
            _ = ping.tick() => {
                if heard.elapsed() >= SILENCE || !greeted && opened.elapsed() >= SILENCE {
                    return "its connection does not answer any more".to_owned();
                }
                if let Err(why) = send(&mut stream, Message::Ping(Vec::new())).await {
                    return why;
                }
                continue;
            }
        };
        heard = Instant::now();
        let text = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(_))) | None => return "it closed the connection".to_owned(),
            Some(Ok(_)) => continue,
            Some(Err(error)) => return format!("its connection was lost: {}", kind(&error)),
        };
        let Ok(frame) = serde_json::from_str::<Value>(&text) else { continue };
        greeted |= frame.get("type").is_some_and(|kind| kind == "hello");
        // INVARIANT: Slack gives up on a press after 3 s, so it is acknowledged before anything is
        // done about it; what became of it is told in another way, after the core has committed.
        if let Some(acknowledgement) = acknowledgement(&frame).filter(|_| guard.is_open())
            && let Err(why) = send(&mut stream, acknowledgement).await
        {
            read_frame(&frame, &notify);
            return why;
        }
        read_frame(&frame, &notify);
    }
}

async fn send(stream: &mut SlackStream, message: Message) -> Result<(), String> {
    match timeout(PATIENCE, stream.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("its connection was lost: {}", kind(&error))),
        Err(_) => Err("its connection accepts no more data".to_owned()),
    }
}

fn acknowledgement(frame: &Value) -> Option<Message> {
    let id = frame.get("envelope_id").and_then(Value::as_str)?;
    Some(Message::Text(json!({"envelope_id": id}).to_string()))
}

fn read_frame(frame: &Value, notify: &impl Fn(SocketNotice)) {
    let text = |key| frame.get(key).and_then(Value::as_str);
    let notice = match text("type") {
        Some("hello") => SocketNotice::Up,
        Some("disconnect") if text("reason") == Some("link_disabled") => SocketNotice::Disabled,
        Some("disconnect") => SocketNotice::Refresh,
        Some(kind) if text("envelope_id").is_some() => SocketNotice::Envelope {
            kind: kind.to_owned(),
            payload: frame.get("payload").cloned().unwrap_or_default(),
        },
        _ => return,
    };
    notify(notice);
}

fn kind(error: &tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Io(error) => error.kind().to_string(),
        tungstenite::Error::Http(response) => format!("HTTP {}", response.status().as_u16()),
        tungstenite::Error::Tls(_) => "TLS".to_owned(),
        _ => "not as a WebSocket".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_connection_behind_tls_is_opened_in_tls() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("wss://localhost:{}", listener.local_addr().unwrap().port());
        let stop = CancellationToken::new();
        let guard = SendGuard::default();
        let opening = serve(&url, &guard, &stop, |_| {});
        let dialled = async {
            let (mut dialled, _) = listener.accept().await.unwrap();
            let mut first = [0; 1];
            dialled.read_exact(&mut first).await.unwrap();
            first
        };
        let (why, first) = tokio::join!(opening, dialled);
        assert_eq!(first, [0x16], "a TLS handshake begins with a record of type 22");
        assert!(why.starts_with("its connection cannot be opened"), "{why}");
    }
}
