//! Connects a phone: from a bot's token to a first card that was answered.

use super::setup::{ConfigChange, Setup};
use crate::{
    cli::{
        Context, Exit, Misused, caller, files, good, grants,
        prompt::{self, confirmed},
        say, step,
    },
    config::{
        Config,
        edit::{self, EditError},
    },
    daemon,
    platforms::{BUILT_IN, Registered},
};
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_agents::AGENTS;
use countersign_client::{Client, ClientError, Ending};
use countersign_domain::{
    By,
    wire::{GrantView, PairingProgress, PairingSender, PasskeyView, ReadyReply},
};
use countersign_gate::{
    call::Call,
    question::{Choice, Question},
};
use countersign_people::approvers::Members;
use countersign_port::{
    Absent, CheckError, Guide, Key, PairingPlace, Platform, Setting, Settings, Takes, Target,
};
use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};
use tokio::time::{Instant, sleep};
use toml::Value;

pub(super) async fn run(
    context: &Context,
    chat: &'static Registered,
    options: &PhoneOptions,
    yes: bool,
) -> Result<Exit> {
    let without = || format!("this program was built without {}", chat.name);
    let platform = chat.platform.with_context(without)?;
    let guide = platform.guide().with_context(without)?;
    let phone = Phone { name: chat.name, platform, guide };
    let mut setup = Setup::open(context)?;
    if !setup.config()?.serves_here() {
        bail!("this machine has agents only; run this where the daemon runs");
    }
    let Some(account) = account(&mut setup, &phone, options).await? else {
        say::aside("Stopped. The config is as it was.");
        return Ok(Exit::Interrupted);
    };
    let client = reloaded(context, phone.name).await?;
    let paired = paired(&setup.config()?, &phone);
    match paired.filter(|_| !options.group && !options.add) {
        Some(paired) => say::out(&paired)?,
        None => {
            if !pair(&mut setup, &client, (phone, &account), options, yes).await? {
                return say::out("Nobody was added. The bot's token stays in the config.")
                    .map(good);
            }
            // The account has other targets now, so the daemon connects anew.
            reloaded(context, phone.name).await?;
        }
    }
    if !options.no_test && !test_card_answered(context).await? {
        return Ok(Exit::Expired);
    }
    say::out(&next()).map(good)
}

/// What is said where somebody can answer on this platform already.
fn paired(config: &Config, phone: &Phone) -> Option<String> {
    let people = config.approvers.chats.get(phone.name).map_or(0, Members::count);
    let chat = config.chats.iter().find(|chat| chat.name() == phone.name)?;
    let targets: Vec<_> = chat.targets.iter().map(|target| target.0.as_str()).collect();
    let name = phone.name;
    (people > 0 && !targets.is_empty()).then(|| {
        format!(
            "It is connected already: {people} on {name} may answer, and cards go to {}.\n\
             `countersign connect {name} --add` adds another person or chat.",
            targets.join(", ")
        )
    })
}

/// Lets somebody send a code to the bot, and adds them where the person at the terminal agrees.
async fn pair(
    setup: &mut Setup<'_>,
    client: &Client,
    (phone, account): (Phone, &Settings),
    options: &PhoneOptions,
    yes: bool,
) -> Result<bool> {
    let place = if options.group { PairingPlace::Group } else { PairingPlace::Private };
    let pairing = client.begin_pairing(phone.name).await?;
    let invitation = phone.guide.invitation(account, &pairing.code, place).await?;
    let mut lines: Vec<String> = vec![String::new()];
    lines.extend(invitation.steps.iter().map(|step| format!("  {step}")));
    lines.extend([String::new(), invitation.link.clone()]);
    if io::stdout().is_terminal() {
        lines.extend(qr_code(&invitation.link));
    }
    lines.push("\nThe code works once, for 10 minutes. Waiting; Ctrl-C stops.".to_owned());
    say::out(&lines.join("\n"))?;
    let by = code_sent(client, &pairing.id).await?;
    let target = Target(by.target.clone());
    let name = say::literal(&by.name);
    let id = say::literal(&by.id);
    say::out(&format!("{name} (id {id}) sent the code from {}.", say::literal(&by.place)))?;
    match phone.platform.check_target(account, &target).await {
        Ok(chat) => say::out(&format!("Cards reach {}.", say::literal(&chat)))?,
        Err(error) => say::out(&format!("Cards do not get there yet: {error}"))?,
    }
    for note in phone.guide.notes(account, &target).await {
        say::out(&note)?;
    }
    let config = setup.config()?;
    // Asked before anybody is added: afterwards this machine may not answer any more.
    let stops = keeps_local_off(&config);
    let keep = stops
        && !yes
        && confirmed(
            "Then the inbox and `countersign approve` stop answering. Keep them?",
            "--yes lets them stop",
        )?;
    if stops && yes {
        say::out(
            "Then the inbox and `countersign approve` stop answering; [approvers] inbox = true \
             keeps them.",
        )?;
    }
    let question = format!("Let {name} approve and deny requests in this chat?");
    if !yes && !confirmed(&question, "--yes lets them")? {
        return Ok(false);
    }
    let value = Value::Boolean(true);
    let inbox = keep.then_some(ConfigChange::Set { section: "approvers", key: "inbox", value });
    let mut changes = additions(&config, &phone, &by, &target);
    changes.extend(inbox);
    setup.write(&changes)?;
    // The environment may say otherwise than the file.
    let written = additions(&setup.config()?, &phone, &by, &target).is_empty();
    if !written {
        bail!("an environment variable hides what was written into {}", setup.file.display());
    }
    say::out(&format!("{name} may answer now."))?;
    Ok(true)
}

/// Takes a chat platform out of the config, or one person on it, and lists what they approved for
/// longer than once.
pub(super) async fn disconnect(
    context: &Context,
    chat: &'static Registered,
    person: Option<&str>,
    yes: bool,
) -> Result<()> {
    let file = Config::file(context.flag.as_deref())?;
    if !file.exists() {
        return say::out(&format!("{} is not connected.", chat.name));
    }
    let mut setup = Setup::open(context)?;
    let config = setup.config()?;
    let before = setup.text()?;
    let after = match person {
        None => without_chat(&before, chat),
        Some(person) => without_person(&before, &config, chat, person),
    };
    let after = after.with_context(|| file.display().to_string())?;
    if after == before {
        let who = person.map(say::literal).unwrap_or_else(|| chat.name.to_owned());
        return say::out(&format!("{who} is not connected in {}.", file.display()));
    }
    let question = match person {
        None => format!("Remove [{}], its targets and the people listed for it?", chat.name),
        Some(person) => {
            format!("Remove {} from {} in the config?", say::literal(person), chat.name)
        }
    };
    if !yes && !confirmed(&question, "--yes removes it")? {
        return say::out("Nothing was changed.");
    }
    setup.replace(&after)?;
    let what = person.map_or_else(|| format!("[{}]", chat.name), say::literal);
    say::out(&format!("Removed {what} from {}.", file.display()))?;
    taken(context, &config, chat, person).await
}

/// The keys of a platform's lists of people and roles.
fn lists(chat: &Registered) -> Vec<&'static str> {
    let about = chat.platform.map(|platform| platform.description());
    about.map_or(vec![chat.name], |about| about.approvers.iter().map(|list| list.key).collect())
}

fn without_chat(text: &str, chat: &Registered) -> Result<String, EditError> {
    let mut text = edit::remove_section(text, chat.name)?;
    for key in lists(chat) {
        text = edit::remove_entries(&text, "approvers", key, |_| true)?;
    }
    Ok(text)
}

/// A person may have a name in `[[people]]`, an id in `[approvers]`, and a private chat that is a
/// target.
fn without_person(
    text: &str,
    config: &Config,
    chat: &Registered,
    person: &str,
) -> Result<String, EditError> {
    let ids = ids_of(config, chat, person);
    let keys = lists(chat);
    let chats = BUILT_IN.iter().flat_map(lists);
    let identities: Vec<&str> = chats.chain(["oidc", "token"]).collect();
    let mut text = edit::remove_identity(text, person, &keys, &identities)?;
    let is_theirs = |value: &Value| match value {
        Value::String(id) => ids.contains(id),
        other => ids.contains(&other.to_string()),
    };
    for key in keys {
        text = edit::remove_entries(&text, "approvers", key, is_theirs)?;
    }
    let Some(platform) = chat.platform else { return Ok(text) };
    let Some(guide) = platform.guide() else { return Ok(text) };
    let direct = ids.iter().filter_map(|id| platform.direct(id));
    let entries: Vec<Value> = direct.map(|target| target_entry(guide, &target)).collect();
    edit::remove_entries(&text, chat.name, "targets", |value| entries.contains(value))
}

/// The ids of a person on a platform: those under the name, or the id itself.
fn ids_of(config: &Config, chat: &Registered, person: &str) -> BTreeSet<String> {
    let mut named = config.approvers.people.named.iter().filter(|it| it.name == person);
    let ids = named.next().and_then(|it| it.identities.get(chat.name)).cloned();
    ids.unwrap_or_else(|| [person.to_owned()].into())
}

/// Puts it in force, and lists what is left of the people who were removed.
async fn taken(
    context: &Context,
    before: &Config,
    chat: &Registered,
    person: Option<&str>,
) -> Result<()> {
    let reloaded = async {
        let client = context.approver()?;
        client.reload().await?;
        Ok::<_, anyhow::Error>(client)
    };
    let client = match reloaded.await {
        Ok(client) => client,
        Err(error) => {
            return say::out(&format!(
                "No daemon uses it yet ({}). `countersign reload` applies it to a running one.",
                say::literal(&format!("{error:#}"))
            ));
        }
    };
    say::out(
        "The daemon uses it: presses from there are refused, and people who may no longer \
         answer are signed out of the inbox.",
    )?;
    let ids = person.map(|person| ids_of(before, chat, person));
    let is_theirs = |by: &By| match by {
        By::Person { platform, id, name } => {
            person.is_some_and(|person| person == name)
                || platform == chat.name && ids.as_ref().is_none_or(|ids| ids.contains(id))
        }
        _ => false,
    };
    let grants: Vec<GrantView> =
        client.grants().await?.into_iter().filter(|grant| is_theirs(&grant.by)).collect();
    if !grants.is_empty() {
        say::out("\nWhat they approved holds on; `countersign grants revoke ID` ends it:")?;
        for grant in &grants {
            say::out(&format!("  {}", grants::line(grant)))?;
        }
    }
    let passkeys = client.passkeys().await?;
    let passkeys: Vec<&PasskeyView> =
        passkeys.iter().filter(|it| Some(it.person.as_str()) == person).collect();
    if !passkeys.is_empty() {
        say::out("\nTheir passkeys; `countersign passkeys remove ID` removes one:")?;
        for passkey in passkeys {
            let name = say::literal(&passkey.name);
            say::out(&format!("  {}  {name}", say::literal(&passkey.id)))?;
        }
    }
    Ok(())
}

/// Who sent the code, once somebody has.
async fn code_sent(client: &Client, pairing: &str) -> Result<PairingSender> {
    loop {
        let view = client.pairing(pairing).await?;
        match (view.state, view.by) {
            (PairingProgress::Knocked, Some(by)) => return Ok(by),
            (PairingProgress::Expired, _) => {
                bail!("nobody sent the code within 10 minutes; run this again for a new one")
            }
            _ => {}
        }
    }
}

/// Whether naming a first person in a chat ends answering on this machine.
fn keeps_local_off(config: &Config) -> bool {
    let now = daemon::approvers(&config.approvers);
    config.approvers.inbox.is_none() && now.answers_nameless()
}

/// What the config lacks of a person and a target.
fn additions<'a>(
    config: &Config,
    phone: &Phone,
    by: &PairingSender,
    target: &Target,
) -> Vec<ConfigChange<'a>> {
    let section = phone.name;
    let people = config.approvers.chats.get(section).map(|members| &members.people);
    // One person is listed once: somebody with a name in [[people]] needs no entry here.
    let has_name = config
        .approvers
        .people
        .named
        .iter()
        .any(|person| person.identities.get(section).is_some_and(|ids| ids.contains(&by.id)));
    let is_person = has_name || people.is_some_and(|people| people.contains(&by.id));
    let chat = config.chats.iter().find(|chat| chat.name() == section);
    let is_target = chat.is_some_and(|chat| chat.targets.contains(target));
    let entry = || target_entry(phone.guide, target);
    let target =
        (!is_target).then(|| ConfigChange::Add { section, key: "targets", entry: entry() });
    let person = (!is_person).then(|| {
        let entry = id(&by.id);
        ConfigChange::Add { section: "approvers", key: section, entry }
    });
    target.into_iter().chain(person).collect()
}

/// A target as an entry of the config.
fn target_entry(guide: &dyn Guide, target: &Target) -> Value {
    let entry = guide.entry(target);
    Value::Table(entry.entries().map(|(key, it)| (key.to_owned(), toml_of(it))).collect())
}

/// An id as the config writes it: as a number where every program reads that exactly.
fn id(id: &str) -> Value {
    let number = id.parse::<i64>().ok().filter(|number| (0..1 << 53).contains(number));
    number.map_or_else(|| Value::String(id.to_owned()), Value::Integer)
}

/// What a person does next.
fn next() -> String {
    let agents = AGENTS.iter().map(|agent| {
        let what = format!("let {} ask here", agent.title().name);
        step(&format!("connect {}", agent.name()), &what)
    });
    let ask = step("ask -- rm -rf build", "ask from any script");
    format!(
        "\nRequests reach you there from now on, while `countersign serve` runs. Next:\n{}",
        agents.chain([ask]).collect::<Vec<_>>().join("\n")
    )
}

#[derive(Debug, Default, clap::Args)]
pub(super) struct PhoneOptions {
    /// Read the bot's token from a file, `-` for stdin
    #[arg(long, help_heading = "For a phone", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Show the cards in a group or a channel
    #[arg(long, help_heading = "For a phone")]
    group: bool,
    /// Add another person or chat where one is connected already
    #[arg(long, help_heading = "For a phone")]
    add: bool,
    /// Set another key of the platform's section too
    #[arg(long, help_heading = "For a phone", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Send no test card
    #[arg(long, help_heading = "For a phone")]
    no_test: bool,
}

impl PhoneOptions {
    /// The first of these options that was given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--token-file", self.token_file.is_some()),
            ("--group", self.group),
            ("--add", self.add),
            ("--set", !self.set.is_empty()),
            ("--no-test", self.no_test),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// The platform of a phone.
#[derive(Clone, Copy)]
struct Phone {
    name: &'static str,
    platform: &'static dyn Platform,
    guide: &'static dyn Guide,
}

/// How often a token is asked for.
const TRIES: u32 = 3;

/// The account in the config, after it was checked and, where it is new, written; `None` when the
/// person stopped with Ctrl-C.
async fn account(
    setup: &mut Setup<'_>,
    phone: &Phone,
    options: &PhoneOptions,
) -> Result<Option<Settings>> {
    let config = setup.config()?;
    let there = config.chats.iter().find(|chat| chat.name() == phone.name);
    let before = there.map(|chat| chat.settings.clone());
    let mut known =
        tokens_of(phone, options)?.or_else(|| before.as_ref().map(|it| kept(phone, it)));
    for left in (0..TRIES).rev() {
        let tokens = match known.take() {
            Some(tokens) => tokens,
            None => match asked(phone, left + 1 == TRIES)? {
                Some(tokens) => tokens,
                None => return Ok(None),
            },
        };
        let wanted = settings(phone, before.as_ref(), tokens, &options.set)?;
        match phone.platform.check(&wanted).await {
            Ok(bot) => {
                write(setup, phone, before.as_ref(), &wanted)?;
                let whose = match secrets(phone).count() {
                    1 => "The token is",
                    _ => "The tokens are",
                };
                say::out(&format!("{whose} {}'s.", say::literal(&bot)))?;
                return Ok(Some(wanted));
            }
            Err(CheckError::WrongToken(why)) if left > 0 && somebody_can_type(options) => {
                say::aside(&why);
            }
            Err(error) => {
                return Err(anyhow!(
                    "{}. The config is as it was.",
                    say::literal(&error.to_string())
                ));
            }
        }
    }
    Err(anyhow!("no token was accepted; the config is as it was"))
}

/// Whether another token can be asked for.
fn somebody_can_type(options: &PhoneOptions) -> bool {
    options.token_file.is_none() && io::stdin().is_terminal()
}

/// The keys of the secrets that an account needs.
fn secrets(phone: &Phone) -> impl Iterator<Item = &'static str> {
    let keys = phone.platform.description().keys.iter();
    let needed =
        keys.filter(|it| matches!((it.takes, it.absent), (Takes::Secret, Absent::Wrong(_))));
    needed.map(|key| key.name)
}

/// The secrets that the config has.
fn kept(phone: &Phone, account: &Settings) -> Vec<String> {
    secrets(phone).map(|key| account.text(key).to_owned()).collect()
}

/// The secrets that somebody pastes; `None` when they stop.
fn asked(phone: &Phone, first: bool) -> Result<Option<Vec<String>>> {
    if first {
        let steps = phone.guide.steps().iter().enumerate();
        let steps: Vec<_> = steps.map(|(at, step)| format!("  {}. {step}", at + 1)).collect();
        say::aside(&format!("You need a bot of your own:\n{}", steps.join("\n")));
    }
    let account = phone.platform.description().account;
    let mut tokens = Vec::new();
    for key in secrets(phone) {
        let name = if key == account { "token" } else { key };
        match prompt::secret(&format!("Paste the {name} here (it is not shown): "))? {
            Some(token) => tokens.push(token),
            None => return Ok(None),
        }
    }
    Ok(Some(tokens))
}

/// The secrets in `--token-file`, each on a line of its own.
fn tokens_of(phone: &Phone, options: &PhoneOptions) -> Result<Option<Vec<String>>> {
    let Some(file) = &options.token_file else { return Ok(None) };
    let text = files::read(file)
        .with_context(|| format!("cannot read the token from {}", file.display()))?;
    let lines: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    let wanted: Vec<_> = secrets(phone).collect();
    match (lines.len(), wanted.len()) {
        (0, 1) => Err(anyhow!("{} is empty; it has to hold the token", file.display())),
        (given, needed) if given == needed => Ok(Some(lines)),
        (given, needed) => Err(anyhow!(
            "{} holds {given} words; it has to hold {needed}, each on a line: {}",
            file.display(),
            wanted.join(", ")
        )),
    }
}

/// The keys that `--set` takes.
fn settable(phone: &Phone) -> impl Iterator<Item = &'static Key> {
    let keys = phone.platform.description().keys.iter();
    keys.filter(|key| matches!(key.takes, Takes::Url | Takes::Id(_)))
}

/// The account with these secrets, and with the keys of `--set`.
fn settings(
    phone: &Phone,
    before: Option<&Settings>,
    tokens: Vec<String>,
    set: &[String],
) -> Result<Settings> {
    let about = phone.platform.description();
    let mut settings = before.cloned().unwrap_or_default();
    for key in about.keys.iter().filter(|_| before.is_none()) {
        if let Absent::Means(value) = key.absent {
            settings.set(key.name, Setting::Text(value.to_owned()));
        }
    }
    for pair in set {
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong_key(phone, pair))?;
        let key = settable(phone).find(|key| key.name == name);
        let key = key.ok_or_else(|| wrong_key(phone, pair))?;
        settings.set(key.name, Setting::Text(value.to_owned()));
    }
    for (key, token) in secrets(phone).zip(tokens) {
        settings.set(key, Setting::Secret(token));
    }
    Ok(settings)
}

fn wrong_key(phone: &Phone, pair: &str) -> anyhow::Error {
    let keys: Vec<_> = settable(phone).map(|key| key.name).collect();
    let pair = say::literal(pair);
    Misused(format!("--set {pair}: say KEY=VALUE with one of {}", keys.join(", "))).into()
}

/// Writes what differs from what is there.
fn write(
    setup: &mut Setup<'_>,
    phone: &Phone,
    before: Option<&Settings>,
    wanted: &Settings,
) -> Result<()> {
    let section = phone.name;
    let is_default = |name: &str, text: &str| {
        let key = phone.platform.description().keys.iter().find(|key| key.name == name);
        matches!(key.map(|key| key.absent), Some(Absent::Means(value)) if value == text)
    };
    let changed = wanted.entries().filter(|(key, value)| match before {
        Some(before) => before.entries().all(|(other, old)| other != *key || old != *value),
        None => !matches!(value, Setting::Text(text) if is_default(key, text)),
    });
    let changes: Vec<_> = changed
        .map(|(key, value)| ConfigChange::Set { section, key, value: toml_of(value) })
        .collect();
    setup.write(&changes)
}

/// A value as the config writes it.
fn toml_of(value: &Setting) -> Value {
    match value {
        Setting::Text(text) | Setting::Secret(text) => Value::String(text.clone()),
        Setting::Number(number) => Value::Integer(*number),
    }
}

/// Between two looks at the daemon.
const LOOK: Duration = Duration::from_millis(200);
/// How long a person has to start a daemon.
const START: Duration = Duration::from_secs(600);
/// How long the daemon may take to connect to the chat.
const CONNECT: Duration = Duration::from_secs(30);

/// A client of the daemon with the approver's token, once one runs with the config as it is now and
/// receives what people write on this platform.
async fn reloaded(context: &Context, platform: &str) -> Result<Client> {
    let client = context.approver()?;
    reachable(&client).await?;
    match client.reload().await {
        Ok(reply) if reply.restart.is_empty() => {}
        Ok(reply) => say::aside(&say::literal(&reply.message)),
        Err(error @ ClientError::Refused(_)) => {
            return Err(anyhow::Error::from(error).context(
                "the running daemon does not know the approver's token of this config; restart it",
            ));
        }
        Err(error) => {
            return Err(anyhow::Error::from(error).context("the daemon did not reload"));
        }
    }
    receiving(&client, platform).await?;
    Ok(client)
}

/// Waits until the daemon receives what people write on this platform.
async fn receiving(client: &Client, platform: &str) -> Result<()> {
    let since = Instant::now();
    loop {
        let ready = client.ready().await?;
        let (state, why) = state_of(&ready, platform);
        match state {
            "up" => return Ok(()),
            "standby" => bail!(
                "another daemon leads this bot now ({why}); run this on that daemon's machine"
            ),
            _ if since.elapsed() < CONNECT => sleep(LOOK).await,
            _ => bail!("the daemon is not connected to {platform}: {why}"),
        }
    }
}

/// The state of a platform's adapter, and what more is known of it.
fn state_of<'r>(ready: &'r ReadyReply, platform: &str) -> (&'r str, String) {
    let Some(adapter) = ready.adapters.get(platform) else {
        return ("missing", "it does not have this account".to_owned());
    };
    let leader = adapter.leader.as_ref().map(|leader| leader.holder.as_str());
    let why = match adapter.state.as_str() {
        "standby" => leader.unwrap_or("it is not known which"),
        _ => adapter.detail.as_deref().unwrap_or("it is still connecting"),
    };
    (&adapter.state, say::literal(why))
}

async fn reachable(client: &Client) -> Result<()> {
    let since = Instant::now();
    let mut announced = false;
    loop {
        match client.ready().await {
            Ok(_) => return Ok(()),
            Err(ClientError::Unreachable { .. }) if since.elapsed() < START => {
                if !announced {
                    say::aside(
                        "No daemon runs yet. Start it in another terminal:\n\n    \
                                countersign serve\n\nThis goes on by itself then.",
                    );
                    announced = true;
                }
                sleep(LOOK).await;
            }
            Err(error) => {
                return Err(anyhow!(error)).context("the config is written, and works later too");
            }
        }
    }
}

const QUESTION: &str = "Does this card reach you?";
const YES: &str = "Yes, it works";

/// Sends a card and waits until somebody presses its button; whether somebody did.
// A question, because rules may allow or deny any call without asking.
async fn test_card_answered(context: &Context) -> Result<bool> {
    let client = context.client()?;
    say::out("A test card is on its way. Press its button.")?;
    let decided = client.submit_and_wait(&call()).await?;
    let Ending::Answered(answer) = decided.ending else {
        say::out(&format!("The test card has no answer: {}.", say::literal(&decided.reason)))?;
        return Ok(false);
    };
    say::out(&format!("{} pressed: it works.", say::literal(&answer.by.to_string())))?;
    Ok(true)
}

fn call() -> Call {
    let options = vec![Choice { label: YES.to_owned(), description: None, preview: None }];
    let question = QUESTION.to_owned();
    Call {
        host: caller::host(),
        reason: Some("This is a test: nothing depends on your answer.".to_owned()),
        expires_in_s: Some(600),
        questions: vec![Question { question, header: None, multi_select: false, options }],
        ..Call::new("countersign", "connect", "ask_user", json!({}))
    }
}

/// The code in half blocks, black on white whatever the terminal's colours are; `None` for a link
/// that is too long.
fn qr_code(link: &str) -> Option<String> {
    // The lowest level of error correction gives the fewest modules, and a screen has no scratches.
    let code = QrCode::with_error_correction_level(link, EcLevel::L).ok()?;
    let drawn = code.render::<Dense1x2>().quiet_zone(true).build();
    let lines: Vec<_> =
        drawn.lines().map(|line| format!("\u{1b}[30;107m{line}\u{1b}[0m")).collect();
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    /// What a camera reads of a terminal with a dark background that shows this.
    fn scanned(picture: &str) -> String {
        const MODULE: usize = 4;
        let mut terminal = vt100::Parser::new(30.try_into().unwrap(), 60.try_into().unwrap(), 0);
        terminal.process(picture.replace('\n', "\r\n").as_bytes());
        let shade = |x: usize, y: usize| {
            let row = u16::try_from(y / 2).unwrap();
            let column = u16::try_from(x).unwrap();
            let cell = terminal.screen().cell(row, column).unwrap();
            let inked = matches!((cell.contents(), y % 2), ("█", _) | ("▀", 0) | ("▄", 1));
            match if inked { cell.fgcolor() } else { cell.bgcolor() } {
                vt100::Color::Idx(15) => 255,
                _ => 0,
            }
        };
        let pixel = |x: usize, y: usize| shade(x / MODULE, y / MODULE);
        let wide = 60 * MODULE;
        let high = 60 * MODULE;
        let mut photo = rqrr::PreparedImage::prepare_from_greyscale(wide, high, pixel);
        let [code] = &photo.detect_grids()[..] else { panic!("no code is found") };
        code.decode().unwrap().1
    }

    #[test]
    fn a_camera_reads_the_link_from_the_terminal() {
        for link in [
            "https://t.me/countersign_test_bot?start=pair-AAAAAAAAAAAAAAAAAAAAAA",
            "https://t.me/b?startgroup=pair-_9-zZ0123456789abcdefg&admin=post_messages",
            "https://discord.com/users/118000000000000001",
        ] {
            assert_eq!(scanned(&qr_code(link).unwrap()), link);
        }
    }

    #[test]
    fn a_code_is_dark_on_light_with_a_margin_and_fits_into_a_small_terminal() {
        let link = "https://t.me/countersign_test_bot?start=pair-AAAAAAAAAAAAAAAAAAAAAA";
        let picture = qr_code(link).unwrap();
        let lines: Vec<_> = picture.lines().collect();
        let bare = |line: &str| {
            let line = line.strip_prefix("\u{1b}[30;107m").unwrap();
            line.strip_suffix("\u{1b}[0m").unwrap().to_owned()
        };
        assert!(lines.len() <= 23, "{} lines", lines.len());
        assert!(lines.iter().all(|line| bare(line).chars().count() <= 45));
        // The margin is four modules wide, which are two lines.
        assert!(lines.iter().take(2).all(|line| bare(line).trim().is_empty()), "{picture}");
        assert!(lines.iter().all(|line| bare(line).starts_with("    ")), "{picture}");
    }
}
