//! Pulling updates: the loop of the adapter.

use crate::Telegram;
use crate::api::{BotApiError, Failure, PATIENCE};
use crate::errors::{pause, refused_token, sentence, token_refused};
use crate::press::PressReporter;
use crate::tell::register;
use countersign_port::{CancellationToken, ChannelReplyLimit, Presses};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use teloxide::payloads::{GetMe, GetUpdates, GetUpdatesSetters as _};
use teloxide::types::{AllowedUpdate, User};
use tokio::task::JoinSet;

/// How long Telegram holds a pull that has nothing to bring, in seconds.
const LONG_POLL: u32 = 30;
/// The same while it is not known whether Telegram serves us again.
const PROBE: u32 = 1;
/// The line may be slow, but not silent for longer than Telegram holds the pull.
const POLL_PATIENCE: Duration = Duration::from_secs(LONG_POLL as u64 + 10);
/// What stopping may still take, twice.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
const BACKOFF: Duration = Duration::from_millis(250);
const MOST_BACKOFF: Duration = Duration::from_secs(5);
/// How long to leave the line to somebody else who polls. By the end of this the core knows whether
/// that is the daemon that leads now; asking sooner would only take the line from it.
pub(crate) const CONFLICT: Duration = Duration::from_secs(6);

impl Telegram {
    pub(crate) async fn receive(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        let Some(me) = self.introduce(&stop).await else { return };
        tracing::info!(bot = me.username, "telegram knows the bot");
        self.listening();
        let mut telling = JoinSet::new();
        telling.spawn(register(self.cards.api.clone(), presses.commands()));
        // So that the first press waits for none of them.
        let api = self.cards.api.clone();
        let admins = self.admins.clone();
        let of = presses.roles();
        telling.spawn(async move { drop(admins.known_roles(&api, 0, &of).await) });
        let mut handler = PressReporter {
            admins: self.admins.clone(),
            cards: Arc::clone(&self.cards),
            presses,
            me,
            reply_limit: ChannelReplyLimit::default(),
            telling,
        };
        self.pull(&mut handler, &stop).await;
        let told = async { while handler.telling.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_PATIENCE, told).await;
    }

    /// Who we are; `None` when stopped before Telegram answered.
    async fn introduce(&self, stop: &CancellationToken) -> Option<User> {
        let who = GetMe::new();
        let mut backoff = BACKOFF;
        loop {
            let asked = self.cards.api.call::<_, User>(&who, PATIENCE);
            match stop.run_until_cancelled(asked).await? {
                Ok(me) => return Some(me),
                Err(failure) => {
                    self.deaf(explain(&failure));
                    self.wait_after(&failure, &mut backoff, stop).await;
                }
            }
        }
    }

    async fn pull(&self, handler: &mut PressReporter, stop: &CancellationToken) {
        let mut offset = None;
        let mut hold = LONG_POLL;
        let mut backoff = BACKOFF;
        let mut conflicts = Conflicts::new(self.conflict_pause);
        while !stop.is_cancelled() {
            let pull = updates_from(offset, &*handler.presses).timeout(hold);
            let pulled = self.cards.api.call::<_, Vec<Value>>(&pull, POLL_PATIENCE);
            let begun = Instant::now();
            match stop.run_until_cancelled(pulled).await {
                // A pull that has been out for so long has told Telegram what is committed.
                None if begun.elapsed() > LAST_PATIENCE => return,
                None => break,
                Some(Ok(updates)) => {
                    (hold, backoff) = (LONG_POLL, BACKOFF);
                    if conflicts.go_on(Instant::now()) {
                        hold = conflicts.hold();
                    } else {
                        self.listening();
                    }
                    // INVARIANT: the offset moves on only when all of the batch is committed.
                    let last =
                        updates.iter().filter_map(|update| update.get("update_id")?.as_i64()).max();
                    updates.iter().filter_map(changed_members).for_each(|chat| {
                        self.admins.forget(chat);
                    });
                    if updates.iter().any(is_about_access) {
                        self.signals.access_changed();
                    }
                    if handle_all(handler, updates).await {
                        offset = last.map(after).or(offset);
                    }
                }
                Some(Err(failure)) => {
                    if !is_conflict(&failure) || conflicts.another(Instant::now()) {
                        self.deaf(explain(&failure));
                    } else {
                        tracing::info!(
                            "another program polls this Telegram bot; waiting for its end"
                        );
                    }
                    self.wait_after(&failure, &mut backoff, stop).await;
                    hold = PROBE;
                }
            }
        }
        if offset.is_some() {
            // Else Telegram may bring the last batch once more after a restart.
            let confirm = updates_from(offset, &*handler.presses).timeout(0).limit(1);
            let _ = self.cards.api.call::<_, IgnoredAny>(&confirm, LAST_PATIENCE).await;
        }
    }

    /// Waits until it makes sense to try again. Nothing is final: tokens, webhooks and proxies are put
    /// right outside, and nobody restarts a daemon that they believe to be at work.
    async fn wait_after(
        &self,
        failure: &Failure,
        backoff: &mut Duration,
        stop: &CancellationToken,
    ) {
        let pause = match failure {
            _ if is_conflict(failure) => self.conflict_pause,
            _ => pause(failure, *backoff).unwrap_or(*backoff),
        };
        *backoff = (*backoff * 2).min(MOST_BACKOFF);
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

/// False when this daemon stopped leading on the way: what is not confirmed comes to the one that
/// leads, which handles and acknowledges it.
async fn handle_all(handler: &mut PressReporter, updates: Vec<Value>) -> bool {
    for update in updates {
        if !handler.cards.api.guard.is_open() {
            return false;
        }
        handler.handle(update).await;
    }
    true
}

fn updates_from(offset: Option<i32>, presses: &dyn Presses) -> GetUpdates {
    let mut kinds =
        vec![AllowedUpdate::Message, AllowedUpdate::CallbackQuery, AllowedUpdate::MyChatMember];
    if !presses.roles().is_empty() {
        // Of groups in which the bot is an administrator itself.
        kinds.push(AllowedUpdate::ChatMember);
    }
    let mut pull = GetUpdates::new().allowed_updates(kinds);
    pull.offset = offset;
    pull
}

/// Whether an update may mean that the bot can write where it could not: what it may do in a chat
/// has changed, or somebody writes to it in private, as after unblocking it.
fn is_about_access(update: &Value) -> bool {
    update.get("my_chat_member").is_some()
        || update.pointer("/message/chat/type").is_some_and(|kind| kind == "private")
}

/// The group among whose members something changed.
fn changed_members(update: &Value) -> Option<i64> {
    let changed = ["/chat_member/chat/id", "/my_chat_member/chat/id"];
    changed.iter().find_map(|path| update.pointer(path)?.as_i64())
}

fn after(id: i64) -> i32 {
    i32::try_from(id).unwrap_or(i32::MAX).saturating_add(1)
}

/// Whether another program polls the same bot; a webhook is a refusal of its own.
fn is_conflict(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(BotApiError { code: 409, description, .. })
        if !description.contains("webhook"))
}

fn explain(failure: &Failure) -> String {
    match failure {
        _ if is_conflict(failure) => CONFLICTED.to_owned(),
        _ if token_refused(failure) => refused_token(&sentence(failure)),
        Failure::Refused(BotApiError { code: 409, .. }) => webhook_sentence(),
        other => sentence(other),
    }
}

/// The sentence for a bot that another program polls too.
const CONFLICTED: &str = "Another program polls this Telegram bot, and Telegram serves only one \
 at a time, so \
    presses arrive here or there: stop the other one, give each countersign a bot of its own from \
    @BotFather, or let them share one store (docs/team.md)";

/// The sentence for a bot that delivers its updates somewhere else.
pub(crate) fn webhook_sentence() -> String {
    "A webhook receives this Telegram bot's updates: another program uses the bot. Create a \
     separate bot for countersign with @BotFather, or stop the other program and call the Bot \
     API's deleteWebhook"
        .to_owned()
}

/// The conflicts of one poller.
#[derive(Debug)]
pub(crate) struct Conflicts {
    pause: Duration,
    last: Option<Instant>,
    goes_on: bool,
}

impl Conflicts {
    /// None yet, with the pause after each.
    pub(crate) fn new(pause: Duration) -> Self {
        Self { pause, last: None, goes_on: false }
    }

    /// How long Telegram holds a pull while the other one is expected, in seconds: short of a pause,
    /// to find out soon when it is gone.
    fn hold(&self) -> u32 {
        u32::try_from(self.pause.as_secs()).unwrap_or(LONG_POLL).saturating_sub(1).max(PROBE)
    }

    /// Takes one more in. Whether the other one goes on polling.
    pub(crate) fn another(&mut self, now: Instant) -> bool {
        self.goes_on = self.is_soon(now);
        self.last = Some(now);
        self.goes_on
    }

    /// Whether the other one is still to be expected, though a poll went well.
    pub(crate) fn go_on(&self, now: Instant) -> bool {
        self.goes_on && self.is_soon(now)
    }

    fn is_soon(&self, now: Instant) -> bool {
        // Two pollers with the same pause meet at every second one.
        self.last.is_some_and(|last| now.duration_since(last) < self.pause * 10 / 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_conflict_is_a_change_of_hands_and_two_soon_after_each_other_are_two_pollers() {
        let mut conflicts = Conflicts::new(CONFLICT);
        assert_eq!(conflicts.hold(), 5);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!conflicts.go_on(at(0)));
        assert!(!conflicts.another(at(0)));
        assert!(!conflicts.go_on(at(6)));
        assert!(conflicts.another(at(12)));
        assert!(conflicts.go_on(at(18)), "a poll in between says nothing");
        assert!(conflicts.another(at(24)));
        assert!(!conflicts.go_on(at(44)), "the other one is gone");
        assert!(!conflicts.another(at(100)), "and this is a change of hands again");
    }
}
