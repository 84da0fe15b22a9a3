//! Checks on this machine: files, store, daemon, approvers, chats.

use super::{CheckState, DoctorCheck, Repair, fail, ok, warn};
use crate::{
    cli::{Context, say, status},
    config::{ChatAccount, ClientSettings, Config, Server},
    daemon,
};
use countersign_client::{Client, ClientError};
use countersign_domain::wire::{PauseView, ReadyAdapter, ReadyLate, ReadyReply, ReadyState};
use countersign_people::approvers::{Approvers, Members, NamedPerson};
use countersign_port::CheckError;
use countersign_store::log_key_problem;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    time::Duration,
};

/// Checks the config, and which other users can read it.
pub(super) fn config(context: &Context, config: &Config) -> Vec<DoctorCheck> {
    let Some(file) = &config.path else {
        let says = "no config file; defaults apply, and nobody has a token";
        return vec![warn("config", says, "countersign init")];
    };
    let mut findings = vec![ok("config", file.display().to_string())];
    findings.extend(private(file, 0o600));
    findings.extend(context.token_file().ok().and_then(|file| private(&file, 0o600)));
    findings.extend(private(&config.daemon.state_dir, 0o700));
    if findings.len() == 1 {
        findings.push(ok("files", "config, token and store are private"));
    }
    let tokens = [
        ("agent_token", &config.daemon.agent_token, "agents beyond the socket"),
        ("approver_token", &config.daemon.approver_token, "`countersign approve`"),
    ];
    for (key, token, what) in tokens {
        if token.is_none() && config.serves_here() {
            let says = format!("[daemon] {key} is not set, so {what} cannot sign in");
            findings.push(warn("tokens", says, "countersign init --force, or set it"));
        }
    }
    if let Some(token) = &config.client.token {
        findings.push(ok("tokens", format!("agent token {}", token.hint())));
    }
    findings
}

/// Checks that the identity provider answers as the config names it, with keys that can be read.
pub(super) async fn provider(config: &Config) -> Option<DoctorCheck> {
    let oidc = config.oidc.as_ref()?;
    let public = config.daemon.public_url.as_ref()?;
    Some(match countersign_web::try_provider(oidc, public).await {
        Ok(1) => ok("oidc", format!("{} answers, and signs with 1 key", oidc.issuer)),
        Ok(keys) => ok("oidc", format!("{} answers, and signs with {keys} keys", oidc.issuer)),
        Err(why) => {
            let says = format!("{}: {why}. Nobody signs in through it", oidc.issuer);
            warn("oidc", says, "[oidc] issuer and ca_file in the config, and whether it runs")
        }
    })
}

/// A failed check if other users may use this file or folder.
fn private(path: &Path, mode: u32) -> Option<DoctorCheck> {
    let found = fs::metadata(path).ok()?;
    let says = |what: String| format!("{} {what}", path.display());
    let fix = format!("chmod {mode:o} {}", path.display());
    if found.permissions().mode() & 0o077 != 0 {
        let open = format!("may be used by others (mode {:o})", found.permissions().mode() & 0o777);
        let repair = Repair::Close(path.to_owned());
        return Some(fail("files", says(open), fix).repaired_by(repair));
    }
    // Root can read everything, so only other users must own the files that they rely on.
    // The owner of `/proc/self` is our user: the standard library has no `geteuid`.
    let me = fs::metadata("/proc/self").ok()?.uid();
    (me != 0 && found.uid() != me).then(|| {
        fail(
            "files",
            says("belongs to another user".into()),
            format!("chown $USER {}", path.display()),
        )
    })
}

/// Checks that the store can be written.
pub(super) fn store(config: &Config) -> DoctorCheck {
    let Some(file) = config.store.database.file() else {
        return ok("store", format!("{}; checked by the daemon", config.store.database));
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    if !folder.exists() {
        return warn(
            "store",
            format!("{} does not exist yet", file.display()),
            "countersign serve",
        );
    }
    // Opened for appending, which changes nothing, while the daemon may be writing to it.
    let writable = if file.exists() {
        fs::OpenOptions::new().append(true).open(file).map(drop)
    } else {
        tempfile::tempfile_in(folder).map(drop)
    };
    match writable {
        Ok(()) => ok("store", format!("{} can be written", file.display())),
        Err(error) => {
            let says = format!("{} cannot be written: {error}", file.display());
            fail("store", says, format!("chmod u+w {} {}", folder.display(), file.display()))
        }
    }
}

/// Checks that each daemon is reachable, accepts our token, and is healthy.
pub(super) async fn daemon(config: &Config) -> Vec<DoctorCheck> {
    let mut findings = Vec::new();
    for server in &config.client.url {
        // Each alone: a client with all of them would hide one that is unreachable.
        let only = ClientSettings { url: vec![server.clone()], ..config.client.clone() };
        findings.extend(one_daemon(config, server, &only).await);
    }
    findings
}

async fn one_daemon(
    config: &Config,
    server: &Server,
    settings: &ClientSettings,
) -> Vec<DoctorCheck> {
    let client = match Client::new(settings, Duration::from_secs(2)) {
        Ok(client) => client,
        Err(error) => return vec![fail("daemon", error.to_string(), "edit [client]")],
    };
    // Without a token, so that a wrong one is reported as such below.
    let ready = match client.ready().await {
        Ok(ready) => ready,
        Err(error) => {
            let alone = config.serves_here().then(|| log_key_problem(&config.daemon.state_dir));
            let key = alone.flatten().map(|it| fail("log key", it.says, it.fix));
            let rules = config.serves_here().then(|| daemon::rules_problem(config)).flatten();
            let rules = rules.map(|says| fail("rules", says, "edit it"));
            let daemon = fail("daemon", error.to_string(), "countersign serve");
            return key.into_iter().chain(rules).chain([daemon]).collect();
        }
    };
    let literal = |text: &Option<String>| text.as_deref().map(say::literal).unwrap_or_default();
    let mut findings = match &ready.store {
        ReadyState::Up(_) => vec![ok("daemon", format!("accepts calls at {server}"))],
        ReadyState::Down { problem, fix } => {
            vec![fail("store", say::literal(problem), literal(fix))]
        }
    };
    if let Err(error) = client.pending().await {
        let fix = match (&error, server) {
            (ClientError::Refused(_), Server::Http(_)) => "set the agent token as [client] token",
            _ => "countersign serve, and read its output",
        };
        findings.push(fail("daemon", error.to_string(), fix));
    }
    if let ReadyState::Down { problem, .. } = &ready.rules {
        let rules = daemon::rules_path(config).display().to_string();
        findings.push(fail("rules", say::literal(problem), format!("edit {rules}")));
    }
    let key = ready.log_key.iter().map(|key| ("log key", key));
    for (name, log) in key.chain(ready.log.iter().map(|log| ("log", log))) {
        findings.push(fail(name, say::literal(&log.problem), say::literal(&log.fix)));
    }
    for note in &ready.notes {
        let fix = "edit the config or the rules, then countersign reload";
        findings.push(warn("note", say::literal(note), fix));
    }
    if let Some(PauseView { since, .. }) = &ready.paused {
        let since = say::literal(since);
        let says = format!("everything is paused since {since}: no call is allowed");
        findings.push(warn("paused", says, "countersign resume"));
    }
    findings.extend(receiving(&ready));
    findings.extend(leaders(&ready));
    // Daemons that share a store go by the database's clock.
    let clock = ready.clock_ahead_ms.and_then(status::clock);
    findings.extend(clock.map(|(says, fix)| warn("clock", says, fix)));
    findings.extend(ready.late.iter().map(late));
    findings
}

/// The chats of the daemon; the inbox is always there.
fn chat_adapters(ready: &ReadyReply) -> impl Iterator<Item = (String, &ReadyAdapter)> {
    let chats = ready.adapters.iter().filter(|(name, _)| *name != "inbox");
    chats.map(|(name, adapter)| (say::literal(name), adapter))
}

/// Checks that the daemon receives each chat's presses, which the platform cannot tell.
fn receiving(ready: &ReadyReply) -> Vec<DoctorCheck> {
    let finding = |(name, adapter): (String, &ReadyAdapter)| match adapter.state.as_str() {
        "up" => Some(ok(&name, "the daemon receives presses")),
        "down" => {
            let why = say::literal(adapter.detail.as_deref()?);
            let since = say::literal(adapter.since.as_deref().unwrap_or_default());
            let says = format!("the daemon receives no presses since {since}: {why}");
            Some(fail(&name, says, "put that right; the daemon keeps trying by itself"))
        }
        "starting" => Some(warn(
            &name,
            "the daemon does not receive presses yet",
            "wait a moment; then check the daemon's log",
        )),
        _ => None,
    };
    chat_adapters(ready).filter_map(finding).collect()
}

/// The daemon that leads each chat account, on a store that several share.
fn leaders(ready: &ReadyReply) -> Vec<DoctorCheck> {
    let finding = |(name, adapter): (String, &ReadyAdapter)| match &adapter.leader {
        Some(leader) => ok("leader", format!("{} leads {name}", say::literal(&leader.holder))),
        None => warn(
            "leader",
            format!("no daemon leads {name} at the moment"),
            "wait 20 s; then check the daemons' logs",
        ),
    };
    chat_adapters(ready).filter(|_| ready.shared).map(finding).collect()
}

/// Names a chat whose cards are late.
fn late(late: &ReadyLate) -> DoctorCheck {
    let ReadyLate { adapter, cards, since, .. } = late;
    let since = say::literal(since);
    let says = format!("{cards} cards are late; the oldest has waited since {since}");
    let fix = "answer what is there, or see docs/troubleshooting.md on late cards";
    warn(&say::literal(adapter), says, fix)
}

/// Checks the people, and the lists of `[approvers]`.
pub(super) fn approvers(config: &Config) -> Vec<DoctorCheck> {
    let who = daemon::approvers(&config.approvers);
    let mut set_up = config.chats.iter().map(ChatAccount::name);
    if let Some(name) = set_up.find(|name| !who.may_answer_on(name)) {
        let says = format!("[{name}] is set up, but nobody there may answer");
        return vec![fail("approvers", says, format!("put their ids into [approvers] {name}"))];
    }
    let mut findings: Vec<_> = who.people.named.iter().map(person).collect();
    findings.extend(unnamed(config, &who));
    if findings.is_empty() {
        findings.push(fail("approvers", "nobody may answer", "put ids into [approvers]"));
    }
    findings
}

fn person(person: &NamedPerson) -> DoctorCheck {
    let on = person.identities.keys().map(|platform| match platform.as_str() {
        "api" => "with a token of their own".to_owned(),
        chat => format!("on {chat}"),
    });
    let groups: Vec<_> = person.groups.iter().map(String::as_str).collect();
    let groups =
        if groups.is_empty() { String::new() } else { format!("; in {}", groups.join(", ")) };
    let says = format!("{} answers {}{groups}", person.name, on.collect::<Vec<_>>().join(", "));
    ok("approvers", says)
}

/// Everybody who may answer without a name.
fn unnamed(config: &Config, who: &Approvers) -> Option<DoctorCheck> {
    let set_up: Vec<&str> = config.chats.iter().map(ChatAccount::name).collect();
    let count = |name: &str| who.chats.get(name).map_or(0, Members::count);
    let others = who.chats.keys().map(String::as_str).filter(|name| !set_up.contains(name));
    let all = set_up.iter().copied().chain(others);
    let mut said: Vec<String> = all
        .filter(|name| count(name) > 0)
        .map(|name| format!("{} on {name}", count(name)))
        .collect();
    for group in &who.people.groups {
        let platforms: Vec<_> = group.roles.keys().map(String::as_str).collect();
        let group = &group.name;
        let platforms = platforms.join(" and ");
        said.push(format!("everyone with a role of the group {group} on {platforms}"));
    }
    if who.answers_nameless() {
        said.push("anyone who has the inbox's address or the approver's token".into());
    }
    let said = said.join(", ");
    if said.is_empty() {
        return None;
    }
    Some(if who.people.is_empty() {
        ok("approvers", format!("{said}; any one of them answers alone"))
    } else {
        warn(
            "approvers",
            format!("without a name: {said}"),
            "name them in [[people]], so that answers carry their names",
        )
    })
}

/// Checks every configured account and its targets.
pub(super) async fn chats(config: &Config) -> Vec<DoctorCheck> {
    let mut findings = Vec::new();
    for chat in &config.chats {
        findings.extend(account(chat).await);
    }
    findings.extend(config.left_out.iter().map(|name| left_out(name)));
    findings
}

async fn account(chat: &ChatAccount) -> Vec<DoctorCheck> {
    let name = chat.name();
    let key = chat.platform.description().account;
    let mut findings = vec![match chat.platform.check(&chat.settings).await {
        Ok(bot) => ok(name, format!("the token {} is {bot}'s", chat.secret().hint())),
        // Targets cannot be checked with a token that does not work.
        Err(error) => {
            let config = format!("set [{name}] {key}, or run `countersign connect {name}`");
            return vec![refused(CheckState::Fail, name, &error, config)];
        }
    }];
    for target in &chat.targets {
        findings.push(match chat.platform.check_target(&chat.settings, target).await {
            Ok(found) => ok(name, format!("cards reach {found} ({})", target.0)),
            Err(error) => refused(CheckState::Fail, name, &error, format!("edit [{name}] targets")),
        });
        if chat.thread_idle(target).is_none() {
            continue;
        }
        findings.push(match chat.platform.check_threads(&chat.settings, target).await {
            Ok(()) => ok(name, format!("each session gets a thread there ({})", target.0)),
            Err(error) => {
                let config = format!("or remove `per_session` from [{name}] targets");
                refused(CheckState::Warn, name, &error, config)
            }
        });
    }
    for target in chat.direct.iter().filter(|it| !chat.targets.contains(it)) {
        findings.push(match chat.platform.check_target(&chat.settings, target).await {
            Ok(found) => ok(name, format!("routes reach {found} ({})", target.0)),
            Err(error) => {
                let config = "this person writes to the bot once, in private".to_owned();
                refused(CheckState::Warn, name, &error, config)
            }
        });
    }
    if chat.targets.is_empty() {
        let says = "no targets, so no card is sent there";
        findings.push(warn(name, says, format!("set [{name}] targets")));
    }
    findings
}

/// A check that failed, to be fixed by `config` where the platform itself refused.
// A platform that cannot be reached says nothing of the token or the targets.
fn refused(state: CheckState, name: &str, error: &CheckError, config: String) -> DoctorCheck {
    let fix = match error {
        CheckError::WrongToken(_) | CheckError::Other(_) => config,
        CheckError::Unreachable(_) => {
            "look at this machine's network and proxy; the config may be right".to_owned()
        }
        CheckError::RateLimited(_) => "run it again later; the config may be right".to_owned(),
    };
    DoctorCheck { state, fix: Some(fix), ..ok(name, error.to_string()) }
}

fn left_out(name: &str) -> DoctorCheck {
    let says = format!("[{name}] is set, but this program was built without it");
    fail(name, says, format!("cargo install --features {name}"))
}
