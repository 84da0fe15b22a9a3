//! `/pending`: what waits for an answer.

use super::run::{CommandRun, LISTED, literal, short, words, words_of};
use super::shown::is_shown;
use crate::card;
use countersign_gate::ask::Ask;
use countersign_port::{CommandCall, CommandReply, Outcome, ReplyPiece};
use countersign_store::StoreError;
use countersign_tokens::clock;

impl CommandRun<'_> {
    // SECURITY: a request that a route shows elsewhere is not told in this chat.
    pub(super) async fn pending(&self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let mut asks = self.store.asks_in("open", None).await?.asks;
        let (open, read) = (self.store.count_open().await?, asks.len());
        asks.retain(|ask| is_shown(ask, self.who.platform, call));
        let all = usize::try_from(open).unwrap_or_default().saturating_sub(read - asks.len());
        let mut lines: Vec<_> = asks.iter().take(LISTED).map(waiting).collect();
        match all.checked_sub(lines.len()) {
            _ if lines.is_empty() => lines.push(words("Nothing waits.")),
            Some(more @ 1..) => lines.push(words(format!("… and {more} more."))),
            _ => {}
        }
        Ok(CommandReply { outcome: Outcome::Noted, lines })
    }
}

fn waiting(ask: &Ask) -> Vec<ReplyPiece> {
    let card = card::picture(ask);
    let mut about = format!(" · {}", short(&ask.body.call.agent));
    if let Some(deadline) = card.deadline {
        let left = (deadline - clock::now_ms()).max(0);
        about.push_str(&format!(" · {} left", clock::span(left)));
    }
    if ask.body.critical {
        about.push_str(" · critical");
    }
    vec![words_of(format!("{} ", ask.id)), literal(&card.title), words_of(about)]
}
