//! Pulling updates: the loop of the adapter.

use crate::Telegram;
use crate::api::{Failure, PATIENCE, Refusal};
use crate::errors::{pause, refused_token, sentence, token_refused};
use crate::hello::Manners;
use crate::press::Desk;
use countersign_port::{CancellationToken, Fatal, Health, Presses};
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
/// Somebody else polls. By the end of this the core knows whether that is the daemon that leads now;
/// asking sooner would only take the line from it.
const CONFLICT: Duration = Duration::from_secs(6);

impl Telegram {
    pub(crate) async fn receive(
        &self,
        presses: Arc<dyn Presses>,
        stop: CancellationToken,
    ) -> Result<(), Fatal> {
        let Some(me) = self.introduce(&stop).await? else { return Ok(()) };
        tracing::info!(bot = me.username, "telegram knows the bot");
        self.set_health(Health::Up);
        let mut desk = Desk {
            api: self.api.clone(),
            cards: Arc::clone(&self.cards),
            presses,
            me,
            manners: Manners::new(),
            telling: JoinSet::new(),
        };
        let ended = self.pull(&mut desk, &stop).await;
        let told = async { while desk.telling.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_PATIENCE, told).await;
        ended
    }

    /// Who we are; `None` when stopped before Telegram answered.
    async fn introduce(&self, stop: &CancellationToken) -> Result<Option<User>, Fatal> {
        let (who, mut backoff) = (GetMe::new(), BACKOFF);
        loop {
            let asked = self.api.call::<_, User>(&who, PATIENCE);
            let failure = match stop.run_until_cancelled(asked).await {
                None => return Ok(None),
                Some(Ok(me)) => return Ok(Some(me)),
                Some(Err(failure)) => failure,
            };
            self.wait_after(&failure, &mut backoff, stop).await?;
        }
    }

    async fn pull(&self, desk: &mut Desk, stop: &CancellationToken) -> Result<(), Fatal> {
        let mut offset = None;
        let (mut hold, mut backoff) = (LONG_POLL, BACKOFF);
        while !stop.is_cancelled() {
            let pull = updates_from(offset).timeout(hold);
            let pulled = self.api.call::<_, Vec<Value>>(&pull, POLL_PATIENCE);
            let begun = Instant::now();
            match stop.run_until_cancelled(pulled).await {
                // A pull that has been out for so long has told Telegram what is committed.
                None if begun.elapsed() > LAST_PATIENCE => return Ok(()),
                None => break,
                Some(Ok(updates)) => {
                    self.set_health(Health::Up);
                    (hold, backoff) = (LONG_POLL, BACKOFF);
                    // INVARIANT: the offset moves on only when all of the batch is committed.
                    let last =
                        updates.iter().filter_map(|update| update.get("update_id")?.as_i64()).max();
                    for update in updates {
                        desk.handle(update).await;
                    }
                    offset = last.map(after).or(offset);
                }
                Some(Err(failure)) => {
                    self.wait_after(&failure, &mut backoff, stop).await?;
                    hold = PROBE;
                }
            }
        }
        if offset.is_some() {
            // Else Telegram may bring the last batch once more after a restart.
            let confirm = updates_from(offset).timeout(0).limit(1);
            let _ = self.api.call::<_, IgnoredAny>(&confirm, LAST_PATIENCE).await;
        }
        Ok(())
    }

    /// Says what is wrong and waits until it makes sense to try again.
    async fn wait_after(
        &self,
        failure: &Failure,
        backoff: &mut Duration,
        stop: &CancellationToken,
    ) -> Result<(), Fatal> {
        if token_refused(failure) {
            return Err(Fatal(refused_token(&sentence(failure))));
        }
        if let Failure::Unusable(why) = failure {
            return Err(Fatal(why.clone()));
        }
        self.set_health(Health::Down(explain(failure)));
        let pause = match failure {
            Failure::Refused(Refusal { code: 409, .. }) => CONFLICT,
            _ => pause(failure, *backoff).unwrap_or(MOST_BACKOFF),
        };
        *backoff = (*backoff * 2).min(MOST_BACKOFF);
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        Ok(())
    }
}

fn updates_from(offset: Option<i32>) -> GetUpdates {
    let mut pull =
        GetUpdates::new().allowed_updates([AllowedUpdate::Message, AllowedUpdate::CallbackQuery]);
    pull.offset = offset;
    pull
}

fn after(id: i64) -> i32 {
    i32::try_from(id).unwrap_or(i32::MAX).saturating_add(1)
}

fn explain(failure: &Failure) -> String {
    match failure {
        Failure::Refused(Refusal { code: 409, description, .. }) if description.contains("webhook") => {
            webhook_sentence()
        }
        Failure::Refused(Refusal { code: 409, .. }) => {
            "Another program polls this Telegram bot, and Telegram serves only one: stop the other one, or \
             get a bot of its own for countersign from @BotFather"
                .to_owned()
        }
        other => sentence(other),
    }
}

/// The sentence for a bot that delivers its updates somewhere else.
pub(crate) fn webhook_sentence() -> String {
    "A webhook takes this Telegram bot's updates away: another program uses the bot. Get a bot of its own \
     for countersign from @BotFather, or end the other use and call the Bot API's deleteWebhook"
        .to_owned()
}
