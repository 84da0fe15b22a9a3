//! What other daemons are asked. They know nothing of a place that is only here, such as the inbox,
//! so the cards for it are made here.

use countersign_gate::Gate;
use countersign_store::{Event, Store, StoreError, Tail};
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct RemoteAsks {
    /// This daemon.
    here: String,
    tail: Tail,
    news: watch::Receiver<u64>,
    /// Which news was read last.
    read: Option<u64>,
    /// What was read of and has no card here yet.
    asked: Vec<String>,
}

impl RemoteAsks {
    /// From now on.
    pub(super) async fn of_now(gate: &Gate, store: &Store) -> Result<Self, StoreError> {
        let tail = Tail::of_now(store).await?;
        let (here, news) = (gate.daemon().to_owned(), gate.remote_changes());
        Ok(Self { here, tail, news, read: None, asked: Vec::new() })
    }

    /// Makes cards for what is new; whether there was anything.
    pub(super) async fn add_cards(
        &mut self,
        store: &Store,
        adapter: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        let news = *self.news.borrow();
        if self.read != Some(news) {
            let events = self.tail.next(store).await?;
            self.read = Some(news);
            self.asked.extend(events.into_iter().filter_map(|event| asked(event, &self.here)));
        }
        // The tail tells everything once: what cannot be put in now is kept.
        store.add_cards(adapter, target, self.asked.clone()).await?;
        Ok(!std::mem::take(&mut self.asked).is_empty())
    }
}

/// What another daemon was asked.
fn asked(event: Event, here: &str) -> Option<String> {
    let daemon = event.data.get("daemon").and_then(serde_json::Value::as_str);
    event.ask.filter(|_| event.kind == "asked" && daemon != Some(here))
}
