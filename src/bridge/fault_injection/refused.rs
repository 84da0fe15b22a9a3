//! A platform that refuses a card for what it is.

use super::{Place, Scenario, chat::FakeChat};
use countersign_store::engines::on_both;
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_card_that_was_refused_is_given_up_only_until_the_access_changes() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        chat.refuses(Some("push origin one."));
        let scenario = Scenario::open(&store, &chat).await;
        let asks = [scenario.ask("one", None).await, scenario.ask("two", None).await];
        scenario.pass(MINUTE).await;
        assert_eq!(chat.cards().len(), 1, "the other card is not held up");
        let tries = chat.requests();
        scenario.pass(MINUTE).await;
        assert_eq!(chat.requests(), tries, "what was refused is not sent again and again");

        chat.signals.access_changed();
        scenario.pass(MINUTE).await;
        assert_eq!(chat.requests(), tries + 1, "tried once more, and refused again");
        chat.refuses(None);
        chat.signals.access_changed();
        scenario.pass(MINUTE).await;
        scenario.tells_the_truth(&chat, &asks).await;
        scenario.approve(&asks[0]).await;
        scenario.pass(MINUTE).await;
        scenario.tells_the_truth(&chat, &asks).await;
    })
    .await;
}
