//! Keeps a connection to Slack, and a second one while the first is replaced.

use crate::answer;
use crate::bot::SlackBot;
use crate::payload;
use crate::problem::ApiProblem;
use crate::socket::{self, SocketNotice};
use countersign_port::{CancellationToken, Presses};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
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
        let (number, stop) = (self.last, self.all.child_token());
        self.next = Some((number, stop.clone()));
        let (bot, report) = (self.bot.clone(), self.report.clone());
        tokio::spawn(async move {
            sleep(after).await;
            let notify = |notice| drop(report.send((number, notice)));
            let url = tokio::select! {
                () = stop.cancelled() => return,
                url = bot.api.socket() => url,
            };
            notify(match url {
                Ok(url) => {
                    let why = socket::serve(&url, &bot.api.guard, &stop, notify).await;
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
    if payload::id(&payload).is_some_and(|id| !bot.seen.is_new(id)) {
        return;
    }
    let Some(action) = payload::read(kind, &payload, me) else { return };
    let (bot, core, me) = (bot.clone(), core.clone(), me.to_owned());
    let came = std::time::Instant::now();
    tokio::spawn(async move { answer::take(&bot, &*core, action, (&me, came)).await });
}
