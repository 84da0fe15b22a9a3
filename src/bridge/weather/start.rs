//! Starts with a platform that forgets with its process, as the inbox does.

use super::{Place, Town, chat::Chat, chat::Sky};
use crate::store::{Fence, Store, engines::on_both};
use std::{sync::Arc, time::Duration};

/// The next process after this one has come to its end, and what people see of it.
async fn restart(town: Town, store: &Store, epoch: i64, sky: Sky) -> (Town, Arc<Chat>) {
    town.stop.cancel();
    town.quiet().await;
    drop(town);
    let fence = Fence { name: "chat".to_owned(), epoch };
    store.release_lease(&fence).await.unwrap();
    let chat = Arc::new(Chat::forgetful());
    chat.set(sky);
    (Town::open(store, &chat).await, chat)
}

#[tokio::test]
async fn what_stood_on_a_platform_that_forgets_stands_again_after_a_start() {
    on_both(async |store| {
        let chat = Arc::new(Chat::forgetful());
        let town = Town::open(&store, &chat).await;
        let one = town.ask("one", None).await;
        town.pass(Duration::from_secs(1)).await;
        let asks = [one, town.ask("two", None).await];
        town.quiet().await;
        town.tells_the_truth(&chat, &asks).await;

        let (town, chat) = restart(town, &store, 1, Sky::Clear).await;
        town.tells_the_truth(&chat, &asks).await;
        assert_eq!(chat.requests(), 2, "each was put up once, in the order in which they came");
        assert!(chat.cards()[0].text.contains(&asks[0].name));

        let (town, chat) = restart(town, &store, 2, Sky::Away).await;
        assert_eq!(chat.cards(), []);
        chat.set(Sky::Clear);
        town.pass(Duration::from_secs(60)).await;
        town.tells_the_truth(&chat, &asks).await;
    })
    .await;
}
