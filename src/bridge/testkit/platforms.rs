//! The real adapters, before the stand-ins of their platforms.

#[allow(unused_imports, reason = "a stand-in is for many, and nobody presses in it here")]
#[path = "../../../tests/support/discord.rs"]
pub(super) mod discord;
#[path = "../../../tests/support/telegram.rs"]
pub(super) mod telegram;

use crate::testkit::{Place, VisibleCard};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, NamedAdapter, Pace, Posting, Presses, SendError,
    Signals, Target, async_trait,
};
use countersign_store::testkit::faults::Faults;
use discord::{CHANNEL, FakeDiscord};
use std::sync::Arc;
use telegram::{GROUP, Telegram};

/// Telegram's adapter before its stand-in.
pub(super) struct InTelegram {
    pub(super) server: Telegram,
    adapter: NamedAdapter,
}

/// Discord's adapter before its stand-in.
pub(super) struct InDiscord {
    pub(super) server: FakeDiscord,
    adapter: NamedAdapter,
}

impl InTelegram {
    pub(super) async fn start(faults: &Faults) -> Self {
        Self::open(faults, false).await
    }

    /// With the limits of a real group, which its adapter knows.
    pub(super) async fn start_limited(faults: &Faults) -> Self {
        let chat = Self::open(faults, true).await;
        chat.server.limit_as_a_group();
        chat
    }

    async fn open(faults: &Faults, paced: bool) -> Self {
        let server = Telegram::start().await;
        let config = countersign_telegram::TelegramConfig {
            token: server.token().to_owned(),
            api_url: server.url().to_owned(),
        };
        let adapter = seen("telegram", countersign_telegram::Telegram::new(config), faults, paced);
        Self { server, adapter }
    }
}

impl InDiscord {
    pub(super) async fn start(faults: &Faults) -> Self {
        let server = FakeDiscord::start().await;
        let config = countersign_discord::DiscordConfig {
            token: server.token().to_owned(),
            api_url: server.url().to_owned(),
            mention: None,
        };
        let adapter = seen("discord", countersign_discord::Discord::new(config), faults, false);
        Self { server, adapter }
    }
}

impl Place for InTelegram {
    fn adapter(&self) -> NamedAdapter {
        self.adapter.clone()
    }

    fn target(&self) -> String {
        GROUP.to_string()
    }

    fn set_down(&self, down: bool) {
        self.server.set_down(down);
    }

    fn cards(&self) -> Vec<VisibleCard> {
        let cards = self.server.messages(GROUP).into_iter().map(|message| {
            let label = message.buttons.first().map(|row| row[0].clone());
            let button = label.map(|label| self.server.button(GROUP, message.id, &label));
            VisibleCard { text: message.text, button }
        });
        cards.collect()
    }

    fn requests(&self) -> usize {
        ["sendMessage", "editMessageText"].map(|name| self.server.calls(name).len()).iter().sum()
    }

    fn violations(&self) -> Vec<String> {
        self.server.violations()
    }
}

impl Place for InDiscord {
    fn adapter(&self) -> NamedAdapter {
        self.adapter.clone()
    }

    fn target(&self) -> String {
        CHANNEL.to_owned()
    }

    fn set_down(&self, down: bool) {
        self.server.set_down(down);
    }

    fn cards(&self) -> Vec<VisibleCard> {
        let cards = self.server.messages().into_iter();
        cards
            .map(|card| VisibleCard { text: card.text, button: card.tokens.first().cloned() })
            .collect()
    }

    fn requests(&self) -> usize {
        self.server.calls().len()
    }

    fn violations(&self) -> Vec<String> {
        self.server.violations()
    }
}

/// An adapter whose requests count as under way: sockets take their own time.
struct ObservedAdapter<A> {
    adapter: A,
    faults: Faults,
    /// Whether requests that come fast share messages.
    paced: bool,
}

fn seen(
    name: &'static str,
    adapter: impl Adapter + 'static,
    faults: &Faults,
    paced: bool,
) -> NamedAdapter {
    NamedAdapter {
        name,
        adapter: Arc::new(ObservedAdapter { adapter, faults: faults.clone(), paced }),
    }
}

#[async_trait]
impl<A: Adapter> Adapter for ObservedAdapter<A> {
    fn signals(&self) -> &Signals {
        self.adapter.signals()
    }

    fn pace(&self, target: &Target) -> Option<Pace> {
        self.adapter.pace(target).filter(|_| self.paced)
    }

    async fn post(
        &self,
        target: &Target,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError> {
        let _under_way = self.faults.under_way();
        self.adapter.post(target, card, posting).await
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        let _under_way = self.faults.under_way();
        self.adapter.update(message, card).await
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        self.adapter.run(presses, stop).await;
    }
}
