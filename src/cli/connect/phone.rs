//! Connects a phone: from a bot's token to a first card that was answered.

use super::{
    account::{account, toml_of},
    options::{Phone, PhoneOptions},
    qr, running,
    setup::{ConfigChange, Setup},
    test_card,
};
use crate::{
    cli::{Context, Exit, prompt::confirmed, say},
    config::Config,
    daemon,
    platforms::Registered,
};
use anyhow::{Context as _, Result, bail};
use countersign_agents::AGENTS;
use countersign_client::Client;
use countersign_domain::wire::{PairingKnock, PairingProgress};
use countersign_people::approvers::Members;
use countersign_port::{PairingPlace, Settings, Target};
use std::io::{self, IsTerminal};
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
    let client = running::reloaded(context).await?;
    running::receiving(&client, phone.name).await?;
    let paired = paired(&setup.config()?, &phone);
    match paired.filter(|_| !options.group && !options.add) {
        Some(paired) => say::out(&paired)?,
        None => {
            if !pair(&mut setup, &client, (phone, &account), options, yes).await? {
                say::out("Nobody was added. The bot's token stays in the config.")?;
                return Ok(Exit::Good);
            }
            // The account has other targets now, so the daemon connects anew.
            running::reloaded(context).await?;
            running::receiving(&client, phone.name).await?;
        }
    }
    if !options.no_test && !test_card::answered(context).await? {
        return Ok(Exit::Expired);
    }
    say::out(&next())?;
    Ok(Exit::Good)
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
        lines.extend(qr::picture(&invitation.link));
    }
    lines.push("\nThe code works once, for 10 minutes. Waiting; Ctrl-C stops.".to_owned());
    say::out(&lines.join("\n"))?;
    let by = knocked(client, &pairing.id).await?;
    let target = Target(by.target.clone());
    let (name, id) = (say::literal(&by.name), say::literal(&by.id));
    say::out(&format!("{name} (id {id}) sent the code from {}.", say::literal(&by.place)))?;
    match phone.platform.check_target(account, &target).await {
        Ok(chat) => say::out(&format!("Cards reach {}.", say::literal(&chat)))?,
        Err(error) => say::out(&format!("Cards do not get there yet: {error}"))?,
    }
    for note in phone.guide.notes(account, &target).await {
        say::out(&note)?;
    }
    let config = setup.config()?;
    if keeps_local_off(&config) {
        say::out(
            "From then on only people in chats answer. [approvers] inbox = true lets this machine \
             answer too.",
        )?;
    }
    if !yes && !confirmed(&format!("May {name} answer requests, which are shown there?"), "--yes lets them")? {
        return Ok(false);
    }
    setup.write(&additions(&config, &phone, &by, &target))?;
    // The environment may say otherwise than the file.
    let written = additions(&setup.config()?, &phone, &by, &target).is_empty();
    if !written {
        bail!("an environment variable hides what was written into {}", setup.file.display());
    }
    say::out(&format!("{name} may answer now."))?;
    Ok(true)
}

/// Who sent the code, once somebody has.
async fn knocked(client: &Client, pairing: &str) -> Result<PairingKnock> {
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
    by: &PairingKnock,
    target: &Target,
) -> Vec<ConfigChange<'a>> {
    let section = phone.name;
    let people = config.approvers.chats.get(section).map(|members| &members.people);
    let is_person = people.is_some_and(|people| people.contains(&by.id));
    let chat = config.chats.iter().find(|chat| chat.name() == section);
    let is_target = chat.is_some_and(|chat| chat.targets.contains(target));
    let entry = || {
        let entry = phone.guide.entry(target);
        Value::Table(entry.entries().map(|(key, it)| (key.to_owned(), toml_of(it))).collect())
    };
    let target =
        (!is_target).then(|| ConfigChange::Add { section, key: "targets", entry: entry() });
    let person = (!is_person).then(|| {
        let entry = id(&by.id);
        ConfigChange::Add { section: "approvers", key: section, entry }
    });
    target.into_iter().chain(person).collect()
}

/// An id as the config writes it: as a number where every program reads that exactly.
fn id(id: &str) -> Value {
    let number = id.parse::<i64>().ok().filter(|number| (0..1 << 53).contains(number));
    number.map_or_else(|| Value::String(id.to_owned()), Value::Integer)
}

/// What a person does next.
fn next() -> String {
    let line = |name: &str, what: &str| format!("  countersign connect {name:<20}{what}");
    let agents = AGENTS
        .iter()
        .map(|agent| line(agent.name(), &format!("let {} ask here", agent.title().name)));
    let ask = "  countersign ask -- rm -rf build         ask from any script".to_owned();
    format!(
        "\nRequests reach you there from now on, while `countersign serve` runs. Next:\n{}",
        agents.chain([ask]).collect::<Vec<_>>().join("\n")
    )
}
