//! Messages for the person who started the daemon.

use super::{gate::approvers, listen};
use crate::config::{Config, Profile};
use countersign_gate::{
    Gate, SubmitOutcome,
    ask::{Ask, Decision, State},
    call::Call,
};
use countersign_people::approvers::{Approvers, Local, Members};
use countersign_port::{Adapter, NamedAdapter, Receiving};
use countersign_tokens::clock;
use countersign_web::Inbox;
use serde_json::json;
use std::{
    env,
    fmt::Write,
    fs,
    io::{self, IsTerminal, Write as _},
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    sync::Arc,
    time::Duration,
};
use tokio::time::timeout;

/// The longest time for which the ready line waits for the inbox.
const INBOX_STARTS: Duration = Duration::from_secs(5);

/// Prints the addresses and the set-up to stderr, and to stdout the one line that scripts wait for.
// SECURITY: anyone who has the link gets in, so no log has it: stderr only where it is a terminal,
// and stdout not where it is systemd's journal.
pub(super) fn greet(
    config: &Config,
    local: &listen::InboxAddress,
    adapters: &[NamedAdapter],
    address: SocketAddr,
    ready: &str,
) {
    let who = approvers(&config.approvers);
    let mut text = format!("countersign {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<9} {value}");
    };
    let opens = || "`countersign open` opens it".to_owned();
    line("inbox", &if io::stderr().is_terminal() { local.url() } else { opens() });
    line("agents", &format!("{} and http://{address}", config.daemon.socket.display()));
    line("store", &config.store.database.to_string());
    if config.policy.profile != Profile::Standard {
        let compat = if config.policy.compat { ", as its system does it (compat)" } else { "" };
        line("profile", &format!("{}{compat}", config.policy.profile));
    }
    // They connect in the background, so nothing more is known yet.
    for adapter in adapters.iter().filter(|adapter| adapter.name != "inbox") {
        line(adapter.name, "connecting; its state is in `countersign doctor`");
    }
    line("answering", &answering(&who));
    say(&text);
    let mut out = io::stdout().lock();
    // Flushed, because stdout may be a pipe on which a script waits for this line.
    let _ = writeln!(out, "ready {ready}").and_then(|()| out.flush());
}

/// Waits until the inbox takes presses and sign-ins, so that the ready line is no promise.
// FAIL-CLOSED: without it the daemon is ready all the same: agents are served, and nothing is
// granted.
pub(super) async fn inbox_listens(inbox: &Inbox) {
    let mut receiving = inbox.signals().follow_receiving();
    let listens = receiving.wait_for(|now| *now == Receiving::Listening);
    if timeout(INBOX_STARTS, listens).await.is_err() {
        tracing::warn!("the inbox does not accept presses yet; retrying");
    }
}

/// The inbox's address; with its token unless stdout is a log.
pub(super) fn link(local: &listen::InboxAddress, no_link: bool) -> String {
    let journal = env::var("JOURNAL_STREAM").ok();
    let stdout = fs::metadata("/dev/stdout").ok().map(|it| (it.dev(), it.ino()));
    if no_link || is_journal(journal.as_deref(), stdout) { local.base() } else { local.url() }
}

/// Returns whether the stream that systemd named, as `device:inode`, is this one.
// A program that was started from a service has the variable too, with a stdout of its own.
fn is_journal(named: Option<&str>, stdout: Option<(u64, u64)>) -> bool {
    let Some((device, inode)) = stdout else { return named.is_some() };
    named == Some(format!("{device}:{inode}").as_str())
}

fn answering(who: &Approvers) -> String {
    let chats = who.chats.values().map(Members::count).sum::<usize>();
    if !who.people.is_empty() {
        let names: Vec<_> = who.people.named.iter().map(|person| person.name.as_str()).collect();
        return format!("by name: {}", names.join(", "));
    }
    match (who.local, chats + who.people.groups.len()) {
        (Local::On, 0) => "here, in the inbox or with `countersign approve`".to_owned(),
        (Local::On, _) => "in the chats, and here ([approvers] inbox = true)".to_owned(),
        (Local::Off, 0) => "nobody may answer; name somebody in [approvers]".to_owned(),
        (Local::Off, _) => {
            "in the chats only; [approvers] inbox = true adds this machine".to_owned()
        }
    }
}

/// Opens a first ask, waits for its answer, and prints what happened and what comes next.
pub(super) async fn demo(gate: Arc<Gate>, url: String) {
    let call = json!({
        "agent": "countersign",
        "session": "first steps",
        "host": gethostname::gethostname().to_string_lossy(),
        "tool": "shell_exec",
        "args": {"command": "echo 'hello from your first ask'"},
        "reason": "This is a rehearsal: nothing runs, whatever you press.",
    });
    let Ok(call) = serde_json::from_value::<Call>(call) else { return };
    let ask = match gate.submit(call, false).await {
        Ok(SubmitOutcome::Asked(ask, _)) => ask,
        Ok(SubmitOutcome::Ruled(ruling)) => {
            say(&format!(
                "\nNo rehearsal: your rules {} its call without asking.\n",
                ruling.verdict
            ));
            return;
        }
        Err(error) => return say(&format!("\nNo rehearsal: {error}\n")),
    };
    say(&format!(
        "\nA first ask is waiting. Open the inbox and press a button:\n\n    {url}\n\n\
         or answer from another terminal: {} approve {}\n",
        program(),
        ask.id
    ));
    loop {
        match gate.wait(&ask.id, Duration::from_secs(3600)).await {
            Ok(Some(ask)) if !ask.is_open() => return say(&happened(&ask)),
            Ok(Some(_)) if !gate.is_stopping() => {}
            Ok(_) | Err(_) => return,
        }
    }
}

fn happened(ask: &Ask) -> String {
    let Some(answer) = ask.answer() else { return String::new() };
    let what = match (&ask.state, answer.decision) {
        (State::Answered(_), Decision::Approve) => {
            format!("Approved by {}: an agent would now run its command.", answer.by)
        }
        (State::Answered(_), Decision::Edit) => {
            format!("Approved with a change by {}: an agent would now run that.", answer.by)
        }
        (State::Answered(_), Decision::Answer) => format!("Answered by {}.", answer.by),
        (State::Answered(_), Decision::Deny) => {
            format!("Denied by {}: an agent would now read that, and not run it.", answer.by)
        }
        (State::Expired(_), _) => {
            "Nobody answered, so it was denied. An agent would read that.".to_owned()
        }
        _ => "It was cancelled.".to_owned(),
    };
    let next = [
        ("ask -- rm -rf build", "ask from any script; the exit code is the answer"),
        ("connect claude-code", "let Claude Code ask here"),
        ("connect --help", "see which phones and agents can be connected"),
        ("doctor", "see what is set up"),
    ];
    let line = |(words, does)| format!("  {:<40}{does}\n", format!("{} {words}", program()));
    let next: String = next.map(line).concat();
    format!("\n{what} ({})\n\nNext:\n{next}", clock::short(answer.at))
}

/// The words that start this program here; before it is installed, cargo does.
fn program() -> &'static str {
    if env::var_os("CARGO").is_some() { "cargo run --" } else { "countersign" }
}

fn say(text: &str) {
    // A closed stderr is no reason to stop.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_known_by_the_stream_that_systemd_names() {
        assert!(is_journal(Some("8:4711"), Some((8, 4711))));
        assert!(!is_journal(Some("8:4711"), Some((8, 4712))), "a pipe of a script");
        assert!(!is_journal(None, Some((8, 4711))), "no systemd");
        assert!(is_journal(Some("8:4711"), None), "a stdout that nobody knows may be the journal");
    }
}
