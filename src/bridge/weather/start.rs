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

#[tokio::test]
async fn a_card_of_a_damaged_ask_is_given_up_with_the_reason_and_a_start_goes_on_with_the_others() {
    on_both(async |store| {
        let chat = Arc::new(Chat::forgetful());
        let town = Town::open(&store, &chat).await;
        let (bad, _good) = (town.ask("bad", None).await, town.ask("good", None).await);
        town.pass(Duration::from_secs(1)).await;
        store.damage(&bad.id, "push origin bad", "push origin worse").await;

        let (town, chat) = restart(town, &store, 1, Sky::Clear).await;
        let _new = town.ask("new", None).await;
        town.pass(Duration::from_secs(1)).await;
        let texts: Vec<_> = chat.cards().into_iter().map(|card| card.text).collect();
        assert_eq!(texts, ["git push origin good.", "git push origin new."]);
        let why = store.why_gone(&bad.id).await.unwrap().join("");
        assert!(why.contains(&format!("the ask `{}` is damaged in the store", bad.id)), "{why}");
    })
    .await;
}
