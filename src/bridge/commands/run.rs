//! One command, run for the one who wrote it.

use super::{
    super::{
        card,
        receiving::{Adapters, notices},
        told::outcome,
    },
    list::COMMANDS,
    login::login,
    reading::{first_word, said},
};
use countersign_gate::{
    Gate, PauseOutcome, Reply,
    ask::{Ask, Scope, pause::PauseMode},
    pause_sentence,
};
use countersign_people::{
    answer::{Action, TextPurpose},
    approvers::Who,
};
use countersign_port::{CommandCall, CommandReply, Outcome, ReplyPiece, line};
use countersign_store::{Grant, GrantScope, Store, StoreError};
use countersign_tokens::clock;
use std::sync::Arc;

/// How many asks or grants are listed.
pub(super) const LISTED: usize = 15;
/// For how long it is noted that a session has no thread; milliseconds.
const NOTED_MS: i64 = 60 * 60 * 1000;
/// How much of an agent's text a list shows; characters.
const SHORT: usize = 60;

/// What is said to words that are no command.
const NO_COMMAND: &str =
    "I take buttons, replies to cards, and commands: /pending lists what waits, /help lists all.";
/// What is said in a chat that shows no cards.
const ELSEWHERE: &str =
    "I take commands where cards are shown, and in a private chat with me. Not here.";

/// One command of one person.
pub(crate) struct CommandRun<'a> {
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) store: &'a Store,
    pub(crate) adapters: &'a Adapters,
    pub(crate) who: Who,
}

impl CommandRun<'_> {
    /// Does what was asked for, where its writer may.
    // SECURITY: only approvers see and change anything; what others see too is said only where the
    // cards themselves are shown.
    pub(crate) async fn run(self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let admitted = self.gate.admit(self.who.clone());
        match (call.name.as_str(), admitted) {
            ("", _) => return Ok(CommandReply::words(Outcome::Unknown, NO_COMMAND)),
            ("help", admitted) => return Ok(help(admitted.is_ok())),
            (name, Err(stranger)) => {
                tracing::warn!(platform = self.who.platform, presser = %self.who.id, name,
                    "somebody who is no approver wrote a command");
                return Ok(CommandReply::words(Outcome::NotAllowed, stranger.0));
            }
            (_, Ok(_)) => {}
        }
        if !call.targets.is_empty() && !self.is_shown_at(&call.targets).await? {
            return Ok(CommandReply::words(Outcome::NotAllowed, ELSEWHERE));
        }
        match call.name.as_str() {
            "pending" => self.pending(call).await,
            "grants" => self.grants().await,
            "status" => self.status().await,
            "approve" => self.approve(call).await,
            "deny" => self.deny(call).await,
            "edit" => self.edit(call).await,
            "undo" => self.undo(call).await,
            "login" => Ok(login(self.gate, self.who, call)),
            "pause" => self.pause(&call.rest).await,
            "resume" => Ok(switched(self.gate.resume(self.who).await?)),
            "away" => self.away(&call.rest).await,
            "back" => self.back().await,
            "snooze" => self.snooze(&call.rest).await,
            "duty" => self.duty().await,
            "digest" => self.digest(call).await,
            _ => Ok(CommandReply::words(Outcome::Unknown, NO_COMMAND)),
        }
    }

    async fn grants(&self) -> Result<CommandReply, StoreError> {
        let grants = self.store.grants(clock::now_ms()).await?;
        let mut lines: Vec<_> = grants.iter().rev().take(LISTED).map(granted).collect();
        match grants.len().checked_sub(lines.len()) {
            _ if lines.is_empty() => lines.push(words("Nothing is remembered.")),
            Some(more @ 1..) => lines.push(words(format!("… and {more} older ones."))),
            _ => {}
        }
        Ok(CommandReply { outcome: Outcome::Noted, lines })
    }

    async fn status(&self) -> Result<CommandReply, StoreError> {
        let waiting = match self.store.count_open().await? {
            0 => "Nothing waits.".to_owned(),
            1 => "1 ask waits.".to_owned(),
            open => format!("{open} asks wait."),
        };
        let mut lines = vec![words(waiting)];
        if let Some(pause) = self.store.pause().await? {
            lines.push(words(format!("{}; /resume ends it.", pause_sentence(&pause))));
        }
        lines.extend(self.store.log_alarm().map(|alarm| words(line(&format!("Alarm: {alarm}")))));
        let rules = self.gate.choices().policy.problem();
        lines.extend(rules.map(|problem| words(format!("Rules: {problem}"))));
        let missing = self.store.missing_threads(clock::now_ms() - NOTED_MS).await?;
        lines.extend(missing.into_iter().map(|(adapter, why)| {
            words(line(&format!("{adapter}: sessions without a thread: {why}")))
        }));
        let adapters = self.adapters.borrow().clone();
        lines.extend(notices(&adapters).into_iter().map(words));
        if lines.len() == 1 {
            lines.push(words("All is well."));
        }
        Ok(CommandReply { outcome: Outcome::Noted, lines })
    }

    async fn pause(self, how: &str) -> Result<CommandReply, StoreError> {
        let mode = match how.trim() {
            "" => Ok(PauseMode::default()),
            word => word.parse(),
        };
        match mode {
            Ok(mode) => Ok(switched(self.gate.pause(mode, self.who).await?)),
            Err(sentence) => Ok(unknown(line(&sentence))),
        }
    }

    async fn approve(self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let (ask, rest) = match self.find(call).await? {
            Ok(found) => found,
            Err(sentence) => return Ok(unknown(sentence)),
        };
        // What is critical takes a second step that repeats what will happen.
        if ask.body.critical && ask.is_open() && !rest.eq_ignore_ascii_case("yes") {
            let again = match call.message {
                Some(_) => "/approve yes".to_owned(),
                None => format!("/approve {} yes", ask.id),
            };
            let lines = vec![
                vec![words_of("This is critical: "), literal(&card::picture(&ask).title)],
                words(format!("To approve it nonetheless, send {again}")),
            ];
            return Ok(CommandReply { outcome: Outcome::Noted, lines });
        }
        Ok(self.answer(ask, Action::Approve { scope: Scope::Once }).await)
    }

    async fn deny(self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let (ask, rest) = match self.find(call).await? {
            Ok(found) => found,
            Err(sentence) => return Ok(unknown(sentence)),
        };
        let action = match rest.is_empty() || ask.is_question() {
            true => {
                let reason = (!rest.is_empty()).then_some(rest);
                Action::Deny { reason, then: None }
            }
            false => said(&ask, rest),
        };
        Ok(self.answer(ask, action).await)
    }

    async fn edit(self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let (ask, text) = match self.find(call).await? {
            Ok(found) => found,
            Err(sentence) => return Ok(unknown(sentence)),
        };
        let (wanted, text) = (TextPurpose::Edit, Some(text));
        Ok(self.answer(ask, Action::Words { wanted, text }).await)
    }

    async fn undo(self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        match self.find(call).await? {
            Ok((ask, _)) => Ok(self.answer(ask, Action::Undo).await),
            Err(sentence) => Ok(unknown(sentence)),
        }
    }

    async fn answer(self, ask: Ask, action: Action) -> CommandReply {
        let Reply { told, sentence, .. } = self.gate.answer(ask, self.who, action).await;
        CommandReply::words(outcome(told), sentence)
    }

    /// The ask that a command is about, and what else it says: the one whose card it replies to, or
    /// the one that its first word names.
    async fn find(&self, call: &CommandCall) -> Result<Result<(Ask, String), String>, StoreError> {
        if let Some(message) = &call.message
            && let Some((_, ask)) = self.store.ask_at(self.who.platform, &message.0).await?
        {
            return Ok(Ok((ask, call.rest.trim().to_owned())));
        }
        let (id, rest) = first_word(&call.rest);
        if id.len() < 3 {
            let which = "Which one? Name it by its id, as /pending shows it, or reply to its card.";
            return Ok(Err(which.to_owned()));
        }
        let mut found = self.store.ids_like(&id.to_ascii_lowercase()).await?;
        let ask = match (found.pop(), found.is_empty()) {
            (Some(id), true) => self.store.ask(&id).await?,
            (Some(_), false) => {
                return Ok(Err(format!("`{}` begins several asks; say more of it.", line(id))));
            }
            (None, _) => None,
        };
        let none = || format!("There is no ask `{}`; /pending lists them.", short(id));
        Ok(ask.map(|ask| (ask, rest.to_owned())).ok_or_else(none))
    }
}

fn help(approver: bool) -> CommandReply {
    let mut lines: Vec<_> = COMMANDS
        .iter()
        .map(|command| {
            let parameter = |it: &countersign_port::CommandParameter| match it.required {
                true => format!(" {}", it.name.to_uppercase()),
                false => format!(" [{}]", it.name.to_uppercase()),
            };
            let parameters: String = command.parameters.iter().map(parameter).collect();
            words(format!("/{}{parameters}: {}", command.name, command.description))
        })
        .collect();
    lines.push(words("A reply to a card denies it with your words as the reason."));
    // Anybody can ask for help, as often as they like.
    let outcome = if approver { Outcome::Noted } else { Outcome::NotAllowed };
    CommandReply { outcome, lines }
}

fn granted(grant: &Grant) -> Vec<ReplyPiece> {
    let until = match (grant.scope, grant.expires_at) {
        (GrantScope::Always, _) => "always".to_owned(),
        (GrantScope::Review, _) => "asks, a review said".to_owned(),
        (GrantScope::Budget, Some(at)) => format!("once, until {}", clock::short(at)),
        (_, Some(at)) => format!("until {}", clock::short(at)),
        (GrantScope::Session | GrantScope::Timed | GrantScope::Budget, None) => {
            "in its session".to_owned()
        }
    };
    let about = format!(" · {until} · by {}", line(&grant.by.to_string()));
    vec![words_of(format!("{} ", grant.id)), literal(&grant.rule.to_string()), words_of(about)]
}

fn switched(outcome: PauseOutcome) -> CommandReply {
    match outcome {
        PauseOutcome::Switched(sentence) => CommandReply::words(Outcome::Applied, sentence),
        PauseOutcome::Unchanged(sentence) => CommandReply::words(Outcome::Noted, sentence),
        PauseOutcome::NotAllowed(stranger) => CommandReply::words(Outcome::NotAllowed, stranger.0),
    }
}

fn unknown(sentence: String) -> CommandReply {
    CommandReply::words(Outcome::Unknown, sentence)
}

pub(super) fn words(words: impl Into<String>) -> Vec<ReplyPiece> {
    vec![words_of(words)]
}

pub(super) fn words_of(words: impl Into<String>) -> ReplyPiece {
    ReplyPiece::Words(words.into())
}

pub(super) fn literal(text: &str) -> ReplyPiece {
    ReplyPiece::Literal(short(text))
}

pub(super) fn short(text: &str) -> String {
    let text = line(text);
    match text.char_indices().nth(SHORT) {
        Some(_) => text.chars().take(SHORT - 1).chain(['…']).collect(),
        None => text,
    }
}
