//! From an ask to the waiter's waking, without a platform; and how many of them a second.

use super::line;
use countersign::profiles::Profile;
use countersign::{
    bridge::{PressHandler, Term, deliver},
    gate::{
        Audience, Choices, Gate, GateSettings, OnTimeout, Policy, SubmitOutcome,
        ask::{Ask, Body, State},
        call::Call,
    },
    ids,
    people::{
        approvers::{Approvers, Local},
        routes::Routes,
    },
    policy::Guardrail,
    store::{Closed, Database, Inserted, NewCard, Store},
};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, NamedAdapter, Outcome, Posting, Press, Presser,
    Presses, SendError, Signals, Target, async_trait,
};
use futures::future::join_all;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::sync::{oneshot, watch};

/// How many asks one after the other, and commits.
const ALONE: usize = 1_000;
/// How many go before them: connections of a daemon at work know its statements.
const WARM: usize = 200;
/// How many agents at once, and for how long.
const AGENTS: usize = 64;
const SUSTAINED: Duration = Duration::from_secs(6);

/// A platform that hands every new card to the one who waits for it. Like the inbox, whose name it has,
/// it keeps nothing; chats do, and take some thirty cards a second at most.
#[derive(Default)]
struct Hand {
    signals: Signals,
    waiting: Mutex<HashMap<String, oneshot::Sender<Card>>>,
    posted: Mutex<HashMap<String, Card>>,
}

impl Hand {
    async fn card_of(&self, ask: &str) -> Card {
        let (give, taken) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock().unwrap();
            if let Some(card) = self.posted.lock().unwrap().remove(ask) {
                return card;
            }
            waiting.insert(ask.to_owned(), give);
        }
        taken.await.unwrap()
    }
}

#[async_trait]
impl Adapter for Hand {
    fn signals(&self) -> &Signals {
        &self.signals
    }

    fn keeps_messages(&self) -> bool {
        false
    }

    async fn post(&self, _: &Target, card: &Card, _: Posting) -> Result<MessageRef, SendError> {
        let mut waiting = self.waiting.lock().unwrap();
        match waiting.remove(&card.ask) {
            Some(give) => drop(give.send(card.clone())),
            None => drop(self.posted.lock().unwrap().insert(card.ask.clone(), card.clone())),
        }
        Ok(MessageRef(card.id.clone()))
    }

    async fn update(&self, _: &MessageRef, _: &Card) -> Result<(), SendError> {
        Ok(())
    }

    async fn run(&self, _: Arc<dyn Presses>, stop: CancellationToken) {
        stop.cancelled().await;
    }
}

/// One daemon's core with the hand at it.
struct Bench {
    gate: Arc<Gate>,
    desk: Arc<PressHandler>,
    hand: Arc<Hand>,
}

/// The lines of one store.
pub async fn speed(database: Database) {
    let store = Store::open(&database).await.unwrap();
    let commits = commits(&store).await;
    line("a bare commit, p50 / p99", pair(&commits), "");
    let rate = ALONE as f64 / commits.iter().sum::<Duration>().as_secs_f64();
    line("bare commits a second, one after the other", format!("{rate:.0}"), "");
    let own = own(&store).await;
    line("an ask put in and closed, by the store alone, p50 / p99", pair(&own), "");
    let together = together(&store).await;
    line("… by 64 at once", format!("{together:.0}"), "");

    let bench = Arc::new(Bench::open(store).await);
    let mut ways = Vec::with_capacity(ALONE);
    for n in 0..WARM + ALONE {
        ways.push(bench.way(&format!("git push origin alone-{n}")).await);
    }
    let ways = ways.split_off(WARM);
    line("ask → card sent → press → waiter woken, p50 / p99", pair(&ways), "");
    let over = |taken: &[Duration], times| {
        let over = |at| ms(quantile(&ways, at).saturating_sub(quantile(taken, at) * times));
        format!("{:.2} / {:.2} ms", over(0.5), over(0.99))
    };
    line("… over what the store takes for it alone", over(&own, 1), "p99 ≤ 2 ms");
    line("… over two bare commits", over(&commits, 2), "p99 ≤ 2 ms");
    let before = cpu_time();
    let (count, took) = bench.sustained().await;
    let each = (cpu_time() - before).as_secs_f64() * 1000.0 / f64::from(count);
    let asks = f64::from(count) / took.as_secs_f64();
    line("sustained asks a second, 64 agents", format!("{asks:.0}"), "");
    line("… processor time of each, this process alone", format!("{each:.2} ms"), "");
    line("… to the bare commit rate, one after the other", format!("{:.2}", asks / rate), "≥ 0.5");
    line("… to that of 64 at once", format!("{:.2}", asks / together), "");
}

async fn note(store: &Store) {
    let data = json!({"agent": "bench", "session": "one", "tool": "shell_exec"});
    store.note(1, "bench", None, &data).await.unwrap();
}

async fn commits(store: &Store) -> Vec<Duration> {
    let mut times = Vec::with_capacity(WARM + ALONE);
    for _ in 0..WARM + ALONE {
        let began = Instant::now();
        note(store).await;
        times.push(began.elapsed());
    }
    times.split_off(WARM)
}

/// The two transactions of an ask's way, with nothing around them.
async fn own(store: &Store) -> Vec<Duration> {
    let mut times = Vec::with_capacity(WARM + ALONE);
    for n in 0..WARM + ALONE {
        let (new, card) = ask(n, 1, Some(i64::MAX));
        let answer = json!({"decision": "approve", "by": {"kind": "timeout"}, "at": 2});
        let end = State::Answered(serde_json::from_value(answer).unwrap());
        let began = Instant::now();
        let Inserted::New(ask) = store.insert_ask(&new, &[card], None).await.unwrap() else {
            panic!("it was known")
        };
        let closed = store.close_ask(&ask, &end, &[]).await.unwrap();
        times.push(began.elapsed());
        assert!(matches!(closed, Closed::Won(_)));
    }
    times.split_off(WARM)
}

async fn together(store: &Store) -> f64 {
    let began = Instant::now();
    let writers = (0..AGENTS).map(|_| async {
        let mut written = 0;
        while began.elapsed() < SUSTAINED / 3 {
            note(store).await;
            written += 1;
        }
        written
    });
    let written: u32 = join_all(writers).await.into_iter().sum();
    f64::from(written) / began.elapsed().as_secs_f64()
}

impl Bench {
    async fn open(store: Store) -> Self {
        let policy = Policy::open(Profile::Standard, None, None, Guardrail::default(), false);
        let settings = GateSettings {
            late_yes_s: 86_400,
            timeout_ms: 300_000,
            on_timeout: OnTimeout::Deny,
            mode: None,
            home: None,
            host: "here".to_owned(),
            daemon: "bench".to_owned(),
            inbox: String::new(),
            limits: countersign::gate::Limits {
                asks: u64::MAX,
                asks_per_agent: u64::MAX,
                asks_per_session: u64::MAX,
                asks_a_minute_per_agent: u64::MAX,
                asks_a_minute_per_session: u64::MAX,
                bytes: u64::MAX >> 1,
                bytes_per_agent: u64::MAX >> 1,
            },
            keep_ms: 86_400_000,
        };
        let approvers = Approvers { local: Local::On, ..Approvers::default() };
        let audience = vec![Audience {
            adapter: "inbox".to_owned(),
            target: "here".to_owned(),
            thread_idle_ms: None,
        }];
        let policy = Arc::new(policy.unwrap());
        let choices = Choices {
            policy,
            approvers,
            audience,
            routes: Routes::default(),
            reviews: Vec::new(),
            settings,
        };
        let gate = Gate::new(store.clone(), choices);
        let length = Duration::from_secs(3600);
        let fence = store.take_lease("inbox", "bench", length).await.unwrap().unwrap();
        let (term, hand) = (Arc::new(Term::new(fence, None)), Arc::new(Hand::default()));
        let stop = CancellationToken::new();
        let adapter = NamedAdapter { name: "inbox", adapter: hand.clone() };
        let (delivering, own, here) = (gate.clone(), store.clone(), "here".to_owned());
        let adapters = watch::channel([].into()).1;
        tokio::spawn(deliver(delivering, own, adapter, adapters.clone(), here, term, stop));
        Self { desk: PressHandler::new("inbox", gate.clone(), store, adapters), gate, hand }
    }

    /// The whole way of one ask.
    async fn way(&self, command: &str) -> Duration {
        let began = Instant::now();
        let call = json!({"agent": "bench", "session": command, "tool": "shell_exec", "cwd": "/home/a",
            "args": {"command": command}});
        let call: Call = serde_json::from_value(call).unwrap();
        let handed = self.gate.submit(call, true).await.unwrap();
        let SubmitOutcome::Asked(ask, Some(mut caller)) = handed else {
            panic!("{command} is not asked");
        };
        let answered = caller.wait(Duration::from_secs(60));
        let pressed = async {
            let card = self.hand.card_of(&ask.id).await;
            let token = card.buttons[0][0].token.clone();
            let presser = Presser { id: "1".into(), name: "Ana".into(), roles: vec![] };
            let message = Some(MessageRef(card.id));
            let press = Press { presser, message, token };
            self.desk.press(press).await
        };
        // The presser is told beside: what counts is when the agent goes on.
        let (receipt, woken) = tokio::join!(pressed, async {
            let ask = answered.await.unwrap().unwrap();
            (ask, began.elapsed())
        });
        assert_eq!((receipt.outcome, woken.0.is_open()), (Outcome::Applied, false));
        woken.1
    }

    /// How many asks went their way, and in what time; every agent is a task, as in the daemon.
    async fn sustained(self: &Arc<Self>) -> (u32, Duration) {
        let began = Instant::now();
        let agents = (0..AGENTS).map(|agent| {
            let bench = self.clone();
            tokio::spawn(async move {
                let mut asks = 0_u32;
                while began.elapsed() < SUSTAINED {
                    bench.way(&format!("git push origin s-{agent}-{asks}")).await;
                    asks += 1;
                }
                asks
            })
        });
        let asks = join_all(agents).await.into_iter().map(Result::unwrap).sum();
        (asks, began.elapsed())
    }
}

/// What this process has used of all processors, user and system.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

fn quantile(times: &[Duration], at: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[((times.len() - 1) as f64 * at).round() as usize]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn pair(times: &[Duration]) -> String {
    format!("{:.2} / {:.2} ms", ms(quantile(times, 0.5)), ms(quantile(times, 0.99)))
}

/// An ask as the gate opens it, with its card in the inbox; times in Unix milliseconds.
pub fn ask(n: usize, created_at: i64, deadline_at: Option<i64>) -> (Ask, NewCard) {
    let body = serde_json::from_value(json!({"call": call(n), "why": "no rule"}));
    let body: Body = body.unwrap();
    let opened = Ask::opened(ids::ask_id(), body.call.digest(), body, created_at);
    let new = Ask { attached: ["bench"].into_iter().collect(), deadline_at, ..opened };
    let card =
        NewCard { nonce: ids::nonce(), adapter: "inbox".to_owned(), target: "inbox".to_owned() };
    (new, card)
}

/// A call as an agent makes it.
fn call(n: usize) -> Value {
    json!({"agent": "bench", "session": "one", "tool": "shell_exec", "cwd": "/home/ana/shop",
        "args": {"command": format!("git push origin branch-{n}")}})
}
