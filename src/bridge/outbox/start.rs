//! What a start makes up for, before anything is sent.

use super::{OutboxWorker, one_card::shown, page::PAGE, remote::RemoteAsks};
use crate::card;
use countersign_port::{Posting, Target};
use countersign_store::{Belongs, Due, StoreError};

impl OutboxWorker {
    /// Makes up for what was left out; false: it has to be tried again.
    pub(super) async fn reconcile(&mut self) -> bool {
        match self.try_reconcile().await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(adapter = self.adapter.name, %error, "cannot reconcile cards");
                false
            }
        }
    }

    async fn try_reconcile(&mut self) -> Result<(), StoreError> {
        let store = self.store.clone();
        let keeps = self.adapter.keeps_messages();
        if store.is_shared() && !keeps {
            self.remote = Some(RemoteAsks::of_now(&self.gate, &self.store).await?);
        }
        let belongs = match self.gate.shows_at(self.adapter.name, &self.target) {
            // The inbox shows every ask, wherever else it is shown.
            true if !keeps => Belongs::Everything,
            true => Belongs::Unrouted,
            false => Belongs::Nothing,
        };
        store.reconcile(self.adapter.name, &self.target, keeps, belongs).await?;
        if keeps { Ok(()) } else { self.put_up_again().await }
    }

    /// Posts the cards again on a platform that forgets with its process. Where they are then as
    /// the rows say, nothing is noted: a hundred thousand cards are back within seconds.
    async fn put_up_again(&mut self) -> Result<(), StoreError> {
        let (store, name, mut last) = (self.store.clone(), self.adapter.name, None);
        let target = Target(self.target.clone());
        loop {
            let page = store.posted_cards(name, &self.target, last.as_ref(), PAGE).await?;
            for Due { card: row, ask } in page.due {
                let ask = match ask {
                    Ok(ask) => ask,
                    Err(error) => {
                        self.give_up(&row, &error.to_string()).await?;
                        continue;
                    }
                };
                let card = card::draw(&ask, self.origin(&row));
                match self.adapter.post(&target, &card, Posting::MayRepeat).await {
                    Ok(message) if row.message.as_ref() == Some(&message.0) => {}
                    Ok(message) => self.shown.add(shown(&row, &message.0, &ask)),
                    Err(error) => {
                        tracing::warn!(adapter = name, ask_id = %ask.id, %error,
                            "a card that was shown is not shown yet");
                        store.card_lost(&row.nonce).await?;
                    }
                }
                last = Some(ask);
            }
            self.note_shown().await?;
            if !page.more {
                return Ok(());
            }
        }
    }
}
