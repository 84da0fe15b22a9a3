//! `countersign status`: the daemon in a few lines, and what is wrong.

use super::{
    Context, Exit,
    doctor::unseen,
    say::{self, Colour, counted},
    when::when_in_full,
};
use anyhow::Result;
use countersign_domain::wire::{ReadyAdapter, ReadyReply, ReadyState, TokenView};
use countersign_store::CLOCK_MS;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 0 when all is well, 1 when no daemon answers or anything is wrong. A pause is not wrong.
`countersign doctor` looks closer.")]
pub(super) struct StatusArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Something that is wrong, and how to fix it.
struct Wrong {
    what: String,
    fix: Option<String>,
}

pub(super) async fn run(context: &Context, args: &StatusArgs) -> Result<Exit> {
    let client = context.client()?;
    let (ready, unseen) = tokio::join!(client.ready(), unseen());
    let ready = ready?;
    let paused = paused_agents(context, &ready).await;
    let wrong = wrong(&ready);
    if args.json {
        let mut reply = serde_json::to_value(&ready)?;
        if let Some(reply) = reply.as_object_mut() {
            reply.insert("ok".to_owned(), wrong.is_empty().into());
        }
        say::json(&reply)?;
    } else {
        let mut lines = lines(&ready, &wrong);
        let unseen = unseen.iter().map(|text| line("agent", &say::paint(Colour::Yellow, text)));
        lines.splice(3..3, unseen.chain(paused).collect::<Vec<_>>());
        say::lines(&lines.join("\n"))?;
    }
    Ok(if wrong.is_empty() { Exit::Good } else { Exit::Fault })
}

fn lines(ready: &ReadyReply, wrong: &[Wrong]) -> Vec<String> {
    let mut lines = vec![
        line("daemon", &daemon(ready)),
        line("waiting", &waiting(ready)),
        line("agents", &agents(ready)),
        line("chats", &chats(ready)),
        line("store", &store(ready)),
    ];
    if wrong.is_empty() {
        lines.push(line("problems", &say::paint(Colour::Green, "none")));
    }
    lines.extend(
        ready
            .notes
            .iter()
            .map(|note| line("warning", &say::paint(Colour::Yellow, &say::literal(note)))),
    );
    for Wrong { what, fix } in wrong {
        lines.push(line("problem", &say::paint(Colour::Red, &say::literal(what))));
        lines.extend(fix.as_ref().map(|fix| line("  fix", &say::literal(fix))));
    }
    lines
}

fn daemon(ready: &ReadyReply) -> String {
    let mut text =
        format!("{}, version {}", say::literal(&ready.daemon), say::literal(&ready.version));
    if ready.stopping {
        text.push_str(", stopping");
    }
    if let Some(pause) = &ready.paused {
        let by = say::literal(&pause.by.to_string());
        let since = when_in_full(&pause.since);
        let paused = format!("paused by {by} since {since}");
        text.push_str(&format!(", {}", say::paint(Colour::Yellow, &paused)));
    }
    text
}

fn waiting(ready: &ReadyReply) -> String {
    match &ready.waiting {
        None => "not known while the store fails".to_owned(),
        Some(waiting) if waiting.asks == 0 => "nothing".to_owned(),
        Some(waiting) => {
            let oldest = waiting.oldest.as_deref().map(when_in_full).unwrap_or_default();
            let count = counted(waiting.asks, "ask");
            format!("{count}, the oldest from {oldest}; `countersign pending` lists them")
        }
    }
}

fn agents(ready: &ReadyReply) -> String {
    match ready.waiting.as_ref().map(|waiting| waiting.callers) {
        None | Some(0) => "none connected".to_owned(),
        Some(callers) => {
            let verb = if callers == 1 { "waits" } else { "wait" };
            format!("{} {verb} for an answer at this daemon", counted(callers, "caller"))
        }
    }
}

/// The agents that a limit has paused: by name for an approver, else how many.
async fn paused_agents(context: &Context, ready: &ReadyReply) -> Vec<String> {
    if ready.paused_agents == 0 {
        return Vec::new();
    }
    let tokens = match context.approver() {
        Ok(client) => client.tokens().await.unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let one = |token: &TokenView| {
        let pause = token.paused.as_ref()?;
        let name = say::literal(&token.name);
        let since = when_in_full(&pause.since);
        let why = say::literal(&pause.why);
        let text = format!("{name} since {since}: {why}; `countersign token resume {name}`");
        Some(line("paused", &say::paint(Colour::Yellow, &text)))
    };
    let named: Vec<String> = tokens.iter().filter_map(one).collect();
    if !named.is_empty() {
        named
    } else {
        let agents = counted(ready.paused_agents, "agent");
        let text = format!("{agents}, by a limit; `countersign token list` names them");
        vec![line("paused", &say::paint(Colour::Yellow, &text))]
    }
}

fn chats(ready: &ReadyReply) -> String {
    let one = |(name, adapter): (&String, &ReadyAdapter)| {
        let colour = match adapter.state.as_str() {
            "up" => Colour::Green,
            "down" => Colour::Red,
            _ => Colour::Yellow,
        };
        let state = say::paint(colour, &say::literal(&adapter.state));
        let leader = adapter.leader.as_ref().filter(|leader| leader.holder != ready.daemon);
        let at = leader.map(|leader| format!(" (led by {})", say::literal(&leader.holder)));
        format!("{} {state}{}", say::literal(name), at.unwrap_or_default())
    };
    ready.adapters.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn store(ready: &ReadyReply) -> String {
    let kind = if ready.shared { "PostgreSQL, shared by daemons" } else { "SQLite" };
    match &ready.store {
        ReadyState::Up(_) => format!("{kind}, {}", say::paint(Colour::Green, "up")),
        ReadyState::Down { .. } => format!("{kind}, {}", say::paint(Colour::Red, "down")),
    }
}

/// Everything that is wrong.
fn wrong(ready: &ReadyReply) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (name, state) in [("store", &ready.store), ("rules", &ready.rules)] {
        if let ReadyState::Down { problem, fix } = state {
            wrong.push(Wrong { what: format!("{name}: {problem}"), fix: fix.clone() });
        }
    }
    if let Some(key) = &ready.log_key {
        wrong.push(Wrong { what: format!("log key: {}", key.problem), fix: Some(key.fix.clone()) });
    }
    for log in &ready.log {
        wrong.push(Wrong { what: format!("log: {}", log.problem), fix: Some(log.fix.clone()) });
    }
    let doctor = || Some("`countersign doctor` says what to do".to_owned());
    for problem in &ready.problems {
        wrong.push(Wrong { what: problem.clone(), fix: doctor() });
    }
    for (name, adapter) in ready.adapters.iter().filter(|(_, adapter)| adapter.state == "down") {
        let why = adapter.detail.as_deref().unwrap_or("presses are not received");
        // What lasts is among the problems already.
        if !ready.problems.iter().any(|problem| problem.contains(why)) {
            wrong.push(Wrong { what: format!("{name}: {why}"), fix: doctor() });
        }
    }
    if let Some((what, fix)) = ready.clock_ahead_ms.and_then(clock) {
        wrong.push(Wrong { what: format!("clock: {what}"), fix: Some(fix.to_owned()) });
    }
    let plain = |what: String| Wrong { what, fix: None };
    for late in &ready.late {
        let cards = counted(late.cards, "card");
        let since = when_in_full(&late.since);
        let place = format!("{} {}", late.adapter, late.target);
        wrong.push(plain(format!("{place}: {cards} not shown yet, the oldest from {since}")));
    }
    if ready.stopping {
        wrong.push(plain("the daemon is stopping".to_owned()));
    }
    wrong
}

/// What is wrong with a clock that is so many milliseconds ahead, and how to fix it.
pub(super) fn clock(ahead: i64) -> Option<(String, &'static str)> {
    let seconds = ahead.unsigned_abs() / 1_000;
    let how = if ahead > 0 { "ahead of" } else { "behind" };
    let says = format!(
        "the daemon's clock is {seconds} s {how} the database's; deadlines go by the database's"
    );
    (ahead.abs() > CLOCK_MS).then_some((says, "synchronise both with NTP"))
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<10}{text}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::{Value, json};

    fn ready(changes: Value) -> ReadyReply {
        let mut ready = json!({"version": "1.2.3", "store": "up", "rules": "up",
            "adapters": {"inbox": {"state": "up"}, "telegram": {"state": "up"}}, "problems": [],
            "waiting": {"asks": 0, "callers": 0}, "daemon": "mill-1f.k3", "shared": false,
            "clock_ahead_ms": null, "stopping": false, "inbox": "http://127.0.0.1:7117"});
        for (name, value) in changes.as_object().unwrap() {
            ready.as_object_mut().unwrap().insert(name.clone(), value.clone());
        }
        serde_json::from_value(ready).unwrap()
    }

    fn shown(changes: Value) -> Vec<String> {
        let ready = ready(changes);
        lines(&ready, &wrong(&ready))
    }

    #[test]
    fn where_all_is_well_it_is_six_lines() {
        let wanted = [
            "daemon    mill-1f.k3, version 1.2.3",
            "waiting   nothing",
            "agents    none connected",
            "chats     inbox up, telegram up",
            "store     SQLite, up",
            "problems  none",
        ];
        assert_eq!(shown(json!({})), wanted);
    }

    #[test]
    fn everything_that_is_wrong_has_a_line_once_with_its_fix() {
        let why = "another program receives for this bot";
        let problem = format!("Telegram: presses are not received since 12:03 UTC: {why}");
        let lines = shown(json!({
            "store": {"problem": "the disk is full", "fix": "make room on /var"},
            "waiting": null, "stopping": true, "problems": [problem],
            "adapters": {"inbox": {"state": "up"}, "telegram": {"state": "down", "detail": why},
                "discord": {"state": "down", "detail": "its token is refused"}}
        }));
        let doctor = "  fix     `countersign doctor` says what to do";
        let wanted = [
            "daemon    mill-1f.k3, version 1.2.3, stopping",
            "waiting   not known while the store fails",
            "agents    none connected",
            "chats     discord down, inbox up, telegram down",
            "store     SQLite, down",
            "problem   store: the disk is full",
            "  fix     make room on /var",
            &format!("problem   {problem}"),
            doctor,
            "problem   discord: its token is refused",
            doctor,
            "problem   the daemon is stopping",
        ];
        assert_eq!(lines, wanted);
    }
}
