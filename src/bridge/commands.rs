//! Commands: what people write to the bot beside pressing buttons. One list, and what each does.

use crate::{
    adapters::{Adapters, notices},
    card,
    press_handler::outcome,
    words::{first_word, reply_action},
};
use countersign_domain::GrantScope;
use countersign_gate::{
    ApproverError, Gate, NotNamed, PauseOutcome, Reply, SubmitError,
    ask::{Ask, Scope, deadline::PauseMode},
    digests::DigestScope,
    pause_sentence,
};
use countersign_people::{
    answer::{Action, TextPurpose},
    approvers::Who,
    routes::DutyTurn,
};
use countersign_port::{
    BotCommand, CommandCall, CommandParameter, CommandReply, Outcome, ReplyPiece, Target, cut, line,
};
use countersign_store::{Absence, Grant, Store, StoreError};
use countersign_tokens::{clock, ids};
use jiff::{SignedDuration, Timestamp, ToSpan, civil::Time, tz::TimeZone};
use std::sync::Arc;
use url::{Host, Url};

/// How many asks or grants are listed.
const LISTED: usize = 15;
/// For how long it is noted that a session has no thread; milliseconds.
const NOTED_MS: i64 = 60 * 60 * 1000;
/// How much of an agent's text a list shows; characters.
const SHORT: usize = 60;

/// What is told to words that are no command.
const NO_COMMAND: &str = "I understand buttons, replies to cards, and commands: /pending \
                          lists open requests, /help lists all.";
/// What is told to an approval that says more.
const MORE_WORDS: &str = "Nothing is approved: /approve takes no words besides the id, and none where \
                          it replies to a card.";
/// What is told in a chat that shows no cards.
const ELSEWHERE: &str =
    "Commands work where cards are shown, and in a private chat with me. Not here.";

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
                    "somebody who is not an approver wrote a command");
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
            "approve" | "deny" | "edit" | "undo" => self.on_ask(call).await,
            "login" => Ok(login(self.gate, self.who, call)),
            "pause" => self.pause(&call.rest).await,
            "resume" => switched(self.gate.resume(self.who).await),
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
        match grants.len().saturating_sub(lines.len()) {
            _ if lines.is_empty() => lines.push(words("Nothing is remembered.")),
            0 => {}
            more => lines.push(words(format!("… and {more} older ones."))),
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
            Ok(mode) => switched(self.gate.pause(mode, self.who).await),
            Err(sentence) => Ok(unknown(line(&sentence))),
        }
    }

    async fn on_ask(self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let (ask, rest) = match self.find(call).await? {
            Ok(found) => found,
            Err(sentence) => return Ok(unknown(sentence)),
        };
        let action = match call.name.as_str() {
            // What is critical takes a second step that repeats what will happen.
            "approve"
                if ask.body.critical && ask.is_open() && !rest.eq_ignore_ascii_case("yes") =>
            {
                return Ok(critical(&ask, call));
            }
            // FAIL-CLOSED: more words mean another ask, or less than a yes.
            "approve" if !(rest.is_empty() || rest.eq_ignore_ascii_case("yes")) => {
                return Ok(CommandReply::words(Outcome::Noted, MORE_WORDS));
            }
            "approve" => Action::Approve { scope: Scope::Once },
            "edit" => Action::Words { wanted: TextPurpose::Edit, text: Some(rest) },
            "undo" => Action::Undo,
            _ if rest.is_empty() || ask.is_question() => {
                Action::Deny { reason: (!rest.is_empty()).then_some(rest), then: None }
            }
            _ => reply_action(&ask, rest),
        };
        let Reply { told, sentence, .. } = self.gate.answer(ask, self.who, action).await;
        Ok(CommandReply::words(outcome(told), sentence))
    }

    /// The ask that a command is about, and what else it says: the one whose card it replies to, or
    /// the one that its first word names.
    async fn find(&self, call: &CommandCall) -> Result<Result<(Ask, String), String>, StoreError> {
        if let Some(message) = &call.message
            && let Some((_, ask)) = self.store.ask_at(self.who.platform, &message.0).await?
        {
            let rest = match first_word(&call.rest) {
                (id, rest) if id.eq_ignore_ascii_case(&ask.id) => rest,
                _ => call.rest.trim(),
            };
            let rest = rest.to_owned();
            return Ok(Ok((ask, rest)));
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
                return Ok(Err(format!(
                    "`{}` matches several asks; type more of the id.",
                    line(id)
                )));
            }
            (None, _) => None,
        };
        let none = || format!("There is no ask `{}`; /pending lists them.", short(id));
        Ok(ask.map(|ask| (ask, rest.to_owned())).ok_or_else(none))
    }
}

fn critical(ask: &Ask, call: &CommandCall) -> CommandReply {
    let again = match call.message {
        Some(_) => "/approve yes".to_owned(),
        None => format!("/approve {} yes", ask.id),
    };
    let lines = vec![
        vec![words_of("This is critical: "), literal(&card::picture(ask).title)],
        words(format!("To approve it nonetheless, send {again}")),
    ];
    CommandReply { outcome: Outcome::Noted, lines }
}

fn help(approver: bool) -> CommandReply {
    let mut lines: Vec<_> = COMMANDS
        .iter()
        .map(|command| {
            let parameter = |it: &CommandParameter| match it.name.to_uppercase() {
                name if it.required => format!(" {name}"),
                name => format!(" [{name}]"),
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
    vec![words_of(format!("{} ", grant.id)), literal(&grant.covers()), words_of(about)]
}

fn switched(outcome: Result<PauseOutcome, ApproverError>) -> Result<CommandReply, StoreError> {
    Ok(match outcome {
        Ok(PauseOutcome::Switched(sentence)) => CommandReply::words(Outcome::Applied, sentence),
        Ok(PauseOutcome::Unchanged(sentence)) => CommandReply::words(Outcome::Noted, sentence),
        Err(ApproverError::NotAllowed(stranger)) => {
            CommandReply::words(Outcome::NotAllowed, stranger.0)
        }
        Err(ApproverError::Store(error)) => return Err(error),
    })
}

fn unknown(sentence: String) -> CommandReply {
    CommandReply::words(Outcome::Unknown, sentence)
}

pub(super) fn words(words: impl Into<String>) -> Vec<ReplyPiece> {
    vec![words_of(words)]
}

fn words_of(words: impl Into<String>) -> ReplyPiece {
    ReplyPiece::Words(words.into())
}

fn literal(text: &str) -> ReplyPiece {
    ReplyPiece::Literal(short(text))
}

pub(super) fn short(text: &str) -> String {
    cut(&line(text), SHORT)
}

const ID: CommandParameter =
    required("id", "The ask, as /pending shows it; its first three letters are enough");
const TIME: CommandParameter = optional("time", "How long, such as 20m, or `until 18:00`");
const BACK: CommandParameter = optional("time", "How far back, such as 24h; 7d without it");
const YES: CommandParameter = optional("yes", "`yes`, for a critical ask");
const REASON: CommandParameter = optional("reason", "Why, in words for the agent");
const TEXT: CommandParameter = required("text", "The new text, which replaces all of it");
const HOW: CommandParameter = optional("how", "`hold` calls (the default), or `deny` them");

/// Every command, in the order in which people see them.
pub(crate) const COMMANDS: &[BotCommand] = &[
    command("pending", "What waits for an answer", &[]),
    command("approve", "Approve an ask once; also as a reply to its card", &[ID, YES]),
    command(
        "deny",
        "Deny an ask, with a reason for the agent; also as a reply to its card",
        &[ID, REASON],
    ),
    command("grants", "What is remembered, and for how long", &[]),
    command("edit", "Change a command or new text, to be approved on its card", &[ID, TEXT]),
    command(
        "undo",
        "Revoke what an answer stored, within ten minutes; also as a reply to its card",
        &[ID],
    ),
    command("status", "How countersign is", &[]),
    command("login", "A private link that signs you in to the inbox, in a private chat", &[]),
    command("pause", "Let no call run, and stop all deadlines, until /resume", &[HOW]),
    command("resume", "End the pause", &[]),
    command("away", "Get no direct messages and no duty until /back", &[TIME]),
    command("back", "End /away and /snooze", &[]),
    command("snooze", "Get no direct messages and no reminders for a while", &[TIME]),
    command("duty", "Who is on duty", &[]),
    command(
        "digest",
        "How many requests, how fast answered, by whom; rules that would save some",
        &[BACK],
    ),
    command("help", "These commands", &[]),
];

const fn command(
    name: &'static str,
    description: &'static str,
    parameters: &'static [CommandParameter],
) -> BotCommand {
    BotCommand { name, description, parameters }
}

const fn required(name: &'static str, description: &'static str) -> CommandParameter {
    CommandParameter { name, description, required: true }
}

const fn optional(name: &'static str, description: &'static str) -> CommandParameter {
    CommandParameter { name, description, required: false }
}

// `/pending`: what waits for an answer.

impl CommandRun<'_> {
    // SECURITY: a request that a route shows elsewhere is not told in this chat.
    pub(super) async fn pending(&self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let mut asks = self.store.asks_in("open", None).await?.asks;
        let open = self.store.count_open().await?;
        let read = asks.len();
        asks.retain(|ask| is_shown(ask, self.who.platform, call));
        let all = usize::try_from(open).unwrap_or_default().saturating_sub(read - asks.len());
        let mut lines: Vec<_> = asks.iter().take(LISTED).map(waiting).collect();
        match all.checked_sub(lines.len()) {
            _ if lines.is_empty() => lines.push(words("Nothing waits.")),
            Some(more @ 1..) => lines.push(words(format!("… and {more} more."))),
            _ => {}
        }
        Ok(CommandReply { outcome: Outcome::Noted, lines })
    }
}

fn waiting(ask: &Ask) -> Vec<ReplyPiece> {
    let card = card::picture(ask);
    let mut about = format!(" · {}", short(&ask.body.call.agent));
    if let Some(deadline) = card.deadline {
        let left = (deadline - clock::now_ms()).max(0);
        about.push_str(&format!(" · {} left", clock::span(left)));
    }
    if ask.body.critical {
        about.push_str(" · critical");
    }
    vec![words_of(format!("{} ", ask.id)), literal(&card.title), words_of(about)]
}

// `/login`: a link that signs a person with a name in to the inbox.

/// What is told where others would see the link.
const IN_PRIVATE: &str = "The link is private: send /login to me in a private chat.";
/// What is told in the inbox itself.
// SECURITY: a session cannot make the next one, so it ends when it ends.
const IN_A_CHAT: &str = "A link comes from a chat: send /login to the bot there.";

/// What is told with a link that leads to the machine itself.
const ONLY_HERE: &str = "It opens only on the daemon's machine. Set `public_url` in [daemon] for \
                         other devices.";

/// Whether an address leads to the machine that opens it.
fn is_here(url: &str) -> bool {
    let url = Url::parse(url).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Makes a link for the one who wrote.
// SECURITY: a reply to a card names no place, so it may stand where others read it.
pub(super) fn login(gate: &Gate, who: Who, call: &CommandCall) -> CommandReply {
    if who.platform == "inbox" {
        return CommandReply::words(Outcome::Noted, IN_A_CHAT);
    }
    if !call.targets.is_empty() || call.message.is_some() {
        return CommandReply::words(Outcome::Noted, IN_PRIVATE);
    }
    let code = ids::code();
    let platform = who.platform;
    let id = who.id.clone();
    match gate.begin_sign_in(who, &code) {
        Ok(until) => {
            tracing::info!(platform, presser = id, "somebody asked for a sign-in link");
            let url = gate.sign_in_link(&code);
            let is_here = is_here(&url);
            let until = clock::short(until);
            let mut lines = vec![
                vec![ReplyPiece::Link { label: "Sign in to the inbox".to_owned(), url }],
                words(format!("One-time sign-in link, valid until {until}. Do not share it.")),
            ];
            if is_here {
                lines.push(words(ONLY_HERE));
            }
            CommandReply { outcome: Outcome::Noted, lines }
        }
        Err(refused) => CommandReply::words(Outcome::NotAllowed, refused.0),
    }
}

// `/away`, `/back`, `/snooze` and `/duty`: who is there.

/// How long somebody is away who does not say until when.
const AWAY: &str = "until /back";
const LONGEST_ABSENCE_MS: i64 = 365 * 86_400_000;
const WRONG_TIME: &str = "Say a time such as 20m or 2h, or `until 18:00`.";

impl CommandRun<'_> {
    pub(super) async fn away(self, how_long: &str) -> Result<CommandReply, StoreError> {
        self.leave(Absence::Away, how_long).await
    }

    async fn snooze(self, how_long: &str) -> Result<CommandReply, StoreError> {
        if how_long.trim().is_empty() {
            return Ok(CommandReply::words(Outcome::Noted, WRONG_TIME));
        }
        self.leave(Absence::Snoozed, how_long).await
    }

    async fn leave(self, how: Absence, how_long: &str) -> Result<CommandReply, StoreError> {
        let now = clock::now_ms();
        let zone = self.gate.zone_of(&self.who);
        let Some(until) = until(how_long, now, &zone) else {
            return Ok(CommandReply::words(Outcome::Noted, WRONG_TIME));
        };
        match self
            .gate
            .set_absent(&self.who, how, until.unwrap_or(now + LONGEST_ABSENCE_MS))
            .await?
        {
            Err(NotNamed(why)) => Ok(CommandReply::words(Outcome::NotAllowed, why)),
            Ok(person) => {
                let until =
                    until.map_or(AWAY.to_owned(), |at| format!("until {}", at_in(at, &zone)));
                let what = match how {
                    Absence::Away => "is away",
                    Absence::Snoozed => "gets no direct messages",
                };
                let says = format!("{} {what} {until}.", line(&person));
                Ok(CommandReply::words(Outcome::Applied, says))
            }
        }
    }

    pub(super) async fn back(self) -> Result<CommandReply, StoreError> {
        Ok(match self.gate.set_back(&self.who).await? {
            Err(NotNamed(why)) => CommandReply::words(Outcome::NotAllowed, why),
            Ok((person, true)) => {
                CommandReply::words(Outcome::Applied, format!("{} is back.", line(&person)))
            }
            Ok((person, false)) => {
                CommandReply::words(Outcome::Noted, format!("{} was not away.", line(&person)))
            }
        })
    }

    async fn duty(self) -> Result<CommandReply, StoreError> {
        let zone = self.gate.zone_of(&self.who);
        let turns = self.gate.duty().await?;
        let mut lines: Vec<_> = turns.iter().map(|turn| words(turn_line(turn, &zone))).collect();
        if lines.is_empty() {
            lines.push(words("No rota is configured ([[rotas]] in the config)."));
        }
        Ok(CommandReply { outcome: Outcome::Noted, lines })
    }
}

/// `ops: Ana until Mon 09:00 CET`.
fn turn_line(turn: &DutyTurn, zone: &TimeZone) -> String {
    let who = turn.person.as_deref().map_or("nobody is there".to_owned(), line);
    let until = turn.until.map(|at| format!(" until {}", at_in(at, zone))).unwrap_or_default();
    format!("{}: {who}{until}", turn.rota)
}

fn at_in(at: i64, zone: &TimeZone) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(zone.clone());
    at.strftime("%a %H:%M %Z").to_string()
}

/// The time that somebody means: `Some(None)` where they say none, `None` where it cannot be read.
#[allow(clippy::option_option, reason = "no time and a time that cannot be read are different")]
fn until(text: &str, now: i64, zone: &TimeZone) -> Option<Option<i64>> {
    let (word, rest) = first_word(text);
    if word.is_empty() {
        return Some(None);
    }
    if word == "until" {
        let (hour, minute) = rest.split_once(':')?;
        let time = Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
        let here = Timestamp::from_millisecond(now).ok()?.to_zoned(zone.clone());
        let day = if here.time() < time { here.date() } else { here.date() + 1.day() };
        let at = day.to_datetime(time).to_zoned(zone.clone()).ok()?;
        return Some(Some(at.timestamp().as_millisecond()));
    }
    let length = text.trim().parse::<SignedDuration>().ok()?;
    let ms = i64::try_from(length.as_millis()).ok()?;
    (1..=LONGEST_ABSENCE_MS).contains(&ms).then_some(Some(now + ms))
}

// `/digest`: what was asked lately, in figures.

const WEEK_MS: i64 = 7 * 86_400_000;
const LONGEST_PERIOD_MS: i64 = 366 * 86_400_000;
const WRONG_PERIOD: &str = "Say how far back, such as 24h or 7d.";

impl CommandRun<'_> {
    // SECURITY: a request that a route shows elsewhere is not told in this chat.
    pub(super) async fn digest(&self, call: &CommandCall) -> Result<CommandReply, StoreError> {
        let Some(length) = period_ms(&call.rest) else {
            return Ok(CommandReply::words(Outcome::Noted, WRONG_PERIOD));
        };
        let until = clock::now_ms();
        let tells = |ask: &Ask| is_shown(ask, self.who.platform, call);
        let scope = DigestScope { since: until - length, until, tells: &tells, title: card::title };
        match self.gate.digest(scope).await {
            Ok(digest) => Ok(CommandReply { outcome: Outcome::Noted, lines: digest.lines }),
            Err(SubmitError::Store(error)) => Err(error),
            Err(error) => {
                let lines = vec![vec![words_of(format!("There is no digest: {error}"))]];
                Ok(CommandReply { outcome: Outcome::Noted, lines })
            }
        }
    }
}

/// How far back somebody wants to look; milliseconds.
fn period_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(WEEK_MS);
    }
    let ms = match text.strip_suffix('d') {
        Some(days) => days.trim().parse::<i64>().ok()?.checked_mul(86_400_000)?,
        None => i64::try_from(text.parse::<SignedDuration>().ok()?.as_millis()).ok()?,
    };
    (1..=LONGEST_PERIOD_MS).contains(&ms).then_some(ms)
}

// Where asks are shown, and so may be spoken of.

impl CommandRun<'_> {
    /// Whether asks are shown at one of these targets, or in a session's thread below one.
    async fn is_shown_at(&self, targets: &[Target]) -> Result<bool, StoreError> {
        let platform = self.who.platform;
        for Target(at) in targets {
            let above = if self.gate.shows_at(platform, at) {
                return Ok(true);
            } else {
                self.store.target_of_thread(platform, at).await?
            };
            if above.is_some_and(|above| self.gate.shows_at(platform, &above)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether those who see the answer may be told of the ask: its presser alone, or a chat that its
/// route leads to.
pub(super) fn is_shown(ask: &Ask, platform: &str, call: &CommandCall) -> bool {
    let Some(plan) = ask.body.plan.as_ref().filter(|_| !call.targets.is_empty()) else {
        return true;
    };
    call.targets.iter().any(|it| plan.shows_at(platform, &it.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn every_command_fits_every_platform() {
        let is_name = |name: &str| {
            (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase())
        };
        let fits = |text: &str| (1..=100).contains(&text.chars().count());
        for command in COMMANDS {
            assert!(is_name(command.name) && fits(command.description), "{command:?}");
            let required: Vec<bool> = command.parameters.iter().map(|it| it.required).collect();
            assert!(required.is_sorted_by(|one, next| one >= next), "{command:?}");
            for parameter in command.parameters {
                assert!(is_name(parameter.name) && fits(parameter.description), "{parameter:?}");
            }
        }
        let mut names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }

    #[test]
    fn a_time_is_a_length_or_the_next_time_by_the_persons_clock() {
        let zone = TimeZone::get("Europe/Rome").unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let now = at("2026-03-28T20:00:00Z");
        let read = |text: &str| until(text, now, &zone);
        assert_eq!(read(" "), Some(None));
        assert_eq!(read("20m"), Some(Some(now + 20 * 60_000)));
        assert_eq!(read("1h 30m"), Some(Some(now + 90 * 60_000)));
        assert_eq!(read("until 22:30"), Some(Some(at("2026-03-28T21:30:00Z"))));
        // The next morning Rome is one hour further ahead.
        assert_eq!(read("until 7:00"), Some(Some(at("2026-03-29T05:00:00Z"))));
        for wrong in ["soon", "until", "until noon", "-5m", "0s", "until 25:00", "99999h"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn how_far_back_is_a_week_or_what_somebody_says() {
        assert_eq!(period_ms("  "), Some(WEEK_MS));
        assert_eq!(period_ms("24h"), Some(86_400_000));
        assert_eq!(period_ms("1d"), Some(86_400_000));
        assert_eq!(period_ms("30d"), Some(30 * 86_400_000));
        for wrong in ["d", "-1d", "0d", "367d", "soon", "9999999999999999999d", "0s"] {
            assert_eq!(period_ms(wrong), None, "{wrong}");
        }
    }
}
