//! The same of questions: what a person presses or writes is exactly what the agent reads, and none of
//! it is an approval or outlasts its question.

use super::{
    Surface, Trial,
    generated::{QUICK, all_hold},
};
use crate::{
    daemon::APPROVER,
    discord_server,
    floods::chat::{GroupChat, OpenMessage},
    telegram_server::{ANA, GROUP, Telegram},
};
use proptest::{
    prelude::*,
    sample::{Index, select, subsequence},
};
use serde_json::{Map, Value, json};

/// What somebody answers.
#[derive(Debug, Clone)]
enum Given {
    /// Options, by their places, in the order in which they are pressed.
    Options(Vec<usize>),
    Words(&'static str),
}

#[derive(Debug, Clone)]
struct Asked {
    labels: Vec<&'static str>,
    several: bool,
    given: Given,
}

#[derive(Debug, Clone)]
struct Case {
    asked: Vec<Asked>,
    /// The last question is declined instead.
    declined: bool,
}

/// Labels that read like our own buttons, like markup, like values and like numbers of others; two
/// are too long for a button.
const LABELS: &[&str] = &[
    "SQLite",
    "Approve",
    "Always: rm *",
    "10 min: this command",
    "Deny all 3",
    "Submit",
    "Other…",
    "Decline",
    "‹ Back",
    "More…",
    "2",
    "true",
    "[\"a\"]",
    "a, b; c",
    "<b>bold</b> &amp; *so* `so`",
    "@everyone",
    "✓ é 漢字",
    "PostgreSQL on a server of its own, with a replica",
    "A line that is longer than what any button holds, twice: so it is",
];

/// What is written instead of an option.
const WORDS: &[&str] = &[
    "neither",
    "Approve",
    "1",
    "yes",
    "always",
    "SQLite",
    "two\nlines",
    "<b>x</b> & *y* _z_ `q` https://x.example",
    "漢字 é",
];

fn asked() -> impl Strategy<Value = Asked> {
    let labels = subsequence(LABELS, 2..=5).prop_shuffle();
    let pressed = prop::collection::vec(any::<Index>(), 1..4);
    (labels, any::<bool>(), pressed, prop::option::weighted(0.3, select(WORDS))).prop_map(
        |(labels, several, pressed, words)| {
            let mut places: Vec<usize> = Vec::new();
            for place in pressed.iter().map(|it| it.index(labels.len())) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            places.truncate(if several { 3 } else { 1 });
            let given = words.map_or(Given::Options(places), Given::Words);
            Asked { labels, several, given }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let declined = prop::bool::weighted(0.1);
    (prop::collection::vec(asked(), 1..3), declined)
        .prop_map(|(asked, declined)| Case { asked, declined })
}

impl Asked {
    fn json(&self, text: &str) -> Value {
        let options: Vec<Value> = self.labels.iter().map(|it| json!({ "label": it })).collect();
        json!({"question": text, "options": options, "multiSelect": self.several})
    }

    /// What the agent reads of it.
    fn answer(&self) -> Value {
        let label = |at: &usize| self.labels[*at];
        match &self.given {
            Given::Words(words) => json!(words),
            Given::Options(places) if self.several => {
                // In the order of the question, whatever was pressed first.
                let mut places = places.clone();
                places.sort_unstable();
                json!(places.iter().map(label).collect::<Vec<_>>())
            }
            Given::Options(places) => json!(label(&places[0])),
        }
    }
}

impl Surface {
    /// Presses what chooses this option of a question with several.
    async fn choose(&self, text: &str, at: usize) {
        let message = self.shown(|it| it.text.contains(text)).await;
        if let Self::Chat(GroupChat::Slack(chat)) = self {
            // Boxes are ticked before a button hands them in.
            let (label, _) = chat.message(&message.place).unwrap().boxes[at].clone();
            return chat.tick(&message.place, &label, &crate::slack::ana()).await;
        }
        // What stands on the button may change, what it carries does not.
        self.press_token(&message, &message.buttons[at].1).await;
    }

    /// Presses the button that asks for words, and writes these.
    async fn say(&self, message: &OpenMessage, words: &str) {
        let place = &message.place;
        let other = message.buttons.iter().rfind(|(label, _)| label == "Other…").unwrap();
        let chat = match self {
            Self::Inbox(page) => return drop(page.0.press(place, &other.1, Some(words)).await),
            Self::Chat(chat) => chat,
        };
        let prompt = || match chat {
            GroupChat::Telegram(chat) => chat.prompt(GROUP).map(|it| it.id),
            _ => None,
        };
        let before = prompt();
        chat.press(place, &other.1).await;
        match chat {
            GroupChat::Telegram(chat) => {
                let asked = || prompt().filter(|it| Some(*it) != before);
                chat.reply(GROUP, chat.until("a prompt", asked).await, words, ANA);
            }
            GroupChat::Discord(chat) => {
                let ana = discord_server::Person::new(&ANA.id.to_string(), "Ana");
                chat.give_text(place, words, &ana).await;
            }
            GroupChat::Slack(chat) => {
                chat.give_text(place, words, &crate::slack::ana()).await;
            }
        }
    }

    /// Presses the last button that begins like this: options may read like it.
    async fn press_last(&self, text: &str, begins: &str) {
        let message = self.shown(|it| it.text.contains(text)).await;
        let (_, token) = message.buttons.iter().rfind(|it| super::is(begins)(it)).unwrap();
        self.press_token(&message, token).await;
    }

    async fn press_token(&self, message: &OpenMessage, token: &str) {
        match self {
            Self::Chat(chat) => drop(chat.press(&message.place, token).await),
            Self::Inbox(page) => drop(page.0.press(&message.place, token, None).await),
        }
    }
}

impl Case {
    /// Answers it as a person would; what is wrong with what the agent reads.
    async fn wrong(&self, trial: &Trial, session: &str) -> Vec<String> {
        let text = |at: usize| format!("Question {at} of {session}?");
        let questions: Vec<Value> =
            self.asked.iter().enumerate().map(|(at, it)| it.json(&text(at))).collect();
        let call = json!({"agent": "tester", "session": session,
            "session_secret": "a secret of the session", "tool": "AskUserQuestion",
            "args": {"questions": questions}});
        let ask = trial.daemon.ask(&call).await;
        let mut wanted = Map::new();
        for (at, asked) in self.asked.iter().enumerate() {
            let text = text(at);
            if self.declined && at + 1 == self.asked.len() {
                trial.surface.press_last(&text, "Decline").await;
                break;
            }
            trial.surface.give(asked, &text).await;
            wanted.insert(text, asked.answer());
        }
        let answer = trial.daemon.closed(&ask).await["answer"].clone();
        let mut wrong = Vec::new();
        let decision = if self.declined { "deny" } else { "answer" };
        if answer["decision"] != decision {
            wrong.push(format!("not `{decision}`: {answer}"));
        }
        if !self.declined && answer["answers"] != Value::Object(wanted.clone()) {
            wrong.push(format!("not {wanted:?}: {answer}"));
        }
        let (_, page) = trial.daemon.get("/v1/grants", APPROVER).await;
        if answer.get("scope").is_some() || page["grants"] != json!([]) {
            wrong.push(format!("it is remembered: {answer}, {page}"));
        }
        trial.surface.is_quiet().await;
        // It is asked again: nobody has answered the next.
        let next = trial.daemon.ask(&call).await;
        trial.surface.message(&next, "Decline").await;
        trial.cancel(&next).await;
        wrong
    }
}

impl Surface {
    /// Answers one question.
    async fn give(&self, asked: &Asked, text: &str) {
        match &asked.given {
            Given::Words(words) => {
                let message = self.shown(|it| it.text.contains(text)).await;
                self.say(&message, words).await;
            }
            Given::Options(places) if asked.several => {
                for at in places {
                    self.choose(text, *at).await;
                }
                self.press_last(text, "Submit").await;
            }
            Given::Options(places) => {
                let message = self.shown(|it| it.text.contains(text)).await;
                self.press_token(&message, &message.buttons[places[0]].1).await;
            }
        }
    }
}

fn any_answer_is_what_was_pressed(trial: &Trial, cases: u32) {
    all_hold(cases, 0, &case(), async |case: &Case, session: &str| {
        case.wrong(trial, session).await
    });
    trial.is_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn any_answer_in_telegram_is_what_was_pressed_and_never_a_grant() {
    let chat = GroupChat::Telegram(Telegram::start().await);
    any_answer_is_what_was_pressed(&Trial::in_chat(chat, QUICK).await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_answer_in_discord_is_what_was_pressed_and_never_a_grant() {
    let chat = GroupChat::discord().await;
    any_answer_is_what_was_pressed(&Trial::in_chat(chat, QUICK).await, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_answer_in_slack_is_what_was_pressed_and_never_a_grant() {
    let chat = GroupChat::slack().await;
    any_answer_is_what_was_pressed(&Trial::in_chat(chat, QUICK).await, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_answer_in_the_inbox_is_what_was_pressed_and_never_a_grant() {
    any_answer_is_what_was_pressed(&Trial::at_inbox(QUICK).await, 40);
}
