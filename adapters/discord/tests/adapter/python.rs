//! The same against another, stricter stand-in that runs elsewhere: set
//! `COUNTERSIGN_TEST_DISCORD_URL` to where it answers `/_/info`.

use crate::discord::{CHANNEL, markdown};
use crate::support::{ana, receipt, target, until_listening, wait};
use countersign_discord::{Discord, DiscordConfig, check, check_target};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Outcome, Posting, Presser, SendError, Target,
    async_trait,
};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, ScriptedCore, VisibleMessage, closed, conformance,
    sample_card,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct StandIn {
    url: String,
    token: String,
    last: Mutex<Option<String>>,
}

/// The stand-in, empty, or nothing where there is none.
async fn stand_in() -> Option<StandIn> {
    let Ok(url) = std::env::var("COUNTERSIGN_TEST_DISCORD_URL") else {
        eprintln!("skipped: COUNTERSIGN_TEST_DISCORD_URL is not set");
        return None;
    };
    let mut fake = StandIn { url, token: String::new(), last: Mutex::default() };
    fake.control("reset", json!({})).await;
    fake.token = fake.control("info", json!({})).await["token"].as_str().unwrap().to_owned();
    Some(fake)
}

impl StandIn {
    async fn control(&self, call: &str, body: Value) -> Value {
        let request = reqwest::Client::new().post(format!("{}/_/{call}", self.url)).json(&body);
        let response = request.send().await.unwrap();
        let status = response.status();
        let answer: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{call} {body}: {answer}");
        answer
    }

    fn config(&self) -> DiscordConfig {
        DiscordConfig { token: self.token.clone(), api_url: self.url.clone(), mention: None }
    }

    async fn message(&self, id: &str) -> Value {
        self.control("messages", json!({"message_id": id})).await[0].clone()
    }

    /// What the presser of an interaction was told.
    async fn told(&self, interaction: &str) -> Option<String> {
        let waited = json!({"id": interaction, "wait": 4});
        let answered = self.control("wait_interaction", waited).await;
        assert_eq!(answered["state"], "acked", "{answered}");
        *self.last.lock().unwrap() = Some(interaction.to_owned());
        for _ in 0..100 {
            let state = self.control("interaction", json!({"id": interaction})).await;
            if let Some(id) = state["messages"][0].as_str() {
                let words = self.message(id).await;
                assert!(words["ephemeral_for"].is_string(), "only the presser is told: {words}");
                return Some(markdown::read(words["content"].as_str().unwrap()));
            }
            if state["ack_type"] == 9 {
                return state["modal"]["title"].as_str().map(str::to_owned);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }

    async fn violations(&self) -> Vec<Value> {
        let all = self.control("violations", json!({})).await;
        all.as_array().unwrap().clone()
    }
}

fn id(message: &MessageRef) -> &str {
    message.0.rsplit('/').next().unwrap()
}

#[async_trait]
impl FakePlatform for StandIn {
    fn adapter(&self) -> Arc<dyn Adapter> {
        Arc::new(Discord::new(self.config()))
    }

    fn somebody(&self) -> Presser {
        Presser { id: "4211".to_owned(), name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        target()
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let message = self.message(id(message)).await;
        let labels = message["buttons"].as_array().unwrap().iter();
        let mut files = Vec::new();
        for file in message["message"]["attachments"].as_array().unwrap() {
            let url = file["url"].as_str().unwrap();
            files.push(reqwest::get(url).await.unwrap().text().await.unwrap());
        }
        assert!(message["pings"].as_array().unwrap().iter().all(|pings| {
            pings["everyone"] == false && pings["users"] == json!([]) && pings["roles"] == json!([])
        }));
        VisibleMessage {
            text: markdown::read(message["content"].as_str().unwrap()),
            buttons: labels.map(|it| it["label"].as_str().unwrap().to_owned()).collect(),
            files,
        }
    }

    async fn press(&self, message: &MessageRef, label: &str, by: &Presser) -> Option<String> {
        self.control("member", json!({"user_id": by.id, "name": by.name})).await;
        assert_eq!(self.control("wait_ready", json!({"wait": 10})).await["ready"], true);
        let press = json!({"message_id": id(message), "user_id": by.id, "label": label});
        let press = self.control("press", press).await;
        self.told(press["interaction_id"].as_str().unwrap()).await
    }

    async fn give_text(&self, _: &MessageRef, text: &str, _: &Presser) -> Option<String> {
        let last = self.last.lock().unwrap().clone();
        let submit = json!({"interaction_id": last, "values": {"text": text}});
        let submitted = self.control("modal_submit", submit).await;
        self.told(submitted["interaction_id"].as_str().unwrap()).await
    }

    async fn inject(&self, fault: PlatformFault) -> Injected {
        let on_post = |kind: &str, after: f64| {
            let on = "POST /channels";
            json!({"match": on, "kind": kind, "retry_after": after})
        };
        match fault {
            PlatformFault::Limited(after) => {
                self.control("inject", on_post("429", after.as_secs_f64())).await;
            }
            PlatformFault::AnswerLost => {
                self.control("inject", on_post("drop_after", 0.0)).await;
            }
            PlatformFault::Disconnected => {
                self.control("gateway", json!({"action": "drop"})).await;
            }
        }
        Injected::Once
    }
}

#[tokio::test]
async fn the_stricter_stand_in_sees_the_contract_kept() {
    let Some(fake) = stand_in().await else { return };
    conformance(&fake).await;
    // A process that was just started learns of the limits that an earlier one used up by being
    // told.
    let mut violations = fake.violations().await;
    violations.retain(|it| it["kind"] != "ratelimited");
    assert_eq!(violations, Vec::<Value>::new());

    assert_eq!(check(&fake.config()).await, Ok("fake-bot".to_owned()));
    assert_eq!(check_target(&fake.config(), &target()).await, Ok("#approvals".to_owned()));
    fake.control("deny", json!({"channel_id": CHANNEL, "permissions": ["VIEW_CHANNEL"]})).await;
    assert!(check_target(&fake.config(), &target()).await.is_err());

    trouble(&fake).await;
}

/// Limits, outages, lost answers, a restart and a refused channel.
async fn trouble(fake: &StandIn) {
    fake.control("reset", json!({})).await;
    let adapter = Discord::new(fake.config());
    let inject = |kind: &str| json!({"match": "POST /channels", "kind": kind, "retry_after": 0.2});
    fake.control("inject", inject("429")).await;
    let hostile =
        "x".repeat(1800) + "👩‍👩‍👧 @everyone <@4211> </code> \u{202e}\0 ``` `` [a](http://b.c)";
    let card = Card { id: "trouble-1".to_owned(), ..sample_card(&hostile) };
    let limited = adapter.post(&target(), &card, Posting::First).await;
    assert_eq!(limited, Err(wait(Duration::from_millis(200))));
    tokio::time::sleep(Duration::from_millis(250)).await;
    for kind in ["502", "drop_before", "garbage", "drop_after"] {
        fake.control("inject", inject(kind)).await;
        let error = adapter.post(&target(), &card, Posting::First).await.unwrap_err();
        assert!(matches!(error, SendError::Transient(_)), "{kind}: {error:?}");
    }
    let message = adapter.post(&target(), &card, Posting::First).await.unwrap();
    let posted = fake.control("messages", json!({"bot": true})).await;
    assert_eq!(posted.as_array().unwrap().len(), 1, "one message for one card");
    assert_eq!(fake.shown(&message).await.files, [hostile]);

    let applied = receipt(Outcome::Applied, "Approved once.", Some(closed(&card)));
    let (core, mut presses) = ScriptedCore::new(vec![applied]);
    let next = Arc::new(Discord::new(fake.config()));
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let next = next.clone();
        let stop = stop.clone();
        async move { next.run(core, stop).await }
    });
    until_listening(&next).await;
    fake.control("gateway", json!({"action": "drop"})).await;
    let presser = Presser { id: ana().id, name: ana().name, roles: Vec::new() };
    let told = fake.press(&message, "Approve", &presser).await;
    assert_eq!(told.as_deref(), Some("Approved once."));
    assert_eq!(presses.recv().await.unwrap().message, Some(message.clone()));
    let shown = fake.shown(&message).await;
    assert_eq!((shown.buttons.len(), shown.files.len()), (0, 1), "the file is kept, no button is");
    stop.cancel();
    running.await.unwrap();

    let deny = json!({"channel_id": CHANNEL, "permissions": ["SEND_MESSAGES"]});
    fake.control("deny", deny).await;
    let other = Card { id: "trouble-2".to_owned(), ..card };
    let gone = next.post(&target(), &other, Posting::First).await;
    assert!(matches!(gone, Err(SendError::TargetGone(why)) if why.contains("Send Messages")));
    assert_eq!(fake.violations().await, Vec::<Value>::new());
}
