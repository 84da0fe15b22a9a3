//! The same against another, stricter stand-in that runs elsewhere: set
//! `COUNTERSIGN_TEST_SLACK_URL` to where it answers `/_/info`.

use crate::slack::{CHANNEL, blocks};
use crate::support::{ana, target};
use countersign_port::{Adapter, Card, MessageRef, Posting, Presser, Target, async_trait};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, VisibleMessage, conformance, sample_card,
};
use countersign_slack::{Slack, SlackConfig, check, check_target};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct StandIn {
    url: String,
    config: SlackConfig,
    /// What each person had been told before they did something more.
    before: Mutex<usize>,
}

/// The stand-in, empty, or nothing where there is none.
async fn stand_in() -> Option<StandIn> {
    let Ok(url) = std::env::var("COUNTERSIGN_TEST_SLACK_URL") else {
        eprintln!("skipped: COUNTERSIGN_TEST_SLACK_URL is not set");
        return None;
    };
    control(&url, "reset", json!({})).await;
    let info = control(&url, "info", json!({})).await;
    let text = |key: &str| info[key].as_str().unwrap().to_owned();
    let config = SlackConfig {
        token: text("bot_token"),
        app_token: text("app_token"),
        api_url: url.clone(),
    };
    control(&url, "user", json!({"id": ana().id, "name": "Ana"})).await;
    control(&url, "member", json!({"channel_id": CHANNEL, "user_id": ana().id})).await;
    Some(StandIn { url, config, before: Mutex::default() })
}

async fn control(url: &str, call: &str, body: Value) -> Value {
    let request = reqwest::Client::new().post(format!("{url}/_/{call}"));
    let request = request.header("content-type", "application/json").body(body.to_string());
    let response = request.send().await.unwrap();
    let status = response.status();
    let answer = response.text().await.unwrap();
    assert!(status.is_success(), "{call} {body}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

impl StandIn {
    async fn control(&self, call: &str, body: Value) -> Value {
        control(&self.url, call, body).await
    }

    async fn message(&self, ts: &str) -> Value {
        self.control("messages", json!({"ts": ts})).await[0].clone()
    }

    /// What Ana has been told privately, oldest first.
    async fn whispers(&self) -> Vec<String> {
        let all = self.control("messages", json!({"ephemeral_for": ana().id})).await;
        all.as_array().unwrap().iter().map(|it| blocks::text(&it["blocks"])).collect()
    }

    async fn told(&self, interaction: &Value, edits: Option<(&str, u64)>) -> Option<String> {
        let waited = json!({"id": interaction["interaction_id"], "wait": 4});
        let state = self.control("wait_interaction", waited).await;
        assert_eq!(state["state"], "acked", "{state}");
        assert!(state["latency"].as_f64().unwrap() < 1.0, "acknowledged at once: {state}");
        let mut redrawn = 0;
        for _ in 0..400 {
            let whispers = self.whispers().await;
            let before = *self.before.lock().unwrap();
            if let Some(words) = whispers.get(before) {
                *self.before.lock().unwrap() = before + 1;
                return Some(words.clone());
            }
            let views = self.control("views", json!({})).await;
            let ours = views.as_array().unwrap().iter().find(|it| {
                it["interaction"] == interaction["interaction_id"] && it["open"] == true
            });
            if let Some(view) = ours {
                let label = &view["view"]["blocks"][0]["label"]["text"];
                return label.as_str().map(str::to_owned);
            }
            if let Some((ts, edits)) = edits {
                let now = self.message(ts).await["edits"].as_u64().unwrap();
                redrawn += usize::from(now > edits);
            }
            if redrawn > 40 {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

fn ts(message: &MessageRef) -> &str {
    message.0.rsplit('/').next().unwrap()
}

#[async_trait]
impl FakePlatform for StandIn {
    fn adapter(&self) -> Arc<dyn Adapter> {
        Arc::new(Slack::new(self.config.clone()))
    }

    fn somebody(&self) -> Presser {
        let id = format!("T0000000001/{}", ana().id);
        Presser { id, name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        target()
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let posted = self.message(ts(message)).await;
        let thread = self.control("messages", json!({"thread_ts": ts(message)})).await;
        let ids = thread.as_array().unwrap().iter().flat_map(|it| it["files"].as_array().unwrap());
        let ids: Vec<_> = ids.map(|it| it["id"].clone()).collect();
        let mut files = Vec::new();
        for id in ids {
            // The list cuts long texts; the file itself is whole.
            let url = format!("{}/files-pri/{}/x", self.url, id.as_str().unwrap());
            let request = reqwest::Client::new().get(url).bearer_auth(&self.config.token);
            files.push(request.send().await.unwrap().text().await.unwrap());
        }
        let pings = posted["pings"].as_array().unwrap();
        assert!(pings.iter().all(|it| it["any"] == false), "{posted}");
        let buttons = blocks::buttons(&posted["blocks"]);
        VisibleMessage {
            text: blocks::text(&posted["blocks"]),
            buttons: buttons.into_iter().map(|(label, _)| label).collect(),
            files,
        }
    }

    async fn press(&self, message: &MessageRef, label: &str, by: &Presser) -> Option<String> {
        let connected = self.control("wait_connected", json!({"wait": 10})).await;
        assert_eq!(connected["connected"], true);
        *self.before.lock().unwrap() = self.whispers().await.len();
        let ts = ts(message);
        let user = by.id.split('/').next_back().unwrap();
        let posted = self.message(ts).await;
        let option = blocks::options(&posted["blocks"]).into_iter().find(|(it, _)| it == label);
        let pressed = match option {
            Some((_, value)) => {
                let select = json!({"ts": ts, "user_id": user, "values": value});
                self.control("select", select).await
            }
            None => {
                let press = json!({"ts": ts, "user_id": user, "text": label});
                self.control("press", press).await
            }
        };
        self.told(&pressed, Some((ts, posted["edits"].as_u64().unwrap()))).await
    }

    async fn give_text(&self, message: &MessageRef, text: &str, by: &Presser) -> Option<String> {
        *self.before.lock().unwrap() = self.whispers().await.len();
        let user = by.id.split('/').next_back().unwrap();
        let values = json!({"countersign_text": text});
        let submitted = self.control("submit_view", json!({"user_id": user, "values": values}));
        let submitted = submitted.await;
        let edits = self.message(ts(message)).await["edits"].as_u64().unwrap();
        self.told(&submitted, Some((ts(message), edits))).await
    }

    async fn inject(&self, fault: PlatformFault) -> Injected {
        let on_post = |kind: &str, after: u64| {
            let on = "chat.postMessage";
            json!({"match": on, "kind": kind, "retry_after": after})
        };
        match fault {
            PlatformFault::Limited(after) => {
                self.control("inject", on_post("429", after.as_secs())).await;
            }
            PlatformFault::AnswerLost => {
                self.control("inject", on_post("drop_after", 0)).await;
            }
            PlatformFault::Disconnected => {
                self.control("socket", json!({"action": "drop"})).await;
            }
        }
        Injected::Once
    }
}

#[tokio::test]
async fn the_stricter_stand_in_sees_the_contract_kept() {
    let Some(fake) = stand_in().await else { return };
    fake.control("config", json!({"ratelimit": "off"})).await;
    conformance(&fake).await;
    assert_eq!(check(&fake.config).await, Ok("fakebot in Test Team".to_owned()));
    assert_eq!(check_target(&fake.config, &target()).await, Ok("#approvals".to_owned()));

    let hostile = "<!channel> <@U1> <https://evil.example|docs> *b* `c` :tada: @here & &amp;";
    let card = sample_card(hostile);
    let card = Card { title: hostile.to_owned(), id: "hostile".to_owned(), ..card };
    let message = fake.adapter().post(&target(), &card, Posting::First).await.unwrap();
    assert_eq!(fake.shown(&message).await.text.matches(hostile).count(), 2);
    let violations = fake.control("violations", json!({})).await;
    // One of them is no breach: a careful reader's remark on how a message looks.
    let mut violations = violations.as_array().unwrap().clone();
    violations.retain(|it| it["kind"] != "note");
    assert_eq!(violations, Vec::<Value>::new());
}
