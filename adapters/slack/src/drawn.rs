//! What messages were made to show a moment ago.

use crate::render::SlackMessage;
use countersign_port::MessageRef;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A pressed card is drawn by the press and by the core that answered it, at about the same time.
const MOMENT: Duration = Duration::from_secs(5);

/// The last drawing of each message. Slack takes 50 edits a minute of all messages together, so the
/// same is not drawn twice; only for a moment, because another daemon may draw it meanwhile.
#[derive(Debug, Default)]
pub(crate) struct LastDrawn(Mutex<HashMap<MessageRef, (Instant, u64)>>);

impl LastDrawn {
    /// Whether the message shows this already.
    pub(crate) fn shows(&self, message: &MessageRef, drawn: &SlackMessage) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.retain(|_, (at, _)| at.elapsed() < MOMENT);
        last.get(message).is_some_and(|(_, hash)| *hash == hashed(drawn))
    }

    /// The message was just drawn.
    pub(crate) fn note(&self, message: &MessageRef, drawn: &SlackMessage) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.insert(message.clone(), (Instant::now(), hashed(drawn)));
    }
}

fn hashed(drawn: &SlackMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    drawn.text.hash(&mut hasher);
    drawn.blocks.iter().for_each(|block| block.to_string().hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::draw;
    use countersign_port::testkit::{closed, sample_card};

    #[tokio::test(start_paused = true)]
    async fn the_same_drawing_is_known_again_for_a_moment_and_another_one_is_not() {
        let (last, message) = (LastDrawn::default(), MessageRef("C1/1.2".to_owned()));
        let (open, over) = (draw(&sample_card("ls")), draw(&closed(&sample_card("ls"))));
        assert!(!last.shows(&message, &open));
        last.note(&message, &open);
        assert!(last.shows(&message, &open) && !last.shows(&message, &over));
        last.note(&message, &over);
        assert!(last.shows(&message, &over) && !last.shows(&message, &open));
        tokio::time::advance(MOMENT).await;
        assert!(!last.shows(&message, &over));
    }
}
